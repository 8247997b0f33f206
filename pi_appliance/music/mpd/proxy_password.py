"""The password of the MPD proxy: a client sends it as MPD's own command `password`.

Before that, the proxy answers the client itself, with the replies of an MPD that has a password.
"""

import asyncio
import contextlib
import hmac
import re
import weakref

PATIENCE = 60.0  # seconds in which a client must send the password; MPD disconnects idle clients then, too
WRONG_PASSWORD_DELAY = 1.0  # seconds; one address can try one password in this time
_MAX_COMMANDS = 1000  # in a command list
_LISTS = {b"command_list_begin": False, b"command_list_ok_begin": True}
_WORD = re.compile(rb"[a-z_]+(?=[\x00-\x20]|$)")
# An argument as MPD parses it: perhaps quoted, with \ escapes.
_ARGUMENT = re.compile(rb'[\x01-\x20]+(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>[^\x00-\x20"\']+))', re.DOTALL)
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)


class PasswordGate:
    """Admits the clients of a proxy that send `password`."""

    def __init__(self, password: str, *, patience: float = PATIENCE, delay: float = WRONG_PASSWORD_DELAY) -> None:
        self._password, self._patience, self._delay = password.encode(), patience, delay
        self._checks = weakref.WeakValueDictionary[str, asyncio.Lock]()  # by address

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
        each_ok = b"list_OK\n" if in_list and _LISTS[parse_word(lines[0])] else b""
        reply, admitted = b"", False
        for number, line in enumerate(lines[1:-1] if in_list else lines):
            word = parse_word(line)
            if word in (b"", b"close"):
                return None, False
            if word == b"noidle" and not in_list:
                return b"", False  # MPD does not answer it either
            error = b""
            if word == b"password":
                arguments = parse_arguments(line)
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


def parse_word(line: bytes) -> bytes:
    """Return the command in `line`; b"" if MPD would disconnect."""
    match = _WORD.match(line)
    return match[0] if match else b""


def parse_arguments(line: bytes) -> list[bytes]:
    """Return the arguments in `line`; none if MPD rejects them."""
    arguments, text, position = [], line.partition(b"\0")[0].rstrip(), len(parse_word(line))
    while position < len(text):
        match = _ARGUMENT.match(text, position)
        if match is None:
            return []
        arguments.append(match["plain"] or _ESCAPED.sub(rb"\1", match["quoted"]))
        position = match.end()
    return arguments


def _for_mpd(line: bytes, upstream_password: str) -> bytes:
    """Return `line`, or another command with the same reply instead of the proxy's password."""
    if parse_word(line) != b"password":
        return line
    if not upstream_password:
        return b"ping\n"
    escaped = upstream_password.replace("\\", "\\\\").replace('"', '\\"')
    return f'password "{escaped}"\n'.encode()
