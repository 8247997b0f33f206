"""Run requests start one run each; checkpoints and signals survive damage."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pi_appliance.storage import daily_backups
from pi_appliance.storage.history import UNKNOWN_RUN, Store, open_history
from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.system import files

NOW = datetime(2027, 3, 1, 22, 0, tzinfo=UTC)
SOON = NOW + timedelta(minutes=30)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "history.db") as new_store:
        yield new_store


def begin(store: Store, due: str, job: str = "wake") -> tuple[int, int | None]:
    return store.start_run(job=job, kind="music", trigger=Trigger.DAEMON, due=due, now=SOON)


def test_requests_are_in_the_order_of_their_times(store):
    late = store.requests.add("wake", SOON + timedelta(hours=1), {"volume": 20}, now=NOW)
    soon = store.requests.add("wake", SOON, {}, now=NOW)
    assert store.requests.find(late.id) == late
    assert late.arguments == {"volume": 20}
    assert [ask.id for ask in store.requests.pending("wake")] == [soon.id, late.id]
    assert store.requests.pending("other") == []


def test_a_request_for_now_is_immediate(store):
    assert store.requests.add("say", NOW, {}, now=NOW).immediate
    assert not store.requests.add("say", SOON, {}, now=NOW).immediate


def test_a_request_starts_one_run(store):
    ask = store.requests.add("wake", NOW, {}, now=NOW)
    first, used = begin(store, ask.slot_name)
    assert used is None
    assert begin(store, ask.slot_name)[1] == first
    assert store.requests.pending() == []
    assert begin(store, "request:99")[1] == UNKNOWN_RUN
    assert not store.requests.remove(ask.id)


def test_a_dropped_request_starts_no_run(store):
    ask = store.requests.add("wake", NOW, {}, now=NOW)
    assert store.requests.remove(ask.id)
    assert begin(store, ask.slot_name)[1] == UNKNOWN_RUN


def test_concurrent_readers_get_a_request_once(tmp_path):
    path = tmp_path / "history.db"
    with Store(path) as store:
        asks = [store.requests.add("wake", NOW, {}, now=NOW) for _ in range(20)]

    def take_all(_: int) -> int:
        with Store(path) as store:
            return sum(begin(store, ask.slot_name)[1] is None for ask in asks)

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(take_all, range(4))) == len(asks)


def test_a_checkpoint_exists_until_the_job_has_finished(store):
    assert store.requests.checkpoint("wake") is None
    store.requests.save_checkpoint("wake", "ringing", now=NOW)
    store.requests.save_checkpoint("wake", "snoozed", now=SOON)
    held = store.requests.checkpoint("wake")
    assert (held.text, held.saved_at) == ("snoozed", SOON)
    assert [each.job for each in store.requests.checkpoints()] == ["wake"]
    assert store.requests.delete_checkpoint("wake")
    assert not store.requests.delete_checkpoint("wake")
    assert store.requests.checkpoint("wake") is None


def test_a_signal_is_received_once_and_polling_writes_nothing(store):
    assert store.requests.take_signal("wake") == ""
    store.requests.send_signal("wake", "snooze")
    store.requests.send_signal("wake", "stop")
    assert store.requests.take_signal("other") == ""
    assert store.requests.take_signal("wake") == "stop"
    before = store.version()
    assert [store.requests.take_signal("wake") for _ in range(100)] == [""] * 100
    assert store.version() == before


def test_requests_of_a_removed_job_are_deleted(store):
    store.requests.add("gone", NOW, {}, now=NOW)
    store.requests.save_checkpoint("gone", "ringing", now=NOW)
    store.requests.send_signal("lost", "stop")
    store.requests.set_skipped_slot("wake", "2027-03-02T06:00:00Z")
    assert store.requests.prune(["wake"]) == ["gone", "lost"]
    assert store.requests.prune(["wake"]) == []
    assert (store.requests.pending(), store.requests.checkpoints(), store.requests.take_signal("lost")) == ([], [], "")
    assert store.requests.skipped_slot("wake") == "2027-03-02T06:00:00Z"
    store.requests.set_skipped_slot("wake", None)
    assert store.requests.skipped_slot("wake") is None


def fill(state: Path) -> None:
    files.make_directory(state / "locks")
    with Store(state / "history.db") as store:
        store.requests.add("wake", SOON, {"volume": 20}, now=NOW)
        store.requests.save_checkpoint("wake", "ringing", now=NOW)
        store.requests.send_signal("wake", "snooze")
        store.requests.set_skipped_slot("wake", "2027-03-02T06:00:00Z")
        for number in range(200):
            run, _ = store.start_run(job="other", kind="command", trigger=Trigger.MANUAL, due=None, now=NOW)
            store.finish_run(run, Outcome.SUCCEEDED, f"{number} " * 20, now=NOW)
        store.rows("PRAGMA wal_checkpoint(TRUNCATE)", ())


def test_a_backup_keeps_future_requests_and_skipped_slots_only(tmp_path):
    fill(tmp_path)
    path = tmp_path / "history.db"
    with Store(path) as store:
        daily_backups.back_up_daily(store)
    path.write_bytes(b"nonsense" * 1000)
    with open_history(tmp_path) as store:
        assert [ask.arguments for ask in store.requests.pending()] == [{"volume": 20}]
        assert store.requests.checkpoints() == []
        assert store.requests.skipped_slot("wake") == "2027-03-02T06:00:00Z"
        assert store.requests.take_signal("wake") == ""


def test_invalid_rows_are_dropped_in_a_repair(tmp_path):
    fill(tmp_path)
    path = tmp_path / "history.db"
    raw = sqlite3.connect(path)
    raw.execute("UPDATE run_requests SET arguments = '[1]'")
    raw.execute("UPDATE job_checkpoints SET saved_at = 'never'")
    raw.commit()
    raw.close()
    with open_history(tmp_path) as store:
        assert store.requests.pending() == []
        assert store.requests.checkpoints() == []
        assert store.repair_count
