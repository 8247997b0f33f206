"""The page of updates: what is new, the button, the progress."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pi_appliance.maintenance import api
from pi_appliance.scheduling.interface import Services
from pi_appliance.web.pages import Pages


class UpdatePages:
    """The endpoints of the page of updates."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [Route("/system/update", self.show), Route("/parts/update", self.progress_part)]

    async def show(self, _: Request) -> Response:
        """Show the version, what is new, and how the last update went."""
        return await self._page("system/update.html")

    async def progress_part(self, _: Request) -> Response:
        """Return the progress of the update."""
        return await self._page("system/_update.html")

    async def _page(self, template: str) -> Response:
        values = await asyncio.to_thread(api.update_values, self._services)
        checker = self._services.daemon.update_checker
        about = api.describe_request(self._services, "update")
        return self._pages.page(template, update=values, checked_at=checker.checked_at, about=about)
