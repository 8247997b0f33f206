"""Notice 'command': any program, such as a mailer; the text comes on its standard input."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pi_appliance.config.notifications import Event, Message
from pi_appliance.errors import Refused, Unavailable

_LONGEST = 25.0  # seconds it may take
_TITLE = "{title}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys a notice of this kind takes under `with:`."""

    run: Annotated[
        list[str],
        "the program and its arguments, as a list; {title} stands for the first line, the text comes on stdin",
    ]

    def check(self) -> list[tuple[tuple[str | int, ...], str, str]]:
        """Return what is wrong with a key: where, what, and what would be right."""
        if not self.run or not self.run[0]:
            return [(("run",), "no program is named", 'write run: [mail, -s, "{title}", me@example.org]')]
        return []

    def names(self) -> tuple[str, ...]:
        """Return the names of the secrets that are wanted: none."""
        return ()

    def __str__(self) -> str:
        """Return where to: the program, without its arguments."""
        return f"{self.run[0]} …" if self.run[1:] else self.run[0]


def missing_secrets(options: Options, secrets: Mapping[str, str]) -> str:  # noqa: ARG001 - the shape of all notices
    """Return which secrets are missing: none is wanted."""
    return ""


def connect(options: Options, secrets: Mapping[str, str]) -> "Sender":
    """Return what sends; the program sees none of SECRETS."""
    return Sender(options.run, {name: value for name, value in os.environ.items() if name not in secrets})


class Sender:
    """One program."""

    def __init__(self, argv: list[str], environment: Mapping[str, str]) -> None:
        self._argv, self._environment = argv, environment

    def send(self, message: Message, event: Event) -> None:  # noqa: ARG002 - the shape of all notices
        """Run the program on MESSAGE. Raises Unavailable if it does not end, Refused if it cannot or ends badly."""
        program = self._argv[0]
        try:
            ended = subprocess.run(
                [word.replace(_TITLE, message.title) for word in self._argv],
                input=f"{message.title}\n\n{message.body}\n".encode(),
                cwd="/",
                env=self._environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"{program} took longer than {_LONGEST:.0f}s") from None
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "an argument that no program can take"
            raise Refused(f"{program} cannot be run: {why}") from None
        if ended.returncode:
            raise Refused(f"{program} ended with status {ended.returncode}")
