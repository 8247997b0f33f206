"""Restarting and shutting down, with fake programs in place of those of systemd."""

from pathlib import Path

import pytest

from pi_appliance.errors import Refused
from pi_appliance.system.systemd import MachinePower, PowerAction
from tests.system.test_systemd import Machine

METHODS = {"CanReboot": "yes", "CanPowerOff": "challenge"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.boot()
    answers = " ".join(f"*{method}) echo 's \"{answer}\"' ;;" for method, answer in METHODS.items())
    machine.program("busctl", f'case "$*" in {answers} *) exit 1 ;; esac')
    machine.program("systemctl", f'echo "$@" >> {tmp_path}/done')
    return machine


def power_of(machine: Machine) -> MachinePower:
    return MachinePower(machine.root, {"PATH": f"{machine.programs}:/usr/bin:/bin"})


def test_what_logind_allows_is_done_and_everything_else_names_the_command(machine: Machine, tmp_path: Path) -> None:
    power = power_of(machine)
    assert power.find_obstacle(PowerAction.REBOOT) == ""
    power.request(PowerAction.REBOOT)
    with pytest.raises(Refused, match=r"no right to do that .* type on the machine: sudo poweroff"):
        power.request(PowerAction.SHUTDOWN)
    assert (tmp_path / "done").read_text() == "--no-wall --no-ask-password reboot\n"


@pytest.mark.parametrize(
    ("program", "script", "reason"),
    [
        ("busctl", "exit 1", "systemd-logind does not answer"),
        ("busctl", "echo 's \"na\"'", "this machine cannot do that"),
        ("systemctl", "exit 1", "systemd refused it"),
    ],
)
def test_a_refusal_says_why(machine: Machine, program: str, script: str, reason: str) -> None:
    machine.program(program, script)
    with pytest.raises(Refused, match=f"{reason}; type on the machine: sudo reboot"):
        power_of(machine).request(PowerAction.REBOOT)


def test_without_systemd_nothing_is_asked(machine: Machine) -> None:
    (machine.root / "run/systemd/system").rmdir()
    assert power_of(machine).find_obstacle(PowerAction.REBOOT).startswith("this machine does not use systemd")
