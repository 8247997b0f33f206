"""pi-appliance jobs pause, resume, skip, unskip, cancel: what a person may do to a job without touching the file."""

from datetime import timedelta
from pathlib import Path

import click

from pi_appliance.cli._options import config_option
from pi_appliance.core import durations
from pi_appliance.engine import skips
from pi_appliance.engine.assemble import Appliance
from pi_appliance.reports import as_text
from pi_appliance.system import clock

_FOR_GOOD = timedelta(days=36_500)  # longer than this is for good


def _length(_: click.Context, __: click.Parameter, value: str | None) -> timedelta | None:
    try:
        return None if value is None else durations.parse(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command("pause", short_help="Use no slot of a job until it is resumed.")
@click.argument("name")
@click.option(
    "--for", "length", metavar="LENGTH", callback=_length, help="For so long, such as 2h or 7d; else for good."
)
@config_option
def pause(name: str, length: timedelta | None, config: Path) -> None:
    """Use no slot of job NAME from now on; the history tells them as skipped. By hand it can still be run.

    A run that goes on is not touched. The pause outlives restarts.

    \b
    Exit status:
      0  it pauses
      1  it has no schedule
      2  NAME or the configuration is wrong
    """
    with Appliance.open(config) as appliance:
        now = clock.now()
        until = None if length is None or length > _FOR_GOOD else now + length
        appliance.pause(name, now=now, until=until)
        end = f"until {as_text.instant(until, appliance.config.time_zone)}" if until else "until you resume it"
    click.echo(f"{name} pauses {end}")


@click.command("resume", short_help="Use the slots of a paused job again.")
@click.argument("name")
@config_option
def resume(name: str, config: Path) -> None:
    """Use the slots of job NAME again. What came while it paused is not made up for.

    \b
    Exit status:
      0  it goes on
      1  it did not pause
      2  NAME or the configuration is wrong
    """
    with Appliance.open(config) as appliance:
        now = clock.now()
        appliance.resume(name, now=now)
        coming = next(appliance.slots(name, now), None)
        zone = appliance.config.zone_of(appliance.job(name))
    click.echo(f"{name} goes on" + (f"; next slot: {as_text.instant(coming.at, zone)}" if coming else ""))


@click.command("skip", short_help="Leave out the next slot of a job.")
@click.argument("name")
@config_option
def skip(name: str, config: Path) -> None:
    """Leave out the next slot that job NAME would use; those after it are used as ever. By hand it can still be run.

    \b
    Exit status:
      0  that slot is skipped; said twice, it is still that one
      1  it pauses, or has no slot to come
      2  NAME or the configuration is wrong
    """
    with Appliance.open(config) as appliance:
        slot = skips.skip(appliance, name, now=clock.now())
        zone = appliance.config.zone_of(appliance.job(name))
    click.echo(f"{name} leaves out {as_text.slot(slot.at, zone)}")


@click.command("unskip", short_help="Use the slot after all that was to be skipped.")
@click.argument("name")
@config_option
def unskip(name: str, config: Path) -> None:
    """Use the slot of job NAME after all that was to be skipped.

    \b
    Exit status:
      0  it is used
      1  no slot was to be skipped
      2  NAME or the configuration is wrong
    """
    with Appliance.open(config) as appliance:
        slot = skips.unskip(appliance, name, now=clock.now())
        zone = appliance.config.zone_of(appliance.job(name))
    click.echo(f"{name} uses {as_text.slot(slot.at, zone)}")


@click.command("cancel", short_help="End the run of a job that goes on.")
@click.argument("name")
@config_option
def cancel(name: str, config: Path) -> None:
    """Ask the run of job NAME to end: politely, and after five seconds not any more. Its slot counts as used.

    \b
    Exit status:
      0  it was asked; the history tells when it has ended
      1  no run of it goes on, or it belongs to another user
      2  NAME or the configuration is wrong
    """
    with Appliance.open(config) as appliance:
        run = appliance.cancel(name)
    click.echo(f"run {run.id} of {name} was asked to end")
