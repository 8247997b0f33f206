"""One child process, watched from birth to death: what it prints, what it tells, how long it may take.

The child leads its own process group. Whatever is left of the group when the child ends, or at its deadline, is ended
with it: first politely (SIGTERM), then not (SIGKILL).
"""

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

POLITE = 5.0  # seconds between SIGTERM and SIGKILL
_PR_SET_PDEATHSIG = 1
_CHUNK = 65_536
_LEFT = 32  # chunks read after the end at the most: a pipe holds one, but what escaped may go on filling it
_LONGEST_NAP = 86_400.0  # seconds; the kernel counts milliseconds in 31 bits, which is 24 days


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended."""

    status: int  # as in subprocess: negative for the signal that ended it
    timed_out: bool = False
    stopped: int = 0  # the signal that asked us to stop it


class Stop:
    """Whether this process was asked to stop: SIGTERM, SIGINT and SIGHUP, caught while the block of `caught` runs."""

    def __init__(self) -> None:
        self.signal = 0
        self.reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    @contextlib.contextmanager
    def caught(self) -> Iterator["Stop"]:
        """Catch the signals; afterwards they do what they did before."""
        kinds = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        before = {kind: signal.signal(kind, self._note) for kind in kinds}
        try:
            yield self
        finally:
            for kind, action in before.items():
                signal.signal(kind, action)
            os.close(self.reader)
            os.close(self._writer)

    def _note(self, number: int, _: object) -> None:
        self.signal = self.signal or number
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b".")

    def wait(self, seconds: float) -> bool:
        """Wait SECONDS, or less if asked to stop. Say whether it was."""
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.reader, selectors.EVENT_READ)
            while not self.signal and (left := end - time.monotonic()) > 0:
                selector.select(min(left, _LONGEST_NAP))
        return bool(self.signal)


def watch(
    argv: Sequence[str],
    *,
    stop: Stop,
    seconds: float,
    on_output: Callable[[bytes], None],
    on_line: Callable[[bytes], None],
    keep_open: Sequence[int] = (),
) -> Ended:
    """Run ARGV for at most SECONDS and return how it ended.

    What it prints goes to ON_OUTPUT as it comes. The file descriptor that replaces "{fd}" in ARGV takes lines from it;
    each goes to ON_LINE. KEEP_OPEN are descriptors it inherits. Raises OSError if it cannot be started.
    """
    teller_read, teller_write = os.pipe2(os.O_CLOEXEC)
    try:
        child = subprocess.Popen(
            [word.replace("{fd}", str(teller_write)) for word in argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(teller_write, *keep_open),
        )
    except OSError:
        os.close(teller_read)
        raise
    finally:
        os.close(teller_write)
    return _Watch(child, teller_read, stop, on_output, on_line).until_it_ends(time.monotonic() + seconds)


class _Watch:
    """The loop over everything the child may do, and everything that may happen to it."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        teller: int,
        stop: Stop,
        on_output: Callable[[bytes], None],
        on_line: Callable[[bytes], None],
    ) -> None:
        assert child.stdout is not None
        self.child, self.teller, self.stop, self.output = child, teller, stop, child.stdout.fileno()
        self.on_output, self.on_line = on_output, on_line
        self.part = b""  # of a line that is not whole yet
        self.timed_out, self.stopped, self.kill_at = False, 0, float("inf")

    def until_it_ends(self, deadline: float) -> Ended:
        """Return how it ended, when nothing of it is left."""
        ended = os.pidfd_open(self.child.pid)
        for number in (self.output, self.teller):
            os.set_blocking(number, False)
        try:
            with selectors.DefaultSelector() as selector:
                for number in (self.output, self.teller, ended, self.stop.reader):
                    selector.register(number, selectors.EVENT_READ)
                self._loop(selector, ended, deadline)
            self._signal(signal.SIGKILL)  # its own children; the child is not reaped yet, so the group is still its own
            status = self.child.wait()
            for number in (self.output, self.teller):
                for _ in range(_LEFT):
                    if not self._read(number):
                        break
            return Ended(status, self.timed_out, self.stopped)
        finally:
            if self.child.poll() is None:  # an error on our side must not leave it running
                self._signal(signal.SIGKILL)
                self.child.wait()
            for number in (ended, self.teller):
                os.close(number)
            assert self.child.stdout is not None
            self.child.stdout.close()

    def _loop(self, selector: selectors.BaseSelector, ended: int, deadline: float) -> None:
        while True:
            now = time.monotonic()
            if now >= self.kill_at:
                self._signal(signal.SIGKILL)
                self.kill_at = float("inf")
            elif now >= deadline and not (self.timed_out or self.stopped):
                self.timed_out = True
                self._ask_to_end(now)
            elif self.stop.signal and not (self.timed_out or self.stopped):
                self.stopped = self.stop.signal
                selector.unregister(self.stop.reader)
                self._ask_to_end(now)
            next_thing = min(self.kill_at, float("inf") if self.timed_out or self.stopped else deadline)
            timeout = min(_LONGEST_NAP, max(0.0, next_thing - now))
            for key, _ in selector.select(timeout):
                if key.fd == ended:
                    return
                if key.fd in (self.output, self.teller) and not self._read(key.fd):
                    selector.unregister(key.fd)

    def _ask_to_end(self, now: float) -> None:
        self._signal(signal.SIGTERM)
        self.kill_at = now + POLITE

    def _signal(self, kind: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.child.pid, kind)

    def _read(self, number: int) -> bool:
        """Pass on one chunk, so that one who never stops talking cannot talk a deadline away. False at the end."""
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


def die_with_parent(parent: int) -> None:
    """End this process and its group at once when PARENT, its parent, dies: however it dies."""
    signal.signal(signal.SIGHUP, lambda *_: os.killpg(0, signal.SIGKILL))
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGHUP), 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked
        os.killpg(0, signal.SIGKILL)
