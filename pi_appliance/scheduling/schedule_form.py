"""A schedule and a chance as the fields of a form, and back.

`Repeat` has the forms of a schedule that people choose between. Every other schedule is shown as a
list of cron expressions. A value that was not changed is not written again, so it keeps its form in
the file.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from pi_appliance.config import units
from pi_appliance.scheduling import schedule
from pi_appliance.scheduling.chance import parse_chance
from pi_appliance.scheduling.schedule import WEEKDAYS, AtBoot, Cron, Every, Schedule

WEEK = (*WEEKDAYS[1:], WEEKDAYS[0])
_UNITS = {"h": timedelta(hours=1), "m": timedelta(minutes=1), "s": timedelta(seconds=1)}


class Repeat(StrEnum):
    """How a schedule repeats."""

    NONE = "none"
    TIMES = "times"
    EVERY = "every"
    MONTHLY = "monthly"
    BOOT = "boot"
    CRON = "cron"


LABELS = {
    Repeat.NONE: "by hand",
    Repeat.TIMES: "at times",
    Repeat.EVERY: "every …",
    Repeat.MONTHLY: "monthly",
    Repeat.BOOT: "at start",
    Repeat.CRON: "cron",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleForm:
    """The fields as they are typed: a schedule, and a chance as "one time in …".

    `chance` is used for a chance that has no "one time in …", such as 2/3.
    """

    repeat: str = Repeat.NONE
    times: Sequence[str] = ("06:00",)
    days: Sequence[str] = WEEK
    count: str = "15"
    unit: str = "m"
    day: str = "1"
    time: str = "06:00"
    cron: str = ""
    one_in: str = ""
    chance: str = ""

    @classmethod
    def of_values(cls, written: object, chance: object = None) -> "ScheduleForm":
        """Return the form of the valid values in a file."""
        fields: dict[str, object] = {}
        if written is not None:
            parsed = schedule.parse_schedule(written)
            fields = {"cron": _expressions(written, parsed), **_fields(parsed)}
        if chance is not None:
            share = parse_chance(chance).fraction
            fields |= {"one_in": str(share.denominator)} if share.numerator == 1 else {"chance": str(chance)}
        return cls(**fields)  # type: ignore[arg-type]

    @classmethod
    def typed(cls, values: Mapping[str, str], times: Sequence[str], days: Sequence[str]) -> "ScheduleForm":
        """Return the form that a browser sent. Each line of `times` may have several times."""
        names = ("repeat", "count", "unit", "day", "time", "cron", "one_in", "chance")
        sent = {name: values[name].strip() for name in names if name in values}
        return cls(
            **sent,
            times=[time for line in times for time in line.replace(",", " ").split()],
            days=[day for day in days if day],
        )

    def changes(self, written: object, chance: object) -> dict[tuple[str | int, ...], object]:
        """Return the values that differ from those in the file, by the paths of their keys.

        Raises:
            FieldError: A field is wrong.
        """
        changes: dict[tuple[str | int, ...], object] = {}
        with _naming("schedule"):
            value = self.schedule_value()
            if not _is_same(value, written):
                changes["schedule",] = value
        with _naming("chance"):
            share = self.chance_value()
            before = None if chance is None else parse_chance(chance)
            if before != (None if share is None else parse_chance(share)):
                changes["chance",] = share
        return changes

    def schedule_value(self) -> object:
        """Return the schedule as plain data of YAML, None for none.

        Raises:
            ValueError: A field is wrong.
        """
        match self.repeat:
            case Repeat.TIMES:
                return self._times()
            case Repeat.EVERY:
                if not self.count.isdecimal() or int(self.count) == 0 or self.unit not in _UNITS:
                    raise ValueError("write how many minutes or hours, such as 15")
                return f"every {units.format_duration(int(self.count) * _UNITS[self.unit])}"
            case Repeat.MONTHLY:
                if not self.day.isdecimal():
                    raise ValueError("write the day of the month, 1 to 28")
                time = schedule.parse_time(self.time)
                return f"{time.minute} {time.hour} {int(self.day)} * *"
            case Repeat.BOOT:
                return "@reboot"
            case Repeat.CRON:
                lines = [line.strip() for line in self.cron.splitlines() if line.strip()]
                if not lines:
                    raise ValueError('write a cron expression, such as "0 6 * * *"')
                return lines[0] if len(lines) == 1 else lines
        return None

    def _times(self) -> object:
        if not self.times:
            raise ValueError("write a time of day, such as 06:00")
        times = sorted(f"{schedule.parse_time(each):%H:%M}" for each in dict.fromkeys(self.times))
        days = schedule.parse_days(list(self.days)) if self.days else units.EVERY_DAY
        return times if days == units.EVERY_DAY else {"times": times, "days": schedule.group_days(days)}

    def chance_value(self) -> object:
        """Return the chance as plain data of YAML, None for every slot. Raises ValueError."""
        if self.chance:
            return str(parse_chance(self.chance))
        if not self.one_in or self.one_in == "1":
            return None
        if not self.one_in.isdecimal() or int(self.one_in) == 0:
            raise ValueError("write how many times there are for one that is used, such as 4")
        return f"1/{int(self.one_in)}"


class FieldError(ValueError):
    """The field `key` of a form is wrong."""

    def __init__(self, key: str, message: str) -> None:
        self.key = key
        super().__init__(message)


@contextlib.contextmanager
def _naming(key: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise FieldError(key, str(error)) from None


def _is_same(value: object, written: object) -> bool:
    if value is None or written is None:
        return value is written
    one, other = schedule.parse_schedule(value), schedule.parse_schedule(written)
    weekly = schedule.weekly_times(one)
    return one == other or (weekly is not None and weekly == schedule.weekly_times(other))


def _fields(parsed: Schedule) -> Mapping[str, object]:
    weekly = schedule.weekly_times(parsed)
    if weekly is not None:
        return {"repeat": Repeat.TIMES, "times": weekly[0], "days": [day for day in WEEK if _has_day(weekly[1], day)]}
    match parsed:
        case AtBoot():
            return {"repeat": Repeat.BOOT}
        case Every(interval):
            unit = next(unit for unit, length in _UNITS.items() if interval % length == timedelta(0))
            return {"repeat": Repeat.EVERY, "count": str(interval // _UNITS[unit]), "unit": unit}
        case Cron((expression,)) if day := _day_of_month(expression):
            minute, hour = expression.split()[:2]
            return {"repeat": Repeat.MONTHLY, "day": str(day), "time": f"{int(hour):02}:{int(minute):02}"}
    return {"repeat": Repeat.CRON}


def _has_day(days: units.Days, name: str) -> bool:
    return WEEKDAYS.index(name) in days


def _day_of_month(expression: str) -> int:
    """Return the day if `expression` is one time on one day of each month, else 0."""
    minute, hour, day, month, weekday = expression.split()
    is_one = minute.isdecimal() and hour.isdecimal() and day.isdecimal() and (month, weekday) == ("*", "*")
    return int(day) if is_one else 0


def _expressions(written: object, parsed: Schedule) -> str:
    if isinstance(written, str):
        return written if isinstance(parsed, Cron) else ""
    return "\n".join(parsed.expressions) if isinstance(parsed, Cron) else ""
