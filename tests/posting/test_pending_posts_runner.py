"""When the daemon starts a run for pending posts."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from pi_appliance.errors import Unavailable
from pi_appliance.posting.model import Post, PostState
from pi_appliance.posting.pending_posts_runner import PendingPostsRunner
from pi_appliance.posting.store import JobPostStore
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import RESUME, Trigger
from pi_appliance.system import clock
from tests.installation import Installation

BIRD = "bird:\n  kind: tweet\n  schedule: '@daily'\n  with: {lines: tweets.txt, network: net}"


class RecordedRuns:
    """Runs that are only recorded."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.busy: set[str] = set()
        self.trouble = ""

    async def start(self, job: str, trigger: Trigger, *, due: str | None = None) -> None:
        assert (trigger, due) == (Trigger.DAEMON, RESUME)
        if self.trouble:
            raise Unavailable(self.trouble)
        self.runs.append(job)

    def is_running(self, job: str) -> bool:
        return job in self.busy


class PendingPosts:
    """An appliance with one pending post, and a clock."""

    def __init__(self, appliance: Appliance) -> None:
        self.appliance, self.runs, self.now, self.seconds = appliance, RecordedRuns(), clock.now(), 0.0
        self.settling = PendingPostsRunner(
            lambda: appliance, self.runs, now=lambda: self.now, monotonic=lambda: self.seconds
        )
        store = JobPostStore(appliance.store, "bird", 1, lambda: self.now)
        (record,) = store.create_posts("slot", {"net": [Post("hello")]}, expires_at=self.now + timedelta(hours=6))
        self.wait = lambda time: store.update_state(record, PostState.WAITING, "away", delay=time)

    async def after(self, seconds: float) -> list[str]:
        self.seconds += seconds
        self.now += timedelta(seconds=seconds)
        self.runs.runs.clear()
        await self.settling.tick()
        return self.runs.runs


@pytest.fixture
def pending(installation: Installation) -> Iterator[PendingPosts]:
    installation.write(BIRD, "networks:\n  net: {kind: preview}")
    with Appliance.open(installation.config) as appliance:
        yield PendingPosts(appliance)


def settle(*steps):
    """Run `steps` in an event loop."""
    import asyncio  # noqa: PLC0415 - here alone

    async def through():
        return [await step for step in steps]

    return asyncio.run(through())


def test_a_run_starts_when_due_and_not_again_within_a_minute(pending):
    pending.wait(timedelta(minutes=5))
    assert settle(pending.after(60)) == [[]]
    assert settle(pending.after(241)) == [["bird"]]
    assert settle(pending.after(30)) == [[]]
    assert settle(pending.after(31)) == [["bird"]]


def test_nothing_starts_during_a_run_or_a_pause_of_the_job(pending):
    pending.runs.busy.add("bird")
    assert settle(pending.after(1)) == [[]]
    pending.runs.busy.clear()
    pending.appliance.pause("bird", now=pending.now)
    assert settle(pending.after(1)) == [[]]
    pending.appliance.resume("bird", now=pending.now)
    assert settle(pending.after(1)) == [["bird"]]


def test_a_post_postponed_under_a_clock_years_ahead_does_not_wait_for_years(pending):
    pending.now += timedelta(days=3000)
    pending.wait(timedelta(minutes=1))
    pending.now -= timedelta(days=3000)
    assert settle(pending.after(1)) == [["bird"]]


def test_a_failing_start_is_reported_once(pending, caplog):
    pending.runs.trouble = "out of memory"
    settle(pending.after(1))
    settle(pending.after(61))
    assert [record.getMessage() for record in caplog.records].count("pending posts cannot be sent: out of memory") == 1
