"""Explain a job: when it runs, its conditions, and differences between cron and the daemon."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from pi_appliance.config import units
from pi_appliance.config.model import ConcurrencyPolicy, Config, Job, StartedBy
from pi_appliance.scheduling import cron, instants
from pi_appliance.scheduling.cron import MONTH_LENGTHS, STEP_FIELD, CronFields, parse_fields
from pi_appliance.scheduling.instants import OffsetSpan
from pi_appliance.scheduling.schedule import AtBoot, Cron, Every, Schedule

CHANGE_HORIZON = timedelta(days=548)
"""How far to search: 18 months, so that both changes of a year are always found."""
_MIDNIGHT = "00:00"
_SHOWN = 4  # times that are listed individually


@dataclass(frozen=True, slots=True)
class DstEffect:
    """Effect of a clock change: `what` happens to the times, and `so` how the job runs."""

    summary: str
    consequence: str

    def __str__(self) -> str:
        """Return both parts."""
        return f"{self.summary}; {self.consequence}"


def next_changes(zone: ZoneInfo, now: datetime) -> Iterator[OffsetSpan]:
    """Return the clock changes of `zone` in the next 18 months, as the spans they begin."""
    return instants.clock_changes(zone, now, now + CHANGE_HORIZON)


def affected_times(change: OffsetSpan) -> tuple[datetime, datetime]:
    """Return the local times that `change` skips or repeats: the first, and the end."""
    after = change.to_local(change.start)
    before = after - change.shift
    return min(before, after), max(before, after)


def find_effect(expression: str, change: OffsetSpan) -> DstEffect | None:
    """Return the effect of `change` on `expression` in Debian's cron, or None without one."""
    low, high = affected_times(change)
    times = list(takewhile(lambda local: local < high, cron.local_times(expression, low)))
    if not times:
        return None
    many, fixed = len(times) > 1, cron.is_fixed(expression)
    listed = _list_times(times)
    if change.shift > timedelta(0):
        what = f"{listed} {'do' if many else 'does'} not exist"
        if change.skipped_from(fixed=fixed) is None:
            return DstEffect(what, f"it does not run for {'them' if many else 'it'}")
        return DstEffect(what, f"it runs {'once for them, ' if many else ''}at {high:%H:%M}")
    what = f"{listed} {'come' if many else 'comes'} twice"
    if change.first_local_time(fixed=fixed) < high:
        return DstEffect(what, "it runs both times")
    return DstEffect(what, f"it runs once{' for each' if many else ''}, the first time")


def describe_changes(schedule: Schedule, zone: ZoneInfo, now: datetime) -> list[str]:
    """Return a line for each of the next two clock changes in `zone`, with its effect."""
    changes = list(islice(next_changes(zone, now), 2))
    if not changes:
        return [f"In {zone.key} the clock is not changed within 18 months"]
    return [_change_line(schedule, change) for change in changes]


def format_change_day(change: OffsetSpan) -> str:
    """Return the day of `change`, such as Sun 2027-03-28."""
    return f"{affected_times(change)[0]:%a %Y-%m-%d}"


def format_change_times(change: OffsetSpan) -> tuple[str, str]:
    """Return the local times before and after `change`, such as 02:00 and 03:00."""
    low, high = affected_times(change)
    earlier, later = f"{low:%H:%M}", _format_end(low, high)
    return (earlier, later) if change.shift > timedelta(0) else (later, earlier)


def _format_end(low: datetime, high: datetime) -> str:
    """Return the time `high` as seen from the day of `low`: midnight is 24:00."""
    if low.date() == high.date():
        return f"{high:%H:%M}"
    if high - low < timedelta(days=1) and f"{high:%H:%M}" == _MIDNIGHT:
        return "24:00"
    return f"{high:%a %Y-%m-%d %H:%M}"


def join_words(words: Sequence[str], *, most: int = _SHOWN) -> str:
    """Join `words` with commas and "and". Beyond `most` words, the middle is left out."""
    if len(words) > most:
        return f"{', '.join(words[: most - 1])} … {words[-1]}"
    return " and ".join((*([", ".join(words[:-1])] if words[:-1] else ()), words[-1]))


def _change_line(schedule: Schedule, change: OffsetSpan) -> str:
    before, after = format_change_times(change)
    return f"{format_change_day(change)} the clock goes from {before} to {after}: {_describe_effects(schedule, change)}"


def _describe_effects(schedule: Schedule, change: OffsetSpan) -> str:
    if not isinstance(schedule, Cron):
        return "nothing changes, its slots do not go by the clock on the wall"
    effects = [each for expression in schedule.expressions if (each := find_effect(expression, change))]
    return "; ".join(map(str, effects)) or "nothing changes"


def _list_times(times: Sequence[datetime]) -> str:
    return join_words([f"{each:%H:%M}" for each in times]) + (f" ({len(times)} times)" if len(times) > _SHOWN else "")


Lint = tuple[str, str]
"""An oddity and a better form."""
_MONTHS = ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FEBRUARY, _LEAP_DAY, _SHORTEST = 2, 29, 28


def find_lints(expression: str) -> Iterator[Lint]:
    """Yield the oddities of `expression` in any zone. `parse` has accepted it."""
    yield from _uneven_steps(expression)
    yield from _two_kinds_of_day(expression)
    yield from _days_some_months_lack(expression)


def find_dst_lints(expression: str, zone: ZoneInfo, now: datetime) -> Iterator[Lint]:
    """Yield the effect of the next clock changes in `zone` on an `expression` with a fixed hour.

    There is at most one entry.
    """
    changes = list(next_changes(zone, now))
    if not changes or expression.split()[1].startswith("*"):
        return  # an hourly job has no particular hour
    if cron.is_fixed(expression) and (full := _full_field(expression)):
        wrong = f"{full} is not * to cron: where the clock is put back it does not run in the hour that comes again"
        yield wrong, f"write * to have it run whenever the clock shows it: {expression.replace(full, '*', 1)!r}"
        return
    effects: dict[bool, str] = {}  # the first change each way
    for change in changes:
        if effect := find_effect(expression, change):
            effects.setdefault(
                change.shift > timedelta(0), f"on {format_change_day(change)} {effect.summary}, {effect.consequence}"
            )
    if effects:
        yield f"in {zone.key} {'; '.join(effects.values())}", "write another time if that matters"


def _uneven_steps(expression: str) -> Iterator[Lint]:
    minute, hour, date, month, weekday = expression.split()
    read = parse_fields(expression)
    for field, named, length, unit, whole in (
        (minute, read.minutes, 60, "minute", "hour"),
        (hour, read.hours, 24, "hour", "day"),
    ):
        if (step := _parse_step(field)) and length % step:
            right = f"write a step that divides {length}; for even gaps: every {step}{unit[0]}"
            yield f"{field} means {unit} {_list_numbers(named)} of each {whole}, not every {step} {unit}s", right
    if (step := _parse_step(date)) and step > 1:
        wrong = f"{date} means day {_list_numbers(read.days)} of each month, and then the 1st again"
        yield wrong, f"write the days; for even gaps: every {step}d"
    if (step := _parse_step(month)) and 12 % step:
        wrong = f"{month} means {', '.join(_MONTHS[each] for each in sorted(read.months))} of each year"
        yield wrong, "write a step that divides 12, or the months"
    if (step := _parse_step(weekday)) and step > 1:
        wrong = f"{weekday} means {_list_weekdays(read)} of each week, not every {step} days"
        yield wrong, "write the days, such as mon,wed,fri"


def _two_kinds_of_day(expression: str) -> Iterator[Lint]:
    minute, hour, date, month, weekday = expression.split()
    read = parse_fields(expression)
    all_dates, all_weekdays = len(read.days) == 31, len({each % 7 for each in read.weekdays}) == 7
    if cron.matches_dom_or_dow(expression):
        if all_dates != all_weekdays:
            full = date if all_dates else weekday
            yield f"{full} is not * to cron, and either day is enough: it runs every day", f"write * for {full}"
        elif not all_dates:
            right = f'to say so, write ["{minute} {hour} {date} {month} *", "{minute} {hour} * {month} {weekday}"]'
            yield (
                f"cron takes either day: day {_list_numbers(read.days)} of a month, and each {_list_weekdays(read)}",
                right,
            )
    elif not all_dates and not all_weekdays:
        starred, plain = (date, f"1-31{date[1:]}") if date.startswith("*") else (weekday, f"0-6{weekday[1:]}")
        wrong = f"{date} and {weekday} must both fit, for {starred} begins with *"
        yield wrong, f"if either day is enough, write {plain} for {starred}"


def _days_some_months_lack(expression: str) -> Iterator[Lint]:
    read = parse_fields(expression)
    written = {int(part) for part in expression.split()[2].split(",") if part.isdigit()}
    day = max(written, default=0)
    if day <= _SHORTEST or _SHORTEST in read.days:  # with the 28th included, it covers the last days of a month
        return
    right = "the last day that every month has is the 28th"
    if lacking := [_MONTHS[each] for each in sorted(read.months) if MONTH_LENGTHS[each] < day]:
        yield f"there is no day {day} in {', '.join(lacking)}: it does not run then", right
    elif day == _LEAP_DAY and _FEBRUARY in read.months:
        yield f"there is a day {day} in feb in leap years only", right


def _parse_step(field: str) -> int | None:
    match = STEP_FIELD.fullmatch(field)
    return int(match[1]) if match else None


def _full_field(expression: str) -> str:
    """Return the first of minute and hour that names every value without a star, or ''."""
    minute, hour, *_ = expression.split()
    read = parse_fields(expression)
    return minute if len(read.minutes) == 60 else hour if len(read.hours) == 24 else ""


def _list_numbers(numbers: frozenset[int]) -> str:
    return join_words([str(each) for each in sorted(numbers)])


def _list_weekdays(read: CronFields) -> str:
    return ", ".join(_DAYS[each] for each in sorted({each % 7 for each in read.weekdays}))


_COMING = 3  # slots that are listed
_STARTERS = {
    StartedBy.DAEMON: "the daemon, while it is up (pi-appliance up)",
    StartedBy.CRON: "cron, once it is installed there (pi-appliance jobs install)",
}
_OVERLAPS = {
    ConcurrencyPolicy.QUEUE: "A slot that comes while a run goes on waits for its end",
    ConcurrencyPolicy.REPLACE: "A slot that comes while a run goes on ends that run and takes its place",
}


def explain_job(config: Config, job: Job, now: datetime, *, machine: ZoneInfo) -> list[str]:
    """Explain `job` of `config`, one fact a line. `machine` is the zone of cron."""
    zone = config.zone_of(job)
    if job.schedule is None:
        return [*_without_schedule(job), *_limit_lines(job)]
    return [
        *_schedule_lines(job.schedule, zone),
        f"Started by {_STARTERS[job.started_by]}",
        *_which_slots(job),
        f"Up to {units.format_duration(job.misfire_grace)} late it still runs; "
        f"it is ended after {units.format_duration(job.timeout)}",
        *_how_it_starts(job),
        *_condition_lines(job),
        *_limit_lines(job),
        *(f"Next: {_format_slot(slot, zone)}" for slot in instants.next_slots(job.schedule, now, zone, _COMING)),
        *_lint_notes(job.schedule),
        *(describe_changes(job.schedule, zone, now) if not isinstance(job.schedule, AtBoot) else ()),
        *_cron_differences(
            job, job.schedule, zone, agrees=instants.have_same_offsets(zone, machine, now, now + CHANGE_HORIZON)
        ),
    ]


def _without_schedule(job: Job) -> Iterator[str]:
    if job.depends_on:
        have = "has" if len(job.depends_on) == 1 else "have"
        yield f"It runs when {_join_all(job.depends_on)} {have} succeeded since its last time"
    else:
        yield f"{job.name} has no schedule: it runs by hand only (pi-appliance jobs run {job.name})"


def _schedule_lines(schedule: Schedule, zone: ZoneInfo) -> Iterator[str]:
    if isinstance(schedule, Cron):
        yield from (f"{cron.describe_expression(each)} ({zone.key})" for each in schedule.expressions)
    else:
        yield describe_schedule(schedule)


def _which_slots(job: Job) -> Iterator[str]:
    if job.chance:
        yield f"The chance uses {job.chance} of the slots; which ones: pi-appliance jobs next {job.name}"
    if job.jitter:
        yield f"Each slot starts up to {units.format_duration(job.jitter)} later, by a draw of its own"


def _how_it_starts(job: Job) -> Iterator[str]:
    caught = job.catch_up
    if caught.max_age:
        which = "the newest is" if caught.max_runs == 1 else f"the newest {caught.max_runs} are"
        spread = f", spread over {units.format_duration(caught.stagger)}" if caught.stagger else ""
        window = units.format_duration(caught.max_age)
        yield f"Of the slots of the last {window} that could not start, {which} made up for{spread}"
    if job.concurrency in _OVERLAPS:
        yield _OVERLAPS[job.concurrency]


def _condition_lines(job: Job) -> Iterator[str]:
    if job.conditions:
        conditions = job.conditions
        wanted = [
            *(
                [f"the processor is below {conditions.temperature_below:g} °C"]
                if conditions.temperature_below is not None
                else ()
            ),
            *(["the power is good and heat does not slow it down"] if conditions.not_throttled else ()),
            *([f"{units.format_size(conditions.disk_free)} of the disk are free"] if conditions.disk_free else ()),
            *(["the network has a way out"] if conditions.online else ()),
            *([f"`{shlex.join(conditions.command)}` ends with status 0"] if conditions.command else ()),
        ]
        if wanted:
            yield f"A slot is used only if {_join_all(wanted)}"
    if job.suspend_when:
        hot = job.suspend_when.temperature_above
        limits = [
            *([f"the processor is above {hot:g} °C"] if hot is not None else ()),
            *(["the power is bad or heat slows it down"] if job.suspend_when.throttled else ()),
        ]
        if limits:
            yield f"A run is held while {' or '.join(limits)}"


def _join_all(words: Sequence[str]) -> str:
    return join_words(words, most=len(words))


def _limit_lines(job: Job) -> Iterator[str]:
    limits = [
        *([f"{units.format_size(job.memory)} of memory"] if job.memory else ()),
        *([f"{job.cpu}% of one processor"] if job.cpu else ()),
    ]
    if limits:
        yield f"It may use {' and '.join(limits)} at most"
    if job.nice:
        yield f"It steps back where others want the processor too (nice {job.nice})"


def _lint_notes(schedule: Schedule) -> Iterator[str]:
    for expression in schedule.expressions if isinstance(schedule, Cron) else ():
        yield from (f"Note: {wrong}; {right}" for wrong, right in find_lints(expression))


def _cron_differences(job: Job, schedule: Schedule, zone: ZoneInfo, *, agrees: bool) -> Iterator[str]:
    if isinstance(schedule, Every):
        seconds = ", and it counts in minutes" if schedule.interval % timedelta(minutes=1) else ""
        yield f"Cron could not run this: it knows no intervals{seconds}"
        return
    if isinstance(schedule, Cron):
        if agrees:
            yield "Cron and the daemon agree on the instants, on the days the clock is changed too"
        else:
            yield f"Cron could not run this by {zone.key}: it knows only the zone of the machine"
    if job.started_by is StartedBy.CRON:
        yield "Cron looks at its table once a minute, so it starts up to a second or two later than the daemon"
        return
    yield "Cron would also run it while the daemon is down; write started-by: cron for that"
    if job.catch_up.max_age:
        yield "Cron would make up for nothing: it never looks back"


def _format_slot(slot: datetime, zone: ZoneInfo) -> str:
    return slot.astimezone(zone).strftime("%a %Y-%m-%d %H:%M:%S").removesuffix(":00")


def describe_schedule(schedule: Schedule) -> str:
    """Describe `schedule` in English."""
    match schedule:
        case Cron(expressions):
            return "; ".join(map(cron.describe_expression, expressions))
        case Every(interval):
            return f"Every {units.format_duration(interval)}, counted from midnight of 1970-01-01 UTC"
        case AtBoot():
            return "Once each time the machine starts"
