"""The static files of the page, read once: compressed, and with a version in their addresses."""

import gzip
import hashlib
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
_MIN_COMPRESSED = 500  # bytes; below, the headers are longer than the gain
_LEVEL = 6  # of gzip: higher ones are slow on a small machine, and gain 1 %


class CompressedPage(HTMLResponse):
    """A page that is compressed for browsers that take it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the page."""
        self.headers["Vary"] = "Accept-Encoding"
        if len(self.body) >= _MIN_COMPRESSED and _accepts_gzip(Headers(scope=scope)):
            self.body = gzip.compress(self.body, _LEVEL, mtime=0)
            self.headers["Content-Encoding"] = "gzip"
            self.headers["Content-Length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


class StaticFiles:
    """The files of `folder`. Their addresses contain the hash of all, so browsers may keep them."""

    def __init__(self, folder: Path) -> None:
        self._files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
        self._compressed = {
            name: gzip.compress(content, mtime=0) for name, content in self._files.items() if not name.endswith(".png")
        }
        self._version = hashlib.sha256(repr(self._files).encode()).hexdigest()[:12]

    def address(self, name: str) -> str:
        """Return the address of a file. Files that import each other are in the same folder."""
        return f"/static/{self._version}/{name}"

    def routes(self) -> list[Route]:
        """Return the routes: with any version, and without one."""
        return [Route("/static/{version}/{name}", self.send), Route("/static/{name}", self.send)]

    async def send(self, request: Request) -> Response:
        """Return a file, or 304 if the browser has it."""
        name = request.path_params["name"]
        if name not in self._files:
            raise HTTPException(404, "there is no such page")
        is_current = request.path_params.get("version") == self._version
        headers = {
            "Cache-Control": "public, max-age=31536000, immutable" if is_current else "no-cache",
            "ETag": f'W/"{self._version}"',
            "Vary": "Accept-Encoding",
        }
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        content = self._files[name]
        if name in self._compressed and _accepts_gzip(request.headers):
            content = self._compressed[name]
            headers["Content-Encoding"] = "gzip"
        return Response(content, headers=headers, media_type=_TYPES.get(Path(name).suffix))


def _accepts_gzip(headers: Headers) -> bool:
    return "gzip" in headers.get("accept-encoding", "")
