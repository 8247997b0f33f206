"""Run requests start once at their wall clock time, and interrupted runs resume."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest

from pi_appliance.errors import Refused
from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.child_runs import RequestRunner
from pi_appliance.storage.model import Outcome, Trigger
from tests.installation import Installation
from tests.scheduling.virtual_scheduler import NOON, VirtualAppliance, virtual_appliance

WAKE = "wake:\n  kind: command\n  with: {run: ['true']}"
DAILY = "wake:\n  kind: command\n  schedule: '0 7 * * *'\n  with: {run: ['true']}"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def simulation(installation: Installation) -> Iterator[VirtualAppliance]:
    with virtual_appliance(installation, WAKE) as simulation:
        yield simulation


def request_run(simulation: VirtualAppliance, after: timedelta) -> str:
    return simulation.appliance.store.requests.add(
        "wake", simulation.clock.wall + after, {}, now=simulation.clock.wall
    ).slot_name


def test_it_starts_at_its_time_once(simulation):
    name = request_run(simulation, timedelta(minutes=30, seconds=17))
    simulation.run_until(NOON + timedelta(hours=2))
    (run,) = simulation.appliance.history(job="wake")
    assert (run.scheduled_for, run.started, run.outcome) == (
        name,
        NOON + timedelta(minutes=30, seconds=17),
        Outcome.SUCCEEDED,
    )
    assert max(simulation.sleeps) <= 60


def test_two_daemons_start_it_once(simulation):
    request_run(simulation, timedelta(0))
    first, second = (
        RequestRunner(lambda: simulation.appliance, simulation.runs, clock=simulation.clock, trusted=lambda: True)
        for _ in range(2)
    )
    asyncio.run(first.tick())
    asyncio.run(second.tick())
    assert [due for due in simulation.runs.slots if due.startswith("request:")] == ["request:1"]


def test_two_processes_that_read_it_together_run_it_once(simulation):
    name = request_run(simulation, timedelta(0))
    for _ in range(2):
        asyncio.run(simulation.runs.start("wake", Trigger.DAEMON, due=name))
    assert [outcome for _, outcome in simulation.outcomes()] == [Outcome.SUCCEEDED, Outcome.SKIPPED]


@pytest.mark.parametrize(("down", "outcome"), [(4, Outcome.SUCCEEDED), (6, Outcome.MISFIRED)])
def test_requests_due_while_the_daemon_was_down_start_within_their_grace(simulation, down, outcome):
    name = request_run(simulation, MINUTE)
    simulation.clock.advance((1 + down) * 60)
    simulation.restart()
    simulation.run_until(simulation.clock.wall + MINUTE)
    assert simulation.outcomes() == [(name, outcome)]
    if outcome is Outcome.MISFIRED:
        (run,) = simulation.appliance.history()
        assert run.summary == "requested for a time that is 6m past, more than its grace of 5m"


def test_a_clock_step_moves_it_along(simulation):
    request_run(simulation, timedelta(hours=5))
    simulation.run_until(NOON + timedelta(hours=1))
    simulation.clock.step(-timedelta(hours=3))
    simulation.run_until(NOON + timedelta(hours=4))
    assert simulation.runs.slots == []
    simulation.clock.step(timedelta(hours=1))
    simulation.run_until(simulation.clock.wall + 2 * MINUTE)
    assert simulation.runs.slots == ["request:1"]


def test_an_untrusted_clock_only_allows_immediate_requests(installation):
    with virtual_appliance(installation, WAKE) as simulation:
        installation.config.write_text(installation.config.read_text("utf-8").replace("sync: 0s", "sync: 15m"), "utf-8")
        simulation.appliance = simulation.appliance.reload()
        simulation.clock.ticks, simulation.clock.known = 5.0, False
        simulation.restart()
        request_run(simulation, -MINUTE)
        later = simulation.appliance.store.requests.add("wake", NOON + MINUTE, {}, now=NOON)
        simulation.run_until(NOON + 3 * MINUTE)
        assert simulation.runs.slots == ["request:1"]
        simulation.clock.known = True
        simulation.run_until(NOON + 4 * MINUTE)
        assert simulation.runs.slots == ["request:1", later.slot_name]


def test_a_pause_of_the_job_does_not_delay_it(installation):
    with virtual_appliance(installation, DAILY) as simulation:
        simulation.appliance.pause("wake", now=NOON)
        request_run(simulation, MINUTE)
        simulation.run_until(NOON + 2 * MINUTE)
        assert simulation.runs.slots == ["request:1"]


def test_a_failing_start_is_retried_ever_more_rarely_and_reported(simulation, caplog):
    request_run(simulation, timedelta(0))
    simulation.runs.falling = [1] * 99
    simulation.run_until(NOON + 7 * MINUTE)
    assert 5 <= 99 - len(simulation.runs.falling) <= 8
    assert simulation.outcomes() == [("request:1", Outcome.MISFIRED)]
    request_run(simulation, timedelta(0))
    simulation.runs.falling, simulation.runs.failing = [], ["no room"]
    simulation.run_until(simulation.clock.wall + MINUTE)
    assert simulation.outcomes()[-1] == ("request:2", Outcome.SUCCEEDED)
    assert "a requested run could not be started: no room" in caplog.text


def save_checkpoint(simulation: VirtualAppliance) -> None:
    simulation.appliance.store.requests.save_checkpoint("wake", "ringing", now=simulation.clock.wall)


def resumed_starts(simulation: VirtualAppliance) -> list[float]:
    """Return the start times in seconds of the runs that resume."""
    started = [run.started for run in reversed(simulation.appliance.history(limit=100)) if run.scheduled_for is None]
    return [round((each - NOON).total_seconds()) for each in started]


def test_a_session_resumes_at_once_after_a_restart_and_later_ever_more_rarely(simulation):
    save_checkpoint(simulation)
    simulation.run_until(NOON + timedelta(hours=1))
    times = resumed_starts(simulation)
    assert times[0] == 0
    gaps = [after - before for before, after in pairwise(times)]
    assert gaps[:4] == [5, 10, 20, 40]
    assert gaps[-1] == 600
    simulation.appliance.store.requests.delete_checkpoint("wake")
    simulation.run_until(NOON + timedelta(hours=2))
    assert len(resumed_starts(simulation)) == len(times)


def test_a_long_session_that_was_killed_resumes_at_once(installation):
    with virtual_appliance(installation, WAKE, takes=lambda _: 1800.0) as simulation:
        save_checkpoint(simulation)
        simulation.run_until(NOON + timedelta(hours=1))
        assert resumed_starts(simulation)[:2] == [0, 1800]


def test_nothing_starts_during_a_run_and_other_jobs_are_not_delayed(installation):
    jobs = f"{DAILY}\nsleep:\n  kind: command\n  with: {{run: ['true']}}"
    with virtual_appliance(installation, jobs, takes=lambda job: 36_000.0 if job == "sleep" else 0.0) as simulation:
        simulation.appliance.store.requests.save_checkpoint("sleep", "waiting", now=NOON)
        simulation.clock.advance(12 * 3600)
        simulation.restart()
        simulation.run_until(NOON + timedelta(hours=20))
        assert simulation.runs.by_job == [("sleep", "resume"), ("wake", "2026-05-02T07:00:00Z")]


def test_requests_that_are_too_old_or_without_a_job_are_dropped_and_reported(installation, caplog):
    with virtual_appliance(installation, WAKE) as simulation:
        save_checkpoint(simulation)
        simulation.appliance.store.requests.save_checkpoint("gone", "ringing", now=NOON)
        simulation.appliance.store.requests.add("gone", NOON, {}, now=NOON)
        simulation.clock.advance(49 * 3600)
        simulation.restart()
        simulation.run_until(simulation.clock.wall + MINUTE)
        assert simulation.runs.slots == []
        assert simulation.appliance.store.requests.checkpoints() == []
        assert "job=wake its checkpoint of 2026-05-01 was deleted: too old to resume" in caplog.text
        assert "job=gone was removed" in caplog.text


# Skipping the next slot.


def skip(simulation: VirtualAppliance) -> str:
    return slot_times.format_slot(simulation.appliance.skip_slot("wake", now=simulation.clock.wall).at)


def test_the_next_slot_is_skipped_and_recorded_and_the_one_after_it_used(installation):
    with virtual_appliance(installation, DAILY) as simulation:
        simulation.run_until(NOON + MINUTE)
        assert skip(simulation) == skip(simulation) == "2026-05-02T07:00:00Z"
        first, second = islice(simulation.appliance.slots("wake", NOON), 2)
        assert (first.skipped, first.selected, second.selected) == (True, False, True)
        simulation.restart()
        simulation.run_until(NOON + timedelta(days=2))
        assert simulation.outcomes() == [
            ("2026-05-02T07:00:00Z", Outcome.SKIPPED),
            ("2026-05-03T07:00:00Z", Outcome.SUCCEEDED),
        ]
        assert simulation.appliance.history()[-1].summary == "skipped by a person"
        assert simulation.appliance.store.requests.skipped_slot("wake") is None


def test_a_slot_skipped_while_the_daemon_was_down_is_not_a_misfire(installation):
    with virtual_appliance(installation, DAILY) as simulation:
        simulation.run_until(NOON + MINUTE)
        skip(simulation)
        simulation.clock.advance(24 * 3600)
        simulation.restart()
        simulation.run_until(simulation.clock.wall + MINUTE)
        assert simulation.outcomes() == [("2026-05-02T07:00:00Z", Outcome.SKIPPED)]


def test_a_skipped_slot_can_be_used_again(installation):
    with virtual_appliance(installation, DAILY) as simulation:
        simulation.run_until(NOON + MINUTE)
        skip(simulation)
        simulation.appliance.unskip_slot("wake", now=simulation.clock.wall)
        simulation.run_until(NOON + timedelta(days=1))
        assert simulation.outcomes() == [("2026-05-02T07:00:00Z", Outcome.SUCCEEDED)]


@pytest.mark.parametrize(
    ("jobs", "before", "message"),
    [
        (WAKE, lambda _: None, "wake has no scheduled times"),
        (DAILY, lambda simulation: simulation.appliance.pause("wake", now=NOON), "wake is paused"),
    ],
)
def test_without_a_slot_to_skip_this_is_reported(
    installation, jobs, before: Callable[[VirtualAppliance], None], message
):
    with virtual_appliance(installation, jobs) as simulation:
        before(simulation)
        with pytest.raises(Refused, match=message):
            skip(simulation)
        with pytest.raises(Refused, match="no slot of wake is to be skipped"):
            simulation.appliance.unskip_slot("wake", now=NOON)


def test_a_past_day_is_not_a_slot_to_skip(installation):
    with virtual_appliance(installation, DAILY) as simulation:
        simulation.appliance.store.requests.set_skipped_slot("wake", "2020-05-02T07:00:00Z")
        assert simulation.appliance.skipped_slot("wake", datetime(2026, 1, 1, tzinfo=UTC)) is None
