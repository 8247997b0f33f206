"""pi-appliance config: check, describe and begin a configuration."""

import json
import os
import shlex
from collections.abc import Sized
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from pi_appliance.cli.terminal import config_option
from pi_appliance.config import CONFIG_NAME, loader, secrets
from pi_appliance.config import schema as describe
from pi_appliance.config.secrets import secret_names
from pi_appliance.errors import Refused
from pi_appliance.music.stations.service import load_stations
from pi_appliance.scheduling import crontab
from pi_appliance.system import clock, files


@click.group("config", short_help="Check, describe or begin the configuration.")
def command() -> None:
    """Check, describe or begin the configuration."""


@command.command("check", short_help="Say everything that is wrong with it.")
@config_option
def check(config: Path) -> None:
    """Read the configuration and everything it names, and say all that is wrong with it.

    A warning is something that the next runs would stumble over though the file is good: a schedule that does not mean
    what it looks like, lines to post that are not there, keys that a network or a notice needs, a job that cron knows
    nothing of.

    \b
    Exit status:
      0  it can be used, warnings or not
      2  it cannot; every problem is listed as file:line:column
    """
    read = loader.load_config(config)
    stations = load_stations(read.stations)
    known = secrets.load(read.path, os.environ, secret_names(read))
    loader.validate_notifiers(loader.read_yaml(read.path), read, known)
    stumbles = loader.config_warnings(read, known, clock.now())
    for problem in stumbles:
        click.echo(f"{problem} (warning)", err=True)
    for note in crontab.missing_entry_notes(read):
        click.echo(f"{loader.display_path(read.path)}: {note} (warning)", err=True)
    counts = (_count(read.jobs, "job"), _count(read.networks, "network"), _count(stations, "station"))
    verdict = "it can be used, but see above" if stumbles else "all well"
    click.echo(f"{loader.display_path(read.path)}: {', '.join(counts)}: {verdict}")


def _count(things: Sized, word: str) -> str:
    return f"{len(things)} {word}{'' if len(things) == 1 else 's'}"


@command.command("schema", short_help="Print its JSON Schema, so that an editor completes it.")
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


@command.command("keys", short_help="Print every key, its default and its meaning.")
def keys() -> None:
    """Print every key of the configuration as Markdown tables.

    \b
    Exit status:
      0  always
    """
    click.echo(describe.markdown_tables(), nl=False)


@command.command("init", short_help="Write a commented configuration to begin with.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path("config"))
def init(folder: Path) -> None:
    """Write appliance.yaml and the files it names into FOLDER (config, if none is named). Nothing is overwritten.

    \b
    Exit status:
      0  the files are there
      1  some were there before; nothing was written
    """
    starter = resources.files("pi_appliance.starter")
    names = sorted(_below(starter))
    there = [name for name in names if (folder / name).exists()]
    if there:
        raise Refused(f"{folder / there[0]} is there already and stays as it is; name another folder")
    for name in names:
        path = folder / name
        files.make_directory(path.parent)
        files.write_file(path, starter.joinpath(name).read_bytes())
    file = folder / CONFIG_NAME
    click.echo(f"wrote {len(names)} files; now edit {file}, then: pi-appliance up -c {shlex.quote(str(file))}")


def _below(folder: Traversable, prefix: str = "") -> list[str]:
    names: list[str] = []
    for item in folder.iterdir():
        if item.is_dir():
            if not item.name.startswith("__"):
                names += _below(item, f"{prefix}{item.name}/")
        elif not item.name.endswith((".py", ".pyc")) and item.name != secrets.NAME:
            names.append(prefix + item.name)
    return names
