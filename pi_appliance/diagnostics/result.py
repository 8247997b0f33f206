"""What a look at the machine found: one line of the doctor's checklist."""

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
    """What CHECK found, in one line; `fix` is the command, or the words, that put it right."""

    check: str
    status: Status
    summary: str
    fix: str = ""


def ok(check: str, found: str) -> CheckResult:
    """Return that all is well."""
    return CheckResult(check, Status.OK, _line(found))


def warn(check: str, found: str, fix: str) -> CheckResult:
    """Return what works, but will not always."""
    return CheckResult(check, Status.WARN, _line(found), _line(fix))


def fail(check: str, found: str, fix: str) -> CheckResult:
    """Return what does not work."""
    return CheckResult(check, Status.FAIL, _line(found), _line(fix))


def skipped(check: str, found: str) -> CheckResult:
    """Return why there is nothing to look at."""
    return CheckResult(check, Status.SKIPPED, _line(found))


def error_result(error: object, otherwise: str) -> tuple[str, str]:
    """Return what is wrong and what mends it, which our errors keep apart by a semicolon; else OTHERWISE."""
    wrong, _, right = str(error).partition("; ")
    return wrong, right.removeprefix("run: ") or otherwise


def _line(text: str) -> str:
    """Return TEXT in one line: what a job said last may have more."""
    return " ".join(text.split())
