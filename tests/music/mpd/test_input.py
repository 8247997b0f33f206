"""Files outside the library stay private, though MPD would serve them over a socket."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from pi_appliance.errors import Refused
from pi_appliance.music.model import SavedPlaylist, Uri
from pi_appliance.music.mpd import fallback_mpd as private_mpd
from pi_appliance.music.mpd import player as mpd
from pi_appliance.music.player import Player
from tests.fakes.mpd_server import PICTURE, make_music, needs_mpd

pytestmark = needs_mpd
T = TypeVar("T")


@dataclass
class Home:
    """A library with a private folder next to it."""

    folder: Path

    def call_player(self, question: Callable[[Player], Awaitable[T]]) -> T:
        """Return the result of `question` for a player reached through a socket."""

        async def asked() -> T:
            async with private_mpd.run_private_mpd(self.folder / "mpd", self.folder / "music") as socket:
                player: Player = mpd.connect(mpd.Options(address=str(socket)), {})
                try:
                    return await question(player)
                finally:
                    await player.close()

        return asyncio.run(asked())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    make_music(tmp_path / "music")
    make_music(tmp_path / "private")
    (tmp_path / "private" / "words.m3u").write_text("one\ntwo\n")
    return Home(tmp_path)


def test_pictures_outside_the_library_are_not_shown(home: Home) -> None:
    async def pictures(player: Player) -> list[bytes | None]:
        where = ("one.wav", "../private/one.wav", "empty/../../private/one.wav", str(home.folder / "private/one.wav"))
        result = [await player.album_art(uri) for uri in (*where, f"file://{home.folder}/private/one.wav")]
        return [art and art.data for art in result]

    assert home.call_player(pictures) == [PICTURE, None, None, None, None]


def test_files_outside_the_library_are_not_added(home: Home) -> None:
    private = home.folder / "private"

    async def try_all(player: Player) -> int:
        for source in (
            *(Uri(uri=f"{scheme}{private}/one.wav") for scheme in ("file://", "FILE://")),
            Uri(uri="../private/words.m3u"),
            SavedPlaylist(playlist=str(private / "words.m3u")),
            SavedPlaylist(playlist=f"file://{private}/words.m3u"),
        ):
            with pytest.raises(Refused):
                await player.add_source(source)
            with pytest.raises(Refused):
                await player.add_to_playlist("mine", source)
        with pytest.raises(Refused, match="no playlist"):
            await player.list_playlist(str(private / "words.m3u"))
        return (await player.state()).queue_length

    assert home.call_player(try_all) == 0
