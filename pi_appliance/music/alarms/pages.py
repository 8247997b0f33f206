"""The page of alarms and the sleep timer."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pi_appliance.music.alarms import service
from pi_appliance.music.interface import MusicServices
from pi_appliance.web.pages import Pages

_SLEEP_MINUTES = (15, 30, 45, 60, 90)


class AlarmPages:
    """The endpoint that returns the page."""

    def __init__(self, services: MusicServices, pages: Pages) -> None:
        self._services, self._pages = services, pages

    def routes(self) -> list[Route]:
        """Return the route."""
        return [Route("/music/alarms", self.alarms)]

    async def alarms(self, _: Request) -> Response:
        """Show the alarms and the sleep timer."""
        appliance = self._services.appliance
        alarms = service.alarms(appliance, self._services.now())
        return self._pages.page(
            "music/alarms.html",
            music=self._services.daemon.hub,
            alarms=alarms,
            active=[each for each in alarms if each.session],
            sleep=service.sleep_timer(appliance),
            can_sleep=bool(service.jobs_with_action(appliance, service.SLEEP)),
            minutes=_SLEEP_MINUTES,
            examples=service.EXAMPLE_JOBS,
        )
