"""Everything that can go wrong, as the owner sees it.

ApplianceError             exit 1
├── ConfigError            exit 2    every problem: file:line:column, what is wrong, what would be right
│   ├── NoConfig           exit 2    there is no file at all
│   └── WrongArgument      exit 2    what one run is asked to do is nothing that its job does
├── UnknownName            exit 2    with the nearest known name
├── Unavailable            exit 75   not reached, certainly not done: may be tried again
├── Uncertain              exit 1    sent, no answer: perhaps done, never tried again blindly
├── Refused                exit 1    answered no: not tried again, told to the owner
│   └── Duplicate          exit 1    answered no, because it is there already
└── DeadlineExceeded       exit 1    a deadline passed
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_FEW = 30  # names in one line
_MANY = 50  # problems; whoever mends that many looks again
_LONG = 300  # characters; what is wrong may quote a word of a file that has no end


class ApplianceError(Exception):
    """Base of all errors that a person may see: one line, what happened, where, what to do."""

    exit_status = 1


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong in a file. Lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """Return file:line:column: what is wrong; what would be right."""
        wrong = (
            self.message
            if len(self.message) <= _LONG
            else f"{self.message[: _LONG // 2]}…{self.message[-_LONG // 2 :]}"
        )
        return f"{self.file}:{self.line}:{self.column}: {wrong}" + (f"; {self.hint}" if self.hint else "")


class ConfigError(ApplianceError):
    """Files that cannot be used as they are; carries every problem found, in the order of the file."""

    exit_status = 2

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        more = len(self.problems) - _MANY
        rest = [f"{self.problems[0].file}: and {more:,} more"] if more > 0 else []
        super().__init__("\n".join([*map(str, self.problems[:_MANY]), *rest]))


class ConfigNotFound(ConfigError):
    """There is no configuration in any of the places where one is looked for."""

    def __init__(self, message: str) -> None:
        super().__init__(())
        self.args = (message,)


class InvalidOption(ConfigError):
    """What one run is asked to do is nothing that its job does: a key or a value is wrong."""

    def __init__(self, message: str) -> None:
        super().__init__(())
        self.args = (message,)


class UnknownName(ApplianceError):
    """A name that nothing bears, with the nearest that something does, or with RIGHT where nearness means nothing."""

    exit_status = 2

    def __init__(self, what: str, name: str, known: Sequence[str], right: str = "") -> None:
        self.what, self.name, self.known = what, name, tuple(known)
        super().__init__(f"no {what} is called {name!r}; {right or suggest(name, known)}")


class Unavailable(ApplianceError):
    """Not reached, so certainly not done: may be tried again. `after` seconds, where the other side said so."""

    exit_status = 75

    def __init__(self, message: str, *, after: float | None = None) -> None:
        self.retry_after = after
        super().__init__(message)


class Uncertain(ApplianceError):
    """Sent, but no answer came: perhaps done. Never tried again blindly."""


class Refused(ApplianceError):
    """The other side answered no. Trying again would not help; the owner must do something."""


class Duplicate(Refused):
    """The other side has it already: from an earlier try, or from somebody else."""


class DeadlineExceeded(ApplianceError):
    """A deadline passed."""


def suggest(name: str, known: Sequence[str]) -> str:
    """Return 'did you mean …?' where a known name is close, whatever its capitals, else the list of known names."""
    folded = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    names = sorted(known)
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"known: {', '.join(names[:_FEW])}{more}" if names else "there are none yet"
