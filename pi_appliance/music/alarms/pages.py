"""The pages of alarms and the sleep timer."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pi_appliance.config import units
from pi_appliance.config.units import EVERY_DAY
from pi_appliance.errors import ApplianceError
from pi_appliance.jobs.editor import find_deleted
from pi_appliance.music.alarms import alarm_control
from pi_appliance.music.alarms.alarm_control import Alarm
from pi_appliance.music.alarms.music_job import CANNOT_SPEAK, TTS_HINT, can_speak
from pi_appliance.music.model import describe_text, list_state
from pi_appliance.music.player_hub import MusicServices
from pi_appliance.roles import Role
from pi_appliance.scheduling.appliance import Slot
from pi_appliance.scheduling.schedule import WEEKDAYS
from pi_appliance.storage.model import Run
from pi_appliance.storage.run_requests import RunRequest
from pi_appliance.web.pages import Pages
from pi_appliance.web.security import RoleRoute

_SLEEP_MINUTES = (15, 30, 45, 60, 90)
_FADES = ("0s", "5m", "10m", "20m")
_DURATIONS = ("0s", "30m", "1h", "2h")
_STARTS = ("1", "5", "10", "20")
_SNOOZES = ("5m", "9m", "15m")
_WEEK = (*WEEKDAYS[1:], WEEKDAYS[0])
_MAX_CHOICES = 40  # stations that are offered, and as many playlists; others are found by search


@dataclass(frozen=True, slots=True)
class OneOffRing:
    """A one-off ring of an alarm, and the scheduled ring on the same day if that rings as well."""

    request: RunRequest
    scheduled: Slot | None


@dataclass(frozen=True, slots=True)
class AlarmForm:
    """The fields of the form, as stored or as typed."""

    time: str
    days: Sequence[str]
    play: Sequence[str]
    volume: str
    start_volume: str
    duration: str
    fade: str
    snooze: str
    one_shot: bool
    name: str = ""
    version: str = ""

    @classmethod
    def of_alarm(cls, alarm: Alarm) -> "AlarmForm":
        """Return the form of a stored alarm."""
        settings = alarm.settings
        return cls(
            time=settings.times[0] if len(settings.times) == 1 else "",
            days=[] if settings.days == EVERY_DAY and not settings.times else [WEEKDAYS[day] for day in settings.days],
            play=settings.play,
            volume=str(settings.volume),
            start_volume=str(settings.start_volume),
            duration=units.format_duration(settings.duration),
            fade=units.format_duration(settings.fade),
            snooze=units.format_duration(settings.snooze),
            one_shot=settings.one_shot,
            name=alarm.job,
            version=alarm.version,
        )

    @classmethod
    def typed(cls, request: Request) -> "AlarmForm":
        """Return the form that was sent and refused."""
        query = request.query_params
        names = ("time", "volume", "start_volume", "duration", "fade", "snooze", "name", "version")
        lists = {name: [each for each in query.getlist(name) if each] for name in ("days", "play")}
        texts = {name: query.get(name, "") for name in names}
        return cls(**lists, **texts, one_shot=query.get("one_shot") == "true")  # type: ignore[arg-type]


_NEW = AlarmForm(
    time="07:00",
    days=_WEEK[:5],
    play=(),
    volume="40",
    start_volume="5",
    duration="0s",
    fade="5m",
    snooze="9m",
    one_shot=False,
)


def _drawn_run(run: Run | None) -> dict[str, Any]:
    """Return the values of a run that the script compares with the events of /events."""
    if run is None:
        return {"kind": "music", "running": None, "last": None}
    last = {"id": run.id, "status_text": run.status_text}
    return {"kind": "music", "running": run.id if run.outcome is None else None, "last": last}


class AlarmPages:
    """The endpoints of the pages of alarms and the sleep timer."""

    def __init__(self, services: MusicServices, pages: Pages) -> None:
        self._services, self._pages = services, pages

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            RoleRoute("/music/alarms", self.alarms, Role.CONTROL),
            RoleRoute("/music/alarms/new", self.new_alarm, Role.CONTROL),
            RoleRoute("/music/alarms/{job}", self.edit_alarm, Role.CONTROL),
        ]

    async def alarms(self, request: Request) -> Response:
        """Show the alarms and the sleep timer."""
        appliance, drawn = self._services.appliance, list_state(self._services.daemon.hub.state)
        runs = [view.last for view in appliance.jobs(self._services.now()) if view.job.kind == "music"]
        alarms = alarm_control.alarms(appliance, self._services.now())
        return self._pages.page(
            "music/alarms.html",
            alarms=alarms,
            deleted=await asyncio.to_thread(
                find_deleted, self._services.config_file, request.query_params.get("deleted", "")
            ),
            drawn=drawn,
            music_jobs=[_drawn_run(run) for run in runs],
            one_offs={alarm.job: self._one_offs(alarm) for alarm in alarms},
            local_time=self._local_time,
            active=[each for each in alarms if each.session],
            sleep=alarm_control.sleep_timer(appliance),
            can_sleep=bool(alarm_control.jobs_with_action(appliance, alarm_control.SLEEP)),
            minutes=_SLEEP_MINUTES,
            other_jobs=[
                job.name
                for action in (alarm_control.SLEEP, alarm_control.ANNOUNCE)
                for job in alarm_control.jobs_with_action(appliance, action)
            ],
            can_announce=bool(alarm_control.jobs_with_action(appliance, alarm_control.ANNOUNCE)),
            cannot_speak="" if can_speak() else f"{CANNOT_SPEAK}; {TTS_HINT}",
            announced="announced" in request.query_params,
        )

    async def new_alarm(self, request: Request) -> Response:
        """Show the form of a new alarm."""
        return await self._form(None, AlarmForm.typed(request) if "error" in request.query_params else _NEW, request)

    async def edit_alarm(self, request: Request) -> Response:
        """Show the form of an alarm."""
        alarm = alarm_control.get_alarm(self._services.appliance, request.path_params["job"], self._services.now())
        is_typed = "error" in request.query_params
        return await self._form(alarm, AlarmForm.typed(request) if is_typed else AlarmForm.of_alarm(alarm), request)

    async def _form(self, alarm: Alarm | None, form: AlarmForm, request: Request) -> Response:
        config = self._services.config
        always = config.volume.maximum if config.volume else 100
        zone = config.zone_of(config.jobs[alarm.job]) if alarm else config.time_zone
        return self._pages.page(
            "music/alarm.html",
            alarm=alarm,
            form=form,
            error=request.query_params.get("error", ""),
            week=_WEEK,
            fades=sorted({*_FADES, form.fade} - {""}, key=_length),
            durations=sorted({*_DURATIONS, form.duration} - {""}, key=_length),
            starts=sorted({*_STARTS, form.start_volume} - {""}, key=lambda text: int(text) if text.isdecimal() else 0),
            quiet_hours=config.volume.quiet if config.volume else (),
            snoozes=sorted({*_SNOOZES, form.snooze} - {""}, key=_length),
            maximum=alarm.limit if alarm else always,
            always=always,
            # alarm.js only knows the alarm's time of day, in the zone of the alarm
            hours_apply=zone.key == config.time_zone.key,
            choices=await self._sources(),
            describe=describe_text,
            local_now=self._services.now().astimezone(zone),
        )

    async def _sources(self) -> Mapping[str, str]:
        """Return the names of stations and playlists by their sources."""
        sources: dict[str, str] = {}
        with contextlib.suppress(ApplianceError):  # a wrong file of stations is reported by the page of stations
            sources |= {each.name: each.name for each in self._services.stations.all()[:_MAX_CHOICES]}
        if self._services.daemon.hub.state is not None:
            with contextlib.suppress(ApplianceError):
                playlists = await (await self._services.daemon.hub.player()).list_playlists()
                sources |= {f"playlist:{each.name}": f"Playlist {each.name}" for each in playlists[:_MAX_CHOICES]}
        return sources

    def _one_offs(self, alarm: Alarm) -> list[OneOffRing]:
        def day(when: datetime) -> str:
            return self._local_time(alarm, when)[:10]

        return [
            OneOffRing(request, next((slot for slot in alarm.rings if day(slot.at) == day(request.run_at)), None))
            for request in alarm.requests
        ]

    def _local_time(self, alarm: Alarm, when: datetime) -> str:
        config = self._services.config
        return f"{when.astimezone(config.zone_of(config.jobs[alarm.job])):%Y-%m-%d %H:%M}"


def _length(text: str) -> Any:
    try:
        return units.parse_duration(text)
    except ValueError:  # not a valid duration: sorted first
        return units.parse_duration("0s")
