"""The unit: systemd understands every word of it, and it can do little harm."""

import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "systemd" / "pi-appliance.service"

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def test_systemd_has_nothing_to_say_against_the_unit(tmp_path: Path) -> None:
    lines = [
        "ExecStart=/bin/true" if line.startswith("ExecStart=") else line  # the program is not installed here
        for line in UNIT.read_text().splitlines()
    ]
    unit = tmp_path / UNIT.name
    unit.write_text("\n".join(lines) + "\n")
    asked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert asked.returncode == 0
    assert unit.name not in asked.stderr + asked.stdout


def test_its_exposure_is_two_of_ten_at_most() -> None:
    asked = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", UNIT],
        capture_output=True,
        text=True,
        check=True,
    )
    (verdict,) = (line for line in asked.stdout.splitlines() if "Overall exposure level" in line)
    assert float(verdict.split(": ")[1].split()[0]) <= 2.0, asked.stdout


def test_a_wrong_configuration_is_not_tried_again_and_again() -> None:
    assert "RestartPreventExitStatus=2\n" in UNIT.read_text(), "2 is the exit status of a ConfigError"


def test_it_may_hold_the_limits_of_its_jobs() -> None:
    """A delegated cgroup is of no use behind a wall, nor without the system calls that step back for others."""
    lines = UNIT.read_text().splitlines()
    (delegated,) = (line.partition("=")[2].split() for line in lines if line.startswith("Delegate="))
    assert {"cpu", "memory"} <= set(delegated)
    assert not any(line.startswith("ProtectControlGroups=") for line in lines)
    allowed, forbidden = (calls_of(group) for group in ("@system-service", "@privileged"))
    assert {"setpriority", "prlimit64", "prctl", "pidfd_send_signal"} <= allowed - forbidden


def calls_of(group: str) -> set[str]:
    """Return the system calls in GROUP and in the groups that it names."""
    shown = subprocess.run(["systemd-analyze", "syscall-filter", group], capture_output=True, text=True, check=True)
    words = [line.strip() for line in shown.stdout.splitlines() if line.startswith("    ") and "#" not in line]
    return {call for word in words for call in (calls_of(word) if word.startswith("@") else {word})}
