"""A real MPD that makes no sound, in a folder of its own, with music of silence and tags."""

import contextlib
import functools
import http.server
import shutil
import signal
import socket
import subprocess
import threading
import wave
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from mutagen.id3 import APIC, TALB, TIT2, TPE1
from mutagen.wave import WAVE

from tests.house import until

needs_mpd = pytest.mark.skipif(
    shutil.which("mpd") is None or shutil.which("mpc") is None, reason="mpd or mpc is not installed"
)
SECONDS = 20
# A picture whose bytes look like the ends of MPD's answers, and are no UTF-8.
PICTURE = b"\x89PNG\r\n\xff\nOK\nACK [5@0] {} no\nlist_OK\n" + bytes(range(256)) * 100
TRACKS = {
    "Ärzte/zwei — 二.wav": ('Zwei — 二 "q" \\b', "Die Ärzte", "Ünï"),
    "Ärzte/eins.wav": ("Eins", "Die Ärzte", "Ünï"),
    "one.wav": ("One", "Someone", "Something"),
}


def make_music(folder: Path, tracks: Mapping[str, tuple[str, str, str]] = TRACKS) -> Path:
    """Write TRACKS and an empty folder into FOLDER, each track with a picture inside, and return FOLDER."""
    (folder / "empty").mkdir(parents=True)
    for name, (title, artist, album) in tracks.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(8000)
            file.writeframes(bytes(2 * 8000 * SECONDS))
        tagged = WAVE(path)
        tagged.add_tags()
        tagged.tags.add(TIT2(encoding=3, text=title))
        tagged.tags.add(TPE1(encoding=3, text=artist))
        tagged.tags.add(TALB(encoding=3, text=album))
        tagged.tags.add(APIC(encoding=3, mime="image/png", type=3, desc="", data=PICTURE))
        tagged.save()
    if tracks:
        (folder / "cover.png").write_bytes(PICTURE)
    return folder


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class MpdServer:
    """One MPD that can be killed, frozen and started again at the same address."""

    def __init__(self, folder: Path, *, mixer: str = "software", password: str = "") -> None:
        self.folder, self.port, self.password = folder, free_port(), password
        self.address = f"127.0.0.1:{self.port}"
        self.music = folder / "music"
        self._process: subprocess.Popen[bytes] | None = None
        (folder / "playlists").mkdir(parents=True)
        lines = [
            f'music_directory "{self.music}"',
            f'playlist_directory "{folder}/playlists"',
            f'db_file "{folder}/database"',
            'bind_to_address "127.0.0.1"',
            f'port "{self.port}"',
            'auto_update "yes"',
            'zeroconf_enabled "no"',
            f'audio_output {{\n type "null"\n name "silence"\n mixer_type "{mixer}"\n}}',
        ]
        if password:
            lines += [f'password "{password}@read,add,control,admin"', 'default_permissions ""']
        (folder / "mpd.conf").write_text("\n".join(lines), "utf-8")

    def start(self) -> None:
        """Start it and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["mpd", "--no-daemon", "--stderr", str(self.folder / "mpd.conf")], stdout=log, stderr=log
            )
        until(self._greets)

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Let it hang: it still has its port, and does nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def mpc(self, *arguments: str, port: int | None = None) -> str:
        """Return what mpc prints; PORT is that of another door to this MPD."""
        return self.mpc_bytes(*arguments, port=port).decode().strip()

    def mpc_bytes(self, *arguments: str, port: int | None = None) -> bytes:
        """Return what mpc prints, to the byte."""
        host = f"{self.password}@127.0.0.1" if self.password else "127.0.0.1"
        command = ["mpc", "-h", host, "-p", str(port or self.port), *arguments]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=10).stdout

    def _greets(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(100).startswith(b"OK MPD ")
        except OSError:
            return False


@contextlib.contextmanager
def running_mpd(
    folder: Path,
    *,
    music: Mapping[str, tuple[str, str, str]] = TRACKS,
    mixer: str = "software",
    password: str = "",
) -> Iterator[MpdServer]:
    """Give a real MPD whose library holds MUSIC; it is gone after the block."""
    server = MpdServer(folder, mixer=mixer, password=password)
    make_music(server.music, music)
    try:
        server.start()
        server.mpc("update", "--wait")
        yield server
    finally:
        server.kill()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as http.server names it
        pass


@contextlib.contextmanager
def running_radio(folder: Path) -> Iterator[str]:
    """Give the address of a web server that streams the files of FOLDER."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as radio:
        thread = threading.Thread(target=radio.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{radio.server_port}"
        finally:
            radio.shutdown()
            thread.join()
