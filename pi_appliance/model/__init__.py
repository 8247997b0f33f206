"""Data classes: what the appliance knows, without any behaviour. Floor 0."""
