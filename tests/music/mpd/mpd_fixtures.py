"""MPD servers shared by the tests of the MPD player, one per module."""

from collections.abc import Iterator

import pytest

from tests.fakes.mpd_server import MpdServer, running_mpd
from tests.music.mpd.mpd_helpers import EINS, LIBRARY, ONE, ZWEI


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MpdServer]:
    """Return an MPD with three tracks in its library."""
    with running_mpd(tmp_path_factory.mktemp("mpd"), outputs=("silence", "kitchen")) as running:
        yield running


@pytest.fixture
def three(server: MpdServer) -> MpdServer:
    """Return the MPD with three tracks in its queue, stopped, every mode off."""
    server.mpc("clear")
    for mode in ("random", "repeat", "single", "consume"):
        server.mpc(mode, "off")
    server.mpc("volume", "100")
    server.mpc("add", EINS, ZWEI, ONE)
    return server


@pytest.fixture(scope="module")
def full_library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MpdServer]:
    """Return an MPD with every kind of tag, stickers and playlists."""
    folder = tmp_path_factory.mktemp("mpd")
    with running_mpd(folder, music=LIBRARY, databases=("playlists", "stickers")) as running:
        yield running
