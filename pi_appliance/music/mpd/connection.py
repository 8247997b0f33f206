"""One connection to MPD: commands out, answers in as bytes, and no text that could become a command of its own."""

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Self

from mpd.base import FailureResponseCode as Code
from mpd.base import escape

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.music.mpd import parsing, player
from pi_appliance.music.mpd.parsing import NoMpd

Command = Sequence[str | int]
"""A command of MPD and what follows it, unquoted."""

LONGEST = 4000  # bytes of one word; MPD hangs up on a line that is longer than its buffer
_BLOCK = 1 << 18
_AT_ONCE = 1000  # commands in one list; MPD takes two megabytes of them
_OK, _NO = b"OK\n", b"ACK "
_NEXT = re.compile(rb"^list_OK\n", re.MULTILINE)
_ACK = re.compile(r"ACK \[(?P<code>\d+)@(?P<place>\d+)\] \{[^}]*\} ?(?P<words>.*)")
WRONG_WORDS, NO_SUCH_THING = Code.ARG.value, Code.NO_EXIST.value
TOO_MANY, EXISTS = Code.PLAYLIST_MAX.value, Code.EXIST.value
NOT_ALLOWED = (Code.PASSWORD.value, Code.PERMISSION.value)


class ConnectionClosed(Exception):
    """The connection ended before the answer did."""


class MpdAckError(Exception):
    """MPD said no to the command at PLACE of a list, those before it were done: ANSWERS."""

    def __init__(self, line: str, answers: Sequence[bytes] = ()) -> None:
        match = _ACK.match(line)
        if match is None:
            raise NoMpd
        self.code, self.place, self.words, self.answers = (
            int(match["code"]),
            int(match["place"]),
            match["words"],
            answers,
        )
        super().__init__(line)


class MpdConnection:
    """A connection that was greeted. `patience` is how long MPD may keep silent; None: for ever."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, version: tuple[int, int]) -> None:
        self._reader, self._writer, self.version = reader, writer, version
        connection = writer.get_extra_info("socket")
        self._tcp = None if connection is None or connection.family == socket.AF_UNIX else connection
        self.patience: float | None = None
        self.acted = ""  # the last command that, done twice, does two things
        self.idle = False
        self.partition = ""  # what it was told to speak of

    @classmethod
    async def open(cls, place: player.MpdAddress) -> Self:
        """Connect and hear the greeting. Raises OSError, NoMpd, HungUp."""
        match place:
            case Path():
                reader, writer = await asyncio.open_unix_connection(str(place), limit=_BLOCK)
            case host, port:
                reader, writer = await asyncio.open_connection(host, port, limit=_BLOCK)
        try:
            greeting = re.match(rb"OK MPD (\d+)\.(\d+)", await reader.readline())
            if greeting is None:
                raise ConnectionClosed if reader.at_eof() else NoMpd
        except BaseException:
            writer.transport.abort()
            raise
        return cls(reader, writer, (int(greeting[1]), int(greeting[2])))

    async def ask(self, *command: str | int) -> bytes:
        """Return the answer to COMMAND. Raises Said where MPD says no, HungUp, OSError."""
        self._send(_encode(command))
        return await self._answer()

    async def ask_all(self, *commands: Command) -> list[bytes]:
        """Return the answers to COMMANDS, which nobody else's come between. The first no is the last that is asked."""
        return await self._ask_spelt([_encode(command) for command in commands])

    async def act(self, name: str, *commands: Command) -> list[bytes]:
        """Do as ask_all(), with COMMANDS that, done twice, do two things. NAME is what to call them."""
        spelt = [_encode(command) for command in commands]  # what cannot be said is refused before anything is done
        self.acted = name
        return await self._ask_spelt(spelt)

    async def ask_each(self, commands: Sequence[Command], name: str = "") -> list[bytes | None]:
        """Return the answer to each of COMMANDS, however many; None where there is no such thing. NAME as in act()."""
        answers: list[bytes | None] = []
        while len(answers) < len(commands):
            now = commands[len(answers) : len(answers) + _AT_ONCE]
            try:
                answers += await (self.act(name, *now) if name else self.ask_all(*now))
            except MpdAckError as no:
                if no.code not in (NO_SUCH_THING, WRONG_WORDS):
                    raise
                answers += [*no.answers, None]
        return answers

    async def _ask_spelt(self, commands: Sequence[bytes]) -> list[bytes]:
        self._send(b"command_list_ok_begin\n" + b"".join(commands) + b"command_list_end\n")
        try:
            answers = _NEXT.split(await self._answer())
        except MpdAckError as no:
            raise MpdAckError(str(no), _NEXT.split(no.answers[0])[:-1]) from None
        if len(answers) != len(commands) + 1:
            raise NoMpd
        return answers[:-1]

    async def stream(self, *command: str | int) -> AsyncIterator[bytes]:
        """Yield the answer to COMMAND as it comes, in pieces of whole lines."""
        self._send(_encode(command))
        rest = b""
        while True:
            lines, newline, rest = (rest + await self._some()).rpartition(b"\n")
            last = lines[lines.rfind(b"\n") + 1 :] + newline
            if last == _OK:
                yield lines[: -len(_OK) + 1]
                return
            if last.startswith(_NO):
                raise MpdAckError(last.decode("utf-8", "replace").rstrip("\n"))
            yield lines + newline

    async def picture(self, *command: str | int) -> tuple[dict[str, str], bytes]:
        """Return what is said of a picture and the part of it that COMMAND asks for; nothing if there is none."""
        self._send(_encode(command))
        said: dict[str, str] = {}
        part = b""
        while (line := await self._one()) != _OK:
            if line.startswith(_NO):
                raise MpdAckError(line.decode("utf-8", "replace").rstrip("\n"))
            key, _, value = line.decode().rstrip("\n").partition(": ")
            said[key] = value
            if key == "binary":
                async with asyncio.timeout(self.patience):
                    part = (await self._reader.readexactly(int(value) + 1))[:-1]
        return said, part

    def wake(self) -> None:
        """End an idle that goes on: it answers then."""
        if self.idle:
            self._send(b"noidle\n")

    def close(self) -> None:
        """Hang up, at once."""
        self._writer.transport.abort()

    def keep_alive(self) -> None:
        """Have the kernel notice within a minute that the other machine lost its power; no program wakes for it."""
        if self._tcp is not None:
            self._tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
            self._tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
            self._tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)

    def _send(self, words: bytes) -> None:
        """Write WORDS, and have the kernel acknowledge at once what comes back.

        MPD keeps the end of a long answer until its beginning is acknowledged, and where questions and answers take
        turns, Linux waits with that for 40 ms. It forgets what it was told here whenever something is sent.
        """
        self._writer.write(words)
        if self._tcp is not None:
            with contextlib.suppress(OSError):  # it is gone by now; who waits for the answer is told so
                self._tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    async def _answer(self) -> bytes:
        """Return all until the OK, without it. An answer that holds no picture has its end nowhere else in it."""
        body = bytearray()
        while True:
            body += await self._some()
            if not body.endswith(b"\n"):
                continue
            last = body.rfind(b"\n", 0, -1) + 1
            if body[last:] == _OK:
                return bytes(body[:last])
            if body.startswith(_NO, last):
                raise MpdAckError(body[last:-1].decode("utf-8", "replace"), [bytes(body[:last])])

    async def _some(self) -> bytes:
        async with asyncio.timeout(self.patience):
            block = await self._reader.read(_BLOCK)
        if not block:
            raise ConnectionClosed
        return block

    async def _one(self) -> bytes:
        async with asyncio.timeout(self.patience):
            line = await self._reader.readline()
        if not line.endswith(b"\n"):
            raise ConnectionClosed
        return line


def one_line(text: str) -> str:
    """Return TEXT. Raises Refused if it holds a line break: MPD would read what follows as a command."""
    if any(character in text for character in "\n\r\0"):
        raise Refused(f"{text!r} holds a line break, which no name and no address does")
    return text


def quote(said: str | int) -> str:
    """Return SAID in quotes. Raises Refused for what MPD cannot be told."""
    text = one_line(str(said))
    if len(text.encode("utf-8", "replace")) > LONGEST:
        raise Refused(f"{text[:40]!r}… is too long for MPD")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Refused(f"{text!r} holds half a letter, which MPD cannot be told")
    return f'"{escape(text)}"'


def _encode(command: Command) -> bytes:
    return (" ".join([str(command[0]), *map(quote, command[1:])]) + "\n").encode()


REACH = 1.0  # seconds for a connection and the greeting; a hung MPD is found out here
AT_ONCE = 3  # MPD lets five wait to be greeted; Linux lets the sixth try again after a second
ANSWER = 5.0  # seconds that an MPD which has just greeted may keep silent; a big folder takes its time on a Pi


class MpdClientBase:
    """Where an MPD is and how to come in. What a command does stands in the files that build on this one."""

    def __init__(self, name: str, place: player.MpdAddress, password: str, partition: str = "") -> None:
        """NAME is how the owner wrote PLACE; PARTITION is the one to speak of, '' for MPD's own first one."""
        self._name, self._place, self._password, self._partition = name, place, password, partition
        self._adding = asyncio.Lock()  # two that fill the queue at once would mix what they bring
        self._doorway = asyncio.Semaphore(AT_ONCE)
        self._open: set[MpdConnection] = set()

    @contextlib.asynccontextmanager
    async def _session(self, *, partition: bool = True) -> AsyncIterator[MpdConnection]:
        """Give a greeted connection that speaks of the PARTITION."""
        line: MpdConnection | None = None
        try:
            async with asyncio.timeout(REACH):
                async with self._doorway:
                    line = await MpdConnection.open(self._place)
                self._open.add(line)
                if self._password:
                    await line.ask("password", self._password)
                if partition:
                    await self._enter(line, self._partition)
            line.patience = ANSWER
            yield line
        except MpdAckError as no:
            raise self._refusal(no) from None
        except (OSError, ValueError, LookupError, EOFError, NoMpd, ConnectionClosed) as error:
            if line is not None and line.acted:
                raise Uncertain(
                    f"MPD at {self._name} did not answer {line.acted!r}; see if it was done, then go on"
                ) from None
            raise self._lost(error) from None
        finally:
            if line is not None:
                self._open.discard(line)
                line.close()

    async def _enter(self, line: MpdConnection, name: str) -> None:
        """Let LINE speak of the partition NAME, '' for the first one."""
        line.partition = name
        if not name:
            return
        try:
            await line.ask("partition", name)
        except MpdAckError as no:
            raise self._no_partition(name) if no.code == NO_SUCH_THING else no from None

    def _no_partition(self, name: str) -> Refused:
        return Refused(f"MPD at {self._name} has no partition {name!r}; make it, or name another one")

    def _refusal(self, no: MpdAckError) -> ApplianceError:
        words = parsing.refusal(no.words)
        if no.code in NOT_ALLOWED:
            return Refused(f"MPD at {self._name} says: {words}; put the right MPD_PASSWORD=… among the secrets")
        return Refused(f"MPD says: {words}")

    def _lost(self, error: Exception) -> Unavailable:
        verb = "restart" if isinstance(error, TimeoutError) else "start"
        todo = f"{verb} it (sudo systemctl {verb} mpd) or correct `address` under `player:`"
        return Unavailable(f"MPD at {self._name} is not reached: {parsing.why(error)}; {todo}")
