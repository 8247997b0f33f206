"""Pause, resume, cancel, the results of the slots, and the banner: by the API, by forms, and as the page shows them."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.scheduling import due as plan
from pi_appliance.scheduling import instants
from pi_appliance.storage.history import AccountedSlots
from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.system import clock
from pi_appliance.system.clock import ClockState
from tests.web.served_appliance import World, configuration, job, served
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
def world(tmp_path: Path) -> Iterator[World]:
    with served(configuration(tmp_path, jobs=JOBS)) as found:
        yield found


def told(world: World, name: str) -> Any:
    return next(each for each in world.ask("/api/v1/jobs").json if each["job"] == name)


def card(world: World, name: str) -> str:
    """Return the card of a job as a line of text."""
    return " ".join(world.ask(f"/parts/jobs/{name}").text.split())


def test_a_pause_begins_and_ends_and_the_scheduler_is_woken(world: World) -> None:
    answer = world.ask("/api/v1/jobs/daily/pause", {})
    assert (answer.status, answer.json["job"], answer.json["paused"]["until"]) == (200, "daily", None)
    assert (told(world, "daily")["paused"], world.daemon.woken) == (answer.json["paused"], 1)
    assert re.search(r"<b>Paused</b> since today \d\d:\d\d</p>", card(world, "daily"))
    assert 'action="/do/jobs/daily/resume"' in card(world, "daily")
    answer = world.ask("/api/v1/jobs/daily/resume", {})
    assert (answer.status, answer.json["paused"], world.daemon.woken) == (200, None, 2)
    assert told(world, "daily")["paused"] is None
    assert 'action="/do/jobs/daily/pause"' in card(world, "daily")
    assert "Next <b>" in card(world, "daily")


def test_the_next_slot_is_skipped_and_used_after_all(world: World) -> None:
    answer = world.ask("/api/v1/jobs/daily/skip", {})
    slot = told(world, "daily")["next"]
    assert (slot["slot"], slot["skipped"], slot["selected"]) == (answer.json["skipped"], True, False)
    assert answer.json["slot"]["local"] == slot["local"]
    answer = world.ask("/api/v1/jobs/daily/unskip", {})
    assert (answer.json["skipped"], answer.json["slot"]["slot"]) == (None, slot["slot"])
    assert told(world, "daily")["next"]["skipped"] is False


def test_a_pause_for_a_while_tells_its_end(world: World) -> None:
    world.ask("/api/v1/jobs/daily/pause", {"for": "2d"})
    pause = world.daemon.appliance.store.slots.pauses()["daily"]
    assert pause.until is not None
    assert pause.until - pause.since == timedelta(days=2)
    assert ", until " in card(world, "daily")


def test_a_job_that_comes_after_others_says_so_and_can_pause(world: World) -> None:
    assert told(world, "copy")["depends_on"] == ["daily", "shaken"]
    assert "After <b>daily, shaken</b>" in card(world, "copy")
    assert "It runs when daily and shaken have all succeeded." in world.ask("/jobs/copy").text
    assert world.ask("/api/v1/jobs/copy/pause", {}).status == 200
    assert "<b>Paused</b> since" in world.ask("/jobs/copy").text


def test_a_slot_with_jitter_tells_when_it_begins(world: World) -> None:
    slot = told(world, "shaken")["next"]
    begins = datetime.fromisoformat(slot["starts_at"])
    assert timedelta(0) <= begins - datetime.fromisoformat(slot["slot"]) < timedelta(minutes=50)
    there = f"{begins.astimezone(ZoneInfo('Europe/London')):%H:%M}"
    assert (f"06:00</b>, begins {there}" in card(world, "shaken")) is (there != "06:00")
    assert "begins" not in card(world, "daily")
    assert "<dt>Jitter</dt><dd>each slot begins up to 50m later</dd>" in world.ask("/jobs/shaken").text


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
        ("daily/pause", {"for": "soon"}, 400, "'for' must be a length of time such as 90s, 15m, 1h30m or 2d"),
        ("daily/pause", {"for": 5}, 400, "'for' must be a length of time such as 90s, 15m, 1h30m or 2d"),
        (
            "daily/pause",
            {"for": "0s"},
            400,
            "'for' must be from 1s to 3650d; without it the job pauses until it is resumed",
        ),
        (
            "daily/pause",
            {"for": "9999999d"},
            400,
            "'for' must be from 1s to 3650d; without it the job pauses until it is resumed",
        ),
        ("daily/pause", {"fo": "5m"}, 400, "pause takes no 'fo'; did you mean 'for'?"),
        ("daily/resume", {"for": "5m"}, 400, "resume takes no 'for'; known: name"),
        ("daily/cancel", {"run": 5}, 400, "cancel takes no 'run'; known: name"),
        ("daily/slots?count=0", None, 400, "'count' must be a whole number from 1 to 10000"),
        ("daily/slots?limit=1", None, 400, "slots takes no 'limit'; known: count, name"),
    ],
)
def test_every_no_is_one_sentence_and_a_status(world: World, path: str, body: Any, status: int, sentence: str) -> None:
    answer = world.ask(f"/api/v1/jobs/{path}", body)
    assert (answer.status, answer.json) == (status, {"error": sentence})
    assert (world.daemon.woken, world.daemon.appliance.store.slots.pauses()) == (0, {})


def test_the_forms_do_the_same_and_lead_back_to_their_page(world: World) -> None:
    def press(path: str, body: str = "") -> str:
        answer = world.ask(f"/do/jobs/daily/{path}", body, Referer=f"{world.origin}/jobs/daily?before=5")
        assert answer.status == 303
        return answer.headers["location"]

    assert press("pause") == "/jobs/daily?before=5"
    assert press("resume", "return_to=/%23job-daily") == "/#job-daily"
    assert press("pause", "return_to=//elsewhere.example&for=") == "/"
    assert press("resume", "return_to=") == "/"
    assert press("pause", "for=1h") == "/jobs/daily?before=5"
    assert told(world, "daily")["paused"]["until"] is not None
    answer = world.ask("/do/jobs/daily/pause", "for=soon")
    assert (answer.status, "must be a length of time" in answer.text) == (400, True)


def test_a_run_is_cancelled_and_ends_as_stopped(world: World) -> None:
    world.ask("/api/v1/jobs/slow/run", {})
    world.eventually(lambda: (told(world, "slow")["last"] or {}).get("status_text"))
    assert told(world, "slow")["running"] == 1
    for shown in (card(world, "slow"), world.ask("/jobs/slow").text):
        assert 'action="/do/jobs/slow/cancel"' in shown
        assert 'action="/do/jobs/slow/run"' not in shown
    answer = world.ask("/api/v1/jobs/slow/cancel", {})
    assert (answer.status, answer.json) == (202, {"job": "slow", "cancelled": 1})
    last = world.eventually(lambda: (run := told(world, "slow")["last"])["outcome"] and run)
    assert (last["outcome"], last["summary"], told(world, "slow")["running"]) == (
        "stopped",
        "cancelled by a person",
        None,
    )
    assert told(world, "slow")["failing"] is False


def test_a_pause_and_the_state_of_the_clock_arrive_as_events(world: World) -> None:
    with world.events() as events:
        _, state = events.next()
        clear = {"clock": "trusted", "clock_wait": 0, "steps": 0, "last_step": "", "error": "", "waiting": 0}
        assert state["scheduler"] == clear
        world.ask("/do/jobs/daily/pause", "")
        assert events.until(lambda state: state["jobs"][0]["paused"])
        scheduler = world.daemon.scheduler
        scheduler.clock_state, scheduler.clock_wait = ClockState.UNTRUSTED, 61.0
        state = events.until(lambda state: state["scheduler"]["clock"] == "untrusted")
        assert state["scheduler"]["clock_wait"] == 120


def account_for_a_week(world: World) -> None:
    """Let the last seven slots of `daily` have come to something each, the newest first."""
    appliance, now = world.daemon.appliance, clock.now()
    daily = appliance.job("daily")
    zone, store = appliance.config.zone_of(daily), appliance.store
    assert daily.schedule
    back = instants.fire_times_before(daily.schedule, now, zone)
    week = [next(back) for _ in range(7)]
    store.slots.start_cursor("daily", plan.dump_schedule(daily.schedule, zone), since=week[-1] - timedelta(seconds=1))

    def nothing(first: int, last: int, outcome: Outcome, why: str) -> None:
        what = AccountedSlots(
            job="daily", kind="command", trigger=Trigger.DAEMON, first=instants.format_slot(week[first]),
            last=instants.format_slot(week[last]), count=first - last + 1, outcome=outcome, summary=why,
        )  # fmt: skip
        store.slots.record_unused([what], now=now, until=week[last])

    def ran(place: int, outcome: Outcome, summary: str) -> None:
        due = instants.format_slot(week[place])
        run, _ = store.start_run(job="daily", kind="command", trigger=Trigger.DAEMON, due=due, now=week[place])
        store.finish_run(run, outcome, summary, now=week[place], attempts=1)

    ran(6, Outcome.SUCCEEDED, "well & <good>")
    ran(5, Outcome.FAILED, "status 1")
    nothing(4, 3, Outcome.MISFIRED, "nothing ran here")
    nothing(2, 2, Outcome.SKIPPED, "paused from then to then")
    nothing(1, 1, Outcome.SKIPPED, "by chance (1/4)")


def test_what_became_of_the_slots_is_told_without_a_hole(world: World) -> None:
    account_for_a_week(world)
    found = world.ask("/api/v1/jobs/daily/slots").json
    assert [(each["outcome"], each["summary"]) for each in found] == [
        (None, "not accounted for yet: it waits, or the daemon is down"),
        ("skipped", "by chance (1/4)"),
        ("skipped", "paused from then to then"),
        ("misfired", "nothing ran here"),
        ("misfired", "nothing ran here"),
        ("failed", "status 1"),
        ("succeeded", "well & <good>"),
    ]
    assert world.ask("/api/v1/jobs/daily/slots?count=2").json == found[:2]
    assert world.ask("/api/v1/jobs/plain/slots").json == []


def test_the_page_of_a_job_shows_its_slots_as_a_strip_and_one_by_one(world: World) -> None:
    account_for_a_week(world)
    text = world.ask("/jobs/daily").text
    kinds = ["succeeded", "failed", "misfired", "misfired", "paused", "skipped", "unknown"]
    strip = text.split("results of the last 7 slots")[1].split("</svg>")[0]
    assert re.findall(r'<g class="(\w+)"><title>', strip) == kinds
    assert "06:00: succeeded: well &amp; &lt;good&gt;</title>" in strip
    rows = text.split("The newest 7, one by one")[1].split("</details>")[0]
    assert re.findall(r'class="how (\w+)"', rows) == kinds[::-1]
    assert "well &amp; &lt;good&gt;" in rows
    assert "results of the last" not in world.ask("/jobs/plain").text


def banner(world: World) -> str:
    return " ".join(world.ask("/parts/banner").text.split())


def test_where_all_is_well_there_is_no_banner(world: World) -> None:
    record(world, "daily", Outcome.SUCCEEDED, "")
    record(world, "plain", Outcome.STOPPED, "cancelled by a person")
    assert banner(world) == ""
    assert '<div id="banner" role="status"></div>' in world.ask("/").text


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(599.0, ", at most 10 minutes more."), (30.0, ", at most 1 minute more."), (0.0, "wait for it.")],
)
def test_a_clock_that_nobody_has_set_is_told(world: World, seconds: float, said: str) -> None:
    world.daemon.scheduler.clock_state = ClockState.UNTRUSTED
    world.daemon.scheduler.clock_wait = seconds
    assert "The clock is not set yet. Jobs at a time of day wait for it" in banner(world)
    assert f"{said}</p>" in banner(world)


def test_trouble_of_the_scheduler_is_told(world: World) -> None:
    world.daemon.scheduler.error = "the disk is full <now>"
    assert "A job cannot be started or recorded: the disk is full &lt;now&gt;" in world.ask("/").text


def test_jobs_that_fail_are_named_the_newest_first_and_no_more_than_three(world: World) -> None:
    for name in ("daily", "shaken", "copy", "plain"):
        record(world, name, Outcome.FAILED, f"{name} could not")
    shown = banner(world)
    assert re.findall(r'href="/jobs/(\w+)"', shown) == ["plain", "copy", "shaken"]
    assert "and 1 more job<" in shown
    assert "plain could not" in shown


def test_a_slot_that_is_skipped_does_not_hide_that_the_job_fails(world: World) -> None:
    record(world, "daily", Outcome.FAILED, "no disk")
    record(world, "daily", Outcome.SKIPPED, "by chance (1/4)")
    assert "no disk" in banner(world)
    assert told(world, "daily")["failing"] is True
    record(world, "daily", Outcome.SUCCEEDED, "")
    assert banner(world) == ""
    assert told(world, "daily")["failing"] is False
