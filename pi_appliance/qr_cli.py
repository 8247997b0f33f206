"""Command `pi-appliance qr`: the address of the page as a QR code (optional library segno)."""

import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import click

from pi_appliance.access.password import SetupFile
from pi_appliance.cli.client import config_option
from pi_appliance.config import secrets
from pi_appliance.config.loader import load_config
from pi_appliance.config.options import Config, Web
from pi_appliance.config.page_address import addresses
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.system import files
from pi_appliance.web.qr_code import code_as_lines, code_as_svg
from pi_appliance.wifi import hotspot


@click.command("qr", short_help="Show the address of the page as a QR code.")
@click.option(
    "--svg", type=click.Path(path_type=Path), metavar="FILE", help="Write the code as an SVG picture to FILE."
)
@config_option
def command(svg: Path | None, config: Path) -> None:
    """Show the address of the page as a QR code for the phone's camera, and as text below it.

    The code contains only the address; the page asks for the password. Before the set-up, the
    address contains the one-time code of the set-up.
    With a hot spot, its name and password are shown.

    \b
    Exit status:
      0   done
      1   the page listens on this machine only, or segno is not installed
      2   the configuration is wrong
      75  this machine has no network address, or the file cannot be written
    """
    settings = load_config(config)
    code = _setup_code(settings) if _needs_setup(settings) else ""
    if code:
        click.echo(f"This appliance is not set up yet. Its code is {code}")
    for line in hotspot.describe(settings, code):
        click.echo(line)
    first, *others = addresses(settings.web)
    if code:
        first, *others = setup_addresses([first, *others], code)
    if find_spec("segno") is None:
        click.echo(first)
        raise Refused("segno is not installed; run: pip install segno")
    if svg is not None:
        files.write_file(svg, code_as_svg(first))
    else:
        for line in code_as_lines(first):
            click.echo(line)
    click.echo(first + "".join(f"\nor {each}" for each in others))


def _needs_setup(config: Config) -> bool:
    try:
        return secrets.needs_setup(config, secrets.load(config.path, os.environ))
    except ApplianceError:  # the secrets of another user cannot be read, so a password may exist
        return False


def _setup_code(config: Config) -> str:
    """Return the code of the set-up. Raises Refused."""
    file = SetupFile(config.state_dir)
    try:
        code = file.code()
    except OSError:
        user = files.user_name(file.path.stat().st_uid)
        raise Refused(f"only {user} can read the code of the set-up; run: sudo pi-appliance qr") from None
    if not code:
        raise Refused("the appliance has not run yet, so it has no code; start it: pi-appliance up")
    return code


def setup_addresses(addresses: Sequence[str], code: str) -> list[str]:
    """Return the addresses that open the set-up."""
    return [f"{each}setup?code={code}" for each in addresses]


def describe_setup(web: Web, code: str, *, with_picture: bool) -> Iterator[str]:
    """Yield the lines that say how to set up the appliance, with a QR code if it can be made."""
    yield f"This appliance is not set up yet. Its code is {code}"
    try:
        first, *others = setup_addresses(addresses(web), code)
    except ApplianceError as error:
        yield f"There is no address for a phone: {error}"
        return
    if with_picture and find_spec("segno") is not None:
        yield from code_as_lines(first)
    yield f"Open {first}"
    yield from (f"or {each}" for each in others)
