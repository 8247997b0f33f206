"""Plug-ins that tests load by entry points, as from another distribution."""
