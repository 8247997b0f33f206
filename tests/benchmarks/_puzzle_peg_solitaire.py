"""Peg solitaire against the way of the original: try every jump again and again, on boards as lists of rows.

No solver that counts is known on a package index; the numbers others publish for the full board stand in the docs.
"""

import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pi_appliance.puzzles import Answer, Wish, peg_solitaire
from pi_appliance.system.bench import open_bench

WAYS = ((1, 0), (-1, 0), (0, 1), (0, -1))
MEGA = 1024


def rows() -> Iterator[tuple[str, str, str, str]]:
    """Yield (what, ours, peer, ratio), each measured here and now."""
    for name in ("plus", "fireplace"):
        drawing = peg_solitaire.BOARDS[name]
        begun = time.perf_counter()
        theirs = sum(1 for _ in originally([list(row) for row in drawing.splitlines()]))
        between = time.perf_counter()
        ours = sum(1 for _ in _answer(name, Wish.ALL).lines)
        ended = time.perf_counter()
        assert ours == theirs
        yield (
            f"peg {name}, all solutions",
            f"{ended - between:.3f} s",
            f"{between - begun:.3f} s (original)",
            f"{(between - begun) / (ended - between):.0f}x",
        )
    begun = time.perf_counter()
    answer = _answer("full", Wish.COUNT)
    seconds = time.perf_counter() - begun
    # Of this process; each hand of it shares nearly all of that, and has some MB of its own.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // MEGA
    assert answer.count == 81_723_294_080_159_936
    yield f"peg full, count ({answer.facts['kernel']})", f"{seconds:.1f} s, {memory} MB", "never (original)", "-"


def _answer(name: str, wish: Wish) -> Answer:
    board = peg_solitaire.parse(peg_solitaire.BOARDS[name], name)
    with tempfile.TemporaryDirectory() as folder, open_bench(Path(folder)) as work:
        return peg_solitaire.solve(board, wish, work)


def originally(board: list[list[str]], jumps: int = 0) -> Iterator[int]:
    """Yield the number of jumps of each solution, depth first, on rows of marks, nothing remembered."""
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
