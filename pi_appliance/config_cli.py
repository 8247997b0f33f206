"""pi-appliance config: check, describe and create a configuration."""

import asyncio
import json
import os
import shlex
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypedDict

import click

from pi_appliance.cli.client import config_option, json_option, print_json, show_result
from pi_appliance.config import CONFIG_NAME, loader, secrets, warnings
from pi_appliance.config import schema as describe
from pi_appliance.config.options import Config
from pi_appliance.config.secrets import secret_names
from pi_appliance.config.units import pluralize
from pi_appliance.errors import ConfigError, Problem, Refused
from pi_appliance.music.alarms.editor import missing_sources
from pi_appliance.music.mpd.proxy import password_problem as proxy_problem
from pi_appliance.music.radio.stations import load_stations
from pi_appliance.operations import Values
from pi_appliance.scheduling import crontab
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.system import clock, files
from pi_appliance.system.files import display_path


@click.group("config", short_help="Check, describe or create the configuration.")
def command() -> None:
    """Check, describe or create the configuration."""


@command.command("check", short_help="Report all problems of the configuration.")
@json_option
@config_option
def check(as_json: bool, config: Path) -> None:
    """Read the configuration and the files that it names, and report all problems.

    A warning is a problem of future runs although the file is valid: a misleading schedule, a
    missing file of lines, a missing key of a network or notifier, a station or playlist of an alarm
    that does not exist, or a job without its entry in the crontab.

    \b
    Exit status:
      0  it can be used, warnings or not
      2  it cannot; every problem is listed as file:line:column
    """
    if as_json:
        found = find_problems(config)
        print_json(found)
        raise SystemExit(ConfigError.exit_status if found["problems"] else 0)
    result = check_config(config)
    for problem in result["warnings"]:
        click.echo(f"{problem} (warning)", err=True)
    verdict = "valid, with warnings" if result["warnings"] else "all well"
    click.echo(f"{result['config']}: {result['content']}: {verdict}")


class ConfigCheckJson(TypedDict):
    """The problems of a configuration, and its content."""

    config: str
    content: str
    problems: list[Problem]
    warnings: list[Problem]


def check_config(path: Path) -> ConfigCheckJson:
    """Return the warnings about the configuration `path`, and its content. Raises ConfigError."""
    config = loader.load_config(path)
    stations = load_stations(config.stations)
    known = secrets.load(config.path, os.environ, secret_names(config))
    tree = loader.read_yaml(config.path)
    warnings.validate_notifiers(tree, config, known)
    unsafe = {
        "web": secrets.page_problem(config, known.get("WEB_PASSWORD", "")),
        "mpd-proxy": proxy_problem(config, known.get("MPD_PROXY_PASSWORD", "")),
    }
    if any(unsafe.values()):
        raise ConfigError([tree.problem((key, "host"), *each.split(": ", 1)) for key, each in unsafe.items() if each])
    name = display_path(config.path)
    counts = (
        pluralize(len(config.jobs), "job"),
        pluralize(len(config.networks), "network"),
        pluralize(len(stations), "station"),
    )
    return {
        "config": name,
        "content": ", ".join(counts),
        "problems": [],
        "warnings": [
            *warnings.config_warnings(tree, config, known, clock.now()),
            *missing_sources(tree, config, known, stations),
            *(Problem(name, 0, 0, *note.split("; ", 1)) for note in _notes(config, known)),
        ],
    }


def _notes(config: Config, known: Mapping[str, str]) -> list[str]:
    setup = [f"{secrets.NOT_SET_UP}; run: pi-appliance qr"] if secrets.needs_setup(config, known) else []
    return [*setup, *crontab.missing_entry_notes(config)]


def find_problems(path: Path) -> ConfigCheckJson:
    """Return the problems of the configuration `path`; its warnings and its content without any."""
    try:
        return check_config(path)
    except ConfigError as error:
        name = display_path(path)
        problems = [*error.problems] or [Problem(name, 0, 0, str(error))]
        return {"config": name, "content": "", "problems": problems, "warnings": []}


async def check_file(services: Services, _: Values) -> ConfigCheckJson:
    """Return the problems and warnings of the file that the daemon reads."""
    return await asyncio.to_thread(find_problems, services.appliance.config.path)


@command.command("schema", short_help="Print the JSON Schema, for completion in an editor.")
def schema() -> None:
    """Print the JSON Schema of the configuration.

    In an editor with the YAML language server, put this on the first line of the file:

    \b
      # yaml-language-server: $schema=appliance.schema.json

    \b
    Exit status:
      0  always
    """
    click.echo(json.dumps(describe.json_schema(), indent=2))


class KeyJson(TypedDict):
    """A key of the configuration. Without a value to show, its default is null."""

    key: str
    required: bool
    default: str | None
    description: str


class KeySectionJson(TypedDict):
    """The keys of a section of the configuration, or of the options of a plug-in."""

    section: str
    keys: list[KeyJson]


@command.command("keys", short_help="Print all keys, their defaults and meanings.")
@json_option
def keys(as_json: bool) -> None:
    """Print every key of the configuration as Markdown tables.

    \b
    Exit status:
      0  always
    """
    sections: list[KeySectionJson] = [
        {"section": title, "keys": [_key_json(*row) for row in describe.option_rows(cls)]}
        for title, cls in describe.all_sections()
    ]
    show_result(sections, describe.markdown_tables(), as_json=as_json)


def _key_json(key: str, default: str | None, description: str) -> KeyJson:
    shown = None if default == "-" else default
    return {"key": key, "required": default is None, "default": shown, "description": description}


class NewConfigJson(TypedDict):
    """A new configuration, and all files that were written."""

    config: str
    files: list[str]


@command.command("init", short_help="Create a commented configuration.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("config"))
@json_option
def init(folder: Path, as_json: bool) -> None:
    """Write appliance.yaml and its files into FOLDER, by default config, without overwriting.

    \b
    Exit status:
      0  the files are there
      1  a file existed already; nothing was written
    """
    starter = resources.files("pi_appliance.starter_config")
    names = sorted(_list_files(starter))
    existing = [name for name in names if (folder / name).exists()]
    if existing:
        raise Refused(f"{folder / existing[0]} exists already and stays unchanged; name another folder")
    for name in names:
        path = folder / name
        files.make_directory(path.parent)
        files.write_file(path, starter.joinpath(name).read_bytes())
    file = folder / CONFIG_NAME
    result: NewConfigJson = {"config": str(file), "files": [str(folder / name) for name in names]}
    next_steps = f"now edit {file}, then: pi-appliance up -c {shlex.quote(str(file))}"
    show_result(result, f"wrote {len(names)} files; {next_steps}\n", as_json=as_json)


def _list_files(folder: Traversable, prefix: str = "") -> list[str]:
    names: list[str] = []
    for item in folder.iterdir():
        if item.is_dir():
            if not item.name.startswith("__"):
                names += _list_files(item, f"{prefix}{item.name}/")
        elif not item.name.endswith((".py", ".pyc")) and item.name != secrets.NAME:
            names.append(prefix + item.name)
    return names
