"""Helpers of the tests of the MPD player: queries, and music with every tag."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pi_appliance.music.mpd import player as mpd
from pi_appliance.music.player import Player
from tests.fakes.mpd_server import MpdServer, Tags

EINS, ZWEI, ONE = "Ärzte/eins.wav", "Ärzte/zwei — 二.wav", "one.wav"
JPEG = b"\xff\xd8\xff\xe0 a photo \nOK\n" + bytes(range(256)) * 900
T = TypeVar("T")

SHOUT = "He said \"no\\\" (AND) 'so'"
LIBRARY = {
    "Blue/01 All.wav": Tags("All I Want", "Joni", "Blue", "Joni", "Folk", "1971", "1"),
    "Blue/02 Old.wav": Tags("My Old Man", "Joni", "Blue", "Joni", "Folk", "1971", "2", b""),
    "Hits/a.wav": Tags("Zebra", "Joni", "Hits", "Various", "Folk", "1999-05-01", "2", b""),
    "Hits/b.wav": Tags("Ägypten", "Die Ärzte", "Hits", "Various", "Rock", "1999-05-01", "1", b""),
    "Hits/more/c.wav": Tags("Late Blue", "Zoë", "Hits", "Zoë", "Rock", "2001", "1", b""),
    f"odd/{SHOUT}.wav": Tags(SHOUT, SHOUT, SHOUT, SHOUT, SHOUT, "", "", b""),
    "odd/二.wav": Tags("二つ", "世界", "Ünï", "", "", "", "", b""),
    "untagged.wav": Tags("", "", "", picture=b""),
}


def call_player(server: MpdServer, method: Callable[[Player], Awaitable[T]], partition: str = "", **secrets: str) -> T:
    """Return the result of `method` for a player in `partition`."""

    async def call() -> T:
        player: Player = mpd.connect(mpd.Options(address=server.address, partition=partition), secrets)
        try:
            return await method(player)
        finally:
            await player.close()

    return asyncio.run(call())
