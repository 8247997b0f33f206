"""Hand a run that cron starts to the running daemon, without loading the program.

It imports next to nothing: most slots of a job with a probability are skipped, and a Pi should pay little for one.
"""

import json
import os
import socket
import sys
from zlib import crc32

GROUP = "pi-appliance"
"""The group whose members may give commands to the system service."""
SYSTEM_DIR = "/run/pi-appliance"
DEFAULT_NAME = "api.sock"
"""A symbolic link to the socket of the daemon that was started first."""

NO_HANDOVER = "PI_APPLIANCE_NO_HANDOVER"
"""Set in the environment of the runs that the daemon starts: they must not hand themselves to the daemon again."""


def user_runtime_dir() -> str:
    """Return the folder in which a daemon of this user listens."""
    base = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    # `su` keeps the variable, which then names a folder of the other user.
    is_usable = os.access(base, os.W_OK | os.X_OK)
    return f"{base}/pi-appliance" if is_usable else f"/tmp/pi-appliance-{os.getuid()}"  # noqa: S108


def socket_name(config: str) -> str:
    """Return the name of the socket of the daemon that reads the file `config`, whatever link leads to it."""
    return f"{crc32(os.fsencode(os.path.realpath(config))):08x}.sock"


_PREFIX = ("jobs", "run")
_INTERRUPTED = 75  # as sysexits.h has it: try again later


def hand_over(argv: list[str]) -> int | None:
    """Have the daemon do the run that `argv` asks for, and return the exit status of the command.

    Returns:
        None if the command is not exactly `jobs run NAME --trigger cron --config FILE`, or if no daemon with that
        configuration runs. Then the command does the run itself.

    """
    is_child = os.environ.pop(NO_HANDOVER, None)  # popped, so that the job does not see it
    if (
        is_child
        or len(argv) != 7
        or tuple(argv[:2]) != _PREFIX
        or argv[3:5] not in (["--trigger", "cron"], ["--by", "cron"])
    ):
        return None
    if argv[5] != "--config":
        return None
    connection = _connect(socket_name(argv[6]))
    if connection is None:
        return None
    body = json.dumps({"job": argv[2]}).encode()
    head = (
        "POST /api/v1/scheduled-runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    answer = b""
    try:
        connection.sendall(head.encode() + body)
        while chunk := connection.recv(65_536):
            answer += chunk
    except OSError:
        pass
    finally:
        connection.close()
    return _report(answer, argv[2])


def _connect(name: str) -> socket.socket | None:
    for folder in (SYSTEM_DIR, user_runtime_dir()):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(os.path.join(folder, name))  # noqa: PTH118 - pathlib takes longer to import than this runs
        except OSError:
            connection.close()
        else:
            return connection
    return None


def _report(answer: bytes, job: str) -> int:
    """Print what cron should mail, which is trouble only, and return the exit status."""
    head, _, content = answer.partition(b"\r\n\r\n")
    words = head.split(None, 2)
    try:
        status, result = int(words[1]), json.loads(content)
    except (IndexError, ValueError):
        # The run goes on or is stopped by the daemon; it must not be started a second time.
        print(  # noqa: T201 - click is not loaded here
            f"pi-appliance: the daemon stopped before the run of {job} ended; see: pi-appliance jobs history {job}",
            file=sys.stderr,
        )
        return _INTERRUPTED
    if status >= 300:
        print(f"pi-appliance: {result.get('error', result)}", file=sys.stderr)  # noqa: T201
        return 2 if status in (400, 404) else _INTERRUPTED if status == 503 else 1
    if result["message"]:
        print(result["message"], file=sys.stderr)  # noqa: T201
    return int(result["exit_status"])
