"""Explain a job: its times, lints, clock changes, conditions, and differences from cron."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from pi_appliance.config import units
from pi_appliance.config.options import ConcurrencyPolicy, Config, Job, Priority, StartedBy
from pi_appliance.config.units import EVERY_DAY, Days
from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.chance import Chance
from pi_appliance.scheduling.schedule import (
    MONTH_LENGTHS,
    MONTHS,
    STEP_FIELD,
    WEEKDAYS,
    AtBoot,
    Cron,
    CronFields,
    Every,
    Schedule,
    describe_expression,
    group_days,
    is_fixed,
    local_times,
    matches_dom_or_dow,
    parse_fields,
    weekly_times,
)
from pi_appliance.scheduling.slot_times import OffsetSpan

CHANGE_HORIZON = timedelta(days=548)
"""How far to search for clock changes: 18 months always contain both changes of a year."""
_MAX_LISTED = 4  # times that are listed one by one
_NEXT_SLOTS = 3  # next slots that are listed
_FEBRUARY, _LEAP_DAY, _SHORTEST = 2, 29, 28
_STARTERS = {
    StartedBy.DAEMON: "the daemon, while it is up (pi-appliance up)",
    StartedBy.CRON: "cron, once it is installed there (pi-appliance jobs install)",
}
_OVERLAPS = {
    ConcurrencyPolicy.QUEUE: "A slot that comes during a run waits for its end",
    ConcurrencyPolicy.REPLACE: "A slot that comes during a run stops that run and replaces it",
}

_NUMBERS = dict(enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 1))
_DAY_GROUPS = {"every day": "every day", "Mon - Fri": "on weekdays", "Sat, Sun": "at weekends"}

Lint = tuple[str, str]
"""An oddity and a better form."""


def explain_job(config: Config, job: Job, now: datetime, *, machine: ZoneInfo) -> list[str]:
    """Explain `job` of `config`, one fact per line. `machine` is the time zone that cron uses."""
    zone, schedule = config.zone_of(job), job.schedule
    if schedule is None:
        return [_explain_without_schedule(job), *_explain_triggers(job), *_explain_limits(job)]
    expressions = schedule.expressions if isinstance(schedule, Cron) else ()
    late, timeout = units.format_duration(job.misfire_grace), units.format_duration(job.timeout)
    return [
        *([f"{describe_expression(each)} ({zone.key})" for each in expressions] or [describe_schedule(schedule)]),
        f"Started by {_STARTERS[job.started_by]}",
        *_explain_triggers(job),
        *_explain_selection(job),
        f"It may start up to {late} late and is stopped after {timeout}",
        *_explain_start(job),
        *_explain_conditions(job),
        *_explain_limits(job),
        *(f"Next: {_format_slot(slot, zone)}" for slot in slot_times.next_slots(schedule, now, zone, _NEXT_SLOTS)),
        *(f"Note: {wrong}; {right}" for each in expressions for wrong, right in find_lints(each)),
        *(describe_changes(schedule, zone, now) if not isinstance(schedule, AtBoot) else ()),
        *_compare_with_cron(
            job, schedule, zone, slot_times.have_same_offsets(zone, machine, now, now + CHANGE_HORIZON)
        ),
    ]


def describe_schedule(schedule: Schedule) -> str:
    """Describe `schedule` in English."""
    match schedule:
        case Cron(expressions):
            return "; ".join(map(describe_expression, expressions))
        case Every(interval):
            return f"Every {units.format_duration(interval)}, counted from midnight of 1970-01-01 UTC"
        case AtBoot():
            return "Once each time the machine starts"


def describe_days(days: Days) -> str:
    """Return `days` as words, such as "every day" or "Mon - Fri, Sun"."""
    if days == EVERY_DAY:
        return "every day"
    return ", ".join(" - ".join(map(str.title, each.split("-"))) for each in group_days(days, across_sunday=True))


def describe_times(schedule: Schedule | None) -> str:
    """Return the times of `schedule` in a few words, such as "06:45, Mon - Fri"."""
    weekly = weekly_times(schedule)
    if schedule is None:
        return "no schedule"
    return f"{join_words(weekly[0])}, {describe_days(weekly[1])}" if weekly else describe_schedule(schedule)


def describe_when(schedule: Schedule | None, chance: Chance | None = None) -> str:
    """Return when a job runs, such as "every day at 06:00, one time in four"."""
    share = f", {describe_chance(chance)}" if chance else ""
    weekly = weekly_times(schedule)
    if schedule is None:
        return "only when you start it"
    if weekly:
        days = describe_days(weekly[1])
        return f"{_DAY_GROUPS.get(days, f'on {days}')} at {join_words(weekly[0])}{share}"
    if isinstance(schedule, Every):
        return f"every {_describe_interval(schedule.interval)}{share}"
    text = describe_schedule(schedule)
    return f"{text[:1].lower()}{text[1:]}{share}"


def describe_job_times(job: Job) -> str:
    """Return when `job` runs, also after which jobs."""
    if job.triggers.any and not job.depends_on and job.schedule is None:
        return job.triggers.describe()
    return f"after {_join_all(job.depends_on)}" if job.depends_on else describe_when(job.schedule, job.chance)


def _describe_interval(interval: timedelta) -> str:
    for unit, length in (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1))):
        count, rest = divmod(interval, length)
        if not rest:
            return unit if count == 1 else f"{count} {unit}s"
    return units.format_duration(interval)


def describe_chance(chance: Chance) -> str:
    """Return `chance` in words, such as "one time in four"."""
    share = chance.fraction
    if share.denominator == 1:
        return "every time"
    count, of = (_NUMBERS.get(each, str(each)) for each in (share.numerator, share.denominator))
    return f"{count} {'time' if share.numerator == 1 else 'times'} in {of}"


def join_words(words: Sequence[str], *, most: int = _MAX_LISTED) -> str:
    """Join `words` with commas and "and". Beyond `most` words, the middle is left out."""
    if len(words) > most:
        return f"{', '.join(words[: most - 1])} … {words[-1]}"
    return " and ".join((*([", ".join(words[:-1])] if words[:-1] else ()), words[-1]))


def _explain_triggers(job: Job) -> list[str]:
    return [f"It {'also ' * (job.schedule is not None)}runs {job.triggers.describe()}"] if job.triggers.any else []


def _explain_without_schedule(job: Job) -> str:
    if job.triggers.any and not job.depends_on:
        return f"{job.name} has no schedule"
    if job.depends_on:
        have = "has" if len(job.depends_on) == 1 else "have"
        return f"It runs when {_join_all(job.depends_on)} {have} succeeded since its last run"
    return f"{job.name} has no schedule: it runs only when you start it (pi-appliance jobs run {job.name})"


def _explain_selection(job: Job) -> Iterator[str]:
    if job.chance:
        yield f"The chance selects {job.chance} of the slots; to list them: pi-appliance jobs next {job.name}"
    if job.jitter:
        yield f"Each slot starts at a random time up to {units.format_duration(job.jitter)} later"


def _explain_start(job: Job) -> Iterator[str]:
    policy = job.catch_up
    if policy.max_age:
        which = "the newest is" if policy.max_runs == 1 else f"the newest {policy.max_runs} are"
        spread = f", spread over {units.format_duration(policy.stagger)}" if policy.stagger else ""
        yield f"Of the slots missed in the last {units.format_duration(policy.max_age)}, {which} run late{spread}"
    if job.concurrency in _OVERLAPS:
        yield _OVERLAPS[job.concurrency]


def _explain_conditions(job: Job) -> Iterator[str]:
    if job.conditions:
        limit, size, command = job.conditions.temperature_below, job.conditions.disk_free, job.conditions.command
        wanted = [
            *([f"the processor is below {limit:g} °C"] if limit is not None else ()),
            *(["the power supply is good and the processor is not throttled"] if job.conditions.not_throttled else ()),
            *([f"{units.format_size(size)} of the disk are free"] if size else ()),
            *(["the network has a default route"] if job.conditions.online else ()),
            *([f"`{shlex.join(command)}` ends with status 0"] if command else ()),
        ]
        if wanted:
            yield f"A slot is used only if {_join_all(wanted)}"
    if job.suspend_when:
        limit = job.suspend_when.temperature_above
        reasons = [
            *([f"the processor is above {limit:g} °C"] if limit is not None else ()),
            *(["the power supply is bad or the processor is throttled"] if job.suspend_when.throttled else ()),
        ]
        if reasons:
            yield f"A run is suspended while {' or '.join(reasons)}"


def _explain_limits(job: Job) -> Iterator[str]:
    limits = [
        *([f"{units.format_size(job.memory)} of memory"] if job.memory else ()),
        *([f"{job.cpu}% of one processor"] if job.cpu else ()),
    ]
    if limits:
        yield f"It may use at most {' and '.join(limits)}"
    if job.nice:
        yield f"Other programs have priority on the processor (nice {job.nice})"
    if job.priority is Priority.URGENT:
        yield "It never waits for runs of other jobs to end"
    elif job.priority is not None:
        yield f"Its priority among runs that wait for others to end is {job.priority}"


def _compare_with_cron(job: Job, schedule: Schedule, zone: ZoneInfo, same_clock: bool) -> Iterator[str]:
    if isinstance(schedule, Every):
        unit = ", and its smallest unit is a minute" if schedule.interval % timedelta(minutes=1) else ""
        yield f"Cron cannot run this: it has no intervals{unit}"
        return
    if isinstance(schedule, Cron):
        if same_clock:
            yield "Cron and the daemon run it at the same times, also when the clock changes"
        else:
            yield f"Cron cannot run this in {zone.key}: it uses only the time zone of the machine"
    if job.started_by is StartedBy.CRON:
        yield "Cron checks its table once a minute, so it starts up to two seconds later than the daemon"
        return
    yield "Cron also runs jobs while the daemon is down; for that write started-by: cron"
    if job.catch_up.max_age:
        yield "Cron would not catch up on missed slots"


def _format_slot(slot: datetime, zone: ZoneInfo) -> str:
    return slot.astimezone(zone).strftime("%a %Y-%m-%d %H:%M:%S").removesuffix(":00")


def _join_all(words: Sequence[str]) -> str:
    return join_words(words, most=len(words))


# Clock changes


@dataclass(frozen=True, slots=True)
class DstEffect:
    """The effect of a clock change: `summary` is about the times, `consequence` about the job."""

    summary: str
    consequence: str


def next_changes(zone: ZoneInfo, now: datetime) -> Iterator[OffsetSpan]:
    """Return the clock changes of `zone` in the next 18 months, as the spans they begin."""
    return slot_times.clock_changes(zone, now, now + CHANGE_HORIZON)


def find_effect(expression: str, change: OffsetSpan) -> DstEffect | None:
    """Return the effect of `change` on `expression` in Debian's cron, or None if there is none."""
    low, high = _affected_times(change)
    times = [f"{each:%H:%M}" for each in takewhile(lambda local: local < high, local_times(expression, low))]
    if not times:
        return None
    many, fixed = len(times) > 1, is_fixed(expression)
    shown = join_words(times) + (f" ({len(times)} times)" if len(times) > _MAX_LISTED else "")
    if change.shift > timedelta(0):
        summary = f"{shown} {'do' if many else 'does'} not exist"
        if change.skipped_from(fixed=fixed) is None:
            return DstEffect(summary, f"it does not run for {'them' if many else 'it'}")
        return DstEffect(summary, f"it runs {'once for them, ' if many else ''}at {high:%H:%M}")
    summary = f"{shown} {'occur' if many else 'occurs'} twice"
    if change.first_local_time(fixed=fixed) < high:
        return DstEffect(summary, "it runs both times")
    return DstEffect(summary, f"it runs once{' for each' if many else ''}, the first time")


def describe_changes(schedule: Schedule, zone: ZoneInfo, now: datetime) -> list[str]:
    """Return a line for each of the next two clock changes in `zone`, with its effect."""
    changes = list(islice(next_changes(zone, now), 2))
    if not changes:
        return [f"In {zone.key} the clock does not change in the next 18 months"]
    return [
        f"{format_change_day(change)} the clock goes from {' to '.join(format_change_times(change))}: "
        + _describe_effects(schedule, change)
        for change in changes
    ]


def format_change_day(change: OffsetSpan) -> str:
    """Return the day of `change`, such as Sun 2027-03-28."""
    return f"{_affected_times(change)[0]:%a %Y-%m-%d}"


def format_change_times(change: OffsetSpan) -> tuple[str, str]:
    """Return the local times before and after `change`, such as 02:00 and 03:00."""
    low, high = _affected_times(change)
    earlier, later = f"{low:%H:%M}", f"{high:%H:%M}"
    if low.date() != high.date():  # on the day of `low`, midnight is 24:00
        is_midnight = high - low < timedelta(days=1) and later == "00:00"
        later = "24:00" if is_midnight else f"{high:%a %Y-%m-%d %H:%M}"
    return (earlier, later) if change.shift > timedelta(0) else (later, earlier)


def _affected_times(change: OffsetSpan) -> tuple[datetime, datetime]:
    """Return the local times that `change` skips or repeats: the first, and the end."""
    after = change.to_local(change.start)
    before = after - change.shift
    return min(before, after), max(before, after)


def _describe_effects(schedule: Schedule, change: OffsetSpan) -> str:
    if not isinstance(schedule, Cron):
        return "nothing changes, because intervals do not follow the local time"
    effects = [each for expression in schedule.expressions if (each := find_effect(expression, change))]
    return "; ".join(f"{each.summary}; {each.consequence}" for each in effects) or "nothing changes"


# Lints


def find_lints(expression: str) -> Iterator[Lint]:
    """Yield the parts of a valid `expression` that look unintended, whatever the time zone."""
    fields = parse_fields(expression)
    yield from _uneven_steps(expression, fields)
    yield from _two_kinds_of_day(expression, fields)
    yield from _days_some_months_lack(expression, fields)


def find_dst_lints(expression: str, zone: ZoneInfo, now: datetime) -> Iterator[Lint]:
    """Yield the effect, if any, of the next clock changes in `zone` on an `expression`."""
    changes = list(next_changes(zone, now))
    minute, hour, *_ = expression.split()
    if not changes or hour.startswith("*"):
        return  # an hourly job has no fixed hour
    fields = parse_fields(expression)
    full = minute if len(fields.minutes) == 60 else hour if len(fields.hours) == 24 else ""
    if is_fixed(expression) and full:
        wrong = f"{full} is not * to cron: when the clock goes back, it does not run in the hour that occurs twice"
        yield wrong, f"write * to run it at each of these local times: {expression.replace(full, '*', 1)!r}"
        return
    effects: dict[bool, str] = {}  # key: forward or backward; value: the first such change
    for change in changes:
        if effect := find_effect(expression, change):
            line = f"on {format_change_day(change)} {effect.summary}, {effect.consequence}"
            effects.setdefault(change.shift > timedelta(0), line)
    if effects:
        yield f"in {zone.key} {'; '.join(effects.values())}", "write another time if that matters"


def _uneven_steps(expression: str, fields: CronFields) -> Iterator[Lint]:
    minute, hour, date, month, weekday = expression.split()
    for field, numbers, size, unit, whole in (
        (minute, fields.minutes, 60, "minute", "hour"),
        (hour, fields.hours, 24, "hour", "day"),
    ):
        if (step := _parse_step(field)) and size % step:
            right = f"write a step that divides {size}; for even gaps: every {step}{unit[0]}"
            yield f"{field} means {unit} {_list_numbers(numbers)} of each {whole}, not every {step} {unit}s", right
    if (step := _parse_step(date)) and step > 1:
        wrong = f"{date} means day {_list_numbers(fields.days)} of each month, and then the 1st again"
        yield wrong, f"write the days; for even gaps: every {step}d"
    if (step := _parse_step(month)) and 12 % step:
        wrong = f"{month} means {', '.join(MONTHS[each - 1] for each in sorted(fields.months))} of each year"
        yield wrong, "write a step that divides 12, or the months"
    if (step := _parse_step(weekday)) and step > 1:
        wrong = f"{weekday} means {_list_weekdays(fields)} of each week, not every {step} days"
        yield wrong, "write the days, such as mon,wed,fri"


def _two_kinds_of_day(expression: str, fields: CronFields) -> Iterator[Lint]:
    minute, hour, date, month, weekday = expression.split()
    if matches_dom_or_dow(expression):
        if fields.every_day != fields.every_weekday:
            full = date if fields.every_day else weekday
            yield f"{full} is not * to cron, and either day is enough: it runs every day", f"write * for {full}"
        elif not fields.every_day:
            wrong = f"cron takes either day: day {_list_numbers(fields.days)} of a month, and each"
            right = f'to say so, write ["{minute} {hour} {date} {month} *", "{minute} {hour} * {month} {weekday}"]'
            yield f"{wrong} {_list_weekdays(fields)}", right
    elif not fields.every_day and not fields.every_weekday:
        starred, plain = (date, f"1-31{date[1:]}") if date.startswith("*") else (weekday, f"0-6{weekday[1:]}")
        wrong = f"{date} and {weekday} must both fit, for {starred} begins with *"
        yield wrong, f"if either day is enough, write {plain} for {starred}"


def _days_some_months_lack(expression: str, fields: CronFields) -> Iterator[Lint]:
    day = max((int(part) for part in expression.split()[2].split(",") if part.isdigit()), default=0)
    if day <= _SHORTEST or _SHORTEST in fields.days:  # an expression with the 28th covers the end of each month
        return
    right = "the last day that every month has is the 28th"
    if missing := [MONTHS[each - 1] for each in sorted(fields.months) if MONTH_LENGTHS[each] < day]:
        yield f"there is no day {day} in {', '.join(missing)}: it does not run then", right
    elif day == _LEAP_DAY and _FEBRUARY in fields.months:
        yield f"there is a day {day} in feb in leap years only", right


def _parse_step(field: str) -> int | None:
    match = STEP_FIELD.fullmatch(field)
    return int(match[1]) if match else None


def _list_numbers(numbers: frozenset[int]) -> str:
    return join_words([str(each) for each in sorted(numbers)])


def _list_weekdays(fields: CronFields) -> str:
    return ", ".join(WEEKDAYS[each] for each in sorted({each % 7 for each in fields.weekdays}))
