"""The errors that the owner sees.

ApplianceError             exit 1
├── ConfigError            exit 2    every problem: file:line:column, message, hint
│   ├── ConfigNotFound     exit 2    there is no configuration file
│   └── InvalidOption      exit 2    an option of a run that its job does not accept
├── UnknownName            exit 2    with the closest known name
├── Unavailable            exit 75   not reached, certainly not done: can be retried
├── Uncertain              exit 1    sent, no answer: perhaps done, never retried blindly
├── Refused                exit 1    rejected: not retried, reported to the owner
│   ├── Duplicate          exit 1    rejected, because it exists already
│   └── AccountBlocked     exit 1    rejected, because of the account and not of the text
└── DeadlineExceeded       exit 1    a time limit passed
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MAX_NAMES = 30  # names in one line
_MAX_PROBLEMS = 50  # problems in one message
_MAX_MESSAGE = 300  # characters; a message may quote a long value of the file


class ApplianceError(Exception):
    """Base of all errors for the owner: what happened, where, and how to fix it."""

    exit_status = 1


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A problem in a file. Lines and columns count from 1; 0 stands for the whole file."""

    file: str
    line: int
    column: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """Return `file:line:column: message; hint`."""
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        text, half = self.message, _MAX_MESSAGE // 2
        text = text if len(text) <= _MAX_MESSAGE else f"{text[:half]}…{text[-half:]}"
        return f"{place}: {text}" + (f"; {self.hint}" if self.hint else "")


Issues = list[tuple[tuple[str | int, ...], str, str]]
"""Problems of values in a section: the path of the key, the problem, and its correction."""


class ConfigError(ApplianceError):
    """The problems of one or more files: `problems` has all of them, in the order of the file."""

    exit_status = 2

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        more = len(self.problems) - _MAX_PROBLEMS
        rest = [f"{self.problems[0].file}: and {more:,} more"] if more > 0 else []
        super().__init__("\n".join([*map(str, self.problems[:_MAX_PROBLEMS]), *rest]))


class ConfigNotFound(ConfigError):
    """There is no configuration in any of the standard places."""

    def __init__(self, message: str) -> None:
        super().__init__(())
        self.args = (message,)


class InvalidOption(ConfigError):
    """An option for one run has an unknown key or an invalid value."""

    def __init__(self, message: str) -> None:
        super().__init__(())
        self.args = (message,)


class UnknownName(ApplianceError):
    """An unknown name. The message has the closest known name, or `right` instead."""

    exit_status = 2

    def __init__(self, label: str, name: str, known: Sequence[str], right: str = "") -> None:
        self.label, self.name, self.known = label, name, tuple(known)
        super().__init__(f"no {label} is called {name!r}; {right or suggest(name, known)}")


class Unavailable(ApplianceError):
    """Not reached, so certainly not done.

    `retry_after` is the number of seconds to wait, if the other side gave one.
    """

    exit_status = 75

    def __init__(self, message: str, *, after: float | None = None) -> None:
        self.retry_after = after
        super().__init__(message)


class Uncertain(ApplianceError):
    """Sent, but there was no answer: perhaps done. Never retried blindly."""


class Refused(ApplianceError):
    """Rejected by the other side. A retry would not help; the owner must act."""


class Duplicate(Refused):
    """Rejected because it exists already, from an earlier attempt or from someone else."""


class AccountBlocked(Refused):
    """Rejected because of the account, its keys or its credit.

    Any other text would be rejected, too.
    """


class DeadlineExceeded(ApplianceError):
    """A time limit passed."""


def suggest(name: str, known: Sequence[str]) -> str:
    """Return 'did you mean …?' if a known name is close, ignoring case, else the known names."""
    import difflib  # noqa: PLC0415 - few commands end with an unknown name

    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    names = sorted(known)
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return f"known: {', '.join(names[:_MAX_NAMES])}{more}" if names else "there are none yet"
