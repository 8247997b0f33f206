"""The appliance: its secret, its views, its reports."""

import os
import subprocess
import sys

import pytest

from pi_appliance.errors import ConfigError, Refused, UnknownName
from pi_appliance.jobs.reports import list_reports
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.system import clock
from tests.installation import Installation

JOBS = """
a:
  kind: command
  schedule: '@hourly'
  chance: 1/2
  with: {run: ['true']}
b:
  kind: command
  with: {run: ['true']}
"""


@pytest.fixture
def appliance(installation: Installation) -> Appliance:
    installation.write(JOBS)
    with Appliance.open(installation.config) as opened:
        yield opened


@pytest.mark.parametrize("processes", [3, pytest.param(6, marks=pytest.mark.slow)])
def test_concurrent_processes_create_one_private_secret(installation, processes):
    installation.write(JOBS)
    code = (
        "import sys; from pathlib import Path; from pi_appliance.scheduling.appliance import Appliance;"
        "print(Appliance.open(Path(sys.argv[1])).secret.hex())"
    )
    words = [sys.executable, "-c", code, str(installation.config)]
    makers = [subprocess.Popen(words, env=installation.environment(), stdout=subprocess.PIPE) for _ in range(processes)]
    secrets = {maker.communicate(timeout=60)[0] for maker in makers}
    assert len(secrets) == 1
    assert len(secrets.pop().strip()) == 64
    assert (installation.state / "secret.key").stat().st_mode & 0o777 == 0o600


def test_every_job_is_listed_with_its_next_slot_and_latest_run(appliance):
    a, b = appliance.jobs(clock.now())
    assert a.next is not None
    assert a.next.at > clock.now()
    assert (b.next, b.last) == (None, None)


def test_reports_are_listed_newest_first_and_texts_before_pictures(appliance):
    for when, name in enumerate(["b/old.txt", "a/result.txt", "a/one.svg", "a/two.svg", "a/.draft.new"]):
        path = appliance.config.reports / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", "ascii")
        os.utime(path, (when, when))
    result = [f"{report.job}/{report.file}" for report in list_reports(appliance)]
    assert result == ["a/result.txt", "a/two.svg", "a/one.svg", "b/old.txt"]


def test_a_reload_keeps_the_state_and_an_invalid_file_changes_nothing(appliance, installation):
    installation.write("c:\n  kind: command\n  with: {run: ['true']}")
    again = appliance.reload()
    assert (list(again.config.jobs), again.store) == (["c"], appliance.store)
    installation.write("c: {}")
    with pytest.raises(ConfigError):
        again.reload()


def test_a_reload_refuses_another_state_folder(appliance, installation):
    installation.config.write_text(
        installation.config.read_text("utf-8").replace(str(installation.state), str(installation.folder / "other")),
        "utf-8",
    )
    with pytest.raises(Refused, match="needs a restart"):
        appliance.reload()


def test_the_history_of_a_removed_job_is_available_and_of_an_unknown_one_is_not(appliance, installation):
    installation.run("jobs", "run", "b")
    installation.write("a:\n  kind: command\n  with: {run: ['true']}")
    now = appliance.reload()
    assert [run.job for run in now.history(job="b")] == ["b"]
    with pytest.raises(UnknownName):
        now.history(job="bb")
