"""The instants of schedules: accepted and refused expressions, and clock changes."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.scheduling import explanation, schedule, slot_times
from pi_appliance.scheduling.schedule import AtBoot, Cron, Every

BERLIN = ZoneInfo("Europe/Berlin")
SPRING = datetime(2027, 3, 28, tzinfo=BERLIN)  # 02:00 becomes 03:00
AUTUMN = datetime(2027, 10, 31, tzinfo=BERLIN)  # 03:00 becomes 02:00


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("0 6 * * *", Cron(("0 6 * * *",))),
        ("@daily", Cron(("0 0 * * *",))),
        ("@reboot", AtBoot()),
        ("every 15m", Every(timedelta(minutes=15))),
        ({"every": "1h30m"}, Every(timedelta(minutes=90))),
        (["00:00", "06:00", "12:00", "18:00"], Cron(("0 0,6,12,18 * * *",))),
        (["6:05", "18:35"], Cron(("5 6 * * *", "35 18 * * *"))),
        ("07:30", Cron(("30 7 * * *",))),
        ({"times": ["07:00"], "days": ["mon", "fri"]}, Cron(("0 7 * * 1,5",))),
        ({"times": "07:00", "days": "weekdays"}, Cron(("0 7 * * 1-5",))),
        ({"times": ["07:00"], "days": ["tuesday-thursday", "sun"]}, Cron(("0 7 * * 2-4,0",))),
        (["0 6 * * 1", "07:00"], Cron(("0 6 * * 1", "0 7 * * *"))),
    ],
)
def test_common_schedules_are_parsed(written, expected):
    assert schedule.parse_schedule(written) == expected


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("61 * * * *", "invalid minute"),
        ("* * * *", "five fields"),
        ("5/15 * * * *", "write a range"),
        ("0 0 * * mon#1", "neither # nor L"),
        ("0 0 L * *", "neither # nor L"),
        ("0~30 * * * *", "use `chance:`"),
        ("3-3/2 * * * *", "write 3"),
        ("0 0 31 2 *", "never runs: feb: 29 days at most"),
        ("0 0 29 2 */7", "once in 28 years"),
        ("0 22-2 * * *", "runs backwards"),
        ("*x * * * *", "invalid minute"),
        ("@often", "not a keyword of cron"),
        ("every soon", "a duration"),
        ("every 0s", "at least 1s"),
        (["06:00", "25:00"], "is not a valid time of day"),
        ("18.00", "is not a valid time of day"),
        ({"times": ["24:00"]}, "is not a valid time of day"),
        ({"days": ["mon"]}, "needs `times`"),
        ({"times": ["07:00"], "days": ["mun"]}, "did you mean"),
        ({"times": ["07:00"], "days": ["fri-mon"]}, "backwards"),
        ({"tiems": ["07:00"]}, "did you mean 'times'"),
        (5, "write a cron expression"),
        ([], "write a cron expression"),
        ([5], "a list of texts"),
    ],
)
def test_expressions_that_cron_refuses_or_misreads_are_refused(written, says):
    with pytest.raises(ValueError, match=says):
        schedule.parse_schedule(written)


def hours(schedule: Cron, day: datetime) -> list[str]:
    """Return the local times at which `schedule` fires on `day`."""
    end = (day + timedelta(days=1)).astimezone(UTC)
    times = []
    for slot in slot_times.fire_times(schedule, day - timedelta(seconds=1), BERLIN):
        if slot >= end:
            break
        times.append(slot.astimezone(BERLIN).strftime("%H:%M%z"))
    return times


@pytest.mark.parametrize(
    ("expression", "day", "times"),
    [
        ("30 2 * * *", SPRING, ["03:00+0200"]),  # skipped by the change: at once, as cron does
        ("30 2 * * *", AUTUMN, ["02:30+0200"]),  # comes twice: once
        ("0 3 * * *", SPRING, ["03:00+0200"]),
        ("0 */6 * * *", SPRING, ["00:00+0100", "06:00+0200", "12:00+0200", "18:00+0200"]),
    ],
)
def test_on_clock_changes_it_matches_debian_cron(expression, day, times):
    assert hours(Cron((expression,)), day) == times


def test_an_hourly_job_has_23_slots_in_spring_and_25_in_autumn():
    assert len(hours(Cron(("0 * * * *",)), SPRING)) == 23
    assert len(hours(Cron(("0 * * * *",)), AUTUMN)) == 25


def test_several_expressions_give_each_instant_once_and_in_order():
    schedule = Cron(("0 6 * * *", "0 */6 * * *", "30 6 * * *"))
    slots = slot_times.next_slots(schedule, datetime(2026, 1, 1, 5, tzinfo=UTC), ZoneInfo("UTC"), 4)
    assert [slot.strftime("%H:%M") for slot in slots] == ["06:00", "06:30", "12:00", "18:00"]


@given(
    st.sampled_from(["* * * * *", "*/7 * * * *", "0 6 * * *", "15 2,3 * * *", "30 2 28 3 *"]),
    st.integers(0, 48 * 3600),
)
def test_the_previous_slot_agrees_with_the_next_slots(expression, seconds):
    schedule, now = Cron((expression,)), datetime(2027, 3, 27, tzinfo=UTC) + timedelta(seconds=seconds)
    last = slot_times.last_slot(schedule, now, BERLIN, within=timedelta(hours=30))
    if last is not None:
        assert last <= now
        assert next(slot_times.fire_times(schedule, last, BERLIN)) > now


@pytest.mark.parametrize(
    ("schedule", "last"),
    [
        (Every(timedelta(seconds=1)), "2026-05-01T12:00:30Z"),
        (Cron(("* * * * *",)), "2026-05-01T12:00:00Z"),
        (Cron(("0 0 29 2 *",)), "2024-02-29T00:00:00Z"),
    ],
)
def test_a_grace_of_any_length_finds_the_last_slot_quickly(schedule, last):
    now = datetime(2026, 5, 1, 12, 0, 30, tzinfo=UTC)
    result = slot_times.last_slot(schedule, now, ZoneInfo("UTC"), within=timedelta(days=999_999))
    assert result is not None
    assert slot_times.format_slot(result) == last


def test_slots_end_with_the_calendar():
    schedule = Every(timedelta(days=2_000_000))
    assert slot_times.next_slots(schedule, SPRING, BERLIN, 5) == [datetime(7445, 10, 25, tzinfo=UTC)]
    assert slot_times.next_slots(Every(timedelta(days=999_999_999)), SPRING, BERLIN, 5) == []


@given(st.integers(1, 100_000), st.integers(0, 4 * 10**9))
def test_intervals_do_not_drift(seconds, moment):
    now = datetime.fromtimestamp(moment, UTC)
    first, second = slot_times.next_slots(Every(timedelta(seconds=seconds)), now, ZoneInfo("UTC"), 2)
    assert now < first <= now + timedelta(seconds=seconds)
    assert second - first == timedelta(seconds=seconds)
    assert first.timestamp() % seconds == 0


def test_a_schedule_is_described():
    assert explanation.describe_schedule(Every(timedelta(minutes=90))).startswith("Every 1h30m")
    assert explanation.describe_schedule(Cron(("0 6 * * 1-5",))) == "At 06:00 on Monday through Friday"
    assert explanation.describe_schedule(AtBoot()) == "Once each time the machine starts"
