"""The state of the player, the jobs and the scheduler, as one answer and as a stream of events."""

import asyncio
import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from secrets import token_hex
from typing import Annotated, Any, NotRequired, TypedDict

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pi_appliance.errors import ApplianceError
from pi_appliance.jobs import serializers
from pi_appliance.jobs.serializers import JobJson
from pi_appliance.music.api import visible_music
from pi_appliance.music.player_hub import MusicDaemon, MusicJson, MusicServices
from pi_appliance.music.volume_limits import max_volume
from pi_appliance.operations import Operation
from pi_appliance.roles import Role
from pi_appliance.scheduling.daemon_interface import SchedulerState
from pi_appliance.system import clock
from pi_appliance.system.clock import ClockState
from pi_appliance.web.params import Call
from pi_appliance.web.security import VISITOR, RoleRoute
from pi_appliance.web.sse import EventStream, Listeners, encode_event

_POLL_INTERVAL = 1.0  # seconds between two checks whether the history has changed
_POLLS_PER_REFRESH = 30  # polls after which jobs are read anyway: slots pass without a change of the history
_MAX_AGE = 0.5  # seconds for which one reading of the state is used for all clients


def state_operation(services: MusicServices) -> Operation:
    """Return the operation that returns the state."""

    async def show_state(_: Call) -> StateJson:
        return state_values(services.daemon, services.now())

    return Operation(
        method="GET",
        path="/state",
        summary="Return the state of the player, the jobs and the scheduler.",
        handler=show_state,
    )


def current_max_volume(daemon: MusicDaemon, now: datetime) -> int:
    """Return the highest volume that is allowed at `now`, in percent."""
    config = daemon.appliance.config
    return max_volume(config.volume, now.astimezone(config.time_zone))


class SchedulerJson(TypedDict):
    """The state of the scheduler."""

    clock: ClockState
    clock_wait: Annotated[int, "seconds, rounded up to a minute"]
    steps: int
    last_step: str
    error: str
    waiting: int


class StateJson(MusicJson):
    """The values that the page updates live. Guests get those of the player only."""

    max_volume: int
    scheduler: NotRequired[SchedulerJson]
    jobs: NotRequired[Sequence[Mapping[str, Any]]]


def state_values(daemon: MusicDaemon, now: datetime) -> StateJson:
    """Return the values that the page updates live and that the sender of the request may see."""
    visitor = VISITOR.get()
    music = visible_music(daemon.hub)
    values: StateJson = {**music, "max_volume": current_max_volume(daemon, now)}  # type: ignore[typeddict-item] # no others
    if not visitor.may(Role.CONTROL):
        return values
    scheduler, jobs = _scheduler_values(daemon.scheduler), serializers.jobs(daemon.appliance, now, daemon.runs.waiting)
    if visitor.may(Role.OWNER):
        return {**values, "scheduler": scheduler, "jobs": jobs}
    alarms = [_alarm_values(each) for each in jobs if each["kind"] == "music"]
    return {**values, "scheduler": {**scheduler, "error": ""}, "jobs": alarms}


def _alarm_values(job: JobJson) -> dict[str, Any]:
    """Return the values that the page needs to draw alarms again."""
    last = _part_of(job["last"], "id", "outcome", "status_text")
    return {**(_part_of(job, "job", "kind", "paused", "running", "waiting") or {}), "failing": False, "last": last}


def _scheduler_values(scheduler: SchedulerState) -> SchedulerJson:
    return {
        "clock": scheduler.clock_state,
        "clock_wait": 60 * math.ceil(scheduler.clock_wait / 60),
        "steps": scheduler.steps,
        "last_step": scheduler.last_step,
        "error": scheduler.error,
        "waiting": scheduler.waiting,
    }


@dataclass(frozen=True, slots=True)
class _ShownJobs:
    """Selects the jobs whose changes a page shows live.

    Fifty complete jobs would be 30 kB per change.

    `page` says which: "none"; "music" for alarms and failing jobs; "jobs" for the same, and the
    names of all others; "posts" for the newest run of each job; "" for everything. The jobs in
    `names` are always selected.
    """

    page: str
    names: frozenset[str]

    def select(self, jobs: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Return the values of `jobs` that the page needs."""
        if not self.page:
            return jobs
        if self.page == "posts":
            return [{"job": job["job"], "last": _part_of(job["last"], "id", "outcome")} for job in jobs]
        shown = [_live_values(job) if self._is_shown(job) else {"job": job["job"]} for job in jobs]
        return shown if self.page == "jobs" else [job for job in shown if "kind" in job]

    def _is_shown(self, job: Mapping[str, Any]) -> bool:
        return job["job"] in self.names or (self.page != "none" and (job["kind"] == "music" or job["failing"]))


def _live_values(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a job that the scripts of the page use."""
    last = _part_of(job["last"], "id", "outcome", "progress", "status_text")
    brief = {name: job[name] for name in ("job", "kind", "paused", "running", "waiting", "failing")}
    return {**brief, "last": last, "next": _part_of(job.get("next"), "slot")}


def _part_of(values: Mapping[str, Any] | None, *names: str) -> dict[str, Any] | None:
    return None if values is None else {name: values[name] for name in names if name in values}


@dataclass(slots=True)
class _State:
    """The newest state for a role: its version, when it was read, and its events for each page."""

    values: StateJson
    version: int
    read_at: float
    events: dict[_ShownJobs, bytes] = field(default_factory=dict)


class _StateStream:
    """The events for one kind of page."""

    def __init__(self, feed: "StateFeed", jobs: _ShownJobs) -> None:
        self._feed, self._jobs = feed, jobs
        self.listening, self.initial_events = feed.listening, feed.initial_events

    @property
    def closed(self) -> bool:
        return self._feed.closed

    def next_events(self, position: int | None) -> tuple[bytes, int | None]:
        return self._feed.next_events(position, self._jobs)


class StateFeed:
    """The source of /events: the state whenever something changed, with the jobs of the page."""

    def __init__(self, daemon: MusicDaemon) -> None:
        self._daemon = daemon
        self._listeners = Listeners()
        self._tasks: list[asyncio.Task[None]] = []
        self._states: dict[Role | None, _State] = {}  # key: role of the visitor
        self._epoch = token_hex(4)
        self._version = 0
        self.closed = False

    def routes(self) -> list[Route]:
        """Return the route of the stream."""

        async def events(request: Request) -> Response:
            names = self._daemon.appliance.config.jobs.keys() & set(request.query_params.getlist("job"))
            page = request.query_params.get("page", "")
            return EventStream(_StateStream(self, _ShownJobs(page, frozenset(names))))

        return [RoleRoute("/events", events, Role.LISTEN)]

    @contextlib.contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """Register a listener for the block. Player and jobs are watched while there is one."""
        try:
            with self._listeners.register() as changed:
                if not self._tasks:
                    watchers = (self._watch_player(), self._watch_jobs())
                    self._tasks = [asyncio.create_task(watcher) for watcher in watchers]
                yield changed
        finally:
            if not self._listeners:
                self._stop_watching()

    def initial_events(self) -> bytes:
        """Return no events, because the state follows at once."""
        return b""

    def next_events(self, position: int | None, jobs: _ShownJobs) -> tuple[bytes, int | None]:
        """Return the state as an event, or no bytes if `position` is current.

        Raises ApplianceError.
        """
        if position == self._version:
            return b"", position
        time, role = asyncio.get_running_loop().time(), VISITOR.get().role
        state = self._states.get(role)
        if state is None or state.version != self._version or time - state.read_at > _MAX_AGE:
            state = self._states[role] = _State(state_values(self._daemon, clock.now()), self._version, time)
        if jobs not in state.events:
            shown = {"jobs": jobs.select(state.values["jobs"])} if "jobs" in state.values else {}
            values = {**state.values, **shown}
            state.events[jobs] = encode_event("state", values, f"{self._epoch}-{self._version}")
        return state.events[jobs], self._version

    def close(self) -> None:
        """End every stream."""
        self.closed = True
        self._announce_change()
        self._stop_watching()

    def _announce_change(self) -> None:
        self._version += 1
        self._listeners.wake()

    def _stop_watching(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks = []

    async def _watch_player(self) -> None:
        async for _ in self._daemon.hub.watch_changes():
            self._announce_change()

    async def _watch_jobs(self) -> None:
        version, polls, jobs = None, 0, list[JobJson]()
        announced: Any = None
        daemon, waiting = self._daemon, self._daemon.runs.waiting
        while True:
            with contextlib.suppress(ApplianceError):  # the error is reported to each client that asks for the state
                store, previous = daemon.appliance.store, version
                version = store.version()
                has_changed = version != previous or daemon.runs.waiting != waiting
                if has_changed or polls % _POLLS_PER_REFRESH == 0 or _is_any_running(jobs):
                    waiting = daemon.runs.waiting
                    jobs = serializers.jobs(daemon.appliance, clock.now(), waiting)
                current = jobs, _scheduler_values(daemon.scheduler)
                if current != announced:
                    announced = current
                    self._announce_change()
            polls += 1
            await asyncio.sleep(_POLL_INTERVAL)


def _is_any_running(jobs: list[JobJson]) -> bool:
    return any(job["running"] for job in jobs)
