"""The subject of the checks (one configuration and its machine) and the result of a check."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pi_appliance.config import CONFIG_NAME, loader
from pi_appliance.config.options import Config
from pi_appliance.errors import ApplianceError
from pi_appliance.storage.history import Store
from pi_appliance.system import files
from pi_appliance.system.clock import Clock, SystemClock
from pi_appliance.system.files import display_path
from pi_appliance.system.systemd import Systemd

HISTORY = "history.db"
UNKNOWN = "the configuration does not say"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticContext:
    """One configuration, which may be invalid, and its machine. `root` is the root of its files."""

    path: Path | None
    """The configuration file, if there is one."""
    config: Config | None
    """The usable part of the configuration."""
    error: ApplianceError | None
    """The reason why the configuration is unusable or incomplete."""
    environment: Mapping[str, str]
    clock: Clock = field(default_factory=SystemClock)
    root: Path = Path("/")

    @classmethod
    def inspect(cls, config: Path | ApplianceError, environment: Mapping[str, str]) -> Self:
        """Read the valid part of the file `config`, which is an error if there is no file."""
        if isinstance(config, ApplianceError):
            return cls(path=None, config=None, error=config, environment=environment)
        path = config.absolute()
        try:
            return cls(path=path, config=loader.load_config(path), error=None, environment=environment)
        except ApplianceError as error:
            return cls(path=path, config=loader.load_partial(path), error=error, environment=environment)

    def require_config(self) -> Config:
        """Return the configuration. Raises `Skip` if its state folder is unknown."""
        if self.config is None:
            raise Skip(UNKNOWN)
        return self.config

    def require_history_access(self) -> None:
        """Raise `Skip` unless this user may read the history."""
        if self.is_state_unreachable or not self.is_owner:
            raise Skip("only the owner of the state folder can read the history")

    @property
    def systemd(self) -> Systemd:
        """The systemd of the machine."""
        return Systemd(self.root, self.environment)

    @property
    def owner(self) -> int | None:
        """The id of the owner of the state folder, if it exists and can be accessed."""
        with contextlib.suppress(OSError):
            return self.config.state_dir.stat().st_uid if self.config else None
        return None

    @property
    def is_owner(self) -> bool:
        """Whether this user owns the state folder, or is root."""
        return self.owner in (None, os.geteuid()) or os.geteuid() == 0

    @property
    def is_state_unreachable(self) -> bool:
        """Whether this user may not enter a parent of the state folder."""
        try:
            if self.config is not None:
                self.config.state_dir.stat()
        except OSError as error:
            return isinstance(error, PermissionError)
        return False

    @property
    def owner_command(self) -> str:
        """The command that runs the checks as the owner of the appliance."""
        return f"sudo -u {files.user_name(self.owner or 0)} pi-appliance doctor{self.option}"

    def command(self, words: str) -> str:
        """Return the command `pi-appliance WORDS` for this appliance, run as its owner."""
        user = f"sudo -u {files.user_name(self.owner)} " if os.geteuid() == 0 and self.owner else ""
        return f"{user}pi-appliance {words}{self.option}"

    @property
    def option(self) -> str:
        """The `--config` option for other commands, with a leading space; '' if not needed."""
        if self.path is None or self.path == Path("/etc/pi-appliance", CONFIG_NAME):
            return ""
        return f" --config {display_path(self.path)}"

    @contextlib.contextmanager
    def history(self) -> Iterator[Store | None]:
        """Open the history read-only; None if nothing has run yet. Raises `Unavailable`."""
        path = self.config.state_dir / HISTORY if self.config else None
        if path is None or not _may_exist(path):
            yield None
            return
        with Store(path, read_only=True) as store:
            yield store


def _may_exist(path: Path) -> bool:
    """Return whether the file `path` exists, or may exist in a folder that cannot be accessed."""
    try:
        return path.exists()
    except OSError:
        return True


class Skip(Exception):
    """Raised by a check that does not apply, with the reason."""


class Status(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARN = "warn"  # it works, but may fail later
    FAIL = "fail"  # something does not work
    SKIPPED = "skipped"  # this does not apply to this machine or configuration


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The one-line result of `check`."""

    check: str
    status: Status
    summary: str
    fix: Annotated[str, "a command or an instruction; empty if nothing is wrong"] = ""


def ok(summary: str, *, check: str = "") -> CheckResult:
    """Return a result without problems."""
    return CheckResult(check, Status.OK, _one_line(summary))


def warn(summary: str, fix: str, *, check: str = "") -> CheckResult:
    """Return a warning: it works, but may fail later."""
    return CheckResult(check, Status.WARN, _one_line(summary), _one_line(fix))


def fail(summary: str, fix: str, *, check: str = "") -> CheckResult:
    """Return a failure."""
    return CheckResult(check, Status.FAIL, _one_line(summary), _one_line(fix))


def skipped(summary: str, *, check: str = "") -> CheckResult:
    """Return the reason for a skipped check."""
    return CheckResult(check, Status.SKIPPED, _one_line(summary))


_REPORT_HINT = "report this, with the output of: pi-appliance doctor --bundle doctor.tar.gz"
Check = Callable[[DiagnosticContext], Iterator[CheckResult]]


def run_checks(context: DiagnosticContext, checks: Sequence[tuple[str, Check]]) -> Iterator[CheckResult]:
    """Yield the results of `checks`, each with the name of its check unless it has one of its own.

    An exception in a check becomes a warning.
    """
    for name, check in checks:
        try:
            for result in check(context):
                yield result if result.check else replace(result, check=name)
        except Skip as reason:
            yield skipped(str(reason), check=name)
        except Exception as error:  # noqa: BLE001 - one error must not stop the other checks
            yield warn(f"could not be checked: {type(error).__name__}: {error}", _REPORT_HINT, check=name)


def error_result(error: object, otherwise: str) -> tuple[str, str]:
    """Split `error` at its semicolon into problem and fix; the default fix is `otherwise`."""
    wrong, _, right = str(error).partition("; ")
    return wrong, right.removeprefix("run: ") or otherwise


def _one_line(text: str) -> str:
    """Join the lines of `text`, because the output of a job may have several."""
    return " ".join(text.split())
