"""Benchmark of peg solitaire against the original method: plain backtracking on boards as lists of rows.

No solver that counts is known on a package index; the numbers others publish for the full board stand in the docs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pi_appliance.puzzles import Answer, SolveMode, kernel_mode, peg_solitaire
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.runtime.local import open_runtime

WAYS = ((1, 0), (-1, 0), (0, 1), (0, -1))
MEGA = 1024  # kilobytes
PROGRAM = {
    "compiled": "import sys; from pi_appliance.__main__ import main; main(sys.argv[1:])",
    "plain": "import sys; from pi_appliance.__main__ import main; from pi_appliance.puzzles import kernels; "
    "kernels.prefer_plain(); main(sys.argv[1:])",
}
SAMPLE_INTERVAL = 0.2  # seconds between two samples; each takes milliseconds of the processor


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield the measure, our time, the time of the peer, and the ratio."""
    for name in ("plus", "fireplace"):
        drawing = peg_solitaire.BOARDS[name]
        begun = time.perf_counter()
        theirs = sum(1 for _ in originally([list(row) for row in drawing.splitlines()]))
        between = time.perf_counter()
        ours = sum(1 for _ in _answer(name, SolveMode.ALL).solutions)
        ended = time.perf_counter()
        assert ours == theirs
        yield (
            f"{name}, all solutions",
            f"{ended - between:.3f} s",
            f"{between - begun:.3f} s (original)",
            f"{(between - begun) / (ended - between):.1f}x",
        )
    seconds, memory, kernel = _full()
    yield f"full, count, {kernel}, all processes together", f"{seconds:.1f} s, {memory} MB", "never (original)", "-"


def _full() -> tuple[float, int, str]:
    """Return the seconds that the command takes to count the full board, its megabytes, and its kernel."""
    options = (
        sys.executable,
        "-c",
        PROGRAM[kernel_mode(kernel)],
        "puzzle",
        "count",
        "peg-solitaire",
        "--board",
        "full",
        "--json",
    )
    with tempfile.TemporaryDirectory() as folder:
        begun, peak = time.perf_counter(), 0
        process = subprocess.Popen(
            options, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "XDG_STATE_HOME": folder}
        )
        while process.poll() is None:
            peak = max(peak, sum(map(_proportional, _family(process.pid))))
            time.sleep(SAMPLE_INTERVAL)
        seconds = time.perf_counter() - begun
        assert process.stdout
        output = json.load(process.stdout)
    assert output["count"] == 81_723_294_080_159_936
    return seconds, peak // MEGA, output["details"]["kernel"]


def _family(process: int) -> list[int]:
    """Return `process` and its descendants."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return [process]
    return [process, *(each for child in children for each in _family(int(child)))]


def _proportional(process: int) -> int:
    """Return the proportional set size of `process` in kilobytes; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def _answer(name: str, mode: SolveMode) -> Answer:
    board = peg_solitaire.parse(peg_solitaire.BOARDS[name], name)
    with tempfile.TemporaryDirectory() as folder, open_runtime(Path(folder)) as runtime:
        return peg_solitaire.solve(board, mode, runtime)


def originally(board: list[list[str]], jumps: int = 0) -> Iterator[int]:
    """Yield the number of jumps of each solution, by depth-first search without a table."""
    if sum(row.count("X") for row in board) == 1:
        yield jumps
        return
    for y, row in enumerate(board):
        for x, mark in enumerate(row):
            for right, down in WAYS if mark == "X" else ():
                u, v = x + 2 * right, y + 2 * down
                if not (0 <= v < len(board) and 0 <= u < len(row)):
                    continue
                if board[y + down][x + right] == "X" and board[v][u] == "O":
                    after = [list(each) for each in board]
                    after[y][x] = after[y + down][x + right] = "O"
                    after[v][u] = "X"
                    yield from originally(after, jumps + 1)
