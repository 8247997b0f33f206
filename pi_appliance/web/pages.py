"""The frame of the pages: templates and their filters, static files, and errors.

Pages are rendered on the server and work without scripts. Forms redirect with 303.
"""

import functools
import gzip
import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import CodeType
from typing import Any
from urllib.parse import quote, urlsplit
from zoneinfo import ZoneInfo

from jinja2 import BytecodeCache, Environment, FileSystemLoader
from jinja2.bccache import Bucket
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from pi_appliance import __version__, web
from pi_appliance.config import units
from pi_appliance.config.display_name import display_name
from pi_appliance.roles import Role
from pi_appliance.web.params import FORMS
from pi_appliance.web.security import VISITOR, least_role
from pi_appliance.web.sentences import as_sentence

_TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
_MIN_COMPRESSED = 500  # bytes; for less, the headers are longer than the gain
_LEVEL = 6  # gzip level: higher ones are slow on a small machine, and gain 1 %


class CompressedPage(HTMLResponse):
    """A page that is compressed if the browser accepts that."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the page, compressed if it is long enough to gain from that."""
        self.headers["Vary"] = "Accept-Encoding"
        if len(self.body) >= _MIN_COMPRESSED and _accepts_gzip(Headers(scope=scope)):
            self.body = gzip.compress(self.body, _LEVEL, mtime=0)
            self.headers["Content-Encoding"] = "gzip"
            self.headers["Content-Length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


class StaticFiles:
    """The files of `folder`.

    Their addresses contain a hash of all files, so browsers can cache them without asking again.
    """

    def __init__(self, folder: Path) -> None:
        self._files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
        self._compressed = {
            name: gzip.compress(content, mtime=0) for name, content in self._files.items() if not name.endswith(".png")
        }
        self._version = hashlib.sha256(repr(self._files).encode()).hexdigest()[:12]

    def address(self, name: str) -> str:
        """Return the address of a file, which changes with the version of all files.

        The version is a folder in the address, so scripts can import each other by relative paths.
        """
        return f"/static/{self._version}/{name}"

    def routes(self) -> list[Route]:
        """Return the routes of the files, with a version in the address and without one."""
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


_PLACES = {  # entry of the navigation, by the beginning of a template's name
    "home/more": "more",
    "home/jobs": "jobs",
    "home/": "music",
    "music/alarm": "alarms",
    "music/": "music",
    "jobs/report": "more",
    "jobs/": "jobs",
    "error": "",
}


class _CompiledTemplates(BytecodeCache):
    """Keeps the compiled templates for the next web service that starts in this process."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code is not None:
            self._codes[bucket.key, bucket.checksum] = bucket.code


_COMPILED = _CompiledTemplates()

MAX_LISTED_TEXT = 120  # characters of a name in a list; tags may have thousands


class Pages:
    """Renders the templates.

    Args:
        machine: Returns the name of the machine, for titles.
        now: The wall clock.
        time_zone: The time zone of the configuration, which may be read again.
        static_files: The style, scripts and icons.
        frame: Returns the values that the frame of every page needs: `hub`, `has_music`.

    """

    def __init__(
        self,
        machine: Callable[[], str],
        now: Callable[[], datetime],
        time_zone: Callable[[], ZoneInfo],
        static_files: StaticFiles,
        frame: Callable[[], Mapping[str, Any]],
    ) -> None:
        self._frame, self._machine = frame, machine
        self._find_role: Callable[[str, str], Role | None] = lambda *_: Role.OWNER
        loader = FileSystemLoader(Path(web.__file__).parent / "templates")
        self._templates = Environment(
            loader=loader, bytecode_cache=_COMPILED, autoescape=True, trim_blocks=True, lstrip_blocks=True
        )
        self._templates.globals |= {
            "version": __version__,
            "static": static_files.address,
            "may": self.may,
        }
        self._templates.filters |= {
            "ago": lambda when: ago(when, now()),
            "soon": lambda when: day_and_time(when, now(), time_zone()),
            "time": lambda when: time_of_day(when, time_zone()),
            "instant": lambda when: units.format_time(when, time_zone()) if when else "-",
            "clock": lambda seconds: "" if seconds is None else units.format_position(seconds),
            "report_date": format_report_date,
            "elapsed": lambda length: "-" if length is None else units.format_elapsed(length),
            "money": units.format_money,
            "shorten": lambda text: text if len(text) <= MAX_LISTED_TEXT else f"{text[: MAX_LISTED_TEXT - 1]}…",
            "display_name": display_name,
            "sentence": as_sentence,
            "segment": lambda text: quote(str(text), safe=""),
        }

    def use_roles(self, routes: Sequence[BaseRoute]) -> None:
        """Let `may` answer by the roles of `routes`."""

        @functools.lru_cache(maxsize=1000)
        def find_role(method: str, path: str) -> Role | None:
            return least_role(routes, {"type": "http", "method": method, "path": path, "root_path": ""})

        self._find_role = find_role

    def may(self, address: str) -> bool:
        """Return whether the sender of the request may open a page or send a form."""
        visitor = VISITOR.get()
        if visitor.may(Role.OWNER):
            return True
        needed = self._find_role("POST" if address.startswith(FORMS) else "GET", urlsplit(address).path)
        return needed is not None and visitor.may(needed)

    def error(self, status: int, message: str) -> Response:
        """Return a page that shows `message`."""
        return self.page("error.html", status, message=message)

    def page(self, template: str, status: int = 200, headers: dict[str, str] | None = None, **values: Any) -> Response:
        """Return the page that `template` makes of `values`."""
        place = next((place for prefix, place in _PLACES.items() if template.startswith(prefix)), "more")
        values = {"place": place, "visitor": VISITOR.get(), "name": self._machine(), **self._frame(), **values}
        return CompressedPage(self._templates.get_template(template).render(values), status, headers)


# Times as text. static/time.js does the same in the browser.


def ago(when: datetime, now: datetime) -> str:
    """Return how long ago `when` was: just now, 5 min ago, 3 h ago, 2 days ago."""
    minutes = int((now - when) / timedelta(minutes=1))
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    hours = minutes // 60
    return f"{hours} h ago" if hours < 48 else f"{hours // 24} days ago"


def format_report_date(name: str) -> str:
    """Return the date in the name of a report set: 2026-11-21_0330 becomes 21 Nov 2026, 03:30."""
    when = datetime.strptime(name[:15], "%Y-%m-%d_%H%M")  # noqa: DTZ007 - in the time zone of the job
    number = name[15:].removeprefix("-")
    return f"{when.day} {when:%b %Y, %H:%M}" + (f" ({number})" if number else "")


def day_and_time(when: datetime, now: datetime, zone: ZoneInfo) -> str:
    """Return `when` as people say it: today 18:00, tomorrow 06:00, Monday 06:00, 12 Apr 06:00."""
    local, today = when.astimezone(zone), now.astimezone(zone).date()
    days = (local.date() - today).days
    if days in (0, 1):
        day = ("today", "tomorrow")[days]
    elif 1 < days < 7:
        day = f"{local:%A}"
    else:
        day = f"{local.day} {local:%b}" + ("" if local.year == today.year else f" {local.year}")
    return f"{day} {local:%H:%M}"


def time_of_day(when: datetime, zone: ZoneInfo) -> str:
    """Return the time of day of `when`: 06:03."""
    return f"{when.astimezone(zone):%H:%M}"
