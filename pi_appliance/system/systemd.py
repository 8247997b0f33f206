"""What systemd tells of units, by its own programs; and the units of this release, as they travel in the package."""

import contextlib
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

MAIN_UNIT = "pi-appliance.service"
_PLACE = "etc/systemd/system"
_PATIENCE = 5.0  # seconds; a systemd that hangs must not hang us
_ASKED = ("LoadState", "ActiveState", "Result", "NeedDaemonReload")


@dataclass(frozen=True, slots=True)
class Unit:
    """How a unit is."""

    loaded: bool
    active: str
    """active, inactive, failed, activating, …"""
    result: str
    """success, or why it failed: exit-code, watchdog, oom-kill, …"""
    needs_reload: bool
    """Whether its file was changed and systemd has not read it again."""


class Systemd:
    """The systemd of the machine whose files are below ROOT, asked by the programs in the PATH of ENVIRONMENT."""

    def __init__(self, root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> None:
        self._root, self._environment = root, environment

    @property
    def is_running(self) -> bool:
        """Whether systemd runs this machine."""
        return (self._root / "run/systemd/system").is_dir() and self._program("systemctl") is not None

    def unit(self, name: str) -> Unit | None:
        """Return how the unit NAME is; None where systemd does not answer."""
        said = self._ask("systemctl", "show", name, *(f"--property={each}" for each in _ASKED))
        if said is None:
            return None
        told = dict(line.partition("=")[::2] for line in said.splitlines())
        return Unit(
            told.get("LoadState") == "loaded",
            told.get("ActiveState", ""),
            told.get("Result", ""),
            told.get("NeedDaemonReload") == "yes",
        )

    def failed(self) -> list[str]:
        """Return the names of all units that have failed."""
        said = self._ask("systemctl", "list-units", "--failed", "--plain", "--no-legend", "--no-pager", "--full")
        return [line.split()[0] for line in (said or "").splitlines() if line.split()]

    def installed(self, name: str) -> bytes | None:
        """Return the file of the unit NAME as it was installed; None where it was not, or cannot be read."""
        try:
            return (self._root / _PLACE / name).read_bytes()
        except OSError:
            return None

    def text(self, name: str) -> str | None:
        """Return the unit NAME as systemd has read it, changes of the owner included; None where that is not known."""
        return self._ask("systemctl", "cat", "--no-pager", name)

    def journal(self, unit: str, lines: int) -> str:
        """Return the newest LINES of what UNIT said; '' where nobody keeps that, or it is not for us."""
        words = ("--no-pager", "--quiet", "--no-hostname", "--output=short-iso", f"--lines={lines}", f"--unit={unit}")
        return self._ask("journalctl", *words) or ""

    def _ask(self, program: str, *words: str) -> str | None:
        path = self._program(program)
        if path is None:
            return None
        try:
            done = subprocess.run(
                [path, *words],
                capture_output=True,
                timeout=_PATIENCE,
                check=False,
                env={**self._environment, "LC_ALL": "C"},
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None

    def _program(self, name: str) -> str | None:
        return shutil.which(name, path=self._environment.get("PATH", os.defpath))


def packaged_units() -> dict[str, bytes]:
    """Return the units that came with this release, by name."""
    folder = resources.files("pi_appliance.units")
    return {item.name: item.read_bytes() for item in folder.iterdir() if item.name.endswith((".service", ".path"))}


class ServiceNotifier:
    """The notify socket of the service, where there is one."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        # A leading @ stands for Linux' abstract name space.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog = int(environment.get("WATCHDOG_USEC", "0")) / 1_000_000
        """Seconds after which systemd takes silence for a hang; 0 if it does not watch."""

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
