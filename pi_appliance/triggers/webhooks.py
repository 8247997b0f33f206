"""The secret address of a job: a POST to /hooks/JOB/SECRET starts the job, without a sign-in.

The page of the job creates the address, and shows it once.
"""

import asyncio
import hmac
import math
import os
import secrets as random_secrets
from collections import deque
from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pi_appliance.config import secrets
from pi_appliance.config.secrets import secret_names
from pi_appliance.errors import ApplianceError, DeadlineExceeded, Refused, Uncertain
from pi_appliance.jobs.api import run_by_event
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.storage.model import Trigger
from pi_appliance.triggers.api import create_webhook
from pi_appliance.web.pages import Pages
from pi_appliance.web.security import HOOKS, address_of

HEADER = "x-webhook-secret"
_MAX_WAIT = 5.0  # seconds to wait for the number of the run, which a waiting run gets later
_PERIOD = 60.0  # seconds for which events are counted
_MAX_WRONG = 10  # wrong calls of one network address in `_PERIOD`
_MAX_STARTS = 20  # calls of one job in `_PERIOD`
_MAX_KEYS = 1024
_NO_SUCH = "there is no such job, or that is not its secret"


class RateLimit:
    """Allows `count` events of each key within a minute. Old keys are forgotten."""

    def __init__(self, count: int, monotonic: Callable[[], float]) -> None:
        self._count, self._monotonic = count, monotonic
        self._times: dict[str, deque[float]] = {}

    def require(self, key: str) -> None:
        """Raise HTTPException 429 if `key` has had its events of this minute."""
        now, times = self._monotonic(), self._times.get(key, deque())
        while times and now - times[0] >= _PERIOD:
            times.popleft()
        if len(times) >= self._count:
            seconds = math.ceil(times[0] + _PERIOD - now)
            raise HTTPException(429, f"too many calls; try again in {seconds} s", {"Retry-After": str(seconds)})

    def record(self, key: str) -> None:
        """Count an event of `key`."""
        times = self._times.pop(key, deque())
        times.append(self._monotonic())
        self._times[key] = times  # at the end, because the dictionary is in the order of the last event
        if len(self._times) > _MAX_KEYS:
            del self._times[next(iter(self._times))]


class Webhooks:
    """The endpoints that create the secret address of a job, and that start the job."""

    def __init__(self, services: Services, pages: Pages, monotonic: Callable[[], float]) -> None:
        self._services, self._pages = services, pages
        self._wrong, self._starts = RateLimit(_MAX_WRONG, monotonic), RateLimit(_MAX_STARTS, monotonic)
        self._tasks = set[asyncio.Task[int]]()

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        paths = (HOOKS + "{name}", HOOKS + "{name}/{secret}")
        calls = [Route(path, self.call, methods=["POST"]) for path in paths]
        return [Route("/jobs/{name}/webhook", self.create, methods=["POST"]), *calls]

    async def create(self, request: Request) -> Response:
        """Create the secret address of a job, and show it."""
        created = await create_webhook(self._services, {"name": str(request.path_params["name"])})
        origin = f"{request.url.scheme}://{request.headers.get('host', '')}"
        return self._pages.page("jobs/webhook.html", job=created["job"], address=f"{origin}{created['path']}")

    async def call(self, request: Request) -> Response:
        """Start the job, and answer with the number of its run. The body is not read."""
        try:
            return await self._call(request)
        except HTTPException as error:
            return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    async def _call(self, request: Request) -> Response:
        name, address = str(request.path_params["name"]), address_of(request)
        given = str(request.path_params.get("secret") or request.headers.get(HEADER, ""))
        self._wrong.require(address)
        secret = await asyncio.to_thread(self._secret_of, name)
        # Without a secret, a random one is compared, so that the time does not reveal whether the
        # job has one.
        wanted = (secret or random_secrets.token_hex()).encode()
        if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted):
            self._wrong.record(address)
            raise HTTPException(404, _NO_SUCH)
        self._starts.require(name)
        self._starts.record(name)
        task = asyncio.create_task(run_by_event(self._services, name, Trigger.WEBHOOK))
        self._tasks.add(task)  # the run is started even if the caller disconnects
        task.add_done_callback(self._end)
        await asyncio.wait([task], timeout=_MAX_WAIT)
        try:
            run = task.result() if task.done() else None
        except (Uncertain, DeadlineExceeded):
            run = None
        except Refused as error:
            raise HTTPException(409, str(error)) from None
        except ApplianceError:  # not its text, which may name files
            raise HTTPException(503, "it cannot be started now; the log of the appliance says why") from None
        return JSONResponse({"job": name, "run": run}, 202)

    def _end(self, task: asyncio.Task[int]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # the answer has reported it, if the caller waited

    def _secret_of(self, name: str) -> str:
        """Return the secret of the job `name`, or "" if the job has no address."""
        config = self._services.appliance.config
        job = config.jobs.get(name)
        if job is None or not job.triggers.webhook:
            return ""
        try:
            known = secrets.load(config.path, os.environ, secret_names(config))
        except ApplianceError:  # the doctor reports the reason
            return ""
        return known.get(job.triggers.webhook, "")
