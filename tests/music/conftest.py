"""Fixtures of the music tests."""

from tests.web.conftest import world

__all__ = ["world"]
