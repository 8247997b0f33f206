"""Test whether a folder is writable, as the user who needs it."""

import os
import subprocess
from pathlib import Path

import pytest

from pi_appliance.system import files

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as somebody else")


def test_a_writable_folder_is_left_unchanged(tmp_path: Path) -> None:
    assert files.probe_write(tmp_path) == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["missing", "/proc/self"])
def test_the_reason_is_reported(tmp_path: Path, name: str) -> None:
    assert files.probe_write(tmp_path / name)


@as_root
def test_root_probes_as_the_owner_and_becomes_root_again(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    before = os.geteuid(), os.getegid(), os.getgroups()
    with files.as_user(NOBODY):
        assert os.geteuid() == NOBODY
        assert files.probe_write(tmp_path) == "Permission denied"
    assert (os.geteuid(), os.getegid(), os.getgroups()) == before
    assert files.probe_write(tmp_path) == ""


@as_root
def test_a_full_file_system_is_reported(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", small], check=False)
    if mounted.returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        (small / "all of it").write_bytes(b"x" * 16384)
        assert files.probe_write(small) == "No space left on device"
        assert [path.name for path in small.iterdir()] == ["all of it"]
    finally:
        subprocess.run(["umount", small], check=True)


def test_the_nearest_existing_folder_is_found(tmp_path: Path) -> None:
    assert files.nearest_existing(tmp_path / "a" / "b") == tmp_path
    assert files.nearest_existing(tmp_path) == tmp_path


def test_user_names_are_shown() -> None:
    assert (files.user_name(0), files.user_name(4_000_000_000 % 2**31)) == ("root", f"#{4_000_000_000 % 2**31}")
