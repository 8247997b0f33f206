"""The built-in silent player: a private MPD that runs while no other MPD answers.

Only the appliance's user can open its socket, and the kernel ends it together with the appliance.
"""

import asyncio
import contextlib
import os
import shutil
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

from pi_appliance.errors import Unavailable
from pi_appliance.system import files

MAX_SOCKET_BYTES = 107  # bytes: Linux's limit for the path of a socket
START_TIMEOUT = 10.0  # seconds; a Pi with a slow SD card needs a few
STOP_TIMEOUT = 3.0  # seconds that MPD may take to stop
LOG_NAME = "mpd.log"
# The process becomes MPD, and the kernel kills it when its parent dies. `setpriv` can do that, too,
# but it also sets capabilities, which the unit forbids.
_DIE_WITH_PARENT = "import ctypes, os, sys; ctypes.CDLL(None).prctl(1, 9); os.execvp(sys.argv[1], sys.argv[1:])"
# variables that MPD inherits: none with a secret
_ENVIRONMENT = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ")

_CONFIG = """\
# Written at each start.
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
    """Return the socket of the private MPD in `folder`."""
    return folder / "socket"


@contextlib.asynccontextmanager
async def run_private_mpd(folder: Path, music: Path | None) -> AsyncIterator[Path]:
    """Run a private MPD for the duration of the block, which gets its socket.

    Args:
        folder: for all its files. If an MPD runs there already, it is used and kept running.
        music: the music folder; `None` for an empty one.

    Raises:
        Unavailable: MPD is not installed or does not start.
    """
    socket = socket_path(folder)
    if await _is_answering(socket):
        yield socket
        return
    _require_mpd()
    process = None
    try:
        try:
            config = _write_config(folder, music)
            process = await _start_process(config, folder / LOG_NAME)
            await _wait_for_answer(socket, process, folder / LOG_NAME)
            socket.chmod(0o600)  # MPD lets everyone use its socket; until here, the mode of the folder protected it
        except OSError as error:
            raise files.write_error(folder, error) from None
        yield socket
    finally:
        if process is not None:
            await _stop_process(process)


def _write_config(folder: Path, music: Path | None) -> Path:
    socket = socket_path(folder)
    if len(os.fsencode(socket)) > MAX_SOCKET_BYTES:
        raise Unavailable(f"{socket} is too long for a socket; choose a shorter `state-dir`")
    if music is not None and not music.is_dir():
        raise Unavailable(f"the music folder {music} does not exist; correct `music` under `player:`")
    files.make_directory(folder, mode=0o700).chmod(0o700)
    paths = {
        "music": music or files.make_directory(folder / "music"),
        "playlists": files.make_directory(folder / "playlists"),
        "database": folder / "database",
        "stickers": folder / "stickers.sqlite",
        "socket": socket,
    }
    config = folder / "mpd.conf"
    files.write_file(
        config, _CONFIG.format(**{name: _quote(path) for name, path in paths.items()}).encode(), mode=0o600
    )
    return config


async def _start_process(config: Path, log: Path) -> asyncio.subprocess.Process:
    with log.open("wb") as output:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, "mpd", "--no-daemon", "--stderr", str(config)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            start_new_session=True,  # a session of its own, so that Ctrl-C in a terminal does not reach it
        )


async def _wait_for_answer(socket: Path, process: asyncio.subprocess.Process, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT
    while not await _is_answering(socket):
        if process.returncode is not None:
            lines = log.read_text("utf-8", "replace").strip().splitlines()
            raise Unavailable(f"the private MPD ended at once: {lines[-1] if lines else 'no message'}; see {log}")
        if time.monotonic() > deadline:
            raise Unavailable(f"the private MPD did not answer within {START_TIMEOUT:.0f} seconds; see {log}")
        await asyncio.sleep(0.02)


async def _stop_process(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        async with asyncio.timeout(STOP_TIMEOUT):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _require_mpd() -> None:
    if shutil.which("mpd") is None:
        raise Unavailable("mpd is not installed; run: sudo apt install mpd")


async def _is_answering(socket: Path) -> bool:
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


def _quote(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
