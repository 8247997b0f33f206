"""The program `pi-appliance`: every command, imported when it is needed, and every error as one line and a status."""

import functools
import importlib
import os
import sys

import click
from click.shell_completion import get_completion_class

from pi_appliance import __version__
from pi_appliance.cli import commands
from pi_appliance.cli.commands import OperationGroup, command_of
from pi_appliance.errors import ApplianceError, ConfigError, suggest
from pi_appliance.operations import DAEMON_MODULE, MODULES, operations_in

COMMANDS = {
    "backup": ("pi_appliance.backup_cli", "Write database and state to an archive."),
    "config": ("pi_appliance.config_cli", "Check, describe and start a configuration."),
    "doctor": ("pi_appliance.diagnostics.cli", "Check the whole appliance, and say how to fix what is wrong."),
    "jobs": ("pi_appliance.jobs.cli.group", "Run, list, preview and remember jobs."),
    "music": ("pi_appliance.music.cli.group", "What plays, the queue, the library, radio, alarms."),
    "networks": ("pi_appliance.posting.cli_networks", "Where posts go, and the keys for it."),
    "notifiers": ("pi_appliance.notify.cli", "Who is notified, and what waits to be sent."),
    "puzzle": ("pi_appliance.puzzles.cli", "Solve, count, check, show and generate puzzles."),
    "qr": ("pi_appliance.qr", "Show the address of the page as a QR code."),
    "restore": ("pi_appliance.backup_cli", "Replace database and state by those of an archive."),
    "tweets": ("pi_appliance.posting.cli", "Check, preview and account for posts."),
    "up": ("pi_appliance.daemon_cli", "Run the appliance, with its scheduler, player and page."),
    "version": ("pi_appliance.cli.program", "Show the version of the program and of the running appliance."),
    "completion": ("pi_appliance.cli.program", "Print the completion script of a shell."),
}
"""The module of each command and its line in the list. A module defines `command`, or a function of the command's name;
only the one needed is imported. The operations of a feature are commands of its group besides."""


class Commands(click.Group):
    """The commands, and the operations on the daemon."""

    @functools.cached_property
    def _daemon_commands(self) -> dict[str, click.Command]:
        return {each.command: command_of(each) for each in operations_in(DAEMON_MODULE) if each.command}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*COMMANDS, *self._daemon_commands])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command, None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return self._daemon_commands.get(cmd_name)
        module, about = COMMANDS[cmd_name]
        if any(operation.command for operation in operations_in(*MODULES.get(cmd_name, ()))):
            return OperationGroup(cmd_name, about, MODULES[cmd_name], module)
        loaded = importlib.import_module(module)
        command: click.Command = getattr(loaded, cmd_name, None) or loaded.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by their lines above: importing them all would load the whole appliance."""
        lines = {name: about for name, (_, about) in COMMANDS.items()}
        lines |= {name: command.short_help or "" for name, command in self._daemon_commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(lines.items()))

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
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            ctx.fail(f"no command is called {args[0]!r}; {suggest(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


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
        _detach_stdout()
        sys.exit(1)


def _detach_stdout() -> None:
    """Let what was not printed yet go nowhere, or Python would stumble over it once more at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.command("version", short_help="Show the version of the program and of the running appliance.")
def version() -> None:
    """Show the version of this program, and of the appliance if another version runs.

    \b
    Exit status:
      0  always
    """
    click.echo(f"pi-appliance {__version__}")
    status = next(each for each in operations_in(DAEMON_MODULE) if each.command == "status")
    try:
        running = commands.run_operation(status, {}, None)
    except ApplianceError:
        return
    if isinstance(running, dict) and running["version"] != __version__:
        click.echo(f"running: {running['version']}; restart it to use this version")


@click.command("completion", short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    For bash, add this line to ~/.bashrc:  eval "$(pi-appliance completion bash)"

    \b
    Exit status:
      0  it was printed
      2  the shell is not known
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "pi-appliance", "_PI_APPLIANCE_COMPLETE").source())
