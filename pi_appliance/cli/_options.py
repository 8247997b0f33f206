"""Options that many commands share."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pi_appliance.config.load import find

Command = Callable[..., Any]


def _found(_: click.Context, __: click.Parameter, value: Path | None) -> Path:
    return find(value, os.environ)


def config_option(command: Command) -> Command:
    """Give COMMAND the parameter `config`: the configuration file, found where none is named."""
    return click.option(
        "-c",
        "--config",
        type=click.Path(path_type=Path),
        callback=_found,
        metavar="FILE",
        help="The configuration. Else $PI_APPLIANCE_CONFIG, or appliance.yaml in config/, here, /etc/pi-appliance/.",
    )(command)


def json_option(command: Command) -> Command:
    """Give COMMAND the parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)
