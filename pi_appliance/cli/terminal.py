"""Data to text for a terminal: tables that line up, and one line for one run."""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from pi_appliance.config import units
from pi_appliance.config.loader import find_config
from pi_appliance.errors import ConfigNotFound
from pi_appliance.storage.model import Outcome, Run


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return HEAD and ROWS as columns that line up; the last one may be as long as it likes."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def format_instant(when: datetime | None, zone: ZoneInfo) -> str:
    """Return `when` in `zone` with its weekday, to the minute, or a dash."""
    return units.format_time(when, zone) if when else "-"


def format_slot(at: datetime, zone: ZoneInfo) -> str:
    """Return the slot AT in ZONE, with its weekday: to the minute, or to the second where it has some."""
    return format_instant(at, zone) + (f":{at.second:02}" if at.second else "")


def format_elapsed(elapsed: timedelta | None) -> str:
    """Return `elapsed` as text, or a dash."""
    return "-" if elapsed is None else units.format_elapsed(elapsed)


def describe_outcome(run: Run | None) -> str:
    """Return how RUN ended in one word, or how far it is."""
    if run is None:
        return "-"
    if run.outcome is None:
        return "running" if run.progress is None else f"running {run.progress:.0%}"
    return str(run.outcome)


def describe_run(run: Run) -> str:
    """Return RUN in one line."""
    how = describe_outcome(run)
    took = f" in {format_elapsed(run.duration)}" if run.attempts else ""
    tries = f" at try {run.attempts}" if run.attempts > 1 else ""
    return f"{run.job}: {how}{took}{tries}: {run.summary or run.status_text or 'nothing to say'}"


def format_runs(runs: Iterable[Run], zone: ZoneInfo) -> str:
    """Return RUNS as a table, a line each."""
    return format_table(
        ("RUN", "JOB", "STARTED", "BY", "TOOK", "OUTCOME", "SUMMARY"),
        (
            (
                str(run.id),
                run.job,
                format_instant(run.started, zone),
                str(run.trigger),
                format_elapsed(run.duration) if run.attempts else "-",
                describe_outcome(run),
                run.summary or run.status_text,
            )
            for run in runs
        ),
    )


def is_good(run: Run) -> bool:
    """Say whether RUN ended as it should: it did its work, or was meant not to."""
    return run.outcome in (Outcome.SUCCEEDED, Outcome.SKIPPED)


Command = Callable[..., Any]


class Number(click.IntRange):
    """A whole number in a range; click's own type would call itself an "integer range" in messages."""

    name = "whole number"


def _found(_: click.Context, __: click.Parameter, value: Path | None) -> Path:
    return find_config(value, os.environ)


def _found_or_not(_: click.Context, __: click.Parameter, value: Path | None) -> Path | ConfigNotFound:
    try:
        return find_config(value, os.environ)
    except ConfigNotFound as error:
        return error


def config_option(command: Command) -> Command:
    """Add the parameter `config` to `command`: the configuration file, searched for if none is given."""
    return _config_option(_found)(command)


def optional_config_option(command: Command) -> Command:
    """Add the same for a command that works without a file: `config` is then the error that says why there is none."""
    return _config_option(_found_or_not)(command)


def _config_option(callback: Command) -> Callable[[Command], Command]:
    return click.option(
        "-c",
        "--config",
        type=click.Path(path_type=Path),
        callback=callback,
        metavar="FILE",
        help="The configuration. Else $PI_APPLIANCE_CONFIG, or appliance.yaml in config/, here, /etc/pi-appliance/.",
    )


def json_option(command: Command) -> Command:
    """Add the parameter `as_json` to `command`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)


_BAR = 24


class ProgressLine:
    """A progress bar on stderr, redrawn in place. It prints nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        self._watched = sys.stderr is not None and sys.stderr.isatty()  # None: closed before we began
        self._drawn = False
        self.note = ""
        """The newest text, also if it is not printed."""

    def show(self, done: float | None, note: str) -> None:
        """Draw the fraction `done`, 0 to 1, or None if it is not known, and the text `note`."""
        self.note = note
        if not self._watched:
            return
        filled = round(_BAR * min(1.0, done or 0.0))
        bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] {done:4.0%} " if done is not None else ""
        line = f"{bar}{note}"[: shutil.get_terminal_size().columns - 1]
        self._drawn = True  # first, as Ctrl-C may come while it is drawn
        click.echo(f"\r\x1b[K{line}", err=True, nl=False)

    def clear(self) -> None:
        """Clear the line."""
        if self._drawn:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._drawn = False
