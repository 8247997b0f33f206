"""Run a real MPD without sound in a temporary folder, with tagged files of silence."""

import contextlib
import functools
import http.server
import shutil
import signal
import socket
import subprocess
import threading
import wave
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from mutagen.id3 import APIC, TALB, TCON, TDRC, TIT2, TPE1, TPE2, TRCK
from mutagen.wave import WAVE

from tests.installation import wait_until

needs_mpd = pytest.mark.skipif(
    shutil.which("mpd") is None or shutil.which("mpc") is None, reason="mpd or mpc is not installed"
)
SECONDS = 20
# An image with bytes like the ends of MPD's replies, which is not valid UTF-8.
PICTURE = b"\x89PNG\r\n\xff\nOK\nACK [5@0] {} no\nlist_OK\n" + bytes(range(256)) * 100


class Tags(NamedTuple):
    """The tags of a track."""

    title: str
    artist: str
    album: str
    album_artist: str = ""
    genre: str = ""
    date: str = ""
    number: str = ""
    picture: bytes = PICTURE


TRACKS: Mapping[str, tuple[str, ...]] = {
    "Ärzte/zwei — 二.wav": ('Zwei — 二 "q" \\b', "Die Ärzte", "Ünï"),
    "Ärzte/eins.wav": ("Eins", "Die Ärzte", "Ünï"),
    "one.wav": ("One", "Someone", "Something"),
}
_FRAMES = {
    "title": TIT2,
    "artist": TPE1,
    "album": TALB,
    "album_artist": TPE2,
    "genre": TCON,
    "date": TDRC,
    "number": TRCK,
}


def make_music(
    folder: Path,
    tracks: Mapping[str, tuple[str | bytes, ...]] = TRACKS,
    seconds: int = SECONDS,
    rate: int = 44_100,
) -> Path:
    """Write `tracks` of `seconds` and an empty folder into `folder`, and return `folder`.

    `rate` is in samples per second. MPD sends up to 256 KiB to an output ahead of time, and may not answer
    until they are played: 3 s of these tracks, but 16 s of tracks with 8,000 samples a second.
    """
    (folder / "empty").mkdir(parents=True)
    for name, tags in tracks.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(bytes(2 * rate * seconds))
        _tag(path, Tags(*tags))  # type: ignore[arg-type] # a plain tuple will do
    if tracks:
        (folder / "cover.png").write_bytes(PICTURE)
    return folder


def _tag(path: Path, tags: Tags) -> None:
    tagged = WAVE(path)
    tagged.add_tags()
    for name, frame in _FRAMES.items():
        if text := getattr(tags, name):
            tagged.tags.add(frame(encoding=3, text=text))
    if tags.picture:
        tagged.tags.add(APIC(encoding=3, mime="image/png", type=3, desc="", data=tags.picture))
    tagged.save()


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class MpdServer:
    """A real MPD that can be killed, frozen and restarted at the same address."""

    def __init__(
        self,
        folder: Path,
        *,
        mixer: str = "software",
        password: str = "",
        outputs: Sequence[str] = ("silence",),
        databases: Sequence[str] = ("playlists",),
        more: str = "",
    ) -> None:
        """Write mpd.conf. `databases` are files such as the sticker database. `more` is appended."""
        self.folder, self.port, self.password = folder, free_port(), password
        self.address = f"127.0.0.1:{self.port}"
        self.music = folder / "music"
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "playlists").mkdir(parents=True)
        kept = {
            "playlists": f'playlist_directory "{folder}/playlists"',
            "stickers": f'sticker_file "{folder}/stickers"',
            "state": f'state_file "{folder}/state"\nstate_file_interval "1"',
        }
        lines = [
            f'music_directory "{self.music}"',
            f'db_file "{folder}/database"',
            'bind_to_address "127.0.0.1"',
            f'port "{self.port}"',
            'zeroconf_enabled "no"',
            *(kept[each] for each in databases),
            *(f'audio_output {{\n type "null"\n name "{each}"\n mixer_type "{mixer}"\n}}' for each in outputs),
            more or 'auto_update "yes"',
        ]
        if password:
            escaped = password.replace("\\", "\\\\").replace('"', '\\"')
            lines += [f'password "{escaped}@read,add,control,admin"', 'default_permissions ""']
        (folder / "mpd.conf").write_text("\n".join(lines), "utf-8")

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    def start(self, timeout: float = 10) -> None:
        """Start it and wait until it answers, for at most `timeout` seconds."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["mpd", "--no-daemon", "--stderr", str(self.folder / "mpd.conf")], stdout=log, stderr=log
            )
        wait_until(self._has_greeting, timeout)

    def kill(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            self._process = None

    def freeze(self) -> None:
        """Suspend it: the port stays open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def mpc(self, *arguments: str, port: int | None = None) -> str:
        """Return the output of mpc; `port` is another port to this MPD."""
        return self.mpc_bytes(*arguments, port=port).decode().strip()

    def mpc_bytes(self, *arguments: str, port: int | None = None) -> bytes:
        """Return the output of mpc as bytes."""
        if arguments[0] == "seek":  # mpc refuses to seek before MPD has decoded enough to know the length
            wait_until(lambda: "/0:00 " not in self.mpc("status", port=port))
        host = f"{self.password}@127.0.0.1" if self.password else "127.0.0.1"
        command = ["mpc", "-h", host, "-p", str(port or self.port), *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=10).stdout

    def _has_greeting(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(100).startswith(b"OK MPD ")
        except OSError:
            return False


@contextlib.contextmanager
def running_mpd(  # noqa: PLR0913 - all but the folder are keyword options
    folder: Path,
    *,
    music: Mapping[str, tuple[str | bytes, ...]] = TRACKS,
    mixer: str = "software",
    password: str = "",
    outputs: Sequence[str] = ("silence",),
    databases: Sequence[str] = ("playlists",),
    more: str = "",
    rate: int = 44_100,
) -> Iterator[MpdServer]:
    """Yield a real MPD with `music` at `rate` in its library."""
    server = MpdServer(folder, mixer=mixer, password=password, outputs=outputs, databases=databases, more=more)
    make_music(server.music, music, rate=rate)
    try:
        server.start()
        server.mpc("update", "--wait")
        yield server
    finally:
        server.kill()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as http.server names it
        pass


@contextlib.contextmanager
def running_radio(folder: Path) -> Iterator[str]:
    """Yield the address of a web server that streams the files of `folder`."""
    handler = functools.partial(_QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as radio:
        thread = threading.Thread(target=radio.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{radio.server_port}"
        finally:
            radio.shutdown()
            thread.join()
