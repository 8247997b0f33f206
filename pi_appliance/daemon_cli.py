"""The command `pi-appliance up`."""

import asyncio
import logging
import sys
from pathlib import Path

import click

from pi_appliance import __version__
from pi_appliance.app import WebService
from pi_appliance.cli.terminal import local_config_option
from pi_appliance.config.loader import display_path
from pi_appliance.daemon import Daemon
from pi_appliance.discovery import DiscoveryService
from pi_appliance.music.mpd.proxy import MpdProxyService
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.system import network


@click.command("up", short_help="Run the appliance: scheduler, player and page.")
@click.option("-v", "--verbose", is_flag=True, help="Print each run that starts or ends.")
@local_config_option
def command(verbose: bool, config: Path) -> None:
    """Run the appliance in the foreground until Ctrl-C or SIGTERM.

    SIGHUP reads the configuration again.

    \b
    Exit status:
      0   it was stopped
      1   it could not start: another daemon uses the state, or the address is taken
      2   the configuration is wrong
      75  the state folder cannot be used
    """
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(message)s")
    with Appliance.open(config) as appliance:
        jobs = f"{len(appliance.config.jobs)} jobs"
        path = display_path(appliance.config.path)
        click.echo(f"pi-appliance {__version__}: {path}, {jobs}, state in {appliance.config.state_dir}")
        if sys.stdout.isatty() and not network.is_loopback_only(appliance.config.web.host):
            click.echo("for the phone: `pi-appliance qr` shows the address as a QR code")
        asyncio.run(_run(appliance))
    click.echo("stopped")


async def _run(appliance: Appliance) -> None:
    await Daemon(appliance, [WebService, MpdProxyService, DiscoveryService], click.echo).run()
