"""The MPD player when MPD is gone, hangs, returns, or is another program."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from pi_appliance.errors import ApplianceError, Unavailable, Uncertain
from pi_appliance.music.model import EntryType, LibraryFilter, QueuePosition, SavedPlaylist, TrackRating, Uri
from pi_appliance.music.mpd import player as mpd
from pi_appliance.music.player import Player
from tests.fakes.mpd_server import MpdServer, free_port, needs_mpd, running_mpd

SOON = 1.9  # one second, and more on a busy machine


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MpdServer]:
    with running_mpd(tmp_path) as running:
        yield running


def connect(address: str) -> Player:
    return mpd.connect(mpd.Options(address=address), {})


async def fails(call: Awaitable[object]) -> ApplianceError:
    """Return the error of `call`, within a second."""
    began = time.monotonic()
    with pytest.raises(ApplianceError) as failed:
        await call
    assert time.monotonic() - began < SOON
    return failed.value


def test_no_listener_is_reported_with_the_address_and_remedy(tmp_path: Path) -> None:
    async def scenario() -> None:
        address = f"localhost:{free_port()}"
        error = await fails(connect(address).state())
        assert isinstance(error, Unavailable)
        assert str(error) == (
            f"MPD at {address} is not reached: nothing listens there; "
            "start it (sudo systemctl enable --now mpd) or correct `address` under `player:`"
        )
        error = await fails(connect(f"{tmp_path}/socket").next())
        assert isinstance(error, Unavailable)
        assert f"MPD at {tmp_path}/socket is not reached: there is no such socket" in str(error)

    asyncio.run(scenario())


@needs_mpd
def test_a_killed_mpd_is_unavailable_until_it_is_back(server: MpdServer) -> None:
    async def scenario() -> None:
        player = connect(server.address)
        await player.add_source(Uri(uri="one.wav"))
        server.kill()
        for call in (
            player.state(),
            player.next(),
            player.add_source(Uri(uri="one.wav")),
            player.add_source(Uri(uri="one.wav"), QueuePosition.REPLACE, play=True),
            player.list_directory(),
            player.list_library(EntryType.ALBUM),
            player.list_playlists(),
            player.add_to_playlist("x", Uri(uri="one.wav")),
            player.album_art("one.wav"),
            player.list_partitions(),
        ):
            assert isinstance(await fails(call), Unavailable)
        await asyncio.to_thread(server.start)
        assert (await player.state()).queue_length == 0

    asyncio.run(scenario())
    assert server.mpc("playlist") == "", "nothing that failed was done later by itself"


@needs_mpd
def test_a_hung_mpd_is_unavailable_and_changed_nothing(server: MpdServer) -> None:
    async def scenario() -> None:
        player = connect(server.address)
        server.freeze()
        calls = [
            player.state(),
            player.next(),
            player.add_source(Uri(uri="one.wav")),
            player.set_volume(3),
            player.add_source(Uri(uri="one.wav"), QueuePosition.REPLACE, play=True),
        ]
        for error in await asyncio.gather(*map(fails, calls)):  # together, and no slower for it
            assert isinstance(error, Unavailable)
            assert "it does not answer" in str(error)

    asyncio.run(scenario())


@needs_mpd
def test_a_watcher_notices_a_killed_mpd(
    server: MpdServer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    async def scenario() -> None:
        changes = connect(server.address).watch_changes()
        await anext(changes)
        waiting = asyncio.create_task(fails(anext(changes)))
        await asyncio.to_thread(server.mpc, "status")  # by now it waits
        server.kill()
        assert "it closed the connection" in str(await waiting)

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario(), debug=False)
    assert caplog.records == [], "no traceback for the owner"
    assert capfd.readouterr().err == ""


@needs_mpd
def test_closing_the_player_ends_watching(server: MpdServer) -> None:
    async def scenario() -> None:
        player = connect(server.address)
        changes = player.watch_changes()
        await anext(changes)
        waiting = asyncio.create_task(fails(anext(changes)))
        await player.state()  # by now it waits
        await player.close()
        assert isinstance(await waiting, Unavailable)

    asyncio.run(scenario())


@needs_mpd
def test_the_kernel_monitors_an_idle_connection(server: MpdServer) -> None:
    """A machine without power sends nothing; only probes detect that."""

    async def scenario() -> None:
        changes = connect(server.address).watch_changes()
        await anext(changes)
        rows = [line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]]
        timers = [row[5][:2] for row in rows if row[2].endswith(f":{server.port:04X}") and row[3] == "01"]
        assert timers == ["02"], "02 is the timer of keep-alive probes"
        await changes.aclose()

    asyncio.run(scenario())


@contextlib.asynccontextmanager
async def impostor(says: bytes, *answers: bytes) -> AsyncIterator[str]:
    """Yield the address of a server that sends `says` and `answers`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(says)
        try:
            for answer in answers:
                await reader.readline()
                writer.write(answer)
            if not answers:
                await reader.read()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the program there is not an MPD"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the program there is not an MPD"),
        (b"\xff\xfe\x00\n", "the program there is not an MPD"),
        (b"", "it does not answer"),
    ],
)
def test_a_server_that_is_not_mpd_is_recognized(says: bytes, why: str) -> None:
    async def scenario() -> None:
        async with impostor(says) as address:
            error = await fails(connect(address).state())
            assert isinstance(error, Unavailable)
            assert f"is not reached: {why}" in str(error)

    asyncio.run(scenario())


@pytest.mark.parametrize("answers", [b"", b"volu", b"volume: 1\nstate: dancing\nOK\n", b"no colon\nOK\n", b"OK\n"])
def test_a_truncated_or_invalid_answer_is_unavailable(answers: bytes) -> None:
    async def scenario() -> None:
        async with impostor(b"OK MPD 0.23.5\n", answers) as address:
            assert isinstance(await fails(connect(address).state()), Unavailable)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("button", "error"),
    [
        (lambda player: player.move_track(3, 0), Uncertain),
        (lambda player: player.remove_tracks([3]), Uncertain),
        (lambda player: player.save_queue("x"), Uncertain),
        (lambda player: player.add_to_playlist("x", Uri(uri="one.wav")), Uncertain),
        (lambda player: player.rename_playlist("x", "y"), Uncertain),
        (lambda player: player.delete_playlist("x"), Uncertain),
        (lambda player: player.create_partition("x"), Uncertain),
        (lambda player: player.delete_partition("x"), Uncertain),
        (lambda player: player.add_source(Uri(uri="one.wav")), Unavailable),  # it was asked only whether there is one
        (lambda player: player.remove_from_playlist("x", [0]), Unavailable),  # the same
        (lambda player: player.set_rating("one.wav", TrackRating(rating=3)), Unavailable),
        (lambda player: player.toggle(), Unavailable),  # it was asked only whether it plays
        (lambda player: player.next(), Unavailable),  # the same
        (lambda player: player.previous(), Unavailable),
        (lambda player: player.pause(), Unavailable),  # doing it again does no harm
        (lambda player: player.seek(3), Unavailable),
        (lambda player: player.clear_queue(), Unavailable),
        (lambda player: player.shuffle_queue(), Unavailable),
        (lambda player: player.play_id(3), Unavailable),
        (lambda player: player.set_modes(random=True), Unavailable),
        (lambda player: player.set_output(0, on=True), Unavailable),
        (lambda player: player.update_library(), Unavailable),
        (lambda player: player.use_partition("x"), Unavailable),
        (lambda player: player.list_favourites(), Unavailable),
        (lambda player: player.list_directory(), Unavailable),
        (lambda player: player.album_art("one.wav"), Unavailable),
    ],
)
def test_an_unanswered_command_is_uncertain_if_repeating_would_change_the_result(
    button: Callable[[Player], Awaitable[object]], error: type[ApplianceError]
) -> None:
    async def scenario() -> None:
        async with impostor(b"OK MPD 0.23.5\n", b"") as address:
            assert type(await fails(button(connect(address)))) is error

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("button", "answers"),
    [
        (lambda player: player.toggle(), [b"state: play\nplaylistlength: 3\nOK\n"]),
        (lambda player: player.next(), [b"state: play\naudio: x\nnextsong: 1\nOK\n", b"file: one.wav\nOK\n"]),
        (lambda player: player.previous(), [b"state: play\naudio: x\nsong: 1\nOK\n", b"file: one.wav\nOK\n"]),
        (lambda player: player.add_source(Uri(uri="one.wav")), [b"file: one.wav\nOK\n"]),
        (
            lambda player: player.add_source(SavedPlaylist(playlist="x"), QueuePosition.REPLACE),
            [b"file: http://x/\nOK\n"],
        ),
        (lambda player: player.remove_from_playlist("x", [0]), [b"file: one.wav\nOK\n"]),
        (lambda player: player.move_in_playlist("x", 0, 1), [b"file: one.wav\nfile: two.wav\nOK\n"]),
        (lambda player: player.add_to_playlist("x", LibraryFilter(album="x")), [b"file: one.wav\nOK\n"]),
    ],
)
def test_a_command_list_is_uncertain_once_it_changes_anything(
    button: Callable[[Player], Awaitable[object]], answers: list[bytes]
) -> None:
    async def scenario() -> None:
        async with impostor(b"OK MPD 0.23.5\n", *answers, b"") as address:
            assert type(await fails(button(connect(address)))) is Uncertain

    asyncio.run(scenario())


def test_a_cancelled_command_ends_regardless_of_the_answer() -> None:
    async def scenario() -> None:
        async with impostor(b"OK MPD 0.23.5\n") as address:
            for moment in range(60):  # among them the one in which the greeting has just come
                command = asyncio.create_task(connect(address).state())
                for _ in range(moment):
                    await asyncio.sleep(0)
                command.cancel()
                began = time.monotonic()
                await asyncio.gather(command, return_exceptions=True)
                assert time.monotonic() - began < SOON
                assert command.cancelled()

    asyncio.run(scenario())
