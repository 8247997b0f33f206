"""Turns a Raspberry Pi into a dependable automation appliance."""

__version__ = "0.1.0"
