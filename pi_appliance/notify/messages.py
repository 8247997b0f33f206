"""Texts of notifications: a short title, the event, its time, and where the details are."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from pi_appliance.config.display_name import display_name
from pi_appliance.config.units import format_elapsed, format_time
from pi_appliance.storage.model import Event, Message, Outcome, Run

_MAX_LOG_LINES, _MAX_LOG_CHARACTERS = 20, 2_000
_MAX_SUMMARY = 500  # characters of a run's summary in a message
_MAX_DIGEST_LINES = 25
_FAILURE_VERBS = {
    Outcome.FAILED: "failed",
    Outcome.TIMED_OUT: "took too long",
    Outcome.MISFIRED: "did not start in time",
    Outcome.UNCERTAIN: "may have failed",
    Outcome.ABANDONED: "was interrupted",
}
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """An event of a job to report, with the run that caused it."""

    event: Event
    job: str
    number: int
    run: Run | None  # None if the history no longer has it
    log: str = ""
    failures: int = 0  # failed slots before a recovery
    since: datetime | None = None


def message(event: JobEvent, *, host: str, zone: ZoneInfo, page: str = "") -> Message:
    """Return the message about one event on `host`, with times in `zone`.

    `page` is the address of the page for phones. If there is none, the message names a command.
    """
    if event.event is Event.RECOVERY:
        body = _paragraphs(_recovery_text(event, zone), *_run_details(event, zone, page))
        return Message(title=f"{display_name(event.job)} works again on {host}", body=body)
    tail = _log_tail(event.log)
    return Message(
        title=f"{display_name(event.job)} {_failure_verb(event)} on {host}",
        body=_paragraphs(
            _summary(event), *_run_details(event, zone, page), f"Its last output:\n{tail}" if tail else ""
        ),
    )


def digest(events: Sequence[JobEvent], *, host: str, page: str = "") -> Message:
    """Return one message about several events. `page` is as for `message`."""
    failures = sum(each.event is Event.FAILURE for each in events)
    counts = (_count(failures, "failure", "failures"), _count(len(events) - failures, "recovery", "recoveries"))
    lines = [f"- {_one_line(each)}" for each in events[:_MAX_DIGEST_LINES]]
    if len(events) > _MAX_DIGEST_LINES:
        lines.append(f"- and {len(events) - _MAX_DIGEST_LINES} more")
    return Message(
        title=f"{', '.join(filter(None, counts))} on {host}",
        body=_paragraphs(
            "\n".join(lines), f"All of them: {page}jobs" if page else "All of them: pi-appliance jobs list"
        ),
    )


def test_message(*, host: str, now: datetime, zone: ZoneInfo) -> Message:
    """Return the message that `notifiers test` sends."""
    body = f"pi-appliance sends you messages like this one when a job begins to fail. Sent {format_time(now, zone)}."
    return Message(title=f"a test from {host}", body=body)


def ping_text(event: JobEvent) -> str:
    """Return the text of a healthchecks ping: the result, and after a failure its last output."""
    tail = _log_tail(event.log) if event.event is Event.PING_FAIL else ""
    return _paragraphs(f"run {event.number}: {_summary(event)}", tail)


def custom_message(title: str, body: str) -> Message:
    """Return a text of the owner as a message: a one-line title, no unprintable characters."""
    return Message(title=" ".join(_printable(title).split())[:200], body=_printable(body).strip()[-10_000:])


def _failure_verb(event: JobEvent) -> str:
    return _FAILURE_VERBS.get(event.run.outcome, "failed") if event.run and event.run.outcome else "failed"


def _summary(event: JobEvent) -> str:
    text = _printable(event.run.summary).strip() if event.run else ""
    return text if len(text) <= _MAX_SUMMARY else f"{text[: _MAX_SUMMARY - 1]}…"


def _recovery_text(event: JobEvent, zone: ZoneInfo) -> str:
    failures = _count(event.failures, "failure", "failures")
    since = f"After {failures} since {format_time(event.since, zone)}." if failures and event.since else ""
    return _paragraphs(_summary(event), since)


def _run_details(event: JobEvent, zone: ZoneInfo, page: str) -> list[str]:
    run = event.run
    if run is None:
        return [f"Run {event.number} of {event.job}; the history no longer has it."]
    duration = f", it took {format_elapsed(run.duration)}" if run.attempts and run.duration is not None else ""
    attempts = f", {run.attempts} attempts" if run.attempts > 1 else ""
    started = f"started by {run.trigger.word} at {format_time(run.started, zone)} ({zone.key})"
    place = f"{page}runs/{run.id}" if page else f"pi-appliance jobs log {run.id}"
    return [f"Run {run.id}, {started}{duration}{attempts}.\nMore: {place}"]


def _one_line(event: JobEvent) -> str:
    if event.event is Event.RECOVERY:
        return f"{display_name(event.job)} works again (run {event.number})"
    summary = _summary(event).partition("\n")[0]
    short = summary if len(summary) <= 60 else f"{summary[:59]}…"
    return f"{display_name(event.job)} {_failure_verb(event)} (run {event.number}){f': {short}' if short else ''}"


def _log_tail(log: str) -> str:
    tail = "\n".join(_printable(log[-10 * _MAX_LOG_CHARACTERS :]).rstrip().splitlines()[-_MAX_LOG_LINES:])
    return tail if len(tail) <= _MAX_LOG_CHARACTERS else f"…{tail[1 - _MAX_LOG_CHARACTERS :]}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""


def _printable(text: str) -> str:
    """Return `text` without colour codes and other unprintable characters."""
    plain = _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join(each for each in plain if each in "\n\t" or each.isprintable())


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))
