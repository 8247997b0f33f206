"""Click commands made of operations: their arguments, their help, and the text or JSON that they print."""

import importlib
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import click

from pi_appliance.errors import ApplianceError, InvalidOption, Refused, Unavailable, Uncertain, suggest
from pi_appliance.operations import Argument, Operation, Values, load_function, operations_in
from pi_appliance.system.runtime_socket import DEFAULT_NAME, GROUP, SYSTEM_DIR, socket_name, user_runtime_dir

START_HINT = "start it with `sudo systemctl start pi-appliance`, or `pi-appliance up` for a daemon of your own"
_HOST = "localhost"
_CHUNK = 65_536


def connect(config: str | None = None) -> socket.socket | None:
    """Return a connection to the daemon that reads `config`, or to any daemon; None if none listens.

    Raises:
        Refused: a daemon listens, and this user is not in its group.

    """
    forbidden = False
    for folder in (SYSTEM_DIR, user_runtime_dir()):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(f"{folder}/{socket_name(config) if config else DEFAULT_NAME}")
        except PermissionError:
            forbidden = True
        except OSError:
            pass
        else:
            return connection
        connection.close()
    if forbidden and config is None:
        raise Refused(
            f"you may not talk to the appliance, because you are not in the group {GROUP}; "
            f"run `sudo usermod -aG {GROUP} $USER`, then sign out and in again"
        )
    return None


def call_daemon(connection: socket.socket, operation: Operation, values: Mapping[str, object]) -> object:
    """Ask the daemon at the other end of `connection` for `operation` and return its result.

    Raises:
        ApplianceError: the daemon refused, or the connection broke; the type fits the exit status.

    """
    in_path = operation.path_arguments
    path = operation.path
    for name in in_path:
        path = path.replace(f"{{{name}}}", quote(str(values[name]), safe=""))
    given = {name: value for name, value in values.items() if name not in in_path and value is not None}
    body = b""
    if operation.method in ("GET", "DELETE"):
        path += f"?{urlencode(given, doseq=True)}" if given else ""
    else:
        body = json.dumps(given).encode()
    status, answer = exchange(connection, operation.method, f"/api/v1{path}", body)
    try:
        result: object = json.loads(answer)
    except ValueError:
        raise Uncertain("the daemon's answer is not complete; look whether it was done") from None
    if status >= 300:
        raise _error(status, str(result.get("error", result)) if isinstance(result, dict) else str(result))
    return result


def exchange(connection: socket.socket, method: str, target: str, body: bytes = b"") -> tuple[int, bytes]:
    """Send one request and return the HTTP status and the body of the answer.

    Raises:
        Unavailable: the daemon closed the connection before the request was sent.
        Uncertain: it was sent, and no answer came.

    """
    head = (
        f"{method} {target} HTTP/1.1\r\nHost: {_HOST}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with connection:
        try:
            connection.sendall(head.encode("ascii") + body)
        except OSError as error:
            raise Unavailable(f"the daemon is not reached: {error.strerror}; {START_HINT}") from None
        try:
            answer = b"".join(_chunks(connection))
        except OSError:
            answer = b""
    head_text, _, content = answer.partition(b"\r\n\r\n")
    words = head_text.split(None, 2)
    if len(words) < 2 or not words[1].isdigit():
        raise Uncertain("the daemon ended before it answered; look whether it was done")
    return int(words[1]), content


def _chunks(connection: socket.socket) -> Iterator[bytes]:
    while chunk := connection.recv(_CHUNK):
        yield chunk


def _error(status: int, message: str) -> ApplianceError:
    match status:
        case 400 | 404 | 413:
            return InvalidOption(message)
        case 503:
            return Unavailable(message)
        case 502:
            return Uncertain(message)
    return Refused(message)


def run_operation(operation: Operation, values: Values, config: str | None) -> object:
    """Return the result of `operation`: from the running daemon, or in this process where none runs.

    Raises:
        ApplianceError: it was refused or failed, or it needs a daemon and none runs.

    """
    connection = connect(config)
    if connection is not None:
        return call_daemon(connection, operation, values)
    if operation.needs_daemon:
        raise Unavailable(f"the appliance does not run; {START_HINT}")
    # The whole appliance is imported only where no daemon has it.
    return load_function("pi_appliance.local:run_locally")(operation, values, config)


STATUSES = """
\b
Exit status:
  0   done
  1   refused, or it is not known whether it was done
  2   wrong use, an unknown name, or a wrong configuration
  75  the appliance or the player is not reached
"""


class WrongUse(click.ClickException):
    """A wrong use of a command in one line, without the usage."""

    exit_code = 2

    def __init__(self, error: click.UsageError) -> None:
        super().__init__(" ".join(error.format_message().split()))  # click writes one line for each choice
        self._command = error.ctx.command_path if error.ctx else "pi-appliance"

    def show(self, file: Any = None) -> None:
        """Print it."""
        click.echo(f"{self._command}: {self.message}", file=file, err=True)


class OperationGroup(click.Group):
    """A group whose commands come from operations, and from a click group that has the commands of another kind.

    A command that is an operation is found without importing the click group, which costs much more.
    """

    def __init__(self, name: str, help: str, modules: Sequence[str], more: str = "") -> None:  # noqa: A002 - click's
        super().__init__(name, help=help, short_help=help)
        self._modules, self._more = modules, more
        self._own: dict[str, click.Command] | None = None

    def _operations(self) -> dict[str, click.Command]:
        if self._own is None:
            self._own = {}
            for operation in operations_in(*self._modules):
                words = operation.command.split()
                if words[:1] == [self.name]:
                    self._add(self._own, words[1:], operation)
        return self._own

    def _others(self) -> click.Group | None:
        group: click.Group | None = importlib.import_module(self._more).command if self._more else None
        return group

    def _add(self, commands: MutableMapping[str, click.Command], words: Sequence[str], operation: Operation) -> None:
        """Put the command of `operation` into `commands`, in a group of its own where `words` are several."""
        if len(words) == 1:
            commands[words[0]] = command_of(operation)
            return
        group = commands.get(words[0])
        if not isinstance(group, _SubGroup):
            group = _SubGroup(words[0], self._others)
            commands[words[0]] = group
        self._add(group.commands, words[1:], operation)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        others = self._others()
        return list(dict.fromkeys([*self._operations(), *(others.list_commands(ctx) if others else ())]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command `cmd_name`, or None."""
        own = self._operations().get(cmd_name)
        if own is not None:
            return own
        others = self._others()
        return others.get_command(ctx, cmd_name) if others else None

    def invoke(self, ctx: click.Context) -> Any:
        """Invoke the command; wrong use is reported in one line."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise WrongUse(error) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does, and suggest the closest name where there is no such command."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"no command is called {args[0]!r}; {suggest(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


class _SubGroup(click.Group):
    """A group of operations; those commands of the click group with the same name that are not operations are added.

    Without the name of a command, it runs `list`.
    """

    def __init__(self, name: str, others: Callable[[], click.Group | None]) -> None:
        super().__init__(name, help=f"Commands about {name}.")
        self._load_others = others

    def _others(self) -> click.Group | None:
        group = self._load_others()
        same = group.get_command(click.Context(group), self.name or "") if group else None
        return same if isinstance(same, click.Group) else None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        others = self._others()
        return list(dict.fromkeys([*self.commands, *(others.list_commands(ctx) if others else ())]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command `cmd_name`, or None."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        others = self._others()
        return others.get_command(ctx, cmd_name) if others else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse `args`, with `list` before them where no command is named."""
        if "list" in self.commands and (not args or (args[0][0] == "-" and args[0] not in ctx.help_option_names)):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def command_of(operation: Operation) -> click.Command:
    """Return the click command of `operation`."""

    def run(config: str | None, as_json: bool, **given: Any) -> None:
        _run(operation, config, as_json, given)

    parameters: list[click.Parameter] = [_parameter(argument) for argument in operation.arguments]
    parameters += [_json_option(), _config_option()]
    name = operation.command.split()[-1]
    text = f"{operation.summary}\n\n{operation.details}\n{STATUSES}"
    settings = {"ignore_unknown_options": any(each.positional for each in operation.arguments)}  # -10 is a number
    return click.Command(
        name, callback=run, params=parameters, help=text, short_help=operation.summary, context_settings=settings
    )


def _run(operation: Operation, config: str | None, as_json: bool, given: dict[str, Any]) -> None:
    named = {argument.name.replace("-", "_"): argument.name for argument in operation.arguments}
    values = operation.parse({named[name]: value for name, value in given.items() if value is not None and value != ()})
    result = run_operation(operation, values, config or os.environ.get("PI_APPLIANCE_CONFIG"))
    if as_json:
        click.echo(json.dumps(result))
        return
    show: Callable[..., str | None] = load_function(operation.show) if operation.show else plain_text
    text = show(result, values)
    if text:
        click.echo(text)


def _parameter(argument: Argument) -> click.Parameter:
    kind = _Value(argument)
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


class _Value(click.ParamType[Any]):
    """The type of an argument: parsed as the API parses it, with its message where it is wrong."""

    def __init__(self, argument: Argument) -> None:
        self._argument, self.name = argument, argument.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value, checked and unchanged: the operation parses it."""
        item = [value] if self._argument.many else value
        try:
            self._argument.value_of({self._argument.name: item})
        except InvalidOption as error:
            self.fail(str(error), param, ctx)
        return value


def _json_option() -> click.Option:
    return click.Option(["--json", "as_json"], is_flag=True, help="Print JSON, for programs.")


def _config_option() -> click.Option:
    return click.Option(
        ["-c", "--config"],
        metavar="FILE",
        help="Address the appliance with this configuration. Default: the one that runs, else $PI_APPLIANCE_CONFIG, "
        "else appliance.yaml in config/, here, or /etc/pi-appliance/.",
    )


def plain_text(result: object, _: object = None) -> str:
    """Return `result` for a terminal: a list of objects as a table, an object as `name: value` lines."""
    if isinstance(result, list) and result and all(isinstance(row, dict) for row in result):
        columns = [name for name, value in result[0].items() if not isinstance(value, (dict, list))]
        rows = [[_cell(row.get(name)) for name in columns] for row in result]
        lines = [[name.upper().replace("_", " ") for name in columns], *rows]
        widths = [max(len(line[number]) for line in lines) for number in range(len(columns))]
        return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
    if isinstance(result, dict):
        return "\n".join(f"{name.replace('_', ' ')}: {_cell(value)}" for name, value in result.items())
    return "" if result in (None, [], {}) else str(result)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return "-" if value is None or value == "" else str(value)
