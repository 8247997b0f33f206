"""systemd: units and their files, the notify socket, requests to root, restart and shut-down."""

import contextlib
import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path

from pi_appliance.errors import Refused

MAIN_UNIT = "pi-appliance.service"
# Folders for units: of deploy/install.sh, and of the Debian package. systemd uses the same order.
_UNIT_DIRS = ("etc/systemd/system", "usr/lib/systemd/system")
_LOGIN = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
_MAX_REQUEST = 1024  # bytes of a request file that are read
_TIMEOUT = 5.0  # seconds; a systemd that hangs must not block us
_PROPERTIES = ("LoadState", "ActiveState", "Result", "NeedDaemonReload")


@dataclass(frozen=True, slots=True)
class UnitState:
    """State of a unit."""

    loaded: bool
    active: str
    """active, inactive, failed, activating, …"""
    result: str
    """success, or the reason of a failure: exit-code, watchdog, oom-kill, …"""
    needs_reload: bool
    """Whether its file was changed since systemd read it."""


class Systemd:
    """systemd on the machine with its files below `root`, queried by its command line programs."""

    def __init__(self, root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> None:
        self._root, self._environment = root, environment

    @property
    def is_running(self) -> bool:
        """Whether systemd runs this machine."""
        return (self._root / "run/systemd/system").is_dir() and self._find_program("systemctl") is not None

    def unit_state(self, name: str) -> UnitState | None:
        """Return the state of the unit `name`; None if systemd does not answer."""
        output = self.run("systemctl", "show", name, *(f"--property={each}" for each in _PROPERTIES))
        if output is None:
            return None
        values = dict(line.partition("=")[::2] for line in output.splitlines())
        return UnitState(
            values.get("LoadState") == "loaded",
            values.get("ActiveState", ""),
            values.get("Result", ""),
            values.get("NeedDaemonReload") == "yes",
        )

    def failed_units(self) -> list[str]:
        """Return the names of all failed units."""
        output = self.run("systemctl", "list-units", "--failed", "--plain", "--no-legend", "--no-pager", "--full")
        return [line.split()[0] for line in (output or "").splitlines() if line.split()]

    def installed_unit(self, name: str) -> bytes | None:
        """Return the installed file of the unit `name`; None if it cannot be read."""
        for folder in _UNIT_DIRS:
            with contextlib.suppress(OSError):
                return (self._root / folder / name).read_bytes()
        return None

    def unit_text(self, name: str) -> str | None:
        """Return the unit `name` as systemd has read it, with drop-ins; None if unknown."""
        return self.run("systemctl", "cat", "--no-pager", name)

    def journal(self, unit: str, lines: int) -> str:
        """Return the newest `lines` of the journal of `unit`; '' if it cannot be read."""
        words = ("--no-pager", "--quiet", "--no-hostname", "--output=short-iso", f"--lines={lines}", f"--unit={unit}")
        return self.run("journalctl", *words) or ""

    def run(self, program: str, *words: str) -> str | None:
        """Return the output of `program`; None if it is missing, fails or takes too long."""
        path = self._find_program(program)
        if path is None:
            return None
        try:
            done = subprocess.run(
                [path, *words],
                capture_output=True,
                timeout=_TIMEOUT,
                check=False,
                env={**self._environment, "LC_ALL": "C"},
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None

    def _find_program(self, name: str) -> str | None:
        return shutil.which(name, path=self._environment.get("PATH", os.defpath))


def packaged_units() -> dict[str, bytes]:
    """Return the unit files of this release, by name."""
    folder = resources.files("pi_appliance.units")
    return {item.name: item.read_bytes() for item in folder.iterdir() if item.name.endswith((".service", ".path"))}


class ServiceNotifier:
    """Sends messages to systemd over the notify socket of the service (sd_notify)."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        # A leading @ stands for the abstract socket namespace.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.max_silence = int(environment.get("WATCHDOG_USEC", "0")) / 3_000_000
        """Seconds until the next WATCHDOG=1 is due, a third of WatchdogSec; 0 if it is off."""

    def send(self, *messages: str) -> None:
        """Send messages such as READY=1, STATUS=…, WATCHDOG=1, STOPPING=1."""
        if not self._address:
            return
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock,
        ):
            sock.connect(self._address)
            sock.sendall("\n".join(messages).encode())


class PowerAction(StrEnum):
    """An action on the whole machine."""

    REBOOT = "reboot"
    SHUTDOWN = "shutdown"

    @property
    def verb(self) -> str:
        """The word for the action in a systemctl command."""
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
        """Return why this user may not do `action`, and the command that may; '' if it is allowed.

        '' if allowed.
        """
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
        """Do `action`: systemd then stops all services, also this one.

        Raises Refused if not allowed.
        """
        if obstacle := self.find_obstacle(action):
            raise Refused(obstacle)
        # --no-wall: a message to all terminals needs another right.
        if self._systemd.run("systemctl", "--no-wall", "--no-ask-password", action.verb) is None:
            raise Refused(f"systemd refused it; type on the machine: sudo {action.verb}")


@contextlib.contextmanager
def read_request(request: Path) -> Iterator[str]:
    """Yield the content of the file `request`, "" without one, and delete the file at the end.

    With such files the service asks units that run as root. The folder belongs to the service,
    which is not trusted here: links are not followed, and only a regular file is read.

    The folder belongs to the service, which is not trusted here: links are not followed, only a
    file is read.
    """
    try:
        folder = os.open(request.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield ""
        return
    try:
        yield _read_file(request.name, folder)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(request.name, dir_fd=folder)
        os.close(folder)


def _read_file(name: str, folder: int) -> str:
    try:
        number = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(number, "rb") as file:
            return file.read(_MAX_REQUEST).decode("utf-8", "replace") if stat.S_ISREG(os.fstat(number).st_mode) else ""
    except OSError:
        return ""
