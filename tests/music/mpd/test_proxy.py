"""The MPD proxy with real clients: every byte passes unchanged."""

import asyncio
import contextlib
import html
import json
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from pi_appliance.config.options import MpdProxy, PluginConfig, VolumePolicy
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.alarms.sounds import SoundServer
from pi_appliance.music.mpd import player
from pi_appliance.music.mpd.proxy import MpdProxyService, Relay
from pi_appliance.music.mpd.proxy_commands import PasswordGate
from pi_appliance.music.player_hub import PlayerHub
from pi_appliance.music.player_reconnect import ReconnectPolicy
from pi_appliance.music.radio.streams import require_public_host
from pi_appliance.music.volume_limits import PlayerPolicy
from tests.fakes.mpd_server import PICTURE, MpdServer, free_port, needs_mpd, running_mpd
from tests.installation import Installation

HOST = "127.0.0.1"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MpdServer]:
    with running_mpd(tmp_path_factory.mktemp("mpd")) as running:
        yield running


def hub_for(address: str, policy: VolumePolicy | None = None) -> PlayerHub:
    part = PluginConfig(kind="mpd", options=player.Options(address=address, fallback_mpd=False))
    return PlayerHub(part, Path("/nowhere"), {}, policy=PlayerPolicy(volume_policy=policy))


@contextlib.asynccontextmanager
async def relayed(
    address: str,
    *,
    clients: int = 60,
    patience: float = 3,
    policy: VolumePolicy | None = None,
    gate: PasswordGate | None = None,
    mpd_password: str = "",
) -> AsyncIterator[int]:
    """Yield the port of a proxy to the MPD at `address`, with a hub that does not run."""
    hub = hub_for(address, policy)
    hub.upstream = hub.mpd_address
    relay = Relay(
        hub, MpdProxy(port=0), max_clients=clients, greeting_timeout=patience, gate=gate, mpd_password=mpd_password
    )
    port = await relay.start()
    try:
        yield port
    finally:
        await relay.stop()


@contextlib.asynccontextmanager
async def client(port: int) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def send_lines(streams: Streams, *lines: str) -> bytes:
    """Send `lines` and return the answer to its end."""
    reader, writer = streams
    writer.write("".join(f"{line}\n" for line in lines).encode())
    async with asyncio.timeout(15):
        return await reader.readuntil(b"OK\n")


@needs_mpd
def test_mpc_works_through_the_proxy(server: MpdServer) -> None:
    async def scenario() -> None:
        async with relayed(server.address) as port:
            through = asyncio.to_thread
            for command in (["clear"], ["add", "Ärzte"], ["play", "2"], ["volume", "44"], ["pause"]):
                await through(lambda command=command: server.mpc(*command, port=port))
            for question in ("status", "playlist", "listall", "outputs", "stats", "version"):
                direct = await through(server.mpc, question)
                if question != "stats":  # it counts the seconds
                    assert await through(lambda question=question: server.mpc(question, port=port)) == direct
            assert "[paused]" in await through(server.mpc, "status")

    asyncio.run(scenario())


@needs_mpd
def test_a_picture_that_looks_like_answers_arrives_unchanged(server: MpdServer) -> None:
    async def scenario() -> None:
        async with relayed(server.address) as port:
            for command in ("albumart", "readpicture"):
                picture = await asyncio.to_thread(
                    lambda command=command: server.mpc_bytes(command, "one.wav", port=port)
                )
                assert picture == PICTURE

    asyncio.run(scenario())


@needs_mpd
@pytest.mark.parametrize("policy", [None, VolumePolicy(maximum=60)], ids=["no policy", "a policy"])
def test_protocol_edge_cases_match_mpd(server: MpdServer, policy: VolumePolicy | None) -> None:
    scenes = [
        b"noidle\nping\n",
        b"foo\n",
        b"ping\r\n",
        b"command_list_ok_begin\nping\nplay 999\nping\ncommand_list_end\n",
        b"idle bogus\n",
        b"binarylimit 64\nalbumart one.wav 0\n",
        b"binarylimit 1\n",
        b"\xff\xfe\n",
        b"setvol 101\nping\n",
        b"setvol x\n",
        b"setvol\n",
        b"setvol 5 5\n",
        b" setvol 5\n",
        b"GET / HTTP/1.1\r\n",
        b"find \"(title == 'Zwei \xe2\x80\x94 \xe4\xba\x8c')\"\n",
    ]

    async def answer(port: int, request: bytes) -> bytes:
        async with client(port) as (reader, writer):
            writer.write(request + (b"" if b"HTTP" in request else b"close\n"))  # `close` makes MPD end the connection
            async with asyncio.timeout(15):
                return await reader.read(-1)

    async def scenario() -> None:
        async with relayed(server.address, policy=policy) as port:
            for request in scenes:
                assert await answer(port, request) == await answer(server.port, request)

    asyncio.run(scenario())


@needs_mpd
def test_no_app_exceeds_the_volume_limit(server: MpdServer) -> None:
    """In every form that MPD accepts; it refuses others without the proxy too."""
    space, number = (
        [b" ", b"  ", b"\t", b" \x0b"],
        [b"100", b"61", b"+99", b"0100", b'"100"', b'"1\\00"', b'" 77"', b"60", b"9"],
    )
    forms = [b"setvol" + gap + value + end for gap in space for value in number for end in (b"", b"\r", b" ", b"\0x")]

    async def scenario() -> None:
        async with relayed(server.address, policy=VolumePolicy(maximum=60)) as port, client(port) as streams:
            for form in forms:
                direct, clamped = [await volume_after(at, form) for at in (server.port, port)]
                assert clamped == min(direct, 60), form
            await send_lines(streams, "command_list_begin", "setvol 100", "status", "command_list_end")
            assert b"volume: 60" in await send_lines(streams, "status")
            streams[1].write(b"setv")
            await streams[1].drain()
            assert (await send_lines(streams, "ol 99")) == b"OK\n"
            assert b"volume: 60" in await send_lines(streams, "status")

    async def volume_after(port: int, form: bytes) -> int:
        await asyncio.to_thread(server.mpc, "volume", "3")
        async with client(port) as (reader, writer):
            writer.write(form + b"\nclose\n")
            async with asyncio.timeout(15):
                await reader.read(-1)
        async with client(server.port) as streams:
            await streams[0].readline()
            status = await send_lines(streams, "status")
        return int(status.partition(b"volume: ")[2].split()[0])

    asyncio.run(scenario())


@needs_mpd
def test_a_relative_volume_never_exceeds_the_limit_in_any_partition(tmp_path: Path) -> None:
    async def scenario(server: MpdServer) -> None:
        async with (
            relayed(server.address, policy=VolumePolicy(maximum=60), mpd_password=server.password) as port,
            client(port) as streams,
            client(port) as watcher,
        ):
            for each in (streams, watcher):
                await send_lines(each, f"password {server.password}")
            await send_lines(streams, "newpartition attic")
            await send_lines(watcher, "partition attic")
            await send_lines(streams, "partition attic")
            await send_lines(streams, "moveoutput oven")
            for command, expected in (
                ("setvol 100", 60),
                ("volume 30", 60),
                ("setvol 20", 20),
                ("volume +15", 35),
                ('volume "-5"', 30),
                ("volume 1\nvolume 1\nvolume 1", 33),
                ("partition none\nvolume 2", 35),
            ):
                streams[1].write(f"{command}\nend\n".encode())
                async with asyncio.timeout(15):
                    await streams[0].readuntil(b'unknown command "end"\n')
                status = await send_lines(watcher, "status")
                assert f"volume: {expected}\n".encode() in status, command

    with running_mpd(tmp_path, outputs=("silence", "oven"), password="secret") as server:
        asyncio.run(scenario(server))


@needs_mpd
def test_clients_in_the_network_cannot_add_addresses_of_this_machine(server: MpdServer) -> None:
    own = SoundServer(b"", "none").hosts[-1]
    if own == HOST:
        pytest.skip("this machine is in no network")

    async def scenario() -> None:
        hub = hub_for(server.address)
        hub.upstream = hub.mpd_address
        everywhere = MpdProxy(host="0.0.0.0", port=0)  # noqa: S104
        relay = Relay(hub, everywhere, check_address=lambda uri: require_public_host(uri, ()))
        port = await relay.start()
        for host, expected in ((own, b'ACK [2@0] {add} too few arguments for "add"\n'), (HOST, b"OK\n")):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(b'add "http://127.0.0.1:9/"\nclose\n')
            async with asyncio.timeout(15):
                assert (await reader.read(-1)).partition(b"\n")[2] == expected
            writer.close()
        await relay.stop()

    asyncio.run(scenario())


def test_a_player_that_is_not_mpd_is_reported_and_delays_nothing() -> None:
    async def scenario() -> None:
        service = MpdProxyService()
        config = SimpleNamespace(mpd_proxy=MpdProxy(port=free_port()))
        hub = PlayerHub(PluginConfig(kind="volumio", options=None), Path("/nowhere"), {})
        where = await service.start(SimpleNamespace(hub=hub, appliance=SimpleNamespace(config=config)))
        assert where == "MPD apps: not available, because a player of kind volumio has no MPD; remove mpd-proxy:"
        with pytest.raises(OSError, match="onnect"):
            await asyncio.open_connection(HOST, config.mpd_proxy.port)
        await service.stop()

    asyncio.run(scenario())


@needs_mpd
def test_an_idle_client_receives_a_change_and_can_disconnect(server: MpdServer) -> None:
    async def scenario() -> None:
        async with relayed(server.address) as port, client(port) as streams:
            await streams[0].readline()
            waiting = asyncio.create_task(send_lines(streams, "idle mixer"))
            await asyncio.to_thread(server.mpc, "volume", "12")
            assert await waiting == b"changed: mixer\nOK\n"
            streams[1].write(b"idle player\n")
            assert await send_lines(streams, "noidle") == b"OK\n"
            assert (await send_lines(streams, "status")).startswith(b"volume: 12\n")

    asyncio.run(scenario())


@needs_mpd
def test_twenty_clients_have_twenty_connections(server: MpdServer) -> None:
    async def scenario() -> None:
        async with relayed(server.address) as port, contextlib.AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(client(port)) for _ in range(20)]
            for streams in clients:
                assert (await streams[0].readline()).startswith(b"OK MPD")
            # State of a connection stays there: each has its own set of tags.
            for streams in clients[::2]:
                assert await send_lines(streams, 'tagtypes "clear"') == b"OK\n"
            await asyncio.to_thread(server.mpc, "clear")
            assert (await send_lines(clients[0], "add one.wav")) == b"OK\n"
            answers = await asyncio.gather(*(send_lines(streams, "playlistinfo") for streams in clients))
            assert [b"Title: One" in answer for answer in answers] == [False, True] * 10

    asyncio.run(scenario())


@needs_mpd
def test_a_client_that_closed_its_side_still_gets_the_answers(server: MpdServer) -> None:
    async def scenario() -> None:
        upstream = await asyncio.start_server(slow_answer, HOST, 0)
        async with relayed(f"{HOST}:{upstream.sockets[0].getsockname()[1]}") as port, client(port) as (reader, writer):
            writer.write(b"last words\n")
            writer.write_eof()
            async with asyncio.timeout(15):
                assert await reader.read(-1) == b"OK MPD 0.23.5\nheard: last words\n"
        upstream.close()

    async def slow_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OK MPD 0.23.5\n")
        received = await reader.read(-1)  # ends only when the end of the client came through
        writer.write(b"heard: " + received)
        writer.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(("deaf", "hears"), [(0, b"OK MPD 0.23.5\n"), (2, b"OK MPD 0.23.5\n"), (3, b"")])
def test_a_connection_that_mpd_never_accepted_is_repeated(deaf: int, hears: bytes) -> None:
    """`deaf` is the number of lost attempts, as with many concurrent clients."""
    tries = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal tries
        tries += 1
        try:
            if tries > deaf:
                writer.write(b"OK MPD 0.23.5\n")
            await reader.read(-1)
        finally:
            writer.close()

    async def scenario() -> None:
        upstream = await asyncio.start_server(serve, HOST, 0)
        address = f"{HOST}:{upstream.sockets[0].getsockname()[1]}"
        async with relayed(address, patience=0.2) as port, client(port) as (reader, writer), asyncio.timeout(15):
            writer.write_eof()
            assert await reader.read(-1) == hears
        upstream.close()

    asyncio.run(scenario())
    assert tries == min(deaf + 1, 3)


def test_a_client_that_does_not_read_is_not_buffered() -> None:
    sent_bytes = 0

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent_bytes
        with contextlib.suppress(OSError):
            while True:
                writer.write(bytes(65_536))
                await writer.drain()
                sent_bytes += 65_536

    async def scenario() -> None:
        upstream = await asyncio.start_server(flood, HOST, 0)
        async with relayed(f"{HOST}:{upstream.sockets[0].getsockname()[1]}") as port:
            with socket.create_connection((HOST, port)):
                before = -1
                while sent_bytes != before:  # until nothing moves any more
                    before = sent_bytes
                    await asyncio.sleep(0.2)
                assert 0 < sent_bytes < 30_000_000, "the buffers of the kernel, and a little"
        upstream.close()

    asyncio.run(scenario())


@needs_mpd
def test_when_mpd_dies_its_clients_are_disconnected_and_may_reconnect(tmp_path: Path) -> None:
    with running_mpd(tmp_path, music={}) as server:

        async def scenario() -> None:
            async with relayed(server.address) as port:
                async with client(port) as (reader, _):
                    assert (await reader.readline()).startswith(b"OK MPD")
                    server.kill()
                    async with asyncio.timeout(15):
                        assert await reader.read(-1) == b""
                async with client(port) as (reader, _):
                    assert await reader.read(-1) == b"", "there is no MPD to talk to"
                await asyncio.to_thread(server.start)
                assert "volume" in await asyncio.to_thread(lambda: server.mpc("status", port=port))

        asyncio.run(scenario())


def test_without_an_mpd_a_client_is_disconnected_at_once() -> None:
    async def scenario() -> None:
        relay = Relay(hub_for(f"{HOST}:{free_port()}"), MpdProxy(port=0))
        port = await relay.start()
        async with client(port) as (reader, _), asyncio.timeout(15):
            assert await reader.read(-1) == b""
        await relay.stop()

    asyncio.run(scenario())


@needs_mpd
def test_excess_clients_are_refused(server: MpdServer) -> None:
    async def scenario() -> None:
        async with relayed(server.address, clients=2) as port, client(port) as first, client(port) as second:
            for reader, _ in (first, second):
                assert (await reader.readline()).startswith(b"OK MPD")
            async with client(port) as (reader, _), asyncio.timeout(15):
                assert await reader.read(-1) == b""
            assert await send_lines(first, "ping") == b"OK\n"

    asyncio.run(scenario())


@needs_mpd
def test_it_follows_the_hub_to_the_private_mpd_and_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        settings = player.Options(address=f"{HOST}:{free_port()}")
        hub = PlayerHub(PluginConfig(kind="mpd", options=settings), tmp_path, {}, reconnect=ReconnectPolicy())
        running = asyncio.create_task(hub.run())
        service = MpdProxyService()
        config = SimpleNamespace(mpd_proxy=MpdProxy(port=free_port()), path=tmp_path / "appliance.yaml")
        where = await service.start(SimpleNamespace(hub=hub, appliance=SimpleNamespace(config=config)))
        assert where == f"MPD apps: {HOST}:{config.mpd_proxy.port}"
        async with asyncio.timeout(10):
            async for _ in hub.watch_changes():
                if hub.uses_fallback:
                    break
        async with client(config.mpd_proxy.port) as (reader, writer):
            assert (await reader.readline()).startswith(b"OK MPD")
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            async with asyncio.timeout(15):
                assert await reader.read(-1) == b"", "the stand-in is gone"
            writer.close()
        await service.stop()

    asyncio.run(scenario())


def test_the_service_listens_only_where_configured() -> None:
    async def scenario() -> None:
        service = MpdProxyService()
        daemon = SimpleNamespace(
            hub=hub_for("localhost:6600"), appliance=SimpleNamespace(config=SimpleNamespace(mpd_proxy=None))
        )
        assert await service.start(daemon) == ""
        await service.stop()

    asyncio.run(scenario())


def test_a_port_in_use_is_reported(server: MpdServer) -> None:
    async def scenario() -> None:
        with pytest.raises(Unavailable, match=f"cannot listen on 127.0.0.1:{server.port}"):
            await Relay(hub_for("elsewhere:6600"), MpdProxy(port=server.port)).start()
        with pytest.raises(Unavailable, match="cannot listen on no-such-host"):
            await Relay(hub_for("elsewhere:6600"), MpdProxy(host="no-such-host.invalid")).start()
        with pytest.raises(Unavailable, match="cannot listen on xxx"):
            await Relay(hub_for("elsewhere:6600"), MpdProxy(host="x" * 64 + ".home")).start()

    asyncio.run(scenario())


@pytest.mark.parametrize("address", ["localhost:6601", "127.0.0.1:6601", "[::1]:6601", "192.168.1.5:6601"])
def test_a_proxy_to_itself_is_refused(address: str) -> None:
    with pytest.raises(Refused, match="6601 is the port of the player itself"):
        asyncio.run(Relay(hub_for(address), MpdProxy(host="192.168.1.5")).start())


def test_it_listens_on_loopback_by_default() -> None:
    assert MpdProxy().host == "127.0.0.1"


PASSWORD = 'open "ses\\ame'
QUOTED = 'password "open \\"ses\\\\ame"'


@needs_mpd
def test_with_a_password_the_proxy_answers_like_an_mpd_with_a_password(tmp_path: Path) -> None:
    scenes = [
        "status", "ping", "ping\r", "password", "password a b", "password wrong", "noidle\nping", "idle", "ping\0 x",
        "clear\nsetvol 100", "Foo\nping", "GET / HTTP/1.1", "\nping", " ping", "close\nping",
        "command_list_begin\nping\nstatus\nping\ncommand_list_end\nping",
        "command_list_ok_begin\nping\nping\ncommand_list_end",
        "command_list_ok_begin\nping\npassword bad\nclear\ncommand_list_end\nping",
        f"{QUOTED}\nsetvol 42\nfoo\nping",
        f"command_list_ok_begin\nping\n{QUOTED}\nsetvol 43\nfoo\ncommand_list_end\nsetvol 44",
    ]  # fmt: skip

    async def answer(port: int, request: str) -> bytes:
        async with client(port) as (reader, writer):
            writer.write(f"{request}\nclose\n".encode())
            async with asyncio.timeout(15):
                return await reader.read(-1)

    async def scenario(protected: MpdServer, direct: MpdServer) -> None:
        async with relayed(direct.address, gate=PasswordGate(PASSWORD, delay=0)) as port:
            for request in scenes:
                assert await answer(port, request) == await answer(protected.port, request), request
            assert "volume: 44" in await asyncio.to_thread(direct.mpc, "volume")

    with (
        running_mpd(tmp_path / "one", music={}) as direct,
        running_mpd(tmp_path / "two", music={}, password=PASSWORD) as protected,
    ):
        asyncio.run(scenario(protected, direct))


@needs_mpd
def test_mpc_needs_the_password_of_the_proxy_and_not_that_of_mpd(tmp_path: Path) -> None:
    def mpc(port: int, host: str, *words: str) -> str:
        command = ["mpc", "-h", host, "-p", str(port), *words]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=20)
        return done.stdout + done.stderr

    async def scenario(server: MpdServer) -> None:
        policy = VolumePolicy(maximum=60)
        gate = PasswordGate("open sesame", delay=0)
        async with relayed(server.address, gate=gate, mpd_password=server.password, policy=policy) as port:
            for host in (HOST, f"wrong@{HOST}", f"{server.password}@{HOST}"):
                assert "permission" in (output := await asyncio.to_thread(mpc, port, host)) or "incorrect" in output
            output = await asyncio.to_thread(mpc, port, f"open sesame@{HOST}", "volume", "95")
            assert "volume: 60%" in output
            async with client(port) as streams:
                await streams[0].readline()
                data = ("command_list_begin", 'password "open sesame"', "setvol 95", "command_list_end")
                assert await send_lines(streams, *data) == b"OK\n"
                assert b"volume: 60\n" in await send_lines(streams, "status"), "the limit holds in the same list"

    with running_mpd(tmp_path, music={}, password="it's secret") as server:
        asyncio.run(scenario(server))


@needs_mpd
def test_passwords_cannot_be_guessed_fast_and_clients_without_one_are_disconnected(server: MpdServer) -> None:
    async def guess(port: int) -> None:
        async with client(port) as (reader, writer):
            writer.write(b"password guess\n" * 100)
            await reader.readuntil(b"incorrect password\n")

    async def scenario() -> None:
        async with relayed(server.address, gate=PasswordGate("open sesame", delay=0.2)) as port:
            start = time.monotonic()
            await asyncio.gather(*(guess(port) for _ in range(5)))
            assert time.monotonic() - start >= 1
        async with relayed(server.address, gate=PasswordGate("open sesame", patience=0.2)) as port:
            async with client(port) as (reader, writer), asyncio.timeout(15):
                writer.write(b"ping\n")
                assert (await reader.read(-1)).endswith(b"OK\n")
            async with client(port) as (reader, writer), asyncio.timeout(15):
                writer.write(b"password " + b"x" * 1_000_000)
                with contextlib.suppress(ConnectionResetError):  # the rest of its line was not read
                    assert (await reader.read(-1)).startswith(b"OK MPD")

    asyncio.run(scenario())


@pytest.mark.parametrize(("secret", "problem"), [("", "a password"), ("short", "a password of at least 8 characters")])
def test_for_the_network_a_good_password_is_required(installation: Installation, secret: str, problem: str) -> None:
    port = free_port()
    installation.write("", f"web: {{port: 0}}\nmpd-proxy: {{host: 0.0.0.0, port: {port}}}")
    if secret:
        (installation.folder / "secrets.env").write_text(f"MPD_PROXY_PASSWORD={secret}\n")
        (installation.folder / "secrets.env").chmod(0o600)
    expected = f"the MPD proxy may not listen on 0.0.0.0 without {problem}: write MPD_PROXY_PASSWORD=… into secrets.env"
    checked = installation.run("config", "check")
    assert checked.returncode == 2
    assert expected in checked.stderr.replace("; write", ": write")
    doctor = json.loads(installation.run("doctor", "--json").stdout)
    assert any(each["summary"] == expected.partition(":")[0] and each["status"] == "fail" for each in doctor)
    with installation.start("up") as daemon:
        try:
            assert daemon.stdout is not None
            page = next(line for line in daemon.stdout if line.startswith("page: ")).split()[1]
            assert expected in html.unescape(httpx.get(f"{page}/jobs").text)
            with pytest.raises(OSError, match="efused"), socket.create_connection((HOST, port)):
                pass
        finally:
            daemon.terminate()
            daemon.communicate(timeout=20)
