"""A private, silent MPD: it stands in where no other answers, so that everything about music can be tried.

It listens on a socket that only our own user can open, and the kernel ends it when we end, however we end.
"""

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path

from pi_appliance.errors import Unavailable
from pi_appliance.system import files

LONGEST = 107  # bytes in the path of a socket, as Linux has it
START = 10.0  # seconds; it takes half a second here, a few on a Pi with a slow card
STOP = 3.0  # seconds to end by itself
LOG = "mpd.log"
_ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ")  # no secret of ours

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


def socket_path(folder: Path) -> Path:
    """Return where the private MPD of FOLDER listens, if it runs."""
    return folder / "socket"


@contextlib.asynccontextmanager
async def run_private_mpd(folder: Path, music: Path | None) -> AsyncIterator[Path]:
    """Have it run within the block, which gets its socket once it answers. Raises Unavailable.

    All its files are in FOLDER. One that runs there already is used and left as it is.
    """
    socket = socket_path(folder)
    if await _answers(socket):
        yield socket
        return
    _find_programs()
    process = None
    try:
        try:
            conf = _prepare(folder, music)
            process = await _launch(conf, folder / LOG)
            await _until_it_answers(socket, process, folder / LOG)
            socket.chmod(0o600)  # MPD opens it to all; until here the folder kept others out
        except OSError as error:
            raise files.write_error(folder, error) from None
        yield socket
    finally:
        if process is not None:
            await _end(process)


def _prepare(folder: Path, music: Path | None) -> Path:
    """Write what it needs into FOLDER and return its configuration."""
    socket = socket_path(folder)
    if len(os.fsencode(socket)) > LONGEST:
        raise Unavailable(f"{socket} is too long for a socket; choose a shorter `state-dir`")
    if music is not None and not music.is_dir():
        raise Unavailable(f"the music folder {music} is not there; correct `music` under `player:`")
    files.make_directory(folder, mode=0o700).chmod(0o700)
    places = {
        "music": music or files.make_directory(folder / "music"),
        "playlists": files.make_directory(folder / "playlists"),
        "database": folder / "database",
        "stickers": folder / "stickers.sqlite",
        "socket": socket,
    }
    conf = folder / "mpd.conf"
    files.write_file(conf, _CONF.format(**{name: _quoted(path) for name, path in places.items()}).encode(), mode=0o600)
    return conf


async def _launch(conf: Path, log: Path) -> asyncio.subprocess.Process:
    with log.open("wb") as output:
        return await asyncio.create_subprocess_exec(
            *("setpriv", "--pdeathsig", "KILL", "mpd", "--no-daemon", "--stderr", str(conf)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            start_new_session=True,  # Ctrl-C in a terminal is for us; we end it then
        )


async def _until_it_answers(socket: Path, process: asyncio.subprocess.Process, log: Path) -> None:
    deadline = time.monotonic() + START
    while not await _answers(socket):
        if process.returncode is not None:
            said = log.read_text("utf-8", "replace").strip().splitlines()
            raise Unavailable(f"the private MPD ended at once: {said[-1] if said else 'it said nothing'}; see {log}")
        if time.monotonic() > deadline:
            raise Unavailable(f"the private MPD did not answer within {START:.0f} seconds; see {log}")
        await asyncio.sleep(0.02)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(STOP):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


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
