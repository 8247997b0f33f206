"""Long lists a window at a time: their options, how they are read, and how they are printed."""

import dataclasses
import functools
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import click

from pi_appliance.cli._options import json_option
from pi_appliance.model.music import Window
from pi_appliance.reports.as_text import table

T = TypeVar("T")
COUNT = 100
_STEP = 500  # asked for at a time, so that a long list does not come as one answer


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
    click.option("--start", type=click.IntRange(min=1), default=1, metavar="N", help="Begin with the Nth."),
    click.option(
        "--count", type=click.IntRange(1, 10_000), default=COUNT, show_default=True, metavar="N", help="How many."
    ),
    click.option("--all", "whole", is_flag=True, help="From --start to the end."),
    json_option,
)


async def read(wish: Wish, fetch: Callable[[int, int], Awaitable[Window[T]]]) -> Window[T]:
    """Return the part of a list that is wished. FETCH gives a window of it by start and count."""
    if not wish.whole:
        return await fetch(wish.start, wish.count)
    items: list[T] = []
    while True:
        window = await fetch(wish.start + len(items), _STEP)
        items += window.items
        if not window.more or not window.items:
            return Window(items=items, start=wish.start, length=window.length, more=False)


def show(
    wish: Wish, window: Window[T], head: Sequence[str], row: Callable[[int, T], Sequence[str]], *, empty: str
) -> None:
    """Print WINDOW: as JSON, or as a table under HEAD. ROW gets each item with its number, from 1."""
    end = window.start + len(window.items)
    if wish.as_json:
        items = [dataclasses.asdict(item) for item in window.items]  # type: ignore[call-overload] # all are data
        values = {"items": items, "start": window.start, "length": window.length, "more": window.more}
        click.echo(json.dumps(values))
    elif window.items:
        numbered = enumerate(window.items, start=window.start + 1)
        click.echo(table(head, [tuple(row(number, item)) for number, item in numbered]))
        if window.more:
            left = f"{window.length - end:,} more" if window.length is not None else "more"
            click.echo(f"… {left}; --start {end + 1}")
    else:
        click.echo(f"the list ends before {window.start + 1}" if window.start and window.length != 0 else empty)
