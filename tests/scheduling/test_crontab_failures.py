"""If cron or the disk fails during an install, the old crontab is restored exactly."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.scheduling.crontab import SystemCrontab, UserCrontab
from tests.scheduling.scratch_crontab import CRONTAB, Crontab, scratch_crontab

CONFIG = Path("/home/pi/appliance.yaml")
BEFORE = b"FOO = bar\n# mine\r\n0 1 * * * backup % in\n"
ENTRIES = ["0 6 * * * true"]


@pytest.fixture(scope="module")
def crontab() -> Iterator[Crontab]:
    with scratch_crontab() as scratch:
        yield scratch


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program `crontab` first in the path; `script` has the real one as $REAL."""
    program = folder / "bin" / "crontab"
    program.parent.mkdir()
    head = f'#!/bin/sh\nREAL={CRONTAB}\nfor last; do :; done\n[ "$last" = - ] && WRITES=yes || WRITES='
    program.write_text(f'{head}\n{script}\nexec $REAL "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a user for the tests")
def test_without_useradd_tests_that_need_a_user_are_skipped_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="useradd"), scratch_crontab():
        pass


@pytest.mark.parametrize(
    "script",
    [
        '[ "$WRITES" ] && { echo "no space left" >&2; exit 1; }',
        '[ "$WRITES" ] && [ ! -e "$0.once" ] && { touch "$0.once"; head -n 1 | $REAL "$@"; exit 1; }',
        '[ "$WRITES" ] && [ ! -e "$0.once" ] && { touch "$0.once"; sed s/true/false/ | $REAL "$@"; exit 0; }',
        '[ "$WRITES" ] && { cat >/dev/null; exit 0; }',
    ],
    ids=[
        "writes nothing and fails",
        "writes half and fails",
        "writes something else",
        "writes nothing and says so not",
    ],
)
def test_a_failing_crontab_program_keeps_the_old_bytes(
    crontab: Crontab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    crontab.set(BEFORE)
    before = crontab.get()
    stand_in(tmp_path, monkeypatch, script)
    with pytest.raises(Refused):
        UserCrontab(CONFIG, user=crontab.user).install(ENTRIES)
    assert crontab.get() == before


def test_a_concurrent_change_of_another_program_is_kept(
    crontab: Crontab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crontab.set(b"# mine\n")
    other = f"printf '# mine\\n# theirs\\n' | {' '.join(crontab.command)} -"
    # When it is asked for the second time, someone else has been there just before.
    stand_in(tmp_path, monkeypatch, f'echo x >>"$0.count"; [ "$(wc -l <"$0.count")" = 2 ] && {other}')
    with pytest.raises(Unavailable, match="try again"):
        UserCrontab(CONFIG, user=crontab.user).install(ENTRIES)
    assert crontab.get() == b"# mine\n# theirs\n"


def test_a_missing_cron_is_reported_with_the_package_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="sudo apt install cron"):
        UserCrontab(CONFIG).plan(ENTRIES)


def test_a_user_whom_cron_does_not_allow_gets_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, 'echo "You (pi) are not allowed to use this program (crontab)" >&2; exit 1')
    with pytest.raises(Refused, match="not allowed to use this program"):
        UserCrontab(CONFIG).install(ENTRIES)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk of 8 kB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine does not let us mount a small disk")
    try:
        yield tmp_path
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_full_disk_keeps_the_system_file(small_disk: Path) -> None:
    place = SystemCrontab(CONFIG, path=small_disk / "pi-appliance")
    place.install(["0 6 * * * pi true --trigger cron --config x"])
    before = place.path.read_bytes()
    with pytest.raises(Unavailable, match="No space left"):
        place.install(["0 6 * * * pi true --trigger cron --config x"] * 1000)
    assert place.path.read_bytes() == before
    assert [path.name for path in small_disk.iterdir()] == ["pi-appliance"]


def test_a_missing_folder_for_system_entries_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ApplianceError, match="cannot be written: No such file or directory"):
        SystemCrontab(CONFIG, path=tmp_path / "cron.d" / "pi-appliance").install(ENTRIES)
