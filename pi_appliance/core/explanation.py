"""A job in words: when it runs, what may keep it from running, and where cron would do otherwise than the daemon."""

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pi_appliance.core import amounts, clock_changes, cron, cron_expression, cron_lints, durations, wall_clock
from pi_appliance.model.config import Config, Job, Overlap, RunsBy
from pi_appliance.model.schedule import AtBoot, Cron, Every, Schedule

_COMING = 3  # slots that are listed
_STARTERS = {
    RunsBy.DAEMON: "the daemon, while it is up (pi-appliance up)",
    RunsBy.CRON: "cron, once it is installed there (pi-appliance jobs install)",
}
_OVERLAPS = {
    Overlap.QUEUE: "A slot that comes while a run goes on waits for its end",
    Overlap.REPLACE: "A slot that comes while a run goes on ends that run and takes its place",
}


def lines(config: Config, job: Job, now: datetime, *, machine: ZoneInfo) -> list[str]:
    """Explain JOB of CONFIG, a line a fact. MACHINE is the zone that cron reckons in."""
    zone = config.zone_of(job)
    if job.schedule is None:
        return [*_without_schedule(job), *_limits(job)]
    return [
        *_schedule(job.schedule, zone),
        f"Started by {_STARTERS[job.runs_by]}",
        *_which_slots(job),
        f"Up to {durations.render(job.grace)} late it still runs; it is ended after {durations.render(job.deadline)}",
        *_how_it_starts(job),
        *_conditions(job),
        *_limits(job),
        *(f"Next: {_instant(slot, zone)}" for slot in cron.upcoming(job.schedule, now, zone, _COMING)),
        *_notes(job.schedule),
        *(clock_changes.lines(job.schedule, zone, now) if not isinstance(job.schedule, AtBoot) else ()),
        *_differences(job, job.schedule, zone, agrees=wall_clock.agree(zone, machine, now, now + clock_changes.AHEAD)),
    ]


def _without_schedule(job: Job) -> Iterator[str]:
    if job.after:
        have = "has" if len(job.after) == 1 else "have"
        yield f"It runs when {_all(job.after)} {have} succeeded since its last time"
    else:
        yield f"{job.name} has no schedule: it runs by hand only (pi-appliance jobs run {job.name})"


def _schedule(schedule: Schedule, zone: ZoneInfo) -> Iterator[str]:
    if isinstance(schedule, Cron):
        yield from (f"{cron_expression.in_words(each)} ({zone.key})" for each in schedule.expressions)
    else:
        yield cron.explain(schedule)


def _which_slots(job: Job) -> Iterator[str]:
    if job.chance:
        yield f"The chance uses {job.chance} of the slots; which ones: pi-appliance jobs next {job.name}"
    if job.jitter:
        yield f"Each slot starts up to {durations.render(job.jitter)} later, by a draw of its own"


def _how_it_starts(job: Job) -> Iterator[str]:
    caught = job.catch_up
    if caught.window:
        which = "the newest is" if caught.at_most == 1 else f"the newest {caught.at_most} are"
        spread = f", spread over {durations.render(caught.spread)}" if caught.spread else ""
        window = durations.render(caught.window)
        yield f"Of the slots of the last {window} that could not start, {which} made up for{spread}"
    if job.overlap in _OVERLAPS:
        yield _OVERLAPS[job.overlap]


def _conditions(job: Job) -> Iterator[str]:
    if job.only_if:
        asked = job.only_if
        wanted = [
            *(
                [f"the processor is below {asked.temperature_below:g} °C"]
                if asked.temperature_below is not None
                else ()
            ),
            *(["the power is good and heat does not slow it down"] if asked.not_throttled else ()),
            *([f"{amounts.render_size(asked.disk_free)} of the disk are free"] if asked.disk_free else ()),
            *(["the network has a way out"] if asked.online else ()),
            *([f"`{shlex.join(asked.command)}` ends with status 0"] if asked.command else ()),
        ]
        if wanted:
            yield f"A slot is used only if {_all(wanted)}"
    if job.pause_when:
        hot = job.pause_when.temperature_above
        held = [
            *([f"the processor is above {hot:g} °C"] if hot is not None else ()),
            *(["the power is bad or heat slows it down"] if job.pause_when.throttled else ()),
        ]
        if held:
            yield f"A run is held while {' or '.join(held)}"


def _all(words: Sequence[str]) -> str:
    return clock_changes.listed(words, most=len(words))


def _limits(job: Job) -> Iterator[str]:
    limits = [
        *([f"{amounts.render_size(job.memory)} of memory"] if job.memory else ()),
        *([f"{job.cpu}% of one processor"] if job.cpu else ()),
    ]
    if limits:
        yield f"It may use {' and '.join(limits)} at most"
    if job.nice:
        yield f"It steps back where others want the processor too (nice {job.nice})"


def _notes(schedule: Schedule) -> Iterator[str]:
    for expression in schedule.expressions if isinstance(schedule, Cron) else ():
        yield from (f"Note: {wrong}; {right}" for wrong, right in cron_lints.lints(expression))


def _differences(job: Job, schedule: Schedule, zone: ZoneInfo, *, agrees: bool) -> Iterator[str]:
    if isinstance(schedule, Every):
        seconds = ", and it counts in minutes" if schedule.interval % timedelta(minutes=1) else ""
        yield f"Cron could not run this: it knows no intervals{seconds}"
        return
    if isinstance(schedule, Cron):
        if agrees:
            yield "Cron and the daemon agree on the instants, on the days the clock is changed too"
        else:
            yield f"Cron could not run this by {zone.key}: it knows only the zone of the machine"
    if job.runs_by is RunsBy.CRON:
        yield "Cron looks at its table once a minute, so it starts up to a second or two later than the daemon"
        return
    yield "Cron would also run it while the daemon is down; write runs-by: cron for that"
    if job.catch_up.window:
        yield "Cron would make up for nothing: it never looks back"


def _instant(slot: datetime, zone: ZoneInfo) -> str:
    return slot.astimezone(zone).strftime("%a %Y-%m-%d %H:%M:%S").removesuffix(":00")
