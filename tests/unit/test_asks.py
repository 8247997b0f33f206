"""What persons ask of jobs: each ask begins one run, and what is held or said outlives damage."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.storage.recovery import open_history
from pi_appliance.storage.runs import LOST, Store
from pi_appliance.system import files

NOW = datetime(2027, 3, 1, 22, 0, tzinfo=UTC)
SOON = NOW + timedelta(minutes=30)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "history.db") as made:
        yield made


def begin(store: Store, due: str, job: str = "wake") -> tuple[int, int | None]:
    return store.begin(job=job, kind="music", trigger=Trigger.DAEMON, due=due, now=SOON)


def test_an_ask_is_due_at_its_time(store):
    late = store.asks.add("wake", SOON + timedelta(hours=1), {"volume": 20}, now=NOW)
    soon = store.asks.add("wake", SOON, {}, now=NOW)
    assert store.asks.due(SOON - timedelta(seconds=1)) == []
    assert [ask.id for ask in store.asks.due(SOON)] == [soon.id]
    assert store.asks.one(late.id) == late
    assert late.arguments == {"volume": 20}
    assert [ask.id for ask in store.asks.all("wake")] == [soon.id, late.id]
    assert store.asks.all("other") == []


def test_what_is_to_begin_at_once_is_due_though_the_clock_is_put_back(store):
    ask = store.asks.add("say", NOW, {}, now=NOW)
    assert ask.at_once
    assert [each.id for each in store.asks.due(NOW - timedelta(days=900))] == [ask.id]


def test_an_ask_begins_one_run(store):
    ask = store.asks.add("wake", NOW, {}, now=NOW)
    first, used = begin(store, ask.name)
    assert used is None
    assert begin(store, ask.name)[1] == first
    assert store.asks.all() == []
    assert begin(store, "ask:99")[1] == LOST
    assert not store.asks.drop(ask.id)


def test_an_ask_that_was_dropped_begins_none(store):
    ask = store.asks.add("wake", NOW, {}, now=NOW)
    assert store.asks.drop(ask.id)
    assert begin(store, ask.name)[1] == LOST


def test_of_many_that_want_the_same_ask_at_once_one_gets_it(tmp_path):
    path = tmp_path / "history.db"
    with Store(path) as store:
        asks = [store.asks.add("wake", NOW, {}, now=NOW) for _ in range(20)]

    def take_all(_: int) -> int:
        with Store(path) as store:
            return sum(begin(store, ask.name)[1] is None for ask in asks)

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(take_all, range(4))) == len(asks)


def test_what_is_held_is_there_until_the_job_is_through(store):
    assert store.asks.held("wake") is None
    store.asks.hold("wake", "ringing", now=NOW)
    store.asks.hold("wake", "snoozed", now=SOON)
    held = store.asks.held("wake")
    assert (held.text, held.since) == ("snoozed", SOON)
    assert [each.job for each in store.asks.all_held()] == ["wake"]
    assert store.asks.let_go("wake")
    assert not store.asks.let_go("wake")
    assert store.asks.held("wake") is None


def test_a_word_is_heard_once_and_to_ask_for_one_writes_nothing(store):
    assert store.asks.hear("wake") == ""
    store.asks.say("wake", "snooze")
    store.asks.say("wake", "stop")
    assert store.asks.hear("other") == ""
    assert store.asks.hear("wake") == "stop"
    before = store.version()
    assert [store.asks.hear("wake") for _ in range(100)] == [""] * 100
    assert store.version() == before


def test_what_belongs_to_a_job_that_is_gone_goes(store):
    store.asks.add("gone", NOW, {}, now=NOW)
    store.asks.hold("gone", "ringing", now=NOW)
    store.asks.say("lost", "stop")
    store.asks.skip("wake", "2027-03-02T06:00:00Z")
    assert store.asks.prune(["wake"]) == ["gone", "lost"]
    assert store.asks.prune(["wake"]) == []
    assert (store.asks.all(), store.asks.all_held(), store.asks.hear("lost")) == ([], [], "")
    assert store.asks.skipped("wake") == "2027-03-02T06:00:00Z"
    store.asks.skip("wake", None)
    assert store.asks.skipped("wake") is None


def fill(state: Path) -> None:
    files.make_folder(state / "locks")
    with Store(state / "history.db") as store:
        store.asks.add("wake", SOON, {"volume": 20}, now=NOW)
        store.asks.hold("wake", "ringing", now=NOW)
        store.asks.say("wake", "snooze")
        store.asks.skip("wake", "2027-03-02T06:00:00Z")
        for number in range(200):
            run, _ = store.begin(job="other", kind="command", trigger=Trigger.HAND, due=None, now=NOW)
            store.end(run, Outcome.SUCCEEDED, f"{number} " * 20, now=NOW)
        store.rows("PRAGMA wal_checkpoint(TRUNCATE)", ())


def test_it_is_saved_out_of_a_damaged_file(tmp_path):
    fill(tmp_path)
    path = tmp_path / "history.db"
    with Store(path) as store:
        (root,) = store.rows("SELECT rootpage FROM sqlite_master WHERE name = 'totals'", ())[0]
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(bytes(4096))
    with open_history(tmp_path) as store:
        store.require_whole()
        assert store.mended
        assert [ask.arguments for ask in store.asks.all()] == [{"volume": 20}]
        assert [held.text for held in store.asks.all_held()] == ["ringing"]
        assert store.asks.skipped("wake") == "2027-03-02T06:00:00Z"
        assert store.asks.hear("wake") == "snooze"


def test_what_makes_no_sense_is_left_behind_when_the_file_is_mended(tmp_path):
    fill(tmp_path)
    path = tmp_path / "history.db"
    raw = sqlite3.connect(path)
    raw.execute("UPDATE asks SET arguments = '[1]'")
    raw.execute("UPDATE held SET since = 'never'")
    raw.commit()
    raw.close()
    with open_history(tmp_path) as store:
        assert store.asks.all() == []
        assert store.asks.all_held() == []
        assert store.mended
