"""The slots of a job that are due."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.config.options import CatchUp, Job
from pi_appliance.scheduling import missed_slots as plan
from pi_appliance.scheduling.chance import Chance
from pi_appliance.scheduling.schedule import AtBoot, Cron, Every, dump_schedule, load_schedule
from pi_appliance.storage.model import Outcome

UTC_ZONE = ZoneInfo("UTC")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
HOURLY = Cron(("0 * * * *",))


def job(schedule: object = HOURLY, **more: object) -> Job:
    return Job(name="a", kind="command", schedule=schedule, **more)


def decide(
    what: Job,
    after: datetime,
    now: datetime,
    *,
    used: tuple[str, ...] = (),
    held: tuple[datetime, ...] = (),
    picked: Callable[[str], bool] = lambda _: True,
    share: float = 0.0,
) -> plan.SlotPlan:
    known = plan.SlotHistory(used=used, reserved=held, is_selected=picked, jitter_share=lambda _: share)
    return plan.plan_slots(what, UTC_ZONE, after, now, known)


def hours(result: plan.SlotPlan) -> list[int]:
    return [start.slot.hour for start in result.starts]


def test_a_due_slot_is_started_and_recorded():
    result = decide(job(), NOON - HOUR, NOON)
    assert (hours(result), result.missed, result.until) == ([12], [], NOON)
    assert decide(job(), NOON, NOON + MINUTE).starts == []


def test_a_slot_beyond_its_grace_is_a_misfire():
    (gone,) = decide(job(misfire_grace=5 * MINUTE), NOON - MINUTE, NOON + 6 * MINUTE).missed
    assert (gone.outcome, gone.first, gone.count) == (Outcome.MISFIRED, NOON, 1)
    assert gone.reason == "its slot is 6m late, more than its grace of 5m"


def test_after_a_long_sleep_the_newest_slot_starts_and_the_others_are_one_record():
    result = decide(job(Cron(("* * * * *",)), misfire_grace=5 * MINUTE), NOON, NOON + 30 * MINUTE)
    assert [start.slot for start in result.starts] == [NOON + 30 * MINUTE]
    assert [(gone.outcome, gone.count) for gone in result.missed] == [(Outcome.SKIPPED, 24), (Outcome.SKIPPED, 5)]


@pytest.mark.parametrize(("at_most", "started"), [(1, [12]), (3, [10, 11, 12]), (99, [6, 7, 8, 9, 10, 11, 12])])
def test_catch_up_starts_the_newest_slot_within_its_window_oldest_job_first(at_most, started):
    catch_up = CatchUp(max_age=timedelta(hours=6, minutes=30), max_runs=at_most)
    result = decide(job(catch_up=catch_up), NOON - 10 * HOUR, NOON + 20 * MINUTE)
    assert hours(result) == started
    assert all(start.late for start in result.starts)
    assert sum(gone.count for gone in result.missed) == 10 - len(started)
    assert {gone.outcome for gone in result.missed} == {Outcome.SKIPPED}


def test_slots_outside_a_window_are_skipped_as_configured():
    (gone,) = decide(job(catch_up=CatchUp(max_age=HOUR)), NOON - 3 * HOUR, NOON - timedelta(minutes=1) + HOUR).missed[
        :1
    ]
    assert gone.outcome is Outcome.SKIPPED
    assert "more than its window of 1h" in gone.reason


def test_catch_up_only_considers_slots_that_the_chance_uses():
    catch_up = CatchUp(max_age=timedelta(days=1))
    what = job(catch_up=catch_up, chance=Chance(1, 4))
    result = decide(what, NOON - 10 * HOUR, NOON + 20 * MINUTE, picked=lambda due: due[11:13] in ("05", "08"))
    assert hours(result) == [8]
    reasons = [(missed.count, missed.reason) for missed in result.missed]
    assert reasons == [(1, "2026-05-01T08:00:00Z runs instead"), (8, "by chance (1/4)")]


def test_used_or_delayed_slots_are_not_due_again():
    result = decide(
        job(catch_up=CatchUp(max_age=10 * HOUR, max_runs=9)),
        NOON - 4 * HOUR,
        NOON,
        used=("2026-05-01T10:00:00Z",),
        held=(NOON - HOUR,),
    )
    assert hours(result) == [9, 12]
    assert result.until < NOON - HOUR  # 11:00 is not accounted for while it is held


def test_a_slot_waits_for_its_jitter_without_being_late():
    what = job(jitter=timedelta(minutes=40), misfire_grace=MINUTE)
    waiting = decide(what, NOON - MINUTE, NOON + MINUTE, share=0.5)
    assert (waiting.starts, waiting.missed, waiting.wake) == ([], [], NOON + 20 * MINUTE)
    assert waiting.until < NOON
    assert decide(what, waiting.until, NOON + 20 * MINUTE, share=0.5).starts == [plan.SlotStart(NOON, late=False)]


@pytest.mark.parametrize("schedule", [Every(timedelta(seconds=1)), Cron(("* * * * *",))])
def test_a_ten_year_clock_jump_is_quick_and_complete(schedule):
    result = decide(job(schedule), NOON - timedelta(days=3650), NOON)
    assert len(result.starts) == 1
    assert min(gone.first for gone in result.missed) <= NOON - timedelta(days=3650) + MINUTE
    assert sum(gone.count for gone in result.missed) < 3 * plan.MAX_COUNT
    assert any("more than 200 slots" in gone.reason for gone in result.missed)


@pytest.mark.parametrize("schedule", [HOURLY, Every(timedelta(minutes=90)), Cron(("0 6 * * *", "5 7 1 * *"))])
def test_a_stored_schedule_is_read_unchanged(schedule):
    zone = ZoneInfo("Europe/Berlin") if isinstance(schedule, Cron) else UTC_ZONE
    assert load_schedule(dump_schedule(schedule, zone)) == (schedule, zone)


def test_an_unreadable_stored_schedule_is_ignored():
    assert load_schedule(dump_schedule(AtBoot(), UTC_ZONE)) is None
    assert load_schedule("{") is None
    assert load_schedule('{"cron": ["* * * * *"], "zone": "Atlantis"}') is None


def test_unused_slots_are_recorded_as_one():
    why = (Outcome.SKIPPED, "paused")
    (gone,) = plan.missed_slots(HOURLY, UTC_ZONE, (NOON, NOON + 5 * HOUR), {"2026-05-01T14:00:00Z"}, why)
    assert (gone.first, gone.last, gone.count, gone.reason) == (NOON + HOUR, NOON + 5 * HOUR, 4, "paused")
    assert plan.missed_slots(HOURLY, UTC_ZONE, (NOON, NOON), (), why) == []
