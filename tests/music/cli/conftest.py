"""Fixtures of the tests of the commands."""

from pathlib import Path

import pytest

from tests.fakes.mpd_server import MpdServer
from tests.music.cli.music_program import MusicCli


@pytest.fixture
def cli(tmp_path: Path, server: MpdServer) -> MusicCli:
    return MusicCli(tmp_path, server.address)
