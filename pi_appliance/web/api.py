"""The JSON API under /api/v1: what the page shows and does, for other programs."""

from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from pi_appliance.engine import accounts
from pi_appliance.errors import nearest
from pi_appliance.model.post import ANSWERS
from pi_appliance.reports import as_json
from pi_appliance.store.posts import Posts
from pi_appliance.web import files, post_values, slots, values
from pi_appliance.web.actions import Actions
from pi_appliance.web.bodies import json_object
from pi_appliance.web.run_numbers import NUMBER
from pi_appliance.web.world import Daemon

BASE = "/api/v1"


class Api:
    """The endpoints. ACTIONS does what a POST asks."""

    def __init__(self, daemon: Daemon, actions: Actions) -> None:
        self._daemon, self._actions = daemon, actions

    def routes(self) -> list[Route]:
        """Return every route of the API."""
        return [
            Route(f"{BASE}/state", self.state),
            Route(f"{BASE}/player", self.player),
            Route(f"{BASE}/player/{{command}}", self.command, methods=["POST"]),
            Route(f"{BASE}/queue", self.queue),
            Route(f"{BASE}/stations", self.stations),
            Route(f"{BASE}/jobs", self.jobs),
            Route(f"{BASE}/jobs/{{name}}/run", self.run_job, methods=["POST"]),
            Route(f"{BASE}/jobs/{{name}}/pause", self.pause_job, methods=["POST"]),
            Route(f"{BASE}/jobs/{{name}}/resume", self.resume_job, methods=["POST"]),
            Route(f"{BASE}/jobs/{{name}}/cancel", self.cancel_job, methods=["POST"]),
            Route(f"{BASE}/jobs/{{name}}/slots", self.slots),
            Route(f"{BASE}/runs", self.runs),
            Route(f"{BASE}/runs/{NUMBER}", self.run),
            Route(f"{BASE}/reports", self.reports),
            Route(f"{BASE}/posts", self.posts),
            *(Route(f"{BASE}/posts/{NUMBER}/{answer}", self.settle, methods=["POST"]) for answer in ANSWERS),
        ]

    async def state(self, request: Request) -> JSONResponse:
        """Player and jobs."""
        _only(request)
        return JSONResponse(values.state(self._daemon, self._now()))

    async def player(self, request: Request) -> JSONResponse:
        """Only the player."""
        _only(request)
        return JSONResponse(values.music(self._daemon.hub))

    async def command(self, request: Request) -> JSONResponse:
        """Ask something of the player, and say what it does then."""
        await self._actions.ask_player(request.path_params["command"], await json_object(request))
        after = await (await self._daemon.hub.player()).state()
        return JSONResponse({**values.music(self._daemon.hub), "player": values.player(after)})

    async def queue(self, request: Request) -> JSONResponse:
        """Return a window of what plays next."""
        _only(request, "start", "count")
        start, count = _whole(request, "start", 0, 0, 1_000_000), _whole(request, "count", 100, 1, 500)
        return JSONResponse(values.queue(await (await self._daemon.hub.player()).queue(start, count)))

    async def stations(self, request: Request) -> JSONResponse:
        """Return the stations of the file."""
        _only(request)
        found = self._actions.stations.all()
        return JSONResponse(
            [{"name": each.name, "url": each.url, "genre": each.genre, "country": each.country} for each in found]
        )

    async def jobs(self, request: Request) -> JSONResponse:
        """Every job with its next slot and its newest run."""
        _only(request)
        return JSONResponse(values.jobs(self._daemon.appliance, self._now()))

    async def run_job(self, request: Request) -> JSONResponse:
        """Start a run; the history tells how it goes."""
        await _no_keys(request, "a run takes no keys; what it does stands in the configuration")
        name = request.path_params["name"]
        await self._actions.run_job(name)
        return JSONResponse({"started": name}, 202)

    async def pause_job(self, request: Request) -> JSONResponse:
        """Let a job use no slot for a while, or for good."""
        name = request.path_params["name"]
        pause = self._actions.pause_job(name, await json_object(request))
        return JSONResponse({"job": name, "paused": values.pause(pause)})

    async def resume_job(self, request: Request) -> JSONResponse:
        """Let a job use its slots again."""
        await _no_keys(request, "resume takes no keys")
        self._actions.resume_job(request.path_params["name"])
        return JSONResponse({"job": request.path_params["name"], "paused": None})

    async def cancel_job(self, request: Request) -> JSONResponse:
        """Ask the run of a job to end; the history tells when it has."""
        await _no_keys(request, "cancel takes no keys")
        return JSONResponse({"cancelled": self._actions.cancel_job(request.path_params["name"]).id}, 202)

    async def slots(self, request: Request) -> JSONResponse:
        """Return what became of the slots of a job, the newest first."""
        _only(request, "limit")
        found = slots.newest(self._daemon.appliance, request.path_params["name"], self._now())
        return JSONResponse([accounts.values(each) for each in islice(found, _whole(request, "limit", 50, 1, 500))])

    async def runs(self, request: Request) -> JSONResponse:
        """Return the history, the newest first."""
        _only(request, "job", "limit", "before")
        before = _whole(request, "before", 0, 1, 2**53) or None
        runs = self._daemon.appliance.history(
            job=request.query_params.get("job"), limit=_whole(request, "limit", 50, 1, 500), before=before
        )
        return JSONResponse([as_json.run(run) for run in runs])

    async def run(self, request: Request) -> JSONResponse:
        """One run and what it printed."""
        _only(request)
        run, log = self._daemon.appliance.log(request.path_params["number"])
        return JSONResponse({**(as_json.run(run) or {}), "log": log})

    async def reports(self, request: Request) -> JSONResponse:
        """Return the reports there are, the newest first."""
        _only(request)
        return JSONResponse([report_values(report) for report in files.reports(self._daemon.appliance)])

    async def posts(self, request: Request) -> JSONResponse:
        """Return what became of posts, the newest first, and what the month has cost."""
        _only(request, "state", "limit", "before")
        appliance, state = self._daemon.appliance, post_values.state_of(request)
        before = _whole(request, "before", 0, 1, 2**53) or None
        found = Posts(appliance.store).newest(limit=_whole(request, "limit", 50, 1, 500), before=before, state=state)
        return JSONResponse(post_values.newest(appliance, self._now(), found))

    async def settle(self, request: Request) -> JSONResponse:
        """Take what the owner saw of an uncertain post."""
        answer = request.url.path.rpartition("/")[2]
        await _no_keys(request, f"{answer} takes no keys")
        return JSONResponse(as_json.post(self._actions.settle_post(request.path_params["number"], answer)))

    def _now(self) -> datetime:
        return self._actions.now()


def report_values(report: files.Report) -> Mapping[str, Any]:
    """Return REPORT as plain values."""
    return {"job": report.job, "file": report.file, "written": as_json.instant(report.written), "bytes": report.size}


async def _no_keys(request: Request, sentence: str) -> None:
    if await json_object(request):
        raise HTTPException(400, sentence)


def _only(request: Request, *known: str) -> None:
    for key in request.query_params:
        if key not in known:
            hint = nearest(key, known) if known else "there is nothing to choose here"
            raise HTTPException(400, f"nothing is known of {key!r}; {hint}")


def _whole(request: Request, key: str, otherwise: int, low: int, high: int) -> int:
    """Return the whole number of the query at KEY."""
    text = request.query_params.get(key)
    if text is None:
        return otherwise
    if not (text.isascii() and text.isdigit() and len(text) < 20 and low <= int(text) <= high):
        raise HTTPException(400, f"{key!r} must be a whole number from {low} to {high}")
    return int(text)
