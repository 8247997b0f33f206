"""What the daemon owes when it looks at the clock."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from pi_appliance.core import plan
from pi_appliance.model.config import Job, RunsBy
from pi_appliance.model.schedule import AtBoot, Cron, Every

UTC_ZONE = ZoneInfo("UTC")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def job(name: str, schedule: object, **more: object) -> Job:
    return Job(name=name, kind="command", schedule=schedule, **more)


def owed(jobs: list[Job], after: datetime, until: datetime) -> list[tuple[str, str, bool]]:
    return [(due.job, due.slot, not due.misfire) for due in plan.due(jobs, after, until, UTC_ZONE)]


def test_a_slot_that_has_come_is_started_once_whenever_it_is_looked_at():
    jobs = [job("a", Cron(("0 12 * * *",)))]
    assert owed(jobs, NOON - timedelta(minutes=1), NOON) == [("a", "2026-05-01T12:00:00Z", True)]
    assert owed(jobs, NOON, NOON + timedelta(minutes=1)) == []


def test_a_slot_beyond_its_grace_is_told_as_a_misfire_and_not_started():
    jobs = [job("a", Cron(("0 12 * * *",)), grace=timedelta(minutes=5))]
    late = NOON + timedelta(minutes=6)
    assert owed(jobs, NOON - timedelta(minutes=1), late) == [("a", "2026-05-01T12:00:00Z", False)]


def test_after_a_long_sleep_only_the_newest_slot_is_started_and_the_rest_told_in_one():
    jobs = [job("a", Cron(("* * * * *",)))]
    assert owed(jobs, NOON, NOON + timedelta(minutes=30)) == [
        ("a", "2026-05-01T12:29:00Z", False),
        ("a", "2026-05-01T12:30:00Z", True),
    ]


def test_a_clock_that_jumps_ten_years_costs_one_day_of_slots():
    jobs = [job("a", Every(timedelta(minutes=1)))]
    found = list(plan.due(jobs, NOON - timedelta(days=3650), NOON, UTC_ZONE))
    assert [bool(due.misfire) for due in found] == [True, False]
    assert "1440 slots" in found[0].misfire or "1439 slots" in found[0].misfire


def test_jobs_of_cron_and_jobs_at_boot_are_not_the_daemons_to_start():
    jobs = [job("a", Cron(("* * * * *",)), runs_by=RunsBy.CRON), job("b", AtBoot()), job("c", None)]
    assert owed(jobs, NOON, NOON + timedelta(hours=1)) == []
    assert plan.next_slot(jobs, NOON, UTC_ZONE) is None


def test_the_next_slot_is_the_earliest_of_all_jobs():
    jobs = [job("a", Cron(("30 12 * * *",))), job("b", Every(timedelta(minutes=20)))]
    found = plan.next_slot(jobs, NOON, UTC_ZONE)
    assert found is not None
    assert (found[0], found[1].name) == (NOON + timedelta(minutes=20), "b")
