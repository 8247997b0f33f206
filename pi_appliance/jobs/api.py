"""Handlers of the operations on jobs, their runs and their reports."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from heapq import merge
from itertools import islice
from random import SystemRandom
from typing import Annotated, TypedDict
from zoneinfo import ZoneInfo

from pi_appliance.config import loader, units
from pi_appliance.errors import InvalidOption, Refused, Uncertain
from pi_appliance.jobs import reports, run_options, runner, serializers, text
from pi_appliance.jobs.serializers import JobJson, PauseJson, SlotJson, SlotStatusJson
from pi_appliance.json_schema import Instant
from pi_appliance.operations import Values
from pi_appliance.scheduling import crontab, explanation, missed_slots, slot_ledger
from pi_appliance.scheduling.appliance import Appliance, Slot
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.scheduling.slot_ledger import SlotStatus
from pi_appliance.storage.database import KeyValueStore
from pi_appliance.storage.history import Pause
from pi_appliance.storage.model import RESUME, Outcome, RunJson, Trigger, iso_time, run_fields

_MAX_PAUSE = timedelta(days=3650)
_MAX_START = 30.0  # seconds from the start of the process until its run is recorded
_POLL_INTERVAL = 0.05  # seconds between two checks whether a run has begun


# Jobs


class ListedJobJson(JobJson):
    """A job in the list of all."""

    problem: Annotated[str | None, "the reason why cron will not start it"]


async def list_jobs(services: Services, _: Values) -> list[ListedJobJson]:
    """Return every job, with the reason why cron will not start it."""
    appliance = services.appliance
    no_entry = await asyncio.to_thread(crontab.missing_entries, appliance.config)
    return [
        {**job, "problem": crontab.NO_ENTRY if job["job"] in no_entry else None}
        for job in serializers.jobs(appliance, services.now(), services.daemon.runs.waiting)
    ]


class ExplanationJson(TypedDict):
    """When and how a job runs."""

    job: str
    explanation: Annotated[list[str], "one fact per item"]


async def explain_job(services: Services, values: Values) -> ExplanationJson:
    """Return an explanation of a job, one fact per item."""
    appliance = services.appliance
    job, machine = appliance.job(values["name"]), ZoneInfo(loader.machine_zone())
    lines = explanation.explain_job(appliance.config, job, services.now(), machine=machine)
    return {"job": job.name, "explanation": lines}


class JobPauseJson(TypedDict):
    """A job that was paused or resumed."""

    job: str
    paused: PauseJson | None
    next: Annotated[SlotJson | None, "null while it is paused"]


async def pause_job(services: Services, values: Values) -> JobPauseJson:
    """Pause a job for a while, or until it is resumed."""
    appliance, now, name = services.appliance, services.now(), values["name"]
    appliance.job(name)
    length = None if values["for"] is None else units.parse_duration(values["for"])
    if length is not None and not timedelta(0) < length <= _MAX_PAUSE:
        raise InvalidOption("'for' must be from 1s to 3650d; without it the job pauses until it is resumed")
    appliance.pause(name, now=now, until=now + length if length else None)
    return pause_changed(services, name, appliance.store.slots.pauses()[name])


async def resume_job(services: Services, values: Values) -> JobPauseJson:
    """End the pause of a job."""
    services.appliance.resume(values["name"], now=services.now())
    return pause_changed(services, values["name"], None)


def pause_changed(services: Services, name: str, pause: Pause | None) -> JobPauseJson:
    """Tell the scheduler about the changed `pause`, and return it with the next slot."""
    services.daemon.wake()
    coming = None if pause else next(services.appliance.slots(name, services.now()), None)
    return {
        "job": name,
        "paused": serializers.pause(pause),
        "next": _slot(services.appliance, coming) if coming else None,
    }


class SkipJson(TypedDict):
    """A slot that is to be skipped, or used after all."""

    job: str
    skipped: Instant | None
    slot: SlotJson


async def skip_slot(services: Services, values: Values) -> SkipJson:
    """Skip the next slot of a job."""
    slot = services.appliance.skip_slot(values["name"], now=services.now())
    services.daemon.wake()
    return {"job": slot.job, "skipped": iso_time(slot.at), "slot": _slot(services.appliance, slot)}


async def unskip_slot(services: Services, values: Values) -> SkipJson:
    """Undo `skip_slot`."""
    slot = services.appliance.unskip_slot(values["name"], now=services.now())
    services.daemon.wake()
    return {"job": slot.job, "skipped": None, "slot": _slot(services.appliance, slot)}


# Runs


class StartedRunJson(TypedDict):
    """A run that has begun."""

    job: str
    run: int


async def run_job(services: Services, values: Values) -> StartedRunJson:
    """Start a run and return its number.

    Raises:
        Refused: The job is running, or the process ended before it recorded its run.
        Uncertain: The process has not recorded its run yet.
    """
    appliance, name = services.appliance, values["name"]
    newest = _newest_run(appliance, name)
    ended = await _start_any_run(services, values)
    return {"job": name, "run": await _wait_for_start(appliance, name, Trigger.MANUAL, newest, ended)}


def _newest_run(appliance: Appliance, name: str) -> int:
    return max((run.id for run in appliance.store.history(job=name, limit=1)), default=0)


async def _wait_for_start(
    appliance: Appliance, name: str, trigger: Trigger, newest: int, ended: asyncio.Future[int]
) -> int:
    """Return the number of the run after `newest` whose process ends with the status in `ended`."""
    for _ in range(int(_MAX_START / _POLL_INTERVAL)):
        has_ended = ended.done()
        runs = appliance.store.history(job=name, limit=10)
        new = [run.id for run in runs if run.trigger is trigger and run.id > newest]
        if new:
            return new[-1]
        if has_ended:
            raise Refused(f"the run of {name} could not be started; see: pi-appliance jobs run {name}")
        await asyncio.wait([ended], timeout=_POLL_INTERVAL)
    raise Uncertain(f"the run of {name} has not begun yet; see: pi-appliance jobs history {name}")


async def run_by_event(services: Services, name: str, trigger: Trigger) -> int:
    """Start a run because of an event, and return its number.

    If a run is active, `concurrency` decides, as at a slot: the new run may be recorded as skipped,
    or wait.

    Raises:
        UnknownName: There is no such job.
        Refused: The job is paused, or the process ended before it recorded its run.
        Unavailable: No process can be started, or the disk is full.
        Uncertain: The run waits, and is not recorded yet.
    """
    appliance = services.appliance
    appliance.job(name)
    pause = appliance.store.slots.pauses().get(name)
    if pause is not None and pause.is_active(services.now()):
        raise Refused(f"{name} is paused")
    appliance.require_free_space()
    newest = _newest_run(appliance, name)
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    await services.daemon.runs.start(name, trigger, ended=ended.set_result)
    return await _wait_for_start(appliance, name, trigger, newest, ended)


async def _start_any_run(services: Services, values: Values) -> asyncio.Future[int]:
    """Start a run as `start_run` does; with options for this run only, request one."""
    appliance, job = services.appliance, services.appliance.job(values["name"])
    options = run_options.parse_run_options(appliance.config, job, values["with"] or ())
    if not options:
        if not values["resume"]:
            run_options.require_possible(appliance.config, job, {})
        return await start_run(services, values)
    if values["slot"] or values["resume"] or values["as_scheduled"]:
        raise InvalidOption("'with' is for a run of its own; leave out 'slot', 'resume' and 'as_scheduled'")
    appliance.require_free_space()
    _require_idle(services, job.name)
    now = services.now()
    services.daemon.start_request(run_options.request_run(appliance, job, now, options, now=now))
    # the scheduler starts the run, so this future never gets a status
    return asyncio.get_running_loop().create_future()


async def start_run(services: Services, values: Values) -> asyncio.Future[int]:
    """Start the process of a run, and return the future with its exit status.

    Raises:
        UnknownName: There is no such job.
        Refused: A run of it is active.
        Unavailable: No process can be started, or the disk is full.
    """
    appliance, runs, name = services.appliance, services.daemon.runs, values["name"]
    appliance.job(name)
    appliance.require_free_space()
    _require_idle(services, name)
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    slot = RESUME if values["resume"] else values["slot"]
    await runs.start(name, Trigger.MANUAL, due=slot, as_scheduled=values["as_scheduled"], ended=ended.set_result)
    return ended


def _require_idle(services: Services, name: str) -> None:
    services.appliance.sweep()
    if active := services.appliance.store.active_runs(name):
        raise Refused(f"{name} is running already, as run {active[0].id}; wait until it has ended")
    runs = services.daemon.runs
    if runs.is_running(name) and not runs.is_waiting(name):
        raise Refused(f"{name} is being started already; wait until it has ended")


class ScheduledRunJson(TypedDict):
    """The result of a run that cron started."""

    run: int
    outcome: Outcome | None
    message: Annotated[str, "for cron's mail; empty after a success"]
    exit_status: int


async def run_scheduled(services: Services, values: Values) -> ScheduledRunJson:
    """Run the current slot of a job that cron starts, and return the result once the run has ended.

    A slot that the chance excludes is recorded here, without a process.

    Raises:
        UnknownName: There is no such job.
        Unavailable: No process can be started.
    """
    name = values["job"]
    run = runner.skip_if_unselected(services.appliance, name, random=SystemRandom())
    status = 0
    if run is None:
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        await services.daemon.runs.start(name, Trigger.CRON, ended=ended.set_result)
        status = await ended
        run = services.appliance.history(job=name, limit=1)[0]
    services.daemon.wake()
    fields = run_fields(run)
    return {
        "run": run.id,
        "outcome": run.outcome,
        "message": "" if text.is_good(fields) else f"{text.one_run(fields)}; see: pi-appliance jobs log {run.id}",
        "exit_status": status,
    }


class CancelledRunJson(TypedDict):
    """A run that was asked to end."""

    job: str
    cancelled: Annotated[int, "the number of the run"]


async def cancel_job(services: Services, values: Values) -> CancelledRunJson:
    """Ask the active run of a job to end, or prevent that a waiting one begins."""
    name, appliance, runs = values["name"], services.appliance, services.daemon.runs
    appliance.sweep()
    waiting = (
        None if appliance.store.active_runs(name) else next((run for run in runs.waiting if run.job == name), None)
    )
    if waiting is not None:
        reason = "cancelled by a person before it began"
        number = runs.close_waiting(waiting, Outcome.STOPPED, reason, now=services.now())
    else:
        number = appliance.cancel(name).id
    services.daemon.wake()
    return {"job": name, "cancelled": number}


class DismissedFailureJson(TypedDict):
    """A failure that is not shown any more."""

    job: str
    dismissed: Annotated[int, "the number of the run"]


async def dismiss_failure(services: Services, values: Values) -> DismissedFailureJson:
    """Dismiss the failure of a job until it fails again."""
    appliance, name = services.appliance, values["name"]
    appliance.job(name)
    view = next(view for view in appliance.jobs(services.now()) if view.job.name == name)
    failed = serializers.failed_run(appliance, view)
    if failed is None:
        raise Refused(f"{name} shows no failure, so there is nothing to dismiss")
    KeyValueStore(appliance.store).put(serializers.dismissed_key(name), str(failed.id))
    services.daemon.wake()
    return {"job": name, "dismissed": failed.id}


async def list_runs(services: Services, values: Values) -> Sequence[RunJson | SlotStatusJson]:
    """Return the newest runs or slots."""
    appliance, name, count = services.appliance, values["job"], values["count"]
    if values["slots"]:
        return _newest_slots(services, [name] if name else list(appliance.config.jobs), count)
    runs = appliance.history(job=name, limit=count, before=values["before"])
    return [run_fields(run) for run in runs]


class LoggedRunJson(RunJson):
    """A run and its output."""

    log: str


async def show_run(services: Services, values: Values) -> LoggedRunJson:
    """Return a run and its output."""
    services.appliance.sweep()
    run, log = services.appliance.log(values["run"])
    return {**run_fields(run), "log": log[values["start"] :]}


# Slots


async def list_slots(services: Services, values: Values) -> list[SlotStatusJson]:
    """Return the results of the newest slots of a job."""
    return _newest_slots(services, [values["name"]], values["count"])


def slot_statuses(services: Services, names: Iterable[str]) -> Iterator[SlotStatus]:
    """Yield the results of the slots of `names` until now, newest first. Raises UnknownName."""
    appliance, now, waiting = services.appliance, services.now(), services.daemon.runs.waiting
    jobs = [appliance.job(name) for name in names]
    appliance.sweep()
    each = [
        slot_ledger.slot_statuses(appliance, job, now, {run.slot for run in waiting if run.job == job.name})
        for job in jobs
    ]
    return merge(*each, key=lambda status: status.at, reverse=True)


def _newest_slots(services: Services, names: Sequence[str], count: int) -> list[SlotStatusJson]:
    appliance = services.appliance
    statuses = islice(slot_statuses(services, names), count)
    return [serializers.slot_status(each, _zone(appliance, each.job)) for each in statuses]


class NextSlotJson(SlotJson):
    """A future slot and its expected result."""

    result: str


async def next_slots(services: Services, values: Values) -> list[NextSlotJson]:
    """Return the next slots of a job or of all."""
    appliance, now = services.appliance, services.now()
    names = [appliance.job(values["job"]).name] if values["job"] else list(appliance.config.jobs)
    no_entry = await asyncio.to_thread(crontab.missing_entries, appliance.config)
    pauses = appliance.store.slots.pauses()
    slots = merge(*(appliance.slots(name, now) for name in names), key=lambda slot: slot.at)
    return [
        {**_slot(appliance, slot), "result": _predict_result(slot, pauses, no_entry)}
        for slot in islice(slots, values["count"])
    ]


def _predict_result(slot: Slot, pauses: Mapping[str, Pause], no_entry: Sequence[str]) -> str:
    if slot.job in pauses and pauses[slot.job].is_active(slot.at):
        return "skipped: paused"
    if slot.used:
        return "was used already"
    if slot.skipped:
        return missed_slots.SKIPPED_BY_USER
    if not slot.selected:
        return "skipped by chance"
    return "not started: cron has no entry for it" if slot.job in no_entry else "runs"


def _slot(appliance: Appliance, slot: Slot) -> SlotJson:
    return serializers.slot(slot, _zone(appliance, slot.job))


def _zone(appliance: Appliance, name: str) -> ZoneInfo:
    return appliance.config.zone_of(appliance.job(name))


# Reports


class ReportJson(TypedDict):
    """A report file."""

    job: str
    file: str
    written: Instant
    bytes: int


class DatedReportsJson(TypedDict):
    """The reports of one run in a dated folder."""

    date: str
    files: list[ReportJson]


async def list_reports(services: Services, _: Values) -> list[ReportJson]:
    """Return the newest reports."""
    return [_report(report) for report in reports.list_reports(services.appliance)]


async def list_dated_reports(services: Services, values: Values) -> list[DatedReportsJson]:
    """Return the dated reports of a job, or none if it does not write any."""
    appliance, name = services.appliance, values["name"]
    dates = reports.report_dates(appliance, name)
    if not dates:
        appliance.job(name)  # raises UnknownName for an unknown job
    return [
        {"date": date, "files": [_report(report) for report in reports.dated_reports(appliance, name, date)]}
        for date in dates
    ]


def _report(report: reports.ReportFile) -> ReportJson:
    return {
        "job": report.job,
        "file": report.file,
        "written": iso_time(report.written),
        "bytes": report.size,
    }
