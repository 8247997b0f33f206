"""pi-appliance jobs: run, list, foretell and remember jobs."""

import json
import re
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from random import SystemRandom
from typing import Any, ParamSpec
from zoneinfo import ZoneInfo

import click

from pi_appliance.cli import terminal
from pi_appliance.cli.terminal import Number, ProgressLine, config_option, json_option
from pi_appliance.jobs import runner
from pi_appliance.jobs.cli import control, crontab, simulate
from pi_appliance.jobs.notifications import deliver_notifications
from pi_appliance.scheduling import crontab as crontab_entries
from pi_appliance.scheduling.appliance import Appliance, JobView, Slot
from pi_appliance.scheduling.due import SKIPPED_BY_USER
from pi_appliance.storage import model as json_of
from pi_appliance.storage.model import RESUME, Outcome, Run, Trigger
from pi_appliance.system import clock

P = ParamSpec("P")
_SLOT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|boot:[0-9a-f-]{36}|after:\d+(\+\d+)*|request:\d+", re.ASCII)
_TEMPORARY = 75  # as sysexits.h has it: try again later


def _slot(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Return VALUE if it can be a slot: what is misspelt would claim a slot that never comes."""
    if value is None or _SLOT.fullmatch(value):
        return value
    raise click.BadParameter(f"{value!r} is no slot; write it as the history does, such as 2026-05-01T06:00:00Z")


@click.group("jobs", short_help="Run, list, foretell and remember jobs.")
def command() -> None:
    """Run, list, foretell and remember jobs; put them into cron."""


for _each in (
    crontab.plan,
    crontab.install,
    crontab.uninstall,
    simulate.explain,
    simulate.simulate,
    control.pause,
    control.resume,
    control.skip,
    control.unskip,
    control.cancel,
    control.history,
    control.log,
):
    command.add_command(_each)


@command.command("run", short_help="Run one job now.")
@click.argument("name")
@click.option(
    "--trigger", "trigger", type=click.Choice([str(each) for each in Trigger]), default="manual", help="What starts it."
)
@click.option(
    "--slot", "due", metavar="SLOT", callback=_slot, help="The slot or the ask it belongs to, as the history names it."
)
@click.option(
    "--as-scheduled", is_flag=True, help="Use the slot of this moment, else the next one, and ask its chance."
)
@click.option("--resume", is_flag=True, help="Only complete work that earlier runs left unfinished.")
@json_option
@config_option
def run(
    name: str, trigger: str, due: str | None, as_scheduled: bool, resume: bool, as_json: bool, config: Path
) -> None:
    """Run job NAME now and say how it went. By hand the chance is not asked.

    \b
    Exit status:
      0   it succeeded, or was skipped as it should be
      1   it failed, was stopped, misfired, or nobody can know
      2   NAME or the configuration is wrong; nothing was run
      75  something could not be reached; try again later
    """
    by_hand = trigger == Trigger.MANUAL and not as_json
    line = ProgressLine()

    def output(chunk: bytes) -> None:
        line.clear()
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()

    listener = (
        runner.Listener(on_output=tolerate_closed_pipe(output), on_progress=tolerate_closed_pipe(line.show))
        if by_hand
        else None
    )
    with Appliance.open(config) as appliance:
        ended = runner.run(
            appliance,
            name,
            Trigger(trigger),
            due=RESUME if resume else due,
            as_scheduled=as_scheduled,
            listener=listener,
            random=SystemRandom(),
        )
        skipped_by_cron = ended.trigger is Trigger.CRON and ended.outcome is Outcome.SKIPPED
        if skipped_by_cron and runner.has_pending_work(appliance, name):
            # Cron knows no daemon: pending posts would wait for the next slot that is used.
            ended = runner.run(appliance, name, Trigger.CRON, due=RESUME, random=SystemRandom())
        line.clear()
        try:
            _tell(ended, as_json=as_json, by_hand=by_hand)
        finally:  # last, for it may take its time; not when we were asked to stop
            if ended.outcome is not Outcome.STOPPED:
                deliver_notifications(appliance)
    if not terminal.is_good(ended):
        raise SystemExit(_TEMPORARY if ended.details.get("unavailable") else 1)


def _tell(ended: Run, *, as_json: bool, by_hand: bool) -> None:
    if as_json:
        click.echo(json.dumps(json_of.run_fields(ended)))
    elif not terminal.is_good(ended):  # cron mails what is printed, so it hears of trouble only
        more = f"; see: pi-appliance jobs log {ended.id}" if ended.attempts else ""
        click.echo(terminal.describe_run(ended) + more, err=True)
    elif by_hand:
        click.echo(terminal.describe_run(ended))


def tolerate_closed_pipe(tell: Callable[P, None]) -> Callable[P, None]:
    """Return TELL, silent from when nobody reads any more: the run goes on to its end all the same."""
    deaf = sys.stdout is None

    def told(*words: P.args, **more: P.kwargs) -> None:
        nonlocal deaf
        if not deaf:
            try:
                tell(*words, **more)
            except OSError:
                deaf = True

    return told


@command.command("list", short_help="List the jobs: next slot, last outcome.")
@json_option
@config_option
def list_(as_json: bool, config: Path) -> None:
    """List the jobs with their next slot and how their last run ended.

    \b
    Exit status:
      0  always, unless the configuration is wrong (2)
    """
    with Appliance.open(config) as appliance:
        views = appliance.jobs(clock.now())
        _say_what_cron_lacks(appliance)
        zone = appliance.config.time_zone
    if as_json:
        click.echo(json.dumps([job_values(view) for view in views]))
        return
    rows = [
        (
            view.job.name,
            view.job.kind,
            str(view.job.started_by) if view.job.schedule or view.job.depends_on else "manual",
            _next(view, zone),
            str(view.job.chance or "-"),
            terminal.describe_outcome(view.last),
            view.last.summary or view.last.status_text if view.last else "",
        )
        for view in views
    ]
    click.echo(terminal.format_table(("JOB", "KIND", "BY", "NEXT SLOT", "CHANCE", "LAST", "SUMMARY"), rows))


@command.command("next", short_help="Say what will run next, chance included.")
@click.argument("name", required=False)
@click.option("--count", type=Number(1, 1000), default=10, show_default=True, help="How many slots.")
@json_option
@config_option
def next_(name: str | None, count: int, as_json: bool, config: Path) -> None:
    """Say the next slots, of job NAME or of all, and which of them the chance will use.

    \b
    Exit status:
      0  always, unless NAME or the configuration is wrong (2)
    """
    with Appliance.open(config) as appliance:
        now = clock.now()
        _say_what_cron_lacks(appliance)
        names = [appliance.job(name).name] if name else list(appliance.config.jobs)
        slots = [slot for each in names for slot in islice(appliance.slots(each, now), count)]
        zone = appliance.config.time_zone
        paused = appliance.store.slots.pauses()
    slots = sorted(slots, key=lambda slot: slot.at)[:count]
    if as_json:
        click.echo(json.dumps([slot_values(slot) for slot in slots]))
        return
    rows = [
        (
            terminal.format_slot(slot.at, zone),
            slot.job,
            "skipped: paused" if slot.job in paused and paused[slot.job].is_active(slot.at) else _becomes(slot, zone),
        )
        for slot in slots
    ]
    click.echo(
        terminal.format_table(("SLOT", "JOB", "WHAT BECOMES OF IT"), rows) if rows else "no job has a slot to come"
    )


def _becomes(slot: Slot, zone: ZoneInfo) -> str:
    if slot.skipped and not slot.used:
        return SKIPPED_BY_USER
    if slot.used or not slot.selected:
        return "was used already" if slot.used else "skipped by chance"
    return "runs" if slot.starts_at == slot.at else f"runs at {slot.starts_at.astimezone(zone):%H:%M:%S}"


def _next(view: JobView, zone: ZoneInfo) -> str:
    if view.pause is not None:
        return "paused" + (f" until {terminal.format_instant(view.pause.until, zone)}" if view.pause.until else "")
    if view.job.depends_on:
        return f"after {', '.join(view.job.depends_on)}"
    if view.next is None:
        return "-"
    return terminal.format_slot(view.next.at, zone) + (" (skipped)" if view.next.skipped and not view.next.used else "")


def _say_what_cron_lacks(appliance: Appliance) -> None:
    for note in crontab_entries.missing_entry_notes(appliance.config):
        click.echo(note, err=True)


def job_values(view: JobView) -> dict[str, Any]:
    """Return VIEW as plain values."""
    return {
        "job": view.job.name,
        "kind": view.job.kind,
        "started_by": view.job.started_by if view.job.schedule or view.job.depends_on else None,
        "paused": view.pause is not None,
        "chance": str(view.job.chance) if view.job.chance else None,
        "next": slot_values(view.next) if view.next else None,
        "last": json_of.run_fields(view.last),
    }


def slot_values(slot: Slot) -> dict[str, Any]:
    """Return SLOT as plain values."""
    return {
        "job": slot.job,
        "slot": json_of.iso_time(slot.at),
        "starts_at": json_of.iso_time(slot.starts_at),
        "selected": slot.selected,
        "used": slot.used,
        "skipped": slot.skipped,
    }
