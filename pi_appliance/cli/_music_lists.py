"""Long lists a window at a time: their options, and how they are printed."""

import dataclasses
import functools
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import click

from pi_appliance.cli._options import Number, json_option
from pi_appliance.model.music import Window
from pi_appliance.reports.as_text import table

T = TypeVar("T")
COUNT = 100
_STEP = 2000  # asked for at a time, so that a long list does not come as one answer


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """Which part of a list is wanted, and how. `start` counts from 0."""

    start: int
    count: int
    whole: bool
    as_json: bool


def list_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of a long list; it gets them as `wish`."""

    @functools.wraps(function)
    def wished(*, start: int, count: int, whole: bool, as_json: bool, **more: Any) -> None:
        function(wish=Wish(start - 1, count, whole, as_json), **more)

    made: Callable[..., None] = wished
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


_OPTIONS = (
    click.option("--start", type=Number(min=1), default=1, metavar="N", help="Begin with the Nth."),
    click.option("--count", type=Number(1, 10_000), default=COUNT, show_default=True, metavar="N", help="How many."),
    click.option("--all", "whole", is_flag=True, help="From --start to the end."),
    json_option,
)


async def tell(
    wish: Wish,
    fetch: Callable[[int, int], Awaitable[Window[T]]],
    head: Sequence[str],
    row: Callable[[int, T], Sequence[str]],
    *,
    empty: str,
) -> None:
    """Print the part of a list that is wished: as JSON, or as a table under HEAD, EMPTY where there is nothing.

    FETCH gives a window of the list by start and count; ROW what to print of an item with its number, from 1. It is
    printed as it comes, for a library may be bigger than the memory of a small machine.
    """
    paper: _Paper[T] = _Json() if wish.as_json else _Table(head, row, empty)
    start, more = wish.start, True
    while more:
        window = await fetch(start, _STEP if wish.whole else wish.count)
        paper.put(window)
        start += len(window.items)
        more = wish.whole and window.more and bool(window.items)
    paper.end(wish.start, start, window)


class _Paper(Protocol[T]):
    def put(self, window: Window[T]) -> None:
        """Print the next items."""

    def end(self, start: int, end: int, last: Window[T]) -> None:
        """Print what is to be said at the end: it was from START to END, and LAST came last."""


class _Json(Generic[T]):
    def __init__(self) -> None:
        self._before = '{"items": ['

    def put(self, window: Window[T]) -> None:
        for item in window.items:
            values = dataclasses.asdict(item)  # type: ignore[call-overload] # all are data
            click.echo(f"{self._before}{json.dumps(values)}", nl=False)
            self._before = ", "

    def end(self, start: int, end: int, last: Window[T]) -> None:
        length = last.length if last.more or last.length is not None or end == start else end
        values = json.dumps({"start": start, "length": length, "more": last.more})
        click.echo(f"{self._before.rstrip(', ')}], {values[1:]}")


class _Table(Generic[T]):
    def __init__(self, head: Sequence[str], row: Callable[[int, T], Sequence[str]], empty: str) -> None:
        self._head, self._row, self._empty = head, row, empty
        self._begun = False

    def put(self, window: Window[T]) -> None:
        if not window.items:
            return
        rows = [self._row(number, item) for number, item in enumerate(window.items, start=window.start + 1)]
        text = table(self._head, rows)
        click.echo(text.partition("\n")[2] if self._begun else text)
        self._begun = True

    def end(self, start: int, end: int, last: Window[T]) -> None:
        if last.more and last.items:
            left = f"{last.length - end:,} more" if last.length is not None else "more"
            click.echo(f"… {left}; --start {end + 1}")
        elif not self._begun:
            click.echo(f"the list ends before {start + 1}" if start and last.length != 0 else self._empty)
