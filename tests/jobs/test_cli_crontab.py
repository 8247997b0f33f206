"""Commands `jobs plan`, `install` and `uninstall`, and a real cron that starts a job."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import click
import pytest
from click.testing import CliRunner

from pi_appliance.config.loader import load_config, machine_zone
from pi_appliance.errors import ConfigError, Refused
from pi_appliance.jobs.cli import install, plan, program, uninstall
from pi_appliance.scheduling.crontab import (
    UserCrontab,
    build_entries,
    current_user,
    is_cron_running,
)
from tests.scheduling.scratch_crontab import Crontab, scratch_crontab

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def crontab() -> Iterator[Crontab]:
    with scratch_crontab() as scratch:
        yield scratch


def write_config(folder: Path, *expressions: str) -> Path:
    """Write a configuration into `folder` with one job that cron runs at `expressions`."""
    file = folder / "appliance.yaml"
    file.write_text(
        f"state-dir: state\ntime-zone: {machine_zone()}\njobs:\n  greet:\n    kind: command\n"
        f"    schedule: {json.dumps(expressions)}\n    started-by: cron\n    with: {{run: [/bin/echo, hello]}}\n"
    )
    return file


def run(command: click.Command, config: Path, crontab: Crontab, *more: str) -> str:
    """Run `command` for the scratch user and return its output."""
    name = ["--user-name", crontab.user] if crontab.user else []
    done = CliRunner().invoke(command, ["--config", str(config), *name, *more], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_plan_install_and_uninstall_report_changes(crontab: Crontab, tmp_path: Path) -> None:
    crontab.set(b"# mine\n")
    config = write_config(tmp_path, "0 6 * * *")
    assert "+0 6 * * * " in run(plan, config, crontab)
    assert crontab.get() == b"# mine\n"
    assert "nothing to change" not in run(install, config, crontab)
    assert "nothing to change" in run(install, config, crontab)
    assert "nothing to change" in run(plan, config, crontab)
    assert "nothing to change" not in run(uninstall, config, crontab)
    assert "nothing to change" in run(uninstall, config, crontab)
    assert crontab.get() == b"# mine\n"


def test_entries_that_are_added_kept_and_removed_are_json_for_programs(crontab: Crontab, tmp_path: Path) -> None:
    crontab.set(b"# mine\n0 1 * * * true\n")
    (tmp_path / "other").mkdir()
    run(install, write_config(tmp_path / "other", "0 6 * * *"), crontab)
    config = write_config(tmp_path, "0 6 * * *", "0 7 * * *")
    planned = json.loads(run(plan, config, crontab, "--json"))
    assert planned == json.loads(run(install, config, crontab, "--json"))
    six, seven = planned["added"]
    assert (six[:10], seven[:10]) == ("0 6 * * * ", "0 7 * * * ")
    assert f"\n{six}\n{seven}\n".encode() in (crontab.get() or b"")
    assert planned == {"crontab": f"crontab of {crontab.user or current_user()}", "added": [six, seven]} | {
        "kept": [],
        "removed": [],
    }

    config = write_config(tmp_path, "0 7 * * *", "0 8 * * *")
    changed = json.loads(run(install, config, crontab, "--json"))
    (eight,) = changed["added"]
    assert (eight[:10], changed["kept"], changed["removed"]) == ("0 8 * * * ", [seven], [six])
    gone = json.loads(run(uninstall, config, crontab, "--json"))
    assert (gone["added"], gone["kept"], gone["removed"]) == ([], [], [seven, eight])
    run(uninstall, tmp_path / "other/appliance.yaml", crontab)
    assert crontab.get() == b"# mine\n0 1 * * * true\n"


def test_a_file_with_two_names_has_one_block(crontab: Crontab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crontab.set(None)
    config = write_config(tmp_path, "0 6 * * *")
    run(install, config, crontab)
    monkeypatch.chdir(tmp_path)
    assert "nothing to change" in run(install, Path("../", tmp_path.name, config.name), crontab)
    run(uninstall, Path(config.name), crontab)
    assert crontab.get() is None


def test_a_wrong_configuration_can_only_be_uninstalled(crontab: Crontab, tmp_path: Path) -> None:
    crontab.set(None)
    config = write_config(tmp_path, "0 6 * * *")
    run(install, config, crontab)
    config.write_text("jobs: [")
    with pytest.raises(ConfigError):
        run(install, config, crontab)
    run(uninstall, config, crontab)
    assert crontab.get() is None


def test_system_entries_for_an_unknown_user_are_refused(tmp_path: Path) -> None:
    arguments = ["--system", "--user-name", "no-such-user", "--config", str(write_config(tmp_path, "0 6 * * *"))]
    with pytest.raises(Refused, match="no-such-user"):
        CliRunner().invoke(plan, arguments, catch_exceptions=False)


def test_a_system_plan_names_the_file_and_the_user(tmp_path: Path) -> None:
    if shutil.which("crontab") is None:
        pytest.skip("cron is not installed")
    if Path("/etc/cron.d/pi-appliance").exists():
        pytest.skip("an appliance is installed on this machine")
    arguments = ["--system", "--config", str(write_config(tmp_path, "0 6 * * *"))]
    shown = CliRunner().invoke(plan, arguments, catch_exceptions=False).stdout
    assert "+++ /etc/cron.d/pi-appliance (then)" in shown
    assert f"\n+0 6 * * * {current_user()} " in shown
    planned = json.loads(CliRunner().invoke(plan, [*arguments, "--json"], catch_exceptions=False).stdout)
    assert (planned["crontab"], planned["added"][0][:10]) == ("/etc/cron.d/pi-appliance", "0 6 * * * ")


@pytest.mark.parametrize("command", [plan, install, uninstall])
def test_the_help_ends_with_the_exit_statuses(command: click.Command) -> None:
    text = CliRunner().invoke(command, ["--help"]).stdout
    assert "Exit status:" in text.split("Options:")[0]


@pytest.mark.parametrize("command", [install, uninstall])
def test_the_help_mentions_the_added_newline(crontab: Crontab, command: click.Command) -> None:
    text = " ".join(CliRunner().invoke(command, ["--help"]).stdout.split())
    assert "byte for byte" in text
    assert "newline, which crontab itself rejects" in text
    assert not crontab.set(b"0 1 * * * true"), "if cron takes such a table, the help must promise more"


def test_the_program_is_its_link_or_the_script_beside_python(tmp_path: Path) -> None:
    beside, link = tmp_path / "venv" / "pi-appliance", tmp_path / "bin" / "pi-appliance"
    beside.parent.mkdir()
    link.parent.mkdir()
    python = str(beside.with_name("python"))
    assert program("/x/__main__.py", python) == [python, "-m", "pi_appliance"]
    beside.touch(mode=0o755)
    assert program("/x/__main__.py", python) == [str(beside)]
    link.symlink_to(beside)
    assert program(str(link), python) == [str(link)]


@contextlib.contextmanager
def cron() -> Iterator[None]:
    """Run a cron daemon if none runs. It misses a crontab written in its first second."""
    if is_cron_running():
        yield
        return
    daemon = subprocess.Popen(["cron", "-f"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        daemon.terminate()
        daemon.wait(10)


def runs_until_one_ended(command: Sequence[str | Path], seconds: float) -> list[dict[str, str]]:
    """Request the history by `command` until a run in it has ended, for at most `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        result: list[dict[str, str]] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        if any(each["outcome"] for each in result) or time.monotonic() > deadline:
            return result
        time.sleep(0.5)


@pytest.mark.slow  # cron starts jobs at full minutes only; `test_crontab_entries.py` reads entries as cron does
@pytest.mark.skipif(
    not is_cron_running() and (os.geteuid() != 0 or not shutil.which("cron")), reason="no cron can run here"
)
def test_a_real_cron_runs_the_job_within_two_minutes(tmp_path: Path) -> None:
    folder = tmp_path / "100% of my jobs"  # characters that cron or the shell could misread
    folder.mkdir()
    start = folder / "pi-appliance"
    start.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m pi_appliance "$@"\n')
    start.chmod(0o755)
    zone = ZoneInfo(machine_zone())
    minutes = [datetime.now(zone) + timedelta(minutes=number) for number in (1, 2)]
    config = write_config(folder, *(f"{at.minute} {at.hour} {at.day} {at.month} *" for at in minutes))
    place = UserCrontab(config)
    place.install(build_entries(load_config(config), [str(start)], zone=zone, now=datetime.now(UTC)))
    try:
        with cron():
            result = runs_until_one_ended([start, "jobs", "history", "--json", "-c", config], 130)
    finally:
        place.uninstall()
    assert [(each["job"], each["trigger"], each["outcome"]) for each in result] == [("greet", "cron", "succeeded")]
    assert datetime.fromisoformat(result[0]["scheduled_for"]) in [at.replace(second=0, microsecond=0) for at in minutes]
