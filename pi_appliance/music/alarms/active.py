"""Active sessions of the music jobs, for services of the daemon that must not disturb them."""

import json
from collections.abc import Callable

from pi_appliance.config.model import Config, Job
from pi_appliance.errors import Unavailable
from pi_appliance.storage.database import Database
from pi_appliance.storage.queues import RunRequestStore

KIND = "music"
RINGING = "ringing"
_CONTROLS_PLAYBACK = {RINGING, "announcing", "fading-out"}
_STOPS_SOON = {"fading-out", "playing-out"}
BLOCKS_ALARM = {RINGING, "snoozing", "fading-out", "playing-out", "changing-volume"}
"""Phases of other sessions that must end before an alarm can ring."""
_STOPPING_ACTIONS = {"alarm", "sleep", "stop"}


class ActiveSessions:
    """The phases of the music jobs of `config`, read from the database that `store` returns."""

    def __init__(self, config: Config, store: Callable[[], Database]) -> None:
        jobs = (job for job in config.jobs.values() if job.kind == KIND)
        self._stopping_jobs = tuple(job.name for job in jobs if action_of(job) in _STOPPING_ACTIONS)
        self._store = store

    @property
    def alarm_ringing(self) -> bool:
        """Whether an alarm rings, or will as soon as its run is resumed."""
        return RINGING in self._phases()

    @property
    def stops_soon(self) -> bool:
        """Whether a session is about to stop the music."""
        return bool(self._phases() & _STOPS_SOON)

    def generation(self) -> int | None:
        """Return None while a job controls playback, else a number that changes once a job has stopped the music."""
        if self._phases() & _CONTROLS_PLAYBACK:
            return None
        marks = ", ".join("?" * len(self._stopping_jobs))
        sql = f"SELECT max(id) AS last FROM runs WHERE job IN ({marks}) AND ended IS NOT NULL"  # noqa: S608 - marks alone
        try:
            return int(self._store().rows(sql, self._stopping_jobs)[0]["last"] or 0) if self._stopping_jobs else 0
        except Unavailable:  # an unreadable history must not silence the music
            return 0

    def _phases(self) -> set[str]:
        try:
            return {phase_of(held.text) for held in RunRequestStore(self._store()).checkpoints()}
        except Unavailable:
            return set()


def action_of(job: Job) -> str:
    """Return the action of a music job; '' for other jobs."""
    return str(getattr(job.options, "action", "")) if job.kind == KIND else ""


def is_alarm(job: Job) -> bool:
    """Return whether `job` is an alarm."""
    return action_of(job) == "alarm"


def phase_of(checkpoint: str) -> str:
    """Return the phase of a `checkpoint`, as `session.dump` writes it; '' for that of another kind."""
    try:
        return str(json.loads(checkpoint)["session"]["phase"])
    except (ValueError, KeyError, TypeError):
        return ""
