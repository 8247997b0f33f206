"""A deadline for a part of this process, where what it does knows none of its own. For the main thread only."""

import contextlib
import signal
from collections.abc import Iterator

from pi_appliance.errors import OutOfTime


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Let the block take SECONDS. Raises OutOfTime in it, and once more each second if that is not taken for an end.

    A look-up of a name cannot be interrupted; the error comes when it has ended.
    """

    def ring(*_: object) -> None:
        raise OutOfTime(f"it took longer than {seconds:.0f}s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
