"""A supervisor process between the runner and the worker, so that no process of a run outlives it.

It is never suspended. When the worker ends, or the supervisor gets SIGTERM, all remaining descendants get SIGTERM and
later SIGKILL, also those in other sessions. When the runner dies, all are killed at once. The supervisor exits last,
with the status of the worker.

    python -m pi_appliance.system.supervisor RUNNER FOLDER TELLER HIDDEN PROGRAM [ARGUMENT ...]

runs any program that way, in FOLDER and without the environment variables HIDDEN (separated by commas). If it cannot
be run, the reason is written to the file descriptor TELLER.
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

_KILL_INTERVAL = 1.0  # seconds


def supervise(runner: int) -> None:
    """Fork. The new process returns as the worker; this one, a child of process `runner`, becomes its supervisor."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    process.die_with_parent(signal.SIGHUP)
    process.set_child_subreaper(orphans=True)
    if os.getppid() != runner:  # it died before prctl; nothing has been started yet
        os._exit(1)
    supervisor = os.getpid()
    worker = os.fork()
    if worker:
        _Supervisor(worker, runner).run()
    process.die_with_parent(signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Supervisor:
    """State of the supervisor and its reaction to each signal."""

    def __init__(self, worker: int, runner: int) -> None:
        self.worker, self.runner = worker, runner
        self.status: int | None = None  # of the worker, as from waitpid
        self.kill_at = float("inf")

    def run(self) -> NoReturn:
        """Wait until no descendant is left, then exit as the worker did."""
        while self._has_children():
            if os.getppid() != self.runner:
                self.kill_at = min(self.kill_at, time.monotonic())
            elif self.status is not None:
                self._terminate()
            left = self.kill_at - time.monotonic()
            if left < -TERM_TIMEOUT:  # the rest cannot be killed: it waits for a disk, or runs as root
                break
            if left <= 0:
                self._send(signal.SIGKILL)
                left = _KILL_INTERVAL
            received = signal.sigtimedwait((signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD), min(left, 3600.0))
            if received is not None and received.si_signo == signal.SIGTERM:
                self._terminate()
        _end_as(self.status)

    def _has_children(self) -> bool:
        """Reap ended children and return whether any child is left."""
        try:
            while (dead := os.waitpid(-1, os.WNOHANG))[0]:
                if dead[0] == self.worker:
                    self.status = dead[1]
        except ChildProcessError:
            return False
        return True

    def _terminate(self) -> None:
        if self.kill_at == float("inf"):
            self.kill_at = time.monotonic() + TERM_TIMEOUT
            self._send(signal.SIGTERM, signal.SIGCONT)  # a suspended process gets SIGTERM when it continues

    def _send(self, *kinds: signal.Signals) -> None:
        seen = process.descendants(os.getpid())
        for kind in kinds:
            for each in seen:
                process.send_signal(each, kind)
            for pid in process.child_pids() - {each.pid for each in seen}:
                with contextlib.suppress(PermissionError):
                    os.kill(pid, kind)  # the id of a child that is not reaped yet is not reused


def _end_as(status: int | None) -> NoReturn:
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core dump is enough
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os._exit(1 if status is None else os.waitstatus_to_exitcode(status))


def main(argv: list[str]) -> None:
    """Run a program under supervision."""
    runner, folder, teller, hidden, *program = argv
    os.set_inheritable(int(teller), False)
    supervise(int(runner))
    for name in hidden.split(","):
        os.environ.pop(name, None)
    try:
        os.chdir(folder)
        os.execvp(program[0], program)  # noqa: S606 - a list, not a shell command
    except OSError as error:
        os.write(int(teller), f"{error.strerror}\n".encode())
        os._exit(127)


if __name__ == "__main__":
    main(sys.argv[1:])
