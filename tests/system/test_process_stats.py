"""The cost of this process from /proc, and without it."""

import os
import time
from pathlib import Path

import pytest

from pi_appliance.system import machine
from pi_appliance.system.machine import find_mount, is_volatile, read_mounts


def test_without_proc_nothing_is_known(tmp_path: Path) -> None:
    assert machine.bytes_written(tmp_path) is machine.resident_memory(tmp_path) is machine.start_time(tmp_path) is None


def test_unexpected_files_yield_nothing(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    for name in ("self/io", "self/statm", "self/stat", "stat"):
        (tmp_path / name).write_text("nonsense\n")
    assert machine.bytes_written(tmp_path) is machine.resident_memory(tmp_path) is machine.start_time(tmp_path) is None


def test_a_process_name_with_brackets_is_parsed(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    words = ["S", *["0"] * 18, "500", "0"]
    (tmp_path / "self/stat").write_text(f"12 (py) thon) {' '.join(words)}\n")
    (tmp_path / "stat").write_text("cpu 1 2\nbtime 1700000000\n")
    assert machine.start_time(tmp_path) == 1_700_000_000 + 500 / os.sysconf("SC_CLK_TCK")


def test_this_process_is_measured() -> None:
    resident, started = machine.resident_memory(), machine.start_time()
    assert resident is not None
    assert started is not None
    assert 5_000_000 < resident < 3_000_000_000
    assert time.time() - 86_400 < started <= time.time() + 2


def test_written_bytes_are_counted(tmp_path: Path) -> None:
    place = find_mount(tmp_path, read_mounts())
    if place is None or is_volatile(place, read_mounts()):
        pytest.skip("the tests' own folder is on no disk here")
    before = machine.bytes_written()
    assert before is not None
    path = tmp_path / "much"
    with path.open("wb") as file:
        file.write(os.urandom(1_000_000))
        file.flush()
        os.fsync(file.fileno())
    after = machine.bytes_written()
    assert after is not None
    assert after - before >= 1_000_000
