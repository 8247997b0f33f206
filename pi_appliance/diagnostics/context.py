"""The subject of the checks: one configuration, possibly invalid, and its machine."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Self

from pi_appliance.config import CONFIG_NAME, loader
from pi_appliance.config.model import Config
from pi_appliance.errors import ApplianceError
from pi_appliance.storage.history import Store
from pi_appliance.system import files
from pi_appliance.system.clock import Clock, SystemClock
from pi_appliance.system.systemd import Systemd

HISTORY = "history.db"
UNKNOWN = "the configuration does not say"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticContext:
    """`root` is where the files of the machine lie; tests put them elsewhere."""

    path: Path | None
    """The configuration file; None where there is none."""
    config: Config | None
    """The usable part of the configuration."""
    error: ApplianceError | None
    """The reason why the configuration is unusable or incomplete."""
    environment: Mapping[str, str]
    clock: Clock = field(default_factory=SystemClock)
    root: Path = Path("/")

    @classmethod
    def inspect(cls, found: Path | ApplianceError, environment: Mapping[str, str]) -> Self:
        """Read what can be read of the configuration FOUND, which is an error where there is none."""
        if isinstance(found, ApplianceError):
            return cls(path=None, config=None, error=found, environment=environment)
        path = found.absolute()
        try:
            return cls(path=path, config=loader.load_config(path), error=None, environment=environment)
        except ApplianceError as error:
            return cls(path=path, config=loader.load_partial(path), error=error, environment=environment)

    @property
    def systemd(self) -> Systemd:
        """The systemd of the machine."""
        return Systemd(self.root, self.environment)

    @property
    def owner(self) -> int | None:
        """The number of the user whom the state folder belongs to; None where there is none, or nobody may know."""
        with contextlib.suppress(OSError):
            return self.config.state_dir.stat().st_uid if self.config else None
        return None

    @property
    def is_owner(self) -> bool:
        """Whether the appliance is of the user who looks; root looks for everybody."""
        return self.owner in (None, os.geteuid()) or os.geteuid() == 0

    @property
    def is_state_unreachable(self) -> bool:
        """Whether the state folder cannot even be seen: it lies in a folder that is not ours to enter."""
        try:
            if self.config is not None:
                self.config.state_dir.stat()
        except OSError as error:
            return isinstance(error, PermissionError)
        return False

    @property
    def owner_command(self) -> str:
        """The command that looks as the user whom the appliance belongs to."""
        return f"sudo -u {files.user_name(self.owner or 0)} pi-appliance doctor{self.option}"

    def command(self, words: str) -> str:
        """Return the command of ours that does WORDS on this appliance, as the user whom it belongs to."""
        user = f"sudo -u {files.user_name(self.owner)} " if os.geteuid() == 0 and self.owner else ""
        return f"{user}pi-appliance {words}{self.option}"

    @property
    def option(self) -> str:
        """The `--config` option for other commands, with a leading space; '' if not needed."""
        if self.path is None or self.path == Path("/etc/pi-appliance", CONFIG_NAME):
            return ""
        return f" --config {loader.display_path(self.path)}"

    @contextlib.contextmanager
    def history(self) -> Iterator[Store | None]:
        """Give the history to be read; None where there is none yet. Raises Unavailable if it cannot be."""
        path = self.config.state_dir / HISTORY if self.config else None
        if path is None or not _is_there(path):
            yield None
            return
        with Store(path, read_only=True) as store:
            yield store


def _is_there(path: Path) -> bool:
    """Say whether there is a file PATH; one that lies where we may not look is there."""
    try:
        return path.exists()
    except OSError:
        return True


class Status(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"  # it works, but will not always
    FAIL = "fail"  # something does not work
    SKIPPED = "skipped"  # this machine, or this configuration, has no such thing


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The one-line result of `check`; `fix` is a command or an instruction."""

    check: str
    status: Status
    summary: str
    fix: str = ""


def ok(check: str, found: str) -> CheckResult:
    """Return a result without problems."""
    return CheckResult(check, Status.OK, _line(found))


def warn(check: str, found: str, fix: str) -> CheckResult:
    """Return a warning: it works, but may fail later."""
    return CheckResult(check, Status.WARN, _line(found), _line(fix))


def fail(check: str, found: str, fix: str) -> CheckResult:
    """Return a failure."""
    return CheckResult(check, Status.FAIL, _line(found), _line(fix))


def skipped(check: str, found: str) -> CheckResult:
    """Return the reason for a skipped check."""
    return CheckResult(check, Status.SKIPPED, _line(found))


def error_result(error: object, otherwise: str) -> tuple[str, str]:
    """Split `error` at its semicolon into problem and fix; the default fix is `otherwise`."""
    wrong, _, right = str(error).partition("; ")
    return wrong, right.removeprefix("run: ") or otherwise


def _line(text: str) -> str:
    """Join the lines of `text`, because the output of a job may have several."""
    return " ".join(text.split())
