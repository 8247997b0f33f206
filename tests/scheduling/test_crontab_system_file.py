"""Faults of our file in /etc/cron.d, each as verified with Debian's cron 3.0pl1."""

import os
from pathlib import Path

import pytest

from pi_appliance.scheduling.crontab import find_faults, find_misnamed_files

PROGRAM = b"/usr/local/bin/pi-appliance"
ENTRY = b"0 6 * * * pi %b jobs run greet --trigger cron --config /etc/pi-appliance/appliance.yaml\n" % PROGRAM

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of root")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pi-appliance"
    path.write_bytes(ENTRY)
    path.chmod(0o644)
    return path


def test_a_missing_file_has_no_problem(tmp_path: Path) -> None:
    assert find_faults(tmp_path / "pi-appliance") == []


@as_root
def test_a_good_file_has_no_problem(file: Path) -> None:
    assert find_faults(file) == []


@as_root
@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_can_write_is_reported(file: Path, mode: int) -> None:
    file.chmod(mode)
    (fault,) = find_faults(file)
    assert "others may write" in fault.reason
    assert fault.remedy == f"sudo chmod 644 {file}"


@as_root
def test_a_file_of_another_user_is_reported(file: Path) -> None:
    os.chown(file, 65534, -1)
    (fault,) = find_faults(file)
    assert (fault.reason, fault.remedy) == (
        f"{file} does not belong to root, so cron does not read it",
        f"sudo chown root:root {file}",
    )


@as_root
def test_a_last_line_without_newline_is_reported(file: Path) -> None:
    file.write_bytes(ENTRY.rstrip())
    (fault,) = find_faults(file)
    assert "no newline" in fault.reason


@pytest.mark.parametrize("name", ["pi-appliance.cron", "pi-appliance~", ".pi-appliance", "pi appliance"])
def test_a_name_that_cron_ignores_is_reported(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(ENTRY)
    result = find_misnamed_files(tmp_path)
    assert len(result) == 1
    assert "sudo mv" in result[0].remedy


@pytest.mark.parametrize("name", ["e2scrub_all", "sysstat", ".placeholder", "backup.old"])
def test_files_of_other_programs_are_not_checked(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"0 6 * * * root true\n")
    assert find_misnamed_files(tmp_path) == []
