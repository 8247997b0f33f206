"""The Volumio player when Volumio is gone, hangs, returns, disconnects, or is another program."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.music.model import EntryType, QueuePosition, SavedPlaylist, Uri
from pi_appliance.music.player import Player
from pi_appliance.music.volumio import player as volumio
from pi_appliance.music.volumio.client import STATE_TIMEOUT
from pi_appliance.music.volumio.playback import VolumioPlayer
from tests.fakes.mpd_server import free_port
from tests.fakes.volumio_library import MORNING
from tests.fakes.volumio_server import VolumioServer, running_volumio

LONG_TIMEOUT = 60.0  # seconds: errors that come before this time-out have another cause
SHORT_TIMEOUT = 0.2  # seconds: the time-out of the state where Volumio does not answer
SOON = 10.0  # seconds: far from `PATIENT`, and from `SHORT` on a busy machine too
ONE = Uri(uri="music-library/USB/Blue/one.mp3")
Button = Callable[[Player], Awaitable[object]]


@pytest.fixture
def server() -> Iterator[VolumioServer]:
    with running_volumio() as running:
        running.box.add([{"uri": "music-library/USB"}])
        running.box.play(1)
        running.requests.clear()
        yield running


def connect(address: str, state_timeout: float = LONG_TIMEOUT) -> Player:
    return VolumioPlayer(address, volumio.Options(address=address).server, state_timeout=state_timeout)


async def fails(call: Awaitable[object], within: float = SOON) -> ApplianceError:
    """Return the error of `call`, within a short timeout."""
    began = time.monotonic()
    with pytest.raises(ApplianceError) as failed:
        await call
    assert time.monotonic() - began < within
    return failed.value


EVERYTHING: list[Button] = [
    lambda player: player.state(),
    lambda player: player.capabilities(),
    lambda player: player.play(2),
    lambda player: player.pause(),
    lambda player: player.toggle(),
    lambda player: player.stop(),
    lambda player: player.next(),
    lambda player: player.previous(),
    lambda player: player.seek(3),
    lambda player: player.set_volume(3),
    lambda player: player.set_mute(True),
    lambda player: player.set_modes(random=True),
    lambda player: player.clear_queue(),
    lambda player: player.add_source(ONE),
    lambda player: player.add_source(SavedPlaylist(playlist=MORNING), QueuePosition.REPLACE, play=True),
    lambda player: player.list_directory("USB"),
    lambda player: player.list_library(EntryType.ALBUM),
    lambda player: player.library_stats(),
    lambda player: player.list_playlists(),
    lambda player: player.list_playlist(MORNING),
    lambda player: player.album_art(ONE.uri),
]


def test_no_listener_is_reported_with_the_address_and_remedy() -> None:
    async def scenario() -> None:
        address = f"127.0.0.1:{free_port()}"
        for call in EVERYTHING:
            error = await fails(call(connect(address)))
            assert type(error) is Unavailable
            assert str(error) == (
                f"Volumio at {address} is not reached: nothing listens there; "
                "start it or correct `address` under `player:`"
            )

    asyncio.run(scenario())


def test_a_hanging_volumio_is_noticed_within_a_second() -> None:
    player = volumio.connect(volumio.Options(address="127.0.0.1"), {})
    assert player._client._state_timeout == STATE_TIMEOUT == 1.0


def test_an_unresolvable_name_is_reported_in_time() -> None:
    async def scenario() -> None:
        for name in ("no-such-machine.invalid", "x" * 80):
            error = await fails(connect(name, 1.0).state())
            assert type(error) is Unavailable
            assert f"Volumio at {name} is not reached: " in str(error)

    asyncio.run(scenario())


def test_a_killed_volumio_is_unavailable_until_it_is_back(server: VolumioServer) -> None:
    async def scenario() -> None:
        player = connect(server.address)
        await player.state()
        await asyncio.to_thread(server.kill)
        for call in EVERYTHING:
            assert type(await fails(call(player))) is Unavailable
        await asyncio.to_thread(server.start)
        assert (await player.state()).queue_length == 4

    asyncio.run(scenario())
    assert {asked.command for asked in server.requests} == {"GET getState", "GET getQueue"}, "nothing was done later"


def test_a_hung_volumio_is_unavailable_and_changed_nothing(server: VolumioServer) -> None:
    async def scenario() -> None:
        player = connect(server.address, SHORT_TIMEOUT)
        server.freeze()
        for error in await asyncio.gather(*(fails(call(player)) for call in EVERYTHING)):  # and no slower for it
            assert type(error) is Unavailable
            assert "it did not answer in time" in str(error)
        server.thaw()
        await connect(server.address).state()

    asyncio.run(scenario())
    assert {asked.command for asked in server.requests} == {"GET getState", "GET getQueue"}, "nothing was done later"


@pytest.mark.parametrize(
    ("button", "route", "error"),
    [
        (lambda player: player.next(), "next", Uncertain),
        (lambda player: player.previous(), "prev", Uncertain),
        (lambda player: player.toggle(), "pause", Uncertain),
        (lambda player: player.add_source(ONE), "addToQueue", Uncertain),
        (lambda player: player.add_source(ONE, play=True), "addPlay", Uncertain),
        (lambda player: player.add_source(ONE, QueuePosition.REPLACE, play=True), "replaceAndPlay", Uncertain),
        (lambda player: player.add_source(ONE, QueuePosition.REPLACE), "addToQueue", Uncertain),
        (lambda player: player.add_source(ONE, QueuePosition.REPLACE), "clearQueue", Unavailable),
        (lambda player: player.play(2), "play", Unavailable),  # doing it again does no harm
        (lambda player: player.pause(), "pause", Unavailable),
        (lambda player: player.stop(), "stop", Unavailable),
        (lambda player: player.seek(3), "seek", Unavailable),
        (lambda player: player.set_volume(3), "volume", Unavailable),
        (lambda player: player.set_mute(True), "volume", Unavailable),
        (lambda player: player.set_modes(random=True), "random", Unavailable),
        (lambda player: player.set_modes(repeat=True), "repeat", Unavailable),
        (lambda player: player.clear_queue(), "clearQueue", Unavailable),
        (lambda player: player.list_directory("USB"), "browse", Unavailable),
        (lambda player: player.list_playlists(), "listplaylists", Unavailable),
        (lambda player: player.library_stats(), "collectionstats", Unavailable),
        (lambda player: player.album_art(ONE.uri), "/albumart", Unavailable),
        (lambda player: player.state(), "getQueue", Unavailable),
    ],
)
@pytest.mark.parametrize("fault", ["cut", "lost"])
def test_a_lost_connection_is_uncertain_only_for_changes(
    server: VolumioServer, button: Button, route: str, error: type[ApplianceError], fault: str
) -> None:
    server.faults[route] = [fault]
    raised = asyncio.run(fails(button(connect(server.address))))
    assert type(raised) is error
    assert sum(asked.command.endswith(route) for asked in server.requests) == 1, "and nothing is tried again by itself"
    if error is Uncertain:
        assert "check whether it was done, then continue" in str(raised)


def test_an_addition_before_a_crash_is_uncertain(server: VolumioServer) -> None:
    server.box.push = lambda item, _data: server.faults.update(getQueue=["lost"]) if item == "queue" else None
    error = asyncio.run(fails(connect(server.address).add_source(ONE)))
    assert str(error) == f"Volumio at {server.address} did not answer 'add'; check whether it was done, then continue"
    assert len(server.box.queue) == 5


@pytest.mark.parametrize(
    "says",
    [
        b"",
        b"pong",
        b"[]",
        b"null",
        b"{}",
        b'{"status": "dancing"}',
        b'{"status": ["play"]}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_an_invalid_answer_is_not_from_volumio(server: VolumioServer, says: bytes) -> None:
    server.faults["getState"] = [says]
    error = asyncio.run(fails(connect(server.address).state()))
    assert type(error) is Unavailable
    assert "is not reached: the program there is not a Volumio" in str(error)


@pytest.mark.parametrize("status", [302, 401, 404, 500])
def test_another_web_server_is_not_a_volumio(server: VolumioServer, status: int) -> None:
    server.faults["getState"] = [status]
    assert "the program there is not a Volumio" in str(asyncio.run(fails(connect(server.address).state())))


@pytest.mark.parametrize("fault", ["hang", "drip", "huge", "lost"])
def test_a_missing_state_is_noticed_in_time(server: VolumioServer, fault: str) -> None:
    server.faults["getState"] = [fault]
    timeout = SHORT_TIMEOUT if fault in ("hang", "drip") else LONG_TIMEOUT
    error = asyncio.run(fails(connect(server.address, timeout).state()))
    assert type(error) is Unavailable
    assert {"huge": "answer is too long", "lost": "closed the connection"}.get(fault, "did not answer in time") in str(
        error
    )


def test_a_volumio_that_dies_before_sending_is_unavailable() -> None:
    async def scenario() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked = await reader.readuntil(b"\r\n\r\n")
            body = b'{"status": "play"}'
            if b"getQueue" in asked:  # the next request is the command
                body = b'{"queue": [{"uri": "x"}]}'
                listening.close()
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
            writer.close()

        listening = await asyncio.start_server(answer, "127.0.0.1", 0)
        error = await fails(connect(f"127.0.0.1:{listening.sockets[0].getsockname()[1]}").next())
        assert type(error) is Unavailable
        assert "nothing listens there" in str(error)

    asyncio.run(scenario())


STRANGE: list[tuple[str, Any]] = [
    ("getQueue", b"{}"),
    ("getQueue", b'{"queue": {}}'),
    ("browse", b"nonsense"),
    ("listplaylists", b"nonsense"),
]


@pytest.mark.parametrize(("route", "says"), STRANGE)
def test_invalid_data_on_other_routes_is_not_a_volumio(server: VolumioServer, route: str, says: bytes) -> None:
    server.faults[route] = [says]
    calls: dict[str, Button] = {
        "getQueue": lambda player: player.list_queue(),
        "browse": lambda player: player.list_directory("USB"),
        "listplaylists": lambda player: player.list_playlists(),
    }
    error = asyncio.run(fails(calls[route](connect(server.address))))
    assert "the program there is not a Volumio" in str(error)


def test_items_of_any_shape_are_accepted(server: VolumioServer) -> None:
    server.faults["getQueue"] = [b'{"queue": [1, null, [], {}, {"uri": 7, "name": ["x"], "duration": "1:00"}]}']
    queue = asyncio.run(connect(server.address).list_queue())
    assert [(track.uri, track.title, track.duration) for track in queue.tracks] == [("", "", None), ("7", "", None)]
    server.faults["browse"] = [b'{"navigation": {"lists": [1, {"items": [null, {"title": 1, "uri": "x"}]}, {}]}}']
    window = asyncio.run(connect(server.address).list_directory("USB"))
    assert [(entry.kind, entry.name) for entry in window.items] == [(EntryType.FOLDER, "1")]
    for odd in (
        b'{"status":"play","uri":"x","seek":NaN,"volume":"loud","duration":{},"position":"0"}',
        b'{"status":"stop"}',
    ):
        server.faults["getState"] = [odd, odd]
        state = asyncio.run(connect(server.address).state())
        assert (state.volume, state.elapsed, state.repeat) == (None, None, False)


def test_an_error_of_volumio_is_passed_on(server: VolumioServer) -> None:
    for says, words in (
        (b'{"Error": "command not recognized"}', "command not recognized"),
        (b'{"error": {}}', "without a reason"),
    ):
        server.faults["next"] = [says]
        error = asyncio.run(fails(connect(server.address).next()))
        assert type(error) is Refused
        assert str(error).startswith("Volumio says: ")
        assert words in str(error)
    for status, words in ((404, "update it"), (500, "with the error 500")):
        server.faults["next"] = [status]
        error = asyncio.run(fails(connect(server.address).next()))
        assert type(error) is Refused
        assert words in str(error)


@contextlib.asynccontextmanager
async def impostor(says: bytes) -> AsyncIterator[str]:
    """Yield the address of a server that sends `says`, then waits."""
    lines: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append(writer)
        writer.write(says)
        with contextlib.suppress(OSError):
            await reader.read()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()
        for line in lines:
            line.transport.abort()


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (b"OK MPD 0.23.5\n", "it did not answer in time"),
        (b"\xff\xfe\x00\r\n\r\n", "the program there is not a Volumio"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "the program there is not a Volumio"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 30_000, "the program there is not a Volumio"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "it did not answer in time"),
        (b"", "it did not answer in time"),
    ],
)
def test_a_server_that_is_not_volumio_is_recognized(says: bytes, why: str) -> None:
    async def scenario() -> None:
        async with impostor(says) as address:
            error = await fails(connect(address, SHORT_TIMEOUT if "in time" in why else LONG_TIMEOUT).state())
            assert type(error) is Unavailable
            assert f"is not reached: {why}" in str(error)

    asyncio.run(scenario())


def test_a_cancelled_command_ends_at_once(server: VolumioServer) -> None:
    async def scenario() -> None:
        server.freeze()
        command = asyncio.create_task(connect(server.address).next())
        while not server.requests:
            await asyncio.sleep(0.01)
        command.cancel()
        began = time.monotonic()
        await asyncio.gather(command, return_exceptions=True)
        assert command.cancelled()
        assert time.monotonic() - began < SOON

    asyncio.run(scenario())


def test_an_address_or_name_cannot_inject_a_request(server: VolumioServer) -> None:
    for attack in ("x&cmd=stop", "x\r\nHost: y\r\n\r\nGET /", "x?cmd=stop#", "%0d%0a", "../../etc"):
        for call in (
            lambda player, attack=attack: player.list_directory(attack),
            lambda player, attack=attack: player.list_playlist(attack),
            lambda player, attack=attack: player.add_source(Uri(uri=attack)),
        ):
            assert type(asyncio.run(fails(call(connect(server.address))))) is Refused
    assert server.box.status == "play"
    assert not [asked for asked in server.requests if "commands" in asked.command]
