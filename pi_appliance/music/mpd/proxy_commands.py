"""The commands of one client of the MPD proxy: its password, its volumes, its addresses.

A client sends the password of the proxy as MPD's own command `password`. Before that, the proxy
answers the client itself, with the replies of an MPD that has a password.

After that, `setvol` is lowered to the limit of the volume policy. A relative `volume` becomes a
`setvol`, for which the volume in the client's partition is read first. A command of a client in the
network with an address of this machine loses its arguments, so that MPD refuses it. All other bytes
stay as they are.
"""

import asyncio
import contextlib
import hmac
import logging
import re
import weakref
from collections.abc import Awaitable, Callable, Sequence

from pi_appliance.errors import Refused
from pi_appliance.music.model import DEFAULT_PARTITION
from pi_appliance.music.mpd.connection import CONNECT_TIMEOUT, CONNECTION_ERRORS, Command, MpdAckError, MpdConnection
from pi_appliance.music.mpd.player import MpdAddress

PATIENCE = 60.0  # seconds in which a client must send the password; MPD disconnects idle clients then, too
WRONG_PASSWORD_DELAY = 1.0  # seconds that an address has to wait after a wrong password
_MAX_COMMANDS = 1000  # commands in one command list
_LISTS = {b"command_list_begin": False, b"command_list_ok_begin": True}
_WORD = re.compile(rb"[a-z_]+(?=[\x00-\x20]|$)")
# An argument as MPD parses it: it may be quoted, with \ as the escape character.
_ARGUMENT = re.compile(rb'[\x01-\x20]+(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\x00-\x20"\']+))', re.DOTALL)
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
MAX_LINE_BYTES = 16_384  # MPD closes the connection if a line is longer
_MAX_VOLUME = 100
_MAX_PARTITIONS = 8  # partitions of a client that are remembered
_COMMANDS = (b"setvol", b"volume", b"partition", b"command_list_")
# A command line as MPD parses it: words separated by bytes up to the space. The argument may be
# quoted, with \ as the escape character.
_LINE = re.compile(
    rb"(?P<command>setvol|volume|partition)(?P<space>[\x01-\x20]+)"
    rb'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\x00-\x20"\']+))(?P<after>[\x01-\x20]*)',
    re.DOTALL,
)
_ADDRESS = re.compile(rb"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# MPD parses numbers like strtoul of C: leading zeros are ignored, and a negative number wraps
# around at the word size.
_NUMBER = re.compile(rb"[\t-\r ]*(?P<sign>[+-]?)0*(?P<digits>[0-9]{1,20})")
_WORD_SIZES = (1 << 32, 1 << 64)
_log = logging.getLogger(__name__)

ReadVolume = Callable[[Sequence[str]], Awaitable[int | None]]


def _parse_word(line: bytes) -> bytes:
    """Return the name of the command in `line`; b"" if MPD would disconnect the client."""
    match = _WORD.match(line)
    return match[0] if match else b""


def _parse_arguments(line: bytes) -> list[bytes]:
    """Return the arguments in `line`; none if MPD rejects them."""
    arguments, text, position = [], line.partition(b"\0")[0].rstrip(), len(_parse_word(line))
    while position < len(text):
        match = _ARGUMENT.match(text, position)
        if match is None:
            return []
        arguments.append(match["plain"] or _ESCAPED.sub(rb"\1", match["quoted"]))
        position = match.end()
    return arguments


class PasswordGate:
    """Admits the clients of a proxy that send `password`."""

    def __init__(self, password: str, *, patience: float = PATIENCE, delay: float = WRONG_PASSWORD_DELAY) -> None:
        self._password, self._patience, self._delay = password.encode(), patience, delay
        self._checks = weakref.WeakValueDictionary[str, asyncio.Lock]()  # key: address of the client

    async def admit(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream_password: str = ""
    ) -> bytes:
        """Answer a client until it sends the password.

        Args:
            upstream_password: The password of MPD, which the client need not know.

        Returns:
            The commands to send to MPD, with MPD's password instead of the proxy's. They are empty
            if the client left or took too long.
        """
        with contextlib.suppress(TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(self._patience):
                while lines := await _read_request(reader):
                    reply, admitted = await self._answer(lines, writer.get_extra_info("peername")[0])
                    if admitted:
                        return b"".join(_for_mpd(line, upstream_password) for line in lines)
                    if reply is None:
                        break
                    writer.write(reply)
                    await writer.drain()
        return b""

    async def _answer(self, lines: list[bytes], address: str) -> tuple[bytes | None, bool]:
        """Return the reply, None to disconnect, and whether all commands may be sent to MPD."""
        in_list = len(lines) > 1
        each_ok = b"list_OK\n" if in_list and _LISTS[_parse_word(lines[0])] else b""
        reply, admitted = b"", False
        for number, line in enumerate(lines[1:-1] if in_list else lines):
            word = _parse_word(line)
            if word in (b"", b"close"):
                return None, False
            if word == b"noidle" and not in_list:
                return b"", False  # MPD would not answer this either
            error = b""
            if word == b"password":
                arguments = _parse_arguments(line)
                if len(arguments) != 1:
                    error = b'ACK [2@%d] {password} wrong number of arguments for "password"\n' % number
                elif await self._is_right(arguments[0], address):
                    admitted = True
                else:
                    error = b"ACK [3@%d] {password} incorrect password\n" % number
            elif word != b"ping" and not admitted:
                error = b'ACK [4@%d] {%s} you don\'t have permission for "%s"\n' % (number, word, word)
            if error:
                return reply + error, False
            reply += each_ok
        return reply + b"OK\n", admitted

    async def _is_right(self, password: bytes, address: str) -> bool:
        async with self._checks.setdefault(address, asyncio.Lock()):
            is_right = hmac.compare_digest(password, self._password)
            if not is_right:
                await asyncio.sleep(self._delay)
            return is_right


async def _read_request(reader: asyncio.StreamReader) -> list[bytes]:
    """Return the lines of the next command or command list."""
    lines = [await reader.readuntil(b"\n")]
    if lines[0].strip() in _LISTS:
        while len(lines) <= _MAX_COMMANDS:
            lines.append(await reader.readuntil(b"\n"))
            if lines[-1].strip() == b"command_list_end":
                return lines
        return []
    return lines


def _for_mpd(line: bytes, upstream_password: str) -> bytes:
    """Return `line`, or another command with the same reply instead of the proxy's password."""
    if _parse_word(line) != b"password":
        return line
    if not upstream_password:
        return b"ping\n"
    escaped = upstream_password.replace("\\", "\\\\").replace('"', '\\"')
    return f'password "{escaped}"\n'.encode()


class CommandFilter:
    """Lowers the volumes in the commands of one client to the limit.

    Args:
        max_volume: Returns the highest allowed volume.
        read_volume: Gets the partitions that the client entered, the last one last. It returns the
            volume there, or `None` if it is not known.
        check_address: Raises Refused for an address that the client must not use; `None`: it may
            use all. It may wait for the name service.
    """

    def __init__(
        self,
        max_volume: Callable[[], int],
        read_volume: ReadVolume,
        check_address: Callable[[str], None] | None = None,
    ) -> None:
        self._max_volume, self._read_volume, self._check_address = max_volume, read_volume, check_address
        self._buffer, self._at_line_start = b"", True
        # The partitions that the client entered. MPD may refuse the last one, which is not visible
        # here.
        self._partitions = [DEFAULT_PARTITION]
        self._volumes: dict[str, int] | None = None  # volumes that the same command list has set, by partition

    async def feed(self, data: bytes, send: Callable[[bytes], None]) -> None:
        """Take the next bytes from the client and `send` bytes to MPD."""
        out, data, self._buffer = bytearray(), self._buffer + data, b""
        position = 0
        while position < len(data):
            end = data.find(b"\n", position)
            if self._at_line_start and (self._check_address is not None or _may_matter(data, position)):
                if end < 0 and len(data) - position <= MAX_LINE_BYTES:
                    self._buffer = data[position:]
                    break
                if end >= 0:
                    line = data[position:end]
                    if line.startswith(b"volume"):
                        send(bytes(out))  # sent first, so that MPD executes these commands before the volume is read
                        out.clear()
                    out += await self._limit(line)
                    position = end
            # Another command: its rest is passed on, with its end if that has arrived.
            stop = len(data) if end < 0 else end + 1
            out += data[position:stop]
            position, self._at_line_start = stop, end >= 0
        send(bytes(out))

    def flush(self) -> bytes:
        """Return the buffered bytes at the end of the client's data."""
        buffer, self._buffer = self._buffer, b""
        return buffer

    async def _limit(self, line: bytes) -> bytes:
        if self._check_address is not None and b":" in line:
            for argument in filter(_ADDRESS.match, _parse_arguments(line)):
                try:
                    await asyncio.to_thread(self._check_address, argument.decode("utf-8", "replace"))
                except Refused as error:
                    _log.warning("mpd-proxy command refused: %s", error)
                    return _parse_word(line)
        if line.startswith(b"command_list_"):
            self._volumes = None if line.startswith(b"command_list_end") else {}
            return line
        text, nul, rest = line.partition(b"\0")  # MPD reads a line only up to the first NUL
        match = _LINE.fullmatch(text)
        if match is None:
            return line
        is_quoted = match["quoted"] is not None
        argument = _ESCAPED.sub(rb"\1", match["quoted"]) if is_quoted else match["plain"]
        if match["command"] == b"partition":
            self._partitions = [*self._partitions[1 - _MAX_PARTITIONS :], argument.decode("utf-8", "replace")]
            return line
        if match["command"] == b"setvol":
            volume: int | None = self._lower(requested := _parse_volume(argument))
            if volume == requested:
                return line
        else:
            change = _parse_change(argument)
            if change is None or (change <= 0 and self._volumes is None):
                return line
            volume = await self._change(change)
        command, number = (b"volume", b"0") if volume is None else (b"setvol", b"%d" % volume)
        return command + match["space"] + (b'"%s"' % number if is_quoted else number) + match["after"] + nul + rest

    async def _change(self, change: int) -> int | None:
        """Return the volume after a relative change; `None` if the present volume is not known."""
        volume = (self._volumes or {}).get(self._partitions[-1])
        if volume is None:
            volume = await self._read_volume(self._partitions)
        return None if volume is None else self._lower(max(0, volume + change))

    def _lower(self, volume: int) -> int:
        volume = min(volume, self._max_volume())
        if self._volumes is not None:
            self._volumes[self._partitions[-1]] = volume
        return volume


async def read_partition_volume(address: MpdAddress, password: str, partitions: Sequence[str]) -> int | None:
    """Return the volume in the last of `partitions` that exists; `None` if it is not known."""
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT):
            mpd = await MpdConnection.open(address)
            try:
                if password:
                    await mpd.command("password", password)
                return await _read_volume(mpd, partitions)
            finally:
                mpd.close()
    except (MpdAckError, *CONNECTION_ERRORS) as error:
        _log.warning("mpd-proxy volume not read, relative change ignored: %s", error)
        return None


async def _read_volume(mpd: MpdConnection, partitions: Sequence[str]) -> int | None:
    for name in reversed(partitions):
        # All in one command list, because MPD does not delete a partition in which a client stays.
        there: list[Command] = [("partition", name), ("status",), ("partition", DEFAULT_PARTITION)]
        try:
            replies = await mpd.command_list(*(there if name != DEFAULT_PARTITION else [there[1]]))
        except MpdAckError:
            continue  # MPD refused this partition, so the client is still in the previous one
        status = next(reply for reply in replies if reply)
        volume = int(status.get("volume", "-1"))
        return None if volume < 0 else volume
    return None


def _parse_volume(number: bytes) -> int:
    """Return the volume as MPD parses `number`; 0 if MPD rejects it."""
    match = _NUMBER.fullmatch(number)
    if match is None:
        return 0
    value = int(match["digits"])
    candidates = [value] if match["sign"] != b"-" else [size - value for size in _WORD_SIZES]
    return next((each for each in candidates if 0 <= each <= _MAX_VOLUME), 0)


def _parse_change(number: bytes) -> int | None:
    """Return the relative change as MPD parses `number`; `None` if MPD rejects it."""
    match = _NUMBER.fullmatch(number)
    if match is None or int(match["digits"]) > _MAX_VOLUME:
        return None
    return int(match["digits"]) * (-1 if match["sign"] == b"-" else 1)


def _may_matter(data: bytes, position: int) -> bool:
    return any(each.startswith(data[position : position + len(each)]) for each in _COMMANDS)
