"""Plug-ins that tests install by entry points, as another distribution would."""
