"""The last resort of an alarm: the bundled sound by a program of this machine, where no player sounds."""

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pi_appliance.core import sound
from pi_appliance.core.fades import amplitude
from pi_appliance.errors import Unavailable

_PROGRAMS: Sequence[tuple[str, ...]] = (("pw-play",), ("paplay",), ("aplay", "-q"))
_LONGEST = sound.SECONDS + 15.0  # seconds until a program that hangs is ended


async def play_once(volume: int) -> None:
    """Play the chime once, as loud as VOLUME is. Raises Unavailable where no program could."""
    found = [each for each in _PROGRAMS if shutil.which(each[0])]
    if not found:
        raise Unavailable("none of pw-play, paplay and aplay is installed; say: sudo apt install alsa-utils")
    wav = await asyncio.to_thread(lambda: sound.wav(sound.chime(amplitude(volume))))
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
