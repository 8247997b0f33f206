"""Durations and positions."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.config import units


@given(st.integers(0, 10**8))
def test_a_formatted_length_is_parsed_again(seconds):
    length = timedelta(seconds=seconds)
    assert units.parse_duration(units.format_duration(length)) == length


@pytest.mark.parametrize("text", ["", "5", "5x", "m5", "1m1h", "-5m", "1.5h", "9" * 40 + "d"])
def test_an_invalid_length_is_refused(text):
    with pytest.raises(ValueError, match="duration"):
        units.parse_duration(text)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0:00"), (187.9, "3:07"), (3765, "1:02:45")])
def test_positions_in_a_track_are_formatted(seconds, text):
    assert units.format_position(seconds) == text
