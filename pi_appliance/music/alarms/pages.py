"""The page of alarms and the sleep timer, and its forms."""

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.config import units
from pi_appliance.errors import ApplianceError
from pi_appliance.jobs.pages import Pages
from pi_appliance.music.alarms import service
from pi_appliance.web.actions import Actions
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import form
from pi_appliance.web.security import local_target

PAGE = "/music/alarms"
_SLEEP_MINUTES = (15, 30, 45, 60, 90)


class AlarmPages:
    """The routes for people; `pages` renders the template."""

    def __init__(self, daemon: Daemon, actions: Actions, pages: Pages) -> None:
        self._daemon, self._actions, self._pages = daemon, actions, pages

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route(PAGE, self.page),
            Route(f"{PAGE}/edit", self.edit_alarm, methods=["POST"]),
            Route(f"{PAGE}/sleep", self.edit_sleep_timer, methods=["POST"]),
        ]

    async def page(self, _: Request) -> Response:
        """Render the page."""
        appliance, hub = self._daemon.appliance, self._daemon.hub
        alarms = service.alarms(appliance, self._actions.now())
        return self._pages.page(
            "alarms.html",
            music=hub,
            alarms=alarms,
            active=[each for each in alarms if each.session],
            sleep=service.sleep_timer(appliance),
            can_sleep=bool(service.jobs_with_action(appliance, service.SLEEP)),
            minutes=_SLEEP_MINUTES,
            examples=service.EXAMPLE_JOBS,
        )

    async def edit_alarm(self, request: Request) -> Response:
        """Handle a button of an alarm."""
        fields = await form(request)
        appliance, name, now = self._daemon.appliance, fields.get("job", ""), self._actions.now()
        match fields.get("do"):
            case "skip":
                service.skip(appliance, name, now=now)
            case "unskip":
                service.unskip(appliance, name, now=now)
            case "snooze":
                service.snooze(appliance, name)
            case "stop":
                service.stop_ringing(appliance, name)
            case "once":
                service.ring_at(appliance, name, fields.get("at", ""), now=now)
            case "cancel-rings":
                service.cancel_rings(appliance, name)
            case other:
                raise HTTPException(400, f"{other!r} is not a known action")
        return self._redirect(fields)

    async def edit_sleep_timer(self, request: Request) -> Response:
        """Set or cancel the sleep timer."""
        fields = await form(request)
        if fields.get("do") == "cancel":
            service.cancel_sleep_timer(self._daemon.appliance)
        else:
            self._set_sleep_timer(fields)
        return self._redirect(fields)

    def _set_sleep_timer(self, fields: Mapping[str, str]) -> None:
        try:
            length = units.parse_duration(fields["in"]) if fields.get("in") else None
        except ValueError as error:
            raise HTTPException(400, f"'in' is not a valid length of time: {error}") from None
        try:
            service.set_sleep_timer(
                self._daemon.appliance,
                now=self._actions.now(),
                in_=length,
                at=fields.get("at") or None,
                play_out=fields.get("play_out") or None,
            )
        except ApplianceError as error:
            raise HTTPException(400, str(error)) from None

    def _redirect(self, fields: Mapping[str, str]) -> Response:
        self._daemon.wake()
        return RedirectResponse(local_target(fields.get("to", PAGE)), 303)
