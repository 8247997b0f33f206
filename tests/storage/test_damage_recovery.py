"""A damaged history causes no traceback and no repeated slot, and is reported."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

from pi_appliance.errors import Refused
from pi_appliance.posting.model import Post, PostState, SentPost
from pi_appliance.posting.store import JobPostStore, PostDatabase
from pi_appliance.storage import daily_backups
from pi_appliance.storage.backup_archive import archive_chunks, restore_state
from pi_appliance.storage.history import UNKNOWN_RUN, Store, open_history
from pi_appliance.storage.model import Outcome, Picture, Trigger
from pi_appliance.system import files
from tests.installation import PROGRAM, Installation, in_memory, wait_until
from tests.test_daemon import running_daemon
from tests.warm_program import Process

PAGE = 4096
NOW = datetime.now(UTC).replace(microsecond=0)
SLOTS = [f"{NOW - timedelta(hours=hour):%Y-%m-%dT%H:00:00Z}" for hour in range(1, 100)]
JOBS = ["mark", "other", "third", "with-a-long-name"]
USED = [(job, slot) for slot in SLOTS for job in JOBS]


def job(installation: Installation, name: str, shell: str) -> str:
    """Return a job whose shell works in the folder of `installation`."""
    options = json.dumps({"run": ["sh", "-c", shell], "directory": str(installation.folder)})
    return f"{name}:\n  kind: command\n  schedule: '@hourly'\n  with: {options}"


@pytest.fixture
def state() -> Iterator[Path]:
    """Return a folder with a history of four jobs in one file."""
    with in_memory() as folder:
        fill(Path(folder))
        yield Path(folder)


def fill(state: Path) -> None:
    files.make_directory(state / "locks")
    with Store(state / "history.db") as store:
        for name, slot in USED:
            run, _ = begin(store, slot, name)
            store.finish_run(run, Outcome.SUCCEEDED, "it went well", now=NOW, attempts=1, details={"status": 0})
        store.slots.start_cursor("mark", "{}", since=NOW)
        store.slots.pause("other", since=NOW, until=None)
        desk = JobPostStore(store, "bird", 1, lambda: NOW)
        for slot in SLOTS:
            (record,) = desk.create_posts(
                slot, {"net": [Post("hello", (Picture(b"x" * 99, "image/png"),))]}, expires_at=NOW, line=slot
            )
            if slot != SLOTS[0]:
                desk.update_state(record, PostState.SENT, remote=SentPost(slot, "link"), cost=Decimal("0.015"))
        assert daily_backups.back_up_daily(store)


def begin(store: Store, slot: str, job: str = "mark") -> tuple[int, int | None]:
    return store.start_run(job=job, kind="command", trigger=Trigger.DAEMON, due=slot, now=NOW)


def aside(state: Path) -> list[str]:
    return sorted(path.name for path in state.glob("*.damaged-*"))


def read_all(store: Store) -> None:
    """Run every query of the history."""
    store.ensure_intact()
    store.history(limit=1000)
    store.latest_runs(), store.totals(), store.active_runs(), store.last_success("mark")
    (
        PostDatabase(store).newest_posts(limit=1000),
        PostDatabase(store).used_lines("bird"),
        PostDatabase(store).month_spend(NOW),
    )
    store.slots.cursors(), store.slots.pauses(), store.slots.find_runs("mark", SLOTS[-1], SLOTS[0])


def nothing_twice(state: Path) -> Store:
    """Check that no slot can be claimed again, and return the history."""
    store = open_history(state)
    read_all(store)
    free = [(name, slot) for name, slot in USED if begin(store, slot, name)[1] is None]
    assert not free, f"{len(free)} slots would run twice: {free[:3]}"
    return store


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda was: Random(1).randbytes(len(was)),
    "header of nought": lambda was: bytes(100) + was[100:],
    "first page of nought": lambda was: bytes(PAGE) + was[PAGE:],
    "empty": lambda _: b"",
    "one byte": lambda _: b"S",
    "text": lambda _: b"this is no database\n" * 1000,
    "last half of nought": lambda was: was[: len(was) // 2] + bytes(len(was) - len(was) // 2),
}


@pytest.mark.slow_variants
@pytest.mark.parametrize("how", SPOILT)
def test_a_file_that_is_no_longer_a_database(state, how):
    path = state / "history.db"
    (state / "locks" / "mark.lock").write_text(f'{{"run": {len(USED)}, "done": null, "note": ""}}', "ascii")
    path.write_bytes(SPOILT[how](path.read_bytes()))
    with nothing_twice(state) as store:
        fresh = f"{datetime.now(UTC) + timedelta(hours=2):%Y-%m-%dT%H:00:00Z}"
        assert begin(store, fresh)[1] is None, "life goes on"
        store.ensure_intact()


@pytest.mark.slow_variants
@pytest.mark.parametrize("part", range(12))
def test_a_truncated_file_is_repaired(state, part):
    path = state / "history.db"
    size = path.stat().st_size
    (state / "locks" / "mark.lock").write_text(f'{{"run": {len(USED)}, "done": null, "note": ""}}', "ascii")
    with path.open("r+b") as file:
        file.truncate(size * part // 12 + part * 7)
    nothing_twice(state).close()


@pytest.mark.parametrize("step", [15, pytest.param(1, marks=pytest.mark.slow)])
def test_a_flipped_byte_in_any_page_is_repaired(state, step):
    whole, random = (state / "history.db").read_bytes(), Random(2026)
    mended, pages = 0, range(0, len(whole) // PAGE, step)
    for page in pages:
        for place in (random.randrange(12), random.randrange(12, 200), random.randrange(200, PAGE)):
            spoilt = bytearray(whole)
            spoilt[page * PAGE + place] ^= random.randrange(1, 256)
            for path in state.glob("history.*"):
                path.unlink()
            (state / "history.db").write_bytes(spoilt)
            with nothing_twice(state) as store:
                assert len(store.history(limit=10_000)) > len(USED) // 2, "most of it is saved"
            mended += bool(aside(state))
    assert mended > len(pages) // 2, "most flips are noticed"


@pytest.mark.slow
def test_zeroed_pages_are_repaired(state):
    whole = (state / "history.db").read_bytes()
    for page in range(1, len(whole) // PAGE):
        for path in state.glob("history.*"):
            path.unlink()
        (state / "history.db").write_bytes(whole[: page * PAGE] + bytes(PAGE) + whole[(page + 1) * PAGE :])
        nothing_twice(state).close()


def test_the_newest_backup_is_restored_and_the_damaged_file_kept(state, caplog):
    path = state / "history.db"
    with Store(path) as store:
        begin(store, f"{NOW:%Y-%m-%dT%H:00:00Z}", "third")
    damaged_bytes = path.read_bytes()[:PAGE] + bytes(4 * PAGE)
    path.write_bytes(damaged_bytes)
    with open_history(state) as store:
        assert len(store.history(limit=1000)) == len(USED)
        assert (
            len(PostDatabase(store).newest_posts(limit=1000))
            == len(PostDatabase(store).used_lines("bird").current_round)
            == len(SLOTS)
        )
        assert begin(store, SLOTS[7])[1] == 4 * 7 + 1, "the claim is known"
        assert begin(store, f"{NOW:%Y-%m-%dT%H:00:00Z}", "third")[1] == UNKNOWN_RUN, "it ran after the backup"
        waiting = [post for post in PostDatabase(store).newest_posts(limit=1000) if post.state is PostState.WAITING]
        assert not waiting, "it may have been sent after the backup"
    damaged_file = aside(state)[0]
    assert (state / damaged_file).read_bytes() == damaged_bytes
    (line,) = [record.getMessage() for record in caplog.records]
    assert f"set aside as {damaged_file}; the backup {daily_backups.list_backups(state)[0].name} was restored" in line


def test_a_damaged_backup_is_not_used(state):
    newest = state / "backup" / "history-20990101T000000Z.db"
    newest.write_bytes(b"nonsense" * 1000)
    (state / "history.db").write_bytes(b"nonsense" * 1000)
    with nothing_twice(state) as store:
        assert len(store.history(limit=10_000)) >= len(USED)


def test_one_backup_a_day_is_made_and_seven_are_kept(state):
    with open_history(state) as store:
        assert daily_backups.back_up_daily(store) is None
        for day in range(1, 10):
            backup = daily_backups.back_up_daily(store, now=datetime.now(UTC) + timedelta(days=day))
            assert backup is not None
    assert len(daily_backups.list_backups(state)) == 7


def test_an_archive_is_restored_and_nothing_runs_again(state, tmp_path):
    (state / "secret.key").write_bytes(b"k" * 32)
    archive = tmp_path / "appliance.tar.gz"
    with open_history(state) as store:
        archive.write_bytes(b"".join(archive_chunks(state)))
        after, _ = begin(store, "2020-01-01T00:00:00Z")
    (state / "secret.key").write_bytes(b"other")
    restore_state(archive, state)
    assert (state / "secret.key").read_bytes() == b"k" * 32
    with nothing_twice(state) as store:
        assert begin(store, "2020-01-01T00:00:00Z")[1] == UNKNOWN_RUN
        fresh, used_by = begin(store, "2099-01-01T00:00:00Z")
        assert used_by is None
        assert fresh > after


def test_what_is_not_an_archive_is_refused(state, tmp_path):
    (tmp_path / "photo.jpg").write_bytes(b"no archive")
    with pytest.raises(Refused, match="is not a backup of pi-appliance"):
        restore_state(tmp_path / "photo.jpg", state)
    nothing_twice(state).close()


def test_without_claims_older_slots_are_not_used_and_later_ones_are(state):
    path = state / "history.db"
    with Store(path) as store:
        root = int(store.rows("SELECT rootpage FROM sqlite_master WHERE name = 'claims'", ())[0][0])
    spoilt = bytearray(path.read_bytes())
    spoilt[(root - 1) * PAGE : root * PAGE] = bytes(PAGE)
    path.write_bytes(spoilt)
    with open_history(state) as store:
        store.ensure_intact()
        assert begin(store, f"{NOW - timedelta(days=900):%Y-%m-%dT%H:00:00Z}")[1] == UNKNOWN_RUN
        assert begin(store, f"{NOW + timedelta(days=1):%Y-%m-%dT%H:00:00Z}")[1] is None
        assert begin(store, "after:3+7")[1] == UNKNOWN_RUN
        assert store.slots.cursors()["mark"].accounted_until >= NOW


def test_a_deleted_journal_is_detected_by_the_locks(installation):
    installation.write(job(installation, "mark", "echo once >> marks"))
    installation.run("jobs", "run", "mark", "--as-scheduled")
    slot = installation.latest_run("mark")["scheduled_for"]
    for path in installation.state.glob("history.db*"):
        path.unlink()
    again = installation.run("jobs", "run", "mark", "--slot", slot)
    assert (installation.folder / "marks").read_text("ascii") == "once\n"
    assert "was used by run 1" in installation.latest_run("mark")["summary"], "the lock remembers it"
    assert "does not know run 1, which was started" in again.stderr


def test_a_process_with_the_old_file_open_switches_to_the_new_one(state):
    path = state / "history.db"
    old = open_history(state)
    assert old.history()
    spoilt = path.read_bytes()
    path.write_bytes(spoilt[:PAGE] + bytes(len(spoilt) - PAGE))
    with open_history(state) as mender:
        mender.ensure_intact()
    run, _ = begin(old, "2099-01-01T00:00:00Z")
    assert old.repair_count == 1
    with open_history(state) as fresh:
        assert fresh.find_run(run) is not None, "written to the file that counts"
    old.close()


def test_concurrent_processes_repair_it_once(installation):
    installation.write(job(installation, "mark", "echo once >> marks"))
    installation.run("jobs", "run", "mark")
    (installation.state / "history.db").write_bytes(Random(3).randbytes(8 * PAGE))
    words = [*PROGRAM, "jobs", "list", "--config", str(installation.config)]
    lists = [
        Process(words, env=installation.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    output = [each.communicate(timeout=60)[1] for each in lists]
    assert [each.returncode for each in lists] == [0] * 6, output
    assert len([path for path in aside(installation.state) if not path.endswith("-wal")]) == 1
    assert sum("set aside" in each for each in output) == 1


@pytest.mark.parametrize("words", [("jobs", "list"), ("jobs", "history"), ("jobs", "history", "--slots")])
def test_a_command_reports_the_repair_and_continues(installation, words):
    installation.write(job(installation, "mark", "echo once >> marks"))
    installation.run("jobs", "run", "mark")
    spoilt = (installation.state / "history.db").read_bytes()
    (installation.state / "history.db").write_bytes(bytes(100) + spoilt[100:])
    done = installation.run(*words)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "is damaged" in done.stderr
    assert installation.run(*words).stderr == ""


def test_a_slot_does_not_run_again_after_the_history_was_damaged(installation):
    installation.write(job(installation, "mark", "echo once >> marks"))
    installation.run("jobs", "run", "mark", "--as-scheduled")
    slot = installation.latest_run("mark")["scheduled_for"]
    whole = (installation.state / "history.db").read_bytes()
    for spoil in SPOILT.values():
        (installation.state / "history.db").write_bytes(spoil(whole))
        assert installation.run("jobs", "run", "mark", "--slot", slot).returncode == 0
    assert (installation.folder / "marks").read_text("ascii") == "once\n"


def test_a_run_that_outlives_a_damage_is_recorded(installation):
    installation.write(job(installation, "slow", "touch begun; until test -e go; do sleep 0.05; done"))
    run = installation.start("jobs", "run", "slow")
    wait_until((installation.folder / "begun").exists)
    (installation.state / "history.db-wal").unlink()
    (installation.state / "history.db").write_bytes(b"nothing of a database" * 500)
    assert "set aside" in installation.run("jobs", "list").stderr
    (installation.folder / "go").touch()
    output, _ = run.communicate(timeout=30)
    assert "Traceback" not in output
    assert run.returncode == 0, output
    assert installation.latest_run("slow")["outcome"] == "succeeded"


@pytest.mark.parametrize("cut", ["history.db.repaired only", "both"])
def test_an_interrupted_repair_is_completed(state, cut):
    path = state / "history.db"
    path.rename(state / "history.db.repaired")
    if cut == "both":
        path.write_bytes(b"damaged" * 1000)
        path.with_name("history.db-wal").write_bytes(b"stale")
    with open_history(state) as store:
        assert len(store.history(limit=1000)) == len(USED)
    assert not (state / "history.db.repaired").exists()


@pytest.mark.slow
def test_a_repair_killed_at_any_moment_loses_nothing(state):
    path = state / "history.db"
    spoilt = path.read_bytes()[: -PAGE - 100]
    code = (  # killed by a timer, or at one of the calls that open, rename or remove files
        "import os, signal, sys; from pathlib import Path\n"
        "import pi_appliance.storage.damage_recovery\n"  # imported in time, because that opens files, too
        "from pi_appliance.storage.history import open_history\n"
        "calls = int(sys.argv[3])\n"
        "def count(event, args):\n"
        "    global calls\n"
        "    calls -= event in ('open', 'os.rename', 'os.remove', 'sqlite3.connect')\n"
        "    if calls == 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.addaudithook(count)\n"
        "signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))\n"
        "store = open_history(Path(sys.argv[1])); store.ensure_intact(); print('done', flush=True)"
    )
    random, cut_off = Random(5), 0
    for number in range(15):
        by_timer = number % 3 == 0
        for old in state.glob("history.*"):
            old.unlink()
        path.write_bytes(spoilt)
        mender = subprocess.run(
            [
                *(sys.executable, "-c", code, str(state)),
                *((str(random.uniform(0.001, 0.02)), "0") if by_timer else ("0", str(10 + number))),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=Path(__file__).parents[2],
            check=False,
        )
        cut_off += "done" not in mender.stdout and bool(aside(state))
        with nothing_twice(state) as store:
            assert len(store.history(limit=1000)) >= len(USED) * 2 // 3
    assert cut_off, "some were killed in the middle of it"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.faults) for seed in (1, 2))])
def test_a_daemon_survives_repeated_damage_and_repeats_nothing(installation, seed):
    lock = installation.state / "locks" / "mark.lock"
    shell = f"echo $(head -c 1024 '{lock}' | tr -d ' ' | grep -o 'due.*Z') >> marks"
    installation.write(job(installation, "mark", shell).replace("'@hourly'", "every 1s"), "web: {port: 0}")
    marks, random = installation.folder / "marks", Random(seed)
    with running_daemon(installation) as daemon:
        for _ in range(4):
            ran = len(marks.read_text("ascii").split()) if marks.exists() else 0
            wait_until(lambda before=ran: marks.exists() and len(marks.read_text("ascii").split()) > before, 30)
            with open_history(installation.state) as store:
                store.rows("PRAGMA wal_checkpoint(TRUNCATE)", ())  # or the journal would hide the damage
            with (installation.state / "history.db").open("r+b") as file:
                file.seek(random.choice((0, PAGE, 2 * PAGE)))
                file.write(random.randbytes(random.choice((20, PAGE, 4 * PAGE))))
        assert daemon.process.poll() is None
        assert "set aside as" in daemon.output
        assert "Traceback" not in daemon.output
    slots = marks.read_text("ascii").split()
    assert sorted(slots) == sorted(set(slots))
    assert installation.run("jobs", "history", "--slots").returncode == 0
    with open_history(installation.state) as store:
        store.ensure_intact()
