"""The pages, rendered on the server. They work without scripts, and forms redirect with 303."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from pi_appliance import __version__, web
from pi_appliance.cli import terminal
from pi_appliance.cli import terminal as as_text
from pi_appliance.config import units
from pi_appliance.errors import ConfigError
from pi_appliance.jobs import api, pages_svg
from pi_appliance.jobs import reports as report_files
from pi_appliance.jobs.operations import PAUSE, RUN
from pi_appliance.jobs.serializers import next_selected_slot
from pi_appliance.music.model import Station
from pi_appliance.posting.preview import post_digest
from pi_appliance.scheduling import explanation
from pi_appliance.scheduling.appliance import Appliance, JobView, Slot
from pi_appliance.scheduling.slot_ledger import SlotStatus
from pi_appliance.storage import model
from pi_appliance.storage.history import Pause
from pi_appliance.storage.model import Run
from pi_appliance.web import banner, filters
from pi_appliance.web.actions import Actions
from pi_appliance.web.interface import Daemon, Services
from pi_appliance.web.params import NUMBER, form, query_number
from pi_appliance.web.security import Authenticator, address_of, cookie, local_target

# Types that a browser gets as they are. All others are offered for download.
TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".log": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
TEXTS = (".txt", ".md", ".log", ".csv", ".json", "")  # shown within a page of ours
TABLES = (".csv",)  # texts whose lines are scrolled instead of wrapped
PICTURES = (".svg", ".png")  # shown within a page of ours
PAGES = (".html",)  # shown in a frame of a page of ours
# A report is data. It must not run scripts or load anything.
SAFE_CSP_TYPES = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"
HEADERS = {"Content-Security-Policy": SAFE_CSP_TYPES, "X-Frame-Options": "SAMEORIGIN"}
_SLOT_STRIP = 60  # slots in the strip
_SLOT_ROWS = 20  # slots in the list


@dataclass(frozen=True, slots=True)
class Slots:
    """The newest slots as a strip, its legend, and the newest of them as rows."""

    strip: Markup
    legend: Sequence[tuple[str, Markup]]
    rows: Sequence[SlotStatus]


def shown(appliance: Appliance, name: str, now: datetime) -> Slots:
    """Return the slots for the page of the job `name`. Raises UnknownName."""
    statuses, zone = list(islice(api.slot_statuses(appliance, [name], now), _SLOT_STRIP)), appliance.config.time_zone
    bars = [
        (
            each.status,
            f"{terminal.format_instant(each.at, zone)}: {each.status}" + (f": {each.reason}" if each.reason else ""),
        )
        for each in statuses
    ]
    legend = [(status, _to_markup(pages_svg.mark(status))) for status in dict.fromkeys(status for status, _ in bars)]
    return Slots(_to_markup(pages_svg.slots(bars, places=_SLOT_STRIP)), legend, statuses[:_SLOT_ROWS])


def _to_markup(picture: str) -> Markup:
    return Markup(picture)  # noqa: S704 - it escapes its texts


_STRIP = 20  # runs in the strip of a job
_ROWS = 50  # runs on the page of a job
_NEWEST = 6  # reports on the first page
_LONGEST = 400_000  # characters of a report that are shown; more is too slow on a phone


@dataclass(frozen=True, slots=True)
class Card:
    """A job on the first page."""

    view: JobView
    used: Slot | None
    strip: Markup

    @property
    def seen(self) -> str:
        """Version of the card. The page redraws the card when it changes."""
        return seen(self.view.last, self.view.pause)


def seen(run: Run | None, pause: Pause | None = None) -> str:
    """Return the run, its state and the pause as text. static/jobs.js does the same."""
    pause_text = f"{model.iso_time(pause.since)}/{model.iso_time(pause.until) or ''}" if pause else ""
    return (f"{run.id}:{run.outcome or ''}" if run else "") + f"|{pause_text}"


class Pages:
    """The endpoints that return a page."""

    def __init__(self, daemon: Daemon, actions: Actions, authenticator: Authenticator, name: str) -> None:
        self._daemon, self._actions, self._authenticator = daemon, actions, authenticator
        self._services = Services(daemon, actions)
        self._templates = Environment(
            loader=FileSystemLoader(Path(web.__file__).parent / "templates"), autoescape=True, trim_blocks=True
        )
        self._templates.lstrip_blocks = True
        self._templates.globals |= {
            "name": name,
            "version": __version__,
            "locked": authenticator.has_password,
            "seen": seen,
        }
        self._templates.filters |= {
            "ago": lambda when: filters.ago(when, actions.now()),
            "soon": lambda when: filters.day_and_time(when, actions.now(), self._time_zone()),
            "time": lambda when: filters.time_of_day(when, self._time_zone()),
            "instant": lambda when: as_text.format_instant(when, self._time_zone()),
            "clock": filters.clock,
            "night": filters.format_report_date,
            "took": as_text.format_elapsed,
            "good": as_text.is_good,
            "money": units.format_money,
        }

    def routes(self) -> list[Route]:
        """Return the routes of all pages."""
        return [
            Route("/", self.home),
            Route("/parts/jobs/{name}", self.job_part),
            Route("/parts/banner", self.banner_part),
            Route("/parts/reports", self.reports_part),
            Route("/player/{command}", self.command, methods=["POST"]),
            Route("/jobs/{name}", self.job),
            Route("/jobs/{name}/run", self.run_job, methods=["POST"]),
            Route("/jobs/{name}/pause", self.pause_job, methods=["POST"]),
            Route("/jobs/{name}/resume", self.resume_job, methods=["POST"]),
            Route("/jobs/{name}/cancel", self.cancel_job, methods=["POST"]),
            Route(f"/runs/{NUMBER}", self.run),
            Route("/reports", self.reports),
            Route("/reports/{job}/{file}", self.report),
            Route("/reports/{job}/{date}/{file}", self.report),
            Route("/sign-in", self.sign_in_page),
            Route("/sign-in", self.sign_in, methods=["POST"]),
            Route("/sign-out", self.sign_out, methods=["POST"]),
        ]

    async def home(self, request: Request) -> Response:
        """Return the first page: music, jobs, reports."""
        appliance, hub, now = self._daemon.appliance, self._daemon.hub, self._actions.now()
        stations: Sequence[Station] = ()
        wrong = ""
        try:
            stations = self._actions.stations.all()
        except ConfigError as error:
            wrong = str(error)
        views = appliance.jobs(now)
        started = request.query_params.get("started")
        return self.page(
            "home.html",
            music=hub,
            stations=stations,
            stations_wrong=wrong,
            banner=banner.of(self._daemon, views, self._actions.now()),
            cards=[self._build_card(view, now) for view in views],
            digest=post_digest(appliance, now),
            started=started if started in appliance.config.jobs else "",
            **self._newest_reports(),
        )

    async def job_part(self, request: Request) -> Response:
        """Return the card of one job."""
        name, now = request.path_params["name"], self._actions.now()
        self._daemon.appliance.job(name)
        view = next(view for view in self._daemon.appliance.jobs(now) if view.job.name == name)
        return self.page("_job.html", card=self._build_card(view, now))

    async def banner_part(self, _: Request) -> Response:
        """Return the banner with the current problems."""
        views = self._daemon.appliance.jobs(self._actions.now())
        return self.page("_banner.html", banner=banner.of(self._daemon, views, self._actions.now()))

    async def reports_part(self, _: Request) -> Response:
        """Return the list of the newest reports."""
        return self.page("_reports.html", **self._newest_reports())

    async def command(self, request: Request) -> Response:
        """Send a command to the player."""
        fields = await form(request)
        back = local_target(fields.pop("to", "/"))
        await self._actions.ask_player(request.path_params["command"], fields)
        return RedirectResponse(back, 303)

    async def job(self, request: Request) -> Response:
        """Return the page of a job: its schedule, its history, its reports."""
        name, appliance, now = request.path_params["name"], self._daemon.appliance, self._actions.now()
        runs = appliance.history(job=name, limit=_ROWS + 1, before=query_number(request, "before"))
        view = next((view for view in appliance.jobs(now) if view.job.name == name), None)
        schedule = view.job.schedule if view else None
        return self.page(
            "job.html",
            job=name,
            card=self._build_card(view, now) if view else None,
            schedule=explanation.describe_schedule(schedule) if schedule else "",
            slots=shown(appliance, name, now) if view else None,
            runs=runs[:_ROWS],
            older=runs[_ROWS - 1].id if len(runs) > _ROWS else None,
            reports=report_files.list_reports(appliance, folders=report_files.report_folders(appliance, name)),
            dates=report_files.report_dates(appliance, name),
        )

    async def run_job(self, request: Request) -> Response:
        """Start a run."""
        name = request.path_params["name"]
        await api.start_run(self._services, RUN.parse({"name": name}))
        return RedirectResponse(f"/?started={name}#job-{name}", 303)

    async def pause_job(self, request: Request) -> Response:
        """Pause a job, with or without an end."""
        fields = await form(request)
        back = _redirect_back(request, fields)
        length = {name: value for name, value in fields.items() if value}
        await api.pause_job(self._services, PAUSE.parse({**length, "name": request.path_params["name"]}))
        return back

    async def resume_job(self, request: Request) -> Response:
        """Resume a job."""
        back = _redirect_back(request, await form(request))
        await api.resume_job(self._services, {"name": request.path_params["name"]})
        return back

    async def cancel_job(self, request: Request) -> Response:
        """Ask the active run of a job to end."""
        back = _redirect_back(request, await form(request))
        await api.cancel_job(self._services, {"name": request.path_params["name"]})
        return back

    async def run(self, request: Request) -> Response:
        """Return the page of a run with its output."""
        run, log = self._daemon.appliance.log(request.path_params["number"])
        newest = self._daemon.appliance.store.history(job=run.job, limit=1)[0]
        return self.page("run.html", run=run, log=log, newest=newest)

    async def reports(self, _: Request) -> Response:
        """Return the list of all reports."""
        return self.page("reports.html", reports=report_files.list_reports(self._daemon.appliance), more_reports=0)

    async def report(self, request: Request) -> Response:
        """Return a report, within a page if possible, or as a file, or all reports of a date."""
        appliance, parameters = self._daemon.appliance, request.path_params
        job, file, date = parameters["job"], parameters["file"], parameters.get("date", "")
        if not date and report_files.is_report_set_name(file):
            return self.page(
                "edition.html", job=job, date=file, reports=report_files.dated_reports(appliance, job, file)
            )
        stored = report_files.find_report(appliance, job, file, date)
        kind = stored.path.suffix.lower()
        shown = self._shown(stored, kind)
        if shown is not None and "raw" not in request.query_params:
            writer = report_files.find_writer(appliance, stored.job)
            back = f"/reports/{job}/{date}" if date else f"/jobs/{writer}" if writer else "/reports"
            return self.page("report.html", report=stored, back=back, **shown)
        return FileResponse(
            stored.path,
            media_type=TYPES.get(kind, "application/octet-stream"),
            filename=stored.file,
            content_disposition_type="inline" if kind in TYPES else "attachment",
            headers=HEADERS,
        )

    @staticmethod
    def _shown(found: report_files.ReportFile, kind: str) -> dict[str, Any] | None:
        """Return the template values for a report of type `kind`, or None if it cannot be shown."""
        if kind in TEXTS:
            return {"wrap": kind not in TABLES, **_read_text(found.path)}
        if kind in PICTURES:
            return {"picture": True}
        return {"framed": True} if kind in PAGES else None

    async def sign_in_page(self, request: Request) -> Response:
        """Return the form for the password."""
        to = local_target(request.query_params.get("to", "/"))
        if self._authenticator.is_authorized(request):
            return RedirectResponse(to, 303)
        return self.page("sign_in.html", wrong="", to=to)

    async def sign_in(self, request: Request) -> Response:
        """Check the password, and redirect to the requested page."""
        fields = await form(request)
        to = local_target(fields.get("to", "/"))
        if self._authenticator.has_password:
            try:
                self._authenticator.check(fields.get("password", ""), address_of(request))
            except HTTPException as error:
                headers = dict(error.headers or {})
                return self.page("sign_in.html", error.status_code, headers, wrong=error.detail, to=to)
        return RedirectResponse(to, 303, {"Set-Cookie": cookie(self._authenticator.sign_in())})

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        self._authenticator.sign_out(request)
        return RedirectResponse("/sign-in", 303, {"Set-Cookie": cookie("")})

    def error(self, status: int, sentence: str) -> Response:
        """Return the error page."""
        return self.page("error.html", status, sentence=sentence)

    def page(self, template: str, status: int = 200, headers: dict[str, str] | None = None, **known: Any) -> Response:
        """Return `template` rendered with the values `known`."""
        return HTMLResponse(self._templates.get_template(template).render(known), status, headers)

    def _build_card(self, view: JobView, now: datetime) -> Card:
        appliance = self._daemon.appliance
        runs = appliance.store.history(job=view.job.name, limit=_STRIP)
        strip = pages_svg.history_bars(runs, self._time_zone(), places=_STRIP)
        return Card(view, next_selected_slot(appliance, view, now), Markup(strip))  # noqa: S704 - it escapes its texts

    def _newest_reports(self) -> dict[str, Any]:
        all_reports = report_files.list_reports(self._daemon.appliance)
        shown = report_files.select_newest(all_reports, _NEWEST)
        return {"reports": shown, "more_reports": len(all_reports) - len(shown)}

    def _time_zone(self) -> Any:
        return self._daemon.appliance.config.time_zone


def _redirect_back(request: Request, fields: dict[str, str]) -> Response:
    """Return the redirect to the page of the form, and remove its address from `fields`."""
    return RedirectResponse(local_target(fields.pop("to", f"/#job-{request.path_params['name']}")), 303)


def _read_text(path: Path) -> dict[str, Any]:
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_LONGEST + 1)
    return {"text": text[:_LONGEST], "cut": len(text) > _LONGEST}
