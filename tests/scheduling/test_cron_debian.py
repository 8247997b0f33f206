"""The golden table: our instants match Debian's cron on any day and at clock changes."""

import random
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from io import BytesIO
from itertools import islice, product
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.schedule import Cron, parse_expression
from tests.examples import repetitions
from tests.scheduling import debian_cron

EXPRESSIONS = 3_200
GREENWICH = ZoneInfo("UTC")
NAMES = {3: debian_cron.MONTHS, 4: debian_cron.DAYS[:7]}
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def random_expressions(seed: int, count: int) -> list[str]:
    """Return `count` different expressions that Debian's cron loads and that we do not refuse."""
    draw, result = random.Random(seed), dict[str, None]()
    while len(result) < count:
        fields = [_field(draw, number) if draw.random() < 0.6 else "*" for number in range(5)]
        if any(debian_cron.read(" ".join(fields)).times(datetime(2001, 1, 1), datetime(2005, 1, 1))):  # noqa: DTZ001
            result[" ".join(fields)] = None
    return list(result)


def _field(draw: random.Random, number: int) -> str:
    """Return one field: numbers, names, ranges and steps, alone or with commas between."""
    return ",".join(_part(draw, number) for _ in range(draw.choice([1, 1, 1, 2, 3])))


def _part(draw: random.Random, number: int) -> str:
    low, high = _BOUNDS[number]
    first, last = sorted(draw.sample(range(low, high + 1), 2))
    shape = draw.randrange(8)
    if shape == 0:
        return "*"
    if shape == 1:
        return f"*/{draw.randint(1, high + 9)}"
    if shape < 5:
        return _written(draw, number, draw.choice([first, last]))
    step = f"/{draw.randint(1, high)}" if shape == 7 else ""
    return f"{_written(draw, number, first)}-{_written(draw, number, last)}{step}"


def _written(draw: random.Random, number: int, value: int) -> str:
    names, place = NAMES.get(number, []), value - _BOUNDS[number][0]
    if place < len(names) and draw.random() < 0.4:
        return draw.choice([str.lower, str.title, str.upper])(names[place])
    return draw.choice([str(value), str(value), f"{value:02}"])


@pytest.mark.slow
def test_without_clock_changes_every_expression_matches_debian_cron() -> None:
    """Compare forty instants each, from a random day: rare expressions span leap years."""
    draw = random.Random(162)
    for expression in random_expressions(3, EXPRESSIONS):
        first = datetime(2026, 1, 1) + timedelta(minutes=draw.randrange(3 * 366 * 1440))  # noqa: DTZ001
        entry, ours = debian_cron.read(expression), parse_expression(expression)
        debians = list(islice(entry.times(first, first + timedelta(days=1500)), 40))
        after = first.replace(tzinfo=UTC) - timedelta(seconds=1)
        result = slot_times.next_slots(Cron((ours,)), after, GREENWICH, len(debians))
        assert result == [local.replace(tzinfo=UTC) for local in debians], expression


GOLDEN = [
    "30 2 * * *",
    "0 2 * * *",
    "0 3 * * *",
    "15,45 1-3 * * *",
    "0 * * * *",
    "0 0-23 * * *",
    "*/30 * * * *",
    "*/30 2 * * *",
    "0 */2 * * *",
    "* 2 * * *",
    "5-55/10 2,3 * * sun",
    "59 1 * * *",
    "0-59 2 * * *",
]
CHANGES = {
    ("Europe/Berlin", "spring"): datetime(2027, 3, 28, 1, tzinfo=UTC),
    ("Europe/Berlin", "autumn"): datetime(2027, 10, 31, 1, tzinfo=UTC),
    ("Australia/Lord_Howe", "spring"): datetime(2027, 10, 2, 15, 30, tzinfo=UTC),
    ("Australia/Lord_Howe", "autumn"): datetime(2027, 4, 3, 15, tzinfo=UTC),
    ("America/New_York", "spring"): datetime(2027, 3, 14, 7, tzinfo=UTC),
    ("America/New_York", "autumn"): datetime(2027, 11, 7, 6, tzinfo=UTC),
    ("Australia/Sydney", "spring"): datetime(2027, 10, 2, 16, tzinfo=UTC),
    ("Australia/Sydney", "autumn"): datetime(2027, 4, 3, 16, tzinfo=UTC),
    ("Pacific/Apia", "a day left out"): datetime(2011, 12, 30, 10, tzinfo=UTC),
    ("Africa/Casablanca", "Ramadan"): datetime(2027, 2, 7, 2, tzinfo=UTC),
    ("Africa/Casablanca", "its end"): datetime(2027, 3, 14, 2, tzinfo=UTC),
    ("Antarctica/Casey", "three hours back"): datetime(2010, 3, 4, 15, tzinfo=UTC),
    ("Antarctica/Casey", "three hours on"): datetime(2009, 10, 17, 18, tzinfo=UTC),
}


@lru_cache
def minutes_around(zone: ZoneInfo, change: datetime) -> debian_cron.Minutes:
    """Return the minutes from a day before `change` to two days after it."""
    return debian_cron.clock(zone, change - timedelta(days=1), change + timedelta(days=2))


def ours(expression: str, zone: ZoneInfo, minutes: debian_cron.Minutes) -> list[datetime]:
    """Return the slots of `expression` within `minutes`."""
    end, slots = minutes[-1][0], []
    for slot in slot_times.fire_times(
        Cron((parse_expression(expression),)), minutes[0][0] - timedelta(seconds=1), zone
    ):
        if slot > end:
            break
        slots.append(slot)
    return slots


@pytest.mark.slow_variants
@pytest.mark.parametrize(("place", "season"), CHANGES)
def test_with_clock_changes_every_expression_matches_debian_cron(place: str, season: str) -> None:
    zone, change = ZoneInfo(place), CHANGES[place, season]
    before = (change - timedelta(seconds=1)).astimezone(zone).utcoffset()
    assert before != change.astimezone(zone).utcoffset(), "the table above is wrong: the clock does not jump there"
    minutes = minutes_around(zone, change)
    for expression in [*GOLDEN, *random_expressions(change.day, 60)]:
        debians = debian_cron.fired(debian_cron.read(expression), minutes)
        assert ours(expression, zone, minutes) == debians, expression


def zone_that_jumps(change: datetime, minutes: int) -> ZoneInfo:
    """Return a zone whose clock moves forward by `minutes` at `change` only."""
    before = -(minutes // 2) * 60  # neither side may be a day away from UTC
    offsets = (before, before + minutes * 60)
    types = b"".join(each.to_bytes(4, "big", signed=True) + bytes(2) for each in offsets)
    counts = b"".join(count.to_bytes(4, "big") for count in (0, 0, 0, 1, 2, 4))
    when = int(change.timestamp()).to_bytes(4, "big")
    return ZoneInfo.from_file(BytesIO(b"TZif" + bytes(16) + counts + when + b"\x01" + types + b"ANY\0"), f"{minutes}")


JUMPS = [1, 3, 4, 5, 6, 30, 60, 178, 179, 180, 181, 300, 1440]


@pytest.mark.slow_variants
@pytest.mark.parametrize("minutes", [sign * size for size in JUMPS for sign in (1, -1)])
def test_every_size_of_clock_change_matches_debian_cron(minutes: int) -> None:
    change = datetime(2027, 6, 5, 23, 30, tzinfo=UTC)
    zone = zone_that_jumps(change, minutes)
    around = minutes_around(zone, change)
    often = ["* * * * *", "0-59 0-23 * * *", "*/7 * * * *", "1-59/4 * * * *", "29,30,31 0-23/2 * * *"]
    for expression in [*often, *GOLDEN, *random_expressions(abs(minutes), 20)]:
        debians = debian_cron.fired(debian_cron.read(expression), around)
        assert ours(expression, zone, around) == debians, expression


REFUSED = {
    "N/M": ["5/15 * * * *", "1-5,7/2 * * * *", "0 0 * * mon/2"],
    "#": ["0 0 * * mon#1", "0 0 * * 5#2", "# * * * *"],
    "L": ["0 0 L * *", "0 0 * * 5L", "0 0 * * L", "0 0 LW * *", "0 0 lw * *"],
    "a-a": ["3-3 * * * *", "0 0 * * mon-1", "05-5 * * * *", "0 0 * jan-jan *", "1,3-3 * * * *"],
    "a-a/n": ["3-3/2 * * * *", "0 0 * * 7-7/2"],
    "a~b": ["0~30 * * * *", "~ * * * *", "1~ * * * *"],
    "backwards": ["0 22-2 * * *", "0 0 * * fri-mon", "0 0 * * sat-sun", "0 0 * 11-2 *", "5-3/2 * * * *"],
    "garbage": ["*x * * * *", "*-5 * * * *", "*/5-3 * * * *", "1.5 * * * *", "* * * * *5", "*5 * * * *", "3? * * * *"],
    "never": ["0 0 31 2 *", "0 0 30,31 2 *", "0 0 31 4,6,9,11 *", "0 0 31 2 */2"],
    "hardly ever": ["0 0 29 2 */7"],
    "long": ["*/4294967296 * * * *", "*/99999999999 * * * *"],
    "letters": ["0 0 * * ſun", "٣ * * * *"],
}


@pytest.mark.parametrize("expression", [each for forms in REFUSED.values() for each in forms])
def test_expressions_that_cron_misreads_are_refused(expression: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_expression(expression)


def junk(seed: int, count: int) -> Iterator[str]:
    """Yield `count` mostly invalid lines made of parts of expressions."""
    draw = random.Random(seed)
    bits = [*"*-/,~#?.x0157", "L", "*/", "1-5", "*/2", "05", "31", "60", "mon", "FRI", "jan", "dec", "W"]
    for _ in range(count):
        fields = ["*"] * 5
        for place in draw.sample(range(5), draw.choice([1, 1, 2, 5])):
            fields[place] = "".join(draw.choices(bits, k=draw.randint(1, 4)))
        yield " ".join(fields)


def test_accepted_random_text_means_the_same_to_cron() -> None:
    first, taken = datetime(2027, 1, 30, 22, tzinfo=UTC), 0
    for expression in junk(4, repetitions(20_000)):
        try:
            schedule = Cron((parse_expression(expression),))
        except ValueError:
            continue
        taken += 1
        local = first.replace(tzinfo=None)
        debians = list(islice(debian_cron.read(expression).times(local, local + timedelta(days=4000)), 10))
        result = slot_times.next_slots(schedule, first - timedelta(seconds=1), GREENWICH, 10)
        assert [each.replace(tzinfo=None) for each in result] == debians, expression
    assert taken > repetitions(1_000)


@pytest.mark.skipif(not Path("/usr/bin/crontab").exists(), reason="cron is not installed")
def test_the_oracle_agrees_with_the_real_cron() -> None:
    lines = [each for each in [*junk(5, 40), *islice(_refused_by_form(), 40)] if not each.startswith("#")]
    for line in lines:  # crontab stops at the first line that is wrong, so each is asked alone
        asked = subprocess.run(
            ["crontab", "-n", "-"], input=f"{line} true\n", text=True, capture_output=True, check=False
        )
        try:
            debian_cron.read(line)
        except debian_cron.BadEntry:
            assert asked.returncode == 1, line
        else:
            assert asked.returncode == 0, line + asked.stderr


def _refused_by_form() -> Iterator[str]:
    """Yield the refused forms in plain ASCII, regardless of the size of numbers."""
    return (each for form, forms in REFUSED.items() if form not in ("long", "letters") for each in forms)


def test_the_golden_table_has_52_clock_change_cases() -> None:
    assert (
        len(set(product(GOLDEN, [key for key in CHANGES if key[0] in ("Europe/Berlin", "Australia/Lord_Howe")]))) == 52
    )
