"""Commands that are operations: arguments, help, and the text or JSON that they print."""

import importlib
import json
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from pi_appliance.cli import client
from pi_appliance.cli.program import SuggestingGroup
from pi_appliance.errors import ApplianceError, InvalidOption
from pi_appliance.operations import DAEMON_MODULE, MODULES, Argument, Operation, load_function, operations_in

EXIT_STATUSES = """
\b
Exit status:
  0   done
  1   refused, or it is not known whether it was done
  2   wrong use, an unknown name, or an invalid configuration
  75  the appliance or the player is not reached
"""


def load_command(name: str, module: str, summary: str) -> click.Command:
    """Return the command `name`, with the operations of its group.

    Args:
        name: The first word of the command.
        module: Defines `command`, a function called `name`, or the operation.
        summary: Its line in the list of commands.
    """
    if any(operation.command for operation in operations_in(*MODULES.get(name, ()))):
        return OperationGroup(name, summary, MODULES[name], module)
    for operation in operations_in(DAEMON_MODULE):
        if operation.command == name:
            return command_of(operation)
    loaded = importlib.import_module(module)
    command: click.Command = getattr(loaded, name, None) or loaded.command
    return command


class UsageProblem(click.ClickException):
    """Wrong use of a command, reported in one line without the usage."""

    exit_code = 2

    def __init__(self, error: click.UsageError) -> None:
        super().__init__(" ".join(error.format_message().split()))  # click writes one line for each choice
        self._command = error.ctx.command_path if error.ctx else "pi-appliance"

    def show(self, file: Any = None) -> None:
        """Print the error."""
        click.echo(f"{self._command}: {self.message}", file=file, err=True)


class _OperationCommands(SuggestingGroup):
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
        fetch = client.fetch_all_pages if all_pages else client.run_operation
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
