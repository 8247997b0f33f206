"""The worker process: one at a time, killed at the worst moment, and started by the daemon when a message is due."""

import asyncio
import contextlib
import os
import select
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from pi_appliance.config.options import NotifyTargets
from pi_appliance.notify.delivery import OutboxDispatcher
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.model import Message, Outcome, Trigger
from pi_appliance.storage.notification_rules import Outbox
from tests.fakes.http_recorder import HttpRecorder, http_recorder
from tests.installation import Installation, wait_until


@pytest.fixture
def recorder() -> Iterator[HttpRecorder]:
    with http_recorder() as listening:
        yield listening


@pytest.fixture
def appliance(installation: Installation, recorder: HttpRecorder) -> Iterator[Appliance]:
    """Return an appliance with a job that has just started to fail."""
    installation.write(
        "a: {kind: command, with: {run: [x]}}",
        f"notifiers:\n  phone: {{kind: apprise, with: {{url: 'json://{recorder.address}?rto=60'}}}}",
    )
    with Appliance.open(installation.config) as opened:
        now = datetime.now(UTC)
        run, _ = opened.store.start_run(job="a", kind="command", trigger=Trigger.MANUAL, due=None, now=now)
        opened.store.finish_run(run, Outcome.FAILED, "no", now=now, targets=NotifyTargets(on_failure=["phone"]))
        yield opened


def start(installation: Installation) -> subprocess.Popen[str]:
    """Start the dispatcher as a run does at its end."""
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pi_appliance.notify.delivery",
            str(os.getpid()),
            str(installation.config),
            str(installation.state),
        ],
        env=installation.environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def as_if_a_minute_had_passed(installation: Installation) -> None:
    """Make attempted messages due again."""
    before = (datetime.now(UTC) - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    with contextlib.closing(sqlite3.connect(installation.state / "history.db")) as db:
        db.execute("UPDATE outbox SET next_attempt_at = ?", (before,))
        db.commit()


@pytest.mark.slow
def test_a_kill_between_sending_and_storing_sends_once_more_only(installation, appliance, recorder):
    recorder.faults.append("hold")
    with start(installation) as first:
        wait_until(lambda: recorder.requests)
        first.kill()
    recorder.released.set()
    (message,) = Outbox(appliance.store).waiting()
    assert (message.attempts, message.last_error) == (1, "it was cut off while it was sent")
    with start(installation) as second:
        assert second.wait(30) == 0
    assert len(recorder.requests) == 1, "not at once"
    for _ in range(3):
        as_if_a_minute_had_passed(installation)
        with start(installation) as again:
            assert again.wait(30) == 0
    assert [each.json["title"].split()[0] for each in recorder.requests] == ["a", "a"]
    assert all("Run 1," in each.json["message"] for each in recorder.requests), "so that a double is known"


@pytest.mark.slow
def test_concurrent_dispatchers_send_once(installation, appliance, recorder):
    dispatchers = [start(installation) for _ in range(4)]
    assert [each.communicate(timeout=60)[1] for each in dispatchers] == [""] * 4
    assert len(recorder.requests) == 1


def test_a_message_added_during_a_dispatch_is_sent(installation, appliance, recorder):
    recorder.faults.append("hold")
    with start(installation) as first:
        wait_until(lambda: recorder.requests)
        Outbox(appliance.store).put("phone", Message(title="meanwhile", body=""), now=datetime.now(UTC))
        with start(installation) as second:
            assert second.wait(30) == 0
        assert len(recorder.requests) == 1, "it was left to the first"
        recorder.released.set()
        assert first.wait(30) == 0
    assert recorder.titles[1:] == ["meanwhile"]


def test_it_ends_with_its_parent_process(installation, appliance, recorder):
    recorder.faults.append("hold")
    code = (
        "import os, subprocess, sys\n"
        "words = [sys.executable, '-m', 'pi_appliance.notify.delivery', str(os.getpid()), *sys.argv[1:]]\n"
        "dispatcher = subprocess.Popen(words, start_new_session=True)\n"
        "print(dispatcher.pid, flush=True)\n"
        "dispatcher.wait()\n"
    )
    words = [sys.executable, "-c", code, str(installation.config), str(installation.state)]
    with subprocess.Popen(words, env=installation.environment(), stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        dispatcher = os.pidfd_open(int(parent.stdout.readline()))
        wait_until(lambda: recorder.requests)
        parent.kill()
    assert wait_for_exit(dispatcher)


def wait_for_exit(process: int) -> bool:
    """Wait until the process behind the descriptor has ended."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    try:
        return bool(poll.poll(10_000))
    finally:
        os.close(process)


def test_unreadable_secrets_are_reported_where_the_message_waits(installation, appliance, recorder):
    secrets = installation.folder / "secrets.env"
    secrets.write_text("HOOK=hush", "ascii")
    secrets.chmod(0o644)
    with start(installation) as dispatcher:
        assert dispatcher.wait(30) == 0
    assert recorder.requests == []
    (message,) = Outbox(appliance.store).waiting()
    assert "can be read by others" in message.last_error


# --- in the daemon --------------------------------------------------------------------------------------------------


class Looking:
    """The dispatcher of a daemon, with its monotonic clock."""

    def __init__(self, appliance: Appliance) -> None:
        self.seconds = 0.0
        self.outbox = Outbox(appliance.store)
        config = appliance.config
        self.dispatcher = OutboxDispatcher(config.path, config.state_dir, self.outbox, monotonic=lambda: self.seconds)

    async def until_it_rests(self) -> None:
        """Dispatch once and wait until the started process has ended."""
        await self.dispatcher.check()
        while self.dispatcher._worker:
            await asyncio.wait([self.dispatcher._worker])


def test_the_daemon_sends_due_messages_and_waits_in_between(installation, appliance, recorder, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", installation.environment()["PYTHONPATH"])

    async def scenario() -> None:
        looking = Looking(appliance)
        await looking.until_it_rests()
        assert len(recorder.requests) == 1
        looking.outbox.put("phone", Message(title="again", body=""), now=datetime.now(UTC))
        await looking.until_it_rests()
        assert len(recorder.requests) == 1
        looking.seconds = 61
        await looking.until_it_rests()
        assert recorder.titles[1:] == ["again"]
        looking.seconds = 200
        await looking.dispatcher.check()
        assert looking.dispatcher._worker is None, "nothing is due, so nothing is started"

    asyncio.run(scenario())


def test_the_daemon_ends_the_dispatcher_when_it_stops(installation, appliance, recorder, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", installation.environment()["PYTHONPATH"])
    recorder.faults.append("hold")

    async def scenario() -> None:
        looking = Looking(appliance)
        await looking.dispatcher.check()
        while not recorder.requests:
            await asyncio.sleep(0.02)
        await asyncio.wait_for(looking.dispatcher.stop(), 10)
        assert [message.attempts for message in looking.outbox.waiting()] == [1]

    asyncio.run(scenario())


def test_a_failing_store_is_reported_once_and_does_not_end_the_daemon(appliance, caplog):
    async def scenario() -> None:
        looking = Looking(appliance)
        appliance.store._db.close()
        for looking.seconds in (0, 10, 70, 140):
            await looking.dispatcher.check()

    asyncio.run(scenario())
    (output,) = caplog.messages
    assert output.startswith("notifications are not sent: ")


def test_runs_and_the_daemon_do_not_import_the_senders(installation):
    code = (
        "import sys, pi_appliance.jobs.cli, pi_appliance.daemon\n"
        "print([name for name in ('apprise', 'httpx', 'urllib.request') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=installation.environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
