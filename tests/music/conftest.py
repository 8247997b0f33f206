"""Fixtures of the music tests."""

from tests.music.mpd.mpd_fixtures import full_library, server, three
from tests.web.conftest import world

__all__ = ["full_library", "server", "three", "world"]
