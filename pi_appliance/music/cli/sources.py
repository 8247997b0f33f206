"""SOURCE… of a command: what is to be played, in the forms of music/sources.py, or by artist, album and genre."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from pi_appliance.config.loader import load_config
from pi_appliance.config.model import Config
from pi_appliance.errors import ApplianceError, Refused, suggest
from pi_appliance.music.cli.session import stations
from pi_appliance.music.model import LibraryFilter, Source, Uri
from pi_appliance.music.sources import FORMS, parse_source
from pi_appliance.music.stations.service import resolve_source
from pi_appliance.system.http import is_web_address


def station_names(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the stations whose name begins with BEGUN, for the shell; none where the configuration is wrong."""
    try:
        config: Path = context.params["config"]
        names = [station.name for station in stations(load_config(config)).all()]
    except (ApplianceError, LookupError, OSError):
        return []
    return [CompletionItem(name) for name in names if name.casefold().startswith(begun.casefold())]


def wanted_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command --artist, --album and --genre; it gets them as `wanted`."""

    @functools.wraps(function)
    def with_wanted(*, artist: str, album: str, genre: str, **more: Any) -> None:
        function(wanted=LibraryFilter(artist=artist, album=album, genre=genre), **more)

    for name, of in (("genre", "genre"), ("album", "album"), ("artist", "artist")):
        option = click.option(f"--{name}", default="", metavar="NAME", help=f"Only what is of this {of}.")
        option(with_wanted)
    return with_wanted


def source_arguments(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command SOURCE… and the options of wanted_options; it gets `words` and `wanted`."""
    argument = click.argument("words", nargs=-1, metavar="SOURCE...", shell_complete=station_names)
    return argument(wanted_options(function))


def read(settings: Config, words: Sequence[str], wanted: LibraryFilter) -> list[Source]:
    """Return what WORDS name, and what is WANTED. Raises UnknownName, UsageError if that is nothing."""
    by_tags = [wanted] if wanted != LibraryFilter() else []
    if not words and not by_tags:
        raise click.UsageError(f"nothing is named to play; write {FORMS}")
    known = stations(settings)
    try:
        return [*(resolve_source(known, parse_source(each, known.all())) for each in words), *by_tags]
    except ValueError as error:
        raise click.UsageError(str(error)) from None


@contextlib.contextmanager
def hints(settings: Config, source: Source) -> Iterator[None]:
    """Where SOURCE, a word, turns out to be nothing: say which station is meant perhaps, or how to find it."""
    try:
        yield
    except Refused as error:
        if not isinstance(source, Uri) or source.title or is_web_address(source.uri):
            raise
        near = suggest(source.uri, [each.name for each in stations(settings).all()])
        todo = near.replace("mean", "mean the station") if near.endswith("?") else "find it: pi-appliance music search"
        raise Refused(f"{error}; {todo}") from None
