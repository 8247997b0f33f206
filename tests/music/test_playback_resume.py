"""The saved position: written rarely, and restored to a player that lost its queue."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from datetime import time
from pathlib import Path

import pytest

from pi_appliance.config.options import Config, QuietHours, VolumePolicy
from pi_appliance.music.model import Mode, PlaybackState, Uri
from pi_appliance.music.playback_resume import PlaybackResumer
from pi_appliance.music.player_hub import PlayerHub
from pi_appliance.music.services import ActiveSessions
from pi_appliance.music.volume_limits import PlayerPolicy
from pi_appliance.storage.history import Store
from tests.fakes.driven_time import DrivenTime
from tests.fakes.soft_player import SoftPlayer, soft_player_config

pytestmark = pytest.mark.usefixtures("soft_players")

FILES = ["a.ogg", "b.ogg", "c.ogg"]
RADIO = "http://radio/one"
POLICY = VolumePolicy(start=30, maximum=80, quiet=[QuietHours(from_=time(22), to=time(7), maximum=20)])


@contextlib.asynccontextmanager
async def resuming_hub(
    player: SoftPlayer,
    folder: Path,
    *,
    boot: str = "first",
    policy: VolumePolicy | None = None,
    work: ActiveSessions | None = None,
) -> AsyncIterator[PlayerHub]:
    """Run a hub and its resumer during the block, which ends like a power cut."""
    driven = player.time
    installation = PlayerPolicy(volume_policy=policy, now=driven.now)
    hub = PlayerHub(soft_player_config(player), Path("/nowhere"), {}, policy=installation, clock=driven.monotonic)
    keeper = PlaybackResumer(hub, folder, boot=boot, sessions=work, sleep=driven.sleep, clock=driven.monotonic)
    tasks = [asyncio.ensure_future(hub.run()), asyncio.ensure_future(keeper.run())]
    try:
        await driven.settle()
        yield hub
        assert not tasks[1].done(), tasks[1]
        player.disconnect()  # a power cut is not a clean shutdown
        await driven.settle()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def save_queue(
    driven: DrivenTime, folder: Path, uris: list[str], play: PlaybackState, *, volume: int = 50
) -> None:
    """Save a queue of which the second track has played for 42 seconds."""
    player = SoftPlayer(driven, uris, volume=volume)
    async with resuming_hub(player, folder):
        await player.play(1)
        await driven.advance(42)
        if play is not PlaybackState.PLAYING:
            player.change_playback(play)
        await driven.advance(200)


@pytest.mark.parametrize("play", PlaybackState)
def test_after_a_power_cut_playback_is_resumed(play: PlaybackState, driven: DrivenTime, tmp_path: Path) -> None:
    async def scenario() -> None:
        await save_queue(driven, tmp_path, FILES, play)
        player = SoftPlayer(driven, volume=100)
        async with resuming_hub(player, tmp_path, boot="second"):
            assert [track.uri for track in player.tracks] == FILES
            assert (player.play_state, player.volume) == (play, 50)
            if play is not PlaybackState.STOPPED:
                assert player.current == 1
                at = (await player.state()).elapsed or 0
                assert at == pytest.approx(125 if play is PlaybackState.PLAYING else 42), "written every two minutes"
            if play is PlaybackState.PAUSED:
                assert player.max_volume == 0, "what has to play for a moment is not heard"

    asyncio.run(scenario())


def test_a_stream_is_resumed_with_its_name_and_plays(driven: DrivenTime, tmp_path: Path) -> None:
    async def scenario() -> None:
        before = SoftPlayer(driven)
        async with resuming_hub(before, tmp_path):
            await before.add_source(Uri(uri=RADIO, title="One"), play=True)
            await driven.advance(60)
        player = SoftPlayer(driven)
        async with resuming_hub(player, tmp_path, boot="second"):
            assert [(track.uri, track.title) for track in player.tracks] == [(RADIO, "One")]
            assert player.play_state is PlaybackState.PLAYING
            assert not [word for word in player.commands if word.startswith("seek")]

    asyncio.run(scenario())


def test_a_queue_of_the_user_stays(driven: DrivenTime, tmp_path: Path) -> None:
    async def scenario() -> None:
        await save_queue(driven, tmp_path, FILES, PlaybackState.PLAYING)
        player = SoftPlayer(driven, ["mine.ogg"])
        async with resuming_hub(player, tmp_path, boot="second"):
            assert player.commands == []

    asyncio.run(scenario())


def test_an_emptied_queue_stays_empty(driven: DrivenTime, tmp_path: Path) -> None:
    async def scenario() -> None:
        await save_queue(driven, tmp_path, FILES, PlaybackState.PLAYING)
        player = SoftPlayer(driven)
        async with resuming_hub(player, tmp_path, boot="first"):  # the appliance alone was started again
            assert player.commands == []
        player = SoftPlayer(driven, FILES)
        async with resuming_hub(player, tmp_path, boot="second"):
            await player.clear_queue()
            await driven.advance(60)
        player = SoftPlayer(driven)
        async with resuming_hub(player, tmp_path, boot="third"):
            assert player.commands == []

    asyncio.run(scenario())


def test_a_restarted_mpd_is_detected_by_its_uptime(driven: DrivenTime, tmp_path: Path) -> None:
    async def scenario(version: int) -> list[str]:
        player = SoftPlayer(driven, FILES)
        player.place = ("127.0.0.1", 6600)
        player.version = 20
        async with resuming_hub(player, tmp_path) as hub:
            await player.play(0)
            await driven.advance(10)
            player.disconnect()
            await driven.settle()
            player.restart()
            player.version = version
            hub.reconnect_now()
            async with asyncio.timeout(5), contextlib.aclosing(hub.watch_changes()) as news:
                async for _ in news:
                    if hub.state is not None:
                        break
            await driven.settle()
            return [track.uri for track in player.tracks]

    assert asyncio.run(scenario(1)) == FILES
    assert asyncio.run(scenario(21)) == [], "somebody has emptied it while we were away"


@pytest.mark.parametrize(
    ("hour", "volume", "play", "becomes"),
    [
        (12, 100, PlaybackState.PLAYING, (PlaybackState.PLAYING, 30)),
        (12, 10, PlaybackState.PLAYING, (PlaybackState.PLAYING, 10)),
        (23, 100, PlaybackState.PLAYING, (PlaybackState.PAUSED, 20)),
        (23, 100, PlaybackState.PAUSED, (PlaybackState.PAUSED, 20)),
    ],
)
def test_it_follows_the_policy_and_is_silent_in_quiet_hours(
    hour: int, volume: int, play: PlaybackState, becomes: tuple[PlaybackState, int], driven: DrivenTime, tmp_path: Path
) -> None:
    async def scenario() -> None:
        await save_queue(driven, tmp_path, FILES, play, volume=volume)
        driven.wall = driven.wall.replace(hour=hour)
        player = SoftPlayer(driven, volume=100)
        async with resuming_hub(player, tmp_path, boot="second", policy=POLICY):
            assert (player.play_state, player.volume) == becomes
            assert player.max_volume <= becomes[1]

    asyncio.run(scenario())


def test_missing_tracks_are_left_out_and_the_position_adjusted(driven: DrivenTime, tmp_path: Path) -> None:
    async def scenario() -> None:
        await save_queue(driven, tmp_path, FILES, PlaybackState.PLAYING)
        player = SoftPlayer(driven)
        player.unknown = {"a.ogg"}
        async with resuming_hub(player, tmp_path, boot="second"):
            assert [track.uri for track in player.tracks] == ["b.ogg", "c.ogg"]
            assert player.current == 0

    asyncio.run(scenario())


def test_modes_are_restored(driven: DrivenTime, tmp_path: Path) -> None:
    async def scenario() -> None:
        before = SoftPlayer(driven, FILES)
        async with resuming_hub(before, tmp_path):
            await before.set_modes(random=True, single=Mode.ONCE)
            await driven.advance(10)
        player = SoftPlayer(driven)
        async with resuming_hub(player, tmp_path, boot="second"):
            assert player.modes == {"repeat": False, "random": True, "single": Mode.ONCE, "consume": Mode.OFF}

    asyncio.run(scenario())


@pytest.mark.slow
def test_writes_are_rare(driven: DrivenTime, tmp_path: Path) -> None:
    values = dict[str, set[int]]()

    def writes() -> dict[str, int]:
        for path in tmp_path.iterdir():
            values.setdefault(path.name, set()).add(path.stat().st_mtime_ns)
        return {name: len(each) for name, each in sorted(values.items())}

    async def through(seconds: int) -> dict[str, int]:
        before = writes()
        for _ in range(seconds):
            await driven.advance(1)
            writes()
        return {name: number - before.get(name, 0) for name, number in writes().items()}

    async def scenario() -> None:
        player = SoftPlayer(driven, FILES)
        async with resuming_hub(player, tmp_path):
            assert await through(3600) == {"playback.json": 1, "queue.json": 1}, "an idle player"
            for number in range(100):
                await player.add_source(Uri(uri=f"{number}.ogg"))
            assert await through(60) == {"playback.json": 1, "queue.json": 1}, "a hundred changes at once"
            await player.play(0)
            assert await through(3600) == {"playback.json": 30, "queue.json": 0}, "a file that plays for an hour"
            for volume in range(60):
                player.change_volume(volume)
                await driven.advance(1)
            assert (await through(30))["playback.json"] <= 1
            await player.add_source(Uri(uri=RADIO), play=True)
            assert (await through(3600)) == {"playback.json": 1, "queue.json": 1}, "a stream that plays for an hour"

    asyncio.run(scenario())


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"tracks": 5}', b'{"playback": "loud"}', b"\xff"])
def test_invalid_states_are_not_resumed(damage: bytes, driven: DrivenTime, tmp_path: Path) -> None:
    async def scenario() -> None:
        for name in ("queue.json", "playback.json"):
            (tmp_path / name).write_bytes(damage)
        player = SoftPlayer(driven)
        async with resuming_hub(player, tmp_path, boot="second"):
            assert player.commands == []
            await player.add_source(Uri(uri="a.ogg"))
            await driven.advance(60)
        assert json.loads((tmp_path / "queue.json").read_text())["tracks"] == [["a.ogg", ""]]

    asyncio.run(scenario())


GOOD = {"version": 9, "boot": "first", "playback": "play", "position": 0, "uri": "a.ogg", "elapsed": 4.0, "volume": 50}
GOOD |= {"repeat": False, "random": False, "single": "off", "consume": "off"}
BAD = [
    "[" * 100_000,
    "\x00" * 4096,
    "[]",
    json.dumps({**GOOD, "version": "9"}),
    json.dumps({**GOOD, "volume": "loud"}),
    json.dumps({**GOOD, "volume": 10**30}),
    json.dumps({**GOOD, "elapsed": [1]}),
    json.dumps({**GOOD, "position": 0.5}),
    json.dumps({**GOOD, "uri": None}),
    json.dumps({**GOOD, "more": 1}),
]


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
@pytest.mark.parametrize("file", ["playback.json", "queue.json"])
def test_a_damaged_file_is_ignored_and_replaced(file: str, text: str, driven: DrivenTime, tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / "queue.json").write_text(json.dumps({"tracks": [["a.ogg", ""]]}))
        (tmp_path / "playback.json").write_text(json.dumps(GOOD))
        (tmp_path / file).write_text(text)
        player = SoftPlayer(driven, volume=100)
        async with resuming_hub(player, tmp_path, boot="second"):
            assert (player.tracks, player.volume) == ([], 100)
            await player.add_source(Uri(uri="b.ogg"))
            await driven.advance(60)
        assert json.loads((tmp_path / "queue.json").read_text()) == {"tracks": [["b.ogg", ""]]}
        assert json.loads((tmp_path / "playback.json").read_text())["volume"] == 100


@pytest.mark.parametrize(
    ("phase", "queue", "play", "volume"),
    [
        ("ringing", [], PlaybackState.STOPPED, 100),  # the alarm plays its own
        ("fading-out", FILES, PlaybackState.PAUSED, 50),
        ("waiting", FILES, PlaybackState.PLAYING, 50),
        ("nonsense", FILES, PlaybackState.PLAYING, 50),
    ],
)
def test_a_resume_does_not_disturb_an_alarm_or_a_sleep_timer(
    phase: str, queue: list[str], play: PlaybackState, volume: int, driven: DrivenTime, tmp_path: Path
) -> None:
    async def scenario() -> None:
        await save_queue(driven, tmp_path, FILES, PlaybackState.PLAYING)
        with Store(tmp_path / "history.db") as store:
            store.requests.save_checkpoint("one", json.dumps({"session": {"phase": phase}}), now=driven.now())
            work = ActiveSessions(Config(state_dir=tmp_path), lambda: store)
            player = SoftPlayer(driven, volume=100)
            async with resuming_hub(player, tmp_path, boot="second", work=work):
                assert [track.uri for track in player.tracks] == queue
                assert (player.play_state, player.volume) == (play, volume)

    asyncio.run(scenario())
