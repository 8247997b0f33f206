"""The page of the backups: download, the stored ones, upload, check and restore."""

import asyncio

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from pi_appliance.config import units
from pi_appliance.errors import ApplianceError, UnknownName
from pi_appliance.maintenance import api
from pi_appliance.maintenance.backups import NOTE, Uploads, find_stored, list_stored, restore_stored
from pi_appliance.maintenance.pages import waiting_page
from pi_appliance.scheduling.interface import Services
from pi_appliance.storage.archive import ArchiveSummary
from pi_appliance.storage.backup_folder import backup_chunks, find_problem
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
            Route("/system/backup/stored/{name}", self.download_stored),
        ]

    async def show(self, _: Request) -> Response:
        """Show the nightly backups, and the upload that waits for its confirmation."""
        return self._page()

    def _page(self, status: int = 200, problem: str = "") -> Response:
        config = self._services.appliance.config
        checked = self._uploads.checked
        return self._pages.page(
            "system/backup.html",
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
