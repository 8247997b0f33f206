"""Commands that are operations, and the connection by which they are sent to the running daemon.

It uses no HTTP library: importing one takes longer than the whole command.
"""

import importlib
import json
import os
import socket
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click
from click.shell_completion import CompletionItem

from pi_appliance.cli.program import SuggestingGroup
from pi_appliance.config import find_config, nearby_config
from pi_appliance.errors import ApplianceError, InvalidOption, Refused, Unavailable, Uncertain
from pi_appliance.operations import (
    DAEMON_MODULE,
    MODULES,
    PATH_ARGUMENT,
    Argument,
    Operation,
    Values,
    load_function,
    operations_in,
)
from pi_appliance.system import runtime_socket
from pi_appliance.system.runtime_socket import DEFAULT_NAME, GROUP, JOIN_GROUP, socket_name

EXIT_STATUSES = """
\b
Exit status:
  0   done
  1   refused, or it is not known whether it was done
  2   wrong use, an unknown name, or an invalid configuration
  75  the appliance or the player is not reached
"""
_PAGE = 2000  # items of a long list that are requested at a time
START_HINT = "start it with `sudo systemctl start pi-appliance`, or `pi-appliance up` for a daemon of your own"


def connect(config: str | None = None) -> socket.socket | None:
    """Return a connection to the daemon that reads `config`, or to any daemon; None without one.

    Raises:
        Refused: A daemon listens, and this user is not in its group.
    """
    try:
        return runtime_socket.connect(socket_name(config) if config else DEFAULT_NAME)
    except PermissionError:
        if config is not None:
            return None
        raise Refused(f"only root and the group {GROUP} may use the running appliance; {JOIN_GROUP}") from None


def call_daemon(connection: socket.socket, operation: Operation, values: Mapping[str, object]) -> object:
    """Call `operation` of the daemon at the other end of `connection`, and return its result.

    Raises:
        ApplianceError: The daemon refused, or the connection broke. The type determines the exit
            status.
    """
    in_path = operation.path_arguments
    path = PATH_ARGUMENT.sub(lambda match: quote(str(values[match[1]]), safe=""), operation.path)
    arguments = {name: value for name, value in values.items() if name not in in_path and value is not None}
    body = b""
    if operation.method in ("GET", "DELETE"):
        query = {name: json.dumps(value) if isinstance(value, bool) else value for name, value in arguments.items()}
        path += f"?{urlencode(query, doseq=True)}" if query else ""
    else:
        body = json.dumps(arguments).encode()
    try:
        status, content = runtime_socket.exchange(connection, operation.method, f"/api/v1{path}", body)
    except OSError as error:
        raise Unavailable(f"the daemon cannot be reached: {error.strerror}; {START_HINT}") from None
    try:
        result: object = json.loads(content)
    except ValueError:
        raise Uncertain("the daemon ended before its answer was complete; check whether it was done") from None
    if status >= 300:
        raise _error(status, str(result.get("error", result)) if isinstance(result, dict) else str(result))
    return result


def _error(status: int, message: str) -> ApplianceError:
    match status:
        case 400 | 404 | 413 | 422:
            return InvalidOption(message)
        case 503:
            return Unavailable(message)
        case 502:
            return Uncertain(message)
    return Refused(message)


def run_operation(operation: Operation, values: Values, config: str | None) -> object:
    """Return the result of `operation`: from the running daemon, or in this process if none runs.

    Raises:
        ApplianceError: It was refused or failed, or it needs a daemon and none runs.
    """
    connection = connect(config)
    if connection is not None:
        return call_daemon(connection, operation, values)
    if operation.needs_daemon:
        raise Unavailable(f"the appliance is not running; {START_HINT}")
    # The whole appliance is imported only if no daemon runs.
    return load_function("pi_appliance.local:run_locally")(operation, values, config)


def fetch_all_pages(operation: Operation, values: Values, config: str | None) -> object:
    """Return the result of `operation` with all items of its list, requested page by page."""
    values = {**values, "count": _PAGE}
    result: Any = run_operation(operation, values, config)
    while isinstance(result, dict) and result["more"]:
        next_start = values["start"] + len(result["items"])
        page: Any = run_operation(operation, {**values, "start": next_start}, config)
        result["items"] += page["items"]
        result["more"] = page["more"] and bool(page["items"])
    return result


def daemon_status() -> Mapping[str, object] | None:
    """Return the status of the daemon that was started first, or None. Raises Refused."""
    connection = connect()
    if connection is None:
        return None
    status = next(each for each in operations_in(DAEMON_MODULE) if each.command == "status")
    try:
        result = call_daemon(connection, status, {})
    except ApplianceError:
        return None
    return result if isinstance(result, dict) else None


def select_config(path: str | None) -> str | None:
    """Return the configuration for a command, or None if it was not named and no daemon runs.

    It is `path`, else $PI_APPLIANCE_CONFIG, else that of a running daemon: the one that reads the
    file of this folder, or the one that was started first. If this is not the file of this folder,
    stderr names it.

    Raises:
        Refused: A daemon runs, and this user is not in its group.
    """
    if path or os.environ.get("PI_APPLIANCE_CONFIG"):
        return path or os.environ["PI_APPLIANCE_CONFIG"]
    nearby = nearby_config()
    if nearby is not None and (connection := connect(str(nearby))):
        connection.close()
        return str(nearby)
    status = daemon_status()
    if status is None:
        return None
    config = str(status["config"])
    click.echo(f"configuration of the running appliance: {config}", err=True)
    return config


def find_addressed_config(path: Path | None) -> Path:
    """Return the file of `select_config`, else of `find_config`. Raises ConfigNotFound."""
    try:
        selected = select_config(str(path) if path else None)
    except Refused:
        selected = None
    return Path(selected) if selected else find_config(None, os.environ)


# Commands


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
        click.echo(visible(f"{self._command}: {self.message}"), file=file, err=True)


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


def _text_of(operation: Operation, result: Any, values: Values) -> str | None:
    if operation.done:
        named = {**values, **(result if isinstance(result, dict) else {})}
        return operation.done.format_map({name: printable(str(value)) for name, value in named.items()})
    show: Callable[..., str | None] = load_function(operation.show) if operation.show else plain_text
    return show(result, values)


def plain_text(result: object, _: object = None) -> str:
    """Format `result` for a terminal: a list of objects as a table, an object as its fields."""
    if isinstance(result, list) and result and all(isinstance(row, dict) for row in result):
        columns = [name for name, value in result[0].items() if not isinstance(value, (dict, list))]
        head = [name.upper().replace("_", " ") for name in columns]
        return format_table(head, ([_cell_text(row.get(name)) for name in columns] for row in result))
    if isinstance(result, dict):
        return "\n".join(f"{name.replace('_', ' ')}: {_cell_text(value)}" for name, value in result.items())
    return "" if result in (None, [], {}) else str(result)


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return `head` and `rows` as aligned columns of printable characters."""
    lines = [tuple(head), *(tuple(map(printable, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def visible(text: str) -> str:
    """Return `text` with its control characters written as \\x1b: a terminal would obey them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)


def printable(text: str) -> str:
    """Return `text` with a space for each character that would move the cursor."""
    return text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text)


def format_local_time(instant: str) -> str:
    """Return `instant`, in ISO 8601, in the time zone of this terminal, to the minute."""
    return datetime.fromisoformat(instant).astimezone().strftime("%a %Y-%m-%d %H:%M")


def _cell_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return "-" if value is None or value == "" else str(value)
