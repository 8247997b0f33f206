"""Letters to messages: a first line that fits a phone, and below it what happened, when, and what to do."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from pi_appliance.cli.text import instant, length
from pi_appliance.config.notifications import Event, Message
from pi_appliance.storage.model import Outcome, Run

_LINES, _CHARACTERS = 20, 2_000  # of a log
_SUMMARY = 500  # characters of one run's summary
_TOGETHER = 25  # letters that a message of many tells one by one
_WENT_WRONG = {
    Outcome.FAILED: "failed",
    Outcome.TIMED_OUT: "took too long",
    Outcome.MISFIRED: "did not start in time",
    Outcome.UNCERTAIN: "may have failed",
    Outcome.ABANDONED: "was cut off",
}
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """What is known of one letter when it is written."""

    event: Event
    job: str
    number: int
    run: Run | None  # None if history has forgotten it
    log: str = ""
    failures: int = 0  # before a recovery
    since: datetime | None = None


def message(news: JobEvent, *, host: str, zone: ZoneInfo) -> Message:
    """Return the message of one letter, from HOST, with its instants in ZONE."""
    if news.event is Event.RECOVERY:
        return Message(
            title=f"{news.job} works again on {host}", body=_paragraphs(_again(news, zone), *_run(news, zone))
        )
    last = _last_lines(news.log)
    return Message(
        title=f"{news.job} {_how(news)} on {host}",
        body=_paragraphs(_summary(news), *_run(news, zone), f"The last it printed:\n{last}" if last else ""),
    )


def digest(many: Sequence[JobEvent], *, host: str) -> Message:
    """Return one message of MANY letters, which nobody wants to read one by one."""
    failures = sum(news.event is Event.FAILURE for news in many)
    counts = (_counted(failures, "failure", "failures"), _counted(len(many) - failures, "recovery", "recoveries"))
    lines = [f"- {_in_one_line(news)}" for news in many[:_TOGETHER]]
    if len(many) > _TOGETHER:
        lines.append(f"- and {len(many) - _TOGETHER} more")
    return Message(
        title=f"{', '.join(filter(None, counts))} on {host}",
        body=_paragraphs("\n".join(lines), "All of them: pi-appliance jobs list"),
    )


def test_message(*, host: str, now: datetime, zone: ZoneInfo) -> Message:
    """Return what `notices test` sends."""
    body = f"This is how pi-appliance tells you when a job begins to fail. Sent {instant(now, zone)}."
    return Message(title=f"a test from {host}", body=body)


def ping_text(news: JobEvent) -> str:
    """Return what goes with a ping: how the run ended, and what it printed last where it went wrong."""
    last = _last_lines(news.log) if news.event is Event.PING_FAIL else ""
    return _paragraphs(f"run {news.number}: {_summary(news)}", last)


def custom_message(title: str, body: str) -> Message:
    """Return somebody's own words as a message: one line and what stands below, without what no screen shows."""
    return Message(title=" ".join(_clean(title).split())[:200], body=_clean(body).strip()[-5 * _CHARACTERS :])


def _how(news: JobEvent) -> str:
    return _WENT_WRONG.get(news.run.outcome, "failed") if news.run and news.run.outcome else "failed"


def _summary(news: JobEvent) -> str:
    said = _clean(news.run.summary).strip() if news.run else ""
    return said if len(said) <= _SUMMARY else f"{said[: _SUMMARY - 1]}…"


def _again(news: JobEvent, zone: ZoneInfo) -> str:
    times = _counted(news.failures, "failure", "failures")
    return _paragraphs(_summary(news), f"After {times} since {instant(news.since, zone)}." if times else "")


def _run(news: JobEvent, zone: ZoneInfo) -> list[str]:
    """Return what run it was, and how to see all of it."""
    run = news.run
    if run is None:
        return [f"Run {news.number} of {news.job}; history does not have it any more."]
    took = f", it took {length(run.duration)}" if run.attempts else ""
    tries = f", {run.attempts} tries" if run.attempts > 1 else ""
    when = f"Run {run.id}, started by {run.trigger} at {instant(run.started, zone)} ({zone.key}){took}{tries}."
    return [f"{when}\nMore: pi-appliance jobs log {run.id}"]


def _in_one_line(news: JobEvent) -> str:
    if news.event is Event.RECOVERY:
        return f"{news.job} works again (run {news.number})"
    said = _summary(news).partition("\n")[0]
    short = said if len(said) <= 60 else f"{said[:59]}…"
    return f"{news.job} {_how(news)} (run {news.number}){f': {short}' if short else ''}"


def _last_lines(log: str) -> str:
    """Return the end of LOG, as much of it as a message holds."""
    end = "\n".join(_clean(log[-10 * _CHARACTERS :]).rstrip().splitlines()[-_LINES:])
    return end if len(end) <= _CHARACTERS else f"…{end[1 - _CHARACTERS :]}"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""


def _clean(text: str) -> str:
    """Return TEXT without colours, and without any other character that no screen shows."""
    plain = _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join(each for each in plain if each in "\n\t" or each.isprintable())


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))
