"""All commands: found by file name, imported when asked for, with every error turned into one line and a status."""

import os
import sys
from pathlib import Path

import click

from pi_appliance import __version__, registry
from pi_appliance.errors import ApplianceError, ConfigError, nearest


class Commands(click.Group):
    """One command (or group) a file in pi_appliance/cli; only the one asked for is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, from the names of their files."""
        return list(registry.names("cli"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command, None if there is none of that name."""
        if cmd_name not in registry.names("cli"):
            return None
        command: click.Command = registry.load("cli", cmd_name).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by the first lines of their files: importing all would load the whole appliance."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _subject(name)) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> object:
        """As click does; Ctrl-C where a command says nothing of it is one line, and the status that shells know."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("\npi-appliance: stopped", err=True)
            ctx.exit(130)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest known name where there is no such command."""
        if args and not args[0].startswith("-") and args[0] not in registry.names("cli"):
            ctx.fail(f"no command is called {args[0]!r}; {nearest(args[0], registry.names('cli'))}")
        return super().resolve_command(ctx, args)


def _subject(name: str) -> str:
    with Path(__file__).with_name(f"{name.replace('-', '_')}.py").open(encoding="utf-8") as file:
        text = file.readline().strip().strip('"').partition(": ")[2]
    return text[:1].upper() + text[1:]


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="pi-appliance")
def cli() -> None:
    """Turn this machine into an appliance: jobs, posts, music and puzzles from one YAML file."""


def run(argv: list[str] | None = None) -> None:
    """Run one command. Errors that a person may see become one line on stderr and an exit status."""
    try:
        cli.main(args=argv, prog_name="pi-appliance")
    except ConfigError as error:
        # file:line:column first, so that an editor can jump there
        click.echo(str(error) if error.problems else f"pi-appliance: {error}", err=True)
        sys.exit(error.exit_status)
    except ApplianceError as error:
        click.echo(f"pi-appliance: {error}", err=True)
        sys.exit(error.exit_status)
    except OSError as error:  # what is printed finds no room, or something here cannot be read or written
        where = f"{error.filename}: " if error.filename else ""
        todo = "check its name" if isinstance(error, FileNotFoundError) else "check the rights, and the free space"
        click.echo(f"pi-appliance: {where}{error.strerror}; {todo}", err=True)
        _leave_unsaid()
        sys.exit(1)


def _leave_unsaid() -> None:
    """Let what was not printed yet go nowhere, or Python would stumble over it once more at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
