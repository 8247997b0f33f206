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


def untrusted(simulation: VirtualAppliance) -> VirtualAppliance:
    """Simulate a machine booted five seconds ago without a synchronized clock."""
    simulation.clock.ticks, simulation.clock.known = 5.0, False
    simulation.restart()
    return simulation


def ran(simulation: VirtualAppliance, job: str) -> list[str]:
    return [due[11:16] for name, due in simulation.runs.by_job if name == job]


def test_wall_clock_jobs_wait_for_the_clock_and_intervals_do_not(installation: Installation) -> None:
    with virtual_appliance(installation, TWO) as simulation:
        installation.config.write_text(installation.config.read_text("utf-8").replace("sync: 0s", "sync: 15m"), "utf-8")
        simulation.scheduler.reload(simulation.appliance.reload())
        untrusted(simulation)
        simulation.scheduler.reload(simulation.appliance.reload())
        simulation.run_until(NOON + timedelta(minutes=12))
        assert simulation.scheduler.clock_state is ClockState.UNTRUSTED
        assert ran(simulation, "wall") == []
        assert len(ran(simulation, "span")) == 12
        simulation.run_until(NOON + timedelta(minutes=21))
        assert simulation.scheduler.clock_state is ClockState.TRUSTED
        assert ran(simulation, "wall") == ["12:20"]  # from the moment on that the clock is believed: at 12:15


def test_when_the_clock_is_set_missed_slots_are_recorded(installation: Installation) -> None:
    daily = "wall:\n  kind: command\n  schedule: '0 * * * *'\n  catch-up: {max-age: 2h}\n  with: {run: ['true']}\n"
    with virtual_appliance(installation, daily) as simulation:
        simulation.run_until(NOON + timedelta(minutes=30))
        untrusted(simulation)
        simulation.run_until(simulation.clock.now() + timedelta(seconds=30))
        simulation.clock.step(timedelta(hours=5))
        simulation.clock.known = True
        simulation.run_until(simulation.clock.now() + timedelta(minutes=1))
        assert simulation.outcomes() == [
            ("2026-05-01T15:00:00Z", Outcome.SKIPPED),  # 13, 14 and 15 o'clock in one row: outside the window
            ("2026-05-01T16:00:00Z", Outcome.SKIPPED),  # a newer one is made up for
            ("2026-05-01T17:00:00Z", Outcome.SUCCEEDED),
        ]


def test_it_polls_often_while_the_clock_may_be_set(installation: Installation) -> None:
    with virtual_appliance(
        installation, "wall:\n  kind: command\n  schedule: '0 * * * *'\n  with: {run: ['true']}\n"
    ) as simulation:
        installation.config.write_text(installation.config.read_text("utf-8").replace("sync: 0s", "sync: 10m"), "utf-8")
        again = simulation.appliance.reload()
        untrusted(simulation).scheduler.reload(again)
        simulation.run_until(NOON + timedelta(minutes=1))
        assert max(simulation.sleeps) <= 5


@pytest.mark.parametrize("seconds", [1, -1, 90, -90])
def test_a_small_clock_step_around_a_slot_runs_it_once(installation: Installation, seconds: int) -> None:
    with virtual_appliance(
        installation, "wall:\n  kind: command\n  schedule: '0 * * * *'\n  with: {run: ['true']}\n"
    ) as simulation:
        for minute in (59, 60, 61):
            simulation.run_until(NOON + timedelta(minutes=minute))
            simulation.clock.step(timedelta(seconds=seconds))
            simulation.tick()
        simulation.run_until(NOON + timedelta(hours=1, minutes=30))
        assert ran(simulation, "wall") == ["13:00"]
        assert simulation.scheduler.steps >= 2


def test_a_step_is_reported_once_with_its_size(installation: Installation, caplog: pytest.LogCaptureFixture) -> None:
    with virtual_appliance(installation, TWO) as simulation:
        simulation.tick()
        simulation.clock.step(timedelta(days=-2))
        simulation.tick()
        simulation.tick()
        assert caplog.messages == ["the clock was put back by 2d"]
        assert simulation.scheduler.clock_state is ClockState.TRUSTED


def test_slots_missed_while_the_clock_was_ahead_run_at_their_real_time(installation: Installation) -> None:
    with virtual_appliance(
        installation, "wall:\n  kind: command\n  schedule: '0 * * * *'\n  with: {run: ['true']}\n"
    ) as simulation:
        simulation.tick()
        simulation.clock.step(timedelta(days=3650))
        simulation.run_until(simulation.clock.now() + timedelta(minutes=5))
        simulation.clock.step(timedelta(days=-3650))
        simulation.run_until(NOON + timedelta(hours=2, minutes=1))
        assert [due for due in simulation.runs.slots if due.startswith("2026")] == [
            "2026-05-01T13:00:00Z",
            "2026-05-01T14:00:00Z",
        ]


@pytest.mark.parametrize("ahead", [timedelta(hours=30), timedelta(minutes=62)])
def test_a_pause_ended_while_the_clock_was_ahead_stays_ended(installation: Installation, ahead: timedelta) -> None:
    with virtual_appliance(
        installation, "wall:\n  kind: command\n  schedule: '0 * * * *'\n  with: {run: ['true']}\n"
    ) as simulation:
        simulation.tick()
        simulation.clock.step(ahead)
        simulation.appliance.pause("wall", now=simulation.clock.now())
        simulation.run_until(simulation.clock.now() + timedelta(minutes=1))
        simulation.appliance.resume("wall", now=simulation.clock.now())
        simulation.clock.step(-ahead)
        simulation.run_until(NOON + timedelta(hours=2, minutes=5))
        assert ran(simulation, "wall")[-2:] == ["13:00", "14:00"]


def test_a_pause_without_an_end_survives_every_clock_change(installation: Installation) -> None:
    with virtual_appliance(
        installation, "wall:\n  kind: command\n  schedule: '0 * * * *'\n  with: {run: ['true']}\n"
    ) as simulation:
        simulation.tick()
        simulation.clock.step(timedelta(hours=30))
        simulation.appliance.pause("wall", now=simulation.clock.now())
        simulation.tick()
        simulation.clock.step(timedelta(hours=-30))
        simulation.run_until(NOON + timedelta(hours=2, minutes=5))
        assert ran(simulation, "wall") == []
