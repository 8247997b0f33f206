"""The watcher of clock steps without setting a clock; tests/vm sets one."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pi_appliance.system.clock import ClockStepWatcher


def timers() -> int:
    """Return the number of open kernel timers of this process."""
    links = [each for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]  # not the one that listed them
    return [str(each.readlink()) for each in links].count("anon_inode:[timerfd]")


def rings(seconds: float, make: Callable[[Callable[[], None]], ClockStepWatcher], *, closed: bool = False) -> int:
    """Return the number of signals within `seconds`."""

    async def listen() -> int:
        count = 0

        def ring() -> None:
            nonlocal count
            count += 1

        alarm = make(ring)
        if closed:
            alarm.close()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), seconds)
        alarm.close()
        return count

    return asyncio.run(listen())


def test_it_opens_one_kernel_timer_and_closes_it_once():
    async def live() -> None:
        before = timers()
        alarm = ClockStepWatcher(lambda: None)
        assert timers() == before + 1
        alarm.close()
        alarm.close()
        assert timers() == before

    asyncio.run(live())


def test_it_is_silent_while_the_clock_is_not_set():
    assert rings(0.3, ClockStepWatcher) == 0


def test_it_signals_once_at_its_time_and_continues():
    used = time.process_time()
    assert rings(1.1, lambda ring: ClockStepWatcher(ring, seconds_ahead=0.25)) in {3, 4}
    assert time.process_time() - used < 0.5  # a loop without a pause would take all of it


def test_a_closed_watcher_is_silent():
    assert rings(0.3, lambda ring: ClockStepWatcher(ring, seconds_ahead=0.1), closed=True) == 0


def test_without_a_possible_date_it_is_silent():
    assert rings(0.1, lambda ring: ClockStepWatcher(ring, seconds_ahead=-1)) == 0
