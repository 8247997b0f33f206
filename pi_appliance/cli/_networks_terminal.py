"""The owner at a terminal: questions on standard error, answers from the keyboard or from a pipe, one a line."""

import getpass
import sys
from collections.abc import Callable

import click


class Terminal:
    """A Talk of ports.py; ON_SECRET hears each secret answer. Raises EOFError where there are no more answers."""

    def __init__(self, on_secret: Callable[[str], None]) -> None:
        self._on_secret = on_secret

    def say(self, text: str) -> None:
        """Show TEXT."""
        click.echo(text, err=True)

    def ask(self, question: str, *, secret: bool = False) -> str:
        """Return the answer, without spaces around it. A SECRET one is not shown while it is typed."""
        prompt = f"{question} " if question.endswith("?") else f"{question.rstrip(': ')}: "
        if secret:
            answer = (getpass.getpass(prompt) if sys.stdin.isatty() else _line(prompt)).strip()
            self._on_secret(answer)
            return answer
        return _line(prompt).strip()


def _line(prompt: str) -> str:
    click.echo(prompt, nl=False, err=True)
    line = sys.stdin.readline()
    if not sys.stdin.isatty():
        click.echo(err=True)  # nobody has pressed Enter
    if not line:
        raise EOFError
    return line
