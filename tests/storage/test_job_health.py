"""Whether a job is failing: the newest run that was not skipped decides."""

from datetime import UTC, datetime

import pytest

from pi_appliance.storage.model import Outcome, Run, Trigger, is_failing, latest_significant_run


def runs(*outcomes: Outcome | None) -> list[Run]:
    """Return runs of one job, oldest first."""
    return [
        Run(
            id=number,
            job="a",
            kind="command",
            trigger=Trigger.MANUAL,
            scheduled_for=None,
            started=datetime(2026, 1, number, tzinfo=UTC),
            outcome=outcome,
        )
        for number, outcome in enumerate(outcomes, start=1)
    ]


O = Outcome  # noqa: E741


@pytest.mark.parametrize(
    ("outcomes", "word"),
    [
        ([], None),
        ([None], None),
        ([O.SKIPPED, O.MISFIRED, O.STOPPED], None),
        ([O.FAILED, O.SUCCEEDED], 2),
        ([O.SUCCEEDED, O.FAILED, O.SKIPPED, None], 2),
        ([O.SUCCEEDED, O.TIMED_OUT, O.MISFIRED], 2),
    ],
)
def test_the_state_is_that_of_the_newest_run_that_was_not_skipped(outcomes: list[Outcome], word: int | None) -> None:
    result = latest_significant_run(reversed(runs(*outcomes)))
    assert (result.id if result else None) == word


@pytest.mark.parametrize("bad", [O.FAILED, O.TIMED_OUT, O.UNCERTAIN, O.ABANDONED])
def test_any_outcome_except_success_is_a_failure(bad: Outcome) -> None:
    assert is_failing(runs(O.SUCCEEDED, bad, O.SKIPPED))
    assert not is_failing(runs(bad, O.SUCCEEDED, O.SKIPPED))
    assert not is_failing([])
