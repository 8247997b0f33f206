"""Whether the wall clock is trusted, and the size of its steps."""

from datetime import UTC, datetime, timedelta

import pytest

from pi_appliance.system.clock import ClockState, ClockWatch

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
WAIT = timedelta(minutes=10)


def test_a_synchronized_clock_is_trusted_at_once():
    assert ClockWatch(WAIT).read(NOON, 5.0, is_synchronized=True).state is ClockState.TRUSTED


def test_an_unsynchronized_clock_is_awaited_for_a_limited_time():
    watch = ClockWatch(WAIT)
    assert watch.read(NOON, 5.0, is_synchronized=False).state is ClockState.UNTRUSTED
    assert watch.seconds_left(5.0) == 595
    assert watch.read(NOON + timedelta(seconds=595), 600.0, is_synchronized=False).state is ClockState.TRUSTED
    assert watch.seconds_left(600.0) == 0


def test_a_trusted_clock_stays_trusted_without_a_network():
    watch = ClockWatch(WAIT)
    watch.read(NOON, 5.0, is_synchronized=True)
    assert watch.read(NOON + timedelta(seconds=1), 6.0, is_synchronized=False).state is ClockState.TRUSTED


@pytest.mark.parametrize("step", [1, -1, 3600, -3600, 315_360_000, -315_360_000])
def test_a_step_is_detected_with_its_size(step):
    watch = ClockWatch(WAIT)
    watch.read(NOON, 1000.0, is_synchronized=True)
    sight = watch.read(NOON + timedelta(seconds=30 + step), 1030.0, is_synchronized=True)
    assert (sight.state, sight.step) == (ClockState.STEPPED, timedelta(seconds=step))
    after = watch.read(NOON + timedelta(seconds=31 + step), 1031.0, is_synchronized=True)
    assert (after.state, after.step) == (ClockState.TRUSTED, timedelta(0))


def test_a_slewed_or_sleeping_clock_is_not_stepped():
    watch = ClockWatch(WAIT)
    watch.read(NOON, 1000.0, is_synchronized=True)
    assert not watch.read(NOON + timedelta(seconds=60.03), 1060.0, is_synchronized=True).step
    assert not watch.read(NOON + timedelta(hours=9, seconds=60), 1060.0 + 9 * 3600, is_synchronized=True).step
