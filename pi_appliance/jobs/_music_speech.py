"""Text to speech by a program of the machine: what is said, as a WAV file."""

import asyncio
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pi_appliance.errors import Refused
from pi_appliance.jobs._music_options import SPEAKER_MISSING, SPEAKERS

_LONGEST = 30.0  # seconds that a program may take


async def spoken(text: str) -> bytes:
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
        async with asyncio.timeout(_LONGEST):
            status = await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise Refused(f"{name} did not come to an end; say less") from None
    if status:
        raise Refused(f"{name} ended with status {status}; try it by hand: {name} --help")
