"""Durations."""

from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.config import units
from pi_appliance.system import clock


@given(st.integers(0, 10**8))
def test_a_formatted_length_is_parsed_again(seconds):
    length = timedelta(seconds=seconds)
    assert units.parse_duration(units.format_duration(length)) == length


@pytest.mark.parametrize("text", ["", "5", "5x", "m5", "1m1h", "-5m", "1.5h", "9" * 40 + "d"])
def test_an_invalid_length_is_refused(text):
    with pytest.raises(ValueError, match="duration"):
        units.parse_duration(text)


@given(st.integers(1, 10_000), st.integers())
def test_the_retry_delay_grows_up_to_a_limit(attempt, seed):
    first, most = timedelta(seconds=30), timedelta(minutes=30)
    wait = clock.retry_delay(attempt, first=first, at_most=most, random=Random(seed))
    assert first * 0.75 <= wait <= most


def test_a_retry_delay_beyond_the_calendar_is_capped():
    most = timedelta(days=3)
    wait = clock.retry_delay(40, first=timedelta(days=2), at_most=most, random=Random(1))
    assert most * 0.75 <= wait <= most
