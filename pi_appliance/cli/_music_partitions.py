"""pi-appliance music partitions: players within the player, and of which one the commands speak."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import click

from pi_appliance.cli._music_group import button, lists
from pi_appliance.cli._music_session import DEFAULT, ask, partition_of, remember_partition
from pi_appliance.cli._music_text import plain
from pi_appliance.cli._options import json_option
from pi_appliance.config.load import load
from pi_appliance.errors import UnknownName
from pi_appliance.model.music import Partition
from pi_appliance.ports_player import Player
from pi_appliance.reports.as_text import table

_partitions = lists("partitions", "Players within the player: a queue, a volume and outputs of their own.")


@button("list", "List the partitions.", group=_partitions)
@json_option
def list_(config: Path, as_json: bool) -> None:
    """List the partitions of the player; > marks the one that these commands speak of."""
    settings = load(config)
    found = ask(settings, lambda player: player.partitions(), anywhere=True)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(each) for each in found]))
        return
    used = partition_of(settings)
    click.echo(table((" ", "NAME"), [(">" if each.name == used else " ", plain(each.name)) for each in found]))


@button("new", "Make a partition.", group=_partitions)
@click.argument("name")
def new(config: Path, name: str) -> None:
    """Make the partition NAME. It has no outputs yet: move-output gives it some."""
    ask(load(config), lambda player: player.new_partition(name), anywhere=True)
    click.echo(f"made the partition {plain(name)}")


@button("use", "Speak of another partition from now on.", group=_partitions)
@click.argument("name")
def use(config: Path, name: str) -> None:
    """Let all commands of `music` speak of the partition NAME from now on; `default` is the one there always is."""
    settings = load(config)
    if name != DEFAULT:
        _require(ask(settings, lambda player: player.partitions(), anywhere=True), name)
    remember_partition(settings, name)
    click.echo(f"the commands speak of the partition {plain(name)} now")


@button("delete", "Delete a partition.", group=_partitions)
@click.argument("name")
def delete(config: Path, name: str) -> None:
    """Delete the partition NAME, which must have no outputs. If the commands speak of it, they go back to default."""
    settings = load(config)
    ask(settings, lambda player: player.delete_partition(name), anywhere=True)
    if partition_of(settings) == name:
        remember_partition(settings, DEFAULT)
    click.echo(f"deleted the partition {plain(name)}")


@button("move-output", "Move an output into a partition.", group=_partitions)
@click.argument("output")
@click.option("--to", "name", metavar="PARTITION", help="Into this one; else into the one the commands speak of.")
def move_output(config: Path, output: str, name: str | None) -> None:
    """Move the output called OUTPUT, from whichever partition it is in."""
    settings = load(config)
    target = partition_of(settings) if name is None else name

    async def moved(player: Player) -> None:
        _require(await player.partitions(), target)
        await player.use_partition(target)
        await player.move_output(output)

    ask(settings, moved, anywhere=True)
    click.echo(f"{plain(output)} is in the partition {plain(target)} now")


def _require(known: Sequence[Partition], name: str) -> None:
    """Raise UnknownName if NAME is none of KNOWN."""
    names = [each.name for each in known]
    if name not in names:
        raise UnknownName("partition", name, names)
