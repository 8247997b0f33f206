"""Memory shared by processes that know nothing of each other."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pi_appliance.puzzles.runtime.shared_memory import PREFIX, open_table

WRITER = """
import sys, pathlib, signal
from pi_appliance.puzzles.runtime.shared_memory import open_table
table = open_table("numbers", 1000, pathlib.Path(sys.argv[1]))
table[1] = 7
print("written", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def writer(tmp_path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "written\n"
    return process


def end(writer: "subprocess.Popen[str]") -> None:
    writer.communicate("")


def test_another_process_sees_what_is_written(writer: "subprocess.Popen[str]", tmp_path: Path) -> None:
    table = open_table("numbers", 1_000, tmp_path)
    assert (len(table), table[1]) == (1_000, 7)
    assert open_table("others", 1_000, tmp_path)[1] == 0
    end(writer)
    assert table[1] == 7
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600]


def test_the_last_process_removes_it(writer: "subprocess.Popen[str]", tmp_path: Path) -> None:
    assert len(list(tmp_path.iterdir())) == 1
    end(writer)
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_removed_by_the_next(writer: "subprocess.Popen[str]", tmp_path: Path) -> None:
    os.kill(writer.pid, signal.SIGKILL)
    end(writer)
    assert len(list(tmp_path.iterdir())) == 1
    table = open_table("numbers", 1_000, tmp_path)
    assert table[1] == 0
    del table
    assert not list(tmp_path.iterdir())


def test_without_the_folder_the_memory_is_private(tmp_path: Path) -> None:
    table = open_table("numbers", 1_000, tmp_path / "missing")
    table[1] = 7
    assert (len(table), open_table("numbers", 1_000, tmp_path / "missing")[1]) == (1_000, 0)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / f"{PREFIX}numbers").symlink_to(target)
    assert open_table("numbers", 1_000, tmp_path)[1] == 0
    assert target.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_file_of_another_user_is_not_used(tmp_path: Path) -> None:
    theirs = tmp_path / f"{PREFIX}numbers"
    theirs.write_bytes(b"\x09" * 1_000)
    theirs.chmod(0o666)
    os.chown(theirs, 65534, 65534)
    with theirs.open() as used:
        fcntl.flock(used, fcntl.LOCK_SH)  # or it would be removed
        table = open_table("numbers", 1_000, tmp_path)
    table[1] = 7
    assert table[0] == 0
    assert theirs.read_bytes() == b"\x09" * 1_000
