"""Fixtures of the music tests."""

from tests.music.mpd.mpd_fixtures import full_library, server, three
from tests.web.conftest import appliance

__all__ = ["appliance", "full_library", "server", "three"]
