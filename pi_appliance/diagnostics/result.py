"""The result of one check, shown as one line of the doctor's checklist."""

from dataclasses import dataclass
from enum import StrEnum


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
