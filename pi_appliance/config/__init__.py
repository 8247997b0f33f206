"""YAML to data classes, and the data classes described. Floor 2."""
