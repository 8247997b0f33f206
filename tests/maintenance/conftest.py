"""Fixtures of a served page."""

from tests.web.conftest import appliance, locked

__all__ = ["appliance", "locked"]
