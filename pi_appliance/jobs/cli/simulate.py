"""pi-appliance jobs explain, simulate: what a job does in words, and what would become of its slots in any time."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import click

from pi_appliance.cli import terminal
from pi_appliance.cli.terminal import Number, config_option, json_option
from pi_appliance.config import loader
from pi_appliance.config.model import Config, Job
from pi_appliance.errors import UnknownName, suggest
from pi_appliance.scheduling import explanation, instants
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.due import SKIPPED_BY_USER, SimulatedSlot, simulate_slots
from pi_appliance.scheduling.instants import OffsetSpan
from pi_appliance.scheduling.schedule import AtBoot
from pi_appliance.scheduling.slot_ledger import RunIndex, load_run_index
from pi_appliance.storage import model as json_of
from pi_appliance.storage.model import Run
from pi_appliance.system import clock

_FORMS = ("%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d")
_YEARS = range(1970, 9000)
_MOST_COUNTED = 10_000  # slots beyond the limit: a slot each second for a year would take minutes to count


@click.command("explain", short_help="Say in words when and how a job runs.")
@click.argument("name")
@json_option
@config_option
def explain(name: str, as_json: bool, config: Path) -> None:
    """Say in words when job NAME runs, what happens on the days the clock is changed, and where cron would differ.

    \b
    Exit status:
      0  always, unless NAME or the configuration is wrong (2)
    """
    with Appliance.open(config) as appliance:
        job, machine = appliance.job(name), ZoneInfo(loader.machine_zone())
        lines = explanation.explain_job(appliance.config, job, clock.now(), machine=machine)
    click.echo(json.dumps({"job": name, "explanation": lines}) if as_json else "\n".join(lines))


@dataclass(frozen=True, slots=True)
class _Moment:
    """What a person wrote: a time on a clock whose zone is not known yet, or a whole day."""

    local: datetime
    is_day: bool

    def first(self, zone: ZoneInfo) -> datetime:
        """Return where a span that begins with it begins."""
        return self.local.replace(tzinfo=zone).astimezone(UTC)

    def end(self, zone: ZoneInfo) -> datetime:
        """Return where a span that it still belongs to ends."""
        last = self.local.replace(tzinfo=zone, fold=1)  # of a time that comes twice, the second
        if self.is_day:
            return (self.local + timedelta(days=1)).replace(tzinfo=zone).astimezone(UTC)
        return last.astimezone(UTC) + timedelta(seconds=1)


def _moment(_: click.Context, __: click.Parameter, value: str) -> _Moment:
    for form in _FORMS:
        try:
            local = datetime.strptime(value.strip(), form)  # noqa: DTZ007 - its zone is another option
        except ValueError:
            continue
        if local.year in _YEARS:
            return _Moment(local, form == _FORMS[-1])
    raise click.BadParameter(f'{value!r} is no date; write one such as 2027-03-28 or "2027-03-28 02:30"')


def _zone(_: click.Context, __: click.Parameter, value: str | None) -> ZoneInfo | None:
    """Return the zone called VALUE. Raises UnknownName with the nearest there is."""
    try:
        return ZoneInfo(value) if value is not None else None
    except (KeyError, ValueError, OSError):  # not found, a path, or a folder such as "Europe"
        known = suggest(str(value), tuple(available_timezones()))
        right = known if known.startswith("did") else "write an IANA name such as Europe/London"
        raise UnknownName("time zone", str(value), (), right) from None


@click.command("simulate", short_help="Say every slot of any time, and what would become of it.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--from", "begin", metavar="'DATE [TIME]'", required=True, callback=_moment, help="The first moment.")
@click.option(
    "--to", "until", metavar="'DATE [TIME]'", required=True, callback=_moment, help="The last moment, or the last day."
)
@click.option("--zone", metavar="ZONE", callback=_zone, help="As if this were the time zone of the file.")
@click.option("--limit", type=Number(1, 1_000_000), default=1000, show_default=True, help="How many slots to show.")
@json_option
@config_option
def simulate(
    names: tuple[str, ...],
    begin: _Moment,
    until: _Moment,
    zone: ZoneInfo | None,
    limit: int,
    as_json: bool,
    config: Path,
) -> None:
    """Say every slot of the jobs NAME, or of all, in any time, past or to come, and what would become of it.

    Slots are shown on the clock of their job, and each change of that clock between them. A slot that was used says
    what came of it. Nothing is run.

    \b
    Exit status:
      0  here they are, or there are none
      2  NAME, a date, the zone or the configuration is wrong
    """
    with Appliance.open(config) as appliance:
        as_if = replace(appliance.config, time_zone=zone or appliance.config.time_zone)
        jobs = [appliance.job(name) for name in dict.fromkeys(names)] or list(as_if.jobs.values())
        first, end = begin.first(as_if.time_zone), until.end(as_if.time_zone)
        if end <= first:
            raise click.BadParameter("it lies before --from", param_hint="'--to'")
        ahead = simulate_slots(as_if, jobs, first, end, secret=appliance.secret)
        slots = list(islice(ahead, limit))
        left_off = sum(1 for _ in islice(ahead, _MOST_COUNTED))
        appliance.sweep()
        span = (slots[0].key, slots[-1].key) if slots else ("", "")
        runs = {name: load_run_index(appliance, name, *span) for name in {slot.job for slot in slots}}
        changes = list(_changes(as_if, jobs, first, slots[-1].at if left_off else end))
        skipped = {name: appliance.store.requests.skipped_slot(name) for name in runs}
        shown = _Shown(slots, changes, runs, clock.now(), skipped)
    if as_json:
        click.echo(json.dumps(_values(shown, first, end, left_off)))
        return
    for job in jobs if names else ():
        _say_why_without_slots(job)
    click.echo("\n".join(_lines(shown)) or "no slot in that time")
    if left_off:
        more = f"{left_off:,}" if left_off < _MOST_COUNTED else f"{_MOST_COUNTED:,} or more"
        click.echo(f"{more} further slots are left off; ask for more with --limit, or for less time", err=True)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What is to be shown: slots, changes of the clock with their zones, and the runs of slots that were used."""

    slots: Sequence[SimulatedSlot]
    changes: Sequence[tuple[OffsetSpan, ZoneInfo]]
    runs: Mapping[str, RunIndex]
    now: datetime
    skipped: Mapping[str, str | None]  # by job, the slot that a person wants left out

    def run(self, slot: SimulatedSlot) -> Run | None:
        """Return the run that used SLOT, or accounted for it."""
        return self.runs[slot.job].find(slot.key)

    def becomes(self, slot: SimulatedSlot) -> str:
        """Return what becomes of SLOT in a word or two."""
        if self.run(slot):
            return "used"
        if self.skipped.get(slot.job) == slot.key:
            return SKIPPED_BY_USER
        if not slot.selected:
            return "skipped by chance"
        return "would have run" if slot.at < self.now else "runs"


def _changes(
    config: Config, jobs: Iterable[Job], first: datetime, end: datetime
) -> Iterator[tuple[OffsetSpan, ZoneInfo]]:
    for zone in {config.zone_of(job).key: config.zone_of(job) for job in jobs if job.schedule}.values():
        yield from ((change, zone) for change in instants.clock_changes(zone, first, end))


def _say_why_without_slots(job: Job) -> None:
    if job.schedule is None:
        click.echo(f"{job.name} has no schedule, and so no slots", err=True)
    elif isinstance(job.schedule, AtBoot):
        click.echo(f"{job.name} runs when the machine starts, which nobody can foretell", err=True)


def _lines(shown: _Shown) -> list[str]:
    """Return a line for each slot, under a head, and the changes of the clock where they belong."""
    if not shown.slots:
        return []
    several = len({slot.zone.key for slot in shown.slots} | {zone.key for _, zone in shown.changes}) > 1
    late = any(slot.starts_at != slot.at for slot in shown.slots)
    head = ("SLOT", *(["ZONE"] if several else ()), "JOB", *(["STARTS"] if late else ()), "WHAT BECOMES OF IT")
    rows = [
        (
            _local(slot),
            *([slot.zone.key] if several else ()),
            slot.job,
            *([_starts(slot, shown)] if late else ()),
            _told(slot, shown),
        )
        for slot in shown.slots
    ]
    title, *lines = terminal.format_table(head, rows).splitlines()
    dated = [(slot.at, 1, line) for slot, line in zip(shown.slots, lines, strict=True)]
    dated += [(change.start, 0, _change(change, zone, named=several)) for change, zone in shown.changes]
    return [title, *(line for _, _, line in sorted(dated, key=lambda each: each[:2]))]


def _local(slot: SimulatedSlot) -> str:
    local = slot.at.astimezone(slot.zone)
    return f"{local:%a %Y-%m-%d %H:%M:%S}".removesuffix(":00") + f" {local.isoformat()[19:]}"


def _starts(slot: SimulatedSlot, shown: _Shown) -> str:
    return f"{slot.starts_at.astimezone(slot.zone):%H:%M:%S}" if slot.selected and not shown.run(slot) else "-"


def _told(slot: SimulatedSlot, shown: _Shown) -> str:
    run = shown.run(slot)
    return (
        f"{terminal.describe_outcome(run)}: {run.summary or run.status_text or 'nothing to say'}"
        if run
        else shown.becomes(slot)
    )


def _change(change: OffsetSpan, zone: ZoneInfo, *, named: bool) -> str:
    before, after = explanation.format_change_times(change)
    place = f" in {zone.key}" if named else ""
    return f"-- {explanation.format_change_day(change)}{place} {before} becomes {after} --"


def _values(shown: _Shown, first: datetime, end: datetime, left_off: int) -> dict[str, Any]:
    """Return what is shown as plain values."""
    return {
        "from": json_of.iso_time(first),
        "to": json_of.iso_time(end),
        "slots": [
            {
                "job": slot.job,
                "slot": slot.key,
                "local": slot.at.astimezone(slot.zone).isoformat(),
                "zone": slot.zone.key,
                "becomes": shown.becomes(slot),
                "starts": json_of.iso_time(slot.starts_at) if slot.selected and not shown.run(slot) else None,
                "run": json_of.run_fields(shown.run(slot)),
            }
            for slot in shown.slots
        ],
        "changes": [
            {
                "at": json_of.iso_time(change.start),
                "zone": zone.key,
                **dict(zip(("before", "after"), explanation.format_change_times(change), strict=True)),
            }
            for change, zone in shown.changes
        ],
        "left-off": left_off,
    }
