"""The scheduler with an untrusted wall clock, and when it is set."""

from datetime import timedelta

import pytest

from pi_appliance.storage.model import Outcome
from pi_appliance.system.clock import ClockState
from tests.installation import Installation
from tests.scheduling.virtual_scheduler import NOON, VirtualAppliance, virtual_appliance

TWO = (
    "wall:\n  kind: command\n  schedule: '*/10 * * * *'\n  with: {run: ['true']}\n"
    "span:\n  kind: command\n  schedule: every 1m\n  with: {run: ['true']}\n"
)


def untrusted(made: VirtualAppliance) -> VirtualAppliance:
    """Simulate a machine booted five seconds ago without a synchronized clock."""
    made.clock.ticks, made.clock.known = 5.0, False
    made.restart()
    return made


def ran(made: VirtualAppliance, job: str) -> list[str]:
    return [due[11:16] for name, due in made.runs.by_job if name == job]


def test_wall_clock_jobs_wait_for_the_clock_and_intervals_do_not(installation: Installation) -> None:
    with virtual_appliance(installation, TWO) as made:
        installation.config.write_text(installation.config.read_text("utf-8").replace("sync: 0s", "sync: 15m"), "utf-8")
        made.scheduler.reload(made.appliance.reload())
        untrusted(made)
        made.scheduler.reload(made.appliance.reload())
        made.run_until(NOON + timedelta(minutes=12))
        assert made.scheduler.clock_state is ClockState.UNTRUSTED
        assert ran(made, "wall") == []
        assert len(ran(made, "span")) == 12
        made.run_until(NOON + timedelta(minutes=21))
        assert made.scheduler.clock_state is ClockState.TRUSTED
        assert ran(made, "wall") == ["12:20"]  # from the moment on that the clock is believed: at 12:15


def test_when_the_clock_is_set_missed_slots_are_recorded(installation: Installation) -> None:
    daily = "wall:\n  kind: command\n  schedule: '0 * * * *'\n  catch-up: {max-age: 2h}\n  with: {run: ['true']}\n"
    with virtual_appliance(installation, daily) as made:
        made.run_until(NOON + timedelta(minutes=30))
        untrusted(made)
        made.run_until(made.clock.now() + timedelta(seconds=30))
        made.clock.step(timedelta(hours=5))
        made.clock.known = True
        made.run_until(made.clock.now() + timedelta(minutes=1))
        assert made.outcomes() == [
            ("2026-05-01T15:00:00Z", Outcome.SKIPPED),  # 13, 14 and 15 o'clock in one row: outside the window
            ("2026-05-01T16:00:00Z", Outcome.SKIPPED),  # a newer one is made up for
            ("2026-05-01T17:00:00Z", Outcome.SUCCEEDED),
        ]


def test_it_polls_often_while_the_clock_may_be_set(installation: Installation) -> None:
    with virtual_appliance(
        installation, "wall:\n  kind: command\n  schedule: '0 * * * *'\n  with: {run: ['true']}\n"
    ) as made:
        installation.config.write_text(installation.config.read_text("utf-8").replace("sync: 0s", "sync: 10m"), "utf-8")
        again = made.appliance.reload()
        untrusted(made).scheduler.reload(again)
        made.run_until(NOON + timedelta(minutes=1))
        assert max(made.sleeps) <= 5


@pytest.mark.parametrize("seconds", [1, -1, 90, -90])
def test_a_small_clock_step_around_a_slot_runs_it_once(installation: Installation, seconds: int) -> None:
    with virtual_appliance(
        installation, "wall:\n  kind: command\n  schedule: '0 * * * *'\n  with: {run: ['true']}\n"
    ) as made:
        for minute in (59, 60, 61):
            made.run_until(NOON + timedelta(minutes=minute))
            made.clock.step(timedelta(seconds=seconds))
            made.tick()
        made.run_until(NOON + timedelta(hours=1, minutes=30))
        assert ran(made, "wall") == ["13:00"]
        assert made.scheduler.steps >= 2


def test_a_step_is_reported_once_with_its_size(installation: Installation, caplog: pytest.LogCaptureFixture) -> None:
    with virtual_appliance(installation, TWO) as made:
        made.tick()
        made.clock.step(timedelta(days=-2))
        made.tick()
        made.tick()
        assert caplog.messages == ["the clock was put back by 2d"]
        assert made.scheduler.clock_state is ClockState.TRUSTED


def test_slots_missed_while_the_clock_was_ahead_run_at_their_real_time(installation: Installation) -> None:
    with virtual_appliance(
        installation, "wall:\n  kind: command\n  schedule: '0 * * * *'\n  with: {run: ['true']}\n"
    ) as made:
        made.tick()
        made.clock.step(timedelta(days=3650))
        made.run_until(made.clock.now() + timedelta(minutes=5))
        made.clock.step(timedelta(days=-3650))
        made.run_until(NOON + timedelta(hours=2, minutes=1))
        assert [due for due in made.runs.slots if due.startswith("2026")] == [
            "2026-05-01T13:00:00Z",
            "2026-05-01T14:00:00Z",
        ]


@pytest.mark.parametrize("ahead", [timedelta(hours=30), timedelta(minutes=62)])
def test_a_pause_ended_while_the_clock_was_ahead_stays_ended(installation: Installation, ahead: timedelta) -> None:
    with virtual_appliance(
        installation, "wall:\n  kind: command\n  schedule: '0 * * * *'\n  with: {run: ['true']}\n"
    ) as made:
        made.tick()
        made.clock.step(ahead)
        made.appliance.pause("wall", now=made.clock.now())
        made.run_until(made.clock.now() + timedelta(minutes=1))
        made.appliance.resume("wall", now=made.clock.now())
        made.clock.step(-ahead)
        made.run_until(NOON + timedelta(hours=2, minutes=5))
        assert ran(made, "wall")[-2:] == ["13:00", "14:00"]


def test_a_pause_without_an_end_survives_every_clock_change(installation: Installation) -> None:
    with virtual_appliance(
        installation, "wall:\n  kind: command\n  schedule: '0 * * * *'\n  with: {run: ['true']}\n"
    ) as made:
        made.tick()
        made.clock.step(timedelta(hours=30))
        made.appliance.pause("wall", now=made.clock.now())
        made.tick()
        made.clock.step(timedelta(hours=-30))
        made.run_until(NOON + timedelta(hours=2, minutes=5))
        assert ran(made, "wall") == []
