"""A list of releases with one archive, in the form of GitHub's `GET /repos/OWNER/NAME/releases`.

https://docs.github.com/en/rest/releases/releases
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from threading import Event
from typing import Any

from tests.fakes.loopback import serving


class ReleaseServer:
    """A list of releases with one archive, in the form of GitHub."""

    def __init__(self, version: str, body: bytes) -> None:
        self.address, self.stopped = "", Event()
        self.offer(version, body)

    def offer(self, version: str, body: bytes, digest: str = "") -> None:
        self.version, self.body = version, body
        self.digest = digest or hashlib.sha256(body).hexdigest()

    def releases(self) -> list[dict[str, Any]]:
        asset = {
            "name": f"pi-appliance-{self.version}.tar.gz",
            "browser_download_url": f"{self.address}/archive",
            "digest": f"sha256:{self.digest}",
        }
        common = {"draft": False, "prerelease": False, "assets": [asset]}
        return [
            {**common, "tag_name": "v0.1.0", "body": "The first."},
            {**common, "tag_name": f"v{self.version}", "body": "Alarms fade in."},
            {**common, "tag_name": "v9.0.0", "prerelease": True, "body": "A preview."},
        ]


class _Handler(BaseHTTPRequestHandler):
    """Serves the list at any path but that of the archive."""

    state: ReleaseServer

    def do_GET(self) -> None:
        body = self.state.body if self.path == "/archive" else json.dumps(self.state.releases()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def release_server(version: str, body: bytes) -> Iterator[ReleaseServer]:
    """Serve the release `version` with the archive `body` during the block."""
    state = ReleaseServer(version, body)
    with serving(state, _Handler):
        yield state
