"""Conditions on heat, power, space, network and commands; suspended runs."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from pi_appliance.config.loader import load_config
from pi_appliance.config.options import Conditions, SuspendWhen
from pi_appliance.config.units import parse_size
from pi_appliance.jobs.attempts import AttemptResult, Attempts, Listener
from pi_appliance.jobs.conditions import (
    SuspendMonitor,
    check_command,
    find_unmet,
    find_unmet_condition,
    missing_sensors,
)
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Trigger
from pi_appliance.storage.run_log import read_log
from pi_appliance.system import clock, files, process
from pi_appliance.system.machine import Sensors
from tests.installation import ROOT, is_running, wait_until

ROUTES = "Iface Destination Gateway Flags RefCnt Use Metric Mask\nwlan0 00000000 0102A8C0 0003 0 0 0 00000000\n"


class Pi:
    """A machine whose sensors are files."""

    def __init__(self, folder: Path) -> None:
        self.sys, self.proc = folder / "sys", folder / "proc"
        self.sensors = Sensors(self.sys, self.proc)

    def heat(self, degrees: float) -> None:
        self._put(self.sys / "class/thermal/thermal_zone0/temp", f"{degrees * 1000:.0f}\n")

    def throttled(self, bits: int) -> None:
        self._put(self.sys / "devices/platform/soc/soc:firmware/get_throttled", f"{bits:x}\n")

    def routes(self, text: str) -> None:
        self._put(self.proc / "net/route", text)

    @staticmethod
    def _put(path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "ascii")


@pytest.fixture
def pi(tmp_path):
    return Pi(tmp_path)


def unmet(conditions: Conditions, pi: Pi, free: int = 10**9, program_output: str = "") -> str:
    return find_unmet(conditions, sensors=pi.sensors, free=lambda: free, run=lambda _: program_output)


def test_heat_is_reported_with_both_numbers(pi):
    conditions = Conditions(temperature_below=75.0)
    pi.heat(74.9)
    assert unmet(conditions, pi) == ""
    pi.heat(75)
    assert unmet(conditions, pi) == "temperature 75.0 °C is not below 75 °C"
    pi.heat(78.2)
    assert unmet(Conditions(temperature_below=72.5), pi) == "temperature 78.2 °C is not below 72.5 °C"


@pytest.mark.parametrize(
    ("bits", "says"), [(0, ""), (0x50000, ""), (0x1, "under-voltage"), (0x4, "throttled"), (0x8, "throttled")]
)
def test_bad_power_and_throttling_count_while_they_last(pi, bits, says):
    pi.throttled(bits)
    assert unmet(Conditions(not_throttled=True), pi) == says


def test_free_space_is_compared_in_bytes(pi):
    conditions = Conditions(disk_free=parse_size("500MB"))
    assert unmet(conditions, pi, free=500_000_000) == ""
    assert unmet(conditions, pi, free=499_900_000) == "499.9MB free, less than 500MB"


def test_without_a_default_route_nothing_is_online(pi):
    assert unmet(Conditions(online=True), pi) == "the network has no default route"
    pi.routes(ROUTES)
    assert unmet(Conditions(online=True), pi) == ""


def test_without_a_sensor_its_conditions_hold(pi):
    assert unmet(Conditions(temperature_below=1.0, not_throttled=True), pi) == ""


def test_a_command_is_run_last_and_only_if_the_rest_holds(pi):
    pi.heat(80)
    conditions = Conditions(temperature_below=75.0, command=["x"])
    assert unmet(conditions, pi, program_output="x ended with status 1").startswith("temperature")
    pi.heat(20)
    assert unmet(conditions, pi, program_output="x ended with status 1") == "x ended with status 1"


def run_check(argv: list[str], folder: Path, timeout: float = 30) -> str:
    with process.StopSignal().catch_signals() as stop:
        return check_command(argv, folder, stop, patience=timeout)


def test_a_command_answers_by_its_exit_status(tmp_path):
    assert run_check(["test", "-d", "."], tmp_path) == ""
    assert run_check(["test", "-e", "nothing"], tmp_path) == "test ended with status 1"
    assert run_check(["sh", "-c", "pwd > here; kill -SEGV $$"], tmp_path) == "sh was ended by SIGSEGV"
    assert (tmp_path / "here").read_text() == f"{tmp_path}\n"


@pytest.mark.parametrize("program", ["./nothing", "nosuchprogram", "/no/such", "~no-such-user/x"])
def test_a_command_that_cannot_be_run_never_holds(tmp_path, program):
    assert run_check([program], tmp_path) == f"{program} cannot be run: No such file or directory"


def test_a_command_is_relative_to_the_file_and_its_arguments_stay_unchanged(tmp_path):
    (tmp_path / "ask.sh").write_text('#!/bin/sh\n[ "$1" = "{fd}" ] && [ -z "$X_ACCESS_TOKEN" ]\n', "ascii")
    (tmp_path / "ask.sh").chmod(0o755)
    assert run_check(["./ask.sh", "{fd}"], tmp_path) == ""


def test_a_command_gets_no_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("X_ACCESS_TOKEN", "hush")
    assert run_check(["sh", "-c", 'test -z "$X_ACCESS_TOKEN"'], tmp_path) == ""


def test_a_command_that_times_out_ends_with_its_processes(tmp_path):
    hangs = ["sh", "-c", "setsid sleep 60 & echo $! > pid; sleep 60"]
    assert run_check(hangs, tmp_path, 0.5) == "sh gave no answer within 0.5 s"
    assert not is_running(int((tmp_path / "pid").read_text()))


def job(installation, keys: str, name: str = "it"):
    installation.write(f"{name}:\n  kind: command\n  {keys}\n  with: {{run: [sh, -c, 'echo $$ > pid; sleep 0.2']}}")
    return load_config(installation.config).jobs[name]


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("conditions: {disk-free: 1000000GB}", "less than 1000000GB"),
        ("conditions: {command: ['false']}", "false ended with status 1"),
        ("conditions: {command: ['true'], disk-free: 1kB}", ""),
        ("nice: 1", ""),
    ],
)
def test_the_conditions_of_this_machine_can_be_read(installation, keys, says):
    conditions, config = job(installation, keys), load_config(installation.config)
    config.state_dir.mkdir()
    with process.StopSignal().catch_signals() as stop:
        why = find_unmet_condition(conditions, config, stop)
    assert why.endswith(says)
    assert bool(why) == bool(says)


def test_missing_sensors_of_a_job_are_known(installation, pi):
    both = job(installation, "conditions: {temperature-below: 75}\n  suspend-when: {throttled: true}")
    assert missing_sensors(both, pi.sensors) == ["temperature", "power"]
    assert missing_sensors(job(installation, "conditions: {online: true}"), pi.sensors) == []
    pi.heat(40)
    pi.throttled(0)
    assert missing_sensors(both, pi.sensors) == []


def test_a_run_is_suspended_until_it_is_five_degrees_cooler(pi):
    pause = SuspendMonitor(SuspendWhen(temperature_above=80.0), pi.sensors)
    messages = []
    for degrees in (79, 80, 80.1, 83.14, 78, 75.1, 75, 79, 81):
        pi.heat(degrees)
        messages.append(pause.reason())
    assert messages == ["", "", "80.1 °C", "83.1 °C", "78.0 °C", "75.1 °C", "", "", "81.0 °C"]


def test_a_run_is_suspended_while_the_power_is_bad(pi):
    pause = SuspendMonitor(SuspendWhen(throttled=True), pi.sensors)
    assert pause.reason() == ""
    pi.throttled(0x5)
    assert pause.reason() == "under-voltage"
    pi.throttled(0x50000)
    assert pause.reason() == ""


def attempt(installation, pi: Pi, listener: Listener | None = None, *, times: int = 1) -> list[AttemptResult]:
    """Run the only job of `installation` `times` times on the machine `pi`."""
    verdicts = []
    with Appliance.open(installation.config) as appliance:
        (it,) = appliance.config.jobs.values()
        for _ in range(times):
            with process.StopSignal().catch_signals() as stop, files.acquire_lock(appliance.lock_path(it.name)) as lock:
                number, _ = appliance.store.start_run(
                    job=it.name, kind=it.kind, trigger=Trigger.MANUAL, due=None, now=clock.now()
                )
                attempts = Attempts(appliance, it, number, None, lock, stop, listener or Listener())
                verdict = attempts.run(Random(1), pi.sensors, 0.1)
                appliance.store.finish_run(
                    number, verdict.outcome, verdict.summary, now=clock.now(), attempts=1, details=verdict.details
                )
                verdicts.append(verdict)
    return verdicts


def test_a_missing_sensor_is_logged_once_and_stored_in_every_run(installation, pi):
    job(installation, "conditions: {temperature-below: 75}")
    verdicts = attempt(installation, pi, times=3)
    assert [verdict.details["no_sensor"] for verdict in verdicts] == ["temperature"] * 3
    output = [read_log(installation.state / "logs" / "it" / f"{number}.log") for number in (1, 2, 3)]
    assert output == ["pi-appliance: this machine has no sensor of temperature; such conditions count as met\n", "", ""]


def test_a_hot_run_is_suspended_reported_and_resumed(installation, pi):
    job(installation, "suspend-when: {temperature-above: 80}")
    pi.heat(83.1)
    notes = []

    def on_progress(_: float | None, note: str) -> None:
        notes.append(note)
        if notes.count("paused: 83.1 °C") == 12:
            pi.heat(60)

    (verdict,) = attempt(installation, pi, Listener(on_progress=on_progress))
    assert verdict.outcome == "succeeded"
    assert verdict.details["paused_seconds"] >= 1
    assert notes[-1] == "running sh"


# A runner of the one job of an installation, on a machine that is too hot.
RUNNER = """
import sys
from pathlib import Path
from tests.jobs.test_conditions import Pi, attempt
from tests.installation import Installation
attempt(Installation(Path(sys.argv[1])), Pi(Path(sys.argv[2])))
"""


@pytest.mark.slow_variants
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_suspended_run_ends_with_its_runner(installation, pi, tmp_path, number):
    installation.write(
        "it:\n  kind: command\n  suspend-when: {throttled: true}\n  with: {run: [sh, -c, 'echo $$ > pid; sleep 60; :']}"
    )
    words = [sys.executable, "-c", RUNNER, str(installation.folder), str(tmp_path)]
    with subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(ROOT)}) as runner:
        try:
            pid = int(wait_until(lambda: (path := installation.folder / "pid").exists() and path.read_text("ascii")))
            pi.throttled(0x1)
            stat = Path(f"/proc/{pid}/stat")
            wait_until(lambda: stat.read_text("ascii").rpartition(")")[2].split()[0] == "T")
            wait_until(lambda: installation.runs()[0].status_text == "paused: under-voltage")
            runner.send_signal(number)
            runner.wait(20)
        finally:
            runner.kill()
    wait_until(lambda: not is_running(pid))
    outcome = wait_until(lambda: installation.latest_run("it")["outcome"])  # once its processes have ended
    assert outcome == ("stopped" if number == signal.SIGTERM else "abandoned")
