"""The data classes of `triggers:` of a job and of `mqtt:`."""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

from pi_appliance.config.units import Names

_Issues = list[tuple[tuple[str | int, ...], str, str]]
_SECRET = re.compile(r"[A-Z][A-Z0-9_]{2,60}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTrigger:
    """A file that appears or changes."""

    path: Annotated[Names | None, "a file, or a pattern such as /srv/inbox/*.pdf; one or a list"] = None
    debounce: Annotated[timedelta, "how long nothing may be written before the job starts"] = timedelta(seconds=2)

    def check(self) -> _Issues:
        """Return the problems of the values."""
        problems: _Issues = []
        for path in self.path or ():
            if not path.startswith(("/", "~")):
                right = "write the whole path, such as /srv/inbox/*.pdf"
                problems.append((("path",), f"{path!r} does not say in which folder it is", right))
            elif "**" in path or re.search(r"[*?\[]", path.rpartition("/")[0]):
                right = "name the folder, such as /srv/inbox/*.pdf"
                problems.append((("path",), f"{path!r} has a pattern in the name of a folder", right))
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """What starts a job besides its schedule."""

    webhook: Annotated[
        str, "a name in secrets.env, such as DOOR_HOOK; a POST to /hooks/NAME with its value starts the job"
    ] = ""
    file: Annotated[FileTrigger, "a file that was written"] = field(default_factory=FileTrigger)

    @property
    def any(self) -> bool:
        """Whether one of them is used."""
        return bool(self.events())

    def describe(self) -> str:
        """Return what starts the job, to be read after "It runs"."""
        return " and ".join(self.events().values())

    def events(self) -> dict[str, str]:
        """Return the events in words, by the key of each."""
        events = {"webhook": "when its webhook is called"} if self.webhook else {}
        if self.file.path:
            events["file"] = f"when {' or '.join(self.file.path)} was written"
        return events

    def check(self) -> _Issues:
        """Return the problems of the values."""
        problems: _Issues = []
        if self.webhook and not _SECRET.fullmatch(self.webhook):
            right = "write a name such as DOORBELL_HOOK here, and DOORBELL_HOOK=… into secrets.env"
            # The value is not shown: it may be the secret itself.
            problems.append((("webhook",), "this is not the name of a secret", right))
        return problems + [(("file", *where), wrong, right) for where, wrong, right in self.file.check()]
