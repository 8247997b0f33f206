"""The connection to the running daemon, and what commands share: options, texts, progress, input.

It uses no HTTP library: importing one takes longer than the whole command.
"""

import json
import os
import socket
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click

from pi_appliance import __version__
from pi_appliance.config import find_config, nearby_config
from pi_appliance.errors import ApplianceError, ConfigNotFound, InvalidOption, Refused, Unavailable, Uncertain
from pi_appliance.operations import (
    DAEMON_MODULE,
    PATH_ARGUMENT,
    Operation,
    Values,
    load_function,
    operations_in,
    to_json,
)
from pi_appliance.system import runtime_socket
from pi_appliance.system.runtime_socket import DEFAULT_NAME, GROUP, JOIN_GROUP, socket_name
from pi_appliance.system.shown_time import use_time_zone

START_HINT = "start it with `sudo systemctl start pi-appliance`, or `pi-appliance up` for a daemon of your own"
_ASKED = ContextVar[str]("_ASKED", default="")  # the name of the socket of the daemon that was asked last


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
    """Call `operation` of the daemon that `connection` leads to, and return its result.

    Raises:
        ApplianceError: The daemon refused, or the connection broke. The type determines the exit
            status.
    """
    _ASKED.set(Path(connection.getpeername()).name)
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
        status, content, zone = runtime_socket.exchange(connection, operation.method, f"/api/v1{path}", body)
    except OSError as error:
        raise Unavailable(f"the daemon cannot be reached: {error.strerror}; {START_HINT}") from None
    use_time_zone(zone)
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
    return load_function("pi_appliance.without_daemon:run_locally")(operation, values, config)


def daemon_status() -> Mapping[str, object] | None:
    """Return the status of the daemon that was started first, or None. Raises Refused."""
    return _read_status(connect())


def _read_status(connection: socket.socket | None) -> Mapping[str, object] | None:
    if connection is None:
        return None
    status = next(each for each in operations_in(DAEMON_MODULE) if each.command == "status")
    try:
        result = call_daemon(connection, status, {})
    except ApplianceError:
        return None
    return result if isinstance(result, dict) else None


def find_version_conflict() -> Refused | None:
    """Return an error if the daemon that this command asked last runs other code.

    Its answers may then lack fields that this program expects.
    """
    try:
        status = _read_status(runtime_socket.connect(_ASKED.get())) if _ASKED.get() else None
    except (ApplianceError, OSError):
        return None
    if not status or "version" not in status:
        return None
    if status["version"] != __version__:
        reason = f"the running appliance is version {status['version']}, and this program {__version__}"
    elif _modified_since(datetime.fromisoformat(str(status["started_at"]))):
        reason = "this program was changed after the running appliance was started"
    else:
        return None
    return Refused(
        f"{reason}; restart it with `sudo systemctl restart pi-appliance`, or by Ctrl-C and `pi-appliance up`"
    )


def _modified_since(start: datetime) -> bool:
    """Return whether a source file of this program was written after `start`."""
    package = Path(__file__).parents[1]
    return any(path.stat().st_mtime > start.timestamp() for path in package.rglob("*.py"))


def select_config(path: str | None) -> str | None:
    """Return the configuration for a command, or None if no name was given and no daemon runs.

    The result is `path`, else $PI_APPLIANCE_CONFIG, else the file that a running daemon reads. A
    daemon that reads the file of this folder is preferred, else it is the one that was started
    first. If the result is not the file of this folder, stderr names it.

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
    """Return the file of `select_config`, or else the file of `find_config`.

    Raises ConfigNotFound.
    """
    try:
        selected = select_config(str(path) if path else None)
    except Refused:
        selected = None
    return Path(selected) if selected else find_config(None, os.environ)


# Options


Command = Callable[..., Any]


class Number(click.IntRange):
    """A whole number in a range. The type of click calls itself an "integer range"."""

    name = "whole number"


def config_option(command: Command) -> Command:
    """Add the parameter `config` to `command`.

    The configuration of the daemon that it addresses.
    """

    def find_path(_: click.Context, __: click.Parameter, value: Path | None) -> Path:
        return find_addressed_config(value)

    return _config_option(find_path, "that of the running appliance, ")(command)


def optional_config_option(command: Command) -> Command:
    """Do the same as `config_option`, but `config` is a `ConfigNotFound` if there is no file."""

    def find_path(_: click.Context, __: click.Parameter, value: Path | None) -> Path | ConfigNotFound:
        try:
            return find_addressed_config(value)
        except ConfigNotFound as error:
            return error

    return _config_option(find_path, "that of the running appliance, ")(command)


def local_config_option(command: Command) -> Command:
    """Add the parameter `config` to a `command` that reads the file itself, without a daemon."""

    def find_path(_: click.Context, __: click.Parameter, value: Path | None) -> Path:
        return find_config(value, os.environ)

    return _config_option(find_path, "")(command)


def _config_option(callback: Command, running: str) -> Callable[[Command], Command]:
    return click.option(
        "-c",
        "--config",
        type=click.Path(path_type=Path),
        callback=callback,
        metavar="FILE",
        help=f"The configuration. Default: $PI_APPLIANCE_CONFIG, {running}or appliance.yaml in config/, here, "
        "/etc/pi-appliance/.",
    )


def json_option(command: Command) -> Command:
    """Add the parameter `as_json` to `command`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")(command)


# Output


def print_json(value: object) -> None:
    """Print `value` in a line of JSON."""
    click.echo(json.dumps(to_json(value)))  # escapes, because a path may hold bytes that are not UTF-8


def show_result(value: object, text: str, *, as_json: bool) -> None:
    """Print `value` as JSON, or `text`, which has its line ends."""
    if as_json:
        print_json(value)
    else:
        click.echo(text, nl=False)


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


def _cell_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    return "-" if value is None or value == "" else str(value)


_BAR = 24


class ProgressLine:
    """A progress bar on stderr, redrawn in place. It prints nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        # stderr is None if it was closed before the start
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._is_shown = False
        self.note = ""
        """The latest text, even if it was not printed."""

    def show(self, done: float | None, note: str) -> None:
        """Draw the fraction `done`, 0 to 1, or None if it is not known, and the text `note`."""
        self.note = note
        if not self._is_terminal:
            return
        import shutil  # noqa: PLC0415 - slow, and most commands show no progress

        filled = round(_BAR * min(1.0, done or 0.0))
        bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] {done:4.0%} " if done is not None else ""
        line = f"{bar}{printable(note)}"[: shutil.get_terminal_size().columns - 1]
        self._is_shown = True  # set before drawing, because Ctrl-C may come during it
        click.echo(f"\r\x1b[K{line}", err=True, nl=False)

    def clear(self) -> None:
        """Remove the progress bar."""
        if self._is_shown:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._is_shown = False


# Input


def read_secret(prompt: str) -> str:
    """Return a line of standard input that is hidden while it is typed. Raises EOFError."""
    import getpass  # noqa: PLC0415 - few commands ask

    return getpass.getpass(prompt) if sys.stdin.isatty() else read_line(prompt)


def read_line(prompt: str) -> str:
    """Return a line of standard input, after `prompt` on standard error. Raises EOFError."""
    click.echo(prompt, nl=False, err=True)
    line = sys.stdin.readline()
    if not sys.stdin.isatty():
        click.echo(err=True)  # input that is not typed has no Enter key that ends the line
    if not line:
        raise EOFError
    return line
