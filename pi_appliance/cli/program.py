"""The program `pi-appliance`: the list of commands, and errors in one line.

The exit status of each error is in `errors.py`. Each command imports what it needs, so `--help` and
wrong words are answered fast.
"""

import os
import sys

import click
from click.shell_completion import get_completion_class

from pi_appliance import __version__

COMMANDS = {
    "backup": ("pi_appliance.backup_cli", "Write database and state to an archive."),
    "cluster": ("pi_appliance.cluster_cli", "Let several machines work on the same puzzle."),
    "config": ("pi_appliance.config_cli", "Check, describe and start a configuration."),
    "devices": ("pi_appliance.access.operations", "List, invite and sign out devices."),
    "doctor": ("pi_appliance.diagnostics.cli", "Check the whole appliance, and show how to fix problems."),
    "jobs": ("pi_appliance.jobs.cli", "Run, list, preview and pause jobs."),
    "logs": ("pi_appliance.daemon_operations", "Print the newest messages of the daemon."),
    "music": ("pi_appliance.music.cli", "Player, queue, library, radio and alarms."),
    "networks": ("pi_appliance.posting.cli", "List, check and log in to social networks."),
    "notifiers": ("pi_appliance.notify.cli", "List and test notifiers, and send a message."),
    "password": ("pi_appliance.access.cli", "Change the password of the page."),
    "puzzle": ("pi_appliance.puzzles.cli", "Solve, count, check, show and generate puzzles."),
    "qr": ("pi_appliance.qr", "Show the address of the page as a QR code."),
    "reload": ("pi_appliance.daemon_operations", "Read the configuration again."),
    "restore": ("pi_appliance.backup_cli", "Replace database and state by those of an archive."),
    "status": ("pi_appliance.daemon_operations", "Show the state of the appliance."),
    "system": ("pi_appliance.wifi.cli", "Show the machine and its Wi-Fi; restart and shut it down."),
    "tweets": ("pi_appliance.posting.cli", "Check, preview and list posts."),
    "up": ("pi_appliance.daemon", "Run the appliance: scheduler, player and page."),
    "update": ("pi_appliance.update_cli", "Install a newer release, or return to the previous one."),
    "version": ("pi_appliance.cli.program", "Show the version of the program and of the running appliance."),
    "completion": ("pi_appliance.cli.program", "Print the completion script of a shell."),
}
"""The module of each command and its line in the list of commands.

A module defines `command`, a function with the name of the command, or an operation. Operations
are further commands of its group.
"""


class SuggestingGroup(click.Group):
    """A group that suggests a command for an unknown word."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest a command for an unknown word."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from pi_appliance.errors import suggest

            ctx.fail(f"no command is called {args[0]!r}; {suggest(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


class Commands(SuggestingGroup):
    """All commands of the program."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command, or None if it is unknown."""
        from pi_appliance.cli.client import load_command

        return load_command(cmd_name, *COMMANDS[cmd_name]) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by their lines above, because importing all modules is slow."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted((name, summary) for name, (_, summary) in COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        """Report Ctrl-C in one line, with the exit status that shells expect."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("\npi-appliance: stopped", err=True)
            ctx.exit(130)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="pi-appliance")
def cli() -> None:
    """Turn this machine into an appliance: jobs, posts, music and puzzles from one YAML file."""


def run(argv: list[str] | None = None) -> None:
    """Run one command. Expected errors become one line on stderr and an exit status."""
    try:
        cli.main(args=argv, prog_name="pi-appliance")
    except OSError as error:  # the output cannot be written, or a file cannot be used
        where = f"{error.filename}: " if error.filename else ""
        fix = "check its name" if isinstance(error, FileNotFoundError) else _write_advice(error)
        click.echo(f"pi-appliance: {where}{error.strerror}; {fix}", err=True)
        _detach_stdout()
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - every error is raised again or reported
        sys.exit(_report_error(error))


def _write_advice(error: OSError) -> str:
    from pathlib import Path

    from pi_appliance.system import files

    if isinstance(error, PermissionError) and error.filename:
        return files.access_advice(Path(os.fsdecode(error.filename)))
    return "check the rights, and the free space"


def _report_error(error: Exception) -> int:
    """Print an expected error, and return the exit status. Raises any other."""
    from pi_appliance.cli.client import visible
    from pi_appliance.errors import ApplianceError, ConfigError

    if not isinstance(error, ApplianceError):
        raise error
    # file:line:column first, so that an editor can jump there
    has_places = isinstance(error, ConfigError) and error.problems
    click.echo(visible(str(error) if has_places else f"pi-appliance: {error}"), err=True)
    return error.exit_status


def _detach_stdout() -> None:
    """Discard buffered output, which Python would try to write again at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.command("version", short_help="Show the version of the program and of the running appliance.")
def version() -> None:
    """Show the version of this program, and of the appliance if another version runs.

    \b
    Exit status:
      0  always
    """
    from pi_appliance.cli import client
    from pi_appliance.errors import ApplianceError

    click.echo(f"pi-appliance {__version__}")
    try:
        status = client.daemon_status()
    except ApplianceError:
        return
    if status is not None and status["version"] != __version__:
        click.echo(f"running: {status['version']}; restart it to use this version")


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
