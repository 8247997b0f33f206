"""Writes the slots to come of a job that cron starts, for engine/shortcut.py: once in a while, when none are left."""

import contextlib
from datetime import datetime, timedelta
from itertools import islice, takewhile
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance.config.load import load
from pi_appliance.core import cron
from pi_appliance.core.chance import picks
from pi_appliance.core.plan import store_text
from pi_appliance.engine import shortcut
from pi_appliance.engine.assemble import Appliance
from pi_appliance.errors import ApplianceError
from pi_appliance.model.config import Job, Keep, RunsBy
from pi_appliance.model.schedule import Cron
from pi_appliance.system import files

_MOST = 500  # slots
_FAR = timedelta(days=7)  # the rules of a time zone may change, but not as soon as that
_LARGEST = 100_000  # bytes of a configuration, for it is copied into the file
_EVER = timedelta(days=36_500)


def foresee(appliance: Appliance, name: str, now: datetime) -> None:
    """Write down the slots after NOW of the job NAME, where cron starts it and leaves some to chance.

    Nothing is written while there are some left. Nothing depends on it, so no error of it counts.
    """
    config, state = appliance.config.path, appliance.config.state
    with contextlib.suppress(ApplianceError, OSError, KeyError):
        head, text = shortcut.known_by(str(config), str(state)), config.read_bytes()
        path = state / shortcut.FOLDER / name
        if not _is_for(appliance.job(name)) or len(text) > _LARGEST or _has_some_left(path, head, text, now):
            return
        again = load(config)  # what was loaded before may have come from another text
        job = again.jobs[name]
        if again.state == state and _is_for(job) and config.read_bytes() == text:
            files.make_folder(path.parent, mode=0o700)
            lines = _lines(job, again.zone_of(job), appliance.secret, again.history, now)
            files.write(path, b"\n".join([*(line.encode() for line in (head, *lines)), text]), mode=0o600)


def _is_for(job: Job) -> bool:
    """Say whether a slot of JOB that the chance leaves out comes to nothing else than that."""
    return isinstance(job.schedule, Cron) and job.chance is not None and job.runs_by is RunsBy.CRON and not job.only_if


def _has_some_left(path: Path, head: str, text: bytes, now: datetime) -> bool:
    try:
        known, *_, slots, of_text = path.read_bytes().split(b"\n", shortcut.LINES)
        return known.decode() == head and of_text == text and now.timestamp() < float(slots.split()[-2].lstrip(b"+"))
    except (FileNotFoundError, ValueError, IndexError):
        return False


def _lines(job: Job, zone: ZoneInfo, secret: bytes, keep: Keep, now: datetime) -> list[str]:
    """Return what `shortcut` reads, without the first and the last part."""
    assert job.schedule is not None
    slots = [
        *reversed([*islice(cron.slots_back(job.schedule, now, zone), 2)]),
        *islice(takewhile(lambda slot: slot < now + _FAR, cron.slots(job.schedule, now, zone)), _MOST),
    ]
    limits = (job.grace, min(keep.age, _EVER))
    return [
        job.kind,
        str(job.chance),
        store_text(job.schedule, zone),
        " ".join([*(str(int(limit.total_seconds())) for limit in limits), str(keep.runs)]),
        " ".join(
            _word(slot, used=picks(job.chance, secret=secret, job=job.name, due=cron.due_name(slot))) for slot in slots
        ),
    ]


def _word(slot: datetime, *, used: bool) -> str:
    return (shortcut.USED if used else "") + str(int(slot.timestamp()))
