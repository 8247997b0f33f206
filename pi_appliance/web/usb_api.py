"""USB sticks in the JSON API: which there are, how far they are looked through, and letting go of one."""

import dataclasses
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from pi_appliance.model.usb import Stick
from pi_appliance.web.bodies import json_object
from pi_appliance.web.world import Daemon

BASE = "/api/v1/usb"


def routes(daemon: Daemon) -> list[Route]:
    """Return the routes of the sticks of DAEMON."""

    async def sticks(request: Request) -> JSONResponse:
        if request.query_params:
            raise HTTPException(400, "there is nothing to choose here")
        return JSONResponse([_values(each) for each in daemon.sticks.all()])

    async def remove(request: Request) -> JSONResponse:
        if await json_object(request):
            raise HTTPException(400, "remove takes no keys")
        return JSONResponse(_values(await daemon.sticks.remove(request.path_params["name"])))

    return [Route(BASE, sticks), Route(f"{BASE}/{{name}}/remove", remove, methods=["POST"])]


def _values(stick: Stick) -> dict[str, Any]:
    return dataclasses.asdict(stick)
