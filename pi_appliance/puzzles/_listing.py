"""A listing of solutions, as result.txt begins: written, and read back where lines stand in their own notation.

"Starting Board" and the board; for each solution "Start Solution", the line, and "End Solution". In a solution, the
first row that is not empty is the line in its notation, unless a puzzle reads its listings by itself. Other text around
that does not count.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import Progress

BOARD, START, END = "Starting Board", "Start Solution", "End Solution"
OFTEN = 50  # solutions between two signs of progress


def parse_listing(
    text: str,
    file: str,
    progress: Progress,
    *,
    board_of: Callable[[str, str], Any],
    line_of: Callable[[Any, str, str], Any],
) -> Sequence[tuple[Any, Sequence[Any]]]:
    """Return each board in TEXT, read by BOARD_OF(drawing, file), with its lines, read by LINE_OF(board, row, file).

    Raises ConfigError; what is wrong within a board or a line is told by its row in FILE.
    """
    found: list[tuple[Any, list[Any]]] = []
    texts = text.splitlines()
    rows = enumerate(texts, 1)
    for number, row in rows:
        if row == BOARD:
            drawing = "\n".join(row for _, row in _until_empty(rows))
            found.append((_placed(partial(board_of, drawing, file), number), []))
        elif row == START:
            if not found:
                raise ConfigError([Problem(file, number, 1, "a solution without a board", f"begin with {BOARD!r}")])
            board, lines = found[-1]
            if not len(lines) % OFTEN:
                progress(number / len(texts), f"{len(lines):,} solutions read")
            at, notation = _solution(rows, number, file)
            lines.append(_placed(partial(line_of, board, notation, file), at - 1))
        elif row == END:
            right = f"write {START!r} above its first row"
            raise ConfigError([Problem(file, number, 1, "this solution does not begin", right)])
    if not found:
        raise ConfigError([Problem(file, 1, 1, "this is no listing", f"begin with {BOARD!r} and the board")])
    return found


def _until_empty(rows: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    for number, row in rows:
        if not row.strip():
            return
        yield number, row


def _solution(rows: Iterator[tuple[int, str]], start: int, file: str) -> tuple[int, str]:
    """Take the rows up to the end of the solution that begins in row START; return the first that is not empty."""
    first: tuple[int, str] | None = None
    for number, row in rows:
        if row == END:
            return first or (number, "")
        if row.strip() and first is None:
            first = number, row
    raise ConfigError([Problem(file, start, 1, "this solution does not end", f"write {END!r} below its last row")])


def _placed(read: Callable[[], Any], above: int) -> Any:
    """Return what READ returns; its problems stand ABOVE rows further down in the file."""
    try:
        return read()
    except ConfigError as error:
        raise ConfigError(
            [Problem(each.file, each.line + above, each.column, each.wrong, each.right) for each in error.problems]
        ) from None
