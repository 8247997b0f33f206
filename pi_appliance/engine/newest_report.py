"""The newest report of a job: what it says, and its picture."""

from pi_appliance.model.config import Config
from pi_appliance.model.post import Report
from pi_appliance.model.run import Outcome
from pi_appliance.reports import as_png
from pi_appliance.store.sqlite import Store

_RESULT = "result.txt"
_MOST = 100_000  # characters of it that are read


def newest_report(config: Config, store: Store, job: str, *, picture: bool) -> Report | None:
    """Return what JOB wrote last, with its PICTURE if that is wanted; None if it has never succeeded.

    Raises Refused where what draws pictures is not installed.
    """
    run = store.last_success(job)
    if run is None or run.outcome is not Outcome.SUCCEEDED:
        return None
    try:
        with (config.reports / job / _RESULT).open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST)
            file.seek(0)
            drawn = as_png.of_listing(file) if picture else None
    except OSError:
        text, drawn = "", None
    return Report(job, run.summary, text, drawn)
