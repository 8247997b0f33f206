"""The newest report of a job: what it says, and its picture."""

from pi_appliance.model.config import Config
from pi_appliance.model.post import Report
from pi_appliance.model.run import Outcome
from pi_appliance.store.sqlite import Store

_RESULT = "result.txt"
_MOST = 100_000  # characters of it that are read


def newest_report(config: Config, store: Store, job: str) -> Report | None:
    """Return what JOB wrote last; None if it has never succeeded."""
    run = store.last_success(job)
    if run is None or run.outcome is not Outcome.SUCCEEDED:
        return None
    try:
        with (config.reports / job / _RESULT).open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST)
    except OSError:
        text = ""
    return Report(job, run.summary, text)
