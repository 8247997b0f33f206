"""Handlers of the operations on the cluster, and the endpoint where other machines join."""

import asyncio
import json
from collections.abc import Mapping
from typing import Annotated, TypedDict

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pi_appliance import __version__
from pi_appliance.cluster import join_code
from pi_appliance.cluster.client import MemberFolder, require_libraries
from pi_appliance.cluster.tasks import ClusterWorkerJson, WorkersJson, python_version, run_task
from pi_appliance.config import editing, units
from pi_appliance.config.options import Config
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.json_schema import Instant
from pi_appliance.operations import Values
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.system import network
from pi_appliance.web.params import json_object
from pi_appliance.web.security import CLUSTER_JOIN

_RUN_HINT = "pi-appliance cluster run"


class ClusterCodeJson(TypedDict):
    """A code that another machine needs to join the cluster."""

    scheduler: Annotated[str, "its address"]
    code: str
    expires: Instant


class ClusterMemberJson(TypedDict):
    """The cluster that this machine belongs to."""

    scheduler: Annotated[str, "its address, or empty"]


class ClusterJson(TypedDict):
    """The state of the cluster."""

    scheduler: Annotated[str, "its address, or empty"]
    is_first: Annotated[bool, "the scheduler runs on this machine"]
    problem: Annotated[str, "why the scheduler does not answer, or empty"]
    workers: list[ClusterWorkerJson]
    waiting: Annotated[int, "tasks that no worker has"]


async def start(services: Services, values: Values) -> ClusterCodeJson:
    """Create the cluster if there is none, and a new code."""
    require_libraries()
    config = services.appliance.config
    folder = MemberFolder(config.state_dir)
    if network.is_loopback_only(config.web.host):
        raise Refused(
            f"the page listens on {config.web.host}, so no other machine can join; write host: 0.0.0.0 under web:"
        )
    membership = folder.membership()
    if membership is not None and not membership.is_first:
        raise Refused(f"this machine belongs to the cluster {membership.scheduler}; run: pi-appliance cluster leave")
    if membership is None:
        await run_task("create", state=str(config.state_dir), port=values["port"])
        membership = folder.membership()
        assert membership is not None
        await _write_section(services, membership.scheduler)
    code, expires = await asyncio.to_thread(join_code.create_code, folder, services.now())
    return {"scheduler": membership.scheduler, "code": code, "expires": expires.isoformat()}


async def join(services: Services, values: Values) -> ClusterMemberJson:
    """Get a certificate from the first machine, and work for its cluster."""
    require_libraries()
    config = services.appliance.config
    membership = MemberFolder(config.state_dir).membership()
    if membership is not None:
        raise Refused(f"this machine belongs to the cluster {membership.scheduler}; run: pi-appliance cluster leave")
    join_code.parse_code(values["code"])
    scheduler = await run_task(
        "join", state=str(config.state_dir), code=values["code"], address=values["address"].strip()
    )
    await _write_section(services, scheduler)
    return {"scheduler": scheduler}


async def leave(services: Services, _: Values) -> ClusterMemberJson:
    """Delete the certificates and the section of the configuration."""
    config = services.appliance.config
    await asyncio.to_thread(MemberFolder(config.state_dir).clear)
    await _write_section(services, "")
    return {"scheduler": ""}


async def status(services: Services, _: Values) -> ClusterJson:
    """Return the scheduler and its workers."""
    config = services.appliance.config
    membership = MemberFolder(config.state_dir).membership()
    scheduler = config.cluster.scheduler if config.cluster else membership.scheduler if membership else ""
    is_first = membership is not None and membership.is_first
    found: WorkersJson = {"workers": [], "waiting": 0}
    problem = ""
    if scheduler:
        try:
            found = await run_task("status", state=str(config.state_dir), scheduler=scheduler)
        except ApplianceError as error:
            advice = f"does it run? systemctl status pi-appliance-cluster, or: {_RUN_HINT}" if is_first else ""
            problem = units.join_clauses(str(error), advice)
    return {"scheduler": scheduler, "is_first": is_first, "problem": problem, **found}


async def _write_section(services: Services, scheduler: str) -> None:
    """Write `cluster:` into the configuration; remove it without a `scheduler`."""
    config: Config = services.appliance.config
    if (config.cluster.scheduler if config.cluster else "") == scheduler:
        return

    def change() -> None:
        file = services.config_file
        if scheduler:
            file.edit(lambda data: editing.set_value(data, ("cluster",), {"scheduler": scheduler}))
        else:
            file.edit(lambda data: editing.remove_value(data, ("cluster",)))

    await asyncio.to_thread(change)
    await services.daemon.apply_configuration()


_WRONG_CODE = "the code is wrong, was used, or has expired; show a new one there with: pi-appliance cluster start"


class JoinEndpoint:
    """Signs the certificate of a machine that proves to know the code, once."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [Route(CLUSTER_JOIN, self.answer, methods=["POST"])]

    async def answer(self, request: Request) -> Response:
        """Answer a request to join."""
        try:
            return JSONResponse(await self._sign(await json_object(request)))
        except HTTPException as error:
            return JSONResponse({"error": error.detail}, error.status_code)
        except ApplianceError:  # not its text, which may name files
            return JSONResponse({"error": "the certificate could not be signed there"}, 503)

    async def _sign(self, envelope: Mapping[str, object]) -> dict[str, str]:
        state = self._services.appliance.config.state_dir
        folder = MemberFolder(state)
        secret = await asyncio.to_thread(join_code.load_secret, folder, self._services.now())
        asked = None
        if secret is not None:
            expected = join_code.prove_request(secret, str(envelope.get("message")))
            asked = join_code.open_message(envelope, expected)
        if secret is None or asked is None:
            raise HTTPException(403, _WRONG_CODE)
        own, other = (__version__, python_version()), (asked.get("release"), asked.get("python"))
        if own != other:
            both = f"it has {own[0]} with Python {own[1]}, this machine {other[0]} with Python {other[1]}"
            raise HTTPException(409, f"all machines of a cluster need the same version: {both}")
        membership = folder.membership()
        if membership is None or not join_code.use_code(folder):
            raise HTTPException(403, _WRONG_CODE)
        signed = await run_task("sign", state=str(state), request=str(asked.get("request")))
        message = json.dumps({**signed, "port": membership.port, "host": f"{network.host_name()}.local"})
        proof = join_code.prove_answer(secret, str(envelope["proof"]), message)
        return {"message": message, "proof": proof}
