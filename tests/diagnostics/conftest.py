"""Fixtures of a served page for the tests of metrics and health."""

from tests.web.conftest import appliance, locked

__all__ = ["appliance", "locked"]
