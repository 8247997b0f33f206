"""Options that many commands share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pi_appliance.config.loader import find_config
from pi_appliance.errors import ConfigNotFound

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
