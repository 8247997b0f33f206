"""The pages of jobs, runs and reports."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from pi_appliance.config import units
from pi_appliance.errors import ApplianceError, UnknownName
from pi_appliance.jobs import api, run_options, text
from pi_appliance.jobs import reports as report_files
from pi_appliance.jobs.operations import RUN
from pi_appliance.jobs.serializers import BAD_OUTCOMES, failed_run, next_selected_slot
from pi_appliance.scheduling import explanation
from pi_appliance.scheduling.appliance import Appliance, JobView, Slot
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.scheduling.slot_ledger import SlotStatus
from pi_appliance.storage import model
from pi_appliance.storage.history import Pause
from pi_appliance.storage.model import Run, run_fields
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import NUMBER, form, query_number

_WIDTH, _GAP, _HEIGHT = 8, 4, 24
_SHAPES = {  # an outcome is drawn as rectangles, one below the other: (top, height) in pixels
    "running": ((6, 18),),
    "succeeded": ((0, 24),),
    "skipped": ((16, 8),),
    "misfired": ((0, 8),),
    "paused": ((8, 4), (20, 4)),
    "waiting": ((10, 14),),
    "unknown": ((10, 4),),
    "none": ((22, 2),),
}
_BROKEN = ((0, 10), (14, 10))


def history_bars(runs: Sequence[Run], zone: ZoneInfo, *, places: int = 20) -> str:
    """Return `runs`, the newest first, as an SVG with `places` bars. Missing runs are faint."""
    shown = runs[:places]
    label = f"the last {len(shown)} runs" if shown else "no runs yet"
    bars = [(str(run.outcome or "running"), _run_title(run, zone)) for run in shown]
    return _draw_strip(bars, places, label)


def slot_bars(items: Sequence[tuple[str, str]], *, places: int = 60) -> str:
    """Return slots, the newest first, as an SVG with `places` bars.

    Each item of `items` is an outcome, running, paused or unknown, and a title for people.
    """
    shown = items[:places]
    label = f"results of the last {len(shown)} slots" if shown else "no slots yet"
    return _draw_strip(shown, places, label)


def legend_bar(outcome: str) -> str:
    """Return a single bar of `outcome`, for a legend."""
    return _draw_svg("mark", [_draw_bar(0, outcome, "")], 'aria-hidden="true"')


def _draw_strip(items: Sequence[tuple[str, str]], places: int, label: str) -> str:
    empty = places - len(items)
    bars = [_draw_bar(place, "none", "") for place in range(empty)]
    for place, (outcome, title) in enumerate(reversed(items), start=empty):
        bars.append(_draw_bar(place, outcome, title))
    return _draw_svg("strip", bars, f'role="img" aria-label="{label}"')


def _draw_svg(name: str, bars: Sequence[str], more: str) -> str:
    width = len(bars) * (_WIDTH + _GAP) - _GAP
    return (
        f'<svg class="{name}" viewBox="0 0 {width} {_HEIGHT}" preserveAspectRatio="none" {more}'
        f' xmlns="http://www.w3.org/2000/svg">{"".join(bars)}</svg>'
    )


def _draw_bar(place: int, outcome: str, title: str) -> str:
    x = place * (_WIDTH + _GAP)
    title_element = f"<title>{escape(title)}</title>" if title else ""
    parts = "".join(
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="1.5"/>'
        for y, height in _SHAPES.get(outcome, _BROKEN)
    )
    return f'<g class="{outcome}">{title_element}{parts}</g>'


def _run_title(run: Run, zone: ZoneInfo) -> str:
    duration = f" in {units.format_elapsed(run.duration)}" if run.attempts and run.duration is not None else ""
    summary = f": {run.summary}" if run.summary else ""
    return f"{units.format_time(run.started, zone)}: {text.outcome(run_fields(run))}{duration}{summary}"


# A browser shows files of these types directly. All others are downloaded.
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
TEXTS = (".txt", ".md", ".log", ".csv", ".json", "")  # types shown within a page of the appliance
TABLES = (".csv",)  # types whose lines are scrolled instead of wrapped
PICTURES = (".svg", ".png")  # types shown as a picture within a page of the appliance
PAGES = (".html",)  # types shown in a frame of a page of the appliance
# A report is data. It must not run scripts or load anything.
SAFE_CSP_TYPES = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"
HEADERS = {"Content-Security-Policy": SAFE_CSP_TYPES, "X-Frame-Options": "SAMEORIGIN"}

_MAX_SLOT_BARS = 60
_MAX_SLOT_ROWS = 20
_MAX_RUN_BARS = 20
_MAX_RUN_ROWS = 50
_MAX_REPORT_ROWS = 100
_MAX_INDEX_RUNS = 1_000  # runs in the index of a job: almost three years of nights
_MAX_LOG = 64_000  # characters of the output of a run that are shown at once
_MAX_NEW_REPORTS = 6  # on the home page
_MAX_TEXT = 400_000  # characters of a report that are shown; more is too slow on a phone


@dataclass(frozen=True, slots=True)
class JobCard:
    """The card of a job on the home page."""

    view: JobView
    next_selected: Slot | None
    strip: Markup
    failing: bool
    waiting: bool  # whether a run waits for other runs to end

    @property
    def version(self) -> str:
        """A text that changes when the page has to draw the card again."""
        return card_version(self.view.last, self.view.pause, failing=self.failing, waiting=self.waiting)

    @property
    def dismissed(self) -> bool:
        """Whether the owner has dismissed the failure of the job."""
        last = self.view.last
        return last is not None and last.outcome in BAD_OUTCOMES and not self.failing

    @property
    def missing(self) -> str:
        """Why a run of the job would fail, '' if nothing is missing."""
        return run_options.missing_for_run(self.view.job)


def card_version(run: Run | None, pause: Pause | None = None, *, failing: bool = False, waiting: bool = False) -> str:
    """Return a text with all state that the card of a job shows. static/jobs.js builds the same."""
    pause_text = f"{model.iso_time(pause.since)}/{model.iso_time(pause.until) or ''}" if pause else ""
    return (
        (f"{run.id}:{run.outcome or ''}" if run else "")
        + f"|{pause_text}"
        + "|failing" * failing
        + "|waiting" * waiting
    )


@dataclass(frozen=True, slots=True)
class SlotOverview:
    """The newest slots: all as a strip with its legend, and the newest of them as table rows."""

    strip: Markup
    legend: Sequence[tuple[str, Markup]]
    rows: Sequence[SlotStatus]


def slot_overview(services: Services, name: str) -> SlotOverview:
    """Return the slots for the page of the job `name`. Raises UnknownName."""
    statuses = list(islice(api.slot_statuses(services, [name]), _MAX_SLOT_BARS))
    bars = [(each.status, _describe_slot(each, services.appliance)) for each in statuses]
    legend = [(status, _to_markup(legend_bar(status))) for status in dict.fromkeys(status for status, _ in bars)]
    strip = _to_markup(slot_bars(bars, places=_MAX_SLOT_BARS))
    return SlotOverview(strip, legend, statuses[:_MAX_SLOT_ROWS])


def _describe_slot(slot: SlotStatus, appliance: Appliance) -> str:
    status = f"{units.format_time(slot.at, appliance.config.time_zone)}: {slot.status}"
    return f"{status}: {slot.reason}" if slot.reason else status


def _to_markup(svg: str) -> Markup:
    return Markup(svg)  # noqa: S704 - it escapes its texts


class JobPages:
    """The endpoints that return a page about jobs."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages

    @property
    def _appliance(self) -> Appliance:
        return self._services.appliance

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            Route("/parts/jobs/{name}", self.job_part),
            Route("/parts/reports", self.reports_part),
            Route(f"/parts/runs/{NUMBER}", self.run_part),
            Route("/jobs/{name}", self.job),
            Route("/jobs/{name}/run", self.run_now, methods=["POST"]),
            Route(f"/runs/{NUMBER}", self.run),
            Route("/reports", self.reports),
            Route("/reports/{job}", self.index),
            Route("/reports/{job}/{file}", self.report),
            Route("/reports/{job}/{date}/{file}", self.report),
        ]

    async def job_part(self, request: Request) -> Response:
        """Return the card of one job."""
        name, now = request.path_params["name"], self._services.now()
        self._appliance.job(name)
        view = next(view for view in self._appliance.jobs(now) if view.job.name == name)
        return self._pages.page("jobs/_card.html", card=self.card(view, now))

    async def reports_part(self, _: Request) -> Response:
        """Return the list of the newest reports."""
        return self._pages.page("jobs/_reports.html", **self.newest_reports())

    async def job(self, request: Request) -> Response:
        """Return the page of a job: its schedule, its history, its reports."""
        return self._job_page(request)

    async def run_now(self, request: Request) -> Response:
        """Start a run with the options that are filled in, and redirect to the page of the run."""
        name = str(request.path_params["name"])
        typed = {key: text.strip() for key, text in (await form(request)).items()}
        config, job = self._appliance.config, self._appliance.job(name)
        own = [f"{each.path[-1]}={typed[each.name]}" for each in run_options.run_fields(config, job)
               if typed.get(each.name)]  # fmt: skip
        try:
            values = RUN.parse({"name": name, **({"with": own} if own else {})})
            started = await api.run_job(self._services, values)
        except ApplianceError as error:
            return self._job_page(request, typed, str(error))
        return RedirectResponse(f"/runs/{started['run']}", 303)

    def _job_page(self, request: Request, typed: Mapping[str, str] | None = None, error: str = "") -> Response:
        name, appliance, now = request.path_params["name"], self._appliance, self._services.now()
        runs = appliance.history(job=name, limit=_MAX_RUN_ROWS + 1, before=query_number(request, "before"))
        view = next((view for view in appliance.jobs(now) if view.job.name == name), None)
        schedule = view.job.schedule if view else None
        return self._pages.page(
            "jobs/job.html",
            409 if error else 200,
            job=name,
            error=error,
            typed=typed or {},
            own_page=run_options.own_page(view.job) if view else "",
            hints=run_options.configured_texts(appliance.config, view.job) if view else {},
            run_fields=run_options.run_fields(appliance.config, view.job) if view else (),
            saved="saved" in request.query_params,
            card=self.card(view, now) if view else None,
            schedule=explanation.describe_when(schedule, view.job.chance) if view and schedule else "",
            slots=slot_overview(self._services, name) if view else None,
            runs=runs[:_MAX_RUN_ROWS],
            next_before=runs[_MAX_RUN_ROWS - 1].id if len(runs) > _MAX_RUN_ROWS else None,
            reports=report_files.list_reports(appliance, folders=report_files.report_folders(appliance, name)),
            dates=report_files.report_dates(appliance, name),
        )

    async def run(self, request: Request) -> Response:
        """Return the page of a run with its output."""
        self._appliance.sweep()
        run, log = self._appliance.log(request.path_params["number"])
        is_cut = len(log) > _MAX_LOG and "all" not in request.query_params
        return self._pages.page(
            "jobs/run.html",
            run=run,
            log=log[-_MAX_LOG:] if is_cut else log,
            length=len(log),
            is_cut=is_cut,
            max_log=_MAX_LOG,
        )

    async def run_part(self, request: Request) -> Response:
        """Return the facts of a run."""
        run, _ = self._appliance.log(request.path_params["number"])
        return self._pages.page("jobs/_run.html", run=run)

    async def reports(self, request: Request) -> Response:
        """Return the list of all reports."""
        reports, start = report_files.list_reports(self._appliance), query_number(request, "start") or 0
        return self._pages.page(
            "jobs/reports.html",
            reports=reports[start : start + _MAX_REPORT_ROWS],
            start=start,
            length=len(reports),
            more_reports=0,
        )

    async def index(self, request: Request) -> Response:
        """Return the reports of a job by month, of the newest year or of `year` in the query."""
        appliance, job = self._appliance, request.path_params["job"]
        entry, sets = appliance.config.jobs.get(job), report_files.report_dates(appliance, job)
        if entry is None and not sets:
            raise UnknownName("job", job, tuple(appliance.config.jobs))
        zone = appliance.config.zone_of(entry) if entry else appliance.config.time_zone
        runs = appliance.store.history(job=job, limit=_MAX_INDEX_RUNS)
        years = report_files.list_years(sets, runs, zone)
        newest = years[0] if years else self._services.now().astimezone(zone).year
        asked = query_number(request, "year")
        year = newest if asked is None else asked
        folder, address = appliance.config.reports / job, f"/reports/{quote(job, safe='')}"
        return self._pages.page(
            "jobs/index.html",
            job=job,
            has_job=entry is not None,
            year=year,
            years=[(f"{address}?year={each}", str(each)) for each in years],
            current=f"{address}?year={year}",
            months=await asyncio.to_thread(report_files.list_months, folder, sets, runs, year, zone),
        )

    async def report(self, request: Request) -> Response:
        """Return a report, within a page if possible, or as a file, or all reports of a date."""
        appliance, parameters = self._appliance, request.path_params
        job, file, date = parameters["job"], parameters["file"], parameters.get("date", "")
        if not date and report_files.is_report_set_name(file):
            reports = report_files.dated_reports(appliance, job, file)
            return self._pages.page("jobs/report_set.html", job=job, date=file, reports=reports)
        report = report_files.find_report(appliance, job, file, date)
        suffix = report.path.suffix.lower()
        content = _report_content(report, suffix)
        if content is not None and "raw" not in request.query_params:
            writer = report_files.find_writer(appliance, report.job)
            back = f"/reports/{job}/{date}" if date else f"/jobs/{writer}" if writer else "/reports"
            return self._pages.page("jobs/report.html", report=report, back=back, **content)
        return FileResponse(
            report.path,
            media_type=TYPES.get(suffix, "application/octet-stream"),
            filename=report.file,
            content_disposition_type="inline" if suffix in TYPES else "attachment",
            headers=HEADERS,
        )

    def card(self, view: JobView, now: datetime) -> JobCard:
        """Return the card of a job."""
        runs = self._appliance.store.history(job=view.job.name, limit=_MAX_RUN_BARS)
        strip = history_bars(runs, self._appliance.config.time_zone, places=_MAX_RUN_BARS)
        failing = failed_run(self._appliance, view) is not None
        waiting = self._services.daemon.runs.is_waiting(view.job.name)
        return JobCard(view, next_selected_slot(self._appliance, view, now), _to_markup(strip), failing, waiting)

    def newest_reports(self) -> dict[str, Any]:
        """Return the values of the template for the newest reports."""
        reports = report_files.list_reports(self._appliance)
        newest = report_files.select_newest(reports, _MAX_NEW_REPORTS)
        return {"reports": newest, "more_reports": len(reports) - len(newest)}


def _report_content(report: report_files.ReportFile, suffix: str) -> dict[str, Any] | None:
    """Return the values of the template for `report`, or None if a page cannot show it."""
    if suffix in TEXTS:
        return {"wrap": suffix not in TABLES, **_read_text(report.path)}
    if suffix in PICTURES:
        return {"picture": True}
    return {"framed": True} if suffix in PAGES else None


def _read_text(path: Path) -> dict[str, Any]:
    with path.open(encoding="utf-8", errors="replace") as file:
        text = file.read(_MAX_TEXT + 1)
    return {"text": text[:_MAX_TEXT], "cut": len(text) > _MAX_TEXT}
