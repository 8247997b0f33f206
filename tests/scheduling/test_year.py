"""The daemon through random power cuts and clock errors: no slot runs twice, and every slot is recorded."""

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from tests.installation import Installation, in_memory
from tests.scheduling.accident_simulation import NEW_YEAR, AccidentSimulation

DAY = timedelta(days=1)
YEARS = 365 * DAY
STEPS = [
    timedelta(seconds=1),
    timedelta(minutes=7),
    timedelta(hours=1),
    timedelta(hours=3, minutes=30),
    9 * DAY,
    10 * YEARS,
]


def job(name: str, schedule: str, **more: str) -> str:
    """Return one job as YAML."""
    keys = "".join(f"  {key.replace('_', '-')}: {value}\n" for key, value in more.items())
    return f"{name}:\n  kind: command\n  with: {{run: ['true']}}\n  schedule: {schedule}\n{keys}"


def random_jobs(random: Random, count: int) -> Iterator[str]:
    """Yield `count` of 200 jobs of every kind, at random times."""
    policies = [
        {},
        {"misfire-grace": "10m"},
        {"catch-up": "{max-age: 6h}"},
        {"catch-up": "{max-age: 2d, max-runs: 3, stagger: 10m}"},
        {"jitter": "20m"},
        {"chance": "1/4"},
        {"chance": "1/3", "catch-up": "{max-age: 1d}", "jitter": "15m"},
    ]
    for number in range(0, 200, 200 // count):
        minute, hour = random.randrange(60), random.randrange(24)
        when = (
            f'"{minute} {hour} * * *"'
            if number < 50
            else f'"{minute} {hour} * * {random.randrange(7)}"'
            if number < 140
            else f'"{minute} {hour} {random.randrange(1, 31)} * *"'
            if number < 180
            else f'"{minute} {hour},{(hour + 12) % 24} * * *"'
            if number < 190
            else f"every {random.choice((4, 6, 12))}h"
            if number < 199
            else f'"{minute} * * * *"'
        )
        name = f"long-{number}" if number % 9 == 0 else f"job-{number}"
        more = dict(random.choice(policies))
        if number % 18 == 0:
            more["concurrency"] = "queue"
        yield job(name, when, **more)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("days", "count", "runs"),
    [(90, 25, 600), pytest.param(365, 200, 20_000, marks=pytest.mark.slow)],
)
def test_a_year_with_many_jobs(days: int, count: int, runs: int) -> None:
    random = Random(2027)
    with (
        in_memory() as folder,
        contextlib.closing(
            AccidentSimulation(Installation(Path(folder)), "".join(random_jobs(random, count)))
        ) as simulation,
    ):
        while simulation.clock.now() < NEW_YEAR + days * DAY:
            simulation.run_for(random.uniform(0.1, 20) * DAY)
            match random.randrange(4):
                case 0:
                    simulation.power_cut(off=random.uniform(0, 1.5) * DAY, clock_lost=False)
                case 1:  # the clock stops meanwhile, and is set some time after the start
                    off = random.uniform(0, 3) * DAY
                    simulation.power_cut(off=off, clock_lost=True)
                    simulation.run_for(timedelta(minutes=random.uniform(0, 30)))
                    simulation.step(off)
                    simulation.clock.known = True
                case 2:
                    by = random.choice(STEPS) * random.choice((1, -1))
                    simulation.step(by)
                    simulation.run_for(random.uniform(0, 0.2) * DAY)
                    simulation.step(-by)
                case 3:
                    simulation.start()  # the daemon alone
        simulation.run_for(2 * DAY)
        simulation.check()
        assert len(simulation.runs.by_job) > runs


class Accidents(RuleBasedStateMachine):
    """Random accidents with few jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = in_memory()
        self.simulation = AccidentSimulation(
            Installation(Path(self.folder.name)),
            job("hourly", '"0 * * * *"')
            + job("night", '"30 2 * * *"', catch_up="{max-age: 12h}")
            + job("twice", '"15 2,14 * * *"', jitter="30m", catch_up="{max-age: 1d, max-runs: 2, stagger: 20m}")
            + job("drawn", '"*/30 * * * *"', chance="1/3", catch_up="{max-age: 3h}")
            + job("span", "every 25m", misfire_grace="1m")
            + job("long", '"*/30 * * * *"', concurrency="queue"),
        )
        self.off = timedelta(0)  # how far the clock is wrong

    @rule(hours=st.floats(0.01, 60))
    def run_for(self, hours: float) -> None:
        self.simulation.run_for(timedelta(hours=hours))

    @rule(days=st.sampled_from([86, 87, 302, 303]))
    def go_to_a_day_on_which_the_clock_is_changed(self, days: int) -> None:
        ahead = NEW_YEAR + days * DAY - self.simulation.clock.now()
        if timedelta(0) < ahead < 400 * DAY:
            self.simulation.power_cut(off=ahead, clock_lost=False)

    @rule(seconds=st.one_of(st.floats(-5, 5), st.floats(-30_000, 30_000), st.floats(-3.2e8, 3.2e8)))
    def step(self, seconds: float) -> None:
        by = timedelta(seconds=round(seconds, 3))
        self.off += by
        self.simulation.step(by)

    @precondition(lambda self: self.off)
    @rule()
    def set_right(self) -> None:
        self.simulation.step(-self.off)
        self.off = timedelta(0)
        self.simulation.clock.known = True

    @rule(hours=st.floats(0, 50), clock_lost=st.booleans())
    def power_cut(self, hours: float, clock_lost: bool) -> None:
        off = timedelta(hours=round(hours, 3))
        self.simulation.power_cut(off=off, clock_lost=clock_lost)
        if clock_lost:
            self.off -= off

    @rule()
    def restart(self) -> None:
        self.simulation.start()

    @rule(name=st.sampled_from(["hourly", "night", "span"]), minutes=st.floats(1, 600))
    def pause(self, name: str, minutes: float) -> None:
        simulation = self.simulation
        simulation.appliance.pause(name, now=simulation.clock.now())
        simulation.run_for(timedelta(minutes=minutes))
        simulation.appliance.resume(name, now=simulation.clock.now())
        # Slots in between are skipped on purpose.
        simulation.forgive(name)

    def teardown(self) -> None:
        self.simulation.run_for(timedelta(hours=30))
        try:
            self.simulation.check()
        finally:
            self.simulation.close()
            self.folder.cleanup()


@pytest.mark.parametrize("examples", [2, pytest.param(25, marks=pytest.mark.slow)])
def test_no_accident_loses_or_repeats_a_slot(examples: int) -> None:
    repeatable = "CI" in os.environ  # elsewhere each run tries other accidents
    few = settings(max_examples=examples, stateful_step_count=12, deadline=None, derandomize=repeatable)
    run_state_machine_as_test(Accidents, settings=few)


def test_a_pause_ended_under_a_wrong_clock_stays_ended() -> None:
    accidents = Accidents()
    accidents.pause("span", 1.0)
    accidents.step(142_712_319)
    accidents.restart()
    accidents.pause("span", 1.0)
    accidents.restart()
    accidents.set_right()
    accidents.teardown()
