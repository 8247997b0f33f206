"""Command `pi-appliance qr`: the address of the page as a QR code."""

from importlib.util import find_spec
from pathlib import Path

import click

from pi_appliance.cli.terminal import config_option
from pi_appliance.config.loader import load_config
from pi_appliance.config.model import Web
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.system import files, network


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
    from pi_appliance import qr_code  # noqa: PLC0415 - an optional library

    if svg is not None:
        files.write_file(svg, qr_code.svg(first))
    else:
        for line in qr_code.lines(first):
            click.echo(line)
    click.echo(first + "".join(f"\nor {each}" for each in others))


def addresses(web: Web) -> list[str]:
    """Return the addresses of the page, the most reliable first.

    Raises:
        Refused: the page listens on this machine only.
        Unavailable: there is no network.

    """
    if network.is_loopback_only(web.host):
        raise Refused(
            f"the page listens on {web.host}, so phones cannot reach it;"
            " write host: 0.0.0.0 under web:, and WEB_PASSWORD=… into secrets.env"
        )
    if web.port == 0:
        raise Refused("the page has another port at each start; write one under web:, such as port: 8080")
    found = network.public_addresses(web.host)
    if not found:
        raise Unavailable(f"this machine has no address at which others reach {web.host}; is it on the network?")
    port = "" if web.port == 80 else f":{web.port}"
    # The host name is second: it does not change, but not every phone resolves it.
    return [
        f"http://{found[0]}{port}/",
        f"http://{network.host_name()}.local{port}/",
        *(f"http://{ip}{port}/" for ip in found[1:]),
    ]
