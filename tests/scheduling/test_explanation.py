"""Explanations of jobs: a line for each option, and one for each clock change."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.config.options import (
    CatchUp,
    ConcurrencyPolicy,
    Conditions,
    Config,
    Job,
    Priority,
    StartedBy,
    SuspendWhen,
)
from pi_appliance.config.units import Percent, Size
from pi_appliance.scheduling import explanation
from pi_appliance.scheduling.chance import Chance
from pi_appliance.scheduling.schedule import AtBoot, Cron, Every

NOW = datetime(2026, 11, 21, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
CONFIG = Config(state_dir=Path("/state"), time_zone=BERLIN)
PLAIN = Job(name="night", kind="command", schedule=Cron(("30 2 * * *",)))


def describe(job: Job, machine: str = "Europe/Berlin") -> list[str]:
    """Return the explanation of `job` on a machine in the zone `machine`."""
    return explanation.explain_job(CONFIG, job, NOW, machine=ZoneInfo(machine))


def test_a_plain_job_is_explained_from_its_times_to_cron() -> None:
    assert describe(PLAIN) == [
        "At 02:30 every day (Europe/Berlin)",
        "Started by the daemon, while it is up (pi-appliance up)",
        "It may start up to 5m late and is stopped after 1h",
        "Next: Sat 2026-11-21 02:30",
        "Next: Sun 2026-11-22 02:30",
        "Next: Mon 2026-11-23 02:30",
        "Sun 2027-03-28 the clock goes from 02:00 to 03:00: 02:30 does not exist; it runs at 03:00",
        "Sun 2027-10-31 the clock goes from 03:00 to 02:00: 02:30 occurs twice; it runs once, the first time",
        "Cron and the daemon run it at the same times, also when the clock changes",
        "Cron also runs jobs while the daemon is down; for that write started-by: cron",
    ]


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"chance": Chance(1, 4)}, "The chance selects 1/4 of the slots; to list them: pi-appliance jobs next night"),
        ({"jitter": timedelta(minutes=10)}, "Each slot starts at a random time up to 10m later"),
        (
            {"catch_up": CatchUp(max_age=timedelta(hours=6))},
            "Of the slots missed in the last 6h, the newest is run late",
        ),
        (
            {"catch_up": CatchUp(max_age=timedelta(hours=6), max_runs=3, stagger=timedelta(minutes=10))},
            "Of the slots missed in the last 6h, the newest 3 are run late, spread over 10m",
        ),
        ({"catch_up": CatchUp(max_age=timedelta(hours=6))}, "Cron would not catch up on missed slots"),
        ({"concurrency": ConcurrencyPolicy.QUEUE}, "A slot that comes during a run waits for its end"),
        (
            {"concurrency": ConcurrencyPolicy.REPLACE},
            "A slot that comes during a run stops that run and replaces it",
        ),
        (
            {
                "conditions": Conditions(
                    temperature_below=75, disk_free=Size(500_000_000), command=["test", "-e", "a b"]
                )
            },
            "A slot is used only if the processor is below 75 °C, 500MB of the disk are free and"
            " `test -e 'a b'` ends with status 0",
        ),
        (
            {"conditions": Conditions(not_throttled=True, online=True)},
            "A slot is used only if the power supply is good and the processor is not throttled"
            " and the network has a default route",
        ),
        (
            {"suspend_when": SuspendWhen(temperature_above=80.5, throttled=True)},
            "A run is suspended while the processor is above 80.5 °C"
            " or the power supply is bad or the processor is throttled",
        ),
        (
            {"memory": Size(300_000_000), "cpu": Percent(50)},
            "It may use at most 300MB of memory and 50% of one processor",
        ),
        ({"priority": Priority.URGENT}, "It never waits for runs of other jobs to end"),
        ({"priority": Priority.LOW}, "Its priority among runs that wait for others to end is low"),
        ({"nice": 10}, "Other programs have priority on the processor (nice 10)"),
        ({"time_zone": ZoneInfo("Asia/Tokyo")}, "At 02:30 every day (Asia/Tokyo)"),
        ({"time_zone": ZoneInfo("Asia/Tokyo")}, "In Asia/Tokyo the clock does not change in the next 18 months"),
        (
            {"time_zone": ZoneInfo("Asia/Tokyo")},
            "Cron cannot run this in Asia/Tokyo: it uses only the time zone of the machine",
        ),
        ({"started_by": StartedBy.CRON}, "Started by cron, once it is installed there (pi-appliance jobs install)"),
        (
            {"schedule": Cron(("*/45 * * * *",))},
            "Note: */45 means minute 0 and 45 of each hour, not every 45 minutes;"
            " write a step that divides 60; for even gaps: every 45m",
        ),
        ({"schedule": Cron(("0 6 * * 1", "30 7 * * *"))}, "At 07:30 every day (Europe/Berlin)"),
        (
            {"schedule": Every(timedelta(seconds=90))},
            "Cron cannot run this: it has no intervals, and its smallest unit is a minute",
        ),
        ({"schedule": Every(timedelta(seconds=90))}, "Next: Sat 2026-11-21 01:01:30"),
        ({"schedule": Every(timedelta(hours=1))}, "Cron cannot run this: it has no intervals"),
        ({"schedule": AtBoot()}, "Once each time the machine starts"),
        ({"schedule": None}, "night has no schedule: it runs only when you start it (pi-appliance jobs run night)"),
        ({"schedule": None, "depends_on": ["one"]}, "It runs when one has succeeded since its last run"),
        (
            {"schedule": None, "depends_on": [*"abcde"]},
            "It runs when a, b, c, d and e have succeeded since its last run",
        ),
    ],
)
def test_each_option_has_its_line(keys: dict[str, Any], line: str) -> None:
    assert line in describe(replace(PLAIN, **keys))


def test_unset_options_have_no_line() -> None:
    job = replace(PLAIN, conditions=Conditions(), suspend_when=SuspendWhen())
    assert describe(job) == describe(PLAIN)


def test_another_name_of_the_zone_is_the_same_zone() -> None:
    assert "Cron and the daemon run it at the same times, also when the clock changes" in describe(PLAIN, "Europe/Rome")
