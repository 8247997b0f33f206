"""Atomic files: on a full disk, after an error, and after kill -9."""

import os
import pwd
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pi_appliance.config import secrets
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.system import files
from tests.installation import ROOT, Installation, wait_until


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_the_new_file_replaces_the_old_one_only_when_complete(tmp_path):
    path = tmp_path / "report"
    path.write_text("old", "ascii")
    with files.atomic_write_text(path) as file:
        file.write("new")
        file.flush()
        assert path.read_text("ascii") == "old"
    assert path.read_text("ascii") == "new"
    assert names(tmp_path) == ["report"]


def test_an_error_keeps_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "report"
    path.write_text("old", "ascii")
    with pytest.raises(ZeroDivisionError), files.atomic_write(path) as file:
        file.write(b"%d" % (1 // 0))
    assert path.read_text("ascii") == "old"
    assert names(tmp_path) == ["report"]


def test_the_mode_is_as_requested_under_any_umask(tmp_path):
    before = os.umask(0o077)
    try:
        files.write_file(tmp_path / "open", b"x", mode=0o644)
        files.write_file(tmp_path / "closed", b"x", mode=0o600)
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("open", "closed")] == [0o644, 0o600]


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    """Return a folder on a disk of 64 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root can make a small disk here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_reported_and_the_old_file_stays(small_disk):
    path = small_disk / "report"
    path.write_text("old", "ascii")
    with pytest.raises(Unavailable, match="No space left"):
        files.write_file(path, b"x" * 100_000)
    assert path.read_text("ascii") == "old"
    assert names(small_disk) == ["report"]


def test_a_missing_folder_is_reported(tmp_path):
    with pytest.raises(Unavailable, match="cannot be written: No such file"):
        files.write_file(tmp_path / "no" / "report", b"x")


def test_a_kill_keeps_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "report"
    path.write_text("old", "ascii")
    code = (
        "import sys, time; from pathlib import Path; from pi_appliance.system import files\n"
        "with files.atomic_write(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); print('now', flush=True); time.sleep(60)\n"
    )
    words = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env={"PYTHONPATH": str(ROOT)}) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
    assert path.read_text("ascii") == "old"
    assert names(tmp_path) == ["report"]


def test_a_killed_puzzle_run_keeps_the_previous_report(installation: Installation):
    job = (
        "pegs:\n  kind: puzzle\n"
        "  with: {{puzzle: peg-solitaire, boards: [{board}], solutions: all, max-solutions: {limit}}}"
    )
    installation.write(job.format(board="cross", limit=10))
    assert installation.run("jobs", "run", "pegs").returncode == 0
    folder = installation.state / "reports" / "pegs"
    before = published_reports(folder)
    installation.write(job.format(board="full", limit=10_000_000))
    with installation.start("jobs", "run", "pegs") as runner:
        wait_until(lambda: any(run.status_text.startswith("full") for run in installation.runs("pegs")))
        runner.kill()
    wait_until(lambda: "abandoned" in installation.outcomes("pegs"))
    assert published_reports(folder) == before
    installation.write(job.format(board="cross", limit=10))
    assert installation.run("jobs", "run", "pegs").returncode == 0
    assert [path.name for path in folder.glob(".*")] == [".newest"], "what was left of it is gone"


def published_reports(folder: Path) -> dict[str, bytes]:
    """Return the reports in `folder` and in the dated folders below it, by their names there."""
    files = (path for path in folder.rglob("*") if path.is_file())
    result = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {name: content for name, content in result.items() if not name.startswith(".")}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
@pytest.mark.parametrize(
    ("owner", "advice"),
    [
        ("pi-appliance", "which only the group pi-appliance may use; run `sudo usermod -aG pi-appliance $USER`"),
        ("anna", "belongs to anna; run this as that user: sudo -u anna"),
    ],
)
def test_who_may_not_write_gets_the_way_in(monkeypatch, owner, advice):
    account = pwd.struct_passwd((owner, "x", 65534, 65534, "", "/", ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: account)  # the machine of the test has no such users
    with tempfile.TemporaryDirectory() as folder:  # pytest's own may not be entered by others
        Path(folder).chmod(0o755)
        with files.as_user(65534), pytest.raises(Unavailable, match=r"locks cannot be written: Permission") as raised:
            files.make_directory(Path(folder, "state", "locks"))
        secret = Path(folder, "secrets.env")
        secret.touch(0o600)
        with files.as_user(65534), pytest.raises(Refused) as unreadable:
            secrets.read(secret)
    assert advice in str(raised.value)
    assert "free space" not in str(raised.value)
    assert f"{secret} cannot be read: Permission denied; {secret} " in str(unreadable.value)
    assert advice in str(unreadable.value)
