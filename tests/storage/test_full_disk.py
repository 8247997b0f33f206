"""A full or read-only card: one clear line, nothing corrupted, and every slot recorded."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.installation import Installation, wait_until
from tests.other_user import NOBODY_UID
from tests.test_daemon import running_daemon

FULL = "is full: make room there"


@pytest.fixture
def card(installation: Installation) -> Iterator[Path]:
    """Return the state folder of `installation`, on a file system of 2 MB."""
    with small_card(installation) as folder:
        yield folder


@contextmanager
def small_card(installation: Installation) -> Iterator[Path]:
    """Mount a file system of 2 MB as the state folder during the block."""
    installation.state.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=755", "tmpfs", str(installation.state)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"only root can mount a small file system: {done.stderr.strip()}")
    try:
        yield installation.state
    finally:
        subprocess.run(["umount", "-l", str(installation.state)], check=True)


def fill(folder: Path) -> None:
    """Write until the disk is full."""
    with (folder / "ballast").open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return


def free(folder: Path) -> None:
    (folder / "ballast").unlink()


def job(installation: Installation, name: str, shell: str, schedule: str = "'@hourly'", more: str = "") -> str:
    options = json.dumps({"run": ["sh", "-c", shell], "directory": str(installation.folder)})
    return f"{name}:\n  kind: command\n  schedule: {schedule}\n{more}  with: {options}\n"


def sound(installation: Installation) -> None:
    """Check that the history is intact and its slots have no gap."""
    code = (
        "import sys; from pathlib import Path; from pi_appliance.storage.history import Store;"
        "store = Store(Path(sys.argv[1])); print(store.rows('PRAGMA integrity_check', ())[0][0])"
    )
    words = [sys.executable, "-c", code, str(installation.state / "history.db")]
    done = subprocess.run(words, env=installation.environment(), capture_output=True, text=True, check=True)
    assert done.stdout == "ok\n"
    assert not list(installation.state.glob("*.damaged-*"))


def test_on_a_full_card_nothing_runs_and_one_line_names_the_remedy(installation, card):
    installation.write(job(installation, "mark", "echo once >> marks"))
    installation.run("jobs", "run", "mark")
    fill(card)
    done = installation.run("jobs", "run", "mark")
    assert (done.returncode, done.stderr.count("\n")) == (75, 1)
    assert f"{card} {FULL}" in done.stderr
    assert installation.run("jobs", "history").returncode in (0, 75)
    free(card)
    assert installation.run("jobs", "run", "mark").returncode == 0
    assert (installation.folder / "marks").read_text("ascii") == "once\n" * 2
    sound(installation)


@pytest.mark.faults
def test_on_a_card_that_was_always_full_one_line_names_the_remedy(installation, card):
    installation.write(job(installation, "mark", "true"))
    fill(card)
    for words in (("jobs", "list"), ("jobs", "run", "mark"), ("up",)):
        done = installation.run(*words)
        assert (done.returncode, done.stderr.count("\n")) == (75, 1), done.stderr
        assert str(card) in done.stderr
    free(card)
    assert installation.run("jobs", "run", "mark").returncode == 0


def test_a_run_that_fills_the_card_is_recorded_as_it_ended(installation, card):
    shell = f"dd if=/dev/zero of='{card}/ballast' bs=4k 2>/dev/null; echo done >> marks"
    installation.write(job(installation, "filler", shell))
    done = installation.run("jobs", "run", "filler")
    assert done.returncode == 0
    assert "it is recorded as soon as that is possible" in done.stderr
    free(card)
    last = installation.latest_run("filler")
    assert (last["outcome"], last["summary"]) == ("succeeded", "sh ended well")
    sound(installation)


@pytest.mark.faults
def test_a_history_damaged_on_a_full_card_stays_until_there_is_room(installation, card):
    installation.write(job(installation, "mark", "true"))
    for _ in range(3):
        installation.run("jobs", "run", "mark")
    spoilt = (card / "history.db").read_bytes()
    spoilt = bytes(100) + spoilt[100:]
    (card / "history.db").write_bytes(spoilt)
    fill(card)
    done = installation.run("jobs", "list")
    assert (done.returncode, done.stderr.count("\n")) == (75, 1), done.stderr
    assert (card / "history.db").read_bytes() == spoilt
    assert not list(card.glob("*.damaged-*"))
    free(card)
    assert "set aside" in installation.run("jobs", "list").stderr
    assert installation.run("jobs", "run", "mark").returncode == 0


@pytest.mark.faults
def test_the_daemon_survives_a_full_card_reports_it_once_and_loses_no_slot(installation, card):
    installation.write(
        job(installation, "mark", "echo once >> marks", "every 1s", "  misfire-grace: 1h\n"), "web: {port: 0}"
    )
    marks = installation.folder / "marks"

    def output(output: str) -> list[str]:
        """Return the messages about failed runs and lost slots."""
        lines = output.splitlines()
        return [line for line in lines if line.startswith("job=mark: ") and f"{card} {FULL}" in line]

    with running_daemon(installation) as daemon:
        wait_until(marks.exists, 20)
        fill(card)
        wait_until(lambda: output(daemon.output), 20)
        with urllib.request.urlopen(f"{daemon.page}/", timeout=5) as page:
            assert page.status == 200, "the page lives"
        ran = len(marks.read_text("ascii").split())
        free(card)
        daemon.send_signal(1)  # SIGHUP: look now, not in a minute
        wait_until(lambda: len(marks.read_text("ascii").split()) > ran + 1, 90)
        assert len(output(daemon.output)) == len(set(output(daemon.output)))
    wait_until(lambda: all(installation.outcomes()))
    slots = installation.json("jobs", "history", "--slots", "--count", "1000")
    holes = [slot for slot in slots[3:] if slot["run"] is None]  # the newest may have been about to start
    assert not holes
    sound(installation)


@pytest.mark.faults
def test_a_read_only_card_is_reported_in_one_line(installation, card):
    installation.write(job(installation, "mark", "true"))
    installation.run("jobs", "run", "mark")
    subprocess.run(["mount", "-o", "remount,ro", str(card)], check=True)
    for words in (("jobs", "list"), ("jobs", "run", "mark"), ("up",)):
        done = installation.run(*words)
        assert (done.returncode, done.stderr.count("\n")) == (75, 1), done.stderr
        assert f"{card} is read-only: mount it" in done.stderr
    subprocess.run(["mount", "-o", "remount,rw", str(card)], check=True)
    assert installation.run("jobs", "run", "mark").returncode == 0


@pytest.mark.faults
def test_the_daemon_survives_an_unwritable_folder_and_reports_it_once(public_installation):
    public_installation.write(
        job(public_installation, "mark", "true", "every 1s", "  misfire-grace: 1h\n"), "web: {port: 0}"
    )
    public_installation.program = (
        "setpriv",
        f"--reuid={NOBODY_UID}",
        f"--regid={NOBODY_UID}",
        "--clear-groups",
        *public_installation.program,
    )
    with small_card(public_installation) as card:
        os.chown(card, NOBODY_UID, NOBODY_UID)
        with running_daemon(public_installation) as daemon:
            wait_until(lambda: "mark ended status=0" in daemon.output, 20)
            card.chmod(0o555)
            line = f"{card} cannot be written; check the rights of {card}"
            wait_until(lambda: line in daemon.output, 20)
            with urllib.request.urlopen(f"{daemon.page}/", timeout=5) as page:
                assert page.status == 200
            card.chmod(0o755)
            daemon.send_signal(1)
            ended = daemon.output.count("ended status=0")
            wait_until(lambda: daemon.output.count("ended status=0") > ended, 90)
            assert daemon.output.count(line) == 1
