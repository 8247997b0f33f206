"""Fixtures of a served page for the tests of metrics and health."""

from tests.web.conftest import locked, world

__all__ = ["locked", "world"]
