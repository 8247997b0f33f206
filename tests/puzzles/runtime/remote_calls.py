"""Functions that the workers of `test_remote.py` import."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles.runtime import SearchRuntime

TABLE_SIZE = 200_000  # bytes


def multiplier(factor: int, _: SearchRuntime) -> Callable[[int], int]:
    """Return a function that multiplies."""
    return lambda item: factor * item


def table_reader(shared: tuple[Path, bytes], _: SearchRuntime) -> Callable[[int], tuple[int, int]]:
    """Return a function with a lookup table. Write a file each time that such a function is created."""
    folder, table = shared
    (folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()

    def look_up(item: int) -> tuple[int, int]:
        time.sleep(0.01)  # so that each worker takes some
        return table[item], os.getpid()

    return look_up


def view_reader(view: memoryview, _: SearchRuntime) -> Callable[[int], int]:
    """Return a function that reads a view of numbers."""
    return lambda item: view[item]


def note_taker(_: str, runtime: SearchRuntime) -> Callable[[int], list[int]]:
    """Return a function that notes an item in memory that workers share, and returns all notes."""
    notes = runtime.shared_buffer(1_000)

    def call(item: int) -> list[int]:
        notes[item] = 1
        time.sleep(0.01)  # so that each worker takes some
        return [at for at, note in enumerate(notes) if note]

    return call


def mortal(marker: Path, _: SearchRuntime) -> Callable[[int], int]:
    """Return a function that kills its worker at item 20, the first time."""

    def call(item: int) -> int:
        if item == 20 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item * item

    return call


def suicidal(_: None, __: SearchRuntime) -> Callable[[int], int]:
    """Return a function that kills its worker each time."""
    return lambda _: os.kill(os.getpid(), signal.SIGKILL) or 0


def failing(_: None, __: SearchRuntime) -> Callable[[int], int]:
    """Return a function that fails at item 3."""

    def call(item: int) -> int:
        if item == 3:
            raise ConfigError([Problem("items", 3, 1, "the third is wrong", "take another one")])
        return item

    return call


def slow_search(folder: Path, runtime: SearchRuntime) -> Callable[[int], int]:
    """Return a function that waits for a file, and writes one for each started item."""

    def call(item: int) -> int:
        (folder / f"begun-{item}").touch()
        while not (folder / "go").exists():
            runtime.check_stop()
            time.sleep(0.01)
        return item

    return call
