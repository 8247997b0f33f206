"""Whether a job is failing, and which run shows it."""

from collections.abc import Iterable

from pi_appliance.storage.model import Outcome, Run

_INSIGNIFICANT = (None, Outcome.SKIPPED, Outcome.MISFIRED, Outcome.STOPPED)


def latest_significant_run(runs: Iterable[Run]) -> Run | None:
    """Return the newest of `runs` of one job that shows whether the job works; None without one."""
    return max((run for run in runs if run.outcome not in _INSIGNIFICANT), key=lambda run: run.id, default=None)


def is_failing(runs: Iterable[Run]) -> bool:
    """Return whether the job of `runs` is failing: its latest significant run did not succeed."""
    word = latest_significant_run(runs)
    return word is not None and word.outcome is not Outcome.SUCCEEDED
