"""Command `pi-appliance qr`: the address of the page as a QR code (optional library segno)."""

from importlib.util import find_spec
from pathlib import Path

import click

from pi_appliance.cli.terminal import config_option
from pi_appliance.config.loader import load_config
from pi_appliance.errors import Refused
from pi_appliance.system import files
from pi_appliance.web.qr_code import addresses, code_as_lines, code_as_svg


@click.command("qr", short_help="Show the address of the page as a QR code.")
@click.option(
    "--svg", type=click.Path(path_type=Path), metavar="FILE", help="Write the code as an SVG picture to FILE."
)
@config_option
def command(svg: Path | None, config: Path) -> None:
    """Show the address of the page as a QR code for the phone's camera, and as text below it.

    The code contains only the address; the page asks for the password.

    \b
    Exit status:
      0   done
      1   the page listens on this machine only, or segno is not installed
      2   the configuration is wrong
      75  this machine has no network address, or the file cannot be written
    """
    first, *others = addresses(load_config(config).web)
    if find_spec("segno") is None:
        click.echo(first)
        raise Refused("segno is not installed; run: pip install segno")
    if svg is not None:
        files.write_file(svg, code_as_svg(first))
    else:
        for line in code_as_lines(first):
            click.echo(line)
    click.echo(first + "".join(f"\nor {each}" for each in others))
