"""The outbox: one message per change of state, written in the transaction that ends a run."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pi_appliance.config.options import NotifyTargets
from pi_appliance.storage.history import Store
from pi_appliance.storage.model import Event, Message, Outcome, Trigger
from pi_appliance.storage.notification_rules import Outbox

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TARGETS = NotifyTargets(on_failure=["phone", "mail"], on_recovery=["phone"])
ALL_BAD = [Outcome.FAILED, Outcome.TIMED_OUT, Outcome.MISFIRED, Outcome.UNCERTAIN, Outcome.ABANDONED]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "history.db") as opened:
        yield opened


def finish_run(
    store: Store, outcome: Outcome, *, job: str = "a", targets: NotifyTargets | None = TARGETS, now: datetime = NOON
) -> int:
    run, _ = store.start_run(job=job, kind="command", trigger=Trigger.MANUAL, due=None, now=now)
    store.finish_run(run, outcome, "", now=now, targets=targets)
    return run


def waiting(store: Store) -> list[tuple[str, str, int]]:
    return [(message.notifier, str(message.event), message.run) for message in Outbox(store).waiting()]


@pytest.mark.parametrize("outcome", ALL_BAD)
def test_a_job_is_reported_when_it_starts_to_fail_and_when_it_recovers(store, outcome):
    first = finish_run(store, outcome)
    finish_run(store, Outcome.FAILED)
    assert waiting(store) == [("phone", "failure", first), ("mail", "failure", first)]
    well = finish_run(store, Outcome.SUCCEEDED)
    finish_run(store, Outcome.SUCCEEDED)
    assert waiting(store)[2:] == [("phone", "recovery", well)]
    again = finish_run(store, outcome)
    assert waiting(store)[3:] == [("phone", "failure", again), ("mail", "failure", again)]


@pytest.mark.parametrize("outcome", [Outcome.SKIPPED, Outcome.STOPPED])
def test_skipped_and_stopped_runs_change_nothing(store, outcome):
    finish_run(store, outcome)
    assert waiting(store) == []
    finish_run(store, Outcome.FAILED)
    finish_run(store, outcome)
    finish_run(store, Outcome.FAILED)
    assert len(waiting(store)) == 2


def test_a_run_is_reported_once(store):
    run = finish_run(store, Outcome.SUCCEEDED)
    store.finish_run(run, Outcome.FAILED, "too late", now=NOON, targets=TARGETS)
    assert waiting(store) == []


def test_vanished_runs_are_reported_by_the_first_of_them(store):
    runs = [store.start_run(job="a", kind="command", trigger=Trigger.MANUAL, due=None, now=NOON)[0] for _ in range(2)]
    store.abandon_runs("a", now=NOON, targets=NotifyTargets(on_failure=["phone"], ping=True))
    assert waiting(store) == [("phone", "failure", runs[0]), ("", "ping-fail", runs[1])]


def test_a_job_without_notifiers_stores_nothing(store):
    finish_run(store, Outcome.FAILED, targets=None)
    finish_run(store, Outcome.FAILED, targets=NotifyTargets())
    assert waiting(store) == []


def test_each_end_is_pinged_and_only_the_last_waits(store):
    for outcome in (Outcome.FAILED, Outcome.FAILED, Outcome.SUCCEEDED):
        last = finish_run(store, outcome, targets=NotifyTargets(ping=True))
    finish_run(store, Outcome.SKIPPED, targets=NotifyTargets(ping=True))
    other = finish_run(store, Outcome.FAILED, job="b", targets=NotifyTargets(ping=True))
    assert waiting(store) == [("", "ping-success", last), ("", "ping-fail", other)]


def test_failures_are_counted_since_the_last_success(store):
    finish_run(store, Outcome.FAILED)
    finish_run(store, Outcome.SUCCEEDED)
    finish_run(store, Outcome.FAILED, now=NOON + MINUTE)
    finish_run(store, Outcome.SKIPPED)
    finish_run(store, Outcome.MISFIRED, now=NOON + 2 * MINUTE)
    finish_run(store, Outcome.FAILED, job="b")
    well = finish_run(store, Outcome.SUCCEEDED)
    assert Outbox(store).failures_before("a", well) == (2, NOON + MINUTE)
    assert Outbox(store).failures_before("c", 99) == (0, None)


def test_a_waiting_message_is_due_at_its_time_or_if_that_is_impossible(store):
    finish_run(store, Outcome.FAILED)
    outbox = Outbox(store)
    outbox.postpone(outbox.waiting(), NOON + 3 * MINUTE, why="away")
    assert not outbox.is_due(NOON + 2 * MINUTE)
    assert outbox.is_due(NOON + 3 * MINUTE)
    assert outbox.is_due(NOON - timedelta(days=365)), "it was put there by a clock that was ahead"
    assert {(message.attempts, message.last_error) for message in outbox.waiting()} == {(1, "away")}


def test_sent_messages_are_remembered_for_a_limited_time(store):
    outbox = Outbox(store)
    for title in ("one", "two", "three"):
        outbox.put("phone", Message(title=title, body=""), now=NOON)
    one, *others = outbox.waiting()
    outbox.mark_sent([one], now=NOON)
    outbox.mark_sent(others, now=NOON + MINUTE)
    assert outbox.waiting() == []
    assert outbox.sent_times("phone", NOON + MINUTE) == [NOON, NOON + MINUTE], "what went together counts once"
    assert outbox.sent_times("phone", NOON + 10 * MINUTE) == [NOON + MINUTE]
    outbox.put("mail", Message(title="much later", body=""), now=NOON)
    outbox.mark_sent(outbox.waiting(), now=NOON + timedelta(days=1))
    assert outbox.sent_times("phone", NOON + MINUTE) == []


def test_custom_messages_are_stored_unchanged(store):
    outbox = Outbox(store)
    outbox.put("phone", Message(title="Grüße", body="a\nb"), now=NOON)
    (message,) = outbox.due(NOON)
    assert (message.event, message.message) == (Event.CUSTOM, Message(title="Grüße", body="a\nb"))
    outbox.drop([message])
    assert outbox.due(NOON) == []
