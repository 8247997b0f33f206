"""pi-appliance music outputs: where sound comes out."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import click

from pi_appliance.cli._music_group import button, lists
from pi_appliance.cli._music_session import ask
from pi_appliance.cli._music_text import plain
from pi_appliance.cli._options import json_option
from pi_appliance.config.load import load
from pi_appliance.errors import UnknownName
from pi_appliance.model.music import Output
from pi_appliance.ports_player import Player
from pi_appliance.reports.as_text import table

_outputs = lists("outputs", "Where sound comes out.")
_HEAD = ("N", "NAME", "SOUNDS", "PLUGIN")


@button("list", "List where sound comes out.", group=_outputs)
@json_option
def list_outputs(config: Path, as_json: bool) -> None:
    """List the outputs of the player, and which of them sound."""
    _tell(ask(load(config), lambda player: player.outputs()), as_json=as_json)


@button("on", "Let an output sound.", group=_outputs)
@click.argument("name", nargs=-1, required=True)
def on(config: Path, name: tuple[str, ...]) -> None:
    """Let the output NAME sound; its number in the list will do too."""
    _switch(config, " ".join(name), on=True)


@button("off", "Silence an output.", group=_outputs)
@click.argument("name", nargs=-1, required=True)
def off(config: Path, name: tuple[str, ...]) -> None:
    """Silence the output NAME; its number in the list will do too."""
    _switch(config, " ".join(name), on=False)


def _switch(config: Path, name: str, *, on: bool) -> None:
    async def switched(player: Player) -> Sequence[Output]:
        await player.set_output(_named(await player.outputs(), name).id, on)
        return await player.outputs()

    _tell(ask(load(config), switched), as_json=False)


def _named(known: Sequence[Output], name: str) -> Output:
    """Return the output called NAME, capitals aside, else the one of that number from 1. Raises UnknownName."""
    found = [each for each in known if each.name.casefold() == name.casefold()]
    if not found and name.isdecimal() and 1 <= int(name) <= len(known):
        found = [known[int(name) - 1]]
    if not found:
        raise UnknownName("output", name, [each.name for each in known])
    return found[0]


def _tell(found: Sequence[Output], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(each) for each in found]))
    elif found:
        rows = [
            (str(number), plain(each.name), "yes" if each.on else "no", each.plugin)
            for number, each in enumerate(found, start=1)
        ]
        click.echo(table(_HEAD, rows))
    else:
        click.echo("the player has no outputs here")
