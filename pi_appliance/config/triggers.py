"""The data classes of `triggers:` of a job and of `mqtt:`."""

import re
from dataclasses import dataclass
from typing import Annotated

_Issues = list[tuple[tuple[str | int, ...], str, str]]
_SECRET = re.compile(r"[A-Z][A-Z0-9_]{2,60}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """What starts a job besides its schedule."""

    webhook: Annotated[
        str, "a name in secrets.env, such as DOOR_HOOK; a POST to /hooks/NAME with its value starts the job"
    ] = ""

    @property
    def any(self) -> bool:
        """Whether one of them is used."""
        return bool(self.webhook)

    def describe(self) -> str:
        """Return what starts the job, to be read after "It runs"."""
        parts = ["when its webhook is called"] if self.webhook else []
        return ", and ".join(parts)

    def check(self) -> _Issues:
        """Return the problems of the values."""
        problems: _Issues = []
        if self.webhook and not _SECRET.fullmatch(self.webhook):
            right = "write a name such as DOORBELL_HOOK here, and DOORBELL_HOOK=… into secrets.env"
            # The value is not shown: it may be the secret itself.
            problems.append((("webhook",), "this is not the name of a secret", right))
        return problems
