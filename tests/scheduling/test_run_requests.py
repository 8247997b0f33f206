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
def made(installation: Installation) -> Iterator[VirtualAppliance]:
    with virtual_appliance(installation, WAKE) as made:
        yield made


def ask(made: VirtualAppliance, after: timedelta) -> str:
    return made.appliance.store.requests.add("wake", made.clock.wall + after, {}, now=made.clock.wall).slot_name


def test_it_starts_at_its_time_once(made):
    name = ask(made, timedelta(minutes=30, seconds=17))
    made.run_until(NOON + timedelta(hours=2))
    (run,) = made.appliance.history(job="wake")
    assert (run.scheduled_for, run.started, run.outcome) == (
        name,
        NOON + timedelta(minutes=30, seconds=17),
        Outcome.SUCCEEDED,
    )
    assert max(made.sleeps) <= 60


def test_two_daemons_start_it_once(made):
    ask(made, timedelta(0))
    first, second = (
        RequestRunner(lambda: made.appliance, made.runs, clock=made.clock, trusted=lambda: True) for _ in range(2)
    )
    asyncio.run(first.tick())
    asyncio.run(second.tick())
    assert [due for due in made.runs.slots if due.startswith("request:")] == ["request:1"]


def test_two_processes_that_read_it_together_run_it_once(made):
    name = ask(made, timedelta(0))
    for _ in range(2):
        asyncio.run(made.runs.start("wake", Trigger.DAEMON, due=name))
    assert [outcome for _, outcome in made.outcomes()] == [Outcome.SUCCEEDED, Outcome.SKIPPED]


@pytest.mark.parametrize(("down", "outcome"), [(4, Outcome.SUCCEEDED), (6, Outcome.MISFIRED)])
def test_requests_due_while_the_daemon_was_down_start_within_their_grace(made, down, outcome):
    name = ask(made, MINUTE)
    made.clock.go((1 + down) * 60)
    made.restart()
    made.run_until(made.clock.wall + MINUTE)
    assert made.outcomes() == [(name, outcome)]
    if outcome is Outcome.MISFIRED:
        (run,) = made.appliance.history()
        assert run.summary == "requested for a time that is 6m past, more than its grace of 5m"


def test_a_clock_step_moves_it_along(made):
    ask(made, timedelta(hours=5))
    made.run_until(NOON + timedelta(hours=1))
    made.clock.step(-timedelta(hours=3))
    made.run_until(NOON + timedelta(hours=4))
    assert made.runs.slots == []
    made.clock.step(timedelta(hours=1))
    made.run_until(made.clock.wall + 2 * MINUTE)
    assert made.runs.slots == ["request:1"]


def test_an_untrusted_clock_only_allows_immediate_requests(installation):
    with virtual_appliance(installation, WAKE) as made:
        installation.config.write_text(installation.config.read_text("utf-8").replace("sync: 0s", "sync: 15m"), "utf-8")
        made.appliance = made.appliance.reload()
        made.clock.ticks, made.clock.known = 5.0, False
        made.restart()
        ask(made, -MINUTE)
        later = made.appliance.store.requests.add("wake", NOON + MINUTE, {}, now=NOON)
        made.run_until(NOON + 3 * MINUTE)
        assert made.runs.slots == ["request:1"]
        made.clock.known = True
        made.run_until(NOON + 4 * MINUTE)
        assert made.runs.slots == ["request:1", later.slot_name]


def test_a_pause_of_the_job_does_not_delay_it(installation):
    with virtual_appliance(installation, DAILY) as made:
        made.appliance.pause("wake", now=NOON)
        ask(made, MINUTE)
        made.run_until(NOON + 2 * MINUTE)
        assert made.runs.slots == ["request:1"]


def test_a_failing_start_is_retried_ever_more_rarely_and_reported(made, caplog):
    ask(made, timedelta(0))
    made.runs.falling = [1] * 99
    made.run_until(NOON + 7 * MINUTE)
    assert 5 <= 99 - len(made.runs.falling) <= 8
    assert made.outcomes() == [("request:1", Outcome.MISFIRED)]
    ask(made, timedelta(0))
    made.runs.falling, made.runs.failing = [], ["no room"]
    made.run_until(made.clock.wall + MINUTE)
    assert made.outcomes()[-1] == ("request:2", Outcome.SUCCEEDED)
    assert "a requested run could not be started: no room" in caplog.text


def hold(made: VirtualAppliance) -> None:
    made.appliance.store.requests.save_checkpoint("wake", "ringing", now=made.clock.wall)


def lefts(made: VirtualAppliance) -> list[float]:
    """Return the start times in seconds of the runs that resume."""
    started = [run.started for run in reversed(made.appliance.history(limit=100)) if run.scheduled_for is None]
    return [round((each - NOON).total_seconds()) for each in started]


def test_a_session_resumes_at_once_after_a_restart_and_later_ever_more_rarely(made):
    hold(made)
    made.run_until(NOON + timedelta(hours=1))
    times = lefts(made)
    assert times[0] == 0
    gaps = [after - before for before, after in pairwise(times)]
    assert gaps[:4] == [5, 10, 20, 40]
    assert gaps[-1] == 600
    made.appliance.store.requests.delete_checkpoint("wake")
    made.run_until(NOON + timedelta(hours=2))
    assert len(lefts(made)) == len(times)


def test_a_long_session_that_was_killed_resumes_at_once(installation):
    with virtual_appliance(installation, WAKE, takes=lambda _: 1800.0) as made:
        hold(made)
        made.run_until(NOON + timedelta(hours=1))
        assert lefts(made)[:2] == [0, 1800]


def test_nothing_starts_during_a_run_and_other_jobs_are_not_delayed(installation):
    jobs = f"{DAILY}\nsleep:\n  kind: command\n  with: {{run: ['true']}}"
    with virtual_appliance(installation, jobs, takes=lambda job: 36_000.0 if job == "sleep" else 0.0) as made:
        made.appliance.store.requests.save_checkpoint("sleep", "waiting", now=NOON)
        made.clock.go(12 * 3600)
        made.restart()
        made.run_until(NOON + timedelta(hours=20))
        assert made.runs.by_job == [("sleep", "resume"), ("wake", "2026-05-02T07:00:00Z")]


def test_requests_that_are_too_old_or_without_a_job_are_dropped_and_reported(installation, caplog):
    with virtual_appliance(installation, WAKE) as made:
        hold(made)
        made.appliance.store.requests.save_checkpoint("gone", "ringing", now=NOON)
        made.appliance.store.requests.add("gone", NOON, {}, now=NOON)
        made.clock.go(49 * 3600)
        made.restart()
        made.run_until(made.clock.wall + MINUTE)
        assert made.runs.slots == []
        assert made.appliance.store.requests.checkpoints() == []
        assert "job=wake its checkpoint of 2026-05-01 was deleted: too old to resume" in caplog.text
        assert "job=gone was removed" in caplog.text


# Skipping the next slot.


def skip(made: VirtualAppliance) -> str:
    return slot_times.format_slot(made.appliance.skip_slot("wake", now=made.clock.wall).at)


def test_the_next_slot_is_skipped_and_recorded_and_the_one_after_it_used(installation):
    with virtual_appliance(installation, DAILY) as made:
        made.run_until(NOON + MINUTE)
        assert skip(made) == skip(made) == "2026-05-02T07:00:00Z"
        first, second = islice(made.appliance.slots("wake", NOON), 2)
        assert (first.skipped, first.selected, second.selected) == (True, False, True)
        made.restart()
        made.run_until(NOON + timedelta(days=2))
        assert made.outcomes() == [
            ("2026-05-02T07:00:00Z", Outcome.SKIPPED),
            ("2026-05-03T07:00:00Z", Outcome.SUCCEEDED),
        ]
        assert made.appliance.history()[-1].summary == "skipped by a person"
        assert made.appliance.store.requests.skipped_slot("wake") is None


def test_a_slot_skipped_while_the_daemon_was_down_is_not_a_misfire(installation):
    with virtual_appliance(installation, DAILY) as made:
        made.run_until(NOON + MINUTE)
        skip(made)
        made.clock.go(24 * 3600)
        made.restart()
        made.run_until(made.clock.wall + MINUTE)
        assert made.outcomes() == [("2026-05-02T07:00:00Z", Outcome.SKIPPED)]


def test_a_skipped_slot_can_be_used_again(installation):
    with virtual_appliance(installation, DAILY) as made:
        made.run_until(NOON + MINUTE)
        skip(made)
        made.appliance.unskip_slot("wake", now=made.clock.wall)
        made.run_until(NOON + timedelta(days=1))
        assert made.outcomes() == [("2026-05-02T07:00:00Z", Outcome.SUCCEEDED)]


@pytest.mark.parametrize(
    ("jobs", "before", "said"),
    [
        (WAKE, lambda _: None, "wake has no scheduled times"),
        (DAILY, lambda made: made.appliance.pause("wake", now=NOON), "wake is paused"),
    ],
)
def test_without_a_slot_to_skip_this_is_reported(installation, jobs, before: Callable[[VirtualAppliance], None], said):
    with virtual_appliance(installation, jobs) as made:
        before(made)
        with pytest.raises(Refused, match=said):
            skip(made)
        with pytest.raises(Refused, match="no slot of wake is to be skipped"):
            made.appliance.unskip_slot("wake", now=NOON)


def test_a_past_day_is_not_a_slot_to_skip(installation):
    with virtual_appliance(installation, DAILY) as made:
        made.appliance.store.requests.set_skipped_slot("wake", "2020-05-02T07:00:00Z")
        assert made.appliance.skipped_slot("wake", datetime(2026, 1, 1, tzinfo=UTC)) is None
