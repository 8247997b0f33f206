"""The limit of concurrent runs: the order of starts, and waiting runs."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from pi_appliance.scheduling.concurrency import Places
from pi_appliance.storage.model import Outcome, Trigger
from tests.installation import Installation
from tests.scheduling.virtual_scheduler import NOON, VirtualAppliance, virtual_appliance

LIMIT = "max-concurrent-runs: 2"
SLOT = "2026-05-01T12:01:00Z"


def job(name: str, more: str = "") -> str:
    return f"{name}: {{kind: command, schedule: '1 12 * * *', {more}with: {{run: ['true']}}}}\n"


def started(simulation: VirtualAppliance) -> list[str]:
    return [name for name, _ in simulation.runs.by_job]


def at_the_slot(simulation: VirtualAppliance) -> VirtualAppliance:
    """Start everything that is due at 12:01."""
    simulation.tick()
    simulation.clock.advance(60)
    simulation.tick()
    return simulation


@pytest.fixture
def simulation(installation: Installation) -> Iterator[VirtualAppliance]:
    jobs = "".join(job(name) for name in ("a", "b", "c", "d"))
    with virtual_appliance(installation, jobs, LIMIT, lambda _: 30.0, limited=True) as virtual:
        yield at_the_slot(virtual)


def test_the_others_wait_until_one_ends(simulation: VirtualAppliance) -> None:
    assert (started(simulation), simulation.scheduler.waiting) == (["a", "b"], 2)
    simulation.clock.advance(30)
    simulation.runs.end_what_is_over()
    simulation.tick()
    assert (started(simulation), simulation.scheduler.waiting) == (["a", "b", "c", "d"], 0)


def test_all_run_once_with_one_place(installation: Installation) -> None:
    jobs = "".join(job(f"job-{number:02}") for number in range(20))
    with virtual_appliance(installation, jobs, "max-concurrent-runs: 1", lambda _: 3.0, limited=True) as simulation:
        simulation.run_until(NOON + timedelta(minutes=10))
        assert started(simulation) == [f"job-{number:02}" for number in range(20)]
        assert {outcome for _, outcome in simulation.outcomes()} == {Outcome.SUCCEEDED}


def test_the_priority_decides_who_starts_first(installation: Installation) -> None:
    jobs = (
        job("puzzle", "priority: low, ")
        + job("plain")
        + job("mail", "priority: high, ")
        + job("bell", "priority: urgent, ")
    )
    with virtual_appliance(installation, jobs, "max-concurrent-runs: 1", lambda _: 5.0, limited=True) as simulation:
        simulation.run_until(NOON + timedelta(minutes=3))
        assert started(simulation) == ["bell", "mail", "plain", "puzzle"]


def test_music_and_what_a_person_starts_do_not_wait(simulation: VirtualAppliance, installation: Installation) -> None:
    asyncio.run(simulation.runs.start("c", Trigger.MANUAL))
    assert started(simulation)[-1] == "c"
    assert simulation.runs.is_waiting("c"), "its slot has a run of its own"
    installation.write("wake: {kind: music, schedule: '1 12 * * *', with: {action: stop}}", LIMIT)
    simulation.appliance = simulation.runs.appliance = simulation.appliance.reload()
    asyncio.run(simulation.runs.start("wake", Trigger.DAEMON, due=SLOT))
    assert started(simulation)[-1] == "wake"


def test_a_run_of_another_process_has_a_place_too(installation: Installation) -> None:
    with virtual_appliance(installation, job("a"), "max-concurrent-runs: 1", limited=True) as simulation:
        with Places(simulation.appliance.config).wait(0, lambda: False) as place:
            assert place is not None
            assert started(at_the_slot(simulation)) == []
        simulation.tick()
        assert started(simulation) == ["a"]


def test_another_process_that_waits_is_next(installation: Installation) -> None:
    with virtual_appliance(installation, job("a"), "max-concurrent-runs: 1", limited=True) as simulation:
        places = Places(simulation.appliance.config)
        looks = 0

        def give_up() -> bool:
            nonlocal looks
            looks += 1
            assert places.take() is None, "it is the turn of the one that waits"
            return looks > 2

        with places.wait(0, lambda: False), places.wait(60, give_up) as place:
            assert place is None


def test_a_killed_daemon_finds_waiting_slots_again(simulation: VirtualAppliance) -> None:
    simulation.runs.vanish()
    simulation.restart()
    simulation.tick()
    simulation.clock.advance(30)
    simulation.runs.end_what_is_over()
    simulation.tick()
    assert sorted(started(simulation)) == ["a", "b", "c", "d"]
    assert simulation.runs.beaten == 0


def test_a_slot_that_waited_too_long_says_so(simulation: VirtualAppliance) -> None:
    simulation.clock.advance(5 * 60 + 3)
    simulation.tick()  # the runs have not ended in this time
    run = simulation.appliance.store.history(job="c", limit=1)[0]
    assert (run.outcome, run.scheduled_for) == (Outcome.MISFIRED, SLOT)
    assert run.summary == (
        "5m3s late, more than its 5m: it waited for other runs to end (2 may be active at the same time)"
    )
    simulation.restart()
    simulation.runs.end_what_is_over()
    simulation.tick()
    assert started(simulation) == ["a", "b"]


def test_a_cancelled_wait_uses_the_slot(simulation: VirtualAppliance) -> None:
    (run,) = [run for run in simulation.runs.waiting if run.job == "c"]
    simulation.runs.close_waiting(run, Outcome.STOPPED, "cancelled", now=simulation.clock.now())
    simulation.clock.advance(30)
    simulation.runs.end_what_is_over()
    simulation.restart()
    simulation.tick()
    assert started(simulation) == ["a", "b", "d"]
    assert simulation.outcomes("c") == [(SLOT, Outcome.STOPPED)]


def test_the_next_slot_meets_a_run_that_waits(installation: Installation) -> None:
    def every(name: str, concurrency: str) -> str:
        return (
            f"{name}: {{kind: command, schedule: '* * * * *', concurrency: {concurrency}, with: {{run: ['true']}}}}\n"
        )

    jobs = job("long") + every("skips", "skip") + every("replaces", "replace") + every("queues", "queue")
    with virtual_appliance(installation, jobs, "max-concurrent-runs: 1", lambda _: 90.0, limited=True) as simulation:
        at_the_slot(simulation)
        simulation.clock.advance(60)
        simulation.tick()
        assert started(simulation) == ["long"]
        first, second = SLOT, "2026-05-01T12:02:00Z"
        assert simulation.outcomes("skips") == [(second, Outcome.SKIPPED)]
        assert simulation.outcomes("replaces") == [(first, Outcome.SKIPPED)]
        assert simulation.outcomes("queues") == []
        summaries = [simulation.appliance.store.history(job=name)[0].summary for name in ("skips", "replaces")]
        assert summaries == ["the previous run waits for other runs to end", f"replaced by {second}"]
        assert [run.due for run in simulation.runs.waiting] == [first, first, second]
        assert simulation.scheduler.waiting == 4


def test_a_new_schedule_drops_the_waiting_slot(simulation: VirtualAppliance, installation: Installation) -> None:
    installation.write(job("a") + job("b") + job("c").replace("1 12", "9 12"), LIMIT)
    simulation.appliance = simulation.runs.appliance = simulation.appliance.reload()
    simulation.scheduler.reload(simulation.appliance)
    simulation.clock.advance(30)
    simulation.runs.end_what_is_over()
    simulation.tick()
    assert (started(simulation), simulation.runs.waiting) == (["a", "b"], ())
    assert simulation.outcomes("c") == [(SLOT, Outcome.SKIPPED)]


def test_a_process_that_cannot_start_waits_on(simulation: VirtualAppliance) -> None:
    simulation.clock.advance(30)
    simulation.runs.end_what_is_over()
    simulation.runs.failing = ["no memory"]
    simulation.tick()
    assert (simulation.scheduler.error, simulation.scheduler.waiting) == ("no memory", 2)
    simulation.tick()
    assert (simulation.scheduler.error, started(simulation)[2:]) == ("", ["c", "d"])
