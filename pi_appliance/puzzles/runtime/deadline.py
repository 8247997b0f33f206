"""When a search ends: its deadline, the signals that stop it, and an estimate of the time left."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator

_LATE_SIGNAL_SECONDS = 1.0
_MIN_ELAPSED = 3.0  # seconds before the first estimate
_MIN_PART = 0.02


class StopSignals:
    """The signals that stop a search: SIGTERM, SIGINT and SIGHUP.

    The first one makes `wakeup_fd` readable; a second SIGINT raises KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.signal = 0
        self.wakeup_fd, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    @contextlib.contextmanager
    def install_handlers(self) -> Iterator["StopSignals"]:
        """Handle the signals during the block, and restore the old handlers after it."""
        old_handlers = {
            kind: signal.signal(kind, self._on_signal) for kind in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        }
        try:
            yield self
        finally:
            for kind, handler in old_handlers.items():
                signal.signal(kind, handler)
            os.close(self.wakeup_fd)
            os.close(self._writer)

    def _on_signal(self, number: int, _: object) -> None:
        if self.signal == number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = self.signal or number
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b".")


class Deadline:
    """The time limit of a search. It does not count the time of suspensions (SIGSTOP, Ctrl-Z)."""

    def __init__(self, seconds: float | None) -> None:
        self._checked_at = time.monotonic()
        self._end = None if seconds is None else self._checked_at + seconds
        self._was_resumed = False
        # longest time between two checks in the last second
        self._longest_gap, self._gap_ended_at = 0.0, self._checked_at

    @contextlib.contextmanager
    def watch_suspension(self) -> Iterator["Deadline"]:
        """Detect suspensions during the block."""
        old_handler = signal.signal(signal.SIGCONT, self._on_resume)
        try:
            yield self
        finally:
            signal.signal(signal.SIGCONT, old_handler)

    def seconds_left(self) -> float | None:
        """Return the seconds left, or None without a limit.

        It also measures suspensions by the gaps between its calls, so it must be called often.
        """
        now = time.monotonic()
        gap, self._checked_at = now - self._checked_at, now
        if gap >= self._longest_gap or now - self._gap_ended_at > _LATE_SIGNAL_SECONDS:
            self._longest_gap, self._gap_ended_at = gap, now
        if self._was_resumed:
            # Another thread may receive the signal, and late on a busy machine. Then many checks
            # have followed the suspension, which is the longest gap between two of them.
            if self._end is not None:
                self._end += self._longest_gap
            self._was_resumed, self._longest_gap = False, 0.0
        return None if self._end is None else max(0.0, self._end - now)

    def _on_resume(self, _: int, __: object) -> None:
        self._was_resumed = True


class Estimate:
    """Estimates the remaining time from the progress so far, assuming a constant pace."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic, self._started_at = monotonic, monotonic()
        self._first_part: float | None = None

    def format_remaining(self, part: float | None) -> str:
        """Return the remaining time in words, or '' if it is not known yet."""
        now = self._monotonic()
        if part is None or self._first_part is None or part < self._first_part:
            self._started_at, self._first_part = now, part
            return ""
        done, elapsed = part - self._first_part, now - self._started_at
        if done < _MIN_PART or elapsed < _MIN_ELAPSED or part >= 1:
            return ""
        seconds_left = round(elapsed * (1 - part) / done)
        return f"about {format_seconds(max(1, seconds_left - seconds_left % (10 if seconds_left > 60 else 1)))} left"


def format_seconds(seconds: int) -> str:
    """Return whole seconds as 2h30m or 5m10s."""
    parts = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
