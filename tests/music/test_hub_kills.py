"""MPD is killed repeatedly while ten clients act: all reconnect at once, miss no change, and no command runs twice.

The test counts addresses in saved playlists, each sent once: MPD writes them to the disk before it answers, so
they survive a kill. PI_APPLIANCE_MPD_KILLS is the number of kills.
"""

import asyncio
import collections
import contextlib
import os
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from random import Random

import mpd as python_mpd2
import pytest

from pi_appliance.config.options import Config, MpdProxy, PluginConfig, VolumePolicy
from pi_appliance.errors import Unavailable, Uncertain
from pi_appliance.music import services
from pi_appliance.music.model import Uri
from pi_appliance.music.mpd import player
from pi_appliance.music.mpd.proxy import Relay
from pi_appliance.music.player_hub import PlayerHub
from pi_appliance.storage.history import Store
from tests.fakes.mpd_server import PICTURE, MpdServer, needs_mpd, running_mpd

KILLS = int(os.environ.get("PI_APPLIANCE_MPD_KILLS", "5"))
SEED = int(os.environ.get("PI_APPLIANCE_MPD_SEED", "7"))
BACK = 2.0  # seconds after MPD's return within which everybody must have been served
LONG = 300  # tracks in a list that is read all the time
_AGAIN = 0.05

pytestmark = needs_mpd


class Client:
    """A client that acts repeatedly. `served` is the time of its last success."""

    def __init__(self, name: str, act: Callable[["Client"], Awaitable[None]]) -> None:
        self.name, self._act = name, act
        self.served, self.done = 0.0, False
        self.sent = 0
        self.outcomes = dict[str, str]()  # results of the commands: done, not done, uncertain
        self.troubles = collections.Counter[str]()

    def new_uri(self) -> str:
        """Return an unused address."""
        self.sent += 1
        return f"http://nowhere.invalid/{self.name}/{self.sent}"

    async def live(self) -> None:
        """Act until done, without an interruption that would hide the last result."""
        while not self.done:
            try:
                await self._act(self)
                self.served = time.monotonic()
                await asyncio.sleep(0)
            except (Unavailable, Uncertain) as error:
                self.troubles[type(error).__name__] += 1
                await asyncio.sleep(_AGAIN)
            except (OSError, python_mpd2.ConnectionError, python_mpd2.ProtocolError) as error:
                self.troubles[type(error).__name__] += 1
                await asyncio.sleep(_AGAIN)


def adder(hub: PlayerHub) -> Callable[[Client], Awaitable[None]]:
    """Return a client that stores addresses by the player of the hub."""

    async def act(client: Client) -> None:
        uri = client.new_uri()
        client.outcomes[uri] = "not done"
        try:
            await (await hub.player()).add_to_playlist(client.name, Uri(uri=uri))
            client.outcomes[uri] = "done"
        except Uncertain:
            client.outcomes[uri] = "uncertain"
            raise

    return act


def port_adder(port: int, app: python_mpd2.MPDClient) -> Callable[[Client], Awaitable[None]]:
    """Return a client that stores addresses by one connection to the MPD proxy."""
    app.timeout = 10

    def add(client: Client) -> None:
        uri = client.new_uri()
        client.outcomes[uri] = "not done"
        try:
            app.ping()
        except (OSError, python_mpd2.ConnectionError):
            connect(app, port)
        client.outcomes[uri] = "uncertain"
        app.playlistadd(client.name, uri)
        client.outcomes[uri] = "done"

    return lambda client: asyncio.to_thread(add, client)


def port_reader(port: int) -> Callable[[Client], Awaitable[None]]:
    """Return a client that reads pictures and lists by new connections to the MPD proxy."""

    def read(_: Client) -> None:
        app = python_mpd2.MPDClient()
        app.timeout = 10
        connect(app, port)
        try:
            assert app.readpicture("one.wav")["binary"] == PICTURE
            assert len(app.listplaylist("long")) == LONG
        finally:
            app.disconnect()

    return lambda client: asyncio.to_thread(read, client)


def connect(app: python_mpd2.MPDClient, port: int) -> None:
    """Connect `app` to the proxy. Raises OSError, ConnectionError."""
    with contextlib.suppress(OSError, python_mpd2.ConnectionError):
        app.disconnect()
    app.connect("127.0.0.1", port)


def picture_reader(hub: PlayerHub) -> Callable[[Client], Awaitable[None]]:
    """Return a client that reads pictures."""

    async def act(_: Client) -> None:
        art = await (await hub.player()).album_art("one.wav")
        assert art is not None
        assert art.data == PICTURE

    return act


def list_reader(hub: PlayerHub) -> Callable[[Client], Awaitable[None]]:
    """Return a client that reads a long list."""

    async def act(_: Client) -> None:
        window = await (await hub.player()).list_playlist("long", 0, 1000)
        assert len(window.items) == LONG

    return act


def listener(hub: PlayerHub) -> Callable[[Client], Awaitable[None]]:
    """Return a client that only watches changes."""
    news = hub.watch_changes()

    async def act(client: Client) -> None:
        client.sent += 1
        await anext(news)
        if hub.state is None:
            raise Unavailable(hub.error)

    return act


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MpdServer]:
    with running_mpd(tmp_path / "mpd") as running:
        long = "".join(f"http://nowhere.invalid/long/{number}\n" for number in range(LONG))
        (running.folder / "playlists" / "long.m3u").write_text(long)
        yield running


@contextlib.asynccontextmanager
async def running_services(config: Config) -> AsyncIterator[tuple[PlayerHub, int]]:
    """Run the hub, the music services and the MPD proxy during the block."""
    config.state_dir.mkdir()
    with Store(config.state_dir / "history.db") as store:
        hub = services.create_hub(config, store, {})
        task = asyncio.create_task(services.run_services(hub, config))
        relay = Relay(hub, MpdProxy(port=0))
        try:
            yield hub, await relay.start()
        finally:
            await relay.stop()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(KILLS, marks=pytest.mark.faults)])
def test_after_a_kill_every_client_reconnects_and_nothing_is_repeated(
    server: MpdServer, tmp_path: Path, kills: int
) -> None:
    part = PluginConfig(kind="mpd", options=player.Options(address=server.address, fallback_mpd=False))
    config = Config(player=part, state_dir=tmp_path / "state", volume=VolumePolicy(maximum=90))
    random = Random(SEED)
    late = list[tuple[float, str]]()  # for each kill: seconds until all clients work again, and the last client

    async def scenario() -> list[Client]:
        async with running_services(config) as (hub, port):
            apps = [python_mpd2.MPDClient() for _ in range(3)]
            clients = [
                *(Client(f"app{number}", adder(hub)) for number in range(3)),
                *(Client(f"phone{number}", port_adder(port, app)) for number, app in enumerate(apps)),
                Client("pictures", picture_reader(hub)),
                Client("lists", list_reader(hub)),
                *(Client(f"reader{number}", port_reader(port)) for number in range(2)),
            ]
            listeners = [Client(f"listener{number}", listener(hub)) for number in range(3)]
            tasks = [asyncio.create_task(client.live()) for client in (*clients, *listeners)]
            await all_served([*clients, *listeners], tasks, since=0.0)
            for _ in range(kills):
                await asyncio.sleep(random.uniform(0.02, 0.5))
                server.kill()
                await asyncio.sleep(random.choice((0.0, 0.0, 0.3, 1.5)))
                await asyncio.to_thread(server.start)
                back = time.monotonic()
                await all_served([*clients, *listeners], tasks, since=back)
                late.append(max((client.served - back, client.name) for client in (*clients, *listeners)))
                await everybody_hears(hub, listeners, random.randrange(10, 80))
            for client in clients:
                client.done = True
            await asyncio.gather(*tasks[: len(clients)])
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for app in apps:
                with contextlib.suppress(OSError, python_mpd2.ConnectionError):
                    app.disconnect()
            return clients

    async def everybody_hears(hub: PlayerHub, listeners: list[Client], volume: int) -> None:
        """Cause a change that all listeners must receive."""
        sent_counts = [listener.sent for listener in listeners]
        await asyncio.to_thread(server.mpc, "volume", str(volume))
        async with asyncio.timeout(BACK):
            while hub.state is None or hub.state.volume != volume:
                await asyncio.sleep(_AGAIN)
            while any(listener.sent == before for listener, before in zip(listeners, sent_counts, strict=True)):
                await asyncio.sleep(_AGAIN)

    clients = asyncio.run(scenario())
    outcomes = {uri: outcome for client in clients for uri, outcome in client.outcomes.items()}
    counts = collections.Counter(
        line
        for path in (server.folder / "playlists").glob("*.m3u")
        if path.stem != "long"
        for line in path.read_text().splitlines()
    )
    allowed = {"done": {1}, "not done": {0}, "uncertain": {0, 1}}
    wrong = {uri: (outcome, counts[uri]) for uri, outcome in outcomes.items() if counts[uri] not in allowed[outcome]}
    assert wrong == {}
    assert set(counts) <= set(outcomes)
    counted = collections.Counter(outcomes.values())
    worst, median = max(late), statistics.median(seconds for seconds, _ in late)
    summary = f"all back after {median:.2f} s, at worst {worst[0]:.2f} s ({worst[1]})"
    print(f"{kills} kills, seed {SEED}, {counted}, {summary}")  # noqa: T201 - with -s
    assert counted["done"] > 10 * kills
    assert worst[0] <= BACK, worst


async def all_served(clients: list[Client], tasks: list[asyncio.Task[None]], *, since: float) -> None:
    """Wait until each of `clients` was served after `since`."""
    async with asyncio.timeout(20):
        while any(client.served <= since for client in clients):
            for task in tasks:
                assert not task.done(), task.exception()
            await asyncio.sleep(0.01)
