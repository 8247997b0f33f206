"""A wrong configuration file never costs an alarm: the last good copy is used."""

import json
import os
import signal
import stat
import sys
import urllib.request
from pathlib import Path

import pytest

from pi_appliance.config.last_good import last_good_path, save_last_good
from pi_appliance.config.loader import load_config, load_usable
from pi_appliance.errors import ConfigError
from tests.examples import repetitions
from tests.installation import Installation, wait_until
from tests.test_daemon import QUIET, RunningDaemon, running_daemon
from tests.warm_program import Process

WRONG = {
    "syntax": b"jobs: [\n",
    "unknown key": b"nonsense: 1\n",
    "empty": b"",
    "not UTF-8": b"\xff\xfe",
    "missing": None,
}


def write_good(installation: Installation) -> None:
    """Write a configuration whose job and notifier append lines to files."""
    folder = installation.folder
    (folder / "send.sh").write_text(f"cd '{folder}'; echo \"$1\" >> sent; cat >> messages", "utf-8")
    (folder / "tick.sh").write_text(f"echo x >> '{folder}/ran'", "utf-8")
    rest = f"""{QUIET}
notifiers:
  file: {{kind: command, with: {{run: [/bin/sh, '{folder}/send.sh', '{{title}}']}}}}
notify: {{on-failure: [file]}}
"""
    job = f"tick:\n  kind: command\n  schedule: every 1s\n  with: {{run: [/bin/sh, '{folder}/tick.sh']}}"
    installation.write(job, rest)


def make_wrong(installation: Installation, content: bytes | None) -> None:
    if content is None:
        installation.config.unlink()
    else:
        installation.config.write_bytes(content)


def learn(installation: Installation) -> None:
    """Run the daemon once with the good file, and forget its runs."""
    write_good(installation)
    with running_daemon(installation) as daemon:
        daemon.send_signal(signal.SIGTERM)
        assert daemon.status() == 0
    (installation.folder / "ran").unlink(missing_ok=True)


def status(daemon: RunningDaemon) -> dict:
    with urllib.request.urlopen(f"{daemon.page}/api/v1/status", timeout=5) as answer:
        return json.load(answer)


def the_copy(installation: Installation) -> Path:
    return last_good_path(installation.config, installation.state)


@pytest.mark.slow_variants
@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_a_start_with_a_wrong_file_runs_the_jobs_at_their_slots(installation, content):
    learn(installation)
    make_wrong(installation, content)
    with running_daemon(installation) as daemon:
        wait_until((installation.folder / "ran").exists)
        (problem, *_) = status(daemon)["config_error"]["problems"]
        assert problem.keys() == {"file", "line", "column", "message", "hint"}
        assert problem["file"].endswith("appliance.yaml")
        assert "the last good one stays in use" in daemon.output


def test_without_a_copy_a_wrong_file_is_an_error(installation):
    installation.config.write_text("nonsense: 1\n", "utf-8")
    process = installation.run("up")
    assert process.returncode == 2
    assert "nonsense" in process.stderr


def test_a_reload_of_a_wrong_file_is_reported_once_and_cleared_by_a_good_one(installation):
    write_good(installation)
    good = installation.config.read_bytes()
    with running_daemon(installation) as daemon:
        assert status(daemon)["config_error"] is None
        installation.config.write_bytes(good + b"nonsense: 1\n")
        for _ in range(2):
            process = installation.run("reload")
            assert process.returncode == 2
            assert "nonsense" in process.stderr
        messages = installation.folder / "messages"
        wait_until(lambda: messages.exists() and "nonsense" in messages.read_text("utf-8"))
        assert status(daemon)["config_error"]["in_use_since"]
        with urllib.request.urlopen(f"{daemon.page}/health", timeout=5) as answer:
            health = json.load(answer)
        assert health["ok"]
        assert "wrong" in health["degraded"]
        with urllib.request.urlopen(daemon.page, timeout=5) as answer:
            page = answer.read().decode()
        assert "The configuration file is wrong." in page
        assert "Read again" in page
        (installation.folder / "ran").unlink(missing_ok=True)
        wait_until((installation.folder / "ran").exists)  # the runs use the copy, too
        assert (installation.folder / "sent").read_text("utf-8").count("\n") == 1
        installation.config.write_bytes(good)
        urllib.request.urlopen(urllib.request.Request(f"{daemon.page}/do/reload", b"", method="POST"), timeout=5)
        assert status(daemon)["config_error"] is None


def test_a_run_by_cron_uses_the_copy_and_a_run_by_a_person_does_not(installation):
    learn(installation)
    make_wrong(installation, b"nonsense: 1\n")
    assert installation.run("jobs", "run", "tick", "--trigger", "cron").returncode == 0
    assert installation.run("jobs", "run", "tick").returncode == 2


def test_the_copy_is_private_and_written_only_when_it_differs(installation):
    write_good(installation)
    installation.state.mkdir()
    config = load_config(installation.config)
    save_last_good(config)
    copy = the_copy(installation)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert copy.read_bytes() == installation.config.read_bytes()
    before = copy.stat().st_ino, copy.stat().st_mtime_ns
    save_last_good(config)
    assert (copy.stat().st_ino, copy.stat().st_mtime_ns) == before


def test_the_copy_of_another_file_is_not_used(installation):
    write_good(installation)
    installation.state.mkdir()
    save_last_good(load_config(installation.config))
    other = installation.folder / "other.yaml"
    other.write_text("nonsense: 1\n", "utf-8")
    with pytest.raises(ConfigError):
        load_usable(other)


def test_a_kill_while_the_copy_is_written_leaves_a_good_copy(installation):
    write_good(installation)
    installation.state.mkdir()
    script = """
import dataclasses, sys
from pathlib import Path
from pi_appliance.config.last_good import save_last_good
from pi_appliance.config.loader import load_config
config = load_config(Path(sys.argv[1]))
save_last_good(config)
print("ready", flush=True)
for number in range(10**9):
    save_last_good(dataclasses.replace(config, text=config.text + f"# {number}" * 1000))
"""
    for _ in range(repetitions(10)):
        command = [sys.executable, "-c", script, str(installation.config)]
        process = Process(command, env={**os.environ, **installation.environment()}, stdout=-1, text=True)
        assert process.stdout
        process.stdout.readline()
        process.kill()
        process.wait(60)
        process.stdout.close()
        good = installation.config.read_bytes()
        installation.config.write_bytes(b"")
        assert load_usable(installation.config).jobs.keys() == {"tick"}
        installation.config.write_bytes(good)


@pytest.mark.slow_variants
@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_the_owner_goes_back_to_the_last_good_file(installation, content):
    learn(installation)
    good = installation.config.read_bytes()
    make_wrong(installation, content)
    with running_daemon(installation) as daemon:
        with urllib.request.urlopen(f"{daemon.page}/jobs", timeout=5) as answer:
            assert 'action="/do/config/history/last-good"' in answer.read().decode()
        request = urllib.request.Request(
            f"{daemon.page}/do/config/history/last-good", b"return_to=/jobs", method="POST"
        )
        with urllib.request.urlopen(request, timeout=5) as answer:
            assert "The configuration file is wrong." not in answer.read().decode()
        assert installation.config.read_bytes() == good
        assert status(daemon)["config_error"] is None
        assert bool(installation.json("config", "history")) is bool(content), "the wrong text is kept"
