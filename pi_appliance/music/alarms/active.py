"""What the music jobs are about, for those of the daemon who act on the music by themselves: they stand back."""

import json
from collections.abc import Callable

from pi_appliance.config.model import Config, Job
from pi_appliance.errors import Unavailable
from pi_appliance.storage.database import Database
from pi_appliance.storage.run_requests import RunRequestStore

KIND = "music"
RINGING = "ringing"
_IN_HAND = {RINGING, "speaking", "falling"}  # phases in which a job says what plays
_ASLEEP_SOON = {"falling", "finishing"}
IN_THE_WAY = {RINGING, "snoozing", "falling", "finishing", "turning"}
"""Phases beside which no alarm can ring."""
_ENDERS = {"alarm", "sleep", "stop"}  # what jobs do that may end the music


class ActiveSessions:
    """What the music jobs of CONFIG are in the middle of, as the history that STORE gives knows it."""

    def __init__(self, config: Config, store: Callable[[], Database]) -> None:
        jobs = (job for job in config.jobs.values() if job.kind == KIND)
        self._enders = tuple(job.name for job in jobs if str(getattr(job.with_, "do", "")) in _ENDERS)
        self._store = store

    @property
    def rings(self) -> bool:
        """Whether an alarm rings, or will as soon as its run goes on."""
        return RINGING in self._phases()

    @property
    def falls_asleep(self) -> bool:
        """Whether the music is about to end."""
        return bool(self._phases() & _ASLEEP_SOON)

    def turn(self) -> int | None:
        """Return None while a job says what plays; else a number, another one once a job has ended the music."""
        if self._phases() & _IN_HAND:
            return None
        marks = ", ".join("?" * len(self._enders))
        found = f"SELECT max(id) AS last FROM runs WHERE job IN ({marks}) AND ended IS NOT NULL"  # noqa: S608 - marks alone
        try:
            return int(self._store().rows(found, self._enders)[0]["last"] or 0) if self._enders else 0
        except Unavailable:  # the history cannot be read: no reason to let the music be silent
            return 0

    def _phases(self) -> set[str]:
        try:
            return {phase_of(held.text) for held in RunRequestStore(self._store()).all_held()}
        except Unavailable:
            return set()


def is_alarm(job: Job) -> bool:
    """Say whether JOB wakes the house."""
    return job.kind == KIND and str(getattr(job.with_, "do", "")) == "alarm"


def phase_of(held: str) -> str:
    """Return the phase of what a job HELD, as `music/alarms/session.py` writes it down; '' for what is none."""
    try:
        return str(json.loads(held)["session"]["phase"])
    except (ValueError, KeyError, TypeError):
        return ""
