"""Slots listed backwards mirror those listed forwards."""

from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from hypothesis import assume, example, given
from hypothesis import strategies as st

from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.schedule import AtBoot, Cron, Every, Schedule
from tests.scheduling.cron_expressions import expressions

ZONES = ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/New_York", "Africa/Casablanca", "Pacific/Apia"]
MOMENTS = st.integers(
    int(datetime(2011, 12, 1, tzinfo=UTC).timestamp()), int(datetime(2038, 1, 1, tzinfo=UTC).timestamp())
)
schedules = st.one_of(
    st.lists(expressions, min_size=1, max_size=3).map(lambda each: Cron(tuple(each))),
    st.integers(1, 500_000).map(lambda seconds: Every(timedelta(seconds=seconds))),
)


@given(schedules, st.sampled_from(ZONES), MOMENTS, st.integers(0, 400_000))
@example(Cron(("30 2 * * *", "*/30 * * * *")), "Europe/Berlin", 1806022800, 90_000)  # the clock moves forward
@example(Cron(("30 2 * * *", "*/30 * * * *")), "Europe/Berlin", 1824940800, 90_000)  # it moves back
@example(Cron(("0 12 * * *", "0 */6 * * *")), "Pacific/Apia", 1325152800, 200_000)  # a day is left out
def test_backwards_mirrors_forwards(schedule: Schedule, zone: str, moment: int, seconds: int) -> None:
    after, where = datetime.fromtimestamp(moment, UTC), ZoneInfo(zone)
    before = after + timedelta(seconds=seconds)
    forwards = list(
        takewhile(lambda slot: slot <= before, islice(slot_times.fire_times(schedule, after, where), 7_000))
    )
    assume(len(forwards) < 7_000)
    backwards = list(takewhile(lambda slot: slot > after, slot_times.fire_times_before(schedule, before, where)))
    assert backwards == forwards[::-1]
    assert forwards == sorted(set(forwards))


@given(schedules, st.sampled_from(ZONES), MOMENTS, st.integers(0, 999_999))
def test_a_slot_at_this_moment_is_past(schedule: Schedule, zone: str, moment: int, bit: int) -> None:
    slot = next(slot_times.fire_times(schedule, datetime.fromtimestamp(moment, UTC), ZoneInfo(zone)))
    assert next(slot_times.fire_times_before(schedule, slot + timedelta(microseconds=bit), ZoneInfo(zone))) == slot
    assert next(slot_times.fire_times_before(schedule, slot - timedelta(microseconds=1), ZoneInfo(zone))) < slot
    assert next(slot_times.fire_times(schedule, slot + timedelta(microseconds=bit), ZoneInfo(zone))) > slot


def test_slots_before_1970_are_not_listed() -> None:
    early = datetime(1970, 1, 3, 1, tzinfo=UTC)
    back = [
        slot_times.format_slot(slot)
        for slot in slot_times.fire_times_before(Cron(("0 0 * * *",)), early, ZoneInfo("UTC"))
    ]
    assert back == ["1970-01-03T00:00:00Z", "1970-01-02T00:00:00Z", "1970-01-01T00:00:00Z"]
    assert list(slot_times.fire_times_before(Every(timedelta(days=2)), early, ZoneInfo("UTC"))) == [
        datetime(1970, 1, 3, tzinfo=UTC),
        datetime(1970, 1, 1, tzinfo=UTC),
    ]
    assert list(slot_times.fire_times_before(AtBoot(), early, ZoneInfo("UTC"))) == []
