"""The command `pi-appliance password`."""

import os
from pathlib import Path

import click

from pi_appliance.access.operations import CHANGE_PASSWORD
from pi_appliance.access.password import store_password
from pi_appliance.cli import client
from pi_appliance.cli.client import call_daemon, config_option, connect
from pi_appliance.errors import Refused


@click.command("password", short_help="Change the password of the page.")
@config_option
def password(config: Path) -> None:
    """Ask for a new password of the page, and store it in secrets.env.

    It comes from the keyboard, or twice from standard input, one per line. The running appliance
    uses it at once, and signs out all devices.

    \b
    Exit status:
      0   done
      1   the two texts differ, or the file cannot be written
      2   the password is too short, or the configuration is wrong
      75  the disk is full, or the appliance does not answer
    """
    try:
        new = client.read_secret("New password: ").rstrip("\r\n")
        if new != client.read_secret("Again: ").rstrip("\r\n"):
            raise Refused("the two passwords differ, so nothing was changed")
    except EOFError:
        raise Refused("no password was typed, so nothing was changed") from None
    connection = connect(str(config))
    if connection is not None:
        call_daemon(connection, CHANGE_PASSWORD, CHANGE_PASSWORD.parse({"new": new}))
        click.echo("the password was changed, and all devices are signed out")
    else:
        store_password(config, new, os.environ)
        click.echo("the password was changed")
