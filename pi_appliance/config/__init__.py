"""The configuration: data classes, loader, schema, secrets and units."""
