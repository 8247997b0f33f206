"""The page with the address of a webhook, which is shown once."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pi_appliance.scheduling.interface import Services
from pi_appliance.triggers.api import create_webhook
from pi_appliance.web.pages import Pages


class TriggerPages:
    """The endpoint that creates the address of a job."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [Route("/jobs/{name}/webhook", self.create, methods=["POST"])]

    async def create(self, request: Request) -> Response:
        """Create the address, and show it."""
        created = await create_webhook(self._services, {"name": str(request.path_params["name"])})
        origin = f"{request.url.scheme}://{request.headers.get('host', '')}"
        return self._pages.page("jobs/webhook.html", job=created["job"], address=f"{origin}{created['path']}")
