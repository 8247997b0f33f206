"""The queries to systemd, with fake programs that print real output."""

from pathlib import Path

import pytest

from pi_appliance.system.systemd import Systemd, UnitState, packaged_units

ROOT = Path(__file__).parents[2]


class Machine:
    """A temporary root with programs that print predefined output."""

    def __init__(self, folder: Path) -> None:
        self.root, self.programs = folder / "root", folder / "bin"
        self.programs.mkdir()
        self.systemd = Systemd(self.root, {"PATH": f"{self.programs}:/usr/bin:/bin"})

    def boot(self) -> None:
        (self.root / "run/systemd/system").mkdir(parents=True)

    def program(self, name: str, script: str) -> None:
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_systemd_is_detected(machine: Machine) -> None:
    machine.program("systemctl", "true")
    assert not machine.systemd.is_running
    machine.boot()
    assert machine.systemd.is_running


def test_a_running_unit_is_described(machine: Machine) -> None:
    machine.program(
        "systemctl",
        'test "$1 $2" = "show x.service" && printf "LoadState=loaded\\nActiveState=active\\nResult=success\\n"'
        ' && printf "NeedDaemonReload=no\\n"',
    )
    assert machine.systemd.unit_state("x.service") == UnitState(
        loaded=True, active="active", result="success", needs_reload=False
    )


def test_a_failed_and_changed_unit_is_described(machine: Machine) -> None:
    machine.program(
        "systemctl", 'printf "LoadState=loaded\\nActiveState=failed\\nResult=watchdog\\nNeedDaemonReload=yes\\n"'
    )
    assert machine.systemd.unit_state("x.service") == UnitState(
        loaded=True, active="failed", result="watchdog", needs_reload=True
    )


@pytest.mark.parametrize("script", ["exit 1", "kill $$"])
def test_a_systemd_without_an_answer_is_not_an_error(machine: Machine, script: str) -> None:
    machine.program("systemctl", script)
    machine.program("journalctl", script)
    assert machine.systemd.unit_state("x.service") is None
    assert (machine.systemd.failed_units(), machine.systemd.journal("x.service", 5)) == ([], "")


def test_failed_units_are_listed(machine: Machine) -> None:
    machine.program("systemctl", 'printf "a.service loaded failed failed A thing\\nb.mount loaded failed failed B\\n"')
    assert machine.systemd.failed_units() == ["a.service", "b.mount"]


def test_the_journal_is_read_for_our_unit_only(machine: Machine) -> None:
    machine.program("journalctl", 'echo "$@"')
    output = machine.systemd.journal("x.service", 7)
    assert "--unit=x.service" in output
    assert "--lines=7" in output
    assert "--no-hostname" in output


def test_installed_units_are_those_of_the_owner_before_those_of_a_package(machine: Machine) -> None:
    assert machine.systemd.installed_unit("x.service") is None
    for folder, text in (("usr/lib", b"of the package"), ("etc", b"[Unit]\n")):
        place = machine.root / folder / "systemd/system/x.service"
        place.parent.mkdir(parents=True)
        place.write_bytes(text)
        assert machine.systemd.installed_unit("x.service") == text


def test_the_units_are_part_of_the_release() -> None:
    there = {path.name: path.read_bytes() for path in (ROOT / "systemd").glob("*.[sp]*") if path.suffix != ".rules"}
    assert there
    assert packaged_units() == there
