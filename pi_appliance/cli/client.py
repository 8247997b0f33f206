"""Talk to the running daemon over its unix socket.

It writes HTTP/1.1 itself, one request per connection: the standard client takes longer to import than the whole command
takes. The daemon listens in one of these folders, under a name made of the path of its configuration, and the symbolic
link `api.sock` beside it leads to the daemon that was started first:

- `/run/pi-appliance`, the runtime folder of the system service
- `$XDG_RUNTIME_DIR/pi-appliance`, for a user's own daemon
- `/tmp/pi-appliance-UID`, where there is no such folder
"""

import json
import socket
from collections.abc import Iterator, Mapping
from urllib.parse import quote, urlencode

from pi_appliance.errors import ApplianceError, InvalidOption, Refused, Unavailable, Uncertain
from pi_appliance.operations import Operation, Values, load_function
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


def call(connection: socket.socket, operation: Operation, values: Mapping[str, object]) -> object:
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
        return call(connection, operation, values)
    if operation.needs_daemon:
        raise Unavailable(f"the appliance does not run; {START_HINT}")
    # The whole appliance is imported only where no daemon has it.
    return load_function("pi_appliance.local:run_locally")(operation, values, config)
