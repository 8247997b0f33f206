"""The first pages of Music, Jobs and More, their banner, and the state of their scripts."""

import asyncio
import contextlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from secrets import token_hex
from typing import Annotated, Any, NotRequired, TypedDict

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.access.password import SetupFile
from pi_appliance.config import secrets, units
from pi_appliance.config.last_good import WrongFile
from pi_appliance.config.options import Config
from pi_appliance.diagnostics.health import find_player_problem, find_problems
from pi_appliance.errors import ApplianceError, ConfigError
from pi_appliance.jobs import serializers
from pi_appliance.jobs.pages import JobPages
from pi_appliance.jobs.run_options import own_page
from pi_appliance.jobs.serializers import JobJson
from pi_appliance.music.alarms.service import Alarm, alarms
from pi_appliance.music.api import visible_music
from pi_appliance.music.covers import Covers
from pi_appliance.music.model import Queue, Station
from pi_appliance.music.mpd.proxy import password_problem
from pi_appliance.music.player import NO_PLAYER
from pi_appliance.music.player_hub import MusicDaemon, MusicJson, MusicServices
from pi_appliance.music.volume_limits import max_volume
from pi_appliance.operations import Operation
from pi_appliance.posting.forecast import post_digest
from pi_appliance.roles import Role
from pi_appliance.scheduling.appliance import JobView
from pi_appliance.scheduling.daemon_interface import SchedulerState
from pi_appliance.storage.model import Run
from pi_appliance.system import clock, machine
from pi_appliance.system.clock import ClockState
from pi_appliance.system.machine import Sensors
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import Call, query_number
from pi_appliance.web.security import VISITOR, RoleRoute
from pi_appliance.web.sse import EventStream, Listeners, encode_event

_MAX_FAILURES = 3  # failed runs in the banner
_MAX_NEXT_TRACKS = 8  # tracks of the queue beside the player
_PAGE_SIZE = 24  # jobs on one page
_POLL_INTERVAL = 1.0  # seconds between two checks whether the history has changed
_POLLS_PER_REFRESH = 30  # polls after which jobs are read anyway: slots pass without a change of the history
_MAX_AGE = 0.5  # seconds for which one reading of the state is used for all clients


def frame_values(daemon: MusicDaemon) -> dict[str, Any]:
    """Return the values that every page needs for the navigation and the mini player."""
    return {"hub": daemon.hub, "has_music": daemon.hub.error != NO_PLAYER}


class HomePages:
    """The first pages of Music, Jobs and More, and the parts of them that their scripts replace."""

    def __init__(self, services: MusicServices, pages: Pages, jobs: JobPages, covers: Covers) -> None:
        self._services, self._pages, self._jobs, self._covers = services, pages, jobs, covers
        self._sensors = machine.Sensors()

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            RoleRoute("/", self.music, Role.LISTEN),
            Route("/jobs", self.jobs),
            RoleRoute("/more", self.more, Role.GUEST),
            RoleRoute("/parts/banner", self.banner_part, Role.CONTROL),
            RoleRoute("/parts/queue", self.queue_part, Role.GUEST),
        ]

    async def music(self, _: Request) -> Response:
        """Return the player, the radio and the queue; without music, redirect to the jobs."""
        services, now = self._services, self._services.now()
        state = services.daemon.hub.state  # read before the queue: the script then draws any later change
        if not frame_values(services.daemon)["has_music"] and VISITOR.get().may(Role.OWNER):
            return RedirectResponse("/jobs", 303)
        stations: Sequence[Station] = ()
        stations_error = ""
        try:
            stations = services.stations.all()
        except ConfigError as error:
            stations_error = str(error)
        return self._pages.page(
            "home/home.html",
            stations=stations,
            stations_error=stations_error,
            max_volume=_max_volume(services.daemon, now),
            has_cover=bool(state and state.track and self._covers.is_known(state.track.uri)),
            queue=await self._next_tracks(),
            queue_key=f"{state.queue_version},{state.track.id if state.track else ''}" if state else "",
            banner=create_banner(services.daemon, services.appliance.jobs(now), now),
            brief=True,
        )

    async def jobs(self, request: Request) -> Response:
        """Return the jobs, the posts and the newest reports."""
        appliance, now = self._services.appliance, self._services.now()
        every, start = appliance.jobs(now), query_number(request, "start") or 0
        views = [view for view in every if not own_page(view.job)]
        started = request.query_params.get("started")
        return self._pages.page(
            "home/jobs.html",
            banner=create_banner(self._services.daemon, every, now),
            hidden=[view.job.name for view in every if own_page(view.job)],
            page_size=_PAGE_SIZE,
            cards=[self._jobs.card(view, now) for view in views[start : start + _PAGE_SIZE]],
            start=start,
            length=len(views),
            digest=post_digest(appliance, now),
            started=started if started in appliance.config.jobs else "",
            **self._jobs.newest_reports(),
        )

    async def more(self, _: Request) -> Response:
        """Return the state of the machine in one line, and links to the other pages."""
        daemon, now = self._services.daemon, self._services.now()
        banner = create_banner(daemon, daemon.appliance.jobs(now), now)
        failing = len(banner.failing) + banner.more
        if problems := [*banner.problems, *filter(None, [banner.player])]:
            headline = problems[0]
        else:
            headline = f"{failing} job{'s' * (failing != 1)} failed" if failing else "All is well"
        temperature = self._sensors.temperature()
        facts = [f"{temperature:.0f} °C"] if temperature is not None else []
        with contextlib.suppress(OSError):
            facts.append(f"{machine.free_space(daemon.appliance.config.state_dir) / 1e9:.1f} GB free")
        uptime = now - daemon.started_at
        facts.append(f"running for {f'{uptime.days} days' if uptime.days > 1 else units.format_elapsed(uptime)}")
        return self._pages.page(
            "home/more.html", headline=headline, facts=facts, usb=daemon.appliance.config.usb is not None
        )

    async def banner_part(self, request: Request) -> Response:
        """Return the banner with the current problems."""
        now = self._services.now()
        banner = create_banner(self._services.daemon, self._services.appliance.jobs(now), now)
        return self._pages.page("home/_banner.html", banner=banner, brief="brief" in request.query_params)

    async def queue_part(self, _: Request) -> Response:
        """Return the next tracks of the queue."""
        return self._pages.page("home/_queue.html", queue=await self._next_tracks())

    async def _next_tracks(self) -> Queue | None:
        """Return the tracks after the current one; None if there is no player."""
        hub = self._services.daemon.hub
        track = hub.state.track if hub.state else None
        start = track.position + 1 if track and track.position is not None else 0
        try:
            return await (await hub.player()).list_queue(start, _MAX_NEXT_TRACKS)
        except ApplianceError:
            return None


def _max_volume(daemon: MusicDaemon, now: datetime) -> int:
    config = daemon.appliance.config
    return max_volume(config.volume, now.astimezone(config.time_zone))


@dataclass(frozen=True, slots=True)
class Banner:
    """The box at the top of the page with the things that the owner should look at."""

    config_error: WrongFile | None
    setup_interrupted: bool
    problems: Sequence[str]
    player: str  # why the player is not reached; the music page shows this at the player instead
    update: str  # version of a release that can be installed
    ringing: Sequence[Alarm]
    failing: Sequence[Run]
    more: int


def create_banner(daemon: MusicDaemon, views: Sequence[JobView], now: datetime) -> Banner:
    """Return the banner of `daemon`, whose jobs are `views`."""
    runs = [run for view in views if (run := serializers.failed_run(daemon.appliance, view))]
    runs.sort(key=lambda run: (run.started, run.id), reverse=True)
    ringing = [alarm for alarm in alarms(daemon.appliance, now) if alarm.session]
    problems = [
        *(each.text for each in find_problems(daemon, Sensors())),
        *_describe_closed_proxy(daemon.appliance.config),
    ]
    away = find_player_problem(daemon)
    interrupted = SetupFile(daemon.appliance.config.state_dir).is_interrupted()
    return Banner(
        daemon.config_error,
        interrupted,
        problems,
        away.text if away else "",
        newest.version if (newest := daemon.update_checker.newest) else "",
        ringing,
        runs[:_MAX_FAILURES],
        len(runs[_MAX_FAILURES:]),
    )


def _describe_closed_proxy(config: Config) -> list[str]:
    with contextlib.suppress(ApplianceError):  # unreadable secrets are reported by the doctor
        password = secrets.load(config.path, os.environ).get("MPD_PROXY_PASSWORD", "")
        return [f"MPD apps are not served: {each}." for each in (password_problem(config, password),) if each]
    return []


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
    values: StateJson = {**music, "max_volume": _max_volume(daemon, now)}  # type: ignore[typeddict-item] # no others
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
