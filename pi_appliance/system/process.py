"""One child process, watched from birth to death: what it prints, what it tells, how long it may take, when it is held.

The child leads its own process group. Whatever is left of the group when the child ends is killed with it. A child that
stands guard (guard.py) ends only when nothing below it is left: then nothing escapes.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pi_appliance.system import descendants
from pi_appliance.system.guard import POLITE

_PATIENCE = POLITE + 2.0  # seconds between SIGTERM and SIGKILL: a guard has its own, and is waited for
_CHUNK = 65_536
_LEFT = 32  # chunks read after the end at the most: a pipe holds one, but what escaped may go on filling it
_LONGEST_NAP = 86_400.0  # seconds; the kernel counts milliseconds in 31 bits, which is 24 days
_ROUNDS = 10  # of stopping all there is and looking for what was started meanwhile
_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended."""

    status: int  # as in subprocess: negative for the signal that ended it
    timed_out: bool = False
    stopped: int = 0  # the signal that asked us to stop it
    held: float = 0.0  # seconds


@dataclass(frozen=True, slots=True)
class Hold:
    """When a child is held (SIGSTOP), and who hears of it."""

    why: Callable[[], str]
    """Says why it should be held at this moment; '' if it need not be."""
    on_look: Callable[[str], None] = lambda _: None
    """Hears that at every look while it is held, and '' when it goes on."""
    every: float = 15.0  # seconds between two looks


class Stop:
    """Whether this process was asked to stop: SIGTERM, SIGINT and SIGHUP, caught while the block of `caught` runs.

    If it is IMPATIENT, a second SIGINT interrupts as Python does: for work that may not hear of the first one.
    """

    def __init__(self, *, impatient: bool = False) -> None:
        self.signal = 0
        self.impatient = impatient
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
        if self.impatient and self.signal == number == signal.SIGINT:
            raise KeyboardInterrupt
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
    hold: Hold | None = None,
) -> Ended:
    """Run ARGV for at most SECONDS and return how it ended; the time that it was held does not count.

    What it prints goes to ON_OUTPUT as it comes. The file descriptor that replaces the first "{fd}" of ARGV takes lines
    from it; each goes to ON_LINE. KEEP_OPEN are descriptors it inherits. HOLD holds what the child has started, not the
    child: that is its guard. Raises OSError if it cannot be started.
    """
    words = list(argv)
    teller_read, teller_write = os.pipe2(os.O_CLOEXEC)
    if "{fd}" in words:
        words[words.index("{fd}")] = str(teller_write)
    descendants.adopt(orphans=True)
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
        descendants.adopt(orphans=False)
        os.close(teller_read)
        if teller_write >= 0:
            os.close(teller_write)


class _Watch:
    """The loop over everything the child may do, and everything that may happen to it."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        teller: int,
        stop: Stop,
        on_output: Callable[[bytes], None],
        on_line: Callable[[bytes], None],
        hold: Hold | None,
    ) -> None:
        assert child.stdout is not None
        self.child, self.teller, self.stop, self.output = child, teller, stop, child.stdout.fileno()
        self.on_output, self.on_line, self.hold = on_output, on_line, hold
        me = descendants.look(child.pid)
        assert me is not None  # not reaped yet
        self.born = me.born
        self.part = b""  # of a line that is not whole yet
        self.timed_out, self.stopped, self.deadline, self.kill_at = False, 0, _NEVER, _NEVER
        self.look_at, self.held, self.left = _NEVER, 0.0, 0.0  # left: of its time, when it was held
        self.held_since: float | None = None

    def until_it_ends(self, seconds: float) -> Ended:
        """Return how it ended, when nothing of it is left."""
        self.deadline = time.monotonic() + seconds
        if self.hold is not None:
            self.look_at = time.monotonic() + self.hold.every
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
            return Ended(status, self.timed_out, self.stopped, self.held)
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
        """Hold it or let it go on, as the moment wants."""
        assert self.hold is not None
        self.look_at = now + self.hold.every
        why, was_held = self.hold.why(), self.held_since is not None
        if why and not was_held:
            self.held_since, self.left, self.deadline = now, self.deadline - now, _NEVER
        if why:
            self._stop_all()
        elif was_held:
            self._count_hold(now)
            self.deadline = now + self.left
            for each in descendants.below(self.child.pid):
                descendants.tell(each, signal.SIGCONT)
        if why or was_held:
            self.hold.on_look(why)

    def _count_hold(self, now: float) -> None:
        if self.held_since is not None:
            self.held += now - self.held_since
            self.held_since = None

    def _stop_all(self) -> None:
        stopped = set[int]()
        for _ in range(_ROUNDS):
            new = [each for each in descendants.below(self.child.pid) if each.pid not in stopped]
            for each in new:
                descendants.tell(each, signal.SIGSTOP)
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
        """Kill what had left the group of a guard that was killed itself: it is ours now."""
        for _ in range(_ROUNDS):
            left = [each for each in descendants.below(os.getpid()) if each.born >= self.born]
            for each in left:
                descendants.tell(each, signal.SIGKILL)
            for each in left:
                descendants.bury(each)
            if not left:
                return

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
