"""Delays between attempts."""

from datetime import timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.system.backoff import retry_delay


@given(st.integers(1, 10_000), st.integers())
def test_the_retry_delay_grows_up_to_a_limit(attempt, seed):
    first, most = timedelta(seconds=30), timedelta(minutes=30)
    wait = retry_delay(attempt, first=first, at_most=most, random=Random(seed))
    assert first * 0.75 <= wait <= most


def test_a_retry_delay_beyond_the_calendar_is_capped():
    most = timedelta(days=3)
    wait = retry_delay(40, first=timedelta(days=2), at_most=most, random=Random(1))
    assert most * 0.75 <= wait <= most
