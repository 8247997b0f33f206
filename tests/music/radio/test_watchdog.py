"""Web radio: reconnected, replaced and restored, unless the user stops it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest

from pi_appliance.config.options import Radio
from pi_appliance.music.model import PlaybackState, Uri
from pi_appliance.music.player_hub import PlayerHub
from pi_appliance.music.radio.watchdog import RadioWatchdog
from tests.fakes.driven_time import DrivenTime
from tests.fakes.soft_player import SoftPlayer, soft_player_config

pytestmark = pytest.mark.usefixtures("soft_players")

ONE, TWO, THREE = (f"http://radio/{name}" for name in ("one", "two", "three"))
RADIO = Radio(silence_timeout=timedelta(seconds=20), retry_every=timedelta(minutes=5))


@contextlib.asynccontextmanager
async def watched_radio(
    player: SoftPlayer, *fallback: str, jobs: Callable[[], int | None] = lambda: 0
) -> AsyncIterator[PlayerHub]:
    """Run a hub and its watchdog during the block, with the first track playing."""
    hub = PlayerHub(soft_player_config(player), Path("/nowhere"), {}, clock=player.time.monotonic)
    sources = [Uri(uri=uri, title=uri.rpartition("/")[2]) for uri in fallback]

    async def instead() -> list[Uri]:
        return sources

    dog = RadioWatchdog(hub, RADIO, instead, job_generation=jobs, sleep=player.time.sleep, random=Random(1))
    tasks = [asyncio.ensure_future(hub.run()), asyncio.ensure_future(dog.run())]
    try:
        await player.time.settle()
        await (await hub.player()).play(0)
        await player.time.advance(60)
        player.commands.clear()
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
def test_a_silent_stream_is_reconnected(falls_silent: Callable[[SoftPlayer], None], driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])

    async def scenario() -> None:
        async with watched_radio(player) as hub:
            falls_silent(player)
            await driven.advance(24)
            assert player.commands == ["play_id 1"]
            await driven.advance(30)
            assert (now(player), uris(player), hub.status_text) == (ONE, [ONE], "")
            assert player.commands == ["play_id 1"], "it plays, so nothing more is done"

    asyncio.run(scenario())


def test_a_playing_stream_is_left_alone(driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])

    async def scenario() -> None:
        async with watched_radio(player, TWO):
            await driven.advance(3600)
            assert player.commands == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "hand",
    [
        lambda player: player.change_playback(PlaybackState.STOPPED),
        lambda player: player.change_playback(PlaybackState.PAUSED),
        lambda player: asyncio.ensure_future(player.clear_queue()),
    ],
)
def test_a_stop_of_the_user_stays(hand: Callable[[SoftPlayer], object], driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])

    async def scenario() -> None:
        async with watched_radio(player, TWO):
            hand(player)
            await driven.advance(3600)
            assert now(player) == ""
            assert [word for word in player.commands if word != "clear"] == []

    asyncio.run(scenario())


def test_the_end_of_a_file_is_ignored(driven: DrivenTime) -> None:
    player = SoftPlayer(driven, ["a.ogg", ONE])

    async def scenario() -> None:
        async with watched_radio(player, TWO):
            player.end()
            await driven.advance(600)
            assert player.commands == []

    asyncio.run(scenario())


@pytest.mark.parametrize("at_once", [False, True])
def test_after_three_attempts_a_fallback_replaces_it_until_it_is_back(at_once: bool, driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE, "a.ogg"])
    player.fails_at_once = at_once

    async def scenario() -> None:
        async with watched_radio(player, TWO, THREE) as hub:
            player.broken_uris |= {ONE, TWO}
            player.fail("no route to host")
            await driven.advance(8)
            assert player.commands[:3] == ["play_id 1"] * 3
            await driven.advance(30)
            assert now(player) == THREE
            assert uris(player) == [ONE, "a.ogg", THREE], "what did not play is taken out again"
            assert "three plays instead of one" in hub.status_text
            player.commands.clear()
            await driven.advance(300)
            assert player.commands == ["play_id 1", "remove [4]", f"add {THREE} end play"], "it was tried, in vain"
            assert now(player) == THREE
            player.commands.clear()
            await driven.advance(500)
            assert player.commands == [], "the next try is twice as far away"
            player.broken_uris.clear()
            await driven.advance(150)
            assert (now(player), uris(player), hub.status_text) == (ONE, [ONE, "a.ogg"], "")

    asyncio.run(scenario())


def test_a_silent_fallback_is_replaced_by_the_next(driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])

    async def scenario() -> None:
        async with watched_radio(player, TWO, THREE):
            player.broken_uris.add(ONE)
            player.fail()
            await driven.advance(30)
            assert now(player) == TWO
            player.broken_uris.add(TWO)
            player.fail()
            await driven.advance(30)
            assert (now(player), uris(player)) == (THREE, [ONE, THREE])

    asyncio.run(scenario())


def test_without_a_fallback_it_retries_ever_more_rarely(driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])

    async def scenario() -> None:
        async with watched_radio(player) as hub:
            player.broken_uris.add(ONE)
            player.fail("no internet")
            await driven.advance(1800)
            assert set(player.commands) == {"play_id 1"}
            assert 25 < len(player.commands) < 60
            assert hub.status_text == "one broke off (no internet); reconnecting"
            player.broken_uris.clear()
            await driven.advance(100)
            assert (now(player), uris(player)) == (ONE, [ONE])

    asyncio.run(scenario())


@pytest.mark.parametrize("command", ["stop", "play", "clear_queue", "pause"])
def test_a_command_of_the_user_ends_it_at_any_time(command: str, driven: DrivenTime) -> None:
    async def scenario(after: float) -> None:
        player = SoftPlayer(driven, [ONE, "a.ogg"])
        async with watched_radio(player, TWO) as hub:
            player.broken_uris.add(ONE)
            player.fail()
            await driven.advance(after)
            theirs = await hub.player()
            await (theirs.play(1) if command == "play" else getattr(theirs, command)())
            await driven.settle()
            player.commands.clear()
            before = uris(player)
            await driven.advance(4000)
            assert player.commands == []
            assert uris(player) == before
            assert hub.status_text == ""

    for after in (0.5, 3, 60, 310):
        asyncio.run(scenario(after))


@pytest.mark.parametrize("after", [0.5, 3, 60])
def test_another_program_that_plays_something_else_ends_it(after: float, driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE, "a.ogg"])

    async def scenario() -> None:
        async with watched_radio(player, TWO):
            player.broken_uris.add(ONE)
            player.fail()
            await driven.advance(after)
            await player.play(1)
            player.commands.clear()
            await driven.advance(4000)
            assert (player.commands, now(player)) == ([], "a.ogg")

    asyncio.run(scenario())


def test_a_player_that_cannot_remove_tracks_gets_the_fallback_alone(driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])
    player.supported = frozenset()

    async def scenario() -> None:
        async with watched_radio(player, TWO):
            player.broken_uris.add(ONE)
            player.fail()
            await driven.advance(30)
            assert (now(player), uris(player)) == (TWO, [TWO])
            player.broken_uris.clear()
            await driven.advance(330)
            assert (now(player), uris(player)) == (ONE, [ONE])

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "turns", [[None], [1, 1, None], [1, 1, 2]], ids=["rings", "begins to ring", "has fallen asleep"]
)
def test_the_music_of_a_job_is_left_to_the_job(turns: list[int | None], driven: DrivenTime) -> None:
    player = SoftPlayer(driven, [ONE])
    results = list(turns)

    async def scenario() -> None:
        async with watched_radio(player, TWO, jobs=lambda: results.pop(0) if len(results) > 1 else results[0]) as hub:
            player.fail()
            await driven.advance(600)
            assert (player.commands, hub.status_text) == ([], "")

    asyncio.run(scenario())
