"""Notifier `command`: any program that reads the text from its standard input."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pi_appliance.errors import Issues, Refused, Unavailable
from pi_appliance.storage.model import Event, Message

_LONGEST = 25.0  # seconds that the program may take
_TITLE = "{title}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys below `with:` of the notifier."""

    run: Annotated[
        list[str],
        "the program and its arguments, as a list; {title} stands for the first line, the text comes on stdin",
    ]

    def check(self) -> Issues:
        """Return the path, the problem and the correction of each invalid key."""
        if not self.run or not self.run[0]:
            return [(("run",), "no program is named", 'write run: [mail, -s, "{title}", me@example.org]')]
        return []

    def names(self) -> tuple[str, ...]:
        """Return no names: a program gets no secrets."""
        return ()

    def __str__(self) -> str:
        return f"{self.run[0]} …" if self.run[1:] else self.run[0]


def missing_secrets(options: Options, secrets: Mapping[str, str]) -> str:  # noqa: ARG001 - the interface of all notifiers
    """Return an empty string: a program needs no secrets."""
    return ""


def connect(options: Options, secrets: Mapping[str, str]) -> "CommandNotifier":
    """Return a sender. The program gets an environment without `secrets`."""
    return CommandNotifier(options.run, {name: value for name, value in os.environ.items() if name not in secrets})


class CommandNotifier:
    """Sends messages by starting a program."""

    def __init__(self, argv: list[str], environment: Mapping[str, str]) -> None:
        self._argv, self._environment = argv, environment

    def send(self, message: Message, event: Event) -> None:  # noqa: ARG002 - the interface of all notifiers
        """Run the program with `message`.

        Raises:
            Unavailable: The program did not end in time.
            Refused: The program could not be started, or it failed.
        """
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
            reason = error.strerror if isinstance(error, OSError) else "its arguments have invalid characters"
            raise Refused(f"{program} cannot be run: {reason}") from None
        if ended.returncode:
            raise Refused(f"{program} ended with status {ended.returncode}")
