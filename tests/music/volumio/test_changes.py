"""Waiting for changes of a Volumio: pushes, lost pushes, restarts, and other clients of the push server."""

import asyncio
import contextlib
import http.client
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pi_appliance.config.options import PluginConfig
from pi_appliance.errors import Unavailable
from pi_appliance.music.model import PlaybackState, QueuePosition, Uri
from pi_appliance.music.player_hub import PlayerHub
from pi_appliance.music.player_reconnect import ReconnectPolicy
from pi_appliance.music.volumio import client
from pi_appliance.music.volumio import player as volumio
from pi_appliance.music.volumio.playback import VolumioPlayer
from tests.fakes.mpd_server import free_port
from tests.fakes.volumio_server import VolumioServer, running_volumio
from tests.installation import Installation
from tests.music.hub_helpers import running_hub

NEVER = timedelta(hours=1)
QUICK = ReconnectPolicy(first_delay=timedelta(milliseconds=20), max_delay=timedelta(milliseconds=200))


@pytest.fixture
def server() -> Iterator[VolumioServer]:
    with running_volumio() as running:
        running.box.add([{"uri": "music-library/USB"}])
        yield running


def connect(server: VolumioServer, poll: timedelta, listen: int = 0) -> VolumioPlayer:
    """Return the player; `poll` may be shorter than the options allow."""
    return VolumioPlayer(server.address, ("127.0.0.1", server.port), poll=poll, listen=listen)


def turn(server: VolumioServer, volume: int) -> None:
    """Change the volume on Volumio itself."""
    with server.lock:
        server.box.set_volume(str(volume))


@contextlib.asynccontextmanager
async def waiting(player: VolumioPlayer) -> AsyncIterator[AsyncIterator[frozenset[str]]]:
    """Yield the changes after the first item, within ten seconds."""
    changes = player.watch_changes()
    async with asyncio.timeout(10):
        await anext(changes)
        try:
            yield changes
        finally:
            await player.close()
        with contextlib.suppress(Unavailable):  # not after a failure, when a test may still wait for a change
            await changes.aclose()


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.02)


async def mixer(changes: AsyncIterator[frozenset[str]]) -> None:
    """Wait until the volume changes, ignoring other changes."""
    async for names in changes:
        if "mixer" in names:
            return


def test_a_push_is_received_at_once_and_unsubscribed_at_the_end(server: VolumioServer) -> None:
    async def scenario() -> None:
        player = connect(server, NEVER)
        async with waiting(player) as changes:
            (url,) = server.box.urls
            assert urlsplit(url).hostname == "127.0.0.1"
            assert len(urlsplit(url).path) > 40
            turn(server, 50)
            assert await anext(changes) == {"mixer"}
        assert server.box.urls == []

    asyncio.run(scenario())


def test_missing_pushes_are_replaced_by_polling(server: VolumioServer) -> None:
    async def scenario() -> None:
        async with waiting(connect(server, timedelta(milliseconds=100))) as changes:
            server.mute_pushes = True
            turn(server, 50)
            assert await anext(changes) == {"mixer"}

    asyncio.run(scenario())


def test_a_volumio_without_push_is_polled(server: VolumioServer, caplog: pytest.LogCaptureFixture) -> None:
    server.without.add("pushNotificationUrls")

    async def scenario() -> None:
        async with waiting(connect(server, timedelta(milliseconds=50))) as changes:
            for volume in (50, 51):
                turn(server, volume)
                assert await anext(changes) == {"mixer"}
            await until_asking(changes, lambda: server.count("GET pushNotificationUrls") > 3)

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    (record,) = caplog.records
    assert "no push notifications from Volumio" in record.getMessage()


def test_a_change_during_the_registration_is_not_lost(server: VolumioServer) -> None:
    class Late(list[str]):
        """Push addresses; the volume changes while one is registered."""

        def append(self, url: str) -> None:
            turn(server, 50)
            super().append(url)

    async def scenario() -> None:
        server.box.urls, server.idle = Late(), 60  # no line breaks, which would make it look
        async with waiting(connect(server, NEVER)) as changes:
            assert await anext(changes) == {"mixer"}

    asyncio.run(scenario())


def test_a_port_in_use_leads_to_polling(server: VolumioServer, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            async with waiting(connect(server, timedelta(milliseconds=50), listen=port)) as changes:
                turn(server, 50)
                assert await anext(changes) == {"mixer"}
                assert server.box.urls == []

    asyncio.run(scenario())
    assert "address already in use" in caplog.text


def test_the_configured_port_is_used(server: VolumioServer) -> None:
    async def scenario() -> None:
        port = free_port()
        async with waiting(connect(server, NEVER, listen=port)):
            assert urlsplit(server.box.urls[0]).port == port

    asyncio.run(scenario())


def test_a_forgotten_subscription_is_renewed(server: VolumioServer) -> None:
    async def scenario() -> None:
        async with waiting(connect(server, timedelta(milliseconds=100))) as changes:
            (url,) = server.box.urls
            server.box.urls.clear()
            await until_asking(changes, lambda: server.box.urls == [url])

    asyncio.run(scenario())


async def until_asking(changes: AsyncIterator[frozenset[str]], true: Callable[[], object]) -> None:
    """Watch changes until `true`."""
    task = asyncio.create_task(anext(changes))
    try:
        await until(true)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_a_killed_volumio_is_noticed_at_once(server: VolumioServer) -> None:
    async def scenario() -> None:
        async with waiting(connect(server, NEVER)) as changes:
            lost = asyncio.create_task(anext(changes))
            await until(lambda: server.count("GET getState") >= 2)  # by now it waits
            async with asyncio.timeout(1.5):
                await asyncio.to_thread(server.kill)
                with pytest.raises(Unavailable, match=r"is not reached: (nothing listens|it closed)"):
                    await lost

    asyncio.run(scenario())


def test_a_hung_volumio_is_noticed_by_polling(server: VolumioServer) -> None:
    async def scenario() -> None:
        async with waiting(connect(server, timedelta(milliseconds=50))) as changes:
            server.freeze()
            with pytest.raises(Unavailable, match="it did not answer in time"):
                await mixer(changes)
        server.thaw()

    asyncio.run(scenario())


def test_closing_the_player_ends_watching(server: VolumioServer) -> None:
    async def scenario() -> None:
        player = connect(server, NEVER)
        changes = player.watch_changes()
        await anext(changes)
        waits = asyncio.create_task(anext(changes))
        await player.state()
        await player.close()
        with pytest.raises(Unavailable, match="was closed"):
            await waits
        assert server.box.urls == []

    asyncio.run(scenario())


def test_the_address_of_a_killed_appliance_is_replaced(server: VolumioServer) -> None:
    async def scenario() -> None:
        dead = f"http://127.0.0.1:{free_port()}{client.PATH_PREFIX}gone"
        others = [f"http://127.0.0.1:{free_port()}/home-assistant", f"http://127.0.0.2:9{client.PATH_PREFIX}far"]
        alive = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
        others.append(f"http://127.0.0.1:{alive.sockets[0].getsockname()[1]}{client.PATH_PREFIX}alive")
        server.box.urls = [dead, *others]
        async with waiting(connect(server, NEVER)):
            assert server.box.urls[:3] == others
            assert len(server.box.urls) == 4
        alive.close()

    asyncio.run(scenario())


def test_a_server_that_closes_connections_is_not_a_volumio() -> None:
    async def scenario(server: VolumioServer) -> None:
        async with waiting(connect(server, NEVER)) as changes:
            next_change = asyncio.create_task(anext(changes))
            await until(lambda: server.count("GET pushNotificationUrls") == 2)  # the line broke once
            turn(server, 50)
            assert await next_change == {"mixer"}
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.6):
                    await anext(changes)
        assert server.count("GET getState") < 8

    with running_volumio(idle=0.2) as server:
        asyncio.run(scenario(server))


def call(url: str, method: str = "POST", path: str = "", body: bytes = b"{}") -> int:
    """Return the status of one request to the push server; 0 if it closes the connection."""
    to = urlsplit(url)
    line = http.client.HTTPConnection(to.hostname or "", to.port, timeout=5)
    try:
        line.request(method, path or to.path, body)
        return line.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        line.close()


def raw(url: str, data: bytes) -> bytes:
    """Send `data` to the push server and return its answer."""
    to = urlsplit(url)
    with socket.create_connection((to.hostname or "", to.port or 0), timeout=8) as line:
        try:
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            return line.recv(1000)
        except OSError:  # it closed the connection
            return b""


def test_a_request_with_another_path_is_refused(server: VolumioServer) -> None:
    async def scenario() -> None:
        async with waiting(connect(server, NEVER)) as changes:
            next_change = asyncio.create_task(anext(changes))
            (url,) = server.box.urls
            await until(lambda: server.count("GET getState") >= 2)
            before = server.count("GET getState")
            push = json.dumps({"item": "state", "data": {"volume": 100}}).encode()
            for path in ("/", "/pi-appliance/", urlsplit(url).path[:-1], urlsplit(url).path + "x", "*"):
                assert await asyncio.to_thread(call, url, "POST", path, push) == 404
            for method in ("GET", "PUT", "DELETE", "OPTIONS"):
                assert await asyncio.to_thread(call, url, method) == 404
            for noise in (
                b"",
                b"\x00\xff" * 100,
                b"POST",
                b"A" * 200_000,
                b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            ):
                assert b"200" not in await asyncio.to_thread(raw, url, noise)
            assert server.count("GET getState") == before
            turn(server, 50)
            assert await next_change == {"mixer"}, "and pushes are received as before"

    asyncio.run(scenario())


def test_the_content_of_a_push_is_not_trusted(server: VolumioServer) -> None:
    async def scenario() -> None:
        player = connect(server, NEVER)
        async with waiting(player) as changes:
            next_change = asyncio.create_task(anext(changes))
            (url,) = server.box.urls
            lie = json.dumps({"item": "state", "data": {"volume": 100, "status": "play"}}).encode()
            for body in (lie, b"", b"nonsense", b"[" * 10_000):
                assert await asyncio.to_thread(call, url, body=body) == 200
            assert not next_change.done(), "nothing had changed"
            assert (await player.state()).volume == 40
            turn(server, 50)
            assert await next_change == {"mixer"}

    asyncio.run(scenario())


def test_an_endless_request_is_closed(server: VolumioServer) -> None:
    async def scenario() -> None:
        async with waiting(connect(server, NEVER)) as changes:
            next_change = asyncio.create_task(anext(changes))
            (url,) = server.box.urls
            endless = b"x" * (client.MAX_PUSH_BYTES + 100_000)
            assert await asyncio.to_thread(call, url, body=endless) == 413
            turn(server, 50)
            assert await next_change == {"mixer"}

    asyncio.run(scenario())


def test_many_silent_connections_do_not_block_a_push(server: VolumioServer) -> None:
    async def scenario() -> None:
        async with waiting(connect(server, NEVER)) as changes:
            to = urlsplit(server.box.urls[0])
            lines = [socket.create_connection((to.hostname or "", to.port or 0)) for _ in range(40)]
            async with asyncio.timeout(3):  # before the others are too slow
                await until(lambda: sum(hung_up(line) for line in lines) >= 32)  # only a few may be there at once
            for line in lines:
                line.close()
            while await asyncio.to_thread(call, server.box.urls[0]) != 200:
                await asyncio.sleep(0)
            turn(server, 50)
            assert await anext(changes) == {"mixer"}

    asyncio.run(scenario())


def hung_up(line: socket.socket) -> bool:
    line.setblocking(False)
    try:
        return line.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionError:
        return True


def new_hub(folder: Path, server: VolumioServer) -> PlayerHub:
    part = PluginConfig(kind="volumio", options=volumio.Options(address=server.address))
    return PlayerHub(part, folder, {}, reconnect=QUICK)


def test_the_hub_plays_loses_and_finds_volumio(server: VolumioServer, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_hub(new_hub(tmp_path, server)) as hub:
            await until(lambda: hub.state is not None)
            assert (hub.error, hub.upstream, hub.uses_fallback) == ("", None, False)
            player = await hub.player()
            await player.add_source(Uri(uri="NAS"), QueuePosition.REPLACE, play=True)
            await until(
                lambda: hub.state and hub.state.playback is PlaybackState.PLAYING and hub.state.queue_length == 1
            )
            for volume in (31, 32):
                turn(server, volume)
                await until(lambda volume=volume: hub.state and hub.state.volume == volume)
            for _ in range(3):
                (old,) = server.box.urls
                await asyncio.to_thread(server.kill)
                await until(lambda: hub.state is None)
                with pytest.raises(Unavailable, match="is not reached"):
                    await hub.player()
                await asyncio.to_thread(server.start)
                await until(lambda: hub.state is not None)
                await until(lambda: server.box.urls)
                assert server.box.urls != [old], "asked to be told again, at another path"
                for volume in (39, 50):
                    turn(server, volume)
                    await until(lambda volume=volume: hub.state and hub.state.volume == volume)
        assert server.box.urls == []

    asyncio.run(scenario())


def test_configuration_problems_of_volumio_are_reported(installation: Installation) -> None:
    installation.write("", "player: {kind: volumio, with: {address: volumio.local}}")
    assert installation.run("config", "check").returncode == 0
    for line, wrong in (
        ("address: 'http://volumio.local'", "'http://volumio.local' is not an address of Volumio"),
        ("address: 'volumio.local:x'", "with :port if that is not 3000"),
        ("address: ''", "is not an address of Volumio"),
        ("listen: 70000", "70000 is not a valid port"),
        ("poll: 0s", "use at least one second"),
    ):
        installation.write("", f"player: {{kind: volumio, with: {{{line}}}}}")
        done = installation.run("config", "check")
        assert done.returncode == 2
        assert wrong in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("volumio.local", ("volumio.local", 3000)),
        ("192.168.1.20:80", ("192.168.1.20", 80)),
        ("[fe80::1]", ("fe80::1", 3000)),
        ("[::1]:3001", ("::1", 3001)),
    ],
)
def test_an_address_is_a_host_with_an_optional_port(address: str, server: tuple[str, int]) -> None:
    assert volumio.Options(address=address).server == server
