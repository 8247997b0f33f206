"""The owner at a terminal: questions on standard error, answers from the keyboard or from a pipe, one a line."""

import getpass
import sys

import click


class Terminal:
    """A Talk of ports.py. Raises EOFError where there are no more answers."""

    def say(self, text: str) -> None:
        """Show TEXT."""
        click.echo(text, err=True)

    def ask(self, question: str, *, secret: bool = False) -> str:
        """Return the answer, without spaces around it. A SECRET one is not shown while it is typed."""
        prompt = f"{question.rstrip(': ')}: " if not question.endswith("?") else f"{question} "
        if secret and sys.stdin.isatty():
            return getpass.getpass(prompt).strip()
        click.echo(prompt, nl=False, err=True)
        line = sys.stdin.readline()
        if not sys.stdin.isatty():
            click.echo(err=True)  # nobody has pressed Enter
        if not line:
            raise EOFError
        return line.strip()
