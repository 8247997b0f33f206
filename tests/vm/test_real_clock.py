"""A real clock moves forward and back under a real daemon, in a disposable virtual machine.

Everything in it is real: the kernel's clock and its timer, the program, its runs. The machine runs
guest/scenario.py. The tests here check its output.
"""

import sys
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.vm.machine import Machine, why_not

STEPS = (
    *("by hand", "synchronised", "3 hours forward", "3 hours back", "an hour and a half forward", "before a slot"),
    *("1 second back", "before the next", "1 second forward", "10 years forward", "10 years back"),
    *("before a used slot", "before another"),
)
MINUTE = timedelta(minutes=1)


class MachineLog:
    """The log of the machine: its steps and samples by name, in order."""

    def __init__(self, lines: list[dict[str, Any]], console: str) -> None:
        self.steps = {line["step"]: line for line in lines if "step" in line}
        self.looks = {line["look"]: line for line in lines if "look" in line}
        self.ended = lines[-1].get("ended") if lines else None
        self.console = console

    def outcomes(self, look: str, job: str) -> dict[str, str | None]:
        """Return the outcome of each slot of `job` by its UTC time on the first day."""
        slots = self.looks[look]["slots"]
        day = "2027-03-28T"
        return {
            each["slot"].removeprefix(day): each["outcome"]
            for each in slots
            if each["job"] == job and each["slot"].startswith(day)
        }

    def words(self, look: str, job: str, slot: str) -> str:
        """Return the message about a slot."""
        return next(e["summary"] for e in self.looks[look]["slots"] if (e["job"], e["slot"]) == (job, slot))


@pytest.fixture(scope="module")
def machine_log(tmp_path_factory: pytest.TempPathFactory) -> MachineLog:
    if why := why_not():
        pytest.skip(f"no virtual machine: {why}")
    folder: Path = tmp_path_factory.mktemp("machine")
    machine = Machine(folder)
    lines = machine.run("2027-03-28T00:30:00")
    for line in lines:
        if "step" in line:
            sys.stdout.write(f"{line['step']}: noticed after {line['noticed']} s\n")  # pytest -rA shows it
    return MachineLog(lines, machine.console)


def test_the_scenario_finished(machine_log):
    assert machine_log.ended == 0, machine_log.console
    assert tuple(machine_log.steps) == STEPS
    assert "Traceback" not in machine_log.console


def test_each_step_is_noticed_at_once(machine_log):
    """The kernel notifies the daemon; polling would take up to a minute."""
    assert {name: step["noticed"] for name, step in machine_log.steps.items() if step["noticed"] >= 1} == {}


def test_each_step_is_reported_with_its_direction(machine_log):
    message_parts = {name: step["said"].split(" by ") for name, step in machine_log.steps.items()}
    assert message_parts["3 hours back"] == ["the clock was put back", "3h"]
    assert message_parts["10 years back"] == ["the clock was put back", "3650d"]
    assert message_parts["1 second forward"][0] == "the clock was put forward"
    assert message_parts["1 second back"][0] == "the clock was put back"


def test_wall_clock_jobs_wait_for_the_clock_and_intervals_do_not(machine_log):
    look = machine_log.looks["untrusted"]
    assert set(look["marks"]) == {"span"}
    assert "the clock is trusted" in machine_log.console.partition("the clock was put forward by 17m")[2]
    assert machine_log.outcomes("summer time", "minute")["01:00:00Z"] == "succeeded"


def test_slots_in_the_skipped_hour_run_once(machine_log):
    assert machine_log.outcomes("summer time", "night") == {"01:00:00Z": "succeeded"}
    assert machine_log.looks["used slots again"]["marks"].count("night") == 1


def test_no_slot_runs_twice(machine_log):
    """Each run writes a mark: their number equals the number of run slots."""
    ran = {
        (each["job"], each["slot"])
        for look in machine_log.looks.values()
        for each in look["slots"]
        if each["outcome"] == "succeeded"
    }
    assert Counter(machine_log.looks["used slots again"]["marks"]) == Counter(job for job, _ in ran)


def test_no_slot_is_recorded_twice(machine_log):
    for look in machine_log.looks.values():
        slots = [(each["job"], each["slot"]) for each in look["slots"]]
        assert len(slots) == len(set(slots)), look["look"]


def test_every_slot_is_recorded(machine_log):
    for look in machine_log.looks.values():
        late = datetime.fromisoformat(look["now"]) - MINUTE  # one that came during the look may still begin
        for each in look["slots"]:
            settled = each["outcome"] in {"succeeded", "skipped", "misfired"} or "no longer known" in each["summary"]
            assert settled or datetime.fromisoformat(each["slot"]) > late, (look["look"], each)


def test_the_recorded_slots_have_no_gap(machine_log):
    for look in machine_log.looks.values():
        slots = [datetime.fromisoformat(each["slot"]) for each in look["slots"] if each["job"] == "minute"]
        assert all(one - other == MINUTE for one, other in pairwise(slots)), look["look"]
        if slots and look["look"] != "untrusted":
            assert datetime.fromisoformat(look["now"]) - slots[0] <= 2 * MINUTE


def test_skipped_slots_are_caught_up_within_their_window_or_recorded(machine_log):
    look = "3 hours later"
    assert machine_log.outcomes(look, "window") == {"02:30:00Z": "succeeded"}
    assert machine_log.outcomes(look, "strict") == {"03:00:00Z": "misfired"}
    assert "the clock was put forward by" in machine_log.words(look, "strict", "2027-03-28T03:00:00Z")


def test_a_slot_repeated_or_skipped_by_one_second_runs_once(machine_log):
    assert machine_log.outcomes("a slot came twice", "minute")["02:31:00Z"] == "succeeded"
    assert machine_log.outcomes("seconds", "minute")["02:32:00Z"] == "succeeded"
