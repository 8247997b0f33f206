"""The music services with a real MPD: volume, radio, and saved position."""

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pi_appliance.config.options import Config, PluginConfig, Radio, VolumePolicy
from pi_appliance.errors import Refused
from pi_appliance.music import services
from pi_appliance.music.model import Mode, PlaybackState, PlayerState, QueuePosition, Uri
from pi_appliance.music.mpd import player as mpd
from pi_appliance.music.player_hub import PlayerHub
from pi_appliance.storage.history import Store
from tests.fakes.mpd_server import MpdServer, free_port, needs_mpd, running_mpd
from tests.fakes.radio_server import running_station
from tests.installation import Installation
from tests.installation import wait_until as eventually
from tests.music.hub_helpers import CountingSelector

pytestmark = needs_mpd


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MpdServer]:
    with running_mpd(tmp_path / "mpd") as running:
        yield running


def config_of(server: MpdServer, state: Path, **more: object) -> Config:
    part = PluginConfig(kind="mpd", options=mpd.Options(address=server.address, fallback_mpd=False))
    return Config(player=part, state_dir=state, **more)  # type: ignore[arg-type]


@contextlib.asynccontextmanager
async def running_services(config: Config) -> AsyncIterator[PlayerHub]:
    """Run all music services during the block."""
    config.state_dir.mkdir(exist_ok=True)
    with Store(config.state_dir / "history.db") as store:
        hub = services.create_hub(config, store, {})
        task = asyncio.create_task(services.run_services(hub, config))
        try:
            await until(hub, lambda _: True)
            yield hub
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def until(hub: PlayerHub, true: Callable[[PlayerState], object], seconds: float = 60) -> None:
    """Wait until `true` of the player state, by polling."""
    async with asyncio.timeout(seconds):
        while hub.state is None or not true(hub.state):
            await asyncio.sleep(0.02)


def is_playing(uri: str) -> Callable[[PlayerState], bool]:
    return lambda state: state.playback is PlaybackState.PLAYING and state.track is not None and state.track.uri == uri


def test_any_volume_above_the_limit_is_lowered(server: MpdServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        policy = VolumePolicy(start=30, maximum=60)
        async with running_services(config_of(server, tmp_path / "state", volume=policy)) as hub:
            await until(hub, lambda state: state.volume == 30)  # MPD begins with 100
            await asyncio.to_thread(server.mpc, "volume", "100")
            await until(hub, lambda state: state.volume == 60)
            assert "volume: 60%" in await asyncio.to_thread(server.mpc, "status")
            player = await hub.player()
            await player.set_volume(90)
            await player.set_mute(True)
            await until(hub, lambda state: state.muted)
            assert "volume:  0%" in await asyncio.to_thread(server.mpc, "status")
            await player.set_mute(False)
            await until(hub, lambda state: state.volume == 60 and not state.muted)

    asyncio.run(scenario())


@pytest.mark.slow_variants
@pytest.mark.parametrize("how", ["hangs up", "falls silent"])
def test_an_interrupted_radio_is_reconnected(how: str, server: MpdServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        config = config_of(server, tmp_path / "state", radio=Radio(silence_timeout=timedelta(seconds=2)))
        async with running_station() as radio, running_services(config) as hub:
            await (await hub.player()).add_source(Uri(uri=radio.address, title="One"), QueuePosition.REPLACE, play=True)
            await until(hub, lambda state: is_playing(radio.address)(state) and state.elapsed and radio.listeners)
            if how == "hangs up":
                radio.hang_up()
            else:
                radio.mute = True
                await until(hub, lambda _: "no data is received" in hub.status_text)
                radio.mute = False
            async with asyncio.timeout(60):
                while radio.listeners < 2:
                    await asyncio.sleep(0.1)
            await until(hub, lambda state: is_playing(radio.address)(state) and not hub.status_text)
            assert await asyncio.to_thread(server.mpc, "playlist", "-f", "%file%") == radio.address

    asyncio.run(scenario())


def test_a_dead_radio_is_replaced_and_restored(server: MpdServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        settings = Radio(silence_timeout=timedelta(seconds=2), fallback=["one.wav"], retry_every=timedelta(seconds=3))
        async with (
            running_station() as radio,
            running_services(config_of(server, tmp_path / "state", radio=settings)) as hub,
        ):
            await (await hub.player()).add_source(Uri(uri=radio.address, title="One"), QueuePosition.REPLACE, play=True)
            await until(hub, lambda state: is_playing(radio.address)(state) and state.elapsed and radio.listeners)
            radio.gone = True
            radio.hang_up()
            await until(hub, lambda state: is_playing("one.wav")(state) and "plays instead of" in hub.status_text)
            radio.gone = False
            await until(hub, lambda state: is_playing(radio.address)(state) and not hub.status_text)
            assert await asyncio.to_thread(server.mpc, "playlist", "-f", "%file%") == radio.address

    asyncio.run(scenario())


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "how", ["nothing listens", "hangs up", "404", "web page", pytest.param("never answers", marks=pytest.mark.slow)]
)
def test_a_radio_that_is_dead_when_chosen_is_replaced_and_restored(how: str, server: MpdServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        settings = Radio(silence_timeout=timedelta(seconds=2), fallback=["one.wav"], retry_every=timedelta(seconds=3))
        async with (
            running_station() as radio,
            running_services(config_of(server, tmp_path / "state", radio=settings)) as hub,
        ):
            radio.gone, radio.is_web_page = how == "hangs up", how == "web page"
            radio.is_missing, radio.never_answers = how == "404", how == "never answers"
            uri = f"http://127.0.0.1:{free_port()}/live" if how == "nothing listens" else radio.address
            for _ in range(2):  # the second time MPD's state is as before
                with contextlib.suppress(Refused):
                    player = await hub.player()
                    await player.add_source(Uri(uri=uri, title="Two"), QueuePosition.REPLACE, play=True)
                await until(hub, lambda _: hub.status_text.startswith("Two broke off"))
                await until(hub, lambda state: is_playing("one.wav")(state) and "instead of Two" in hub.status_text)
            await (await hub.player()).stop()
            await until(hub, lambda state: state.playback is PlaybackState.STOPPED and not hub.status_text)
            with pytest.raises(TimeoutError):
                await until(hub, lambda state: state.playback is PlaybackState.PLAYING or hub.status_text, seconds=2)

    asyncio.run(scenario())


@pytest.mark.slow_variants
@pytest.mark.parametrize("command", ["stop", "pause", "clear"])
def test_a_radio_stopped_by_mpc_stays_stopped(command: str, server: MpdServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        config = config_of(server, tmp_path / "state", radio=Radio(silence_timeout=timedelta(seconds=1)))
        async with running_station() as radio, running_services(config) as hub:
            await (await hub.player()).add_source(Uri(uri=radio.address, title="One"), QueuePosition.REPLACE, play=True)
            await until(hub, lambda state: is_playing(radio.address)(state) and state.elapsed and radio.listeners)
            await asyncio.to_thread(server.mpc, command)
            await until(hub, lambda state: state.playback is not PlaybackState.PLAYING)
            with pytest.raises(TimeoutError):  # seconds without a query
                await until(hub, lambda state: state.playback is PlaybackState.PLAYING or hub.status_text, seconds=3)

    asyncio.run(scenario())


def test_a_killed_mpd_gets_its_queue_and_position_back(server: MpdServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        config = config_of(server, tmp_path / "state", volume=VolumePolicy(maximum=70))
        async with running_services(config) as hub:
            player = await hub.player()
            await player.add_source(Uri(uri="Ärzte/"))
            await player.add_source(Uri(uri="one.wav"))
            await player.set_modes(repeat=True, single=Mode.ON)
            await player.set_volume(40)
            await player.play(2)
            await player.seek(7)
            await until(hub, lambda state: (state.elapsed or 0) >= 7)
            async with asyncio.timeout(20):
                while not (tmp_path / "state" / "resume" / "playback.json").exists():
                    await asyncio.sleep(0.1)
            before = await asyncio.to_thread(server.mpc, "playlist", "-f", "%file%")
            server.kill()
            await asyncio.to_thread(server.start)
            await until(hub, is_playing("one.wav"))
            await until(hub, lambda state: (state.elapsed or 0) >= 7)
            state = hub.state
            assert state is not None
            assert (state.queue_length, state.volume, state.repeat, state.single) == (3, 40, True, Mode.ON)
            assert await asyncio.to_thread(server.mpc, "playlist", "-f", "%file%") == before

    asyncio.run(scenario())


@pytest.mark.slow
def test_the_services_of_an_idle_player_do_not_wake_up(server: MpdServer, tmp_path: Path) -> None:
    selector, folder = CountingSelector(), tmp_path / "state"

    async def scenario() -> int:
        async with running_services(config_of(server, folder, volume=VolumePolicy(start=20, maximum=60))):
            async with asyncio.timeout(20):
                while not (folder / "resume" / "playback.json").exists():  # the pending writes are done
                    await asyncio.sleep(0.1)
            before = selector.wakes
            await asyncio.sleep(1)  # seconds without a query
            return selector.wakes - before

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        assert runner.run(scenario()) <= 4, "the end of the quiet, and what was just going on"


def test_the_daemon_adopts_a_changed_policy(server: MpdServer, installation: Installation) -> None:
    port = free_port()

    def write(loudest: int) -> None:
        installation.write(
            "",
            f"player: {{kind: mpd, with: {{address: '{server.address}'}}}}\n"
            f"volume: {{maximum: {loudest}}}\nweb: {{port: 0}}\nmpd-proxy: {{port: {port}}}",
        )

    def turned_up(by: int) -> int:
        """Return the volume after the proxy at port `by` was set to 95, with retries."""
        with contextlib.suppress(subprocess.CalledProcessError):
            server.mpc("volume", "95", port=by)
        return int(server.mpc("volume").removeprefix("volume:").strip(" %"))

    write(50)
    with installation.start("up") as daemon:
        try:
            eventually(lambda: "MPD apps" in (daemon.stdout.readline() if daemon.stdout else ""))
            eventually(lambda: turned_up(port) == 50)
            eventually(lambda: turned_up(server.port) == 50)
            write(70)
            daemon.send_signal(signal.SIGHUP)
            eventually(lambda: turned_up(server.port) == 70)
            eventually(lambda: turned_up(port) == 70)
        finally:
            daemon.terminate()
            daemon.communicate(timeout=20)
