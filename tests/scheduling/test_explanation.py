"""A job in words: each key that is set has its line, and the days the clock is changed have theirs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.config.model import CatchUp, ConcurrencyPolicy, Conditions, Config, Job, StartedBy, SuspendWhen
from pi_appliance.config.units import Percent, Size
from pi_appliance.scheduling import explanation
from pi_appliance.scheduling.schedule import AtBoot, Chance, Cron, Every

NOW = datetime(2026, 11, 21, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
CONFIG = Config(state_dir=Path("/state"), time_zone=BERLIN)
PLAIN = Job(name="night", kind="command", schedule=Cron(("30 2 * * *",)))


def said(job: Job, machine: str = "Europe/Berlin") -> list[str]:
    """Return the lines that explain JOB on a machine in the zone MACHINE."""
    return explanation.explain_job(CONFIG, job, NOW, machine=ZoneInfo(machine))


def test_a_plain_job_is_explained_from_its_times_to_cron() -> None:
    assert said(PLAIN) == [
        "At 02:30 every day (Europe/Berlin)",
        "Started by the daemon, while it is up (pi-appliance up)",
        "Up to 5m late it still runs; it is ended after 1h",
        "Next: Sat 2026-11-21 02:30",
        "Next: Sun 2026-11-22 02:30",
        "Next: Mon 2026-11-23 02:30",
        "Sun 2027-03-28 the clock goes from 02:00 to 03:00: 02:30 does not exist; it runs at 03:00",
        "Sun 2027-10-31 the clock goes from 03:00 to 02:00: 02:30 comes twice; it runs once, the first time",
        "Cron and the daemon agree on the instants, on the days the clock is changed too",
        "Cron would also run it while the daemon is down; write started-by: cron for that",
    ]


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"chance": Chance(1, 4)}, "The chance uses 1/4 of the slots; which ones: pi-appliance jobs next night"),
        ({"jitter": timedelta(minutes=10)}, "Each slot starts up to 10m later, by a draw of its own"),
        (
            {"catch_up": CatchUp(max_age=timedelta(hours=6))},
            "Of the slots of the last 6h that could not start, the newest is made up for",
        ),
        (
            {"catch_up": CatchUp(max_age=timedelta(hours=6), max_runs=3, stagger=timedelta(minutes=10))},
            "Of the slots of the last 6h that could not start, the newest 3 are made up for, spread over 10m",
        ),
        ({"catch_up": CatchUp(max_age=timedelta(hours=6))}, "Cron would make up for nothing: it never looks back"),
        ({"concurrency": ConcurrencyPolicy.QUEUE}, "A slot that comes while a run goes on waits for its end"),
        (
            {"concurrency": ConcurrencyPolicy.REPLACE},
            "A slot that comes while a run goes on ends that run and takes its place",
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
            "A slot is used only if the power is good and heat does not slow it down and the network has a way out",
        ),
        (
            {"suspend_when": SuspendWhen(temperature_above=80.5, throttled=True)},
            "A run is held while the processor is above 80.5 °C or the power is bad or heat slows it down",
        ),
        (
            {"memory": Size(300_000_000), "cpu": Percent(50)},
            "It may use 300MB of memory and 50% of one processor at most",
        ),
        ({"nice": 10}, "It steps back where others want the processor too (nice 10)"),
        ({"time_zone": ZoneInfo("Asia/Tokyo")}, "At 02:30 every day (Asia/Tokyo)"),
        ({"time_zone": ZoneInfo("Asia/Tokyo")}, "In Asia/Tokyo the clock is not changed within 18 months"),
        (
            {"time_zone": ZoneInfo("Asia/Tokyo")},
            "Cron could not run this by Asia/Tokyo: it knows only the zone of the machine",
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
            "Cron could not run this: it knows no intervals, and it counts in minutes",
        ),
        ({"schedule": Every(timedelta(seconds=90))}, "Next: Sat 2026-11-21 01:01:30"),
        ({"schedule": Every(timedelta(hours=1))}, "Cron could not run this: it knows no intervals"),
        ({"schedule": AtBoot()}, "Once each time the machine starts"),
        ({"schedule": None}, "night has no schedule: it runs by hand only (pi-appliance jobs run night)"),
        ({"schedule": None, "depends_on": ["one"]}, "It runs when one has succeeded since its last time"),
        (
            {"schedule": None, "depends_on": [*"abcde"]},
            "It runs when a, b, c, d and e have succeeded since its last time",
        ),
    ],
)
def test_what_is_set_has_its_line(keys: dict[str, Any], line: str) -> None:
    assert line in said(replace(PLAIN, **keys))


def test_what_is_not_set_has_none() -> None:
    job = replace(PLAIN, conditions=Conditions(), suspend_when=SuspendWhen())
    assert said(job) == said(PLAIN)


def test_another_name_of_the_zone_is_the_same_clock() -> None:
    assert "Cron and the daemon agree on the instants, on the days the clock is changed too" in said(
        PLAIN, "Europe/Rome"
    )
