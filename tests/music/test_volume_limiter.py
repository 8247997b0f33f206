"""The volume policy of a player: on every command, and after changes by others."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.config.options import QuietHours, VolumePolicy
from pi_appliance.errors import Refused
from pi_appliance.music.model import Capability, PlaybackState, QueuePosition, TrackRating, Uri
from pi_appliance.music.player import Player
from pi_appliance.music.player_hub import PlayerHub
from pi_appliance.music.volume_limits import PlayerPolicy, VolumeLimiter, apply_policy
from pi_appliance.storage.history import Store
from tests.fakes.driven_time import DrivenTime
from tests.fakes.soft_player import SoftPlayer, soft_player_config

pytestmark = pytest.mark.usefixtures("soft_players")

QUIET = VolumePolicy(start=30, maximum=80, quiet=[QuietHours(from_=time(22), to=time(7), maximum=20)])
STATION = Uri(uri="http://radio/one", title="One")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "history.db") as opened:
        yield opened


def make_policy(driven: DrivenTime, store: Store, policy: VolumePolicy | None = QUIET) -> PlayerPolicy:
    return PlayerPolicy(volume_policy=policy, time_zone=ZoneInfo("UTC"), now=driven.now, open_store=lambda: store)


@contextlib.asynccontextmanager
async def limited_hub(
    player: SoftPlayer, installation: PlayerPolicy, *, boot: str = "first"
) -> AsyncIterator[PlayerHub]:
    """Run a hub and its limiter during the block, once both have connected."""
    hub = PlayerHub(soft_player_config(player), Path("/nowhere"), {}, policy=installation, clock=player.time.monotonic)
    work = [hub.run(), VolumeLimiter(hub, boot=boot, sleep=player.time.sleep).run()]
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await player.time.settle()
        yield hub
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


LOUD_WAYS: dict[str, Callable[[Player], Awaitable[object]]] = {
    "play": lambda player: player.play(),
    "play N": lambda player: player.play(1),
    "play_id": lambda player: player.play_id(1),
    "toggle": lambda player: player.toggle(),
    "next": lambda player: player.next(),
    "add": lambda player: player.add_source(STATION, play=True),
    "add instead": lambda player: player.add_source(STATION, QueuePosition.REPLACE, play=True),
}


@pytest.mark.parametrize("way", LOUD_WAYS)
def test_no_way_of_playing_exceeds_the_volume_limit(way: str, driven: DrivenTime, store: Store) -> None:
    player = SoftPlayer(driven, ["a.ogg", "b.ogg"], volume=100)

    async def scenario() -> None:
        await LOUD_WAYS[way](apply_policy(player, make_policy(driven, store)))
        assert player.play_state is PlaybackState.PLAYING
        assert player.max_volume == 80

    asyncio.run(scenario())


def test_a_volume_above_the_limit_is_lowered_to_it(driven: DrivenTime, store: Store) -> None:
    player = SoftPlayer(driven)

    async def scenario() -> None:
        governed = apply_policy(player, make_policy(driven, store))
        await governed.set_volume(90)
        assert player.volume == 80
        driven.wall = driven.wall.replace(hour=23)
        await governed.set_volume(90)
        assert player.volume == 20
        await governed.set_volume(5)
        assert player.volume == 5

    asyncio.run(scenario())


def test_without_a_policy_a_command_needs_no_query(driven: DrivenTime, store: Store) -> None:
    player = SoftPlayer(driven, ["a.ogg"], volume=100)

    async def scenario() -> None:
        governed = apply_policy(player, make_policy(driven, store, None))
        await governed.play()
        await governed.set_volume(100)
        assert player.commands == ["play", "volume 100"]

    asyncio.run(scenario())


def test_mute_by_volume_is_shared_between_processes(driven: DrivenTime, store: Store) -> None:
    player = SoftPlayer(driven, volume=70)

    async def scenario() -> None:
        await apply_policy(player, make_policy(driven, store)).set_mute(True)
        again = apply_policy(player, make_policy(driven, store))
        state = await again.state()
        assert (state.volume, state.muted) == (0, True)
        await again.set_mute(True)  # twice is once
        driven.wall = driven.wall.replace(hour=23)
        await again.set_mute(False)
        state = await again.state()
        assert (state.volume, state.muted) == (20, False), "as loud as before, but not louder than allowed now"
        await again.set_volume(0)
        assert not (await again.state()).muted, "somebody wants no sound; that is no mute"

    asyncio.run(scenario())


def test_a_player_with_mute_is_muted_itself(driven: DrivenTime, store: Store) -> None:
    player = SoftPlayer(driven)
    player.supported |= {Capability.MUTE}

    async def scenario() -> None:
        await apply_policy(player, make_policy(driven, store)).set_mute(True)
        assert player.commands == ["mute True"]

    asyncio.run(scenario())


def test_a_player_without_a_mixer_cannot_be_muted_and_says_so(driven: DrivenTime, store: Store) -> None:
    player = SoftPlayer(driven, ["a.ogg"], volume=None)
    player.supported -= {Capability.VOLUME}

    async def scenario() -> None:
        governed = apply_policy(player, make_policy(driven, store))
        assert Capability.MUTE not in await governed.capabilities()
        with pytest.raises(Refused, match="no volume to mute"):
            await governed.set_mute(True)
        await governed.play()
        assert player.commands == ["play"]

    asyncio.run(scenario())


def test_ratings_are_stored_for_a_player_without_them(driven: DrivenTime, store: Store) -> None:
    async def scenario() -> None:
        governed = apply_policy(SoftPlayer(driven), make_policy(driven, store))
        assert {Capability.STICKERS, Capability.MUTE} <= await governed.capabilities()
        for uri, opinion in (
            ("b.ogg", TrackRating(rating=7, favourite=True)),
            ("http://radio/a", TrackRating(favourite=True)),
            ("a.ogg", TrackRating(favourite=True)),
            ("c.ogg", TrackRating(rating=2)),
        ):
            await governed.set_rating(uri, opinion)
        assert await governed.ratings(["b.ogg", "c.ogg", "nothing.ogg"]) == {
            "b.ogg": TrackRating(rating=7, favourite=True),
            "c.ogg": TrackRating(rating=2),
        }
        window = await governed.list_favourites(1, 1)
        assert ([entry.uri for entry in window.items], window.length, window.more) == (["b.ogg"], 3, True)
        await governed.set_rating("b.ogg", TrackRating())
        window = await governed.list_favourites()
        assert ([entry.uri for entry in window.items], window.more) == (["a.ogg", "http://radio/a"], False)

    asyncio.run(scenario())


def test_a_volume_knob_above_the_limit_is_turned_back(driven: DrivenTime, store: Store) -> None:
    player = SoftPlayer(driven, ["a.ogg"])

    async def scenario() -> None:
        async with limited_hub(player, make_policy(driven, store)) as hub:
            player.change_volume(100)
            await driven.settle()
            assert player.volume == 80
            assert hub.state is not None
            assert hub.state.volume == 80

    asyncio.run(scenario())


def test_a_mixer_with_few_steps_is_not_corrected_repeatedly(driven: DrivenTime, store: Store) -> None:
    player = SoftPlayer(driven, ["a.ogg"])
    player.rounds_up = 2

    async def scenario() -> None:
        async with limited_hub(player, make_policy(driven, store)):
            player.change_volume(100)
            await driven.settle()
            assert player.volume == 82
            assert player.commands.count("volume 80") == 1, "it would go on for ever"
            player.change_volume(95)
            await driven.settle()
            assert player.volume == 82

    asyncio.run(scenario())


def test_when_quiet_hours_begin_the_volume_is_lowered(driven: DrivenTime, store: Store) -> None:
    player = SoftPlayer(driven, ["a.ogg"], volume=60)
    volumes = list[int]()

    async def scenario() -> None:
        async with limited_hub(player, make_policy(driven, store), boot="first"):
            await player.play()
            await player.set_volume(60)
            await driven.advance(10 * 3600 - 1)  # to just before 22:00
            assert player.volume == 60
            player.commands.clear()
            await driven.advance(61)
            assert player.volume == 20
            volumes.extend(int(word.split()[1]) for word in player.commands)

    asyncio.run(scenario())
    assert volumes == sorted(volumes, reverse=True)
    assert len(volumes) == 8, "in steps"


def test_a_clock_step_into_quiet_hours_applies_them(driven: DrivenTime, store: Store) -> None:
    player = SoftPlayer(driven, ["a.ogg"], volume=30)

    async def scenario() -> None:
        async with limited_hub(player, make_policy(driven, store)):
            await player.play()
            await driven.settle()
            driven.wall = driven.wall.replace(hour=23)
            await driven.advance(60)
            assert player.volume == 20

    asyncio.run(scenario())


def test_a_volume_lowered_by_the_user_during_the_fade_stays(driven: DrivenTime, store: Store) -> None:
    player = SoftPlayer(driven, ["a.ogg"], volume=60)

    async def scenario() -> None:
        async with limited_hub(player, make_policy(driven, store)):
            await player.play()
            await player.set_volume(60)
            await driven.advance(10 * 3600 + 1)
            assert 20 < (player.volume or 0) < 60
            player.change_volume(7)
            await driven.advance(60)
            assert player.volume == 7

    asyncio.run(scenario())


def test_nothing_wakes_up_without_upcoming_changes(driven: DrivenTime, store: Store) -> None:
    async def scenario(policy: VolumePolicy | None, play: PlaybackState) -> list[float]:
        player = SoftPlayer(driven, ["a.ogg"], volume=10)
        player.play_state, player.current = play, 0
        driven.sleeps.clear()
        async with limited_hub(player, make_policy(driven, store, policy)):
            await driven.advance(3600)
        return driven.sleeps

    assert asyncio.run(scenario(None, PlaybackState.PLAYING)) == []
    assert asyncio.run(scenario(VolumePolicy(maximum=50), PlaybackState.PLAYING)) == []
    assert len(asyncio.run(scenario(QUIET, PlaybackState.STOPPED))) == 1, "the timer for tonight"


def test_at_boot_the_volume_is_limited(driven: DrivenTime, store: Store) -> None:
    async def scenario(volume: int, boot: str, play: PlaybackState = PlaybackState.STOPPED) -> int | None:
        player = SoftPlayer(driven, ["a.ogg"], volume=volume)
        player.play_state, player.current = play, 0
        async with limited_hub(player, make_policy(driven, store), boot=boot):
            return player.volume

    assert asyncio.run(scenario(70, "first")) == 30
    assert asyncio.run(scenario(70, "first")) == 70, "the daemon alone was started again: somebody wants it so"
    assert asyncio.run(scenario(10, "second")) == 10
    assert asyncio.run(scenario(70, "third", PlaybackState.PLAYING)) == 70
    assert asyncio.run(scenario(100, "fourth", PlaybackState.PLAYING)) == 80


def test_a_player_that_returns_louder_is_lowered(driven: DrivenTime, store: Store) -> None:
    async def scenario(before: int, after: int) -> int | None:
        player = SoftPlayer(driven, ["a.ogg"], volume=10)
        async with limited_hub(player, make_policy(driven, store)) as hub:
            player.change_volume(before)
            await driven.settle()
            player.disconnect()
            await driven.settle()
            assert hub.state is None
            assert hub.capabilities == frozenset()
            player.restart(volume=after)
            hub.reconnect_now()
            async with asyncio.timeout(5), contextlib.aclosing(hub.watch_changes()) as news:
                async for _ in news:
                    if hub.state is not None:
                        break
            await driven.settle()
            assert Capability.VOLUME in hub.capabilities
            return player.volume

    assert asyncio.run(scenario(20, 100)) == 30
    assert asyncio.run(scenario(50, 50)) == 50, "it was so loud before"


def test_raising_the_volume_ends_the_mute(driven: DrivenTime, store: Store) -> None:
    player = SoftPlayer(driven, ["a.ogg"], volume=40)

    async def scenario() -> None:
        async with limited_hub(player, make_policy(driven, store)) as hub:
            await (await hub.player()).set_mute(True)
            await driven.settle()
            assert hub.state is not None
            assert hub.state.muted
            player.change_volume(15)
            await driven.settle()
            player.change_volume(0)
            await driven.settle()
            assert not hub.state.muted, "the mute was over; this is a hand that wants no sound"

    asyncio.run(scenario())
