"""The small process beside a program, which ends all of its descendants with it.

It waits beside each run for hours, so it imports next to nothing: no pathlib, no dataclasses, and
neither `site` nor the rest of the package (`python -I -S`). A kind of job that is written in Python
calls `supervise` in its own process instead.
"""

import contextlib
import ctypes
import os
import resource
import signal
import time

_PROC = "/proc"
_MAX_READS = 3  # readings of the process table: if /proc hides processes of other users, none looks consistent
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
TERM_TIMEOUT = 5.0  # seconds between SIGTERM and SIGKILL
NO_LIMITS = "{}"


class Process:
    """One process, identified by its pid and its start time together."""

    __slots__ = ("is_dead", "parent", "pid", "start_ticks")

    def __init__(self, pid: int, parent: int, start_ticks: int, is_dead: bool) -> None:
        self.pid, self.parent = pid, parent
        self.start_ticks = start_ticks  # in clock ticks since the start of the machine
        self.is_dead = is_dead  # whether it has ended, but is not reaped yet


def descendants(top: int) -> set[Process]:
    """Return the living descendants of the process with the id `top`."""
    for _ in range(_MAX_READS):
        table = _read_all()
        # If a process died during the reading, its children have a parent that is not in the table.
        if all(each.parent in table or not each.parent for each in table.values()):
            break
    result, pending = set[Process](), [top]
    children: dict[int, list[Process]] = {}
    for each in table.values():
        children.setdefault(each.parent, []).append(each)
    while pending:
        more = children.get(pending.pop(), [])
        result.update(more)
        pending += [each.pid for each in more]
    return {each for each in result if not each.is_dead}


def child_pids() -> set[int]:
    """Return the ids of all children, also of ended ones and of those that /proc hides."""
    try:
        return set(map(int, _read(f"self/task/{os.getpid()}/children").split()))
    except OSError:
        return set()


def read_process(pid: int) -> Process | None:
    """Return the process `pid`, or None if it does not exist."""
    try:
        words = _read(f"{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return None
    return Process(pid, int(words[1]), int(words[19]), words[0] in b"ZX")


def send_signal(process: Process, kind: signal.Signals) -> None:
    """Send a signal to `process` if it still exists and permissions allow it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        number = os.pidfd_open(process.pid)
        try:
            now = read_process(process.pid)
            if now is not None and now.start_ticks == process.start_ticks:
                signal.pidfd_send_signal(number, kind)
        finally:
            os.close(number)


def die_with_parent(kind: signal.Signals) -> None:
    """Have the kernel send the signal `kind` to this process when its parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(kind), 0, 0, 0)


def set_child_subreaper(*, orphans: bool) -> None:
    """Make this process the new parent of descendants whose parent dies, instead of init."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)


def _read(name: str) -> bytes:
    with open(f"{_PROC}/{name}", "rb") as file:  # noqa: PTH123 - pathlib is not imported here
        return file.read()


def _read_all() -> dict[int, Process]:
    names = os.listdir(_PROC)  # noqa: PTH208
    processes = (read_process(int(name)) for name in names if name.isdigit())
    return {each.pid: each for each in processes if each is not None}


_KILL_INTERVAL = 1.0  # seconds between two rounds of SIGKILL


def supervise(runner: int, report: int | None = None) -> None:
    """Fork: the child returns as the worker, and this process becomes its supervisor.

    Args:
        runner: The process that started this one. When it dies, all descendants are killed.
        report: A descriptor for the exit status of the worker, as `{"status": 0}`.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    die_with_parent(signal.SIGHUP)
    set_child_subreaper(orphans=True)
    if os.getppid() != runner:  # the runner died before prctl; nothing has been started yet
        os._exit(1)
    supervisor = os.getpid()
    worker = os.fork()
    if worker:
        _Supervisor(worker, runner, report).run()
    die_with_parent(signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Supervisor:
    def __init__(self, worker: int, runner: int, report: int | None) -> None:
        self.worker, self.runner, self.report = worker, runner, report
        self.status: int | None = None  # status of the worker, as from waitpid
        self.kill_at = float("inf")

    def run(self) -> None:
        """Wait until no descendant is left, then exit as the worker did."""
        while self._has_children():
            if os.getppid() != self.runner:
                self.kill_at = min(self.kill_at, time.monotonic())
            elif self.status is not None:
                self._terminate()
            seconds_left = self.kill_at - time.monotonic()
            # the remaining processes cannot be killed: they wait for a disk, or run as root
            if seconds_left < -TERM_TIMEOUT:
                break
            if seconds_left <= 0:
                self._signal_all(signal.SIGKILL)
                seconds_left = _KILL_INTERVAL
            signals = (signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD)
            received = signal.sigtimedwait(signals, min(seconds_left, 3600.0))
            if received is not None and received.si_signo == signal.SIGTERM:
                self._terminate()
        if self.report is not None and self.status is not None:
            os.write(self.report, b'{"status": %d}\n' % os.waitstatus_to_exitcode(self.status))
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
            self._signal_all(signal.SIGTERM, signal.SIGCONT)  # a suspended process gets SIGTERM when it continues

    def _signal_all(self, *kinds: signal.Signals) -> None:
        visible = descendants(os.getpid())
        for kind in kinds:
            for each in visible:
                send_signal(each, kind)
            for pid in child_pids() - {each.pid for each in visible}:
                with contextlib.suppress(PermissionError):
                    os.kill(pid, kind)  # a child that is not reaped keeps its id


def _end_as(status: int | None) -> None:
    if status is not None and os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one core dump is enough
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os._exit(1 if status is None else os.waitstatus_to_exitcode(status))


def main(argv: list[str]) -> None:
    """Run a program: RUNNER_PID FOLDER REPORT_FD STDIN_FD LIMITS PROGRAM….

    Lines of JSON to the descriptor REPORT_FD say how the program ended, or why it was not run.
    """
    runner, folder, report, stdin, plan, *program = argv
    for name in os.listdir(f"{_PROC}/self/fd"):  # noqa: PTH208
        with contextlib.suppress(OSError):  # one of them is the descriptor of the listing itself
            if int(name) > 2:
                os.set_inheritable(int(name), False)
    supervise(int(runner), int(report))
    try:
        if plan != NO_LIMITS:
            from pi_appliance.system import limits  # noqa: PLC0415 - the program replaces this process soon

            limits.enter_limits(plan)
        os.dup2(int(stdin), 0)
        os.chdir(folder)
        for kind in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these signals, and programs expect the default
            signal.signal(kind, signal.SIG_DFL)
        os.execvp(program[0], program)  # noqa: S606 - a list, not a shell command
    except OSError as error:
        _refuse(int(report), errno=error.errno or 0)
    except Exception as error:  # noqa: BLE001 - limits.py raises Unavailable
        _refuse(int(report), refused=str(error))


def _refuse(report: int, **message: int | str) -> None:
    import json  # noqa: PLC0415 - only here

    os.write(report, json.dumps(message).encode() + b"\n")
    os._exit(127)
