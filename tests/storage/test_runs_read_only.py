"""Reading a history without changing it, and its totals."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.storage.history import Store
from pi_appliance.storage.model import Outcome, Trigger

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def add_run(store: Store, job: str, outcome: Outcome, seconds: int, late: int | None = None) -> None:
    """Add a run of `seconds` that started `late` seconds after its slot, if it has one."""
    due = None if late is None else (NOON - timedelta(seconds=late)).strftime("%Y-%m-%dT%H:%M:%SZ")
    run, _ = store.start_run(job=job, kind="command", trigger=Trigger.DAEMON, due=due, now=NOON)
    store.finish_run(
        run, outcome, "", now=NOON + timedelta(seconds=seconds), attempts=int(outcome is not Outcome.SKIPPED)
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "history.db"
    with Store(path) as store:
        add_run(store, "a", Outcome.SUCCEEDED, 10, late=2)
        add_run(store, "a", Outcome.SUCCEEDED, 20, late=3)
        add_run(store, "a", Outcome.SKIPPED, 0, late=60)
        add_run(store, "b", Outcome.FAILED, 5)
    return path


def test_reading_creates_and_changes_no_file(path: Path) -> None:
    before, there = path.read_bytes(), sorted(each.name for each in path.parent.iterdir())
    with Store(path, read_only=True) as store:
        assert len(store.history()) == 4
        assert store.check() == ""
        assert sorted(each.name for each in path.parent.iterdir()) == there
    assert path.read_bytes() == before
    with pytest.raises(Unavailable):
        Store(path.with_name("missing.db"), read_only=True)
    assert sorted(each.name for each in path.parent.iterdir()) == there


def test_a_reader_cannot_write(path: Path) -> None:
    with Store(path, read_only=True) as store, pytest.raises(Unavailable):
        add_run(store, "x", Outcome.SUCCEEDED, 1)


def test_uncommitted_changes_do_not_block_a_reader(path: Path) -> None:
    with Store(path) as writer:
        add_run(writer, "c", Outcome.SUCCEEDED, 1)
        with Store(path, read_only=True) as store:
            assert store.history(limit=1)[0].job == "c"


def test_an_older_or_newer_history_is_left_as_it_is(path: Path, tmp_path: Path) -> None:
    with Store(path) as store:
        store._db.execute("PRAGMA user_version = 1")
    with pytest.raises(ApplianceError, match="written by an older pi-appliance"):
        Store(path, read_only=True)
    with Store(tmp_path / "new.db") as store:
        store._db.execute("PRAGMA user_version = 99")
    with pytest.raises(ApplianceError, match="newer"):
        Store(tmp_path / "new.db", read_only=True)


def test_damage_is_detected(path: Path) -> None:
    with Store(path) as store:
        for _ in range(200):
            add_run(store, "filler" * 20, Outcome.SUCCEEDED, 1)
    content = bytearray(path.read_bytes())
    content[4096 * 4 : 4096 * 6] = b"\x07" * 8192
    path.write_bytes(content)
    with Store(path, read_only=True) as store:
        try:
            assert store.check()
        except Unavailable as error:
            assert "damaged" in str(error)  # noqa: PT017 - SQLite raises either, depending on the damage


def test_totals_are_counted_by_job_and_outcome(path: Path) -> None:
    with Store(path) as store:
        result = {(each.job, each.outcome): each for each in store.totals()}
    assert {key: each.runs for key, each in result.items()} == {
        ("a", Outcome.SUCCEEDED): 2,
        ("a", Outcome.SKIPPED): 1,
        ("b", Outcome.FAILED): 1,
    }
    good = result["a", Outcome.SUCCEEDED]
    assert (good.seconds, good.delay_seconds) == (pytest.approx(30, abs=0.01), pytest.approx(5, abs=0.01))
    assert result["a", Outcome.SKIPPED].delay_seconds == result["b", Outcome.FAILED].delay_seconds == 0


def test_the_newest_run_of_each_outcome_is_returned(path: Path) -> None:
    with Store(path) as store:
        store.start_run(job="a", kind="command", trigger=Trigger.MANUAL, due=None, now=NOON)
        assert {(run.job, run.outcome): run.id for run in store.newest()} == {
            ("a", Outcome.SUCCEEDED): 2,
            ("a", Outcome.SKIPPED): 3,
            ("b", Outcome.FAILED): 4,
        }
