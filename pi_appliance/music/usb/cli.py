"""Commands `music usb attach, detach, cleanup, forget`, run as root, mostly by systemd."""

import inspect
import os
from collections.abc import Callable
from pathlib import Path

import click

from pi_appliance.cli.terminal import config_option
from pi_appliance.config.loader import load_config
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.music.cli import command
from pi_appliance.music.usb import root_helper

_STATUSES = """

\b
Exit status:
  0   done, or nothing to do
  1   refused; the message says why
  2   wrong use, an unknown name, or a wrong configuration
  75  no folder of USB drives is configured
"""


@command.group("usb", short_help="USB drives with music.")
def group() -> None:
    """Manage USB drives with music."""


def _command(name: str, short_help: str) -> Callable[[Callable[..., None]], click.Command]:
    def decorate(function: Callable[..., None]) -> click.Command:
        text = inspect.cleandoc(function.__doc__ or "") + _STATUSES
        return group.command(name, help=text, short_help=short_help)(config_option(function))

    return decorate


@_command("forget", "Forget a USB drive that is not mounted.")
@click.argument("name")
def forget(name: str, config: Path) -> None:
    """Forget the drive NAME: its tracks disappear with the next update of the library.

    Needs root.
    """
    root_helper.unregister(name, _mount_dir(config), _paths())
    click.echo(f"{name} is forgotten; its tracks disappear with the next update of the library")


@_command("attach", "Mount a USB drive (for systemd).")
@click.argument("device")
def attach(device: str, config: Path) -> None:
    """Mount DEVICE, such as sda1, read-only, and link it into the music folder.

    Needs root; udev starts it.
    """
    try:
        name = root_helper.attach(device, _mount_dir(config), _paths())
    except (root_helper.Ignored, Unavailable) as error:
        click.echo(str(error))  # not an error of the unit
    else:
        click.echo(f"{device} is mounted as {name}")


@_command("detach", "Unmount a USB drive (for systemd).")
@click.argument("device")
def detach(device: str, config: Path) -> None:
    """Unmount DEVICE, such as sda1, even if it was unplugged already. Needs root."""
    usb = load_config(config).usb
    for name in root_helper.detach(device, usb.mount_dir if usb else None, _paths()):
        click.echo(f"{name} is unmounted")


@_command("cleanup", "Handle a request to unmount (for systemd).")
def cleanup(config: Path) -> None:
    """Unmount the drive that the page asked for, and mark missing drives as unmounted.

    Needs root.
    """
    usb = load_config(config).usb
    for name in root_helper.cleanup(usb.mount_dir, _paths()) if usb else ():
        click.echo(f"{name} is unmounted")


def _mount_dir(config: Path) -> Path:
    from pi_appliance.music.usb.drives import require_usb  # noqa: PLC0415 - loads asyncio

    return require_usb(load_config(config).usb).mount_dir


def _paths() -> root_helper.Paths:
    if os.geteuid() != 0:
        raise Refused("this command needs root; run it with sudo")
    return root_helper.Paths.from_environment(os.environ)
