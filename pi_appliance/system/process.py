"""Child processes: run one with a deadline, suspend it, and supervise its descendants.

A child leads its own process group, which is killed when the child ends. A child that calls
`supervise` ends only after all of its descendants have ended, so no process escapes.
"""

import contextlib
import ctypes
import os
import re
import resource
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

_PROC = Path("/proc")
_MAX_READS = 3  # of the process table: if /proc hides processes of other users, no reading looks consistent
_REAP_TIMEOUT = 0.2  # seconds
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


@dataclass(frozen=True, slots=True)
class Process:
    """One process, identified by its pid and its start time together."""

    pid: int
    parent: int
    start_ticks: int  # in clock ticks since the start of the machine
    is_dead: bool  # ended, but not reaped yet


def descendants(top: int) -> set[Process]:
    """Return the living descendants of the process with the id `top`."""
    for _ in range(_MAX_READS):
        table = _read_all()
        # The children of a process that died during the reading have a parent that is not in the
        # table.
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
    """Return the ids of all children, also dead ones and those hidden by ProtectProc=invisible."""
    try:
        return set(map(int, (_PROC / f"self/task/{os.getpid()}/children").read_text("ascii").split()))
    except OSError:
        return set()


def read_process(pid: int) -> Process | None:
    """Return the process `pid`, or None if it does not exist."""
    try:
        words = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
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


def reap(process: Process) -> None:
    """Wait briefly for the killed `process` to end, and reap it if it is our child."""
    with contextlib.suppress(ProcessLookupError):
        number = os.pidfd_open(process.pid)
        select.select([number], [], [], _REAP_TIMEOUT)
        os.close(number)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)


def die_with_parent(kind: signal.Signals) -> None:
    """Have the kernel send the signal `kind` to this process when its parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(kind), 0, 0, 0)


def set_child_subreaper(*, orphans: bool) -> None:
    """Make this process the new parent of descendants whose parent dies, instead of init."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)


def _read_all() -> Mapping[int, Process]:
    names = os.listdir(_PROC)  # noqa: PTH208 - three times as fast
    processes = (read_process(int(name)) for name in names if name.isdigit())
    return {each.pid: each for each in processes if each is not None}


TERM_TIMEOUT = 5.0  # seconds between SIGTERM and SIGKILL
_CHILD_TERM_TIMEOUT = TERM_TIMEOUT + 2.0  # seconds: longer than that of the supervisor in the child
_CHUNK = 65_536
_MAX_LAST_CHUNKS = 32  # read after the end: an escaped process may continue to fill the pipe
_MAX_SLEEP = 86_400.0  # seconds; the kernel counts milliseconds in 31 bits
_MAX_ROUNDS = 10  # of signalling all descendants and reading those started meanwhile
_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a child ended."""

    status: int  # as in subprocess: negative for the signal that ended it
    timed_out: bool = False
    stopped: int = 0  # the stop signal that this process received
    suspended_seconds: float = 0.0  # seconds


@dataclass(frozen=True, slots=True)
class Suspend:
    """When to suspend a child (SIGSTOP), and the callback for it."""

    reason: Callable[[], str]
    """Returns the reason to suspend the child now, or ''."""
    on_check: Callable[[str], None] = lambda _: None
    """Receives the reason at each check while suspended, and '' on resume."""
    interval: float = 15.0  # seconds between two checks


class StopSignal:
    """Whether this process received SIGTERM, SIGINT or SIGHUP in the block of `catch_signals`."""

    def __init__(self) -> None:
        self.signal = 0
        self.reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    @contextlib.contextmanager
    def catch_signals(self) -> Iterator["StopSignal"]:
        """Catch the signals for the block, then restore their handlers."""
        kinds = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {kind: signal.signal(kind, self._on_signal) for kind in kinds}
        try:
            yield self
        finally:
            for kind, action in before.items():
                signal.signal(kind, action)
            self.close()

    def close(self) -> None:
        """Close the pipe."""
        os.close(self.reader)
        os.close(self._writer)

    def _on_signal(self, number: int, _: object) -> None:
        self.signal = self.signal or number
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b".")

    def wait(self, seconds: float) -> bool:
        """Wait `seconds`, or less after a stop signal. Return whether there was one."""
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.reader, selectors.EVENT_READ)
            while not self.signal and (seconds_left := end - time.monotonic()) > 0:
                selector.select(min(seconds_left, _MAX_SLEEP))
        return bool(self.signal)


def run_child(
    argv: Sequence[str],
    *,
    stop: StopSignal,
    seconds: float,
    on_output: Callable[[bytes], None],
    on_line: Callable[[bytes], None],
    keep_open: Sequence[int] = (),
    suspend: Suspend | None = None,
) -> ProcessResult:
    """Run the command `argv` and return how it ended.

    Args:
        argv: The program and its arguments. The first "{fd}" is replaced by a file descriptor for
            `on_line`.
        stop: Ends the child when a stop signal arrives.
        seconds: The deadline, without the time in which the child was suspended.
        on_output: Receives the output, in chunks.
        on_line: Receives each line that the child writes to the descriptor.
        keep_open: Descriptors that the child inherits.
        suspend: When to suspend the descendants of the child. The child itself is their supervisor.

    Raises:
        OSError: It cannot be started.
    """
    words = list(argv)
    line_reader, line_writer = os.pipe2(os.O_CLOEXEC)
    if "{fd}" in words:
        words[words.index("{fd}")] = str(line_writer)
    set_child_subreaper(orphans=True)
    try:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(line_writer, *keep_open),
        )
        os.close(line_writer)
        line_writer = -1
        return _ChildWatcher(child, line_reader, stop, on_output, on_line, suspend).wait_for_end(seconds)
    finally:
        set_child_subreaper(orphans=False)
        os.close(line_reader)
        if line_writer >= 0:
            os.close(line_writer)


class _ChildWatcher:
    def __init__(
        self,
        child: subprocess.Popen[bytes],
        line_reader: int,
        stop: StopSignal,
        on_output: Callable[[bytes], None],
        on_line: Callable[[bytes], None],
        suspend: Suspend | None,
    ) -> None:
        assert child.stdout is not None
        self.child, self.line_reader, self.stop, self.output = child, line_reader, stop, child.stdout.fileno()
        self.on_output, self.on_line, self.suspend = on_output, on_line, suspend
        process = read_process(child.pid)
        assert process is not None  # not reaped yet
        self.start_ticks = process.start_ticks
        self.partial_line = b""
        self.timed_out, self.stopped, self.deadline, self.kill_at = False, 0, _NEVER, _NEVER
        self.check_at, self.suspended_seconds, self.seconds_left = _NEVER, 0.0, 0.0
        self.suspended_since: float | None = None

    def wait_for_end(self, seconds: float) -> ProcessResult:
        """Supervise the child until it and its descendants have ended."""
        self.deadline = time.monotonic() + seconds
        if self.suspend is not None:
            self.check_at = time.monotonic() + self.suspend.interval
        ended = os.pidfd_open(self.child.pid)
        for number in (self.output, self.line_reader):
            os.set_blocking(number, False)
        try:
            with selectors.DefaultSelector() as selector:
                for number in (self.output, self.line_reader, ended, self.stop.reader):
                    selector.register(number, selectors.EVENT_READ)
                self._loop(selector, ended)
            self._kill_group()  # the child is not reaped yet, so the group is still its own
            status = self.child.wait()
            self._count_suspension(time.monotonic())
            if status == -signal.SIGKILL:
                self._kill_orphans()
            for number in (self.output, self.line_reader):
                for _ in range(_MAX_LAST_CHUNKS):
                    if not self._read(number):
                        break
            return ProcessResult(status, self.timed_out, self.stopped, self.suspended_seconds)
        finally:
            if self.child.poll() is None:  # an error on our side must not leave it running
                self._kill_group()
                self.child.wait()
                self._kill_orphans()
            os.close(ended)
            assert self.child.stdout is not None
            self.child.stdout.close()

    def _loop(self, selector: selectors.BaseSelector, ended: int) -> None:
        while True:
            now = time.monotonic()
            self._run_due_actions(now)
            timeout = min(_MAX_SLEEP, max(0.0, min(self.kill_at, self.deadline, self.check_at) - now))
            for key, _ in selector.select(timeout):
                if key.fd == ended:
                    return
                if key.fd == self.stop.reader or not self._read(
                    key.fd
                ):  # one stop signal, or the end of a pipe, is enough
                    selector.unregister(key.fd)

    def _run_due_actions(self, now: float) -> None:
        if now >= self.kill_at:
            self._kill_group()
            self.kill_at = _NEVER
        elif self.timed_out or self.stopped:
            return
        elif self.stop.signal:
            self.stopped = self.stop.signal
            self._terminate_child(now)
        elif now >= self.deadline:
            self.timed_out = True
            self._terminate_child(now)
        elif now >= self.check_at:
            self._check_suspension(now)

    def _check_suspension(self, now: float) -> None:
        assert self.suspend is not None
        self.check_at = now + self.suspend.interval
        reason, was_suspended = self.suspend.reason(), self.suspended_since is not None
        if reason and not was_suspended:
            self.suspended_since, self.seconds_left, self.deadline = now, self.deadline - now, _NEVER
        if reason:
            self._stop_all()
        elif was_suspended:
            self._count_suspension(now)
            self.deadline = now + self.seconds_left
            for each in descendants(self.child.pid):
                send_signal(each, signal.SIGCONT)
        if reason or was_suspended:
            self.suspend.on_check(reason)

    def _count_suspension(self, now: float) -> None:
        if self.suspended_since is not None:
            self.suspended_seconds += now - self.suspended_since
            self.suspended_since = None

    def _stop_all(self) -> None:
        stopped = set[int]()
        for _ in range(_MAX_ROUNDS):
            new = [each for each in descendants(self.child.pid) if each.pid not in stopped]
            for each in new:
                send_signal(each, signal.SIGSTOP)
            if not new:
                return
            stopped |= {each.pid for each in new}

    def _terminate_child(self, now: float) -> None:
        self._count_suspension(now)
        self.kill_at, self.deadline, self.check_at = now + _CHILD_TERM_TIMEOUT, _NEVER, _NEVER
        with contextlib.suppress(ProcessLookupError):
            self.child.send_signal(signal.SIGTERM)

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child.pid, signal.SIGKILL)

    def _kill_orphans(self) -> None:
        """Kill processes outside the group of a killed supervisor, which are our children now."""
        for _ in range(_MAX_ROUNDS):
            orphans = [each for each in descendants(os.getpid()) if each.start_ticks >= self.start_ticks]
            for each in orphans:
                send_signal(each, signal.SIGKILL)
            for each in orphans:
                reap(each)
            if not orphans:
                return

    def _read(self, number: int) -> bool:
        """Read one chunk only, so that endless output cannot delay a deadline. False at the end."""
        try:
            chunk = os.read(number, _CHUNK)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        if number == self.output:
            self.on_output(chunk)
            return True
        *lines, self.partial_line = (self.partial_line + chunk).split(b"\n")
        for line in lines:
            self.on_line(line)
        return True


MAX_TAIL = 4_096  # bytes at the end of an output that are searched for its last line
MAX_LINE = 200  # characters
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-_])")  # colours, titles, cursor


def last_line(output: bytes) -> str:
    """Return the last line of `output` that is not empty; '' if it is not printable text."""
    text = _ESCAPES.sub("", output.decode("utf-8", "replace"))
    for line in reversed(re.split(r"[\r\n]+", text)):
        words = " ".join(line.split())
        if words:
            # A leading U+FFFD is the cut start of a very long line.
            return (
                _shorten(words) if all(map(str.isprintable, words)) and "\ufffd" not in words.lstrip("\ufffd") else ""
            )
    return ""


def _shorten(words: str) -> str:
    words = words.lstrip("\ufffd")
    return words if len(words) <= MAX_LINE else words[: MAX_LINE - 1] + "…"


_SHELL_OFFSET = 128  # a shell adds it to the number of the signal that ended a program
_HINTS = {126: "a program could not be executed", 127: "a program was not found"}


def describe_exit_status(status: int) -> str:
    """Describe the exit status of a program, or its signal if `status` is negative."""
    if status < 0:
        return f"was ended by {_signal_name(-status)}"
    hint = _HINTS.get(status, "")
    if _SHELL_OFFSET < status <= _SHELL_OFFSET + signal.SIGRTMIN:
        hint = f"a shell reports {_signal_name(status - _SHELL_OFFSET)}"
    return f"ended with status {status}" + (f" ({hint})" if hint else "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of the real-time signals have numbers only
        return f"signal {number}"


_KILL_INTERVAL = 1.0  # seconds


def supervise(runner: int) -> None:
    """Fork: the child returns as the worker, and this process becomes its supervisor."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    die_with_parent(signal.SIGHUP)
    set_child_subreaper(orphans=True)
    if os.getppid() != runner:  # it died before prctl; nothing has been started yet
        os._exit(1)
    supervisor = os.getpid()
    worker = os.fork()
    if worker:
        _Supervisor(worker, runner).run()
    die_with_parent(signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Supervisor:
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
            seconds_left = self.kill_at - time.monotonic()
            if seconds_left < -TERM_TIMEOUT:  # the others cannot be killed: they wait for a disk, or run as root
                break
            if seconds_left <= 0:
                self._signal_all(signal.SIGKILL)
                seconds_left = _KILL_INTERVAL
            signals = (signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD)
            received = signal.sigtimedwait(signals, min(seconds_left, 3600.0))
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
            self._signal_all(signal.SIGTERM, signal.SIGCONT)  # a suspended process gets SIGTERM when it continues

    def _signal_all(self, *kinds: signal.Signals) -> None:
        visible = descendants(os.getpid())
        for kind in kinds:
            for each in visible:
                send_signal(each, kind)
            for pid in child_pids() - {each.pid for each in visible}:
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
    """Run a program under supervision: RUNNER_PID FOLDER ERROR_FD HIDDEN_VARIABLES PROGRAM…."""
    runner, folder, error_fd, hidden, *program = argv
    os.set_inheritable(int(error_fd), False)
    supervise(int(runner))
    for name in hidden.split(","):
        os.environ.pop(name, None)
    try:
        os.chdir(folder)
        os.execvp(program[0], program)  # noqa: S606 - a list, not a shell command
    except OSError as error:
        os.write(int(error_fd), f"{error.strerror}\n".encode())
        os._exit(127)


if __name__ == "__main__":
    main(sys.argv[1:])
