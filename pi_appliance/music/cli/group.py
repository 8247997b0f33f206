"""The group `pi-appliance music`, and what makes its commands alike: exit statuses, wrong use told in one line."""

import importlib
import inspect
from collections.abc import Callable

import click

from pi_appliance.cli.terminal import config_option

STATUSES = """

\b
Exit status:
  0   done
  1   the player refused, or nobody can know if it did it
  2   wrong use, an unknown name, or a wrong configuration
  75  the player is not reached
"""


class _Music(click.Group):
    """Its commands stand in several files. Of these, so many are loaded as it takes to find the one asked for."""

    _parts: tuple[str, ...] = ()  # modules that are not loaded yet

    def look_in(self, *parts: str) -> None:
        """Look for commands in the modules PARTS, one after the other: they add what they have."""
        self._parts = parts

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command, None if there is none of that name."""
        while cmd_name not in self.commands and self._parts:
            self._load_one()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        while self._parts:
            self._load_one()
        return super().list_commands(ctx)

    def _load_one(self) -> None:
        part, *rest = self._parts
        self._parts = tuple(rest)
        importlib.import_module(part)


class Lists(click.Group):
    """A group of commands that, without the name of one, does its `list`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the word in that was left out."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group("music", cls=_Music, short_help="What plays, and the buttons.")
def command() -> None:
    """Show what plays, press the buttons, fill the queue. Positions in lists count from 1."""


def music_command(
    name: str, short_help: str, *, group: click.Group = command, numbers: bool = False
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of GROUP of a function that takes `config`; its help ends with the exit statuses.

    NUMBERS: -10 is an argument of it, not an option.
    """

    def made(function: Callable[..., None]) -> click.Command:
        text = inspect.cleandoc(function.__doc__ or "") + STATUSES
        settings = {"ignore_unknown_options": numbers}
        return group.command(name, help=text, short_help=short_help, context_settings=settings)(config_option(function))

    return made


def music_group(name: str, text: str) -> Lists:
    """Add to the music a group of commands called NAME, of which TEXT says what it is for."""
    group = Lists(name, help=text, short_help=text)
    command.add_command(group)
    return group


command.look_in(
    *(
        f"pi_appliance.music.{part}"
        for part in (
            "cli.playback",
            "cli.queue",
            "cli.library",
            "cli.watch",
            "usb.cli",
            "alarms.cli",
        )
    )
)
