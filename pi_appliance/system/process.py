"""Child processes: run one with a deadline, and suspend it.

A child leads its own process group, which is killed when the child ends. A child that calls
`supervise` (system/process_tree.py) ends only after all of its descendants, so no process escapes.
"""

import contextlib
import json
import os
import re
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.system.process_tree import (
    NO_LIMITS,
    TERM_TIMEOUT,
    Process,
    descendants,
    read_process,
    send_signal,
    set_child_subreaper,
)

_REAP_TIMEOUT = 0.2  # seconds to wait until a killed process has ended


def reap(process: Process) -> None:
    """Wait briefly for the killed `process` to end, and reap it if it is our child."""
    with contextlib.suppress(ProcessLookupError):
        number = os.pidfd_open(process.pid)
        select.select([number], [], [], _REAP_TIMEOUT)
        os.close(number)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)


_CHILD_TERM_TIMEOUT = TERM_TIMEOUT + 2.0  # seconds: longer than the timeout of the supervisor in the child
_CHUNK = 65_536
_MAX_LAST_CHUNKS = 32  # chunks read after the end: an escaped process may go on filling the pipe
_MAX_SLEEP = 86_400.0  # seconds; the kernel counts milliseconds in 31 bits
_MAX_ROUNDS = 10  # rounds of signalling all descendants; each reads those that were started meanwhile
_NEVER = float("inf")
LONG_WAIT_AFTER = 10.0  # seconds; for a shorter wait, starting another process is not worth it


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


@dataclass(frozen=True, slots=True)
class Child:
    """A running child of this process, also after this process has executed another program."""

    pid: int
    output: int
    """The descriptor of the pipe with its output."""
    lines: int
    """The descriptor of the pipe with its lines."""
    deadline: float  # seconds of the monotonic clock


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


def run_child(  # noqa: PLR0913 - all by name
    argv: Sequence[str],
    *,
    stop: StopSignal,
    seconds: float,
    on_output: Callable[[bytes], None],
    on_line: Callable[[bytes], None],
    keep_open: Sequence[int] = (),
    suspend: Suspend | None = None,
    environment: Mapping[str, str] | None = None,
    on_long_wait: Callable[[Child], None] | None = None,
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
        environment: Its environment; without it, that of this process.
        on_long_wait: Called once the child runs for `LONG_WAIT_AFTER` and has time left. It may
            execute another program, whose `watch_child` continues.

    Raises:
        OSError: It cannot be started.
    """
    words = list(argv)
    pipes = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
    (output, output_writer), (lines, line_writer) = pipes
    if "{fd}" in words:
        words[words.index("{fd}")] = str(line_writer)
    set_child_subreaper(orphans=True)
    try:
        started = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output_writer,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(line_writer, *keep_open),
            env=environment,
        )
    except BaseException:
        set_child_subreaper(orphans=False)
        os.close(output)
        os.close(lines)
        raise
    finally:
        os.close(output_writer)
        os.close(line_writer)
    child = Child(started.pid, output, lines, time.monotonic() + seconds)
    ended = watch_child(
        child, stop=stop, on_output=on_output, on_line=on_line, suspend=suspend, on_long_wait=on_long_wait
    )
    started.returncode = ended.status  # it was reaped by its id, so Popen does not know the status
    return ended


def watch_child(
    child: Child,
    *,
    stop: StopSignal,
    on_output: Callable[[bytes], None],
    on_line: Callable[[bytes], None],
    suspend: Suspend | None = None,
    on_long_wait: Callable[[Child], None] | None = None,
) -> ProcessResult:
    """Watch the running `child` to its end, as `run_child` does with the one that it starts."""
    try:
        return _ChildWatcher(child, stop, on_output, on_line, suspend, on_long_wait).wait_for_end()
    finally:
        set_child_subreaper(orphans=False)
        os.close(child.output)
        os.close(child.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program to run under a supervisor."""

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    stdin: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramResult:
    """How a program ended. If only `process` is set, the supervisor of the program was killed."""

    process: ProcessResult
    status: int | None = None  # exit status, as in subprocess; None if it is unknown
    error: OSError | None = None  # why it could not be executed
    refusal: str = ""  # why its limits could not be set


def small_module(name: str) -> list[str]:
    """Return the command that runs the module `name` of this package without importing the rest."""
    path = f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})"
    code = f"import sys; {path}; from pi_appliance.system.{name} import main; main(sys.argv[1:])"
    return [sys.executable, "-I", "-S", "-c", code]


def run_program(  # noqa: PLR0913 - all by name
    program: Program,
    *,
    stop: StopSignal,
    seconds: float,
    on_output: Callable[[bytes], None],
    plan: str = NO_LIMITS,
    keep_open: Sequence[int] = (),
    suspend: Suspend | None = None,
    on_long_wait: Callable[[Child], None] | None = None,
) -> ProgramResult:
    """Run `program` under a small supervisor, and return how it ended.

    Args:
        program: The program.
        stop: Ends it when a stop signal arrives.
        seconds: The deadline, as for `run_child`.
        on_output: Receives the output, in chunks.
        plan: The limits, as for `enter_limits`.
        keep_open: Descriptors that the supervisor inherits, and the program does not.
        suspend: When to suspend it.
        on_long_wait: Called when the program runs for a long time, as by `run_child`. It may
            execute another program, whose `watch_program` continues.

    Raises:
        OSError: The supervisor cannot be started.
    """
    lines: list[bytes] = []
    stdin = os.memfd_create("stdin")
    try:
        with open(stdin, "wb", closefd=False) as file:
            file.write(program.stdin)
        os.lseek(stdin, 0, os.SEEK_SET)
        ended = run_child(
            [
                *(*small_module("process_tree"), str(os.getpid()), str(program.folder)),
                *("{fd}", str(stdin), plan, *program.argv),
            ],
            stop=stop,
            seconds=seconds,
            on_output=on_output,
            on_line=lines.append,
            keep_open=(stdin, *keep_open),
            suspend=suspend,
            environment=program.environment,
            on_long_wait=_unless_reported(lines, on_long_wait),
        )
    finally:
        os.close(stdin)
    return _to_program_result(ended, lines)


def watch_program(
    child: Child,
    *,
    stop: StopSignal,
    on_output: Callable[[bytes], None],
    on_long_wait: Callable[[Child], None] | None = None,
) -> ProgramResult:
    """Watch a running program to its end, as `run_program` does.

    `child` is its supervisor process.
    """
    lines: list[bytes] = []
    ended = watch_child(
        child,
        stop=stop,
        on_output=on_output,
        on_line=lines.append,
        on_long_wait=_unless_reported(lines, on_long_wait),
    )
    return _to_program_result(ended, lines)


def _unless_reported(
    lines: Sequence[bytes], on_long_wait: Callable[[Child], None] | None
) -> Callable[[Child], None] | None:
    """Return `on_long_wait` for a program without a report yet, which would be lost."""
    return None if on_long_wait is None else lambda child: None if lines else on_long_wait(child)


def _to_program_result(ended: ProcessResult, lines: Sequence[bytes]) -> ProgramResult:
    report: dict[str, int | str] = {}
    for line in reversed(lines):  # the newest line counts
        report = json.loads(line)
    status, errno, refusal = (report.get(name) for name in ("status", "errno", "refused"))
    return ProgramResult(
        process=ended,
        status=None if status is None else int(status),
        error=OSError(errno, os.strerror(int(errno))) if errno is not None else None,
        refusal=str(refusal or ""),
    )


class _ChildWatcher:
    def __init__(
        self,
        child: Child,
        stop: StopSignal,
        on_output: Callable[[bytes], None],
        on_line: Callable[[bytes], None],
        suspend: Suspend | None,
        on_long_wait: Callable[[Child], None] | None,
    ) -> None:
        self.child, self.stop = child, stop
        self.on_output, self.on_line, self.suspend, self.on_long_wait = on_output, on_line, suspend, on_long_wait
        process = read_process(child.pid)
        assert process is not None  # the child has not been reaped yet
        self.start_ticks = process.start_ticks
        self.partial_line = b""
        self.status: int | None = None
        self.timed_out, self.stopped, self.deadline, self.kill_at = False, 0, child.deadline, _NEVER
        self.long_wait_at = _NEVER if on_long_wait is None else time.monotonic() + LONG_WAIT_AFTER
        self.check_at, self.suspended_seconds, self.seconds_left = _NEVER, 0.0, 0.0
        self.suspended_since: float | None = None

    def wait_for_end(self) -> ProcessResult:
        """Supervise the child until it and its descendants have ended."""
        if self.suspend is not None:
            self.check_at = time.monotonic() + self.suspend.interval
        ended = os.pidfd_open(self.child.pid)
        for number in (self.child.output, self.child.lines):
            os.set_blocking(number, False)
        try:
            with selectors.DefaultSelector() as selector:
                for number in (self.child.output, self.child.lines, ended, self.stop.reader):
                    selector.register(number, selectors.EVENT_READ)
                self._loop(selector, ended)
            self._kill_group()  # the child is not reaped yet, so no other process has its id
            self.status = status = self._reap()
            self._count_suspension(time.monotonic())
            if status == -signal.SIGKILL:
                self._kill_orphans()
            for number in (self.child.output, self.child.lines):
                for _ in range(_MAX_LAST_CHUNKS):
                    if not self._read(number):
                        break
            return ProcessResult(status, self.timed_out, self.stopped, self.suspended_seconds)
        finally:
            if self.status is None:  # after an error on our side, the child must not go on
                self._kill_group()
                self._reap()
                self._kill_orphans()
            os.close(ended)

    def _loop(self, selector: selectors.BaseSelector, ended: int) -> None:
        while True:
            now = time.monotonic()
            self._run_due_actions(now)
            next_action = min(self.kill_at, self.deadline, self.check_at, self.long_wait_at)
            timeout = min(_MAX_SLEEP, max(0.0, next_action - now))
            for key, _ in selector.select(timeout):
                if key.fd == ended:
                    return
                if key.fd == self.stop.reader or not self._read(
                    key.fd
                ):  # a stop signal, or the end of a pipe, ends the wait
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
        elif now >= self.long_wait_at:
            self.long_wait_at = _NEVER
            if self.on_long_wait is not None and self.deadline - now > LONG_WAIT_AFTER and not self.partial_line:
                self.on_long_wait(self.child)

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
        self.long_wait_at = _NEVER
        os.kill(self.child.pid, signal.SIGTERM)  # the child is not reaped yet, so no other process has its id

    def _reap(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.child.pid, 0)[1])

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
        """Read only one chunk, so that endless output cannot delay a deadline.

        The result is False at the end of the output.
        """
        try:
            chunk = os.read(number, _CHUNK)
        except BlockingIOError:
            return True
        if not chunk:
            return False
        if number == self.child.output:
            self.on_output(chunk)
            return True
        *lines, self.partial_line = (self.partial_line + chunk).split(b"\n")
        for line in lines:
            self.on_line(line)
        return True


MAX_TAIL = 4_096  # bytes at the end of an output that are searched for its last line
MAX_LINE = 200  # characters of a last line of output
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-_])")  # colours, titles, cursor


def last_line(output: bytes) -> str:
    """Return the last line of `output` that is not empty; '' if it is not printable text."""
    text = _ESCAPES.sub("", output.decode("utf-8", "replace"))
    for line in reversed(re.split(r"[\r\n]+", text)):
        words = " ".join(line.split())
        if words:
            # U+FFFD at the beginning is the cut start of a very long line.
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
    except ValueError:  # most real-time signals have no name
        return f"signal {number}"
