"""An MPD, listened to and told what to do. Only this file knows python-mpd2.

Each command has a connection of its own. That costs a millisecond, and buys certainty: MPD greets whoever comes, so one
that is gone or hung is found out before anything was asked of it, and there is no old connection to mend.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from mpd.asyncio import MPDClient
from mpd.base import CommandError, MPDError, ProtocolError, mpd_command_provider, mpd_commands

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.model.music import PlayerState, Queue, Track
from pi_appliance.players import _address, _mpd_words

SUBSYSTEMS = ("database", "update", "stored_playlist", "playlist", "player", "mixer", "output", "options")
REACH = 1.0  # seconds for a connection and the greeting; a hung MPD is found out here
ANSWER = 5.0  # seconds for an MPD that has just greeted; a big folder takes its time on a Pi


@mpd_command_provider
class _Client(MPDClient):  # type: ignore[misc] # python-mpd2 has no types
    # python-mpd2 goes idle by itself after a moment of quiet. When MPD is lost then, asyncio prints a traceback. So
    # that is switched off, and waiting for changes is a command like any other.
    IMMEDIATE_COMMAND_TIMEOUT = None

    @mpd_commands(f"idle {' '.join(SUBSYSTEMS)}")  # type: ignore[untyped-decorator]
    def _parse_changes(self, lines: list[str]) -> list[str]:
        return list(self._parse_list(lines))

    def change(self) -> asyncio.Future[list[str]]:
        """Wait for the next change."""
        changed: asyncio.Future[list[str]] = getattr(self, f"idle_{'_'.join(SUBSYSTEMS)}")()
        return changed


class Mpd:
    """An MPD, as ports.Player describes it. After `next`, `add` and the like an answer that never came is Uncertain."""

    def __init__(self, name: str, place: _address.Place, password: str) -> None:
        """NAME is how the owner wrote PLACE."""
        self._name, self._place, self._password = name, place, password
        self._replacing = asyncio.Lock()  # two stations at once would mix their queues
        self._waiting: dict[_Client, asyncio.Future[list[str]] | None] = {}

    async def state(self) -> PlayerState:
        """Return what it is doing now."""
        async with self._session() as client:
            for _ in range(3):
                status, song = await client.status(), await client.currentsong()
                if song.get("id") == status.get("songid"):  # else the track changed between the two
                    break
            return _mpd_words.state(status, song)

    async def queue(self, start: int = 0, count: int = 100) -> Queue:
        """Return COUNT tracks of the queue from position START (both from 0)."""
        async with self._session() as client:
            length = await _length(client)
            end = min(start + count, length)
            songs = [song async for song in client.playlistinfo((start, end))] if start < end else []
            return Queue(tracks=[_mpd_words.track(song) for song in songs], start=start, length=length)

    async def play(self, position: int | None = None) -> None:
        """Play the track at POSITION, or go on. Raises Refused if there is nothing there."""
        async with self._session() as client:
            length = await _length(client)
            if length == 0:
                raise Refused("the queue is empty; add something to it first")
            if position is not None and not 0 <= position < length:
                raise Refused(f"there is no track {position + 1} in the queue; it ends with {length}")
            await client.play(*(() if position is None else (position,)))

    async def pause(self) -> None:
        """Pause; nothing happens unless it plays."""
        async with self._session() as client:
            await client.pause(1)

    async def toggle(self) -> None:
        """Pause if it plays, else play."""
        async with self._session("toggle") as client:
            playing = (await client.status())["state"] == "play"
            if not playing and await _length(client) == 0:
                raise Refused("the queue is empty; add something to it first")
            await (client.pause(1) if playing else client.play())

    async def stop(self) -> None:
        """Stop."""
        async with self._session() as client:
            await client.stop()

    async def next(self) -> None:
        """Go to the next track."""
        async with self._session("next") as client:
            await client.next()

    async def previous(self) -> None:
        """Go to the previous track."""
        async with self._session("previous") as client:
            await client.previous()

    async def seek(self, seconds: float) -> None:
        """Go to SECONDS from the start of the current track."""
        async with self._session() as client:
            await client.seekcur(f"{max(0.0, seconds):.3f}")  # a sign would mean: from here

    async def set_volume(self, volume: int) -> None:
        """Set the volume, 0 to 100. Raises Refused where the player has no mixer."""
        async with self._session() as client:
            if (await client.status()).get("volume", "-1") == "-1":
                raise Refused(
                    f'MPD at {self._name} has no mixer; give its audio_output a mixer_type such as "software"'
                )
            await client.setvol(volume)

    async def add(self, uri: str) -> Track:
        """Put a file, a folder or a stream at the end of the queue. Raises Refused if it is not known."""
        async with self._session("add") as client:
            return await _append(client, uri)

    async def clear(self) -> None:
        """Empty the queue."""
        async with self._session() as client:
            await client.clear()

    async def play_uri(self, uri: str, title: str = "") -> None:
        """Replace the queue by URI and play it. An unknown URI leaves the queue as it was."""
        title = _one_line(title)
        async with self._replacing, self._session() as client:
            before = await _length(client)
            track = await _append(client, uri)
            if title and _is_stream(uri):  # a file has tags of its own
                await client.addtagid(track.id, "title", title)
            if before:
                await client.delete((0, before))
            await client.play(0)

    async def library(self, folder: str = "") -> Sequence[Track]:
        """Return the tracks and folders in FOLDER of the library; a folder has a uri that ends in '/'."""
        found: list[Track] = []
        async with self._session() as client:
            async for entry in client.lsinfo(_one_line(folder).strip("/")):
                if "file" in entry:
                    found.append(_mpd_words.track(entry))
                elif "directory" in entry:
                    found.append(_mpd_words.folder(entry["directory"]))
        return found

    async def changes(self) -> AsyncIterator[frozenset[str]]:
        """Yield the names of what changed, as MPD calls them; at first all. Raises Unavailable when it is lost."""
        async with self._session(answer=None) as client:
            _keep_alive(client)
            yield frozenset(SUBSYSTEMS)
            while True:
                self._waiting[client] = change = client.change()
                yield frozenset(await change)

    async def close(self) -> None:
        """Let go of every connection; whoever waits for changes gets Unavailable."""
        for client, change in list(self._waiting.items()):
            client.disconnect()
            if change is not None and not change.done():
                change.set_exception(MPDError())  # python-mpd2 would leave it waiting

    @contextlib.asynccontextmanager
    async def _session(self, once: str = "", *, answer: float | None = ANSWER) -> AsyncIterator[_Client]:
        """Give a greeted connection. ONCE names a command that, done twice, does two things."""
        client, greeted = _Client(), False
        self._waiting[client] = None
        try:
            async with asyncio.timeout(REACH):
                await self._greet(client)
            greeted = True
            async with asyncio.timeout(answer):
                yield client
        except CommandError as error:
            raise self._refusal(error) from None
        except (OSError, ValueError, LookupError, MPDError) as error:
            if once and greeted:
                raise Uncertain(
                    f"MPD at {self._name} did not answer {once!r}; see if it was done, then go on"
                ) from None
            raise self._lost(error) from None
        finally:
            del self._waiting[client]
            client.disconnect()

    async def _greet(self, client: _Client) -> None:
        task = asyncio.current_task()
        assert task is not None
        before = task.cancelling()
        match self._place:
            case Path():
                await client.connect(str(self._place))
            case host, port:
                await client.connect(host, port)
        if task.cancelling() > before:
            raise asyncio.CancelledError  # python-mpd2 uses wait_for, which may swallow it in Python 3.11
        if self._password:
            await client.password(_one_line(self._password))

    def _refusal(self, error: CommandError) -> ApplianceError:
        code, words = _mpd_words.refusal(str(error))
        if code in _mpd_words.NOT_ALLOWED:
            return Refused(f"MPD at {self._name} says: {words}; put the right MPD_PASSWORD=… among the secrets")
        return Refused(f"MPD says: {words}")

    def _lost(self, error: Exception) -> Unavailable:
        why = "what answers there is no MPD" if isinstance(error, ProtocolError) else _mpd_words.why(error)
        todo = "start it (sudo systemctl start mpd) or correct `address` under `player:`"
        return Unavailable(f"MPD at {self._name} is not reached: {why}; {todo}")


async def _append(client: _Client, uri: str) -> Track:
    """Put URI at the end of the queue and return it with its place; for a folder, the place of its first track."""
    name = _one_line(uri)
    if not name:
        raise Refused("nothing is named to add")
    if _is_stream(name) or not name.endswith("/"):
        try:
            return await _in_queue(client, await client.addid(name))
        except CommandError as error:
            if _is_stream(name) or _mpd_words.refusal(str(error))[0] != _mpd_words.NO_SUCH_THING:
                raise
    name, before = name.strip("/"), await _length(client)
    try:
        await client.add(name)
    except CommandError as error:
        raise Refused(f"the library has no {name!r}; MPD says: {_mpd_words.refusal(str(error))[1]}") from None
    if await _length(client) == before:
        raise Refused(f"{name or 'the library'} holds nothing that can be played")
    return _mpd_words.folder(name, before)


async def _in_queue(client: _Client, number: str) -> Track:
    (song,) = [song async for song in client.playlistid(number)]
    return _mpd_words.track(song)


async def _length(client: _Client) -> int:
    return int((await client.status())["playlistlength"])


def _is_stream(uri: str) -> bool:
    return "://" in uri


def _one_line(text: str) -> str:
    """Return TEXT. Raises Refused if it holds a line break: MPD would read what follows as a command."""
    if any(character in text for character in "\n\r\0"):
        raise Refused(f"{text!r} holds a line break, which no address does")
    return text


def _keep_alive(client: _Client) -> None:
    """Have the kernel notice within a minute that the other machine lost its power; no program has to wake for it."""
    writer = getattr(client, "_MPDClient__wfile", None)  # python-mpd2 shows its socket nowhere else
    connection = writer and writer.get_extra_info("socket")
    if connection is not None and connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
