"""Slots during a run, catch-up, pauses, and dependent jobs."""

from datetime import timedelta
from itertools import pairwise

from pi_appliance.scheduling.slot_ledger import slot_statuses
from pi_appliance.storage.model import Outcome, Trigger
from tests.installation import Installation
from tests.scheduling.virtual_scheduler import NOON, VirtualAppliance, virtual_appliance

HOUR = timedelta(hours=1)


def job(name: str = "a", schedule: str = "'0 * * * *'", **more: str) -> str:
    keys = "".join(f"  {key.replace('_', '-')}: {value}\n" for key, value in more.items())
    return f"{name}:\n  kind: command\n  schedule: {schedule}\n  with: {{run: ['true']}}\n{keys}"


def chained(name: str, *after: str, **more: str) -> str:
    return job(name, "null", depends_on=f"[{', '.join(after)}]", **more)


def hours(simulation: VirtualAppliance, name: str = "a") -> list[str]:
    return [due[11:13] for each, due in simulation.runs.by_job if each == name]


def test_a_slot_during_a_run_is_skipped(installation: Installation) -> None:
    with virtual_appliance(installation, job(), takes=lambda _: 5400.0) as simulation:
        simulation.run_until(NOON + timedelta(hours=4, minutes=1))
        assert hours(simulation) == ["13", "15"]
        (run,) = [
            run for run in simulation.appliance.store.history(job="a") if run.scheduled_for == "2026-05-01T14:00:00Z"
        ]
        assert (run.outcome, run.summary) == (Outcome.SKIPPED, "the previous run is still active")


def test_a_queued_slot_starts_when_the_run_ends(installation: Installation) -> None:
    with virtual_appliance(
        installation, job(concurrency="queue", misfire_grace="1m"), takes=lambda _: 5400.0
    ) as simulation:
        simulation.run_until(NOON + 3 * HOUR)
        assert simulation.scheduler.waiting == 1
        simulation.run_until(NOON + 6 * HOUR)
        assert hours(simulation) == ["13", "14", "15", "16"]
        started = [run.started for run in reversed(simulation.appliance.store.history(job="a"))][:3]
        assert [each - NOON for each in started] == [HOUR, 2.5 * HOUR, 4 * HOUR]


def test_at_most_ten_slots_wait(installation: Installation) -> None:
    with virtual_appliance(installation, job(concurrency="queue"), takes=lambda _: 100 * 3600.0) as simulation:
        simulation.run_until(NOON + timedelta(hours=14, minutes=1))
        assert simulation.scheduler.waiting == 10
        assert [outcome for _, outcome in simulation.outcomes()] == [None, *[Outcome.SKIPPED] * 3]


def test_a_slot_queued_at_a_power_cut_is_caught_up_within_its_window(
    installation: Installation,
) -> None:
    queued = job(concurrency="queue", catch_up="{max-age: 12h, max-runs: 9}")
    with virtual_appliance(installation, queued, takes=lambda _: 5400.0) as simulation:
        simulation.run_until(NOON + timedelta(hours=2, minutes=10))
        assert simulation.scheduler.waiting == 1
        simulation.runs.vanish()
        simulation.restart()
        simulation.run_until(NOON + timedelta(hours=5))
        assert hours(simulation)[:3] == ["13", "14", "15"]


def test_catch_up_runs_start_one_after_the_other_within_the_spread(installation: Installation) -> None:
    caught = job(catch_up="{max-age: 6h, max-runs: 3, stagger: 10m}")
    with virtual_appliance(installation, caught, takes=lambda _: 60.0) as simulation:
        simulation.run_until(NOON + timedelta(minutes=30))
        simulation.clock.advance(5 * 3600)
        simulation.restart()
        simulation.run_until(simulation.clock.now() + timedelta(minutes=20))
        assert hours(simulation) == ["15", "16", "17"]
        runs = sorted((run.started, run.ended) for run in simulation.appliance.store.history(job="a") if run.attempts)
        assert all(before[1] <= after[0] for before, after in pairwise(runs))


def test_the_slots_of_a_pause_are_skipped_and_not_caught_up(installation: Installation) -> None:
    with virtual_appliance(installation, job(catch_up="{max-age: 1d, max-runs: 9}")) as simulation:
        simulation.run_until(NOON + timedelta(minutes=30))
        simulation.appliance.pause("a", now=simulation.clock.now())
        simulation.run_until(NOON + timedelta(hours=3, minutes=30))
        assert hours(simulation) == []
        simulation.restart()  # it is kept
        simulation.run_until(NOON + timedelta(hours=4, minutes=30))
        simulation.appliance.resume("a", now=simulation.clock.now())
        simulation.run_until(NOON + timedelta(hours=5, minutes=30))
        assert hours(simulation) == ["17"]
        result = list(slot_statuses(simulation.appliance, simulation.appliance.job("a"), simulation.clock.now()))
        assert [account.at.hour for account in result] == [17, 16, 15, 14, 13]
        assert all(
            account.run and "paused from 2026-05-01 12:30 to 2026-05-01 16:30" in account.run.summary
            for account in result[1:]
        )


def test_after_a_pause_the_next_slot_runs(installation: Installation) -> None:
    with virtual_appliance(installation, job()) as simulation:
        simulation.run_until(NOON + timedelta(minutes=30))
        simulation.appliance.pause("a", now=simulation.clock.now(), until=NOON + 2.5 * HOUR)
        simulation.run_until(NOON + timedelta(hours=3, minutes=1))
        assert hours(simulation) == ["15"]


def test_a_job_follows_the_success_of_another_once(installation: Installation) -> None:
    with virtual_appliance(installation, job() + chained("b", "a")) as simulation:
        simulation.run_until(NOON + timedelta(hours=2, minutes=1))
        simulation.restart()
        simulation.run_until(NOON + timedelta(hours=2, minutes=2))
        assert [name for name, _ in simulation.runs.by_job] == ["a", "b", "a", "b"]


def test_a_job_after_two_jobs_waits_for_both_again(installation: Installation) -> None:
    jobs = job() + job("c", "'30 13,16 * * *'") + chained("b", "a", "c")
    with virtual_appliance(installation, jobs) as simulation:
        simulation.run_until(NOON + timedelta(hours=5, minutes=1))
        assert [name for name, _ in simulation.runs.by_job if name != "a"] == ["c", "b", "c", "b"]


def test_a_failure_starts_no_dependent_job(installation: Installation) -> None:
    with virtual_appliance(installation, job("a", "null") + chained("b", "a")) as simulation:
        simulation.tick()
        run, _ = simulation.appliance.store.start_run(
            job="a", kind="command", trigger=Trigger.MANUAL, due=None, now=simulation.clock.now()
        )
        simulation.appliance.store.finish_run(run, Outcome.FAILED, "", now=simulation.clock.now())
        simulation.tick()
        assert simulation.runs.by_job == []


def test_an_old_success_starts_nothing_and_is_recorded_as_a_misfire(installation: Installation) -> None:
    with virtual_appliance(installation, job("a", "null") + chained("b", "a", misfire_grace="5m")) as simulation:
        simulation.tick()
        simulation.clock.advance(1)
        run, _ = simulation.appliance.store.start_run(
            job="a", kind="command", trigger=Trigger.MANUAL, due=None, now=simulation.clock.now()
        )
        simulation.appliance.store.finish_run(run, Outcome.SUCCEEDED, "", now=simulation.clock.now())
        simulation.clock.advance(3600)
        simulation.tick()
        simulation.tick()
        assert simulation.runs.by_job == []
        assert simulation.outcomes("b") == [(f"after:{run}", Outcome.MISFIRED)]
