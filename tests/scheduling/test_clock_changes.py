"""The descriptions of clock changes, compared with the slots."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.scheduling import explanation, slot_times
from pi_appliance.scheduling.schedule import Cron, Every
from tests.scheduling.cron_expressions import expressions

NOW = datetime(2026, 11, 21, tzinfo=UTC)
SPRING, AUTUMN = (
    "Sun 2027-03-28 the clock goes from 02:00 to 03:00: ",
    "Sun 2027-10-31 the clock goes from 03:00 to 02:00: ",
)


@pytest.mark.parametrize(
    ("written", "spring", "autumn"),
    [
        ("30 2 * * *", "02:30 does not exist; it runs at 03:00", "02:30 occurs twice; it runs once, the first time"),
        (
            "0,30 2 * * *",
            "02:00 and 02:30 do not exist; it runs once for them, at 03:00",
            "02:00 and 02:30 occur twice; it runs once for each, the first time",
        ),
        ("0 * * * *", "02:00 does not exist; it does not run for it", "02:00 occurs twice; it runs both times"),
        (
            "*/5 * * * *",
            "02:00, 02:05, 02:10 … 02:55 (12 times) do not exist; it does not run for them",
            "02:00, 02:05, 02:10 … 02:55 (12 times) occur twice; it runs both times",
        ),
        ("30 2 * * 1-5", "nothing changes", "nothing changes"),
        ("0 6 * * *", "nothing changes", "nothing changes"),
    ],
)
def test_each_of_the_next_two_changes_is_one_line(written: str, spring: str, autumn: str) -> None:
    lines = explanation.describe_changes(Cron((written,)), ZoneInfo("Europe/Berlin"), NOW)
    assert lines == [SPRING + spring, AUTUMN + autumn]


def test_each_expression_of_a_schedule_is_reported() -> None:
    spring, _ = explanation.describe_changes(
        Cron(("0 6 * * *", "30 2 * * *", "0 * * * *")), ZoneInfo("Europe/Berlin"), NOW
    )
    assert spring == (f"{SPRING}02:30 does not exist; it runs at 03:00; 02:00 does not exist; it does not run for it")


def test_intervals_are_not_affected() -> None:
    for line in explanation.describe_changes(Every(timedelta(hours=1)), ZoneInfo("Europe/Berlin"), NOW):
        assert line.endswith("nothing changes, because intervals do not follow the local time")


APIA = "Fri 2011-12-30 the clock goes from 00:00 to Sat 2011-12-31 00:00: 23:30 does not exist; it does not run for it"


@pytest.mark.parametrize(
    ("zone", "now", "line"),
    [
        ("Africa/Cairo", NOW, "Thu 2027-10-28 the clock goes from 24:00 to 23:00: 23:30 occurs twice"),
        ("Australia/Lord_Howe", NOW, "Sun 2027-10-03 the clock goes from 02:00 to 02:30: nothing"),
        ("Pacific/Apia", datetime(2011, 11, 1, tzinfo=UTC), APIA),
        ("Asia/Tokyo", NOW, "In Asia/Tokyo the clock does not change in the next 18 months"),
    ],
)
def test_changes_of_half_an_hour_of_a_day_and_none_are_handled(zone: str, now: datetime, line: str) -> None:
    assert any(
        effect.startswith(line) for effect in explanation.describe_changes(Cron(("30 23 * * *",)), ZoneInfo(zone), now)
    )


CHANGED = [
    ("Europe/Berlin", datetime(2027, 1, 1, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2027, 1, 1, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 1, tzinfo=UTC)),
    ("Antarctica/Casey", datetime(2009, 10, 1, tzinfo=UTC)),
]


@given(expressions, st.sampled_from(CHANGED))
def test_the_description_matches_the_slots(expression: str, where: tuple[str, datetime]) -> None:
    """Compare the description with the slots before and after the change."""
    zone = ZoneInfo(where[0])
    for change in explanation.next_changes(zone, where[1]):
        effect, size = explanation.find_effect(expression, change), abs(change.shift)
        slots = slot_times.fire_times(Cron((expression,)), change.start - timedelta(seconds=1), zone)
        runs_at_once = next(slots, None) == change.start
        if change.shift > timedelta(0):
            if effect and effect.consequence.startswith("it runs"):
                assert runs_at_once
            continue
        first = _count(expression, zone, change.start - size, change.start)
        second = _count(expression, zone, change.start, change.start + size)
        assert (effect is not None) == (first > 0)
        if effect:
            assert second == (first if effect.consequence == "it runs both times" else 0)


def _count(expression: str, zone: ZoneInfo, first: datetime, end: datetime) -> int:
    count = 0
    for slot in slot_times.fire_times(Cron((expression,)), first - timedelta(seconds=1), zone):
        if slot >= end:
            break
        count += 1
    return count


def test_zones_that_differ_in_summer_only_do_not_agree() -> None:
    zones = [ZoneInfo(name) for name in ("Europe/Berlin", "Europe/Paris", "Africa/Algiers")]
    assert slot_times.have_same_offsets(zones[0], zones[1], NOW, NOW + timedelta(days=400))
    assert not slot_times.have_same_offsets(zones[0], zones[2], NOW, NOW + timedelta(days=400))
    assert slot_times.have_same_offsets(zones[0], zones[2], NOW, NOW + timedelta(days=60))  # a winter
