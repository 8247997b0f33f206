"""The page of the backups: download, the nightly ones, upload, check and restore."""

import asyncio
from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from pi_appliance.config import units
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.maintenance import api
from pi_appliance.maintenance.backups import NOTE, Uploads, download_chunks
from pi_appliance.maintenance.pages import waiting_page
from pi_appliance.scheduling.interface import Services
from pi_appliance.storage.archive import ArchiveSummary
from pi_appliance.storage.backup import list_backups
from pi_appliance.system import network
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import form


class BackupPages:
    """The endpoints of the backups."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages
        self._uploads = Uploads()

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/system/backup", self.show),
            Route("/system/backup", self.upload, methods=["POST"]),
            Route("/system/backup/restore", self.restore, methods=["POST"]),
            Route("/system/backup/download", self.download),
            Route("/system/backup/nightly/{name}", self.download_nightly),
        ]

    async def show(self, _: Request) -> Response:
        """Show the nightly backups, and the upload that waits for its confirmation."""
        return self._page()

    def _page(self, status: int = 200, problem: str = "") -> Response:
        config = self._services.appliance.config
        nightly = [(each.name, each.stat()) for each in list_backups(config.state_dir)]
        checked = self._uploads.checked
        return self._pages.page(
            "system/backup.html",
            status,
            problem=problem,
            nightly=[
                (name, datetime.fromtimestamp(about.st_mtime, UTC), units.format_size(about.st_size))
                for name, about in nightly
            ],
            checked=checked,
            content=_describe(checked.summary) if checked else "",
            about=api.describe_request(self._services, "restart"),
            notes=[each for each in self._services.daemon.messages if each.text.startswith(NOTE)],
        )

    async def download(self, _: Request) -> Response:
        """Send a backup that is made now. Nothing of it is stored."""
        services = self._services
        chunks = await asyncio.to_thread(download_chunks, services.appliance.config)
        today = services.now().astimezone(services.appliance.config.time_zone)
        name = f"{network.host_name()}-{today:%Y-%m-%d-%H%M}.tar.gz"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return StreamingResponse(chunks, headers=headers, media_type="application/gzip")

    async def download_nightly(self, request: Request) -> Response:
        """Send a nightly copy of the database."""
        name = request.path_params["name"]
        path = next(
            (each for each in list_backups(self._services.appliance.config.state_dir) if each.name == name), None
        )
        if path is None:
            raise HTTPException(404, "this backup is not here any more")
        return FileResponse(path, media_type="application/vnd.sqlite3", filename=name)

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
        """Restore the checked backup at the restart that follows, or discard it."""
        fields, state_dir = await form(request), self._services.appliance.config.state_dir
        if "discard" in fields:
            self._uploads.discard(state_dir)
            return RedirectResponse("/system/backup", 303)
        try:
            self._uploads.confirm(fields.get("token", ""), state_dir)
        except Refused as error:
            return self._page(409, f"Nothing was changed: {error}")
        result = await api.restart(self._services, {})
        return waiting_page(self._services, self._pages, result, then="/system/backup")


def _describe(summary: ArchiveSummary) -> str:
    runs, posts = units.pluralize(summary.runs, "run"), units.pluralize(summary.posts, "post")
    return f"{runs}, {posts}, {units.format_size(summary.size)}"
