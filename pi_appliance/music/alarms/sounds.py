"""A sound given to the player over HTTP, by the run itself, for as long as the run lives."""

import asyncio
import http.server
import re
import secrets
import shutil
import socket
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.alarms import chime
from pi_appliance.music.alarms.chime import MIME
from pi_appliance.music.alarms.options import SPEAKER_MISSING, SPEAKERS
from pi_appliance.music.alarms.playback import amplitude

_ELSEWHERE = ("192.0.2.1", 9)  # an address that is nobody's: to ask the kernel which of ours leads out
_RANGE = re.compile(r"bytes=([0-9]{1,15})-([0-9]{0,15})")


class SoundServer:
    """A WAV file on a port of its own, under a name nobody guesses. A context manager."""

    def __init__(self, wav: bytes, name: str) -> None:
        """NAME is how the file is called: letters and hyphens."""
        self._wav, self._path = wav, f"/{secrets.token_hex(8)}/{name}.wav"
        self._servers: dict[str, http.server.ThreadingHTTPServer] = {}

    def __enter__(self) -> "SoundServer":
        """Listen to nobody yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening."""
        for server in self._servers.values():
            server.shutdown()
            server.server_close()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The addresses by which a player may reach us: one on this machine, and one elsewhere in the house."""
        here = "127.0.0.1"
        return tuple(dict.fromkeys((here, _outward() or here)))

    def at(self, host: str) -> str:
        """Return the address of the sound at HOST, one of `hosts`, and listen there. Raises OSError."""
        if host not in self._servers:
            self._servers[host] = self._listening(host)
        return f"http://{host}:{self._servers[host].server_port}{self._path}"

    def _listening(self, host: str) -> http.server.ThreadingHTTPServer:
        wav, path = self._wav, self._path

        class Answer(_Answer):
            def do_GET(self) -> None:
                self.answer(path, wav)

            def do_HEAD(self) -> None:
                self.answer(path, b"", len(wav))

        server = http.server.ThreadingHTTPServer((host, 0), Answer)
        server.daemon_threads = True
        server.block_on_close = False  # a player that keeps its connection open must not keep the run
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server


class _Answer(http.server.BaseHTTPRequestHandler):
    timeout = 30  # seconds for a client that says nothing

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as http.server names it
        """Say nothing: the log of the run is for people."""

    def answer(self, path: str, body: bytes, length: int | None = None) -> None:
        """Send BODY, or the part of it that is asked for, if PATH is what is asked for."""
        if self.path != path:
            self.send_error(404)
            return
        whole = len(body) if length is None else length
        first, last = _part(self.headers.get("Range", ""), whole)
        self.send_response(200 if (first, last) == (0, whole - 1) else 206)
        self.send_header("Content-Type", MIME)
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("Accept-Ranges", "bytes")
        if (first, last) != (0, whole - 1):
            self.send_header("Content-Range", f"bytes {first}-{last}/{whole}")
        self.end_headers()
        try:
            self.wfile.write(body[first : last + 1])
        except OSError:  # the player has heard enough
            self.close_connection = True


def _part(asked: str, whole: int) -> tuple[int, int]:
    """Return the first and the last byte that the header ASKED wants; all of them where it wants nonsense."""
    match = _RANGE.fullmatch(asked.strip())
    first, last = (int(match[1]), min(int(match[2] or whole), whole - 1)) if match else (0, whole - 1)
    return (first, last) if first <= last else (0, whole - 1)


def _outward() -> str | None:
    """Return the address of this machine in its network; None without one. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
            return str(probe.getsockname()[0])
        except OSError:
            return None


_LONGEST_SPEECH = 30.0  # seconds that a program may take


async def synthesize(text: str) -> bytes:
    """Return TEXT as a WAV file. Raises Refused where nothing can speak, or it could not."""
    name = next((each for each in SPEAKERS if shutil.which(each)), None)
    if name is None:
        raise Refused(f"nothing here can speak; {SPEAKER_MISSING}")
    text = text.encode("utf-8", "replace").decode().replace("\0", " ")  # half letters and ends of text from elsewhere
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "said.wav"
        words = Path(folder) / "words.txt"
        words.write_text(text, "utf-8")
        try:
            process = await asyncio.create_subprocess_exec(
                *_command(name, text, words, file),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            await _ended(name, process)
            return file.read_bytes()
        except OSError as error:
            raise Refused(f"{name} did not speak: {error.strerror}; {SPEAKER_MISSING}") from None


def _command(name: str, text: str, words: Path, file: Path) -> Sequence[str]:
    match name:
        case "espeak-ng":
            return (name, "-f", str(words), "-w", str(file))
        case "pico2wave":
            return (name, f"--wave={file}", "--", text)
    return (name, "-f", str(words), "-o", str(file))


async def _ended(name: str, process: asyncio.subprocess.Process) -> None:
    try:
        async with asyncio.timeout(_LONGEST_SPEECH):
            status = await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise Refused(f"{name} did not come to an end; say less") from None
    if status:
        raise Refused(f"{name} ended with status {status}; try it by hand: {name} --help")


_PROGRAMS: Sequence[tuple[str, ...]] = (("pw-play",), ("paplay",), ("aplay", "-q"))
_LONGEST = chime.SECONDS + 15.0  # seconds until a program that hangs is ended


async def play_once(volume: int) -> None:
    """Play the chime once, as loud as VOLUME is. Raises Unavailable where no program could."""
    found = [each for each in _PROGRAMS if shutil.which(each[0])]
    if not found:
        raise Unavailable("none of pw-play, paplay and aplay is installed; say: sudo apt install alsa-utils")
    wav = await asyncio.to_thread(lambda: chime.wav(chime.chime(amplitude(volume))))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "chime.wav"
        file.write_bytes(wav)
        failed = []
        for command in found:
            why = await _tried([*command, str(file)])
            if not why:
                return
            failed.append(f"{command[0]} {why}")
    raise Unavailable(f"{', '.join(failed)}; try by hand: speaker-test -t sine -l 1")


async def _tried(command: Sequence[str]) -> str:
    """Run COMMAND and return why it did not play, '' if it did."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        return f"cannot be run: {error.strerror}"
    try:
        async with asyncio.timeout(_LONGEST):
            status = await process.wait()
    except TimeoutError:
        return "hangs"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return f"ended with status {status}" if status else ""
