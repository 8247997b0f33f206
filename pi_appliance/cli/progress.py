"""A progress line on a terminal."""

import shutil
import sys

import click

_BAR = 24


class ProgressLine:
    """A progress bar on stderr, redrawn in place. It prints nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        self._watched = sys.stderr is not None and sys.stderr.isatty()  # None: closed before we began
        self._drawn = False
        self.note = ""
        """The newest text, also if it is not printed."""

    def show(self, done: float | None, note: str) -> None:
        """Draw the fraction `done`, 0 to 1, or None if it is not known, and the text `note`."""
        self.note = note
        if not self._watched:
            return
        filled = round(_BAR * min(1.0, done or 0.0))
        bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] {done:4.0%} " if done is not None else ""
        line = f"{bar}{note}"[: shutil.get_terminal_size().columns - 1]
        self._drawn = True  # first, as Ctrl-C may come while it is drawn
        click.echo(f"\r\x1b[K{line}", err=True, nl=False)

    def clear(self) -> None:
        """Clear the line."""
        if self._drawn:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._drawn = False
