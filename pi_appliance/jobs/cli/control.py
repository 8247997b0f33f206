"""pi-appliance jobs pause, resume, skip, unskip, cancel: what a person may do to a job without touching the file."""

import json
from collections.abc import Sequence
from datetime import timedelta
from heapq import merge
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from pi_appliance.cli import terminal
from pi_appliance.cli import terminal as as_text
from pi_appliance.cli.terminal import Number, config_option, json_option
from pi_appliance.config import units
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.slot_ledger import SlotStatus, serialize_slot, slot_statuses
from pi_appliance.storage import model as json_of
from pi_appliance.system import clock

_FOR_GOOD = timedelta(days=36_500)  # longer than this is for good


def _length(_: click.Context, __: click.Parameter, value: str | None) -> timedelta | None:
    try:
        return None if value is None else units.parse_duration(value)
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
        end = f"until {terminal.format_instant(until, appliance.config.time_zone)}" if until else "until you resume it"
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
    click.echo(f"{name} goes on" + (f"; next slot: {terminal.format_instant(coming.at, zone)}" if coming else ""))


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
        slot = appliance.skip_slot(name, now=clock.now())
        zone = appliance.config.zone_of(appliance.job(name))
    click.echo(f"{name} leaves out {terminal.format_slot(slot.at, zone)}")


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
        slot = appliance.unskip_slot(name, now=clock.now())
        zone = appliance.config.zone_of(appliance.job(name))
    click.echo(f"{name} uses {terminal.format_slot(slot.at, zone)}")


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


@click.command("history", short_help="List what ran and how it ended, or what became of each slot.")
@click.argument("name", required=False)
@click.option("--count", type=Number(1, 10_000), default=20, show_default=True, help="How many runs or slots.")
@click.option("--slots", is_flag=True, help="List every slot and what became of it: none is left out.")
@json_option
@config_option
def history(name: str | None, count: int, slots: bool, as_json: bool, config: Path) -> None:
    """List the newest runs, of job NAME or of all, the newest first.

    \b
    Exit status:
      0  always, unless NAME or the configuration is wrong (2)
    """
    with Appliance.open(config) as appliance:
        zone = appliance.config.time_zone
        if slots:
            found = _accounts(appliance, name, count)
            listed, text = [serialize_slot(each) for each in found], _slot_table(found, zone)
        else:
            runs = appliance.history(job=name, limit=count)
            listed = [json_of.run_fields(each) or {} for each in runs]
            text = as_text.format_runs(runs, zone) if runs else "nothing has run yet"
    click.echo(json.dumps(listed) if as_json else text)


def _accounts(appliance: Appliance, name: str | None, count: int) -> list[SlotStatus]:
    appliance.sweep()
    now = clock.now()
    names = [appliance.job(name).name] if name else list(appliance.config.jobs)
    each = [slot_statuses(appliance, appliance.job(one), now) for one in names]
    return list(islice(merge(*each, key=lambda account: account.at, reverse=True), count))


def _slot_table(found: Sequence[SlotStatus], zone: ZoneInfo) -> str:
    rows = [
        (
            as_text.format_slot(each.at, zone),
            each.job,
            str(each.run.id) if each.run else "-",
            as_text.describe_outcome(each.run),
            each.reason,
        )
        for each in found
    ]
    return as_text.format_table(("SLOT", "JOB", "RUN", "OUTCOME", "SUMMARY"), rows) if rows else "no slot has come yet"


@click.command("log", short_help="Print what a run printed.")
@click.argument("number", metavar="RUN", type=int)
@json_option
@config_option
def log(number: int, as_json: bool, config: Path) -> None:
    """Print how run number RUN went and everything it printed.

    \b
    Exit status:
      0  here it is
      2  there is no such run
    """
    with Appliance.open(config) as appliance:
        found, printed = appliance.log(number)
    if as_json:
        click.echo(json.dumps({**(json_of.run_fields(found) or {}), "log": printed}))
        return
    click.echo(as_text.describe_run(found))
    click.echo(printed, nl=not printed.endswith("\n"))
