"""The first pages of Music, Jobs and More, and their banner."""

import asyncio
import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

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
from pi_appliance.jobs.editor import find_deleted
from pi_appliance.jobs.pages import JobPages
from pi_appliance.jobs.run_options import own_page
from pi_appliance.music.alarms.alarm_control import Alarm, alarms, sleep_timer
from pi_appliance.music.covers import Covers
from pi_appliance.music.model import Queue, Station
from pi_appliance.music.mpd.proxy import password_problem
from pi_appliance.music.player import NO_PLAYER
from pi_appliance.music.player_hub import MusicDaemon, MusicServices
from pi_appliance.posting.forecast import post_digest
from pi_appliance.roles import Role
from pi_appliance.scheduling.appliance import JobView
from pi_appliance.state_feed import current_max_volume
from pi_appliance.storage.model import Run
from pi_appliance.system import machine
from pi_appliance.system.machine import Sensors
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import query_number
from pi_appliance.web.security import VISITOR, RoleRoute

_MAX_FAILURES = 3  # failed runs in the banner
_MAX_NEXT_TRACKS = 8  # tracks of the queue beside the player
_PAGE_SIZE = 24  # jobs on one page


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
            RoleRoute("/parts/sleep", self.sleep_part, Role.CONTROL),
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
            max_volume=current_max_volume(services.daemon, now),
            has_cover=bool(state and state.track and self._covers.is_known(state.track.uri)),
            queue=await self._next_tracks(),
            queue_key=f"{state.queue_version},{state.track.id if state.track else ''}" if state else "",
            banner=create_banner(services.daemon, services.appliance.jobs(now), now),
            brief=True,
            sleep=sleep_timer(services.appliance),
        )

    async def jobs(self, request: Request) -> Response:
        """Return the jobs, the posts and the newest reports."""
        appliance, now = self._services.appliance, self._services.now()
        every, start = appliance.jobs(now), query_number(request, "start") or 0
        views = [view for view in every if not own_page(view.job)]
        started, deleted = request.query_params.get("started"), request.query_params.get("deleted", "")
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
            deleted=await asyncio.to_thread(find_deleted, self._services.config_file, deleted),
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

    async def sleep_part(self, _: Request) -> Response:
        """Return the sleep timer beside the title of Music."""
        return self._pages.page("home/_sleep.html", sleep=sleep_timer(self._services.appliance))

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
