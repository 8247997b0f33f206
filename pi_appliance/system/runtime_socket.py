"""The unix socket of the daemon: its path, HTTP requests, and runs handed over by cron.

The daemon listens in one of these folders, under a name made of the path of its configuration. The
symbolic link `api.sock` beside it leads to the daemon that was started first:

- `/run/pi-appliance`, the runtime folder of the system service
- `$XDG_RUNTIME_DIR/pi-appliance`, for a user's own daemon
- `/tmp/pi-appliance-UID`, if there is no such folder

It imports very little. Most slots of a job with a probability are skipped, and a skipped slot must
be cheap on a Pi.
"""

import json
import os
import socket
import sys
from zlib import crc32

GROUP = "pi-appliance"
"""The group whose members may give commands to the system service."""
JOIN_GROUP = f"run `sudo usermod -aG {GROUP} $USER`, then sign out and in again"
SYSTEM_DIR = "/run/pi-appliance"
DEFAULT_NAME = "api.sock"
NO_HANDOVER = "PI_APPLIANCE_NO_HANDOVER"
"""Set in the environment of runs that the daemon starts, so that they do not hand themselves over
again.
"""
ZONE_HEADER = "x-time-zone"
"""The header of an answer with the time zone of the configuration, for times in texts."""
_TEMPORARY = "/tmp/pi-appliance-"  # noqa: S108 - its owner is checked
_CHUNK = 65_536
_UNAVAILABLE = 75  # as in sysexits.h: try again later


def user_runtime_dir() -> str:
    """Return the folder in which a daemon of this user listens."""
    base = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    # After `su`, the variable still names the folder of the other user.
    is_usable = os.access(base, os.W_OK | os.X_OK)
    return f"{base}/pi-appliance" if is_usable else f"{_TEMPORARY}{os.getuid()}"


def socket_name(config: str) -> str:
    """Return the name of the socket of the daemon that reads `config`, after any links."""
    return f"{crc32(os.fsencode(os.path.realpath(config))):08x}.sock"


def connect(name: str) -> socket.socket | None:
    """Return a connection to the daemon that listens under `name`, or None if no such daemon runs.

    Raises:
        PermissionError: Such a daemon listens, but this user may not connect to it.
    """
    refusal: PermissionError | None = None
    for folder in (SYSTEM_DIR, user_runtime_dir()):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Anyone may create a folder in /tmp, and could receive our commands there.
            if not folder.startswith(_TEMPORARY) or os.stat(folder).st_uid == os.geteuid():  # noqa: PTH116 - pathlib is slow to import
                connection.connect(f"{folder}/{name}")
                return connection
        except PermissionError as error:
            refusal = error
        except OSError:
            pass
        connection.close()
    if refusal is not None:
        raise refusal
    return None


def exchange(connection: socket.socket, method: str, target: str, body: bytes = b"") -> tuple[int, bytes, str]:
    """Send one request, and return the HTTP status, the body and the time zone of the appliance.

    The status is 0 if the request was sent but the response is incomplete. An unknown zone is "".

    Raises:
        OSError: The request could not be sent.
    """
    head = (
        f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    response = b""
    with connection:
        connection.sendall(head.encode("ascii") + body)
        try:
            while chunk := connection.recv(_CHUNK):
                response += chunk
        except OSError:
            return 0, b"", ""
    header, _, content = response.partition(b"\r\n\r\n")
    first, *headers = header.decode("latin-1").split("\r\n")
    words = first.split()
    if len(words) < 2 or not words[1].isdigit():
        return 0, b"", ""
    zones = [line.partition(": ")[2] for line in headers if line.lower().startswith(f"{ZONE_HEADER}:")]
    return int(words[1]), content, zones[0] if zones else ""


def cron_arguments(job: str, config: str) -> list[str]:
    """Return the arguments of the command by which cron runs `job` of the file `config`."""
    return ["jobs", "run", job, "--trigger", "cron", "--config", config]


def hand_over(argv: list[str]) -> int | None:
    """Let the daemon execute the run of `argv`, and return the exit status of the command.

    Returns:
        None if `argv` are not exactly `cron_arguments`, or if no daemon with that configuration
        runs. The command then executes the run itself.
    """
    is_child = NO_HANDOVER in os.environ
    if is_child or len(argv) != 7 or argv != cron_arguments(argv[2], argv[6]):
        return None
    try:
        connection = connect(socket_name(argv[6]))
        if connection is None:
            return None
        status, content, _ = exchange(
            connection, "POST", "/api/v1/scheduled-runs", json.dumps({"job": argv[2]}).encode()
        )
    except PermissionError:
        return None
    except OSError:
        status, content = 0, b""
    return _report(status, content, argv[2])


def _report(status: int, content: bytes, job: str) -> int:
    """Print errors only, because cron mails all output, and return the exit status."""
    try:
        result = json.loads(content)
    except ValueError:
        # The run goes on, or the daemon stops it. It must not be started a second time.
        print(  # noqa: T201 - click is not loaded here
            f"pi-appliance: the daemon stopped before the run of {job} ended; see: pi-appliance jobs history {job}",
            file=sys.stderr,
        )
        return _UNAVAILABLE
    if status >= 300:
        print(f"pi-appliance: {result.get('error', result)}", file=sys.stderr)  # noqa: T201
        return 2 if status in (400, 404) else _UNAVAILABLE if status == 503 else 1
    if result["message"]:
        print(result["message"], file=sys.stderr)  # noqa: T201
    return int(result["exit_status"])
