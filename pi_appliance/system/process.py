"""Supervision of one child process: its output, its deadline, and its suspension.

The child leads its own process group, which is killed when the child ends. A child that runs
guard.py ends only after all of its descendants have ended, so no process escapes.
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
_TORN = 3  # readings of the table at the most; where /proc hides other users' processes, every one looks torn
_MOMENT = 0.2  # seconds
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


@dataclass(frozen=True, slots=True)
class Process:
    """One process, identified by its pid and its start time together."""

    pid: int
    parent: int
    start_ticks: int  # in ticks of the kernel
    is_dead: bool  # and not yet taken leave of


def descendants(top: int) -> set[Process]:
    """Return the living descendants of the process `top`."""
    for _ in range(_TORN):
        table = _table()
        # One that died while we read handed its children on: then they have a parent that the table lacks.
        if all(each.parent in table or not each.parent for each in table.values()):
            break
    found, ahead = set[Process](), [top]
    children: dict[int, list[Process]] = {}
    for each in table.values():
        children.setdefault(each.parent, []).append(each)
    while ahead:
        more = children.get(ahead.pop(), [])
        found.update(more)
        ahead += [each.pid for each in more]
    return {each for each in found if not each.is_dead}


def child_pids() -> set[int]:
    """Return the numbers of this process's own children, the dead included, where the kernel tells (PROC_CHILDREN).

    Also of those that hide in /proc, as ssh-agent does where ProtectProc=invisible shows what we could debug only.
    """
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
        select.select([number], [], [], _MOMENT)
        os.close(number)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(process.pid, os.WNOHANG)


def die_with_parent(kind: signal.Signals) -> None:
    """Have the kernel send the signal `kind` to this process when its parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(kind), 0, 0, 0)


def set_child_subreaper(*, orphans: bool) -> None:
    """Become the parent of every process below this one whose own parent dies; or leave them to the machine's first."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)


def _table() -> Mapping[int, Process]:
    found = (read_process(int(name)) for name in os.listdir(_PROC) if name.isdigit())  # noqa: PTH208 - thrice as fast
    return {each.pid: each for each in found if each is not None}


TERM_TIMEOUT = 5.0  # seconds between SIGTERM and SIGKILL
_PATIENCE = TERM_TIMEOUT + 2.0  # seconds between SIGTERM and SIGKILL: a guard has its own, and is waited for
_CHUNK = 65_536
_LEFT = 32  # chunks read after the end at the most: a pipe holds one, but what escaped may go on filling it
_LONGEST_NAP = 86_400.0  # seconds; the kernel counts milliseconds in 31 bits, which is 24 days
_ROUNDS = 10  # of stopping all there is and looking for what was started meanwhile
_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a child ended."""

    status: int  # as in subprocess: negative for the signal that ended it
    timed_out: bool = False
    stopped: int = 0  # the signal that asked us to stop it
    suspended_seconds: float = 0.0  # seconds


@dataclass(frozen=True, slots=True)
class Suspend:
    """When to suspend a child (SIGSTOP), and the callback for it."""

    reason: Callable[[], str]
    """Returns the reason to suspend the child now, or ''."""
    on_check: Callable[[str], None] = lambda _: None
    """Receives the reason at each check while suspended, and '' on resume."""
    interval: float = 15.0  # seconds between two looks


class StopSignal:
    """Whether this process received SIGTERM, SIGINT or SIGHUP while the block of `installed` runs."""

    def __init__(self) -> None:
        self.signal = 0
        self.reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    @contextlib.contextmanager
    def installed(self) -> Iterator["StopSignal"]:
        """Catch the signals; afterwards they do what they did before."""
        kinds = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {kind: signal.signal(kind, self._note) for kind in kinds}
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

    def _note(self, number: int, _: object) -> None:
        self.signal = self.signal or number
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b".")

    def wait(self, seconds: float) -> bool:
        """Wait `seconds`, or less after a stop signal. Return whether there was one."""
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.reader, selectors.EVENT_READ)
            while not self.signal and (left := end - time.monotonic()) > 0:
                selector.select(min(left, _LONGEST_NAP))
        return bool(self.signal)


def run_child(
    argv: Sequence[str],
    *,
    stop: StopSignal,
    seconds: float,
    on_output: Callable[[bytes], None],
    on_line: Callable[[bytes], None],
    keep_open: Sequence[int] = (),
    hold: Suspend | None = None,
) -> ProcessResult:
    """Run ARGV for at most SECONDS and return how it ended; the time that it was held does not count.

    What it prints goes to ON_OUTPUT as it comes. The file descriptor that replaces the first "{fd}" of ARGV takes lines
    from it; each goes to ON_LINE. KEEP_OPEN are descriptors it inherits. HOLD holds what the child has started, not the
    child: that is its guard. Raises OSError if it cannot be started.
    """
    words = list(argv)
    teller_read, teller_write = os.pipe2(os.O_CLOEXEC)
    if "{fd}" in words:
        words[words.index("{fd}")] = str(teller_write)
    set_child_subreaper(orphans=True)
    try:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(teller_write, *keep_open),
        )
        os.close(teller_write)
        teller_write = -1
        return _Watch(child, teller_read, stop, on_output, on_line, hold).until_it_ends(seconds)
    finally:
        set_child_subreaper(orphans=False)
        os.close(teller_read)
        if teller_write >= 0:
            os.close(teller_write)


class _Watch:
    """The event loop that supervises the child."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        teller: int,
        stop: StopSignal,
        on_output: Callable[[bytes], None],
        on_line: Callable[[bytes], None],
        hold: Suspend | None,
    ) -> None:
        assert child.stdout is not None
        self.child, self.teller, self.stop, self.output = child, teller, stop, child.stdout.fileno()
        self.on_output, self.on_line, self.hold = on_output, on_line, hold
        me = read_process(child.pid)
        assert me is not None  # not reaped yet
        self.born = me.start_ticks
        self.part = b""  # of a line that is not whole yet
        self.timed_out, self.stopped, self.deadline, self.kill_at = False, 0, _NEVER, _NEVER
        self.look_at, self.held, self.left = _NEVER, 0.0, 0.0  # left: of its time, when it was held
        self.held_since: float | None = None

    def until_it_ends(self, seconds: float) -> ProcessResult:
        """Supervise the child until it and its descendants have ended."""
        self.deadline = time.monotonic() + seconds
        if self.hold is not None:
            self.look_at = time.monotonic() + self.hold.interval
        ended = os.pidfd_open(self.child.pid)
        for number in (self.output, self.teller):
            os.set_blocking(number, False)
        try:
            with selectors.DefaultSelector() as selector:
                for number in (self.output, self.teller, ended, self.stop.reader):
                    selector.register(number, selectors.EVENT_READ)
                self._loop(selector, ended)
            self._kill_group()  # the child is not reaped yet, so the group is still its own
            status = self.child.wait()
            self._count_hold(time.monotonic())
            if status == -signal.SIGKILL:
                self._kill_orphans()
            for number in (self.output, self.teller):
                for _ in range(_LEFT):
                    if not self._read(number):
                        break
            return ProcessResult(status, self.timed_out, self.stopped, self.held)
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
            self._act(now)
            timeout = min(_LONGEST_NAP, max(0.0, min(self.kill_at, self.deadline, self.look_at) - now))
            for key, _ in selector.select(timeout):
                if key.fd == ended:
                    return
                if key.fd == self.stop.reader or not self._read(key.fd):  # once is enough, of either
                    selector.unregister(key.fd)

    def _act(self, now: float) -> None:
        """Do what is due."""
        if now >= self.kill_at:
            self._kill_group()
            self.kill_at = _NEVER
        elif self.timed_out or self.stopped:
            return
        elif self.stop.signal:
            self.stopped = self.stop.signal
            self._ask_to_end(now)
        elif now >= self.deadline:
            self.timed_out = True
            self._ask_to_end(now)
        elif now >= self.look_at:
            self._look(now)

    def _look(self, now: float) -> None:
        """Suspend or resume the child."""
        assert self.hold is not None
        self.look_at = now + self.hold.interval
        why, was_held = self.hold.reason(), self.held_since is not None
        if why and not was_held:
            self.held_since, self.left, self.deadline = now, self.deadline - now, _NEVER
        if why:
            self._stop_all()
        elif was_held:
            self._count_hold(now)
            self.deadline = now + self.left
            for each in descendants(self.child.pid):
                send_signal(each, signal.SIGCONT)
        if why or was_held:
            self.hold.on_check(why)

    def _count_hold(self, now: float) -> None:
        if self.held_since is not None:
            self.held += now - self.held_since
            self.held_since = None

    def _stop_all(self) -> None:
        stopped = set[int]()
        for _ in range(_ROUNDS):
            new = [each for each in descendants(self.child.pid) if each.pid not in stopped]
            for each in new:
                send_signal(each, signal.SIGSTOP)
            if not new:
                return
            stopped |= {each.pid for each in new}

    def _ask_to_end(self, now: float) -> None:
        self._count_hold(now)
        self.kill_at, self.deadline, self.look_at = now + _PATIENCE, _NEVER, _NEVER
        with contextlib.suppress(ProcessLookupError):
            self.child.send_signal(signal.SIGTERM)

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child.pid, signal.SIGKILL)

    def _kill_orphans(self) -> None:
        """Kill processes outside the group of a killed guard, now our children."""
        for _ in range(_ROUNDS):
            left = [each for each in descendants(os.getpid()) if each.start_ticks >= self.born]
            for each in left:
                send_signal(each, signal.SIGKILL)
            for each in left:
                reap(each)
            if not left:
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
        *lines, self.part = (self.part + chunk).split(b"\n")
        for line in lines:
            self.on_line(line)
        return True


MAX_TAIL = 4_096  # bytes of the end of an output that are enough to find it in
MAX_LINE = 200  # characters
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-_])")  # colours, titles, cursor


def last_line(output: bytes) -> str:
    """Return the last line of OUTPUT that says something: printable, on one line; '' if that is no text."""
    text = _ESCAPES.sub("", output.decode("utf-8", "replace"))
    for line in reversed(re.split(r"[\r\n]+", text)):
        words = " ".join(line.split())
        if words:
            # A leading U+FFFD is the cut start of a very long line.
            return _short(words) if all(map(str.isprintable, words)) and "\ufffd" not in words.lstrip("\ufffd") else ""
    return ""


def _short(words: str) -> str:
    words = words.lstrip("\ufffd")
    return words if len(words) <= MAX_LINE else words[: MAX_LINE - 1] + "…"


_SHELL = 128  # a shell adds it to the signal that ended what it ran
_HINTS = {
    126: "a program that it wanted to run may not be executed",
    127: "a program that it wanted to run is not there",
}


def describe_exit_status(status: int) -> str:
    """Say how a program ended whose STATUS is its exit status, or negative for the signal that ended it."""
    if status < 0:
        return f"was ended by {_name(-status)}"
    hint = _HINTS.get(status, "")
    if _SHELL < status <= _SHELL + signal.SIGRTMIN:
        hint = f"shells say so of {_name(status - _SHELL)}"
    return f"ended with status {status}" + (f" ({hint})" if hint else "")


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # most of the real-time signals have numbers only
        return f"signal {number}"


_KILL_INTERVAL = 1.0  # seconds


def supervise(runner: int) -> None:
    """Fork. The new process returns as the worker; this one, a child of process `runner`, becomes its supervisor."""
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
        seen = descendants(os.getpid())
        for kind in kinds:
            for each in seen:
                send_signal(each, kind)
            for pid in child_pids() - {each.pid for each in seen}:
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
