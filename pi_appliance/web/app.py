"""The web application: pages, API and events behind one guard, and what each error becomes."""

from collections.abc import Callable, Collection
from datetime import datetime
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from pi_appliance.errors import (
    ApplianceError,
    ConfigError,
    OutOfTime,
    Refused,
    Unavailable,
    Uncertain,
    UnknownName,
    WrongArgument,
)
from pi_appliance.web.actions import Actions
from pi_appliance.web.alarm_pages import AlarmPages
from pi_appliance.web.api import Api
from pi_appliance.web.auth import Door
from pi_appliance.web.covers import Covers
from pi_appliance.web.events import Feed
from pi_appliance.web.guard import METRICS, Guard
from pi_appliance.web.health import Health
from pi_appliance.web.metrics import Metrics
from pi_appliance.web.music_forms import MusicForms
from pi_appliance.web.music_pages import MusicPages
from pi_appliance.web.pages import Pages
from pi_appliance.web.player_events import PlayerEvents
from pi_appliance.web.post_pages import PostPages
from pi_appliance.web.streams import EventStream
from pi_appliance.web.world import Daemon

_STATUSES: dict[type[ApplianceError], int] = {
    ConfigError: 400,
    WrongArgument: 400,
    UnknownName: 404,
    Refused: 409,
    Uncertain: 502,
    Unavailable: 503,
    OutOfTime: 504,
}
_PLAIN = {404: "there is no such page", 405: "this address does not take that; see docs/web.md"}


def build(
    daemon: Daemon,
    door: Door,
    feed: Feed,
    changes: PlayerEvents,
    now: Callable[[], datetime],
    names: Collection[str],
    ticks: Callable[[], float],
) -> ASGIApp:
    """Return the application for a machine that goes by NAMES, the first of which is its own."""
    actions = Actions(daemon, now)
    pages = Pages(daemon, actions, door, next(iter(names)))
    posts = PostPages(daemon, actions, pages)
    covers = Covers(lambda: daemon.hub, changes)
    music = [
        *MusicPages(daemon, pages, covers).routes(),
        *MusicForms(daemon).routes(),
        *AlarmPages(daemon, actions, pages).routes(),
    ]

    async def events(_: Request) -> Response:
        return EventStream(feed)

    def say(request: Request, status: int, sentence: str, headers: dict[str, str]) -> Response:
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": sentence}, status, headers)
        page = pages.error(status, sentence)
        page.headers.update(headers)
        return page

    def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, ApplianceError)
        return say(request, _STATUSES.get(type(error), 500), str(error), {})

    def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        sentence = _PLAIN.get(error.status_code, "") if error.detail in _STANDARD else error.detail
        return say(request, error.status_code, sentence or error.detail, dict(error.headers or {}))

    def fault(request: Request, _: Exception) -> Response:
        # What it was stands in the log, with its traceback.
        return say(request, 500, "something went wrong here; the log of the service says what", {})

    static = Mount("/static", _Static(directory=Path(__file__).parent / "static"))
    api = Api(daemon, actions, changes, covers)
    watched = [Route("/health", Health(daemon, ticks).answer), Route(METRICS, Metrics(daemon, now).answer)]
    app = Starlette(
        routes=[*pages.routes(), *posts.routes(), *music, *api.routes(), Route("/events", events), *watched, static],
        exception_handlers={ApplianceError: ours, HTTPException: http, Exception: fault},
    )
    return Guard(app, door, names)


_STANDARD = ("Not Found", "Method Not Allowed")  # what the router itself says


class _Static(StaticFiles):
    """Our own files: kept by browsers, asked for again each time, so that an update shows at once."""

    def file_response(self, *args: object, **more: object) -> Response:
        """As always, but to be asked for again."""
        response = super().file_response(*args, **more)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response
