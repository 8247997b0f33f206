"""Very large numbers in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.posting.monkey_bard_job import format_count, format_power, format_span

YEAR = 31_556_952


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (999, "999"),
        (12_345, "12,300"),
        (531_441, "531,000"),
        (999_499, "999,000"),
        (999_500, "1 million"),
        (14_348_907, "14.3 million"),
        (999_500_000, "1 billion"),
        (7_625_597_484_987, "7.63 trillion"),
        (10**15, "1 quadrillion"),
        (999 * 10**15, "999 quadrillion"),
        (27**20, "4.2 \u00d7 10²⁸"),
        (10**18, "1 \u00d7 10¹⁸"),
    ],
)
def test_a_number_has_three_significant_digits(number, words):
    assert format_count(number) == words


@given(st.integers(0, 10**17))
def test_a_number_is_accurate_to_half_a_percent(number):
    digits, _, name = format_count(number).partition(" ")
    units = {"": 1, "million": 10**6, "billion": 10**9, "trillion": 10**12, "quadrillion": 10**15}
    assert float(digits.replace(",", "")) * units[name] == pytest.approx(number, rel=0.005)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "less than a minute"),
        (59, "less than a minute"),
        (60, "1 minute"),
        (5_400, "2 hours"),
        (86_400, "1 day"),
        (40 * 86_400, "40 days"),
        (YEAR, "1 year"),
        (5479 * YEAR, "5,480 years"),
        (10**9 * YEAR, "1 billion years"),
        (10**30 * YEAR, "1 \u00d7 10³⁰ years"),
    ],
)
def test_a_duration_uses_the_largest_unit(seconds, words):
    assert format_span(seconds) == words


def test_a_power_of_ten_may_be_alone():
    assert format_power(884) == "10⁸⁸⁴"
