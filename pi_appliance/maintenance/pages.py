"""The pages of the machine: facts, the doctor, the log, restarts, backups and updates."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from pi_appliance.config import units
from pi_appliance.diagnostics.api import run_doctor
from pi_appliance.diagnostics.context import CheckResult, Status
from pi_appliance.diagnostics.machine_facts import VERSIONS
from pi_appliance.errors import ApplianceError, InvalidOption, Refused, UnknownName
from pi_appliance.maintenance import api
from pi_appliance.maintenance.backup_restore import NOTE, Uploads, find_stored, list_stored, restore_stored
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.storage.backup_archive import ArchiveSummary
from pi_appliance.storage.daily_backups import backup_chunks, find_problem
from pi_appliance.storage.model import iso_time
from pi_appliance.system import network
from pi_appliance.system.systemd import PowerAction
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import form, query_number

_PAGE_SIZE = 100  # messages; the links of the pager use the same number
_HANDLERS: Mapping[str, Callable[[Services, Mapping[str, Any]], Awaitable[Any]]] = {
    "restart": api.restart,
    "reboot": api.reboot,
    "shutdown": api.shutdown,
}
_ORDER = (Status.FAIL, Status.WARN, Status.OK, Status.SKIPPED)


@dataclass(frozen=True, slots=True)
class Remedy:
    """A button that solves a problem: it sends the form of an operation, or opens a page."""

    label: str
    operation: str = ""
    page: str = ""


_REMEDIES: Mapping[str, Sequence[Remedy]] = {
    "player": [Remedy("Connect again", operation="/do/player/reconnect")],
    "posts": [Remedy("Show the posts", page="/posts")],
    "space": [Remedy("Keep less history", page="/settings")],
    "history": [Remedy("Show the backups", page="/system/backup")],
}
_WRONG_FILE = (
    Remedy("Correct it", page="/settings/file"),
    Remedy("Read again", operation="/do/reload"),
    Remedy("Go back to the last good file", operation="/do/config/history/last-good"),
)


class SystemPages:
    """The endpoints that return a page about the machine."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages
        self._doctor_lock = asyncio.Lock()  # one doctor at a time, even if the button is pressed repeatedly

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            Route("/system", self.show),
            Route("/system/log", self.log),
            Route("/system/power", self.power),
            Route("/system/power", self.request_power, methods=["POST"]),
            Route("/system/update", self.update),
            Route("/parts/doctor", self.doctor_part),
            Route("/parts/update", self.update_part),
        ]

    async def show(self, request: Request) -> Response:
        """Show the facts; with `doctor` in the query, also the results of all checks."""
        asked, facts = "doctor" in request.query_params, await api.machine_facts(self._services)
        return self._pages.page(
            "maintenance/system.html",
            facts=[each for each in facts if each.check not in VERSIONS],
            versions=[each for each in facts if each.check in VERSIONS],
            results=await self._check_everything() if asked else None,
            problems=sum(each.is_problem for each in self._services.daemon.messages),
            newest=newest.version if (newest := self._services.daemon.update_checker.newest) else "",
        )

    async def doctor_part(self, _: Request) -> Response:
        """Return the results of all checks."""
        return self._pages.page("maintenance/_doctor.html", results=await self._check_everything())

    async def _check_everything(self) -> list[dict[str, Any]]:
        """Return the results of the doctor, failures first, each with its remedies."""
        async with self._doctor_lock:
            results = await run_doctor(self._services, {})
        results.sort(key=lambda each: _ORDER.index(each.status))
        is_wrong = self._services.daemon.config_error is not None
        return [{**asdict(each), "remedies": _remedies(each, is_wrong=is_wrong)} for each in results]

    async def log(self, request: Request) -> Response:
        """Show the messages of the daemon, the newest first."""
        only_problems, start = "problems" in request.query_params, query_number(request, "start") or 0
        entries = [each for each in reversed(self._services.daemon.messages) if each.is_problem or not only_problems]
        return self._pages.page(
            "maintenance/log.html",
            entries=entries[start : start + _PAGE_SIZE],
            start=start,
            length=len(entries),
            only_problems=only_problems,
            started_at=self._services.daemon.started_at,
        )

    async def power(self, _: Request) -> Response:
        """Show what a restart, a reboot and a shutdown do, with a button for each."""
        return await self._power_page()

    async def request_power(self, request: Request) -> Response:
        """Restart, reboot or shut down, and show the page that waits for the appliance."""
        wanted = (await form(request)).get("request", "")
        if wanted not in _HANDLERS:
            raise InvalidOption(f"'request' must be one of {', '.join(_HANDLERS)}")
        try:
            result = await _HANDLERS[wanted](self._services, {})
        except Refused as error:
            return await self._power_page(409, str(error))
        return waiting_page(self._services, self._pages, result)

    async def _power_page(self, status: int = 200, problem: str = "") -> Response:
        power = self._services.daemon.power
        obstacles = [await asyncio.to_thread(power.find_obstacle, action) for action in PowerAction]
        return self._pages.page(
            "maintenance/power.html",
            status,
            problem=problem,
            obstacles=dict(zip(PowerAction, obstacles, strict=True)),
            about=api.describe_request(self._services, ""),
        )

    async def update(self, _: Request) -> Response:
        """Show the version, what is new, and how the last update went."""
        return await self._update_page("maintenance/update.html")

    async def update_part(self, _: Request) -> Response:
        """Return the progress of the update."""
        return await self._update_page("maintenance/_update.html")

    async def _update_page(self, template: str) -> Response:
        values = await asyncio.to_thread(api.update_values, self._services)
        checked_at = self._services.daemon.update_checker.checked_at
        about = api.describe_request(self._services, "update")
        return self._pages.page(template, update=values, checked_at=checked_at, about=about)


def waiting_page(services: Services, pages: Pages, about: Mapping[str, Any], then: str = "/system") -> Response:
    """Return the page that waits until the appliance answers again, and then shows `then`."""
    started_at = iso_time(services.daemon.started_at)
    return pages.page("maintenance/waiting.html", about=about, then=then, started_at=started_at)


def _remedies(result: CheckResult, *, is_wrong: bool) -> Sequence[Remedy]:
    """Return the remedies for `result`.

    `is_wrong`: the file is wrong, so the last good copy is in use.
    """
    if result.status not in (Status.WARN, Status.FAIL):
        return ()
    if result.check.startswith("job "):
        return [Remedy("Show the job", page=f"/jobs/{result.check.removeprefix('job ')}")]
    if result.check == "configuration":
        return _WRONG_FILE if is_wrong else _WRONG_FILE[:1]
    return _REMEDIES.get(result.check, ())


class BackupPages:
    """The endpoints of the backups."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages
        self._uploads = Uploads()

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            Route("/system/backup", self.show),
            Route("/system/backup", self.upload, methods=["POST"]),
            Route("/system/backup/restore", self.restore, methods=["POST"]),
            Route("/system/backup/download", self.download),
            Route("/system/backup/stored/{name}", self.download_stored),
        ]

    async def show(self, _: Request) -> Response:
        """Show the nightly backups, and the upload that waits for its confirmation."""
        return self._page()

    def _page(self, status: int = 200, problem: str = "") -> Response:
        config = self._services.appliance.config
        checked = self._uploads.checked
        return self._pages.page(
            "maintenance/backup.html",
            status,
            problem=problem,
            stored=[(each, units.format_size(each.size)) for each in list_stored(config)],
            backup=config.backup,
            folder_problem=find_problem(config),
            checked=checked,
            content=_describe(checked.summary) if checked else "",
            about=api.describe_request(self._services, "restart"),
            notes=[each for each in self._services.daemon.messages if each.text.startswith(NOTE)],
        )

    async def download(self, _: Request) -> Response:
        """Send a backup that is made now. Nothing of it is stored."""
        services = self._services
        chunks = await asyncio.to_thread(backup_chunks, services.appliance.config)
        today = services.now().astimezone(services.appliance.config.time_zone)
        name = f"{network.host_name()}-{today:%Y-%m-%d-%H%M}.tar.gz"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(chunks, headers=headers, media_type="application/gzip")

    async def download_stored(self, request: Request) -> Response:
        """Send a stored backup."""
        try:
            stored = find_stored(self._services.appliance.config, request.path_params["name"])
        except UnknownName:
            raise HTTPException(404, "this backup is not here any more") from None
        if stored.is_whole:
            raise HTTPException(403, f"this backup holds the secrets; copy it from {stored.path.parent}")
        return FileResponse(stored.path, media_type="application/octet-stream", filename=stored.path.name)

    async def upload(self, request: Request) -> Response:
        """Store and check a backup, and show its contents."""
        try:
            await self._uploads.receive(request, self._services.appliance.config.state_dir)
        except HTTPException as error:
            return self._page(error.status_code, error.detail)
        except ApplianceError as error:
            return self._page(409, f"Nothing was changed: {error}")
        return RedirectResponse("/system/backup", 303)

    async def restore(self, request: Request) -> Response:
        """Restore the checked or a stored backup at the restart that follows, or discard it."""
        fields, state_dir = await form(request), self._services.appliance.config.state_dir
        if "discard" in fields:
            self._uploads.discard(state_dir)
            return RedirectResponse("/system/backup", 303)
        try:
            if "name" in fields:
                await asyncio.to_thread(restore_stored, self._services.appliance.config, fields["name"])
            else:
                self._uploads.confirm(fields.get("token", ""), state_dir)
        except ApplianceError as error:
            return self._page(409, f"Nothing was changed: {error}")
        result = await api.restart(self._services, {})
        return waiting_page(self._services, self._pages, result, then="/system/backup")


def _describe(summary: ArchiveSummary) -> str:
    runs, posts = units.pluralize(summary.runs, "run"), units.pluralize(summary.posts, "post")
    return f"{runs}, {posts}, {units.format_size(summary.size)}"
