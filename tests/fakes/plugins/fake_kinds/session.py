"""Job kind `session`: writes a diary until it is stopped, and can be interrupted anywhere."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.jobs.context import JobContext
from pi_appliance.storage.model import Result

RESUMABLE = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The file of the diary, and a name."""

    diary: Path
    name: str = "plain"
    level: int = 40
    one_shot: bool = False

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        return [] if 0 <= self.level <= 100 else [(("level",), f"{self.level} is no level", "write 0 to 100")]


def run(options: Options, context: JobContext) -> Result:
    """Continue until the signal "stop"; the progress is in the checkpoint."""
    return asyncio.run(_live(options, context))


async def _live(options: Options, context: JobContext) -> Result:
    def write(text: str) -> None:
        with options.diary.open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    held = context.load_checkpoint() if context.resume_only else None
    if context.resume_only and held is None:
        return Result("nothing was left to finish")
    name = held or f"{options.name} {options.level}"
    context.save_checkpoint(name)
    write(f"{'goes on' if held else 'begins'}: {name} in {os.getpid()}")
    while (word := context.next_signal()) != "stop":
        if word:
            write(f"hears {word}")
        await asyncio.sleep(0.05)
    context.clear_checkpoint()
    write("ends")
    return Result(f"{name} was told to stop")
