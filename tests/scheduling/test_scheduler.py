"""The scheduler in virtual time: slots, clock steps, outages and catch-up."""

import asyncio
import fcntl
from collections.abc import Iterator
from datetime import timedelta

import pytest

from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.scheduler import sleep_until_event
from pi_appliance.storage.model import Outcome
from pi_appliance.system import files
from tests.installation import Installation
from tests.scheduling.virtual_scheduler import NOON, VirtualAppliance, virtual_appliance


@pytest.fixture
def hourly(installation: Installation) -> Iterator[VirtualAppliance]:
    with virtual_appliance(
        installation, "tick:\n  kind: command\n  schedule: '0 * * * *'\n  misfire-grace: 5m\n  with: {run: ['true']}"
    ) as simulation:
        simulation.tick()
        yield simulation


def test_each_slot_starts_once_at_its_time(hourly):
    hourly.run_until(NOON + timedelta(hours=3))
    assert hourly.runs.slots == [f"2026-05-01T{hour}:00:00Z" for hour in (13, 14, 15)]


def test_it_sleeps_at_most_a_minute_and_never_past_the_next_slot(hourly):
    hourly.clock.advance(57 * 60 + 30)
    hourly.run_until(NOON + timedelta(hours=1))
    assert hourly.sleeps == [60, 60, 30]


def test_a_step_forward_within_the_grace_starts_the_slot(hourly):
    hourly.clock.step(timedelta(hours=1, minutes=4))
    hourly.tick()
    assert hourly.runs.slots == ["2026-05-01T13:00:00Z"]


def test_a_step_forward_beyond_the_grace_is_recorded_as_a_misfire(hourly):
    hourly.clock.step(timedelta(hours=2, minutes=30))
    hourly.tick()
    (run,) = hourly.appliance.history()
    assert hourly.runs.slots == []
    assert run.outcome is Outcome.MISFIRED
    assert "2 slots since 2026-05-01T13:00:00Z" in run.summary
    assert "the clock was put forward by 2h30m" in run.summary


def test_a_step_back_repeats_no_slot_and_does_not_wait(hourly):
    hourly.clock.advance(3600)
    hourly.tick()
    hourly.clock.step(timedelta(hours=-6, minutes=-30))
    hourly.tick()
    hourly.run_until(NOON + timedelta(hours=2))
    assert hourly.runs.slots[0] == "2026-05-01T13:00:00Z"
    assert sorted(hourly.runs.slots[1:]) == [f"2026-05-01T{hour:02}:00:00Z" for hour in (7, 8, 9, 10, 11, 12, 14)]


def test_a_boot_job_runs_once_per_boot(installation):
    jobs = "boot:\n  kind: command\n  schedule: '@reboot'\n  with: {run: ['true']}"
    for _ in range(3):
        with virtual_appliance(installation, jobs) as simulation:
            simulation.run_until(NOON)
    with Appliance.open(installation.config) as appliance:
        (run,) = appliance.history()
    assert run.scheduled_for is not None
    assert run.scheduled_for.startswith("boot:")


def test_a_slot_that_cannot_start_is_retried_within_its_grace(hourly):
    hourly.runs.failing = ["no memory", "no memory"]
    hourly.run_until(NOON + timedelta(hours=1, minutes=10))
    assert hourly.runs.slots == ["2026-05-01T13:00:00Z"]
    assert not hourly.runs.failing


def test_a_slot_that_cannot_start_within_its_grace_is_a_misfire(hourly):
    hourly.runs.failing = ["no memory"] * 20
    hourly.run_until(NOON + timedelta(hours=1, minutes=10))
    (run,) = hourly.appliance.history()
    assert (run.outcome, run.scheduled_for, hourly.runs.slots) == (Outcome.MISFIRED, "2026-05-01T13:00:00Z", [])


@pytest.mark.parametrize(("status", "says"), [(2, "with status 2"), (-9, "by signal 9")])
def test_a_run_that_ends_before_it_starts_is_recorded(hourly, status, says):
    hourly.runs.falling = [status]
    hourly.run_until(NOON + timedelta(hours=1))
    (run,) = hourly.appliance.history()
    assert (run.outcome, run.scheduled_for) == (Outcome.FAILED, "2026-05-01T13:00:00Z")
    assert f"its process ended {says} before it began" in run.summary


@pytest.mark.parametrize(("minutes", "started"), [(4, ["2026-05-01T13:00:00Z"]), (6, [])])
def test_a_slot_during_a_restart_starts_within_its_grace(hourly, minutes, started):
    hourly.clock.advance(3600 + minutes * 60)
    hourly.restart()
    hourly.run_until(hourly.clock.now())
    assert hourly.runs.slots == started


def test_a_slot_used_before_a_restart_is_not_used_again(hourly):
    hourly.run_until(NOON + timedelta(hours=1))
    for _ in range(2):
        hourly.restart()
        hourly.run_until(NOON + timedelta(hours=1, minutes=1))
    assert hourly.runs.slots == ["2026-05-01T13:00:00Z"]


def test_a_job_that_never_ran_starts_with_its_next_slot(hourly):
    hourly.restart()
    hourly.run_until(NOON + timedelta(minutes=2))
    assert hourly.runs.slots == []


def test_clock_steps_are_counted_with_their_size(hourly):
    assert (hourly.scheduler.steps, hourly.scheduler.last_step) == (0, "")
    for step in (timedelta(minutes=2), timedelta(seconds=-30)):
        hourly.clock.step(step)
        hourly.tick()
    assert (hourly.scheduler.steps, hourly.scheduler.last_step) == (2, "the clock was put back by 30s")
    hourly.tick()
    assert hourly.scheduler.last_step == "the clock was put back by 30s"


def test_the_remaining_wait_for_a_trusted_clock_is_reported(hourly, installation):
    installation.config.write_text(installation.config.read_text("utf-8").replace("sync: 0s", "sync: 20m"), "utf-8")
    hourly.appliance, hourly.clock.known = hourly.appliance.reload(), False
    hourly.restart()
    hourly.tick()
    assert (hourly.scheduler.clock_state, hourly.scheduler.clock_wait) == ("untrusted", 1200 - hourly.clock.monotonic())
    hourly.clock.advance(600)
    hourly.tick()
    assert (hourly.scheduler.clock_state, hourly.scheduler.clock_wait) == ("trusted", 0)


def test_a_waiting_slot_is_not_overtaken_by_a_newer_one(installation):
    jobs = "tick:\n  kind: command\n  schedule: every 1m\n  concurrency: queue\n  with: {run: ['true']}"
    with (
        virtual_appliance(installation, jobs) as simulation,
        files.acquire_lock(simulation.appliance.lock_path("tick")) as lock,
    ):
        assert lock is not None
        simulation.tick()
        simulation.clock.advance(60)
        simulation.tick()  # a run that another daemon started continues
        fcntl.flock(lock.fd, fcntl.LOCK_UN)
        simulation.clock.advance(60)
        simulation.tick()
        simulation.tick()
        assert simulation.runs.slots == ["2026-05-01T12:01:00Z", "2026-05-01T12:02:00Z"]


def test_a_run_without_writable_storage_is_retried_within_its_grace(hourly):
    hourly.runs.falling = [75, 75]
    hourly.run_until(NOON + timedelta(hours=1, minutes=4))
    assert hourly.runs.slots == ["2026-05-01T13:00:00Z"]
    assert [outcome for _, outcome in hourly.outcomes()] == [Outcome.SUCCEEDED]


def test_a_boot_job_is_retried_until_it_has_started(installation):
    jobs = "once:\n  kind: command\n  schedule: '@reboot'\n  with: {run: ['true']}"
    with virtual_appliance(installation, jobs) as simulation:
        simulation.runs.falling = [75, 75]
        simulation.run_until(NOON + timedelta(minutes=5))
        assert len(simulation.runs.slots) == 1


def test_a_dependent_job_that_cannot_start_is_retried_once_a_minute(installation):
    jobs = (
        "a:\n  kind: command\n  with: {run: ['true']}\nb:\n  kind: command\n  depends-on: [a]\n  with: {run: ['true']}"
    )
    with virtual_appliance(installation, jobs) as simulation:
        simulation.tick()
        simulation.clock.advance(1)
        run, _ = simulation.appliance.store.start_run(
            job="a", kind="command", trigger="manual", due=None, now=simulation.clock.now()
        )
        simulation.appliance.store.finish_run(run, Outcome.SUCCEEDED, "", now=simulation.clock.now(), attempts=1)
        simulation.runs.falling = [75] * 9
        for _ in range(10):
            simulation.tick()
        assert len(simulation.runs.falling) == 8
        simulation.runs.falling = []
        simulation.clock.advance(61)
        simulation.tick()
        assert simulation.runs.slots == [f"after:{run}"]


@pytest.mark.parametrize("turns", range(5))
def test_a_stop_request_during_an_event_ends_it(turns):
    async def scenario():
        news = asyncio.Event()
        napping = asyncio.create_task(sleep_until_event(news, 60))
        await asyncio.sleep(0)
        news.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        if napping.cancel():  # otherwise it has ended
            with pytest.raises(asyncio.CancelledError):
                await napping

    asyncio.run(scenario())
