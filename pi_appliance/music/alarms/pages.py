"""The page of alarms and of the sleep timer, and what its forms ask for."""

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
_MINUTES = (15, 30, 45, 60, 90)


class AlarmPages:
    """The endpoints; PAGES renders the page."""

    def __init__(self, daemon: Daemon, actions: Actions, pages: Pages) -> None:
        self._daemon, self._actions, self._pages = daemon, actions, pages

    def routes(self) -> list[Route]:
        """Return every route of alarms that is for people."""
        return [
            Route(PAGE, self.page),
            Route(f"{PAGE}/edit", self.edit, methods=["POST"]),
            Route(f"{PAGE}/sleep", self.sleep, methods=["POST"]),
        ]

    async def page(self, _: Request) -> Response:
        """Show when it rings, and when the music goes to sleep."""
        appliance, hub = self._daemon.appliance, self._daemon.hub
        found = service.alarms(appliance, self._actions.now())
        return self._pages.page(
            "alarms.html",
            music=hub,
            alarms=found,
            rung=[each for each in found if each.session],
            sleep=service.sleep_timer(appliance),
            can_sleep=bool(service.jobs_with_action(appliance, service.SLEEP)),
            minutes=_MINUTES,
            examples=service.EXAMPLE_JOBS,
        )

    async def edit(self, request: Request) -> Response:
        """Do with an alarm what a button says."""
        given = await form(request)
        appliance, name, now = self._daemon.appliance, given.get("job", ""), self._actions.now()
        match given.get("do"):
            case "skip":
                service.skip(appliance, name, now=now)
            case "unskip":
                service.unskip(appliance, name, now=now)
            case "snooze":
                service.snooze(appliance, name)
            case "stop":
                service.stop_ringing(appliance, name)
            case "once":
                service.ring_at(appliance, name, given.get("at", ""), now=now)
            case "cancel-rings":
                service.cancel_rings(appliance, name)
            case other:
                raise HTTPException(400, f"nothing is known of {other!r} here")
        return self._done(given)

    async def sleep(self, request: Request) -> Response:
        """Set the sleep timer, or end it."""
        given = await form(request)
        if given.get("do") == "cancel":
            service.cancel_sleep_timer(self._daemon.appliance)
        else:
            self._set_sleep(given)
        return self._done(given)

    def _set_sleep(self, given: Mapping[str, str]) -> None:
        minutes, at = given.get("in", ""), given.get("at", "")
        try:
            length = units.parse_duration(minutes) if minutes else None
        except ValueError as error:
            raise HTTPException(400, f"'in' is wrong: {error}") from None
        try:
            service.set_sleep_timer(
                self._daemon.appliance,
                now=self._actions.now(),
                in_=length,
                at=at or None,
                play_out=given.get("play_out") or None,
            )
        except ApplianceError as error:
            raise HTTPException(400, str(error)) from None

    def _done(self, given: Mapping[str, str]) -> Response:
        self._daemon.wake()
        return RedirectResponse(local_target(given.get("to", PAGE)), 303)
