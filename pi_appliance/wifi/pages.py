"""The page of the Wi-Fi."""

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.errors import ApplianceError
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import form
from pi_appliance.wifi import api, operations

_PAGE = "/system/wifi"


class WifiPages:
    """The endpoints of the page of the Wi-Fi."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            Route(_PAGE, self.show),
            Route(_PAGE, self.join, methods=["POST"]),
            Route("/parts/wifi", self.part),
        ]

    async def show(self, request: Request) -> Response:
        """Show the networks, after a scan with `scan` in the query.

        The outcome of an attempt is shown once.
        """
        page = await self._page("wifi/wifi.html", scan="scan" in request.query_params)
        self._services.daemon.wifi.drop_outcome()
        return page

    async def part(self, _: Request) -> Response:
        """Return the part of the page with the progress of the attempt."""
        return await self._page("wifi/_attempt.html")

    async def join(self, request: Request) -> Response:
        """Begin to join a network.

        The route of `form_routes` is not used: after an error it puts the fields, and so the
        password, into the address of the next page.
        """
        fields = await form(request)
        given = {**fields, "hidden": "hidden" in fields}
        try:
            await api.join(self._services, operations.JOIN.parse(given))
        except ApplianceError as error:
            return await self._page("wifi/wifi.html", 422, problem=str(error), asked=fields.get("ssid", ""))
        return RedirectResponse(_PAGE, 303)

    async def _page(self, template: str, status: int = 200, *, scan: bool = False, **values: Any) -> Response:
        wifi = await api.show(self._services, {"scan": scan})
        return self._pages.page(template, status, wifi=wifi, **values)
