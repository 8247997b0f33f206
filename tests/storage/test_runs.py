"""The history on a real disk: claims, concurrent writers, and power cuts."""

import hashlib
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pi_appliance.config.options import Retention
from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.storage import database
from pi_appliance.storage.history import Store
from pi_appliance.storage.model import Outcome, Trigger
from tests.installation import ROOT

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def begin(store: Store, due: str | None = None, job: str = "a") -> tuple[int, int | None]:
    return store.start_run(job=job, kind="command", trigger=Trigger.CRON, due=due, now=NOW)


def test_a_slot_belongs_to_the_first_run_that_claims_it(path):
    with Store(path) as store:
        first, _ = begin(store, "s")
        assert begin(store, "s")[1] == first
        assert begin(store, "s", job="b")[1] is None


def test_a_claim_outlives_its_process(path):
    with Store(path) as store:
        first, _ = begin(store, "s")
    with Store(path) as store:
        assert begin(store, "s")[1] == first


def test_a_run_ends_once(path):
    with Store(path) as store:
        run, _ = begin(store)
        store.finish_run(run, Outcome.SUCCEEDED, "well", now=NOW, attempts=1, details={"left": 3})
        store.finish_run(run, Outcome.FAILED, "too late", now=NOW)
        ended = store.find_run(run)
    assert ended is not None
    assert (ended.outcome, ended.summary, ended.details) == (Outcome.SUCCEEDED, "well", {"left": 3})


def test_only_the_unfinished_runs_of_a_job_are_abandoned(path):
    with Store(path) as store:
        done, _ = begin(store)
        store.finish_run(done, Outcome.SUCCEEDED, "", now=NOW)
        cut_off, other = begin(store)[0], begin(store, job="b")[0]
        store.abandon_runs("a", now=NOW)
        outcomes = {run.id: run.outcome for run in store.history()}
    assert outcomes == {done: Outcome.SUCCEEDED, cut_off: Outcome.ABANDONED, other: None}


def test_concurrent_writers_lose_nothing_and_share_no_slot(path):
    code = (
        "import sys\n"
        "from datetime import UTC, datetime\n"
        "from pathlib import Path\n"
        "from pi_appliance.storage.model import Trigger\n"
        "from pi_appliance.storage.history import Store\n"
        "with Store(Path(sys.argv[1])) as store:\n"
        "    for n in range(25):\n"
        "        store.start_run(job='a', kind='k', trigger=Trigger.CRON, due=str(n), now=datetime.now(UTC))\n"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], env={"PYTHONPATH": str(ROOT)}) for _ in range(4)
    ]
    assert [worker.wait(60) for worker in workers] == [0] * 4
    with Store(path) as store:
        assert len(store.history(limit=1000)) == 100
        assert sum(store.is_claimed(f"slot a {n}") for n in range(25)) == 25


def test_concurrent_creators_all_get_the_file(tmp_path):
    many = 8
    start = threading.Barrier(many)

    def open_at_once(path: Path) -> int:
        start.wait(20)
        with Store(path) as store:
            return len(store.history())

    with ThreadPoolExecutor(many) as pool:
        for round_ in range(20):
            path = tmp_path / f"{round_}.db"
            assert list(pool.map(open_at_once, [path] * many)) == [0] * many


def test_every_writer_is_noticed(path):
    with Store(path) as reader, Store(path) as writer:
        for each in (writer, reader):
            before = reader.version()
            assert reader.version() == before
            begin(each)
            assert reader.version() != before


def test_a_file_of_a_newer_version_is_not_touched(path):
    with Store(path) as store:
        store._db.execute("PRAGMA user_version = 99")
    with pytest.raises(ApplianceError, match="newer pi-appliance"):
        Store(path)


def test_a_changed_schema_has_a_new_version():
    fingerprint = hashlib.sha256(" ".join(database.SCHEMA.split()).encode()).hexdigest()[:16]
    assert (database.SCHEMA_VERSION, fingerprint) == (7, "4f43d3971742a46a"), (
        "increase SCHEMA_VERSION, then update this test"
    )


def test_a_file_that_is_not_a_database_is_reported_as_damaged(path):
    path.write_bytes(b"x" * 5000)
    with pytest.raises(Unavailable, match="is damaged"):
        Store(path)


def test_history_pages_from_the_newest_back(path):
    with Store(path) as store:
        numbers = [begin(store)[0] for _ in range(5)]
        assert [run.id for run in store.history(limit=2)] == numbers[:-3:-1]
        assert [run.id for run in store.history(limit=2, before=numbers[3])] == [numbers[2], numbers[1]]


def test_a_clock_years_ahead_frees_no_used_slot(tmp_path):
    with Store(tmp_path / "history.db") as store:
        for due, now in (("2026-05-01T12:00:00Z", NOW), ("2036-05-01T12:00:00Z", NOW.replace(year=2036))):
            run, _ = store.start_run(job="post", kind="tweet", trigger=Trigger.DAEMON, due=due, now=now)
            store.finish_run(run, Outcome.SUCCEEDED, "posted", now=now)
        assert store.prune("post", Retention(), now=NOW.replace(year=2036)) == [("post", 1)]
        assert store.slots.claimed_slots("post", NOW.replace(year=2025), NOW.replace(year=2027)) == {
            "2026-05-01T12:00:00Z"
        }
