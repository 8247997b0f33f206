"""MPD is killed at random moments while ten clients act: no command runs twice, reports are true, all reconnect.

PI_APPLIANCE_MPD_KILLS is the number of kills, PI_APPLIANCE_MPD_SEED the seed of their times.
"""

import asyncio
import contextlib
import os
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.music.model import EntryType, LibraryFilter, QueuePosition, Uri
from pi_appliance.music.mpd import player as mpd
from pi_appliance.music.player import Player
from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd

pytestmark = needs_mpd
KILLS, CLIENTS = int(os.environ.get("PI_APPLIANCE_MPD_KILLS", "20")), 10
SEED = int(os.environ.get("PI_APPLIANCE_MPD_SEED", "5"))
BACK = 2.0  # seconds after MPD's return
LOG = "log"  # a playlist with one entry for each executed command
ELSE: list[Callable[[Player], Awaitable[object]]] = [
    lambda player: player.state(),
    lambda player: player.capabilities(),
    lambda player: player.list_queue(),
    lambda player: player.list_directory("Ärzte"),
    lambda player: player.list_library(EntryType.ALBUM),
    lambda player: player.list_library(EntryType.TRACK, LibraryFilter(text="ei")),
    lambda player: player.album_art("one.wav"),
    lambda player: player.list_playlist(LOG),
    lambda player: player.add_source(Uri(uri="Ärzte"), QueuePosition.REPLACE, play=True),
    lambda player: player.add_source(LibraryFilter(album="Ünï"), QueuePosition.NEXT),
    lambda player: player.next(),
    lambda player: player.set_volume(40),
]


class Client:
    """A client that acts, with the results of its actions."""

    def __init__(self, player: Player, number: int) -> None:
        self.player = player
        self.number, self.random = number, Random(number)
        self.state: dict[str, str] = {}
        self.last_answer = self.last_change = 0.0  # times of MPD's last answer and of the last reported change
        self.doing = ""

    async def act(self) -> None:
        """Act repeatedly, with other queries in between."""
        while True:
            uri = f"http://127.0.0.1:9/{self.number}/{len(self.state)}"
            self.doing = "add"
            try:
                await self.player.add_to_playlist(LOG, Uri(uri=uri))
                self.state[uri], self.last_answer = "done", time.monotonic()
            except Unavailable:
                self.state[uri] = "not done"
            except Uncertain:
                self.state[uri] = "perhaps done"
            question = self.random.randrange(len(ELSE))
            self.doing = f"question {question}"
            with contextlib.suppress(Unavailable, Uncertain, Refused):
                await ELSE[question](self.player)
            await asyncio.sleep(0.01)  # ten that never rest would keep an MPD that has just come from its work

    async def listen(self) -> None:
        """Watch changes, and reconnect when MPD is lost."""
        while True:
            with contextlib.suppress(Unavailable):
                async for _ in self.player.watch_changes():
                    self.last_change = time.monotonic()
            await asyncio.sleep(0.02)


async def _all(clients: list[Client], true: Callable[[Client], bool]) -> None:
    start = time.monotonic()
    while waiting := [each for each in clients if not true(each)]:
        summary = ", ".join(f"client {each.number}: {each.doing}" for each in waiting)
        assert time.monotonic() - start < BACK, f"not back after {BACK} s: {summary}"
        await asyncio.sleep(0.01)


async def _killed(server: MpdServer, clients: list[Client], moment: float) -> float:
    """Kill MPD after a `moment` and restart it; return the seconds until all clients reach it."""
    await asyncio.sleep(moment)
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    began = time.monotonic()
    await _all(clients, lambda client: client.last_answer > began)
    again = time.monotonic()
    await asyncio.to_thread(server.mpc, "crossfade", str(int(moment * 1e4) % 30 + 1))
    await _all(clients, lambda client: client.last_change > again)
    return again - began


@pytest.mark.parametrize("kills", [3, pytest.param(KILLS, marks=pytest.mark.faults)])
def test_a_kill_at_any_moment_repeats_nothing(tmp_path: Path, kills: int) -> None:
    async def scenario(server: MpdServer) -> None:
        player: Player = mpd.connect(mpd.Options(address=server.address), {})
        clients = [Client(player, number) for number in range(CLIENTS)]  # as phones have one player between them
        tasks = [asyncio.create_task(work()) for client in clients for work in (client.act, client.listen)]
        random = Random(SEED)
        for _ in range(kills):
            late.append(await _killed(server, clients, random.uniform(0.0, 0.1)))
            assert not [task for task in tasks if task.done()], "every error is one of ours"
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        output.update({uri: words for client in clients for uri, words in client.state.items()})

    output: dict[str, str] = {}
    late: list[float] = []
    with running_mpd(tmp_path) as server:
        asyncio.run(scenario(server))
    summary = f"all back after {statistics.median(late):.2f} s, at worst {max(late):.2f} s"
    print(f"{kills} kills, seed {SEED}, {Counter(output.values())}, {summary}")  # noqa: T201 - with -s
    there = Counter((tmp_path / "playlists" / f"{LOG}.m3u").read_text("utf-8").split())
    assert max(there.values()) == 1, "done twice"
    assert {uri for uri, words in output.items() if words == "done"} <= set(there)
    assert not {uri for uri, words in output.items() if words == "not done"} & set(there)
    assert Counter(output.values())["done"] > kills * CLIENTS


def test_every_error_of_an_outage_is_one_line(tmp_path: Path) -> None:
    async def scenario(server: MpdServer) -> list[str]:
        player: Player = mpd.connect(mpd.Options(address=server.address), {})
        messages = []
        for question in ELSE:
            try:
                await question(player)
            except ApplianceError as error:
                messages.append(str(error))
        return messages

    with running_mpd(tmp_path, music={}) as server:
        server.kill()
        output = asyncio.run(scenario(server))
    assert len(output) == len(ELSE)
    assert {len(words.splitlines()) for words in output} == {1}
    assert all("nothing listens there; start it" in words for words in output)
