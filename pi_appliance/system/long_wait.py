"""The small process that a runner becomes while its program runs for a long time.

The runner executes this module in its own place, so the process, its children, its open files and
its locks stay. Like the supervisor it imports next to nothing, and none of the rest of the package
(`python -I -S`). It only adds the output of the program to the log. When there is anything else to
do, it executes the whole runner again.

    CHILD OUTPUT LINES LOG MAX_SIZE UNTIL COMMAND…
"""

import contextlib
import os
import select
import signal
import time

from pi_appliance.system import process_tree

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_CHUNK = 65_536
_MAX_SLEEP = 86_400.0  # seconds; the kernel counts milliseconds in 31 bits
_MAX_TRIES, _RETRY_DELAY = 60, 1.0  # seconds; if memory is short, the runner cannot be executed at once


def main(argv: list[str]) -> None:
    """Wait, then execute `COMMAND` with one more argument: why the log could not be written, or 0.

    The stop signals are blocked on both ways, so that none is lost.
    """
    child, output, lines, log, max_size, until, *command = argv
    received: list[int] = []
    for kind in STOP_SIGNALS:
        signal.signal(kind, lambda number, _: received.append(number))
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writer)
    ended = os.pidfd_open(int(child))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    error = _wait((reader, ended, int(lines)), int(output), log, int(max_size), float(until))
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    if received:
        os.kill(int(child), signal.SIGTERM)  # already now, because the runner takes seconds to start on a slow Pi
        os.kill(os.getpid(), received[0])  # the signal is blocked, so the runner will receive it
    if select.select([ended], [], [], 0)[0]:
        for each in process_tree.descendants(os.getpid()):  # descendants are only left if the supervisor was killed
            process_tree.send_signal(each, signal.SIGKILL)
    for _ in range(_MAX_TRIES):
        with contextlib.suppress(OSError):
            os.execv(command[0], [*command, str(error)])  # noqa: S606 - a list, not a shell command
        time.sleep(_RETRY_DELAY)


def _wait(others: tuple[int, ...], output: int, log: str, max_size: int, until: float) -> int:
    """Copy the output to the log until something else has to be done.

    The result is the error number of the log, or 0.
    """
    poll = select.poll()
    for number in (*others, output):
        poll.register(number, select.POLLIN)
    try:
        while (seconds_left := until - time.monotonic()) > 0:
            ready = [number for number, _ in poll.poll(min(seconds_left, _MAX_SLEEP) * 1000)]
            if ready and (ready != [output] or not _copy(output, log, max_size)):
                break
    except OSError as error:
        return error.errno or 0
    return 0


def _copy(output: int, log: str, max_size: int) -> bool:
    """Append one chunk to the log.

    If the log is missing or too long, nothing is read, and the result is False.
    """
    try:
        number = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        if os.fstat(number).st_size + _CHUNK > max_size:
            return False
        chunk = os.read(output, _CHUNK)
        left = chunk
        while left:
            left = left[os.write(number, left) :]
        return bool(chunk)  # empty only after the run: the supervisor keeps the pipe open
    finally:
        os.close(number)
