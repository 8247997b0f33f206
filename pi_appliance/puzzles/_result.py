"""What a report says of one board as text: the original's layout first, then what is known of the solutions."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from pi_appliance.puzzles import Puzzle, SolveResult, Table
from pi_appliance.puzzles._listing import BOARD, END, START

KEPT = 1_000  # lines kept in memory, of those listed, for who draws or notates them afterwards
OFTEN = 50  # solutions between two signs of life
NO_PROGRESS: Callable[[int], object] = lambda _: None  # noqa: E731 - a default that says what it is


class ListedSolutions(NamedTuple):
    """How many solutions were listed, and the first of them."""

    number: int
    solutions: list[Any]


def list_solutions(
    puzzle: Puzzle,
    board: Any,
    lines: Iterable[Any],
    limit: int,
    write: Callable[[str], object],
    sign: Callable[[int], object] = NO_PROGRESS,
) -> Iterator[ListedSolutions]:
    """Write BOARD, then at most LIMIT of LINES as they are found; yield what is listed by then, after each.

    SIGN is told how many there are now and then; it may raise, as LINES may: what is written by then is whole.
    """
    write(f"{BOARD}\n{puzzle.render(board)}\n")
    kept: list[Any] = []
    yield ListedSolutions(0, kept)
    for number, line in enumerate(islice(lines, limit), 1):
        drawn = puzzle.render_solution(board, line)
        write(f"{START}\n\n{drawn}{'' if drawn.endswith(chr(10)) else chr(10)}{END}\n\n")
        if number <= KEPT:
            kept.append(line)
        yield ListedSolutions(number, kept)
        if not number % OFTEN:
            sign(number)


def known(puzzle: Puzzle, board: Any, answer: SolveResult, listed: int) -> str:
    """Return what is known of BOARD by ANSWER, a row each; LISTED solutions stand above."""
    rows = {
        "Board": puzzle.describe(board),
        "Solutions": solutions(answer, listed),
        "Solutions listed": f"{listed:,}",
        f"{puzzle.NODE_UNIT.capitalize()} tried": f"{answer.nodes_searched():,}",
    }
    return rendered(rows) + facts_and_tables(answer)


def solutions(answer: SolveResult, listed: int) -> str:
    """Return how many solutions there are, in words."""
    if answer.proof:
        return f"none, proven by {answer.proof} ({answer.reason})"
    if answer.count is not None:
        return f"{answer.count:,}"
    return f"at least {max(1, listed):,}; how many there are was not counted"


def facts_and_tables(answer: SolveResult) -> str:
    """Return what else ANSWER knows: its facts, a row each, and its tables."""
    tables = "".join(f"\n{render_table(table)}" for table in answer.tables)
    return rendered(told_facts(answer.details)) + tables + ("\n" if tables else "")


def told_facts(facts: Mapping[str, int | float | str]) -> dict[str, str]:
    """Return FACTS as a person reads them; how it was computed comes last."""
    in_order = sorted(facts.items(), key=lambda fact: fact[0] == "kernel")
    return {label(name): spoken(value) for name, value in in_order}


def rendered(rows: Mapping[str, str]) -> str:
    """Return ROWS as `Name: value`, a line each."""
    return "".join(f"{name}: {value}\n" for name, value in rows.items())


def label(name: str) -> str:
    """Return NAME, in kebab-case, as a person writes it."""
    return name.replace("_", " ").capitalize()


def spoken(value: float | str) -> str:
    """Return VALUE as a person reads it."""
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.4g}" if abs(value) < 1_000 else f"{value:,.0f}"
    return str(value)


def render_table(table: Table) -> str:
    """Draw TABLE under its title: numbers to the right, words to the left."""
    rows = [table.headers, *(tuple(map(spoken, row)) for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [all(not isinstance(row[number], str) for row in table.rows) for number in range(len(widths))]
    drawn = (
        "  ".join(
            cell.rjust(width) if to_the_right else cell.ljust(width)
            for cell, width, to_the_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    )
    return f"{table.title}\n" + "".join(f"{row}\n" for row in drawn)
