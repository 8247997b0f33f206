"""The JSON API under /api/v1: what the page shows and does, for other programs. Each part brings its endpoints."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pi_appliance.errors import UnknownName
from pi_appliance.web import openapi, values
from pi_appliance.web.actions import Actions
from pi_appliance.web.alarm_api import AlarmApi
from pi_appliance.web.art_api import ArtApi
from pi_appliance.web.covers import Covers
from pi_appliance.web.endpoints import BASE, Call, Endpoint
from pi_appliance.web.job_api import JobApi
from pi_appliance.web.library_api import LibraryApi
from pi_appliance.web.player import COMMANDS
from pi_appliance.web.player_api import PlayerApi
from pi_appliance.web.player_events import PlayerEvents
from pi_appliance.web.playlist_api import PlaylistApi
from pi_appliance.web.queue_api import QueueApi
from pi_appliance.web.station_api import StationApi
from pi_appliance.web.usb_api import UsbApi
from pi_appliance.web.world import Daemon


class Api:
    """The endpoints. ACTIONS does what a POST asks."""

    def __init__(self, daemon: Daemon, actions: Actions, changes: PlayerEvents, covers: Covers) -> None:
        self._daemon, self._actions, self._changes, self._covers = daemon, actions, changes, covers

    def endpoints(self) -> list[Endpoint]:
        """Return every row of the table."""
        daemon, actions = self._daemon, self._actions
        return [
            Endpoint(
                method="GET",
                path="/state",
                what="The player, the jobs, and how the scheduler does.",
                act=self.state,
                answer="State",
            ),
            Endpoint(
                method="GET",
                path="/openapi.json",
                what="This table as an OpenAPI document.",
                act=self.document,
                answer="Document",
            ),
            *PlayerApi(daemon, actions, self._changes).endpoints(),
            *ArtApi(self._covers).endpoints(),
            *QueueApi(daemon, actions).endpoints(),
            *LibraryApi(daemon).endpoints(),
            *PlaylistApi(daemon, actions).endpoints(),
            *StationApi(daemon, actions).endpoints(),
            *JobApi(daemon, actions).endpoints(),
            *AlarmApi(daemon, actions).endpoints(),
            *UsbApi(daemon).endpoints(),
        ]

    def routes(self) -> list[Route]:
        """Return every route of the API."""
        rest = Route(f"{BASE}/player/{{command}}", _no_such_command, methods=["POST"])
        return [*(endpoint.route() for endpoint in self.endpoints()), rest]

    async def state(self, _: Call) -> object:
        """Player and jobs."""
        return values.state(self._daemon, self._actions.now())

    async def document(self, _: Call) -> object:
        """Return the table as OpenAPI."""
        return openapi.document(self.endpoints())


async def _no_such_command(request: Request) -> Response:
    raise UnknownName("command of the player", request.path_params["command"], tuple(COMMANDS))
