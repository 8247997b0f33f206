"""Fixtures of the music tests."""

from tests.music.mpd.mpd_fixtures import server, shelf, three
from tests.web.conftest import world

__all__ = ["server", "shelf", "three", "world"]
