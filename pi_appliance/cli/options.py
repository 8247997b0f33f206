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
    """A whole number; of what is none, click itself would say that it is "no valid integer range"."""

    name = "whole number"


def _found(_: click.Context, __: click.Parameter, value: Path | None) -> Path:
    return find_config(value, os.environ)


def _found_or_not(_: click.Context, __: click.Parameter, value: Path | None) -> Path | ConfigNotFound:
    try:
        return find_config(value, os.environ)
    except ConfigNotFound as error:
        return error


def config_option(command: Command) -> Command:
    """Give COMMAND the parameter `config`: the configuration file, found where none is named."""
    return _config_option(_found)(command)


def optional_config_option(command: Command) -> Command:
    """As `config_option`, for a command that goes on without: `config` is then the error that says why."""
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
    """Give COMMAND the parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)
