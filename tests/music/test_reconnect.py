"""Web radio that comes back: connected anew, replaced, returned to; and left alone where a person wants it so."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from pi_appliance.config.model import Radio
from pi_appliance.music.hub import PlayerHub
from pi_appliance.music.model import PlaybackState, Uri
from pi_appliance.music.reconnect import RadioWatchdog
from tests.fakes.driven_time import DrivenTime
from tests.fakes.soft_player import SoftPlayer, soft_kind, soft_part

ONE, TWO, THREE = (f"http://radio/{name}" for name in ("one", "two", "three"))
RADIO = Radio(silence_timeout=timedelta(seconds=20), retry_every=timedelta(minutes=5))


@pytest.fixture
def driven() -> DrivenTime:
    return DrivenTime()


@pytest.fixture(autouse=True)
def kind() -> Iterator[None]:
    with soft_kind():
        yield


@contextlib.asynccontextmanager
async def watched(
    player: SoftPlayer, *fallback: str, jobs: Callable[[], int | None] = lambda: 0
) -> AsyncIterator[PlayerHub]:
    """Have a hub and its watchdog live within the block, and the first track play."""
    hub = PlayerHub(soft_part(player), Path("/nowhere"), {}, clock=player.time.monotonic)
    sources = [Uri(uri=uri, title=uri.rpartition("/")[2]) for uri in fallback]

    async def instead() -> list[Uri]:
        return sources

    dog = RadioWatchdog(hub, RADIO, instead, job_generation=jobs, sleep=player.time.sleep, random=Random(1))
    tasks = [asyncio.ensure_future(hub.run()), asyncio.ensure_future(dog.run())]
    try:
        await player.time.settle()
        await (await hub.player()).play(0)
        await player.time.go(60)
        player.heard.clear()
        yield hub
        for task in tasks:
            assert not task.done(), task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def uris(player: SoftPlayer) -> list[str]:
    return [track.uri for track in player.tracks]


def now(player: SoftPlayer) -> str:
    return (
        player.tracks[player.current].uri
        if player.play_state is PlaybackState.PLAYING and player.current is not None
        else ""
    )


@pytest.mark.parametrize("falls_silent", [SoftPlayer.fail, SoftPlayer.end, SoftPlayer.stall])
def test_a_stream_that_falls_silent_is_connected_anew(
    falls_silent: Callable[[SoftPlayer], None], driven: DrivenTime
) -> None:
    player = SoftPlayer(driven, [ONE])

    async def scene() -> None:
        async with watched(player) as hub:
            falls_silent(player)
            await driven.go(24)
            assert player.heard == ["play_id 1"]
            await driven.go(30)
            assert (now(player), uris(player), hub.status_text) == (ONE, [ONE], "")
            assert player.heard == ["play_id 1"], "it plays, so nothing more is done"

    asyncio.run(scene())


def test_a_stream_that_plays_is_left_alone(driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])

    async def scene() -> None:
        async with watched(player, TWO):
            await driven.go(3600)
            assert player.heard == []

    asyncio.run(scene())


@pytest.mark.parametrize(
    "hand",
    [
        lambda player: player.press(PlaybackState.STOPPED),
        lambda player: player.press(PlaybackState.PAUSED),
        lambda player: asyncio.ensure_future(player.clear_queue()),
    ],
)
def test_what_a_person_stops_stays_stopped(hand: Callable[[SoftPlayer], object], driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])

    async def scene() -> None:
        async with watched(player, TWO):
            hand(player)
            await driven.go(3600)
            assert now(player) == ""
            assert [word for word in player.heard if word != "clear"] == []

    asyncio.run(scene())


def test_a_file_that_ends_is_no_matter_of_the_watchdog(driven: DrivenTime) -> None:
    player = SoftPlayer(driven, ["a.ogg", ONE])

    async def scene() -> None:
        async with watched(player, TWO):
            player.end()
            await driven.go(600)
            assert player.heard == []

    asyncio.run(scene())


@pytest.mark.parametrize("at_once", [False, True])
def test_after_three_tries_the_next_that_plays_takes_its_place_and_leaves_it_again(
    at_once: bool, driven: DrivenTime
) -> None:
    player = SoftPlayer(driven, [ONE, "a.ogg"])
    player.fails_at_once = at_once

    async def scene() -> None:
        async with watched(player, TWO, THREE) as hub:
            player.dead |= {ONE, TWO}
            player.fail("no route to host")
            await driven.go(8)
            assert player.heard[:3] == ["play_id 1"] * 3
            await driven.go(30)
            assert now(player) == THREE
            assert uris(player) == [ONE, "a.ogg", THREE], "what did not play is taken out again"
            assert "three plays instead of one" in hub.status_text
            player.heard.clear()
            await driven.go(300)
            assert player.heard == ["play_id 1", "remove [4]", f"add {THREE} end play"], "it was tried, in vain"
            assert now(player) == THREE
            player.heard.clear()
            await driven.go(500)
            assert player.heard == [], "the next try is twice as far away"
            player.dead.clear()
            await driven.go(150)
            assert (now(player), uris(player), hub.status_text) == (ONE, [ONE, "a.ogg"], "")

    asyncio.run(scene())


def test_a_fallback_that_falls_silent_itself_makes_room_for_the_next(driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])

    async def scene() -> None:
        async with watched(player, TWO, THREE):
            player.dead.add(ONE)
            player.fail()
            await driven.go(30)
            assert now(player) == TWO
            player.dead.add(TWO)
            player.fail()
            await driven.go(30)
            assert (now(player), uris(player)) == (THREE, [ONE, THREE])

    asyncio.run(scene())


def test_without_anything_to_fall_back_to_it_is_tried_for_ever_more_and_more_seldom(driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])

    async def scene() -> None:
        async with watched(player) as hub:
            player.dead.add(ONE)
            player.fail("no internet")
            await driven.go(1800)
            assert set(player.heard) == {"play_id 1"}
            assert 25 < len(player.heard) < 60
            assert hub.status_text == "one broke off (no internet); reconnecting"
            player.dead.clear()
            await driven.go(100)
            assert (now(player), uris(player)) == (ONE, [ONE])

    asyncio.run(scene())


@pytest.mark.parametrize("command", ["stop", "play", "clear_queue", "pause"])
def test_a_command_of_a_person_ends_it_at_any_time(command: str, driven: DrivenTime) -> None:
    async def scene(after: float) -> None:
        player = SoftPlayer(driven, [ONE, "a.ogg"])
        async with watched(player, TWO) as hub:
            player.dead.add(ONE)
            player.fail()
            await driven.go(after)
            theirs = await hub.player()
            await (theirs.play(1) if command == "play" else getattr(theirs, command)())
            await driven.settle()
            player.heard.clear()
            before = uris(player)
            await driven.go(4000)
            assert player.heard == []
            assert uris(player) == before
            assert hub.status_text == ""

    for after in (0.5, 3, 60, 310):
        asyncio.run(scene(after))


@pytest.mark.parametrize("after", [0.5, 3, 60])
def test_another_program_that_plays_something_else_ends_it_too(after: float, driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE, "a.ogg"])

    async def scene() -> None:
        async with watched(player, TWO):
            player.dead.add(ONE)
            player.fail()
            await driven.go(after)
            await player.play(1)
            player.heard.clear()
            await driven.go(4000)
            assert (player.heard, now(player)) == ([], "a.ogg")

    asyncio.run(scene())


def test_a_player_that_cannot_take_tracks_out_gets_the_other_station_alone(driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])
    player.can = frozenset()

    async def scene() -> None:
        async with watched(player, TWO):
            player.dead.add(ONE)
            player.fail()
            await driven.go(30)
            assert (now(player), uris(player)) == (TWO, [TWO])
            player.dead.clear()
            await driven.go(330)
            assert (now(player), uris(player)) == (ONE, [ONE])

    asyncio.run(scene())


@pytest.mark.parametrize(
    "turns", [[None], [1, 1, None], [1, 1, 2]], ids=["rings", "begins to ring", "has fallen asleep"]
)
def test_what_a_job_does_with_the_music_is_left_to_the_job(turns: list[int | None], driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])
    said = list(turns)

    async def scene() -> None:
        async with watched(player, TWO, jobs=lambda: said.pop(0) if len(said) > 1 else said[0]) as hub:
            player.fail()
            await driven.go(600)
            assert (player.heard, hub.status_text) == ([], "")

    asyncio.run(scene())
