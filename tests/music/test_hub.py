"""The hub with real MPDs: the configured one and the private one."""

import asyncio
import contextlib
import dataclasses
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from pi_appliance.config.options import Config, PluginConfig, VolumePolicy
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.model import CONNECTION, Capability, PlaybackState, QueuePosition, Uri
from pi_appliance.music.mpd import player as mpd
from pi_appliance.music.player import Player
from pi_appliance.music.player_hub import PlayerHub, open_player
from pi_appliance.music.player_reconnect import ReconnectPolicy
from tests.fakes.mpd_server import MpdServer, free_port, make_music, needs_mpd, running_mpd
from tests.installation import wait_until as eventually
from tests.music.hub_helpers import CountingSelector, running_hub

QUICK = ReconnectPolicy(
    first_delay=timedelta(milliseconds=20),
    max_delay=timedelta(milliseconds=200),
    fallback_max_delay=timedelta(milliseconds=100),
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MpdServer]:
    with running_mpd(tmp_path / "real") as running:
        yield running


def part(address: str, *, stand_in: bool = False, music: Path | None = None) -> PluginConfig:
    return PluginConfig(kind="mpd", options=mpd.Options(address=address, fallback_mpd=stand_in, music=music))


def config(player: PluginConfig | None, state: Path, volume: VolumePolicy | None = None) -> Config:
    return Config(player=player, state_dir=state, volume=volume)


def new_hub(folder: Path, player: PluginConfig | None, secrets: Mapping[str, str] | None = None) -> PlayerHub:
    return PlayerHub(player, folder, secrets or {}, reconnect=QUICK)


async def wait_until(hub: PlayerHub, true: Callable[[], object]) -> None:
    """Wait until `true()`, with a check at each change of the hub."""
    async with asyncio.timeout(10), contextlib.aclosing(hub.watch_changes()) as news:
        async for _ in news:
            if true():
                return


def connected(hub: PlayerHub) -> Callable[[], object]:
    return lambda: hub.state is not None


def is_mpd_listening(place: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(place))
            return connection.recv(100).startswith(b"OK MPD ")
    except OSError:
        return False


def test_without_a_player_the_hub_reports_that_and_waits(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_hub(new_hub(tmp_path, None)) as hub:
            with pytest.raises(Unavailable, match="no player is configured"):
                await hub.player()
            assert (hub.state, hub.upstream, hub.mpd_address, hub.uses_fallback) == (None, None, None, False)
            assert hub.error.startswith("no player is configured; write")

    asyncio.run(scenario())


@needs_mpd
def test_a_change_by_another_app_reaches_every_watcher(server: MpdServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_hub(new_hub(tmp_path, part(server.address))) as hub:
            await wait_until(hub, connected(hub))
            assert (hub.error, hub.uses_fallback, hub.upstream) == ("", False, ("127.0.0.1", server.port))
            watchers = [
                asyncio.create_task(wait_until(hub, lambda: hub.state and hub.state.volume == 33)) for _ in range(5)
            ]
            await asyncio.to_thread(server.mpc, "volume", "33")
            await asyncio.gather(*watchers)
            player = await hub.player()
            await player.add_source(Uri(uri="one.wav"), QueuePosition.REPLACE, play=True)
            await wait_until(hub, lambda: hub.state and hub.state.playback is PlaybackState.PLAYING)
            assert "[playing] #1/1" in await asyncio.to_thread(server.mpc, "status")

    asyncio.run(scenario())


@needs_mpd
def test_a_slow_watcher_gets_all_changes_combined(server: MpdServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_hub(new_hub(tmp_path, part(server.address))) as hub:
            await wait_until(hub, connected(hub))
            async with contextlib.aclosing(hub.watch_changes()) as slow:
                assert await anext(slow) == {CONNECTION}
                await asyncio.to_thread(server.mpc, "volume", "33")
                await wait_until(hub, lambda: hub.state and hub.state.volume == 33)
                await asyncio.to_thread(server.mpc, "random", "on")
                await wait_until(hub, lambda: hub.state and hub.state.random)
                assert await anext(slow) == {"mixer", "options"}

    asyncio.run(scenario())


@needs_mpd
def test_a_killed_mpd_is_reported_at_once_and_reconnected(server: MpdServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_hub(new_hub(tmp_path, part(server.address, stand_in=True))) as hub:
            await wait_until(hub, connected(hub))
            player = await hub.player()
            server.kill()
            began = time.monotonic()
            await wait_until(hub, lambda: hub.state is None)
            with pytest.raises(Unavailable, match="is not reached"):
                await hub.player()
            with pytest.raises(Unavailable, match="nothing listens there"):
                await player.next()
            assert time.monotonic() - began < 1
            assert hub.upstream is None
            assert not hub.uses_fallback, "a silent player would only hide the outage"
            await asyncio.to_thread(server.start)
            await wait_until(hub, connected(hub))
            await (await hub.player()).add_source(Uri(uri="one.wav"))
            assert not (tmp_path / "mpd").exists()

    asyncio.run(scenario())


@needs_mpd
def test_without_an_answer_the_private_mpd_plays_until_the_hub_ends(tmp_path: Path) -> None:
    music = make_music(tmp_path / "music")
    address = f"127.0.0.1:{free_port()}"

    async def scenario() -> Path:
        async with running_hub(new_hub(tmp_path, part(address, stand_in=True, music=music))) as hub:
            await wait_until(hub, connected(hub))
            assert hub.uses_fallback
            assert f"MPD at {address} is not reached: nothing listens there" in hub.error
            assert hub.error.endswith("Until then the built-in silent player is used")
            place = hub.upstream
            assert isinstance(place, Path)
            assert stat.S_IMODE(place.stat().st_mode) == 0o600
            assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700
            player = await hub.player()
            await until_in_library(player)
            await player.add_source(Uri(uri="Ärzte/"), QueuePosition.REPLACE, play=True)
            await player.set_volume(20)
            await wait_until(
                hub, lambda: hub.state and (hub.state.playback, hub.state.volume) == (PlaybackState.PLAYING, 20)
            )
            assert is_mpd_listening(place)
            return place

    async def until_in_library(player: Player) -> None:
        async with asyncio.timeout(10):
            changes = player.watch_changes()
            async for _ in changes:
                if "one.wav" in [entry.uri for entry in (await player.list_directory()).items]:
                    return

    assert not is_mpd_listening(asyncio.run(scenario())), "the stand-in ended with the hub"


@needs_mpd
def test_the_hub_switches_over_when_the_configured_mpd_appears(tmp_path: Path) -> None:
    with running_mpd(tmp_path / "real", music={}) as server:
        server.kill()

        async def scenario() -> None:
            async with running_hub(new_hub(tmp_path, part(server.address, stand_in=True))) as hub:
                await wait_until(hub, lambda: hub.uses_fallback)
                place = hub.upstream
                assert isinstance(place, Path)
                await asyncio.to_thread(server.start)
                await wait_until(hub, lambda: hub.state is not None and not hub.uses_fallback)
                assert (hub.upstream, hub.error) == (("127.0.0.1", server.port), "")
                assert not is_mpd_listening(place), "the stand-in is not needed any more"

        asyncio.run(scenario())


@needs_mpd
def test_a_killed_private_mpd_is_restarted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_hub(new_hub(tmp_path, part(f"127.0.0.1:{free_port()}", stand_in=True))) as hub:
            await wait_until(hub, connected(hub))
            for number in pids_of(tmp_path):
                os.kill(number, signal.SIGKILL)
            await wait_until(hub, lambda: hub.state is None)
            await wait_until(hub, connected(hub))
            assert len(pids_of(tmp_path)) == 1

    asyncio.run(scenario())


def pids_of(folder: Path) -> list[int]:
    """Return the process ids of the MPDs whose configuration is in `folder`."""
    result = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[0] == b"mpd" and bytes(folder / "mpd") in b" ".join(words):
                result.append(int(entry.name))
    return result


@needs_mpd
def test_no_orphan_stays_when_the_appliance_is_killed(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path; from pi_appliance.music.player_hub import PlayerHub\n"
        "from pi_appliance.config.options import PluginConfig; from pi_appliance.music.mpd import player as mpd\n"
        f"part = PluginConfig(kind='mpd', options=mpd.Options(address='127.0.0.1:{free_port()}'))\n"
        "async def main():\n"
        "    hub = PlayerHub(part, Path(sys.argv[1]), {}); task = asyncio.create_task(hub.run())\n"
        "    async for _ in hub.watch_changes():\n"
        "        if hub.state: print(hub.upstream, flush=True)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as appliance:
        assert appliance.stdout is not None
        place = Path(appliance.stdout.readline().strip())
        assert is_mpd_listening(place)
        appliance.kill()
    eventually(lambda: not pids_of(tmp_path))
    assert not is_mpd_listening(place)


@pytest.mark.parametrize(
    ("trap", "output"),
    [
        ("mpd missing", "The built-in silent player cannot start: mpd is not installed; run: sudo apt install mpd"),
        ("no music", "music folder /nowhere does not exist; correct `music` under `player:`"),
        ("deep", "is too long for a socket; choose a shorter `state-dir`"),
        ("file", "mpd cannot be written: Not a directory"),
    ],
)
def test_a_private_mpd_that_cannot_start_is_reported_and_the_rest_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trap: str, output: str
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    if trap != "mpd missing":
        (programs / "mpd").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(programs))
    state = tmp_path / ("x" * 100 if trap == "deep" else "state")
    if trap == "file":
        state.write_text("not a folder")
    music = Path("/nowhere") if trap == "no music" else None

    async def scenario() -> None:
        async with running_hub(new_hub(state, part(f"127.0.0.1:{free_port()}", stand_in=True, music=music))) as hub:
            await wait_until(hub, lambda: "not reached: nothing" in hub.error)
            assert output in hub.error
            with pytest.raises(Unavailable):
                await hub.player()

    asyncio.run(scenario())


def test_a_private_mpd_that_exits_is_reported_with_its_last_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "mpd").write_text("#!/bin/sh\necho 'warming up'\necho 'no such output plugin'\n")
    (programs / "mpd").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/bin:/usr/bin")

    async def scenario() -> None:
        async with running_hub(new_hub(tmp_path, part(f"127.0.0.1:{free_port()}", stand_in=True))) as hub:
            await wait_until(hub, lambda: "not reached: nothing" in hub.error)
            assert f"ended at once: no such output plugin; see {tmp_path}/mpd/mpd.log" in hub.error

    asyncio.run(scenario())


def test_without_a_private_mpd_the_hub_reports_the_problem_and_retries(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_hub(new_hub(tmp_path, part(f"127.0.0.1:{free_port()}"))) as hub:
            await wait_until(hub, lambda: "nothing listens there" in hub.error)
        assert list(tmp_path.iterdir()) == []

    asyncio.run(scenario())


@needs_mpd
def test_a_wrong_password_is_reported_and_not_replaced_by_the_private_mpd(tmp_path: Path) -> None:
    with running_mpd(tmp_path / "real", music={}, password="secret") as server:

        async def scenario() -> None:
            player = part(server.address, stand_in=True)
            async with running_hub(new_hub(tmp_path, player, {"MPD_PASSWORD": "wrong"})) as hub:
                await wait_until(hub, lambda: "put the right MPD_PASSWORD" in hub.error)
                assert hub.state is None
            async with running_hub(new_hub(tmp_path, player, {"MPD_PASSWORD": "secret"})) as hub:
                await wait_until(hub, connected(hub))

        asyncio.run(scenario())
        assert not (tmp_path / "mpd").exists()


def test_an_exception_is_reported_and_ends_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_hub(new_hub(tmp_path, PluginConfig(kind="mpd", options="no options at all"))) as hub:
            await wait_until(hub, lambda: "internal error: AttributeError" in hub.error)

    asyncio.run(scenario())


@needs_mpd
def test_elapsed_time_advances_without_polling_and_ends_with_the_track(server: MpdServer, tmp_path: Path) -> None:
    now = [100.0]
    hub = PlayerHub(part(server.address), tmp_path, {}, reconnect=QUICK, clock=lambda: now[0])

    async def scenario() -> None:
        async with running_hub(hub):
            await wait_until(hub, connected(hub))
            await (await hub.player()).add_source(Uri(uri="one.wav"), QueuePosition.REPLACE, play=True)
            await wait_until(hub, lambda: hub.state and hub.state.playback is PlaybackState.PLAYING)
            assert elapsed() < 5
            before = elapsed()
            now[0] += 4
            assert elapsed() == pytest.approx(before + 4)
            now[0] += 1000
            assert elapsed() == 20
            await (await hub.player()).pause()
            await wait_until(hub, lambda: hub.state and hub.state.playback is PlaybackState.PAUSED)
            before = elapsed()
            now[0] += 4
            assert elapsed() == before

    def elapsed() -> float:
        assert hub.state is not None
        assert hub.state.elapsed is not None
        return hub.state.elapsed

    asyncio.run(scenario())


@needs_mpd
def test_an_idle_hub_does_not_wake_up(server: MpdServer, tmp_path: Path) -> None:
    selector = CountingSelector()

    async def scenario() -> int:
        async with running_hub(new_hub(tmp_path, part(server.address))) as hub:
            await wait_until(hub, connected(hub))
            watchers = [asyncio.create_task(wait_until(hub, lambda: False)) for _ in range(3)]
            before = selector.wakes
            await asyncio.sleep(1)  # seconds without a query
            woken = selector.wakes - before
            for watcher in watchers:
                watcher.cancel()
            await asyncio.gather(*watchers, return_exceptions=True)
            return woken

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        assert runner.run(scenario()) <= 6, (
            "the last steps of connecting and the end of the quiet; a poll would wake more often"
        )


@needs_mpd
def test_a_short_connection_finds_the_player_or_the_private_mpd(tmp_path: Path) -> None:
    with running_mpd(tmp_path / "real", music={}) as server:
        settings = part(server.address, stand_in=True)
        output: list[str] = []

        async def visit() -> None:
            player = await open_player(config(settings, tmp_path), {}, notify=output.append)
            assert (await player.state()).playback is PlaybackState.STOPPED
            await player.close()

        async def scenario() -> None:
            await visit()
            assert output == []
            server.kill()
            with pytest.raises(Unavailable, match="nothing listens there"):
                await visit()
            async with running_hub(new_hub(tmp_path, settings)) as hub:
                await wait_until(hub, lambda: hub.uses_fallback)
                await visit()
                assert output == [hub.error]
                never = PluginConfig(kind="mpd", options=dataclasses.replace(settings.options, fallback_mpd=False))
                with pytest.raises(Unavailable):
                    await open_player(config(never, tmp_path), {})

        asyncio.run(scenario())


def test_a_short_connection_without_a_player_shows_the_needed_configuration(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no player is configured"):
        asyncio.run(open_player(config(None, tmp_path), {}))


@needs_mpd
def test_a_short_connection_follows_the_policy_and_rarely_opens_the_history(server: MpdServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        visit = await open_player(config(part(server.address), tmp_path, VolumePolicy(maximum=40)), {})
        try:
            await visit.state()
            await visit.add_source(Uri(uri="one.wav"), play=True)
            assert (await visit.state()).volume == 40, "MPD began with 100"
            assert list(tmp_path.glob("history*")) == []
            await visit.set_mute(True)
            assert (await visit.state()).muted
            assert list(tmp_path.glob("history*")) != []
        finally:
            await visit.close()

    asyncio.run(scenario())


@needs_mpd
def test_capabilities_are_known_while_the_player_is_connected(server: MpdServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_hub(new_hub(tmp_path, part(server.address))) as hub:
            assert hub.capabilities == frozenset()
            await wait_until(hub, connected(hub))
            assert {Capability.VOLUME, Capability.MUTE, Capability.SEARCH, Capability.STICKERS} <= hub.capabilities
            server.kill()
            await wait_until(hub, lambda: hub.state is None)
            assert hub.capabilities == frozenset()

    asyncio.run(scenario())


@needs_mpd
def test_a_refused_short_connection_is_not_sent_to_the_private_mpd(tmp_path: Path) -> None:
    with running_mpd(tmp_path / "real", music={}, password="secret") as server, pytest.raises(Refused):
        asyncio.run(open_player(config(part(server.address, stand_in=True), tmp_path), {}))
