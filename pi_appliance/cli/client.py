"""Send operations to the running daemon, and find the configuration that a command addresses.

It uses no HTTP library: importing one takes longer than the whole command.
"""

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click

from pi_appliance.config import find_config, nearby_config
from pi_appliance.errors import ApplianceError, InvalidOption, Refused, Unavailable, Uncertain
from pi_appliance.operations import DAEMON_MODULE, PATH_ARGUMENT, Operation, Values, load_function, operations_in
from pi_appliance.system import runtime_socket
from pi_appliance.system.runtime_socket import DEFAULT_NAME, GROUP, socket_name

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
        raise Refused(
            f"only root and the group {GROUP} may use the running appliance; "
            f"run `sudo usermod -aG {GROUP} $USER`, then sign out and in again"
        ) from None


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
