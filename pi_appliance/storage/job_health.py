"""How a job stands: does it fail just now, and which run says so."""

from collections.abc import Iterable

from pi_appliance.storage.model import Outcome, Run

_SAYS_NOTHING = (None, Outcome.SKIPPED, Outcome.MISFIRED, Outcome.STOPPED)  # of whether the job can do its work


def latest_significant_run(runs: Iterable[Run]) -> Run | None:
    """Return the newest of RUNS of one job that shows whether the job can do its work; None if none does."""
    return max((run for run in runs if run.outcome not in _SAYS_NOTHING), key=lambda run: run.id, default=None)


def is_failing(runs: Iterable[Run]) -> bool:
    """Say whether the job of RUNS fails just now: its last word was anything but a success."""
    word = latest_significant_run(runs)
    return word is not None and word.outcome is not Outcome.SUCCEEDED
