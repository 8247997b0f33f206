"""The limit of runs at the same time: who starts first, who waits, and what becomes of it."""

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


def started(made: VirtualAppliance) -> list[str]:
    return [name for name, _ in made.runs.by_job]


def at_the_slot(made: VirtualAppliance) -> VirtualAppliance:
    """Let everything start that is due at 12:01."""
    made.tick()
    made.clock.go(60)
    made.tick()
    return made


@pytest.fixture
def made(installation: Installation) -> Iterator[VirtualAppliance]:
    jobs = "".join(job(name) for name in ("a", "b", "c", "d"))
    with virtual_appliance(installation, jobs, LIMIT, lambda _: 30.0, limited=True) as virtual:
        yield at_the_slot(virtual)


def test_the_others_wait_until_one_ends(made: VirtualAppliance) -> None:
    assert (started(made), made.scheduler.waiting) == (["a", "b"], 2)
    made.clock.go(30)
    made.runs.end_what_is_over()
    made.tick()
    assert (started(made), made.scheduler.waiting) == (["a", "b", "c", "d"], 0)


def test_all_run_once_with_one_place(installation: Installation) -> None:
    jobs = "".join(job(f"job-{number:02}") for number in range(20))
    with virtual_appliance(installation, jobs, "max-concurrent-runs: 1", lambda _: 3.0, limited=True) as made:
        made.run_until(NOON + timedelta(minutes=10))
        assert started(made) == [f"job-{number:02}" for number in range(20)]
        assert {outcome for _, outcome in made.outcomes()} == {Outcome.SUCCEEDED}


def test_the_priority_decides_who_starts_first(installation: Installation) -> None:
    jobs = (
        job("puzzle", "priority: low, ")
        + job("plain")
        + job("mail", "priority: high, ")
        + job("bell", "priority: urgent, ")
    )
    with virtual_appliance(installation, jobs, "max-concurrent-runs: 1", lambda _: 5.0, limited=True) as made:
        made.run_until(NOON + timedelta(minutes=3))
        assert started(made) == ["bell", "mail", "plain", "puzzle"]


def test_music_and_what_a_person_starts_do_not_wait(made: VirtualAppliance, installation: Installation) -> None:
    asyncio.run(made.runs.start("c", Trigger.MANUAL))
    assert started(made)[-1] == "c"
    assert made.runs.is_waiting("c"), "its slot has a run of its own"
    installation.write("wake: {kind: music, schedule: '1 12 * * *', with: {action: stop}}", LIMIT)
    made.appliance = made.runs.appliance = made.appliance.reload()
    asyncio.run(made.runs.start("wake", Trigger.DAEMON, due=SLOT))
    assert started(made)[-1] == "wake"


def test_a_run_of_another_process_has_a_place_too(installation: Installation) -> None:
    with virtual_appliance(installation, job("a"), "max-concurrent-runs: 1", limited=True) as made:
        with Places(made.appliance.config).wait(0, lambda: False) as place:
            assert place is not None
            assert started(at_the_slot(made)) == []
        made.tick()
        assert started(made) == ["a"]


def test_another_process_that_waits_is_next(installation: Installation) -> None:
    with virtual_appliance(installation, job("a"), "max-concurrent-runs: 1", limited=True) as made:
        places = Places(made.appliance.config)
        looks = 0

        def give_up() -> bool:
            nonlocal looks
            looks += 1
            assert places.take() is None, "it is the turn of the one that waits"
            return looks > 2

        with places.wait(0, lambda: False), places.wait(60, give_up) as place:
            assert place is None


def test_a_killed_daemon_finds_waiting_slots_again(made: VirtualAppliance) -> None:
    made.runs.vanish()
    made.restart()
    made.tick()
    made.clock.go(30)
    made.runs.end_what_is_over()
    made.tick()
    assert sorted(started(made)) == ["a", "b", "c", "d"]
    assert made.runs.beaten == 0


def test_a_slot_that_waited_too_long_says_so(made: VirtualAppliance) -> None:
    made.clock.go(5 * 60 + 3)
    made.tick()  # the runs have not ended in this time
    run = made.appliance.store.history(job="c", limit=1)[0]
    assert (run.outcome, run.scheduled_for) == (Outcome.MISFIRED, SLOT)
    assert run.summary == (
        "5m3s late, more than its 5m: it waited for other runs to end (2 may be active at the same time)"
    )
    made.restart()
    made.runs.end_what_is_over()
    made.tick()
    assert started(made) == ["a", "b"]


def test_a_cancelled_wait_uses_the_slot(made: VirtualAppliance) -> None:
    (run,) = [run for run in made.runs.waiting if run.job == "c"]
    made.runs.close_waiting(run, Outcome.STOPPED, "cancelled", now=made.clock.now())
    made.clock.go(30)
    made.runs.end_what_is_over()
    made.restart()
    made.tick()
    assert started(made) == ["a", "b", "d"]
    assert made.outcomes("c") == [(SLOT, Outcome.STOPPED)]


def test_the_next_slot_meets_a_run_that_waits(installation: Installation) -> None:
    def every(name: str, concurrency: str) -> str:
        return (
            f"{name}: {{kind: command, schedule: '* * * * *', concurrency: {concurrency}, with: {{run: ['true']}}}}\n"
        )

    jobs = job("long") + every("skips", "skip") + every("replaces", "replace") + every("queues", "queue")
    with virtual_appliance(installation, jobs, "max-concurrent-runs: 1", lambda _: 90.0, limited=True) as made:
        at_the_slot(made)
        made.clock.go(60)
        made.tick()
        assert started(made) == ["long"]
        first, second = SLOT, "2026-05-01T12:02:00Z"
        assert made.outcomes("skips") == [(second, Outcome.SKIPPED)]
        assert made.outcomes("replaces") == [(first, Outcome.SKIPPED)]
        assert made.outcomes("queues") == []
        summaries = [made.appliance.store.history(job=name)[0].summary for name in ("skips", "replaces")]
        assert summaries == ["the previous run waits for other runs to end", f"replaced by {second}"]
        assert [run.due for run in made.runs.waiting] == [first, first, second]
        assert made.scheduler.waiting == 4


def test_a_new_schedule_drops_the_waiting_slot(made: VirtualAppliance, installation: Installation) -> None:
    installation.write(job("a") + job("b") + job("c").replace("1 12", "9 12"), LIMIT)
    made.appliance = made.runs.appliance = made.appliance.reload()
    made.scheduler.reload(made.appliance)
    made.clock.go(30)
    made.runs.end_what_is_over()
    made.tick()
    assert (started(made), made.runs.waiting) == (["a", "b"], ())
    assert made.outcomes("c") == [(SLOT, Outcome.SKIPPED)]


def test_a_process_that_cannot_start_waits_on(made: VirtualAppliance) -> None:
    made.clock.go(30)
    made.runs.end_what_is_over()
    made.runs.failing = ["no memory"]
    made.tick()
    assert (made.scheduler.error, made.scheduler.waiting) == ("no memory", 2)
    made.tick()
    assert (made.scheduler.error, started(made)[2:]) == ("", ["c", "d"])
