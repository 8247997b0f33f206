"""Pause, resume, cancel, slots, and the banner: by the API, by forms, and on the page."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.scheduling import slot_times
from pi_appliance.scheduling.schedule import dump_schedule
from pi_appliance.storage.history import AccountedSlots
from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.system import clock
from pi_appliance.system.clock import ClockState
from tests.web.served_appliance import ServedAppliance, configuration, job, serving
from tests.web.test_pages import record

DAILY = "    schedule: 0 6 * * *\n"
JOBS = (
    job("daily", "", DAILY)
    + job("shaken", "", "    schedule: 0 6 * * *\n    jitter: 50m\n")
    + job("copy", "", "    depends-on: [daily, shaken]\n")
    + job("slow", "import time; time.sleep(60)", DAILY)
    + job("plain", "")
)


@pytest.fixture
def served_appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    with serving(configuration(tmp_path, jobs=JOBS)) as result:
        yield result


def output(served_appliance: ServedAppliance, name: str) -> Any:
    return next(each for each in served_appliance.request("/api/v1/jobs").json if each["job"] == name)


def card(served_appliance: ServedAppliance, name: str) -> str:
    """Return the card of a job as a line of text."""
    return " ".join(served_appliance.request(f"/parts/jobs/{name}").text.split())


def test_a_pause_starts_and_ends_and_wakes_the_scheduler(served_appliance: ServedAppliance) -> None:
    answer = served_appliance.request("/api/v1/jobs/daily/pause", {})
    assert (answer.status, answer.json["job"], answer.json["paused"]["until"]) == (200, "daily", None)
    assert (output(served_appliance, "daily")["paused"], served_appliance.daemon.woken) == (answer.json["paused"], 1)
    assert re.search(r"<b>Paused</b> since today \d\d:\d\d</p>", card(served_appliance, "daily"))
    assert 'action="/do/jobs/daily/resume"' in card(served_appliance, "daily")
    answer = served_appliance.request("/api/v1/jobs/daily/resume", {})
    assert (answer.status, answer.json["paused"], served_appliance.daemon.woken) == (200, None, 2)
    assert output(served_appliance, "daily")["paused"] is None
    assert 'action="/do/jobs/daily/pause"' in card(served_appliance, "daily")
    assert "Next <b>" in card(served_appliance, "daily")


def test_the_next_slot_is_skipped_and_used_again(served_appliance: ServedAppliance) -> None:
    answer = served_appliance.request("/api/v1/jobs/daily/skip", {})
    slot = output(served_appliance, "daily")["next"]
    assert (slot["slot"], slot["skipped"], slot["selected"]) == (answer.json["skipped"], True, False)
    assert answer.json["slot"]["local"] == slot["local"]
    answer = served_appliance.request("/api/v1/jobs/daily/unskip", {})
    assert (answer.json["skipped"], answer.json["slot"]["slot"]) == (None, slot["slot"])
    assert output(served_appliance, "daily")["next"]["skipped"] is False


def test_a_pause_with_a_duration_shows_its_end(served_appliance: ServedAppliance) -> None:
    served_appliance.request("/api/v1/jobs/daily/pause", {"for": "2d"})
    pause = served_appliance.daemon.appliance.store.slots.pauses()["daily"]
    assert pause.until is not None
    assert pause.until - pause.since == timedelta(days=2)
    assert ", until " in card(served_appliance, "daily")


def test_a_dependent_job_says_so_and_can_be_paused(served_appliance: ServedAppliance) -> None:
    assert output(served_appliance, "copy")["depends_on"] == ["daily", "shaken"]
    assert "After <b>daily, shaken</b>" in card(served_appliance, "copy")
    assert "It runs when daily and shaken have all succeeded." in served_appliance.request("/jobs/copy").text
    assert served_appliance.request("/api/v1/jobs/copy/pause", {}).status == 200
    assert "<b>Paused</b> since" in served_appliance.request("/jobs/copy").text


def test_a_slot_with_jitter_shows_its_start(served_appliance: ServedAppliance) -> None:
    slot = output(served_appliance, "shaken")["next"]
    begins = datetime.fromisoformat(slot["starts_at"])
    assert timedelta(0) <= begins - datetime.fromisoformat(slot["slot"]) < timedelta(minutes=50)
    there = f"{begins.astimezone(ZoneInfo('Europe/London')):%H:%M}"
    assert (f"06:00</b>, begins {there}" in card(served_appliance, "shaken")) is (there != "06:00")
    assert "begins" not in card(served_appliance, "daily")
    assert "<dt>Jitter</dt><dd>each slot begins up to 50m later</dd>" in served_appliance.request("/jobs/shaken").text


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        ("daly/pause", {}, 404, "no job is called 'daly'; did you mean 'daily'?"),
        ("daly/pause", {"for": "1h"}, 404, "no job is called 'daly'; did you mean 'daily'?"),
        ("daly/resume", {}, 404, "no job is called 'daly'; did you mean 'daily'?"),
        ("daly/cancel", {}, 404, "no job is called 'daly'; did you mean 'daily'?"),
        ("daly/slots", None, 404, "no job is called 'daly'; did you mean 'daily'?"),
        ("plain/pause", {}, 409, "plain has no schedule, so there is nothing to pause"),
        ("daily/resume", {}, 409, "daily is not paused"),
        ("daily/cancel", {}, 409, "no run of daily is active"),
        ("daily/pause", {"for": "soon"}, 400, "'for' must be a duration such as 90s, 15m, 1h30m or 2d"),
        ("daily/pause", {"for": 5}, 400, "'for' must be a duration such as 90s, 15m, 1h30m or 2d"),
        (
            "daily/pause",
            {"for": "0s"},
            422,
            "'for' must be from 1s to 3650d; without it the job pauses until it is resumed",
        ),
        (
            "daily/pause",
            {"for": "9999999d"},
            422,
            "'for' must be from 1s to 3650d; without it the job pauses until it is resumed",
        ),
        ("daily/pause", {"fo": "5m"}, 400, "pause takes no 'fo'; did you mean 'for'?"),
        ("daily/resume", {"for": "5m"}, 400, "resume takes no 'for'; known: name"),
        ("daily/cancel", {"run": 5}, 400, "cancel takes no 'run'; known: name"),
        ("daily/slots?count=0", None, 400, "'count' must be a whole number from 1 to 10000"),
        ("daily/slots?limit=1", None, 400, "slots takes no 'limit'; known: count, name"),
    ],
)
def test_every_refusal_is_one_sentence_and_a_status(
    served_appliance: ServedAppliance, path: str, body: Any, status: int, sentence: str
) -> None:
    answer = served_appliance.request(f"/api/v1/jobs/{path}", body)
    assert (answer.status, answer.json) == (status, {"error": sentence})
    assert (served_appliance.daemon.woken, served_appliance.daemon.appliance.store.slots.pauses()) == (0, {})


def test_the_forms_do_the_same_and_return_to_their_page(served_appliance: ServedAppliance) -> None:
    def press(path: str, body: str = "") -> str:
        answer = served_appliance.request(
            f"/do/jobs/daily/{path}", body, Referer=f"{served_appliance.origin}/jobs/daily?before=5"
        )
        assert answer.status == 303
        return answer.headers["location"]

    assert press("pause") == "/jobs/daily?before=5"
    assert press("resume", "return_to=/%23job-daily") == "/#job-daily"
    assert press("pause", "return_to=//elsewhere.example&for=") == "/"
    assert press("resume", "return_to=") == "/"
    assert press("pause", "for=1h") == "/jobs/daily?before=5"
    assert output(served_appliance, "daily")["paused"]["until"] is not None
    answer = served_appliance.request("/do/jobs/daily/pause", "for=soon")
    assert (answer.status, "must be a duration" in answer.text) == (400, True)


def test_a_cancelled_run_ends_as_stopped(served_appliance: ServedAppliance) -> None:
    served_appliance.request("/api/v1/jobs/slow/run", {})
    served_appliance.wait_until(lambda: (output(served_appliance, "slow")["last"] or {}).get("status_text"))
    assert output(served_appliance, "slow")["running"] == 1
    for shown in (card(served_appliance, "slow"), served_appliance.request("/jobs/slow").text):
        assert 'action="/do/jobs/slow/cancel"' in shown
        assert 'action="/do/jobs/slow/run"' not in shown
    answer = served_appliance.request("/api/v1/jobs/slow/cancel", {})
    assert (answer.status, answer.json) == (202, {"job": "slow", "cancelled": 1})
    last = served_appliance.wait_until(lambda: (run := output(served_appliance, "slow")["last"])["outcome"] and run)
    assert (last["outcome"], last["summary"], output(served_appliance, "slow")["running"]) == (
        "stopped",
        "cancelled by a person",
        None,
    )
    assert output(served_appliance, "slow")["failing"] is False


def test_pauses_and_the_clock_state_arrive_as_events(served_appliance: ServedAppliance) -> None:
    with served_appliance.events() as events:
        _, state = events.next_state()
        clear = {"clock": "trusted", "clock_wait": 0, "steps": 0, "last_step": "", "error": "", "waiting": 0}
        assert state["scheduler"] == clear
        served_appliance.request("/do/jobs/daily/pause", "")
        assert events.wait_for_state(lambda state: state["jobs"][0]["paused"])
        scheduler = served_appliance.daemon.scheduler
        scheduler.clock_state, scheduler.clock_wait = ClockState.UNTRUSTED, 61.0
        state = events.wait_for_state(lambda state: state["scheduler"]["clock"] == "untrusted")
        assert state["scheduler"]["clock_wait"] == 120


def account_for_a_week(served_appliance: ServedAppliance) -> None:
    """Record the last seven slots of `daily` with different outcomes, newest first."""
    appliance, now = served_appliance.daemon.appliance, clock.now()
    daily = appliance.job("daily")
    zone, store = appliance.config.zone_of(daily), appliance.store
    assert daily.schedule
    back = slot_times.fire_times_before(daily.schedule, now, zone)
    week = [next(back) for _ in range(7)]
    store.slots.start_cursor("daily", dump_schedule(daily.schedule, zone), since=week[-1] - timedelta(seconds=1))

    def nothing(first: int, last: int, outcome: Outcome, why: str) -> None:
        what = AccountedSlots(
            job="daily", kind="command", trigger=Trigger.DAEMON, first=slot_times.format_slot(week[first]),
            last=slot_times.format_slot(week[last]), count=first - last + 1, outcome=outcome, summary=why,
        )  # fmt: skip
        store.slots.record_unused([what], now=now, until=week[last])

    def ran(place: int, outcome: Outcome, summary: str) -> None:
        due = slot_times.format_slot(week[place])
        run, _ = store.start_run(job="daily", kind="command", trigger=Trigger.DAEMON, due=due, now=week[place])
        store.finish_run(run, outcome, summary, now=week[place], attempts=1)

    ran(6, Outcome.SUCCEEDED, "well & <good>")
    ran(5, Outcome.FAILED, "status 1")
    nothing(4, 3, Outcome.MISFIRED, "nothing ran here")
    nothing(2, 2, Outcome.SKIPPED, "paused from then to then")
    nothing(1, 1, Outcome.SKIPPED, "by chance (1/4)")


def test_slots_are_reported_without_gaps(served_appliance: ServedAppliance) -> None:
    account_for_a_week(served_appliance)
    result = served_appliance.request("/api/v1/jobs/daily/slots").json
    assert [(each["outcome"], each["summary"]) for each in result] == [
        (None, "not accounted for yet: it waits, or the daemon is down"),
        ("skipped", "by chance (1/4)"),
        ("skipped", "paused from then to then"),
        ("misfired", "nothing ran here"),
        ("misfired", "nothing ran here"),
        ("failed", "status 1"),
        ("succeeded", "well & <good>"),
    ]
    assert served_appliance.request("/api/v1/jobs/daily/slots?count=2").json == result[:2]
    assert served_appliance.request("/api/v1/jobs/plain/slots").json == []


def test_the_job_page_shows_slots_as_a_strip_and_a_list(served_appliance: ServedAppliance) -> None:
    account_for_a_week(served_appliance)
    text = served_appliance.request("/jobs/daily").text
    kinds = ["succeeded", "failed", "misfired", "misfired", "paused", "skipped", "unknown"]
    strip = text.split("results of the last 7 slots")[1].split("</svg>")[0]
    assert re.findall(r'<g class="(\w+)"><title>', strip) == kinds
    assert "06:00: succeeded: well &amp; &lt;good&gt;</title>" in strip
    rows = text.split("The newest 7, one by one")[1].split("</details>")[0]
    assert re.findall(r'class="how (\w+)"', rows) == kinds[::-1]
    assert "well &amp; &lt;good&gt;" in rows
    assert "results of the last" not in served_appliance.request("/jobs/plain").text


def banner(served_appliance: ServedAppliance) -> str:
    return " ".join(served_appliance.request("/parts/banner").text.split())


def test_without_problems_there_is_no_banner(served_appliance: ServedAppliance) -> None:
    record(served_appliance, "daily", Outcome.SUCCEEDED, "")
    record(served_appliance, "plain", Outcome.STOPPED, "cancelled by a person")
    assert banner(served_appliance) == ""
    assert '<div id="banner" data-part="/parts/banner" role="status"></div>' in served_appliance.request("/jobs").text


@pytest.mark.parametrize(
    ("seconds", "message"),
    [(599.0, ", at most 10 minutes more."), (30.0, ", at most 1 minute more."), (0.0, "wait for it.")],
)
def test_an_unsynchronized_clock_is_reported(served_appliance: ServedAppliance, seconds: float, message: str) -> None:
    served_appliance.daemon.scheduler.clock_state = ClockState.UNTRUSTED
    served_appliance.daemon.scheduler.clock_wait = seconds
    assert "The clock is not set yet. Jobs at a time of day wait for it" in banner(served_appliance)
    assert f"{message} Connect the machine to the internet.</p>" in banner(served_appliance)


def test_a_scheduler_problem_is_reported(served_appliance: ServedAppliance) -> None:
    served_appliance.daemon.scheduler.error = "the disk is full <now>"
    assert "A job cannot be started or recorded: the disk is full &lt;now&gt;" in served_appliance.request("/").text


def test_at_most_three_failing_jobs_are_named_newest_first(served_appliance: ServedAppliance) -> None:
    for name in ("daily", "shaken", "copy", "plain"):
        record(served_appliance, name, Outcome.FAILED, f"{name} could not")
    shown = banner(served_appliance)
    assert re.findall(r'href="/jobs/(\w+)"', shown) == ["plain", "copy", "shaken"]
    assert "and 1 more job<" in shown
    assert "plain could not" in shown


def test_a_skipped_slot_does_not_hide_a_failing_job(served_appliance: ServedAppliance) -> None:
    record(served_appliance, "daily", Outcome.FAILED, "no disk")
    record(served_appliance, "daily", Outcome.SKIPPED, "by chance (1/4)")
    assert "no disk" in banner(served_appliance)
    assert output(served_appliance, "daily")["failing"] is True
    record(served_appliance, "daily", Outcome.SUCCEEDED, "")
    assert banner(served_appliance) == ""
    assert output(served_appliance, "daily")["failing"] is False
