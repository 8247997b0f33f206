"""pi-appliance jobs history, log: what ran, what became of each slot, and what a run printed."""

import json
from collections.abc import Sequence
from heapq import merge
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from pi_appliance.cli._options import Number, config_option, json_option
from pi_appliance.engine.accounts import Account, accounts, values
from pi_appliance.engine.assemble import Appliance
from pi_appliance.reports import as_json as json_of
from pi_appliance.reports import as_text
from pi_appliance.system import clock


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
            listed, text = [values(each) for each in found], _slot_table(found, zone)
        else:
            runs = appliance.history(job=name, limit=count)
            listed = [json_of.run(each) or {} for each in runs]
            text = as_text.history(runs, zone) if runs else "nothing has run yet"
    click.echo(json.dumps(listed) if as_json else text)


def _accounts(appliance: Appliance, name: str | None, count: int) -> list[Account]:
    appliance.sweep()
    now = clock.now()
    names = [appliance.job(name).name] if name else list(appliance.config.jobs)
    each = [accounts(appliance, appliance.job(one), now) for one in names]
    return list(islice(merge(*each, key=lambda account: account.at, reverse=True), count))


def _slot_table(found: Sequence[Account], zone: ZoneInfo) -> str:
    rows = [
        (
            as_text.slot(each.at, zone),
            each.job,
            str(each.run.id) if each.run else "-",
            as_text.outcome(each.run),
            each.reason,
        )
        for each in found
    ]
    return as_text.table(("SLOT", "JOB", "RUN", "OUTCOME", "SUMMARY"), rows) if rows else "no slot has come yet"


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
        click.echo(json.dumps({**(json_of.run(found) or {}), "log": printed}))
        return
    click.echo(as_text.one_run(found))
    click.echo(printed, nl=not printed.endswith("\n"))
