"""The program `pi-appliance`: all commands, imported when needed, errors and exit statuses.

Commands that are operations are built from their definition: arguments, help, and the text or JSON
that they print.
"""

import functools
import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from pi_appliance import __version__
from pi_appliance.cli import client
from pi_appliance.errors import ApplianceError, ConfigError, InvalidOption, suggest
from pi_appliance.operations import DAEMON_MODULE, MODULES, Argument, Operation, Values, load_function, operations_in

COMMANDS = {
    "backup": ("pi_appliance.backup_cli", "Write database and state to an archive."),
    "config": ("pi_appliance.config_cli", "Check, describe and start a configuration."),
    "doctor": ("pi_appliance.diagnostics.cli", "Check the whole appliance, and show how to fix problems."),
    "jobs": ("pi_appliance.jobs.cli", "Run, list, preview and pause jobs."),
    "music": ("pi_appliance.music.cli", "Player, queue, library, radio and alarms."),
    "networks": ("pi_appliance.posting.cli", "List, check and log in to social networks."),
    "notifiers": ("pi_appliance.notify.cli", "List and test notifiers, and send a message."),
    "puzzle": ("pi_appliance.puzzles.cli", "Solve, count, check, show and generate puzzles."),
    "qr": ("pi_appliance.qr", "Show the address of the page as a QR code."),
    "restore": ("pi_appliance.backup_cli", "Replace database and state by those of an archive."),
    "tweets": ("pi_appliance.posting.cli", "Check, preview and list posts."),
    "up": ("pi_appliance.daemon_cli", "Run the appliance: scheduler, player and page."),
    "version": ("pi_appliance.cli.program", "Show the version of the program and of the running appliance."),
    "completion": ("pi_appliance.cli.program", "Print the completion script of a shell."),
}
"""The module of each command and its line in the list of commands.

A module defines `command`, or a function with the name of the command. Operations are further
commands of its group.
"""
_PAGE = 2000  # items of a long list that are requested at a time
EXIT_STATUSES = """
\b
Exit status:
  0   done
  1   refused, or it is not known whether it was done
  2   wrong use, an unknown name, or an invalid configuration
  75  the appliance or the player is not reached
"""


class UsageProblem(click.ClickException):
    """Wrong use of a command, reported in one line without the usage."""

    exit_code = 2

    def __init__(self, error: click.UsageError) -> None:
        super().__init__(" ".join(error.format_message().split()))  # click writes one line for each choice
        self._command = error.ctx.command_path if error.ctx else "pi-appliance"

    def show(self, file: Any = None) -> None:
        """Print the error."""
        click.echo(f"{self._command}: {self.message}", file=file, err=True)


class _SuggestingGroup(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"no command is called {args[0]!r}; {suggest(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


class _OperationCommands(_SuggestingGroup):
    """Commands that are operations, and those of a click group, imported only when needed."""

    def operation_commands(self) -> Mapping[str, click.Command]:
        """Return the commands that are operations."""
        return self.commands

    def load_others(self) -> click.Group | None:
        """Import the click group with the further commands."""
        return None

    def list_commands(self, ctx: click.Context) -> list[str]:
        others = self.load_others()
        return list(dict.fromkeys([*self.operation_commands(), *(others.list_commands(ctx) if others else ())]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        own = self.operation_commands().get(cmd_name)
        if own is not None:
            return own
        others = self.load_others()
        return others.get_command(ctx, cmd_name) if others else None


class OperationGroup(_OperationCommands):
    """The group of a feature: the operations of `modules`, and the click commands in `more`."""

    def __init__(self, name: str, help: str, modules: Sequence[str], more: str = "") -> None:  # noqa: A002 - click's
        super().__init__(name, help=help, short_help=help)
        self._modules, self._more = modules, more
        self._built: dict[str, click.Command] | None = None

    def operation_commands(self) -> Mapping[str, click.Command]:
        """Build the commands from `modules` once."""
        if self._built is None:
            self._built = {}
            for operation in operations_in(*self._modules):
                words = operation.command.split()
                if words[:1] == [self.name]:
                    self._add_operation(self._built, words[1:], operation)
        return self._built

    def load_others(self) -> click.Group | None:
        """Import the click group of the feature."""
        module = importlib.import_module(self._more) if self._more else None
        group: click.Group | None = getattr(module, self.name or "", None) or getattr(module, "command", None)
        return group

    def _add_operation(
        self, commands: MutableMapping[str, click.Command], words: Sequence[str], operation: Operation
    ) -> None:
        """Add the command of `operation`, in a subgroup if `words` are several."""
        if len(words) == 1:
            commands[words[0]] = command_of(operation)
            return
        group = commands.get(words[0])
        if not isinstance(group, _SubGroup):
            group = commands[words[0]] = _SubGroup(words[0], self.load_others)
        self._add_operation(group.commands, words[1:], operation)

    def invoke(self, ctx: click.Context) -> Any:
        """Report wrong use in one line."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise UsageProblem(error) from None


class _SubGroup(_OperationCommands):
    """A subgroup of operations, with the commands of the click subgroup of that name.

    It runs `list` by default.
    """

    def __init__(self, name: str, load_parent: Callable[[], click.Group | None]) -> None:
        super().__init__(name, help=f"Commands about {name}.")
        self._load_parent = load_parent

    def load_others(self) -> click.Group | None:
        group = self._load_parent()
        same = group.get_command(click.Context(group), self.name or "") if group else None
        return same if isinstance(same, click.Group) else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "list" in self.commands and (not args or (args[0][0] == "-" and args[0] not in ctx.help_option_names)):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def command_of(operation: Operation) -> click.Command:
    """Return the click command of `operation`."""

    def run_command(config: str | None, as_json: bool, all_pages: bool = False, **words: Any) -> None:
        names = {argument.name.replace("-", "_"): argument.name for argument in operation.arguments}
        values = operation.parse({names[name]: value for name, value in words.items() if value not in (None, ())})
        fetch = _fetch_all_pages if all_pages else client.run_operation
        result = fetch(operation, values, client.select_config(config))
        show: Callable[..., str | None] = load_function(operation.show) if operation.show else plain_text
        if text := json.dumps(result) if as_json else show(result, values):
            click.echo(text)
        if operation.exit_status:
            raise SystemExit(load_function(operation.exit_status)(result))

    config_help = (
        "Address the appliance with this configuration. Default: $PI_APPLIANCE_CONFIG, else the running appliance, "
        "else appliance.yaml in config/, here, or /etc/pi-appliance/."
    )
    parameters = [
        *map(_parameter, operation.arguments),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON, for programs."),
        click.Option(["-c", "--config"], metavar="FILE", help=config_help),
    ]
    if {"start", "count"} <= {argument.name for argument in operation.arguments}:
        parameters.append(click.Option(["--all", "all_pages"], is_flag=True, help="Print the list to its end."))
    words = "".join(f"  {each.name.upper():<10} {each.help}\n" for each in operation.arguments if each.positional)
    arguments = f"\n\b\nArguments:\n{words}" if words else ""
    return click.Command(
        operation.command.split()[-1],
        callback=run_command,
        params=parameters,
        help=f"{operation.summary}\n\n{operation.details}\n{arguments}{EXIT_STATUSES}",
        short_help=operation.summary,
        # -10 is a number
        context_settings={"ignore_unknown_options": any(each.positional for each in operation.arguments)},
    )


def _fetch_all_pages(operation: Operation, values: Values, config: str | None) -> object:
    values = {**values, "count": _PAGE}
    result: Any = client.run_operation(operation, values, config)
    while isinstance(result, dict) and result["more"]:
        next_start = values["start"] + len(result["items"])
        page: Any = client.run_operation(operation, {**values, "start": next_start}, config)
        result["items"] += page["items"]
        result["more"] = page["more"] and bool(page["items"])
    return result


def _parameter(argument: Argument) -> click.Parameter:
    kind = _ArgumentType(argument)
    if argument.positional:
        return click.Argument(
            [argument.name.replace("-", "_")],
            required=argument.required,
            type=kind,
            metavar=argument.name.upper() if argument.required else f"[{argument.name.upper()}]",
            nargs=-1 if argument.many else 1,
        )
    name = f"--{argument.name.replace('_', '-')}"
    if argument.schema.get("type") == "boolean":
        declaration = f"{name}/--no-{name[2:]}"
        return click.Option([declaration], help=argument.help, default=None, required=argument.required)
    return click.Option(
        [name],
        help=argument.help,
        type=kind,
        default=None,
        required=argument.required,
        multiple=argument.many,
        metavar=argument.name.upper(),
    )


class _ArgumentType(click.ParamType[Any]):
    """The click type of an argument. It checks a value as the API does, with the same message."""

    def __init__(self, argument: Argument) -> None:
        self._argument, self.name = argument, argument.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the checked value unchanged, because the operation parses it."""
        del param
        item = [value] if self._argument.many else value
        try:
            self._argument.value_of({self._argument.name: item})
        except InvalidOption as error:
            raise click.UsageError(str(error), ctx) from None
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the values that a shell offers for `incomplete`."""
        del ctx, param
        try:
            values = load_function(self._argument.complete)(incomplete) if self._argument.complete else ()
        except ApplianceError:
            return []
        return [CompletionItem(value) for value in values]


def plain_text(result: object, _: object = None) -> str:
    """Format `result` for a terminal: a list of objects as a table, an object as its fields."""
    if isinstance(result, list) and result and all(isinstance(row, dict) for row in result):
        from pi_appliance.cli.terminal import format_table  # noqa: PLC0415 - its imports take as long as the command

        columns = [name for name, value in result[0].items() if not isinstance(value, (dict, list))]
        head = [name.upper().replace("_", " ") for name in columns]
        return format_table(head, ([_cell_text(row.get(name)) for name in columns] for row in result))
    if isinstance(result, dict):
        return "\n".join(f"{name.replace('_', ' ')}: {_cell_text(value)}" for name, value in result.items())
    return "" if result in (None, [], {}) else str(result)


def _cell_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return "-" if value is None or value == "" else str(value)


class Commands(_SuggestingGroup):
    """All commands of the program, and the operations on the daemon."""

    @functools.cached_property
    def _daemon_commands(self) -> dict[str, click.Command]:
        return {each.command: command_of(each) for each in operations_in(DAEMON_MODULE) if each.command}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted([*COMMANDS, *self._daemon_commands])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command, or None if it is unknown."""
        if cmd_name not in COMMANDS:
            return self._daemon_commands.get(cmd_name)
        module, summary = COMMANDS[cmd_name]
        if any(operation.command for operation in operations_in(*MODULES.get(cmd_name, ()))):
            return OperationGroup(cmd_name, summary, MODULES[cmd_name], module)
        loaded = importlib.import_module(module)
        command: click.Command = getattr(loaded, cmd_name, None) or loaded.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by their lines above, because importing all modules is slow."""
        lines = {name: summary for name, (_, summary) in COMMANDS.items()}
        lines |= {name: command.short_help or "" for name, command in self._daemon_commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl(sorted(lines.items()))

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
    except ConfigError as error:
        # file:line:column first, so that an editor can jump there
        click.echo(str(error) if error.problems else f"pi-appliance: {error}", err=True)
        sys.exit(error.exit_status)
    except ApplianceError as error:
        click.echo(f"pi-appliance: {error}", err=True)
        sys.exit(error.exit_status)
    except OSError as error:  # the output cannot be written, or a file cannot be used
        where = f"{error.filename}: " if error.filename else ""
        fix = "check its name" if isinstance(error, FileNotFoundError) else "check the rights, and the free space"
        click.echo(f"pi-appliance: {where}{error.strerror}; {fix}", err=True)
        _detach_stdout()
        sys.exit(1)


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
