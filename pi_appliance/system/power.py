"""Restart and shut down the machine through systemd-logind, if this user may."""

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from pi_appliance.errors import Refused
from pi_appliance.system.systemd import Systemd

_LOGIN = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")


class PowerAction(StrEnum):
    """What is done with the machine."""

    REBOOT = "reboot"
    SHUTDOWN = "shutdown"

    @property
    def verb(self) -> str:
        """The word of systemctl."""
        return "poweroff" if self is PowerAction.SHUTDOWN else "reboot"

    @property
    def question(self) -> str:
        """The method of logind that says whether this user may."""
        return "CanPowerOff" if self is PowerAction.SHUTDOWN else "CanReboot"


class MachinePower:
    """Restarts and shuts down the machine. Each method waits for programs, seconds at most."""

    def __init__(self, root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> None:
        self._systemd = Systemd(root, environment)

    def find_obstacle(self, action: PowerAction) -> str:
        """Return why this user may not do `action`, and the command that does it; '' if it may."""
        command = f"type on the machine: sudo {action.verb}"
        if not self._systemd.is_running:
            return f"this machine does not use systemd; {command}"
        answer = self._systemd.run("busctl", "call", "--system", *_LOGIN, action.question)
        if answer is None:
            return f"systemd-logind does not answer; {command}"
        if '"yes"' in answer:
            return ""
        if '"na"' in answer:
            return f"this machine cannot do that; {command}"
        return f"the appliance has no right to do that (deploy/install.sh gives it), or a program forbids it; {command}"

    def request(self, action: PowerAction) -> None:
        """Do `action`: systemd then stops all services, and so this one. Raises Refused."""
        if obstacle := self.find_obstacle(action):
            raise Refused(obstacle)
        # Without a message to all terminals, which needs a right of its own.
        if self._systemd.run("systemctl", "--no-wall", "--no-ask-password", action.verb) is None:
            raise Refused(f"systemd refused it; type on the machine: sudo {action.verb}")
