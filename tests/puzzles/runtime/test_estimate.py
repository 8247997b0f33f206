"""Estimates of the remaining time."""

import pytest

from pi_appliance.puzzles.runtime.deadline import Estimate


class Clock:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def reported(*measurements: tuple[float, float | None]) -> list[str]:
    """Return the estimate after each of `measurements` (seconds, part)."""
    clock, messages = Clock(), []
    estimate = Estimate(clock)
    for clock.now, part in measurements:
        messages.append(estimate.format_remaining(part))
    return messages


def test_there_is_no_estimate_before_enough_progress() -> None:
    assert reported((0, 0.0), (2, 0.5), (10, 0.001), (20, None)) == ["", "", "", ""]


@pytest.mark.parametrize(
    ("at", "part", "message"),
    [(10, 0.5, "about 10s left"), (100, 0.25, "about 5m left"), (60, 0.3, "about 2m20s left")],
)
def test_the_estimate_follows_from_the_elapsed_time(at: float, part: float, message: str) -> None:
    assert reported((0, 0.0), (at, part))[-1] == message


def test_progress_of_a_checkpoint_does_not_count_as_speed() -> None:
    assert reported((0, 0.5), (10, 0.75))[-1] == "about 10s left"


def test_a_second_part_restarts_the_estimate() -> None:
    assert reported((0, 0.0), (10, 0.9), (11, 0.1), (21, 0.2))[-1] == "about 1m20s left"
