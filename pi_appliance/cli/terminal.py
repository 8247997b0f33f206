"""Times and progress for a terminal, and options that many commands share."""

import getpass
import logging
import os
import shutil
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from pi_appliance.cli import client
from pi_appliance.config import find_config, units
from pi_appliance.errors import ConfigNotFound


class VisibleFormatter(logging.Formatter):
    """Format log records without characters that a terminal would obey."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message of `record`."""
        return client.visible(super().format(record))


def format_instant(when: datetime | None, zone: ZoneInfo) -> str:
    """Return `when` in `zone` with its weekday, to the minute, or a dash."""
    return units.format_time(when, zone) if when else "-"


def format_elapsed(elapsed: timedelta | None) -> str:
    """Return `elapsed` as text, or a dash."""
    return "-" if elapsed is None else units.format_elapsed(elapsed)


Command = Callable[..., Any]


class Number(click.IntRange):
    """A whole number in a range. The type of click calls itself an "integer range"."""

    name = "whole number"


def config_option(command: Command) -> Command:
    """Add the parameter `config` to `command`: the configuration file that it addresses."""

    def find_path(_: click.Context, __: click.Parameter, value: Path | None) -> Path:
        return client.find_addressed_config(value)

    return _config_option(find_path, "that of the running appliance, ")(command)


def optional_config_option(command: Command) -> Command:
    """Do the same as `config_option`, but `config` is a `ConfigNotFound` if there is no file."""

    def find_path(_: click.Context, __: click.Parameter, value: Path | None) -> Path | ConfigNotFound:
        try:
            return client.find_addressed_config(value)
        except ConfigNotFound as error:
            return error

    return _config_option(find_path, "that of the running appliance, ")(command)


def local_config_option(command: Command) -> Command:
    """Add the parameter `config` to a `command` that does not ask a running daemon for it."""

    def find_path(_: click.Context, __: click.Parameter, value: Path | None) -> Path:
        return find_config(value, os.environ)

    return _config_option(find_path, "")(command)


def _config_option(callback: Command, running: str) -> Callable[[Command], Command]:
    return click.option(
        "-c",
        "--config",
        type=click.Path(path_type=Path),
        callback=callback,
        metavar="FILE",
        help=f"The configuration. Default: $PI_APPLIANCE_CONFIG, {running}or appliance.yaml in config/, here, "
        "/etc/pi-appliance/.",
    )


def json_option(command: Command) -> Command:
    """Add the parameter `as_json` to `command`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)


_BAR = 24


class ProgressLine:
    """A progress bar on stderr, redrawn in place. It prints nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()  # None: closed before the start
        self._is_shown = False
        self.note = ""
        """The latest text, even if it was not printed."""

    def show(self, done: float | None, note: str) -> None:
        """Draw the fraction `done`, 0 to 1, or None if it is not known, and the text `note`."""
        self.note = note
        if not self._is_terminal:
            return
        filled = round(_BAR * min(1.0, done or 0.0))
        bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] {done:4.0%} " if done is not None else ""
        line = f"{bar}{client.printable(note)}"[: shutil.get_terminal_size().columns - 1]
        self._is_shown = True  # first, as Ctrl-C may come while it is drawn
        click.echo(f"\r\x1b[K{line}", err=True, nl=False)

    def clear(self) -> None:
        """Clear the line."""
        if self._is_shown:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._is_shown = False


def read_secret(prompt: str) -> str:
    """Return a line of standard input, which is not shown while it is typed. Raises EOFError."""
    return getpass.getpass(prompt) if sys.stdin.isatty() else read_line(prompt)


def read_line(prompt: str) -> str:
    """Return a line of standard input, after `prompt` on standard error. Raises EOFError."""
    click.echo(prompt, nl=False, err=True)
    line = sys.stdin.readline()
    if not sys.stdin.isatty():
        click.echo(err=True)  # there was no Enter key to end the line
    if not line:
        raise EOFError
    return line
