"""The daemon's scheduler under a driven clock: steps forwards, backwards and long sleeps."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pi_appliance.engine.assemble import Appliance
from pi_appliance.engine.runs import Runs
from pi_appliance.engine.scheduler import Scheduler
from pi_appliance.errors import Unavailable
from pi_appliance.model.run import Outcome, Trigger
from tests.house import House

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Started(Runs):
    """Runs that only take note, and use their slot as a real run does."""

    def __init__(self, appliance: Appliance) -> None:
        super().__init__(Path("unused"))
        self.appliance, self.slots = appliance, list[str]()
        self.failing, self.falling = list[str](), list[int]()  # why the next ones do not start, or how they end at once

    async def start(
        self, job: str, trigger: Trigger, *, due: str | None = None, ended: Callable[[int], None] = lambda _: None
    ) -> None:
        if self.failing:
            raise Unavailable(self.failing.pop())
        if self.falling:
            ended(self.falling.pop())
            return
        run, used = self.appliance.store.begin(job=job, kind="command", trigger=trigger, due=due, now=NOON)
        assert used is None, "a slot was started twice"
        self.appliance.store.end(run, Outcome.SUCCEEDED, "", now=NOON)
        self.slots.append(str(due))


class World:
    """A scheduler whose clock the test sets."""

    def __init__(self, house: House, jobs: str) -> None:
        house.write(jobs)
        self.appliance = Appliance.open(house.config)
        self.runs, self.now = Started(self.appliance), NOON
        self.naps: list[float] = []
        self.restart()

    def restart(self) -> None:
        """Begin anew, as a daemon that was started again does."""
        self.scheduler = Scheduler(self.appliance, self.runs, now=lambda: self.now, nap=self._nap)

    async def _nap(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += timedelta(seconds=seconds)

    def look(self) -> None:
        asyncio.run(self.scheduler.look())

    def live(self, until: datetime) -> None:
        """Let the loop run until the clock shows UNTIL."""

        def alive() -> None:
            if self.now >= until:
                raise StopAsyncIteration

        with pytest.raises((StopAsyncIteration, RuntimeError)):
            asyncio.run(self.scheduler.run(alive))


@pytest.fixture
def hourly(house: House) -> World:
    world = World(house, "tick:\n  kind: command\n  schedule: '0 * * * *'\n  grace: 5m\n  with: {run: ['true']}")
    yield world
    world.appliance.close()


def test_each_slot_is_started_once_at_its_time(hourly):
    hourly.live(NOON + timedelta(hours=3))
    assert hourly.runs.slots == [f"2026-05-01T{hour}:00:00Z" for hour in (13, 14, 15)]


def test_it_never_naps_longer_than_a_minute_and_never_past_the_next_slot(hourly):
    hourly.now = hourly.now.replace(minute=57, second=30)
    hourly.live(NOON + timedelta(hours=1))
    assert hourly.naps == [60, 60, 30]


def test_a_step_forward_over_a_slot_within_its_grace_starts_it(hourly):
    hourly.now = NOON + timedelta(hours=1, minutes=4)
    hourly.look()
    assert hourly.runs.slots == ["2026-05-01T13:00:00Z"]


def test_a_step_forward_beyond_the_grace_is_a_misfire_in_the_history(hourly):
    hourly.now = NOON + timedelta(hours=2, minutes=30)
    hourly.look()
    (run,) = hourly.appliance.history()
    assert hourly.runs.slots == []
    assert run.outcome is Outcome.MISFIRED
    assert "2 slots since 2026-05-01T13:00:00Z" in run.summary


def test_a_step_back_starts_no_slot_twice_and_waits_for_no_clock_to_catch_up(hourly):
    hourly.now = NOON + timedelta(hours=1)
    hourly.look()
    hourly.now = NOON - timedelta(hours=5, minutes=30)
    hourly.look()
    hourly.live(NOON + timedelta(hours=2))
    assert hourly.runs.slots[0] == "2026-05-01T13:00:00Z"
    assert sorted(hourly.runs.slots[1:]) == [f"2026-05-01T{hour:02}:00:00Z" for hour in (7, 8, 9, 10, 11, 12, 14)]


def test_a_job_at_boot_runs_once_however_often_the_daemon_starts(house):
    jobs = "boot:\n  kind: command\n  schedule: '@reboot'\n  with: {run: ['true']}"
    for _ in range(3):
        world = World(house, jobs)
        world.live(NOON)
        world.appliance.close()
    with Appliance.open(house.config) as appliance:
        (run,) = appliance.history()
    assert run.due is not None
    assert run.due.startswith("boot:")


def test_a_slot_that_cannot_be_started_is_tried_again_within_its_grace_and_the_daemon_lives_on(hourly):
    hourly.runs.failing = ["no memory", "no memory"]
    hourly.live(NOON + timedelta(hours=1, minutes=10))
    assert hourly.runs.slots == ["2026-05-01T13:00:00Z"]
    assert not hourly.runs.failing


def test_a_slot_that_cannot_be_started_in_all_its_grace_is_a_misfire(hourly):
    hourly.runs.failing = ["no memory"] * 20
    hourly.live(NOON + timedelta(hours=1, minutes=10))
    (run,) = hourly.appliance.history()
    assert (run.outcome, run.due, hourly.runs.slots) == (Outcome.MISFIRED, "2026-05-01T13:00:00Z", [])


@pytest.mark.parametrize(("status", "says"), [(2, "with status 2"), (-9, "by signal 9")])
def test_a_run_that_ends_before_it_begins_is_told_by_the_history(hourly, status, says):
    hourly.runs.falling = [status]
    hourly.live(NOON + timedelta(hours=1))
    (run,) = hourly.appliance.history()
    assert (run.outcome, run.due) == (Outcome.FAILED, "2026-05-01T13:00:00Z")
    assert f"its process ended {says} before it began" in run.summary


@pytest.mark.parametrize(("minutes", "started"), [(4, ["2026-05-01T13:00:00Z"]), (6, [])])
def test_a_slot_that_came_while_the_daemon_was_restarted_is_started_within_its_grace(hourly, minutes, started):
    hourly.appliance.store.begin(job="tick", kind="command", trigger=Trigger.HAND, due=None, now=NOON)
    hourly.now = NOON + timedelta(hours=1, minutes=minutes)
    hourly.restart()
    hourly.live(hourly.now)
    assert hourly.runs.slots == started


def test_a_slot_that_was_used_before_the_daemon_was_restarted_is_not_used_again(hourly):
    hourly.live(NOON + timedelta(hours=1))
    for _ in range(2):
        hourly.restart()
        hourly.live(NOON + timedelta(hours=1, minutes=1))
    assert hourly.runs.slots == ["2026-05-01T13:00:00Z"]


def test_a_job_that_never_ran_begins_with_its_next_slot(hourly):
    hourly.restart()
    hourly.live(NOON + timedelta(minutes=2))
    assert hourly.runs.slots == []
