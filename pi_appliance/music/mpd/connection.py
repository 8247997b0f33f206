"""One connection to MPD: python-mpd2's commands and parsers over an asyncio transport.

python-mpd2's own asyncio client has no command lists, no windows on commands such as `find`, and it
keeps one connection open with a permanent `idle`. Those parts are implemented here.
"""

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from mpd.base import FailureResponseCode, MPDClientBase, escape, mpd_command_provider
from mpd.base import ProtocolError as MpdProtocolError

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.music.mpd import parsing, player

Command = Sequence[str | int]
"""An MPD command and its arguments, unquoted. A command of two words is one string: "sticker
list".
"""

MAX_ARGUMENT_BYTES = 4000  # bytes; MPD closes the connection if a line is longer than its buffer
_BLOCK_BYTES = 1 << 18
_MAX_LIST_COMMANDS = 1000  # commands per list; MPD accepts lists up to 2 MiB
_OK, _ACK_PREFIX = b"OK\n", b"ACK "
_LIST_OK = re.compile(rb"^list_OK\n", re.MULTILINE)
_ACK = re.compile(r"ACK \[(?P<code>\d+)@(?P<index>\d+)\] \{[^}]*\} ?(?P<message>.*)")

ACK_ARGUMENT = FailureResponseCode.ARG.value
ACK_NO_EXIST = FailureResponseCode.NO_EXIST.value
ACK_PLAYLIST_MAX = FailureResponseCode.PLAYLIST_MAX.value
ACK_EXIST = FailureResponseCode.EXIST.value
ACK_NOT_ALLOWED = (FailureResponseCode.PASSWORD.value, FailureResponseCode.PERMISSION.value)

CONNECT_TIMEOUT = 1.0  # seconds for a connection and the greeting; detects an MPD that hangs
REPLY_TIMEOUT = 5.0  # seconds without data after the greeting; listing a big folder takes time on a Pi
MAX_PENDING_CONNECTIONS = 3  # MPD's backlog is 5; Linux lets the sixth retry only after a second


class ConnectionClosed(Exception):
    """The connection ended before the reply was complete."""


class MpdAckError(Exception):
    """MPD rejected a command.

    python-mpd2's `CommandError` cannot parse the error of an unknown command and has no replies of
    a command list.

    Attributes:
        code: MPD's error code, one of `ACK_…`.
        index: index of the command in its command list.
        message: MPD's message.
        replies: replies of the commands before it in the list, which were executed.
    """

    def __init__(self, line: str, replies: Sequence[bytes] = ()) -> None:
        match = _ACK.match(line)
        if match is None:
            raise MpdProtocolError(line)
        self.code, self.index, self.message = int(match["code"]), int(match["index"]), match["message"]
        self.replies = replies
        super().__init__(line)


CONNECTION_ERRORS = (OSError, ValueError, LookupError, EOFError, TypeError, MpdProtocolError, ConnectionClosed)
"""The errors of a connection that is lost, or whose other side is not an MPD."""


@mpd_command_provider
class ReplyParser(MPDClientBase):  # type: ignore[misc]
    """Parses replies of MPD with the parsers of python-mpd2."""

    _parsers: ClassVar[dict[str, Callable[[MPDClientBase, Iterable[str]], Any]]] = {}

    @classmethod
    def add_command(cls, name: str, callback: Callable[[MPDClientBase, Iterable[str]], Any]) -> None:
        """Register a command; called by python-mpd2."""
        cls._parsers[name] = callback

    def parse(self, command: str, reply: bytes) -> Any:
        """Return the value of a reply. Raises MpdProtocolError if it is invalid."""
        lines = reply.decode("utf-8", "replace").split("\n")[:-1]
        value = self._parsers[command](self, lines)
        return list(value) if isinstance(value, Iterator) else value


_parser = ReplyParser()
parse_reply = _parser.parse


class MpdConnection:
    """A connection after MPD's greeting.

    `timeout` is the longest time without data in seconds, or None.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, version: tuple[int, int]) -> None:
        self._reader, self._writer, self.version = reader, writer, version
        connection = writer.get_extra_info("socket")
        self._tcp = None if connection is None or connection.family == socket.AF_UNIX else connection
        self.timeout: float | None = None
        self.pending_mutation = ""  # the last command that was sent and must not be repeated
        self.is_idle = False
        self.partition = ""

    @classmethod
    async def open(cls, address: player.MpdAddress) -> Self:
        """Connect and read the greeting. Raises OSError, MpdProtocolError, ConnectionClosed."""
        match address:
            case Path():
                reader, writer = await asyncio.open_unix_connection(str(address), limit=_BLOCK_BYTES)
            case host, port:
                reader, writer = await asyncio.open_connection(host, port, limit=_BLOCK_BYTES)
        try:
            greeting = re.match(rb"OK MPD (\d+)\.(\d+)", await reader.readline())
            if greeting is None:
                raise ConnectionClosed if reader.at_eof() else MpdProtocolError("no greeting")
        except BaseException:
            writer.transport.abort()
            raise
        return cls(reader, writer, (int(greeting[1]), int(greeting[2])))

    async def command(self, name: str, *arguments: str | int) -> Any:
        """Send a command and return its reply, parsed by python-mpd2.

        Raises:
            MpdAckError: MPD rejects it.
            ConnectionClosed: the reply is incomplete.
            OSError: a connection error or a timeout.
        """
        return parse_reply(name, await self.raw_command(name, *arguments))

    async def raw_command(self, name: str, *arguments: str | int) -> bytes:
        """Send a command and return its reply without the final OK."""
        self._send(_encode((name, *arguments)))
        return await self._read_reply()

    async def command_list(self, *commands: Command) -> list[Any]:
        """Execute `commands` atomically, up to the first error, and return the replies.

        python-mpd2 supports command lists only in its blocking client.
        """
        replies = await self._raw_command_list([_encode(command) for command in commands])
        return [parse_reply(str(command[0]), reply) for command, reply in zip(commands, replies, strict=True)]

    async def mutate(self, description: str, *commands: Command) -> list[Any]:
        """Execute a command list that is not repeated if the reply is lost."""
        for command in commands:
            _encode(command)  # checks all commands, and raises Refused, before anything is sent
        self.pending_mutation = description
        return await self.command_list(*commands)

    async def command_each(self, commands: Sequence[Command], mutation: str = "") -> list[Any]:
        """Execute commands and return their replies.

        The reply is `None` if the object does not exist.

        Args:
            mutation: the description for `mutate()`, if they must not be repeated.
        """
        replies: list[Any] = []
        while len(replies) < len(commands):
            batch = commands[len(replies) : len(replies) + _MAX_LIST_COMMANDS]
            try:
                replies += await (self.mutate(mutation, *batch) if mutation else self.command_list(*batch))
            except MpdAckError as error:
                if error.code not in (ACK_NO_EXIST, ACK_ARGUMENT):
                    raise
                executed = zip(batch[: error.index], error.replies, strict=True)
                replies += [*(parse_reply(str(command[0]), reply) for command, reply in executed), None]
        return replies

    async def _raw_command_list(self, commands: Sequence[bytes]) -> list[bytes]:
        self._send(b"command_list_ok_begin\n" + b"".join(commands) + b"command_list_end\n")
        try:
            replies = _LIST_OK.split(await self._read_reply())
        except MpdAckError as error:
            raise MpdAckError(str(error), _LIST_OK.split(error.replies[0])[:-1]) from None
        if len(replies) != len(commands) + 1:
            raise MpdProtocolError("wrong number of replies")
        return replies[:-1]

    async def stream_command(self, name: str, *arguments: str | int) -> AsyncIterator[bytes]:
        """Send a command and yield its reply in blocks of whole lines while it arrives.

        python-mpd2 reads a whole reply into memory, which may be 28 MB for a large library.
        """
        self._send(_encode((name, *arguments)))
        rest = b""
        while True:
            lines, newline, rest = (rest + await self._read_block()).rpartition(b"\n")
            last = lines[lines.rfind(b"\n") + 1 :] + newline
            if last == _OK:
                yield lines[: -len(_OK) + 1]
                return
            if last.startswith(_ACK_PREFIX):
                raise MpdAckError(last.decode("utf-8", "replace").rstrip("\n"))
            yield lines + newline

    async def binary_command(self, name: str, *arguments: str | int) -> tuple[dict[str, str], bytes]:
        """Send `albumart` or `readpicture`; return the fields and a chunk of the image.

        The chunk is empty without an image. python-mpd2 3.1 has a `breakpoint()` in its binary
        transfer and requests chunks in lockstep.
        """
        self._send(_encode((name, *arguments)))
        fields: dict[str, str] = {}
        chunk = b""
        while (line := await self._read_line()) != _OK:
            if line.startswith(_ACK_PREFIX):
                raise MpdAckError(line.decode("utf-8", "replace").rstrip("\n"))
            key, _, value = line.decode().rstrip("\n").partition(": ")
            fields[key] = value
            if key == "binary":
                async with asyncio.timeout(self.timeout):
                    chunk = (await self._reader.readexactly(int(value) + 1))[:-1]
        return fields, chunk

    def end_idle(self) -> None:
        """End a running `idle`, which then replies."""
        if self.is_idle:
            self._send(b"noidle\n")

    def close(self) -> None:
        """Close the connection at once."""
        self._writer.transport.abort()

    def enable_keepalive(self) -> None:
        """Let the kernel detect within a minute that the other machine lost power."""
        if self._tcp is not None:
            self._tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
            self._tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
            self._tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)

    def _send(self, data: bytes) -> None:
        """Write `data`, and let the kernel acknowledge the reply at once.

        MPD holds the end of a long reply back until its start is acknowledged, which Linux delays
        by 40 ms for alternating requests and replies. The option is reset whenever something is
        sent.
        """
        self._writer.write(data)
        if self._tcp is not None:
            with contextlib.suppress(OSError):  # the reader reports a lost connection
                self._tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    async def _read_reply(self) -> bytes:
        """Return a reply without binary data, and without the final OK."""
        reply = bytearray()
        while True:
            reply += await self._read_block()
            if not reply.endswith(b"\n"):
                continue
            last = reply.rfind(b"\n", 0, -1) + 1
            if reply[last:] == _OK:
                return bytes(reply[:last])
            if reply.startswith(_ACK_PREFIX, last):
                raise MpdAckError(reply[last:-1].decode("utf-8", "replace"), [bytes(reply[:last])])

    async def _read_block(self) -> bytes:
        async with asyncio.timeout(self.timeout):
            block = await self._reader.read(_BLOCK_BYTES)
        if not block:
            raise ConnectionClosed
        return block

    async def _read_line(self) -> bytes:
        async with asyncio.timeout(self.timeout):
            line = await self._reader.readline()
        if not line.endswith(b"\n"):
            raise ConnectionClosed
        return line


def quote(argument: str | int) -> str:
    """Return `argument` in quotes. Raises Refused if it cannot be sent to MPD.

    python-mpd2 escapes quotes, but lets line breaks through, after which MPD would read another
    command.
    """
    text = str(argument)
    if any(character in text for character in "\n\r\0"):
        raise Refused(f"{text!r} holds a line break, which names and addresses cannot have")
    if len(text.encode("utf-8", "replace")) > MAX_ARGUMENT_BYTES:
        raise Refused(f"{text[:40]!r}… is too long for MPD")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Refused(f"{text!r} holds half a character, which cannot be sent to MPD")
    return f'"{escape(text)}"'


def _encode(command: Command) -> bytes:
    return (" ".join([str(command[0]), *map(quote, command[1:])]) + "\n").encode()


class MpdClient:
    """Opens sessions with an MPD. The derived classes have the commands."""

    def __init__(self, name: str, address: player.MpdAddress, password: str, partition: str = "") -> None:
        """Create a client that is not connected.

        Args:
            name: the address as the owner wrote it, for messages.
            partition: the partition to use; empty: the default one.
        """
        self._name, self._address, self._password, self._partition = name, address, password, partition
        self._add_lock = asyncio.Lock()  # two sources that are added at the same time must not mix
        self._connecting = asyncio.Semaphore(MAX_PENDING_CONNECTIONS)
        self._connections: set[MpdConnection] = set()

    @contextlib.asynccontextmanager
    async def _session(self, *, partition: bool = True) -> AsyncIterator[MpdConnection]:
        """Provide a connection that is logged in; its errors become errors of the appliance."""
        connection: MpdConnection | None = None
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                async with self._connecting:
                    connection = await MpdConnection.open(self._address)
                self._connections.add(connection)
                if self._password:
                    await connection.command("password", self._password)
                if partition:
                    await self._enter_partition(connection, self._partition)
            connection.timeout = REPLY_TIMEOUT
            yield connection
        except MpdAckError as error:
            raise self._refused(error) from None
        except CONNECTION_ERRORS as error:
            if connection is not None and connection.pending_mutation:
                raise Uncertain(
                    f"MPD at {self._name} did not answer {connection.pending_mutation!r}; "
                    "check whether it was done, then continue"
                ) from None
            raise self._unavailable(error) from None
        finally:
            if connection is not None:
                self._connections.discard(connection)
                connection.close()

    async def _enter_partition(self, connection: MpdConnection, name: str) -> None:
        connection.partition = name
        if not name:
            return
        try:
            await connection.command("partition", name)
        except MpdAckError as error:
            raise self._no_partition(name) if error.code == ACK_NO_EXIST else error from None

    def _no_partition(self, name: str) -> Refused:
        return Refused(
            f"MPD at {self._name} has no partition {name!r}; use another one: pi-appliance music partitions use default"
        )

    def _refused(self, error: MpdAckError) -> ApplianceError:
        explained = parsing.explain_error(error.message)
        if explained != error.message:  # for a track or station that cannot be played, our own words are shown
            return Refused(explained)
        message = parsing.add_hint(error.message)
        if error.code in ACK_NOT_ALLOWED:
            return Refused(f"MPD at {self._name} says: {message}; put the right MPD_PASSWORD=… among the secrets")
        return Refused(f"MPD says: {message}")

    def _unavailable(self, error: Exception) -> Unavailable:
        is_hanging = isinstance(error, TimeoutError)
        do = "restart it (sudo systemctl restart mpd)" if is_hanging else "start it (sudo systemctl enable --now mpd)"
        hint = f"{do} or correct `address` under `player:`"
        is_invalid = isinstance(error, MpdProtocolError)
        reason = parsing.NOT_AN_MPD if is_invalid else parsing.describe_error(error)
        return Unavailable(f"MPD at {self._name} is not reached: {reason}; {hint}")


async def require_playable(mpd: MpdConnection, uri: str) -> None:
    """Raise Refused if MPD cannot play URLs like `uri`, or if it is a file outside the library.

    Over its socket MPD would play any file on the machine, which web users must not do.
    """
    if uri.lower().startswith("file:"):
        raise Refused(f"{uri!r} is a file outside the library; put it into the music folder")
    schemes = await mpd.command("urlhandlers")
    if not any(uri.lower().startswith(scheme) for scheme in schemes):
        raise Refused(f"MPD cannot play addresses that begin with {uri.partition('://')[0]}://")
