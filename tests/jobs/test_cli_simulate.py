"""Commands `jobs explain` and `jobs simulate`."""

import json
from typing import Any

import pytest

from pi_appliance.__main__ import main
from tests.installation import Installation

JOBS = """\
state-dir: state
time-zone: Europe/Berlin
clock: {max-wait-for-sync: 0s}
jobs:
  night:
    kind: command
    schedule: "*/30 2 * * *"
    with: {run: [/bin/true]}
  fixed:
    kind: command
    schedule: ["02:30", "06:00"]
    jitter: 10m
    with: {run: [/bin/true]}
  draw:
    kind: command
    schedule: "0 * * * *"
    chance: 1/2
    with: {run: [/bin/true]}
  abroad:
    kind: command
    schedule: "0 0 * * *"
    time-zone: America/New_York
    with: {run: [/bin/true]}
  tick:
    kind: command
    schedule: every 10s
    with: {run: [/bin/true]}
  boot: {kind: command, schedule: "@reboot", with: {run: [/bin/true]}}
  hand: {kind: command, with: {run: [/bin/true]}}
"""


@pytest.fixture
def home(installation: Installation) -> Installation:
    """Return an installation with the jobs above."""
    installation.config.write_text(JOBS, "utf-8")
    return installation


def simulated(home: Installation, *words: str) -> dict[str, Any]:
    """Return the output of `jobs simulate` with `words`."""
    result: dict[str, Any] = home.json("jobs", "simulate", *words)
    return result


def day(date: str) -> tuple[str, ...]:
    """Return the options for the day `date`."""
    return "--from", date, "--to", date


def test_clock_changes_are_shown_between_the_slots(home: Installation) -> None:
    lines = home.run("jobs", "simulate", "night", "--from", "2027-03-27", "--to", "2027-03-28").stdout.splitlines()
    assert lines == [
        "SLOT                         JOB    RESULT",
        "Sat 2027-03-27 02:00 +01:00  night  runs",
        "Sat 2027-03-27 02:30 +01:00  night  runs",
        "-- Sun 2027-03-28 02:00 becomes 03:00 --",
    ]
    lines = home.run("jobs", "simulate", "night", *day("2027-10-31")).stdout.splitlines()
    assert lines[1:] == [
        "Sun 2027-10-31 02:00 +02:00  night  runs",
        "Sun 2027-10-31 02:30 +02:00  night  runs",
        "-- Sun 2027-10-31 03:00 becomes 02:00 --",
        "Sun 2027-10-31 02:00 +01:00  night  runs",
        "Sun 2027-10-31 02:30 +01:00  night  runs",
    ]


def test_a_nonexistent_fixed_time_runs_at_the_change_with_jitter(home: Installation) -> None:
    result = simulated(home, "fixed", *day("2027-03-28"))
    assert [slot["local"] for slot in result["slots"]] == ["2027-03-28T03:00:00+02:00", "2027-03-28T06:00:00+02:00"]
    assert result["changes"] == [
        {
            "at": "2027-03-28T01:00:00Z",
            "day": "Sun 2027-03-28",
            "zone": "Europe/Berlin",
            "before": "02:00",
            "after": "03:00",
        }
    ]
    for slot in result["slots"]:
        assert slot["slot"][:14] == slot["starts_at"][:14]  # the same hour
        assert "00:00Z" <= slot["starts_at"][14:] < "10:00Z"
    assert {slot["starts_at"][14:] for slot in result["slots"]} != {"00:00Z"}
    shown = home.run("jobs", "simulate", "fixed", *day("2027-03-28")).stdout
    assert "STARTS" in shown
    assert shown.splitlines()[2].split()[5].startswith("03:0")


def test_the_chance_agrees_with_jobs_next(home: Installation) -> None:
    coming = home.json("jobs", "next", "draw", "--count", "30")
    dates = [coming[0]["slot"][:10], coming[-1]["slot"][:10]]
    foretold = {
        slot["slot"]: slot["result"] for slot in simulated(home, "draw", "--from", dates[0], "--to", dates[1])["slots"]
    }
    for slot in coming[:20]:  # within these days in any zone
        assert foretold[slot["slot"]] == ("runs" if slot["selected"] else "skipped by chance")


def test_a_used_slot_shows_its_run(home: Installation) -> None:
    ran = home.json("jobs", "run", "night", "--slot", "2026-05-01T00:00:00Z")
    result = simulated(home, "night", *day("2026-05-01"))
    assert [(slot["slot"], slot["result"]) for slot in result["slots"]] == [
        ("2026-05-01T00:00:00Z", "used"),
        ("2026-05-01T00:30:00Z", "would have run"),
    ]
    assert result["slots"][0]["run"]["id"] == ran["id"]
    home.run("jobs", "run", "night", "--slot", "2026-05-01T00:00:00Z")  # again: skipped, and the first still had it
    assert simulated(home, "night", *day("2026-05-01"))["slots"][0]["run"]["id"] == ran["id"]
    assert "night  succeeded: " in home.run("jobs", "simulate", "night", *day("2026-05-01")).stdout


def test_another_zone_does_not_apply_to_jobs_with_their_own(home: Installation) -> None:
    result = simulated(home, "fixed", "abroad", *day("2027-06-01"), "--zone", "Asia/Tokyo")
    assert [(slot["job"], slot["local"]) for slot in result["slots"]] == [
        ("fixed", "2027-06-01T02:30:00+09:00"),
        ("fixed", "2027-06-01T06:00:00+09:00"),
        ("abroad", "2027-06-01T00:00:00-04:00"),
    ]
    result = simulated(home, "fixed", "abroad", *day("2027-06-01"))
    assert [(slot["job"], slot["local"]) for slot in result["slots"]] == [
        ("fixed", "2027-06-01T02:30:00+02:00"),
        ("fixed", "2027-06-01T06:00:00+02:00"),
        ("abroad", "2027-06-01T00:00:00-04:00"),
    ]
    assert "America/New_York  abroad" in home.run("jobs", "simulate", *day("2027-06-01"), "--limit", "9000").stdout


def test_the_period_includes_both_ends(home: Installation) -> None:
    result = simulated(home, "fixed", "--from", "2027-06-01 02:30", "--to", "2027-06-01T06:00")
    assert len(result["slots"]) == 2
    assert simulated(home, "fixed", "--from", "2027-06-01 02:31", "--to", "2027-06-01T05:59")["slots"] == []


def test_slots_beyond_the_limit_are_counted(home: Installation) -> None:
    done = home.run("jobs", "simulate", "tick", *day("2027-06-01"), "--limit", "3")
    assert len(done.stdout.splitlines()) == 4
    assert "00:00:10 +02:00  tick" in done.stdout
    assert "8,637 more slots are not shown" in done.stderr
    done = home.run("jobs", "simulate", "tick", "--from", "2027-01-01", "--to", "2030-01-01", "--limit", "3")
    assert "10,000 or more more slots" in done.stderr


def test_jobs_without_slots_are_explained(home: Installation) -> None:
    done = home.run("jobs", "simulate", "boot", "hand", *day("2027-06-01"))
    assert (done.returncode, done.stdout) == (0, "there are no slots in this period\n")
    assert "boot runs when the machine starts" in done.stderr
    assert "hand has no schedule" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--from", "tomorrow", "--to", "2027-06-01"), "'from' must be a date such as 2027-03-28"),
        (
            ("--from", "2027-02-30", "--to", "2027-06-01"),
            "'from' must be a date such as 2027-03-28, not '2027-02-30'",
        ),
        (("--from", "2027-06-02", "--to", "2027-06-01"), "'to' is before 'from'"),
        (("--from", "0001-01-01", "--to", "9999-12-31"), "'from' must be a date such as 2027-03-28"),
        (("nigth", *day("2027-06-01")), "did you mean 'night'?"),
        ((*day("2027-06-01"), "--zone", "Europe/Berln"), "did you mean 'Europe/Berlin'?"),
        ((*day("2027-06-01"), "--zone", "Europe"), "no time zone is called 'Europe'"),
        ((*day("2027-06-01"), "--zone", "zzzzz"), "write an IANA name such as Europe/London"),
    ],
)
def test_a_wrong_argument_is_reported_in_one_line(
    home: Installation, words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as error:
        main(["jobs", "simulate", *words, "--config", str(home.config)])
    out, err = capsys.readouterr()
    assert (error.value.code, out) == (2, "")
    assert says in err


def test_explain_shows_the_zone_of_the_job(home: Installation) -> None:
    lines = home.run("jobs", "explain", "abroad").stdout.splitlines()
    assert lines[0] == "At 00:00 every day (America/New_York)"
    assert home.json("jobs", "explain", "abroad") == {"job": "abroad", "explanation": lines}
    done = home.run("jobs", "explain", "nigth")
    assert (done.returncode, done.stderr) == (2, "pi-appliance: no job is called 'nigth'; did you mean 'night'?\n")


def test_nothing_is_run(home: Installation) -> None:
    home.run("jobs", "simulate", *day("2026-05-01"))
    assert json.loads(home.run("jobs", "history", "--json").stdout) == []
