"""The text of messages: a first line that fits a phone, then details and the remedy."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.notify import messages
from pi_appliance.notify.messages import JobEvent
from pi_appliance.storage.model import Event, Outcome, Run, Trigger

START = datetime(2026, 5, 1, 4, 15, tzinfo=UTC)
ZONE = ZoneInfo("Europe/Berlin")


def make_event(
    outcome: Outcome = Outcome.FAILED, summary: str = "rsync ended with status 23", log: str = "", **more: object
) -> JobEvent:
    run = Run(
        id=12,
        job="backup",
        kind="command",
        trigger=Trigger.CRON,
        scheduled_for=None,
        started=START,
        ended=START + timedelta(seconds=95),
        outcome=outcome,
        summary=summary,
        attempts=3,
    )
    values = {"event": Event.FAILURE, "job": "backup", "number": 12, "run": run, "log": log, **more}
    return JobEvent(**values)  # type: ignore[arg-type]


def test_a_failure_shows_job_time_count_and_remedy():
    message = messages.message(make_event(log="copying\nno space left\n"), host="raspberrypi", zone=ZONE)
    assert message.title == "backup failed on raspberrypi"
    assert message.body == (
        "rsync ended with status 23\n\n"
        "Run 12, started by cron at Fri 2026-05-01 06:15 (Europe/Berlin), it took 1m35s, 3 attempts.\n"
        "More: pi-appliance jobs log 12\n\n"
        "Its last output:\ncopying\nno space left"
    )


@pytest.mark.parametrize(
    ("outcome", "title"),
    [
        (Outcome.TIMED_OUT, "backup took too long on pi"),
        (Outcome.MISFIRED, "backup did not start in time on pi"),
        (Outcome.UNCERTAIN, "backup may have failed on pi"),
        (Outcome.ABANDONED, "backup was interrupted on pi"),
    ],
)
def test_the_first_line_shows_the_kind_of_failure(outcome, title):
    assert messages.message(make_event(outcome), host="pi", zone=ZONE).title == title


def test_the_details_are_on_the_page_if_phones_reach_it():
    by_hand = make_event()
    by_hand = replace(by_hand, run=replace(by_hand.run, trigger=Trigger.MANUAL))
    message = messages.message(by_hand, host="pi", zone=ZONE, page="http://192.168.1.5:8080/")
    assert message.body.endswith("\nMore: http://192.168.1.5:8080/runs/12")
    assert "Run 12, started by hand at " in message.body
    several = messages.digest([by_hand, by_hand], host="pi", page="http://192.168.1.5:8080/")
    assert several.body.endswith("All of them: http://192.168.1.5:8080/jobs")


def test_an_alarm_that_the_page_named_is_shown_with_its_time():
    assert messages.message(make_event(job="alarm-07-00"), host="pi", zone=ZONE).title == "Alarm 07:00 failed on pi"
    assert messages.message(make_event(job="alarm-clock"), host="pi", zone=ZONE).title == "alarm-clock failed on pi"


def test_a_recovery_shows_the_length_of_the_outage():
    recovered = make_event(Outcome.SUCCEEDED, "all copied", event=Event.RECOVERY, failures=3, since=START)
    message = messages.message(recovered, host="pi", zone=ZONE)
    assert message.title == "backup works again on pi"
    assert message.body.startswith("all copied\n\nAfter 3 failures since Fri 2026-05-01 06:15.\n\nRun 12, ")


def test_a_log_is_cut_to_its_last_lines_without_control_characters():
    log = "".join(f"\x1b[31mline {number}\x1b[0m\a\r\n" for number in range(1000))
    shown = messages.message(make_event(log=log), host="pi", zone=ZONE).body.partition("output:\n")[2]
    assert shown == "\n".join(f"line {number}" for number in range(980, 1000))
    long = messages.message(make_event(log="x" * 1_000_000), host="pi", zone=ZONE).body.partition("output:\n")[2]
    assert long == "…" + "x" * 1999
    assert len(messages.message(make_event(summary="y" * 9000), host="pi", zone=ZONE).body) < 1000


def test_a_run_missing_in_the_history_is_reported_anyway():
    message = messages.message(make_event(run=None), host="pi", zone=ZONE)
    assert message.title == "backup failed on pi"
    assert message.body == "Run 12 of backup; the history no longer has it."


def test_many_failures_are_one_message_with_a_line_each():
    many = [make_event(summary="no way\nsecond line")] * 40 + [make_event(event=Event.RECOVERY)]
    message = messages.digest(many, host="pi")
    assert message.title == "40 failures, 1 recovery on pi"
    lines = message.body.splitlines()
    assert lines[0] == "- backup failed (run 12): no way"
    assert lines[25:] == ["- and 16 more", "", "All of them: pi-appliance jobs list"]


def test_a_custom_message_becomes_a_subject_and_a_body():
    message = messages.custom_message(" the appliance\nfell over \x1b[1m", "a\x00b\r\nc\n")
    assert (message.title, message.body) == ("the appliance fell over", "ab\nc")
    assert len(messages.custom_message("long", "d" * 20_000).body) == 10_000
