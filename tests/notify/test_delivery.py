"""Delivery in virtual time: floods, outages, expiry, and no lost message."""

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from pi_appliance.config.options import NotifyTargets
from pi_appliance.errors import Unavailable
from pi_appliance.notify.delivery import DeliveryBatch, load_notifiers
from pi_appliance.storage.history import Store
from pi_appliance.storage.model import Message, Outcome, Trigger
from pi_appliance.storage.notification_rules import Outbox
from tests.fakes.http_recorder import HttpRecorder, http_recorder
from tests.installation import Installation

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TARGETS = NotifyTargets(on_failure=["phone"], on_recovery=["phone"])
SECRET = bytes(32)


class Post:
    """A store, an HTTP recorder, and a clock that the test sets."""

    def __init__(self, installation: Installation, recorder: HttpRecorder, *, pings: bool = False) -> None:
        jobs = "".join(
            f"j{n}: {{kind: command, healthchecks-url: 'http://{recorder.address}/{n}', with: {{run: [x]}}}}\n"
            for n in range(5)
        )
        installation.write(
            jobs if pings else "", f"notifiers:\n  phone: {{kind: apprise, with: {{url: 'json://{recorder.address}'}}}}"
        )
        installation.state.mkdir()
        self.to, self.store, self.now = (
            load_notifiers(installation.config),
            Store(installation.state / "history.db"),
            NOON,
        )
        self.outbox = Outbox(self.store)

    def end(self, job: str, outcome: Outcome, targets: NotifyTargets = TARGETS) -> None:
        """Record the end of a run of `job`."""
        run, _ = self.store.start_run(job=job, kind="command", trigger=Trigger.DAEMON, due=None, now=self.now)
        self.store.finish_run(run, outcome, "so it is", now=self.now, targets=targets)

    def round(self, **more: float) -> None:
        """Send the due messages as the dispatcher does."""
        once = DeliveryBatch(self.to, self.store, host="pi", random=Random(1), now=lambda: self.now, **more)  # type: ignore[arg-type]
        once.send({}, SECRET)

    def rounds(self, length: timedelta) -> None:
        """Advance the time by `length`, with a dispatch every minute."""
        until = self.now + length
        while self.now < until:
            self.now += timedelta(minutes=1)
            if self.outbox.is_due(self.now):
                self.round()


@pytest.fixture
def recorder() -> Iterator[HttpRecorder]:
    with http_recorder() as listening:
        yield listening


@pytest.fixture
def post(installation: Installation, recorder: HttpRecorder) -> Iterator[Post]:
    made = Post(installation, recorder)
    yield made
    made.store.close()


def test_many_jobs_that_fail_at_once_are_one_message(post, recorder):
    for number in range(200):
        post.end(f"job-{number}", Outcome.FAILED)
    post.round()
    assert recorder.titles == ["200 failures on pi"]
    assert "- job-0 failed (run 1): so it is\n" in recorder.requests[0].json["message"]
    assert post.outbox.waiting() == []


def test_many_jobs_that_fail_one_by_one_are_few_messages_without_loss(post, recorder):
    for number in range(200):
        post.end(f"job-{number}", Outcome.FAILED)
        post.round()
        post.now += timedelta(seconds=1)
    assert len(recorder.requests) == 5
    assert not post.outbox.is_due(post.now), "the others have their time, so nobody looks at them in vain"
    post.rounds(timedelta(minutes=10))
    assert recorder.titles[5:] == ["195 failures on pi"]
    post.rounds(timedelta(hours=1))
    assert len(recorder.requests) == 6


def test_custom_messages_are_not_combined(post, recorder):
    for number in range(7):
        post.end(f"job-{number}", Outcome.FAILED)
    post.outbox.put("phone", Message(title="it fell over", body="so it is"), now=NOON)
    post.round()
    assert recorder.titles == ["it fell over", "7 failures on pi"]


def test_during_an_outage_the_retry_delay_grows(post, recorder):
    post.end("a", Outcome.FAILED)
    recorder.faults += [503] * 9
    post.rounds(timedelta(hours=12))
    assert recorder.titles == ["a failed on pi"] * 10
    assert post.outbox.waiting() == []


def test_an_undeliverable_message_expires_after_days(post, recorder, caplog):
    post.end("a", Outcome.FAILED)
    recorder.faults += [404] * 99
    post.rounds(timedelta(days=2, hours=23))
    assert len(post.outbox.waiting()) == 1
    post.rounds(timedelta(hours=8))
    assert post.outbox.waiting() == []
    assert caplog.messages == [
        "notifier phone: 1 given up after 3d: the service answered 404: nothing of that name is there"
    ]
    assert 15 <= len(recorder.requests) <= 30


def test_a_message_that_looks_old_after_a_clock_change_is_tried_first(post, recorder):
    post.now = datetime(1970, 1, 1, tzinfo=UTC)
    post.end("a", Outcome.FAILED)
    post.now = NOON
    recorder.faults.append(503)
    post.round()
    post.rounds(timedelta(minutes=2))
    assert len(recorder.requests) == 2
    assert post.outbox.waiting() == []


def test_one_unreachable_notifier_does_not_delay_the_others(post, recorder):
    part = post.to.notifiers["phone"]
    away = dataclasses.replace(part, options=dataclasses.replace(part.options, url="json://127.0.0.1:9"))
    post.to = dataclasses.replace(post.to, notifiers={"away": away, "phone": part})
    for job in "abc":
        post.end(job, Outcome.FAILED, NotifyTargets(on_failure=["away", "phone"]))
    post.round()
    assert len(recorder.requests) == 3
    assert {(message.notifier, message.attempts) for message in post.outbox.waiting()} == {("away", 1)}


def test_messages_of_a_removed_notifier_are_dropped_and_reported(post, caplog):
    post.end("a", Outcome.FAILED, NotifyTargets(on_failure=["gone"]))
    post.round()
    assert post.outbox.waiting() == []
    assert caplog.messages == ["notifier gone: no longer in the configuration; 1 dropped"]


def test_notifiers_are_used_while_no_user_owns_the_state_folder(installation):
    notifier = "notifiers:\n  phone: {kind: command, with: {run: [cat]}}\n"
    installation.config.write_text(f"state-dir: ~no-such-user/state\n{notifier}", "utf-8")
    assert list(load_notifiers(installation.config).notifiers) == ["phone"]


def test_nothing_is_dropped_while_the_file_is_invalid(post):
    post.end("a", Outcome.FAILED, NotifyTargets(on_failure=["gone"]))
    post.to = dataclasses.replace(post.to, is_complete=False)
    post.round()
    (message,) = post.outbox.waiting()
    assert message.last_error == "the configuration is invalid; see: pi-appliance config check"
    assert not post.outbox.is_due(post.now)


def test_messages_stay_due_when_the_time_is_over(post, recorder):
    for job in "abc":
        post.end(job, Outcome.FAILED)
    ticks = iter(range(9))
    post.round(until=2, monotonic=lambda: next(ticks))
    assert recorder.titles == ["a failed on pi", "b failed on pi"]
    assert [message.attempts for message in post.outbox.due(post.now)] == [0]


def test_without_writable_storage_nothing_is_sent(post, recorder):
    post.end("a", Outcome.FAILED)
    post.store._db.execute("PRAGMA query_only = 1")
    with pytest.raises(Unavailable):
        post.round()
    assert recorder.requests == []


def test_refused_pings_are_reported_one_by_one_and_unreachable_hosts_once(installation, recorder):
    post = Post(installation, recorder, pings=True)
    for number in range(5):
        post.end(f"j{number}", Outcome.SUCCEEDED, NotifyTargets(ping=True))
    recorder.faults += [200, 404, 503]
    post.round()
    assert [each.path.partition("?")[0] for each in recorder.requests] == ["/0", "/1", "/2"]
    assert [(message.job, message.last_error) for message in post.outbox.waiting()] == [
        ("j1", "the service answered 404"),
        *((f"j{number}", "the service answered 503") for number in (2, 3, 4)),
    ]
    post.rounds(timedelta(minutes=3))
    assert post.outbox.waiting() == []
    post.store.close()
