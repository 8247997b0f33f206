"""A private, silent MPD: it stands in where no other answers, so that everything about music can be tried.

It listens on a socket that only our own user can open, and the kernel ends it when we end, however we end.
"""

import asyncio
import os
import shutil
import time
from pathlib import Path

from pi_appliance.errors import Unavailable
from pi_appliance.system import files

LONGEST = 107  # bytes in the path of a socket, as Linux has it
START = 10.0  # seconds; it takes half a second here, a few on a Pi with a slow card
STOP = 3.0  # seconds to end by itself

_CONF = """\
# Written anew at each start.
music_directory    {music}
playlist_directory {playlists}
db_file            {database}
sticker_file       {stickers}
bind_to_address    {socket}
auto_update        "yes"
zeroconf_enabled   "no"
log_level          "error"
audio_output {{
  type       "null"
  name       "silence"
  mixer_type "software"
}}
"""


def socket_in(folder: Path) -> Path:
    """Return where the private MPD of FOLDER listens, if it runs."""
    return folder / "socket"


class PrivateMpd:
    """One private MPD, with all its files in one folder."""

    def __init__(self, folder: Path, music: Path | None) -> None:
        self._folder, self._music, self._log = folder, music, folder / "mpd.log"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> Path:
        """Start it, unless it runs, and return its socket once it answers. Raises Unavailable."""
        socket = socket_in(self._folder)
        if await _answers(socket):
            return socket
        await self.stop()
        _find_programs()
        try:
            conf = self._prepare(socket)
            await self._launch(conf)
            await self._until_it_answers(socket)
            socket.chmod(0o600)  # MPD opens it to all; until here the folder kept others out
        except OSError as error:
            await self.stop()
            raise files.cannot_write(self._folder, error) from None
        except BaseException:  # also when we are told to end meanwhile
            await self.stop()
            raise
        return socket

    async def stop(self) -> None:
        """End it and wait until it is gone. Nothing happens unless we started it."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(STOP):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def _prepare(self, socket: Path) -> Path:
        """Write what it needs and return its configuration."""
        if len(os.fsencode(socket)) > LONGEST:
            raise Unavailable(f"{socket} is too long for a socket; choose a shorter `state` folder")
        if self._music is not None and not self._music.is_dir():
            raise Unavailable(f"the music folder {self._music} is not there; correct `music` under `player:`")
        files.make_folder(self._folder, mode=0o700).chmod(0o700)
        places = {
            "music": self._music or files.make_folder(self._folder / "music"),
            "playlists": files.make_folder(self._folder / "playlists"),
            "database": self._folder / "database",
            "stickers": self._folder / "stickers.sqlite",
            "socket": socket,
        }
        conf = self._folder / "mpd.conf"
        text = _CONF.format(**{name: _quoted(path) for name, path in places.items()})
        files.write(conf, text.encode(), mode=0o600)
        return conf

    async def _launch(self, conf: Path) -> None:
        with self._log.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *("setpriv", "--pdeathsig", "KILL", "mpd", "--no-daemon", "--stderr", str(conf)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C in a terminal is for us; we end it then
            )

    async def _until_it_answers(self, socket: Path) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START
        while not await _answers(socket):
            if self._process.returncode is not None:
                said = self._log.read_text("utf-8", "replace").strip().splitlines()
                last = said[-1] if said else "it said nothing"
                raise Unavailable(f"the private MPD ended at once: {last}; see {self._log}")
            if time.monotonic() > deadline:
                raise Unavailable(f"the private MPD did not answer within {START:.0f} seconds; see {self._log}")
            await asyncio.sleep(0.02)


def _find_programs() -> None:
    for name, package in (("setpriv", "util-linux"), ("mpd", "mpd")):
        if shutil.which(name) is None:
            raise Unavailable(f"{name} is not installed; run: sudo apt install {package}")


async def _answers(socket: Path) -> bool:
    try:
        async with asyncio.timeout(1.0):
            reader, writer = await asyncio.open_unix_connection(socket)
    except OSError:
        return False
    try:
        async with asyncio.timeout(1.0):
            return (await reader.readline()).startswith(b"OK MPD ")
    except (OSError, ValueError):
        return False
    finally:
        writer.close()


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
