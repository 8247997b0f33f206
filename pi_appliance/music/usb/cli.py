"""pi-appliance music usb: the sticks with music, and the four things that the units do with them as root."""

import asyncio
import contextlib
import dataclasses
import inspect
import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import click

from pi_appliance.cli.options import config_option, json_option, optional_config_option
from pi_appliance.cli.text import table
from pi_appliance.config import secrets
from pi_appliance.config.loader import load_config
from pi_appliance.config.model import Config
from pi_appliance.errors import ConfigNotFound, Refused, Unavailable
from pi_appliance.music.cli.group import command
from pi_appliance.music.hub import open_player
from pi_appliance.music.player import Player
from pi_appliance.music.usb import drives, root_helper
from pi_appliance.music.usb.drives import Places, StickState, UsbDrive, eject

_WORDS = {
    StickState.AWAY: "away, its tracks are kept",
    StickState.SCANNING: "scanning",
    StickState.READY: "ready",
}


_STATUSES = """

\b
Exit status:
  0   done, or there was nothing to do
  1   it cannot be done: the message says why
  2   wrong use, an unknown name, or a wrong configuration
  75  no folder for sticks is configured, or who unmounts does not answer
"""


@command.group("usb", short_help="USB sticks with music.", invoke_without_command=True)
@json_option
@optional_config_option
@click.pass_context
def group(context: click.Context, as_json: bool, config: Path | ConfigNotFound) -> None:
    """List the USB sticks with music: here or away, how full, how many of its tracks the player knows."""
    if context.invoked_subcommand is None:
        if isinstance(config, ConfigNotFound):
            raise config
        _list(load_config(config), as_json)


def _list(settings: Config, as_json: bool) -> None:

    sticks = listed(settings)
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(each) for each in sticks]))
    elif sticks:
        rows = [(each.name, _WORDS.get(each.state, each.state), _room(each), _tracks(each)) for each in sticks]
        click.echo(table(("STICK", "STATE", "USED", "TRACKS"), rows))
    else:
        click.echo("no stick was ever here")


def _room(stick: UsbDrive) -> str:
    if stick.size is None or stick.used is None:
        return "-"
    return f"{stick.used / 1e9:.1f} of {stick.size / 1e9:.1f} GB"


def _tracks(stick: UsbDrive) -> str:
    if stick.tracks is None:
        return "-"
    return str(stick.tracks) if stick.files is None else f"{stick.tracks} of {stick.files}"


def _command(name: str, short_help: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function; its help ends with the exit statuses."""

    def made(function: Callable[..., None]) -> click.Command:
        text = inspect.cleandoc(function.__doc__ or "") + _STATUSES
        return group.command(name, help=text, short_help=short_help)(config_option(function))

    return made


@_command("remove", "Let go of a stick, so that it may be pulled.")
@click.argument("name")
def remove(name: str, config: Path) -> None:
    """Stop what plays from the stick NAME, have it unmounted, and say when it may be pulled. Its tracks are kept."""
    eject_drive(name, load_config(config))
    click.echo(f"{name} may be pulled")


@_command("forget", "Let a stick that is away be none.")
@click.argument("name")
def forget(name: str, config: Path) -> None:
    """Give up the stick NAME, which is away: the player drops its tracks when it looks for what is new. As root."""
    root_helper.unregister(name, _folder(config), _places())
    click.echo(f"{name} is forgotten; its tracks go with the next update of the library")


@_command("attach", "Mount a stick (for the units).")
@click.argument("device")
def attach(device: str, config: Path) -> None:
    """Mount DEVICE, such as sda1, only to be read, and let it appear among the music. As root: udev has it done."""
    try:
        name = root_helper.attach(device, _folder(config), _places())
    except (root_helper.Ignored, Unavailable) as error:
        click.echo(str(error))  # nothing is amiss: it is not for us
    else:
        click.echo(f"{device} is here as {name}")


@_command("detach", "Unmount a stick (for the units).")
@click.argument("device")
def detach(device: str, config: Path) -> None:
    """Unmount DEVICE, such as sda1, also when it was pulled already; its tracks are kept. As root."""
    where = load_config(config).usb
    for name in root_helper.detach(device, where.folder if where else None, _places()):
        click.echo(f"{name} is away")


@_command("tidy", "Unmount what was asked for (for the units).")
def tidy(config: Path) -> None:
    """Unmount the stick that the page asked for, and have those that are not here read as away. As root."""
    where = load_config(config).usb
    for name in root_helper.cleanup(where.folder, _places()) if where else ():
        click.echo(f"{name} is away")


def _folder(config: Path) -> Path:
    from pi_appliance.music.usb import drives  # noqa: PLC0415 - as above

    return drives.configured(load_config(config).usb).folder


def _places() -> root_helper.Places:
    if os.geteuid() != 0:
        raise Refused("only root can do that; write sudo in front")
    return root_helper.Places.of(os.environ)


def listed(settings: Config) -> list[UsbDrive]:
    """Return the sticks, with their tracks if a player says how many there are. Raises Unavailable."""
    return asyncio.run(_sticks(settings))


def eject_drive(name: str, settings: Config) -> None:
    """Let go of the stick NAME: then it may be pulled. Raises as `let_go`."""

    async def removed() -> None:
        async with _player(settings) as player:
            await eject(name, where, player, Places())

    where = drives.configured(settings.usb)
    asyncio.run(removed())


async def _sticks(settings: Config) -> list[UsbDrive]:
    where = drives.configured(settings.usb)
    found = drives.found(where, Places())
    async with _player(settings) as player:
        if player is None:
            return [drives.told(each, where) for each in found]
        return [await drives.counted(drives.told(each, where), each, player) for each in found]


@contextlib.asynccontextmanager
async def _player(settings: Config) -> AsyncIterator[Player | None]:
    """Give the player; None where none answers."""
    try:
        player = await open_player(settings, secrets.load(settings.path, os.environ))
    except Unavailable:
        yield None
        return
    try:
        yield player
    finally:
        await player.close()
