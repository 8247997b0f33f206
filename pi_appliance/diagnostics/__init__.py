"""The doctor, the support bundle, metrics and health."""
