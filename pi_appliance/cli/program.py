"""The program `pi-appliance`: its commands, most of which are operations, and errors in one line.

The exit status of each error is in `errors.py`. Each command imports what it needs, so `--help` and
wrong words are answered fast.
"""

import importlib
import os
import sys
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import click
from click.shell_completion import CompletionItem, get_completion_class

from pi_appliance import __version__

if TYPE_CHECKING:
    from pi_appliance.operations import Argument, Operation, Values

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
    "qr": ("pi_appliance.qr_cli", "Show the address of the page as a QR code."),
    "reload": ("pi_appliance.daemon_operations", "Read the configuration again."),
    "restore": ("pi_appliance.backup_cli", "Replace database and state by those of an archive."),
    "status": ("pi_appliance.daemon_operations", "Show the state of the appliance."),
    "system": ("pi_appliance.wifi.cli", "Show the machine and its Wi-Fi; restart and shut it down."),
    "tweets": ("pi_appliance.posting.cli", "Check, preview and list posts."),
    "up": ("pi_appliance.daemon", "Run the appliance: scheduler, player and page."),
    "update": ("pi_appliance.maintenance.update_install", "Install a newer release, or return to the previous one."),
    "version": ("pi_appliance.cli.program", "Show the version of the program and of the running appliance."),
    "completion": ("pi_appliance.cli.program", "Print the completion script of a shell."),
}
"""The module of each command and its line in the list of commands.

A module defines `command`, a function with the name of the command, or an operation. Operations
are further commands of its group.
"""

EXIT_STATUSES = """
\b
Exit status:
  0   done
  1   refused, or it is not known whether it was done
  2   wrong use, an unknown name, or an invalid configuration
  75  the appliance or the player is not reached
"""
_PAGE = 2000  # items that one request fetches of a long list


class SuggestingGroup(click.Group):
    """A command group that answers an unknown command with the most similar known one."""

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
        return load_command(cmd_name, *COMMANDS[cmd_name]) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their lines in `COMMANDS`: importing all modules is slow."""
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
    """Turn this machine into an appliance: jobs, posts, music and puzzles from one YAML file.

    With -c FILE after its name, a command uses another configuration.
    """


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
    from pi_appliance.cli.client import find_version_conflict, visible
    from pi_appliance.errors import ApplianceError, ConfigError

    if isinstance(error, (ImportError, SyntaxError)):
        error = ApplianceError(
            f"a module cannot be loaded: {error}; this installation is damaged or incomplete: install it again"
        )
    if not isinstance(error, ApplianceError):
        conflict = find_version_conflict()
        if conflict is None:
            raise error
        error = conflict
    # If the error has places, the line begins with one, so that an editor can jump there.
    has_places = isinstance(error, ConfigError) and error.problems
    click.echo(visible(str(error) if has_places else f"pi-appliance: {error}"), err=True)
    return error.exit_status


def _detach_stdout() -> None:
    """Discard buffered output, which Python would try to write again at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Commands that are operations


def load_command(name: str, module: str, summary: str) -> click.Command:
    """Return the command `name`, with the operations of its group.

    Args:
        name: The first word of the command.
        module: Defines `command`, a function called `name`, or the operation.
        summary: Its line in the list of commands.
    """
    from pi_appliance.operations import DAEMON_MODULE, MODULES, operations_in

    if any(operation.command for operation in operations_in(*MODULES.get(name, ()))):
        return OperationGroup(name, summary, MODULES[name], module)
    for operation in operations_in(DAEMON_MODULE):
        if operation.command == name:
            return command_of(operation)
    loaded = importlib.import_module(module)
    command: click.Command = getattr(loaded, name, None) or loaded.command
    return command


class UsageProblem(click.ClickException):
    """Wrong use of a command, reported in one line without click's usage text."""

    exit_code = 2

    def __init__(self, error: click.UsageError) -> None:
        super().__init__(" ".join(error.format_message().split()))  # in one line; click writes a line for each choice
        self._command = error.ctx.command_path if error.ctx else "pi-appliance"

    def show(self, file: Any = None) -> None:
        """Print the error."""
        from pi_appliance.cli.client import visible

        click.echo(visible(f"{self._command}: {self.message}"), file=file, err=True)


class _OperationCommands(SuggestingGroup):
    """A group of operations and commands of a click group, each imported only when needed."""

    def operation_commands(self) -> Mapping[str, click.Command]:
        """Return the commands that are operations."""
        return self.commands

    def load_others(self) -> click.Group | None:
        """Import the click group that has the commands beyond the operations."""
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
        from pi_appliance.operations import operations_in

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
        self, commands: MutableMapping[str, click.Command], words: Sequence[str], operation: "Operation"
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
        """Report a wrong use of the command in one line."""
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


def command_of(operation: "Operation") -> click.Command:
    """Return the click command of `operation`."""

    def run_command(config: str | None, as_json: bool, all_pages: bool = False, **words: Any) -> None:
        import json

        from pi_appliance.cli.client import run_operation, select_config, visible
        from pi_appliance.operations import load_function

        names = {argument.name.replace("-", "_"): argument.name for argument in operation.arguments}
        values = operation.parse({names[name]: value for name, value in words.items() if value not in (None, ())})
        fetch = fetch_all_pages if all_pages else run_operation
        result = fetch(operation, values, select_config(config))
        if text := json.dumps(result) if as_json else _text_of(operation, result, values):
            click.echo(text if as_json else visible(text))
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
        # An argument such as -10 is a number, not an option.
        context_settings={"ignore_unknown_options": any(each.positional for each in operation.arguments)},
    )


def _parameter(argument: "Argument") -> click.Parameter:
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

    def __init__(self, argument: "Argument") -> None:
        self._argument, self.name = argument, argument.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the checked value unchanged, because the operation parses it."""
        del param
        item = [value] if self._argument.many else value
        from pi_appliance.errors import InvalidOption

        try:
            self._argument.value_of({self._argument.name: item})
        except InvalidOption as error:
            raise click.UsageError(str(error), ctx) from None
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the values that a shell offers for `incomplete`."""
        from pi_appliance.errors import ApplianceError
        from pi_appliance.operations import load_function

        del ctx, param
        try:
            values = load_function(self._argument.complete)(incomplete) if self._argument.complete else ()
        except ApplianceError:
            return []
        return [CompletionItem(value) for value in values]


def _text_of(operation: "Operation", result: Any, values: "Values") -> str | None:
    from pi_appliance.cli.client import plain_text, printable
    from pi_appliance.operations import load_function

    if operation.done:
        named = {**values, **(result if isinstance(result, dict) else {})}
        return operation.done.format_map({name: printable(str(value)) for name, value in named.items()})
    show: Callable[..., str | None] = load_function(operation.show) if operation.show else plain_text
    return show(result, values)


def fetch_all_pages(operation: "Operation", values: "Values", config: str | None) -> object:
    """Return the result of `operation` with all items of its list, requested page by page."""
    from pi_appliance.cli.client import run_operation

    values = {**values, "count": _PAGE}
    result: Any = run_operation(operation, values, config)
    while isinstance(result, dict) and result["more"]:
        next_start = values["start"] + len(result["items"])
        page: Any = run_operation(operation, {**values, "start": next_start}, config)
        result["items"] += page["items"]
        result["more"] = page["more"] and bool(page["items"])
    return result


# Commands of the program itself


class VersionJson(TypedDict):
    """The version of this program, and that of the running appliance, or null."""

    version: str
    running: str | None


@click.command("version", short_help="Show the version of the program and of the running appliance.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def version(as_json: bool) -> None:
    """Show the version of this program, and of the appliance if another version runs.

    \b
    Exit status:
      0  always
    """
    from pi_appliance.cli import client
    from pi_appliance.errors import ApplianceError

    try:
        status = client.daemon_status()
    except ApplianceError:
        status = None
    result: VersionJson = {"version": __version__, "running": str(status["version"]) if status else None}
    text = f"pi-appliance {__version__}\n"
    if result["running"] not in (None, __version__):
        text += f"running: {result['running']}; restart it to use this version\n"
    client.show_result(result, text, as_json=as_json)


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
