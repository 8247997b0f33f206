"""The chime of alarms and spoken texts: served to the player over HTTP, or played here."""

import asyncio
import http.server
import math
import re
import secrets
import shutil
import socket
import struct
import tempfile
import threading
from array import array
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from types import TracebackType

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.alarms.fade import amplitude
from pi_appliance.music.alarms.music_job import CANNOT_SPEAK, TTS_HINT, TTS_PROGRAMS

SAMPLE_RATE = 22_050  # Hz
SECONDS = 12  # seconds of the pattern, which is repeated
MIME = "audio/wav"

# Start in seconds and pitch in Hz of each bell: a chord of D major, up and down.
_BELLS = ((0.0, 293.66), (1.2, 369.99), (2.4, 440.0), (3.6, 587.33), (6.0, 587.33), (7.2, 440.0), (8.4, 369.99))
# Partials of a bell: multiple of its pitch, amplitude, half-life in seconds.
_PARTIALS = ((1.0, 0.6, 0.9), (2.0, 0.25, 0.45), (3.01, 0.1, 0.2), (4.2, 0.05, 0.1))
_ATTACK = 0.02  # seconds; without it each bell would start with a click
_BELL_SECONDS = 5.0
_FADE_SECONDS = 3.6  # seconds after which a bell is quiet enough to be cut off
_PEAK = 0.8  # share of the range of a sample that the loudest moment uses
# an address for documentation, to which nothing is sent: the kernel only picks our address
_TEST_ADDRESS = ("192.0.2.1", 9)
_RANGE_HEADER = re.compile(r"bytes=([0-9]{1,15})-([0-9]{0,15})")
_TTS_TIMEOUT = 30.0  # seconds that a speech program may take
_PLAY_PROGRAMS: Sequence[tuple[str, ...]] = (("pw-play",), ("paplay",), ("aplay", "-q"))
_PLAY_TIMEOUT = SECONDS + 15.0  # seconds that a program may take to play the chime


@lru_cache(maxsize=1)
def chime(amplitude: float = 1.0, seconds: float = SECONDS) -> bytes:
    """Return the pattern, or its first `seconds`, as mono 16-bit samples. `amplitude` is 0 to 1."""
    wave = _wave(seconds)
    scale = 32_767 * _PEAK * min(max(amplitude, 0.0), 1.0)
    return struct.pack(f"<{len(wave)}h", *(int(value * scale) for value in wave))


def wav_file(pcm: bytes) -> bytes:
    """Return the samples `pcm` of `chime` as a WAV file."""
    format_chunk = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, SAMPLE_RATE, SAMPLE_RATE * 2, 2, 16)
    header = struct.pack("<4sI4s", b"RIFF", 36 + len(pcm), b"WAVE")
    return header + format_chunk + struct.pack("<4sI", b"data", len(pcm)) + pcm


@lru_cache(maxsize=1)  # cached, because a fade plays the same wave at many volumes
def _wave(seconds: float) -> "array[float]":
    """Return the first `seconds` of the pattern, from -1 to 1."""
    length = int(SAMPLE_RATE * seconds)
    wave = array("d", bytes(8 * length))
    bells: dict[float, array[float]] = {}  # key: pitch; some bells sound twice
    for start, pitch in _BELLS:
        if start + _FADE_SECONDS > seconds:
            break  # a bell that does not fit would be cut off with a click
        first = int(start * SAMPLE_RATE)
        bell = bells[pitch] = bells.get(pitch) or _bell(pitch)
        for number, value in enumerate(bell[: length - first], first):
            wave[number] += value
    peak = max(abs(value) for value in wave)
    return array("d", (value / peak for value in wave))


def _bell(pitch: float) -> "array[float]":
    values = array("d", bytes(8 * int(_BELL_SECONDS * SAMPLE_RATE)))
    for multiple, level, half_life in _PARTIALS:
        angle = 2 * math.pi * pitch * multiple / SAMPLE_RATE
        decay = 0.5 ** (1 / (half_life * SAMPLE_RATE))
        for number in range(len(values)):
            values[number] += level * math.sin(angle * number)
            level *= decay  # noqa: PLW2901 - the partial decays
            if level < 1e-5:
                break
    attack = int(_ATTACK * SAMPLE_RATE)
    for number in range(attack):
        values[number] *= number / attack
    return values


class SoundServer:
    """HTTP server for one WAV file under a random path. Use it as a context manager.

    Args:
        name: Its name without extension: letters and hyphens.
    """

    def __init__(self, wav: bytes, name: str) -> None:
        self._wav, self._path = wav, f"/{secrets.token_hex(8)}/{name}.wav"
        self._servers: dict[str, http.server.ThreadingHTTPServer] = {}

    def __enter__(self) -> "SoundServer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers.values():
            server.shutdown()
            server.server_close()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The addresses at which a player may reach this machine: locally, and in its network."""
        local = "127.0.0.1"
        return tuple(dict.fromkeys((local, _network_address() or local)))

    def serve_at(self, host: str) -> str:
        """Listen at `host`, one of `hosts`, and return the URL of the sound.

        Raises:
            OSError: The port cannot be opened.
        """
        if host not in self._servers:
            self._servers[host] = self._start_server(host)
        return f"http://{host}:{self._servers[host].server_port}{self._path}"

    def _start_server(self, host: str) -> http.server.ThreadingHTTPServer:
        wav, path = self._wav, self._path

        class Handler(_SoundHandler):
            def do_GET(self) -> None:
                self.respond(path, wav)

            def do_HEAD(self) -> None:
                self.respond(path, b"", len(wav))

        server = http.server.ThreadingHTTPServer((host, 0), Handler)
        server.daemon_threads = True
        server.block_on_close = False  # a player that keeps its connection open must not block the end of the run
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server


class _SoundHandler(http.server.BaseHTTPRequestHandler):
    timeout = 30  # seconds without data after which a connection is closed

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as http.server names it
        """Log nothing."""

    def respond(self, path: str, body: bytes, length: int | None = None) -> None:
        """Send `body`, or the requested range of it, if the request is for `path`."""
        if self.path != path:
            self.send_error(404)
            return
        total = len(body) if length is None else length
        first, last = _byte_range(self.headers.get("Range", ""), total)
        is_partial = (first, last) != (0, total - 1)
        self.send_response(206 if is_partial else 200)
        self.send_header("Content-Type", MIME)
        self.send_header("Content-Length", str(last + 1 - first))
        self.send_header("Accept-Ranges", "bytes")
        if is_partial:
            self.send_header("Content-Range", f"bytes {first}-{last}/{total}")
        self.end_headers()
        try:
            self.wfile.write(body[first : last + 1])
        except OSError:  # the player closed the connection
            self.close_connection = True


def _byte_range(header: str, total: int) -> tuple[int, int]:
    """Return the first and last byte requested; all bytes if `header` is invalid."""
    match = _RANGE_HEADER.fullmatch(header.strip())
    first, last = (int(match[1]), min(int(match[2] or total), total - 1)) if match else (0, total - 1)
    return (first, last) if first <= last else (0, total - 1)


def _network_address() -> str | None:
    """Return this machine's address in its network; None without a network. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_TEST_ADDRESS)
            return str(probe.getsockname()[0])
        except OSError:
            return None


async def synthesize(text: str) -> bytes:
    """Speak `text` into a WAV file and return its bytes.

    Raises:
        Refused: No speech program is installed, or it failed.
    """
    name = next((each for each in TTS_PROGRAMS if shutil.which(each)), None)
    if name is None:
        raise Refused(f"{CANNOT_SPEAK}; {TTS_HINT}")
    text = text.encode("utf-8", "replace").decode().replace("\0", " ")  # a program takes no lone surrogates and no NUL
    with tempfile.TemporaryDirectory() as folder:
        wav_path, text_path = Path(folder) / "speech.wav", Path(folder) / "text.txt"
        text_path.write_text(text, "utf-8")
        try:
            status = await _run_program(_tts_command(name, text, text_path, wav_path), _TTS_TIMEOUT)
            if status is None:
                raise Refused(f"{name} did not finish in {_TTS_TIMEOUT:.0f} s; announce a shorter text")
            if status:
                raise Refused(f"{name} failed with status {status}; check it with: {name} --help")
            return wav_path.read_bytes()
        except OSError as error:
            raise Refused(f"{name} did not speak: {error.strerror}; {TTS_HINT}") from None


def _tts_command(name: str, text: str, text_path: Path, wav_path: Path) -> Sequence[str]:
    match name:
        case "espeak-ng":
            return (name, "-f", str(text_path), "-w", str(wav_path))
        case "pico2wave":
            return (name, f"--wave={wav_path}", "--", text)
    return (name, "-f", str(text_path), "-o", str(wav_path))


async def play_chime(volume: int) -> None:
    """Play the chime once on this machine.

    Raises:
        Unavailable: No program could play it.
    """
    programs = [each for each in _PLAY_PROGRAMS if shutil.which(each[0])]
    if not programs:
        raise Unavailable("pw-play, paplay and aplay are not installed; run: sudo apt install alsa-utils")
    wav = await asyncio.to_thread(lambda: wav_file(chime(amplitude(volume))))
    with tempfile.TemporaryDirectory() as folder:
        wav_path = Path(folder) / "chime.wav"
        wav_path.write_bytes(wav)
        failures = []
        for command in programs:
            try:
                status = await _run_program([*command, str(wav_path)], _PLAY_TIMEOUT)
            except OSError as error:
                failures.append(f"{command[0]} cannot be run: {error.strerror}")
                continue
            if status == 0:
                return
            failures.append(f"{command[0]} {'hangs' if status is None else f'failed with status {status}'}")
    raise Unavailable(f"{', '.join(failures)}; check the sound with: speaker-test -t sine -l 1")


async def _run_program(command: Sequence[str], timeout: float) -> int | None:
    """Run `command` and return its exit status; None if it took too long and was killed.

    Raises:
        OSError: It cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(timeout):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
