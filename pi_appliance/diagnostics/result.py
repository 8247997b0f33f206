"""What a look at the machine found: one line of the doctor's checklist."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARN = "warn"  # it works, but will not always
    FAIL = "fail"  # something does not work
    NOT_HERE = "not-here"  # this machine, or this configuration, has no such thing


@dataclass(frozen=True, slots=True)
class Finding:
    """What CHECK found, in one line; `mend` is the command, or the words, that put it right."""

    check: str
    verdict: Verdict
    found: str
    mend: str = ""


def ok(check: str, found: str) -> Finding:
    """Return that all is well."""
    return Finding(check, Verdict.OK, _line(found))


def warn(check: str, found: str, mend: str) -> Finding:
    """Return what works, but will not always."""
    return Finding(check, Verdict.WARN, _line(found), _line(mend))


def fail(check: str, found: str, mend: str) -> Finding:
    """Return what does not work."""
    return Finding(check, Verdict.FAIL, _line(found), _line(mend))


def not_here(check: str, found: str) -> Finding:
    """Return why there is nothing to look at."""
    return Finding(check, Verdict.NOT_HERE, _line(found))


def told(error: object, otherwise: str) -> tuple[str, str]:
    """Return what is wrong and what mends it, which our errors keep apart by a semicolon; else OTHERWISE."""
    wrong, _, right = str(error).partition("; ")
    return wrong, right.removeprefix("run: ") or otherwise


def _line(text: str) -> str:
    """Return TEXT in one line: what a job said last may have more."""
    return " ".join(text.split())
