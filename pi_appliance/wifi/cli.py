"""The command `pi-appliance system wifi join`, which asks for the password."""

import click

from pi_appliance.cli import client
from pi_appliance.cli.client import json_option, run_operation, select_config, show_result, visible
from pi_appliance.errors import Refused
from pi_appliance.wifi.joining import AttemptState
from pi_appliance.wifi.operations import JOIN


@click.group("system")
def system() -> None:
    """Hold the commands that ask at the terminal; the others are operations."""


@system.group("wifi")
def wifi() -> None:
    """Hold the commands about Wi-Fi."""


@wifi.command("join", short_help="Join a Wi-Fi network.")
@click.argument("ssid")
@click.option("--hidden", is_flag=True, help="The network does not show its name.")
@json_option
@click.option("-c", "--config", metavar="FILE", help="Address the appliance with this configuration.")
def join(ssid: str, hidden: bool, as_json: bool, config: str | None) -> None:
    """Join the Wi-Fi network SSID, and wait for the result.

    The password comes from the keyboard or from standard input, where no other user sees it. Leave
    it empty for an open network, or to use the stored one. If the network does not come up in 30
    seconds, the machine goes back to the present one.

    \b
    Exit status:
      0   it is joined
      1   it is not, and the machine went back
      2   the name or the password cannot be right, or the network is not in reach
      75  the appliance does not run, or the machine has no Wi-Fi that can be used
    """
    try:
        password = client.read_secret(f"Password of {ssid}: ").rstrip("\r\n")
    except EOFError:
        password = ""
    values = JOIN.parse({"ssid": ssid, "password": password, "hidden": hidden})
    result = run_operation(JOIN, values, select_config(config))
    last = result["last"] if isinstance(result, dict) else {}
    if last["state"] != AttemptState.DONE:
        raise Refused(last["message"])
    show_result(result, visible(f"{last['message']}\n"), as_json=as_json)
