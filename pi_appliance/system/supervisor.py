"""The guard: a process between a runner and the process that does the work, so that nothing of a run outlives it.

It is never held, whatever becomes of the work. When the work ends, or the guard is asked to (SIGTERM), all that is left
below it is asked to end, and after a while killed; also what has begun a session of its own. When the runner dies, all
is killed at once. The guard ends last, with the status of the work.

    python -m pi_appliance.system.supervisor RUNNER FOLDER TELLER HIDDEN PROGRAM [ARGUMENT ...]

runs any program that way, in FOLDER and without the variables HIDDEN, which commas part; TELLER is a descriptor that
hears why it cannot be run.
"""

import contextlib
import os
import resource
import signal
import sys
import time
from typing import NoReturn

from pi_appliance.system import process
from pi_appliance.system.process import TERM_TIMEOUT

_AGAIN = 1.0  # seconds between two tries to kill


def supervise(runner: int) -> None:
    """Fork: the new process returns, to work; this one, a child of the process RUNNER, becomes its guard."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    process.die_with_parent(signal.SIGHUP)
    process.set_child_subreaper(orphans=True)
    if os.getppid() != runner:  # it died before we asked; nothing has been started yet
        os._exit(1)
    guard = os.getpid()
    worker = os.fork()
    if worker:
        _Guard(worker, runner).stay()
    process.die_with_parent(signal.SIGKILL)
    if os.getppid() != guard:
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Guard:
    """What it knows, and what it does about each signal."""

    def __init__(self, worker: int, runner: int) -> None:
        self.worker, self.runner = worker, runner
        self.status: int | None = None  # of the worker, as waitpid tells it
        self.kill_at = float("inf")

    def stay(self) -> NoReturn:
        """Wait until nothing is left, then end as the worker did."""
        while self._anybody_left():
            if os.getppid() != self.runner:
                self.kill_at = min(self.kill_at, time.monotonic())
            elif self.status is not None:
                self._ask_to_end()
            left = self.kill_at - time.monotonic()
            if left < -TERM_TIMEOUT:  # what is still there, nobody can kill: it waits for a disk, or runs as root
                break
            if left <= 0:
                self._send(signal.SIGKILL)
                left = _AGAIN
            told = signal.sigtimedwait((signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD), min(left, 3600.0))
            if told is not None and told.si_signo == signal.SIGTERM:
                self._ask_to_end()
        _end_as(self.status)

    def _anybody_left(self) -> bool:
        """Take leave of the dead."""
        try:
            while (dead := os.waitpid(-1, os.WNOHANG))[0]:
                if dead[0] == self.worker:
                    self.status = dead[1]
        except ChildProcessError:
            return False
        return True

    def _ask_to_end(self) -> None:
        if self.kill_at == float("inf"):
            self.kill_at = time.monotonic() + TERM_TIMEOUT
            self._send(signal.SIGTERM, signal.SIGCONT)  # one that is held hears when it goes on

    def _send(self, *kinds: signal.Signals) -> None:
        seen = process.descendants(os.getpid())
        for kind in kinds:
            for each in seen:
                process.send_signal(each, kind)
            for pid in process.child_pids() - {each.pid for each in seen}:
                with contextlib.suppress(PermissionError):
                    os.kill(pid, kind)  # nobody else gets the number of a child that we have not taken leave of


def _end_as(status: int | None) -> NoReturn:
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core of it, if any, is enough
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os._exit(1 if status is None else os.waitstatus_to_exitcode(status))


def main(argv: list[str]) -> None:
    """Run a program under guard."""
    runner, folder, teller, hidden, *program = argv
    os.set_inheritable(int(teller), False)
    supervise(int(runner))
    for name in hidden.split(","):
        os.environ.pop(name, None)
    try:
        os.chdir(folder)
        os.execvp(program[0], program)  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(int(teller), f"{error.strerror}\n".encode())
        os._exit(127)


if __name__ == "__main__":
    main(sys.argv[1:])
