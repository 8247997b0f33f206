"""The pages of the machine: facts, the doctor, the log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pi_appliance.diagnostics.api import run_doctor
from pi_appliance.diagnostics.machine_facts import VERSIONS
from pi_appliance.maintenance import api
from pi_appliance.scheduling.interface import Services
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import query_number

_PAGE_SIZE = 100  # messages, as in the links of the pager
_ORDER = ("fail", "warn", "ok", "skipped")


@dataclass(frozen=True, slots=True)
class Remedy:
    """What the appliance itself can do about a result: a form of an operation, or a page."""

    label: str
    operation: str = ""
    page: str = ""


_REMEDIES: Mapping[str, Remedy] = {
    "configuration": Remedy("Read again", operation="/do/reload"),
    "player": Remedy("Connect again", operation="/do/player/reconnect"),
    "posts": Remedy("Show the posts", page="/posts"),
}


class SystemPages:
    """The endpoints that return a page about the machine."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/system", self.show),
            Route("/system/log", self.log),
            Route("/parts/doctor", self.doctor_part),
        ]

    async def show(self, request: Request) -> Response:
        """Show the facts; with `doctor` in the query, also the results of all checks."""
        asked, facts = "doctor" in request.query_params, await api.machine_facts(self._services)
        return self._pages.page(
            "system/system.html",
            facts=[each for each in facts if each.check not in VERSIONS],
            versions=[each for each in facts if each.check in VERSIONS],
            results=await self._check_everything() if asked else None,
            problems=sum(each.is_problem for each in self._services.daemon.messages),
        )

    async def doctor_part(self, _: Request) -> Response:
        """Return the results of all checks."""
        return self._pages.page("system/_doctor.html", results=await self._check_everything())

    async def _check_everything(self) -> list[dict[str, Any]]:
        """Return the results of the doctor, failures first, each with its remedy."""
        results: Any = await run_doctor(self._services, {})
        results.sort(key=lambda each: _ORDER.index(each["status"]))
        return [{**each, "remedy": _remedy(each)} for each in results]

    async def log(self, request: Request) -> Response:
        """Show the messages of the daemon, the newest first."""
        only_problems, start = "problems" in request.query_params, query_number(request, "start") or 0
        entries = [each for each in reversed(self._services.daemon.messages) if each.is_problem or not only_problems]
        return self._pages.page(
            "system/log.html",
            entries=entries[start : start + _PAGE_SIZE],
            start=start,
            length=len(entries),
            only_problems=only_problems,
            started_at=self._services.daemon.started_at,
        )


def _remedy(result: Mapping[str, str]) -> Remedy | None:
    if result["status"] not in ("warn", "fail"):
        return None
    if result["check"].startswith("job "):
        return Remedy("Show the job", page=f"/jobs/{result['check'].removeprefix('job ')}")
    return _REMEDIES.get(result["check"])
