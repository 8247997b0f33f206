"""Results of the job operations as text for a terminal."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import click

from pi_appliance.cli.client import format_table, plain_text, visible
from pi_appliance.operations import Values
from pi_appliance.system.shown_time import format_local_time

Result = Mapping[str, Any]
_TEMPORARY = 75  # as in sysexits.h: try again later
_FAILURES = ("failed", "timed-out", "misfired", "uncertain", "abandoned")


def _slot_time(local: str, *, offset: bool = False) -> str:
    """Format the time of a slot in the zone of its job, with the offset if it differs here."""
    time = datetime.fromisoformat(local)
    text = time.strftime("%a %Y-%m-%d %H:%M:%S").removesuffix(":00")
    is_elsewhere = time.utcoffset() != time.astimezone().utcoffset()
    return f"{text} {time.isoformat()[19:]}" if offset or is_elsewhere else text


def _start_time(slot: Result) -> str:
    zone = datetime.fromisoformat(slot["local"]).tzinfo
    return f"{datetime.fromisoformat(slot['starts_at']).astimezone(zone):%H:%M:%S}"


def outcome(run: Result | None) -> str:
    """Return the outcome of `run`, or its progress."""
    if run is None:
        return "-"
    progress = "" if run["progress"] is None else f" {run['progress']:.0%}"
    return run["outcome"] or f"running{progress}"


def _format_elapsed(run: Result) -> str:
    from pi_appliance.config.units import format_elapsed  # noqa: PLC0415 - it is slow to import, and only runs need it

    return "-" if run["seconds"] is None else format_elapsed(timedelta(seconds=run["seconds"]))


def is_good(run: Result) -> bool:
    """Return whether `run` succeeded or was skipped."""
    return run["outcome"] in ("succeeded", "skipped")


def is_dismissed(job: Result) -> bool:
    """Return whether the newest run of `job` failed, and its failure was dismissed."""
    return not job["failing"] and job["last"] is not None and job["last"]["outcome"] in _FAILURES


def one_run(run: Result) -> str:
    """Return `run` in one line."""
    elapsed = f" in {_format_elapsed(run)}" if run["attempts"] else ""
    attempts = f" at try {run['attempts']}" if run["attempts"] > 1 else ""
    return f"{run['job']}: {outcome(run)}{elapsed}{attempts}: {run['summary'] or run['status_text'] or 'no summary'}"


def one_run_with_log(run: Result) -> str:
    """Return `run` in one line for a terminal, with the command that shows its log."""
    line = visible(one_run(run))
    return f"{line}; see: pi-appliance jobs log {run['id']}" if run["attempts"] else line


def exit_status(run: Result) -> int:
    """Return the exit status of the command that ran `run`."""
    return 0 if is_good(run) else _TEMPORARY if run["details"].get("unavailable") else 1


def run_with_log(result: Any, _: Values) -> None:
    """Print a run and its output."""
    click.echo(visible(one_run(result)))
    click.echo(visible(result["log"]), nl=not result["log"].endswith("\n"))


# Jobs


def job_list(result: Any, _: Values) -> str:
    """Return the jobs as a table; print their problems to stderr."""
    for job in result:
        if job["problem"]:
            click.echo(f"{job['job']}: {job['problem']}", err=True)
    rows = [
        (
            job["job"],
            job["kind"],
            job["started_by"] or "manual",
            _next_slot(job),
            job["chance"] or "-",
            *_last_run(job),
        )
        for job in result
    ]
    return format_table(("JOB", "KIND", "BY", "NEXT SLOT", "CHANCE", "LAST", "SUMMARY"), rows)


def _last_run(job: Result) -> tuple[str, str]:
    """Return the state of the newest run of `job`, and the summary of that run."""
    last = job["last"]
    if job["waiting"] and not job["running"]:
        return "waiting", "it waits for other runs to end"
    dismissed = " (dismissed)" if is_dismissed(job) else ""
    return outcome(last) + dismissed, (last["summary"] or last["status_text"]) if last else ""


def _next_slot(job: Result) -> str:
    if job["paused"]:
        until = job["paused"]["until"]
        return f"paused until {format_local_time(until)}" if until else "paused"
    if job["depends_on"]:
        return f"after {', '.join(job['depends_on'])}"
    slot = job["next"]
    if slot is None:
        return "-"
    return _slot_time(slot["local"]) + (" (skipped)" if slot["skipped"] and not slot["used"] else "")


def explanation(result: Any, _: Values) -> str:
    """Return the explanation of a job, one fact per line."""
    return "\n".join(result["explanation"])


def job_entry(result: Any, _: Values) -> str:
    """Return the keys of a job, one per line."""
    head = f"{result['job']}: {result['when']}" + (" (off)" if result["paused"] else "")
    values = [f"  {name}: {value}" for name, value in {"kind": result["kind"], **result["values"]}.items()]
    return "\n".join([head, *values])


def switched_job(result: Any, values: Values) -> str:
    """Return whether the job is on."""
    return f"{result['job']} is off" if result["paused"] else resumed_job(result, values).replace("resumed", "on")


def paused_job(result: Any, _: Values) -> str:
    """Return how long the job pauses."""
    until = result["paused"]["until"]
    return f"{result['job']} is paused until {format_local_time(until) if until else 'you resume it'}"


def resumed_job(result: Any, _: Values) -> str:
    """Return the next slot of the job."""
    line = f"{result['job']} is resumed"
    return f"{line}; next slot: {_slot_time(result['next']['local'])}" if result["next"] else line


def skipped_slot(result: Any, _: Values) -> str:
    """Return the slot that is skipped."""
    return f"{result['job']} will skip its slot of {_slot_time(result['slot']['local'])}"


def unskipped_slot(result: Any, _: Values) -> str:
    """Return the slot that is used."""
    return f"{result['job']} will use its slot of {_slot_time(result['slot']['local'])}"


def cancelled_run(result: Any, _: Values) -> str:
    """Return the run that was asked to end."""
    return f"run {result['cancelled']} of {result['job']} was asked to end"


# Slots and runs


def history(result: Any, values: Values) -> str:
    """Return runs or slots as a table."""
    if values["slots"]:
        head = ("SLOT", "JOB", "RUN", "OUTCOME", "SUMMARY")
        rows = [
            (
                _slot_time(slot["local"]),
                slot["job"],
                str(slot["run"] or "-"),
                "-" if slot["run"] is None else slot["outcome"] or "running",
                slot["summary"],
            )
            for slot in result
        ]
        return format_table(head, rows) if result else "there are no past slots yet"
    if not result:
        return "nothing has run yet"
    return format_table(
        ("RUN", "JOB", "STARTED", "BY", "TOOK", "OUTCOME", "SUMMARY"),
        [
            (
                str(run["id"]),
                run["job"],
                format_local_time(run["started"]),
                run["trigger"],
                _format_elapsed(run) if run["attempts"] else "-",
                outcome(run),
                run["summary"] or run["status_text"],
            )
            for run in result
        ],
    )


def report_list(result: Any, _: Values) -> str:
    """Return the newest reports as a table."""
    return plain_text(result) or "there are no reports yet"


def trigger_list(result: Any, _: Values) -> str:
    """Return the triggers of all jobs as a table."""
    return plain_text(result) or "no job has triggers"


def next_slots(result: Any, _: Values) -> str:
    """Return the next slots as a table."""
    rows = [(_slot_time(slot["local"]), slot["job"], _next_result(slot)) for slot in result]
    return format_table(("SLOT", "JOB", "RESULT"), rows) if rows else "no job has a next slot"


def _next_result(slot: Result) -> str:
    is_late = slot["result"] == "runs" and slot["starts_at"] != slot["slot"]
    return f"runs at {_start_time(slot)}" if is_late else slot["result"]


def simulation(result: Any, _: Values) -> str:
    """Return the slots as a table, with the clock changes between them. Print notes to stderr."""
    for note in result["notes"]:
        click.echo(note, err=True)
    if (omitted := result["omitted"]) > 0:
        more = f"{omitted:,}" if omitted < 10_000 else "10,000 or more"  # it is not counted further
        click.echo(f"{more} more slots are not shown; use --limit, or a shorter period", err=True)
    slots, changes = result["slots"], result["changes"]
    if not slots:
        return "there are no slots in this period"
    several = len({each["zone"] for each in (*slots, *changes)}) > 1
    late = any(slot["starts_at"] not in (None, slot["slot"]) for slot in slots)
    head = ("SLOT", *(["ZONE"] if several else ()), "JOB", *(["STARTS"] if late else ()), "RESULT")
    rows = [
        (
            _slot_time(slot["local"], offset=True),
            *([slot["zone"]] if several else ()),
            slot["job"],
            *([_start_time(slot) if slot["starts_at"] else "-"] if late else ()),
            _simulated_result(slot),
        )
        for slot in slots
    ]
    title, *lines = format_table(head, rows).splitlines()
    dated = [(slot["slot"], 1, line) for slot, line in zip(slots, lines, strict=True)]
    dated += [(change["at"], 0, _clock_change(change, several=several)) for change in changes]
    return "\n".join([title, *(line for _, _, line in sorted(dated, key=lambda each: each[:2]))])


def _simulated_result(slot: Result) -> str:
    run = slot["run"]
    return f"{outcome(run)}: {run['summary'] or run['status_text'] or 'no summary'}" if run else slot["result"]


def _clock_change(change: Result, *, several: bool) -> str:
    place = f" in {change['zone']}" if several else ""
    return f"-- {change['day']}{place} {change['before']} becomes {change['after']} --"
