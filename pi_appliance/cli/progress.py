"""One line on a terminal that says how far something is; nothing where nobody watches."""

import shutil
import sys

import click

_BAR = 24


class ProgressLine:
    """A bar on stderr, drawn over itself. Silent unless stderr is a terminal."""

    def __init__(self) -> None:
        self._watched = sys.stderr is not None and sys.stderr.isatty()  # None: closed before we began
        self._drawn = False
        self.note = ""
        """What was shown last, also where nobody watches."""

    def show(self, done: float | None, note: str) -> None:
        """Draw DONE (0 to 1, None where nobody can tell) and NOTE."""
        self.note = note
        if not self._watched:
            return
        filled = round(_BAR * min(1.0, done or 0.0))
        bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] {done:4.0%} " if done is not None else ""
        line = f"{bar}{note}"[: shutil.get_terminal_size().columns - 1]
        self._drawn = True  # first, as Ctrl-C may come while it is drawn
        click.echo(f"\r\x1b[K{line}", err=True, nl=False)

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._drawn = False
