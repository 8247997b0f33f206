"""The newest report of a job that was done: what it says, and its picture."""

import contextlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pi_appliance.config.model import Config
from pi_appliance.jobs import reports
from pi_appliance.puzzles import picture as as_png
from pi_appliance.storage.model import Outcome, Report
from pi_appliance.storage.runs import Store

_RESULT = "result.txt"
_MOST = 100_000  # characters of it that are read
_MOMENT = timedelta(seconds=1)  # the history has milliseconds, the disk its own clock


def newest_report(config: Config, store: Store, job: str, *, picture: bool) -> Report | None:
    """Return what JOB wrote when it last succeeded, with its PICTURE if that is wanted; None if it never did.

    Raises Refused where what draws pictures is not installed.
    """
    run = store.last_success(job)
    if run is None or run.outcome is not Outcome.SUCCEEDED:
        return None
    try:
        with _written(config.reports / job, run.ended).open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST)
            file.seek(0)
            drawn = as_png.of_listing(file) if picture else None
    except OSError:
        text, drawn = "", None
    return Report(job, run.summary, text, drawn)


def _written(folder: Path, ended: datetime | None) -> Path:
    """Return the newest result in FOLDER that was there when the run ENDED.

    The newest of all may be of a night that was cut off since. It has to do where no older one is kept.
    """
    places = [folder / _RESULT, *(folder / name / _RESULT for name in reports.names(folder))]
    for place in places:
        with contextlib.suppress(OSError):
            if ended and datetime.fromtimestamp(place.stat().st_mtime, UTC) <= ended + _MOMENT:
                return place
    return places[0]
