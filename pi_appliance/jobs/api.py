"""The HTTP API of jobs: slots, runs and reports."""

from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from pi_appliance.jobs import pages, report_files
from pi_appliance.operations import Argument, Operation, integer, text
from pi_appliance.scheduling import slot_ledger
from pi_appliance.storage import model
from pi_appliance.web import state as values
from pi_appliance.web.actions import Actions
from pi_appliance.web.interface import Daemon
from pi_appliance.web.params import NUMBER, Call

_LIMIT = integer("limit", "how many at the most", 1, 500, default=50, example=10)
_BEFORE = integer("before", "only those with a smaller number", 1, 2**53)
_LENGTH = text("for", "how long; without it until the job is resumed")
_FOR = Argument(
    name="for",
    help=_LENGTH.help,
    expected="a length of time such as 90s, 15m, 1h30m or 2d",
    parse=_LENGTH.parse,
    schema=_LENGTH.schema,
)


class JobApi:
    """The endpoints under /jobs, /runs and /reports."""

    def __init__(self, daemon: Daemon, actions: Actions) -> None:
        self._daemon, self._actions = daemon, actions

    def endpoints(self) -> list[Operation]:
        """Return all operations."""
        return [*self._jobs(), *self._history()]

    def _jobs(self) -> list[Operation]:
        one = "/jobs/{name}"
        return [
            Operation(
                method="GET",
                path="/jobs",
                summary="Each job: its next slot or what it comes after, its pause, its newest run.",
                handler=self.jobs,
                result="Jobs",
            ),
            Operation(
                method="POST",
                path=f"{one}/run",
                summary="Start a run; the history tells the rest.",
                handler=self.run_job,
                result="Started",
                status=202,
                example={"name": "hello"},
            ),
            Operation(
                method="POST",
                path=f"{one}/pause",
                summary="Use no slot until it is resumed, or for so long.",
                handler=self.pause_job,
                arguments=(_FOR,),
                result="Pause",
                example={"name": "daily", "for": "2h"},
            ),
            Operation(
                method="POST",
                path=f"{one}/resume",
                summary="Use its slots again; what came meanwhile is not made up for.",
                handler=self.resume_job,
                result="Pause",
                example={"name": "daily"},
            ),
            Operation(
                method="POST",
                path=f"{one}/cancel",
                summary="Ask the run that goes on to end; the history tells when it has.",
                handler=self.cancel_job,
                result="Cancelled",
                status=202,
                example={"name": "hello"},
            ),
            Operation(
                method="GET",
                path=f"{one}/slots",
                summary="What became of its slots, the newest first: none is left out.",
                handler=self.slots,
                arguments=(_LIMIT,),
                result="Slots",
                example={"name": "daily"},
            ),
        ]

    def _history(self) -> list[Operation]:
        return [
            Operation(
                method="GET",
                path="/runs",
                summary="The history, the newest first.",
                handler=self.runs,
                arguments=(text("job", "only of this one"), _LIMIT, _BEFORE),
                result="Runs",
            ),
            Operation(
                method="GET",
                path=f"/runs/{NUMBER}",
                summary="One run and its log.",
                handler=self.run,
                result="Run",
                example={"number": 1},
            ),
            Operation(
                method="GET",
                path="/reports",
                summary="The reports, the newest first; each is at /reports/JOB/FILE (as it is: `?raw=1`).",
                handler=self.reports,
                result="Reports",
            ),
            Operation(
                method="GET",
                path="/reports/{name}",
                summary="The dated reports of a job, the newest first; each is at /reports/JOB/DATE/FILE.",
                handler=self.dated_reports,
                result="DatedReports",
                example={"name": "hello"},
            ),
        ]

    async def jobs(self, _: Call) -> object:
        """Return every job with its next slot and its newest run."""
        return values.jobs(self._daemon.appliance, self._now())

    async def run_job(self, call: Call) -> object:
        """Start a run."""
        await self._actions.run_job(call.path["name"])
        return {"started": call.path["name"]}

    async def pause_job(self, call: Call) -> object:
        """Pause a job, with or without an end."""
        name, arguments = call.path["name"], {key: value for key, value in call.given.items() if value is not None}
        return {"job": name, "paused": values.pause(self._actions.pause_job(name, arguments))}

    async def resume_job(self, call: Call) -> object:
        """Resume a job."""
        self._actions.resume_job(call.path["name"])
        return {"job": call.path["name"], "paused": None}

    async def cancel_job(self, call: Call) -> object:
        """Ask the active run of a job to end."""
        return {"cancelled": self._actions.cancel_job(call.path["name"]).id}

    async def slots(self, call: Call) -> object:
        """Return the results of the slots of a job, the newest first."""
        statuses = pages.newest(self._daemon.appliance, call.path["name"], self._now())
        return [slot_ledger.serialize_slot(each) for each in islice(statuses, call.given["limit"])]

    async def runs(self, call: Call) -> object:
        """Return the history, the newest first."""
        arguments = call.given
        runs = self._daemon.appliance.history(
            job=arguments["job"], limit=arguments["limit"], before=arguments["before"]
        )
        return [model.run_fields(run) for run in runs]

    async def run(self, call: Call) -> object:
        """Return a run and its output."""
        run, log = self._daemon.appliance.log(call.path["number"])
        return {**(model.run_fields(run) or {}), "log": log}

    async def reports(self, _: Call) -> object:
        """Return the reports, the newest first."""
        return [_report(report) for report in report_files.reports(self._daemon.appliance)]

    async def dated_reports(self, call: Call) -> object:
        """Return the dated reports of a job, or none if it does not write any."""
        appliance, name = self._daemon.appliance, call.path["name"]
        report_dates = report_files.dates(appliance, name)
        if not report_dates:
            appliance.job(name)  # raises UnknownName
        return [
            {"date": date, "files": [_report(report) for report in report_files.edition(appliance, name, date)]}
            for date in report_dates
        ]

    def _now(self) -> datetime:
        return self._actions.now()


def _report(report: report_files.Report) -> Mapping[str, Any]:
    return {
        "job": report.job,
        "file": report.file,
        "written": model.iso_time(report.written),
        "bytes": report.size,
    }
