"""The short way of a skip: the same rows as the long way writes, and never anything but a skip."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from pi_appliance.core import chance, cron
from pi_appliance.engine import coming, runner, shortcut
from pi_appliance.engine.assemble import Appliance
from pi_appliance.model.post import Post
from pi_appliance.model.run import Outcome, Trigger
from pi_appliance.store.posts import Posts
from pi_appliance.system import locks
from tests.house import House

START = datetime.fromisoformat("2026-03-28T11:58:30Z")  # the night after it, clocks in Europe are put forward
JOB = "bot:\n  kind: command\n  runs-by: cron\n  schedule: {}\n  chance: {}\n  time-zone: {}\n  with: {{run: ['true']}}"
KEEP = "history: {age: 36500d}"  # these slots are long past for the runs that go the long way


@pytest.fixture
def appliance(house: House) -> Iterator[Appliance]:
    """Return an appliance whose slots all go to chance, which has told of one slot and foreseen the next."""
    house.write(JOB.format("'*/15 * * * *'", "1/1000000", "Europe/London"), KEEP)
    with Appliance.open(house.config) as opened:
        long_way(opened, slots(opened, 1)[0])
        yield opened


def slots(appliance: Appliance, count: int) -> list[datetime]:
    """Return the first slots of the job."""
    job = appliance.job("bot")
    assert job.schedule is not None
    return list(islice(cron.slots(job.schedule, START, appliance.config.zone_of(job)), count))


def long_way(appliance: Appliance, slot: datetime) -> None:
    runner.run(appliance, "bot", Trigger.CRON, due=cron.due_name(slot), random=Random(1))
    coming.foresee(appliance, "bot", slot)


def short_way(appliance: Appliance, slot: datetime, late: float = 1.7) -> bool:
    words = ["jobs", "run", "bot", "--by", "cron", "--config", str(appliance.config.path)]
    return shortcut.skipped(words, slot.timestamp() + late)


def tables(appliance: Appliance) -> dict[str, list[tuple[object, ...]]]:
    """Return what the database holds, but for the moments at which it was written."""
    with closing(sqlite3.connect(appliance.config.state / "history.db")) as db:
        return {
            query: db.execute(query).fetchall()
            for query in (
                "SELECT id, job, kind, trigger, due, since, slots, outcome, summary, facts, attempts FROM runs",
                "SELECT key, run FROM claims",
                "SELECT * FROM watched",
                "SELECT job, outcome, runs FROM totals",
                "SELECT * FROM failing",
                "SELECT job, run, notice, event FROM outbox",
            )
        }


@pytest.mark.parametrize(
    ("schedule", "zone", "odds", "seed"),
    [
        ("'*/15 * * * *'", "Europe/London", "1/9", 1),
        ("['00:00', '06:00', '12:00', '18:00']", "Europe/London", "1/9", 2),
        ("'30 */2 * * 1-5'", "America/New_York", "0.125", 3),
        ("['30 1 * * *', '10 * * * 0']", "Europe/London", "1/1000000", 4),
    ],
)
def test_both_ways_write_the_same(schedule: str, zone: str, odds: str, seed: int, tmp_path: Path) -> None:
    random, taken = Random(seed), 0
    houses = House(tmp_path / "short"), House(tmp_path / "long")
    for each in houses:
        each.state.mkdir(parents=True)
        (each.state / "secret.key").write_bytes(bytes([seed]) * 32)
        each.write(JOB.format(schedule, odds, zone), KEEP)
    with Appliance.open(houses[0].config) as one, Appliance.open(houses[1].config) as other:
        job = one.job("bot")
        for slot in slots(one, 24):
            if random.random() < 0.15:
                continue  # cron was off
            for _ in range(1 if random.random() < 0.9 else 2):  # cron starts it twice, where the clock was put back
                picked = chance.picks(job.chance, secret=one.secret, job="bot", due=cron.due_name(slot))
                short = short_way(one, slot, late=random.uniform(0, 299))
                assert not (short and picked)
                taken += short
                if not short:
                    long_way(one, slot)
                long_way(other, slot)
                assert tables(one) == tables(other)
    assert taken >= 8


def test_the_moment_is_written_as_the_long_way_writes_it(appliance: Appliance) -> None:
    slot = slots(appliance, 2)[1]
    assert short_way(appliance, slot, late=12.0349)
    run = appliance.store.history(limit=1)[0]
    assert run.started == run.ended == slot + timedelta(seconds=12, milliseconds=34)


def _paused(appliance: Appliance) -> None:
    appliance.store.slots.pause("bot", since=START, until=None)


def _changed_file(appliance: Appliance) -> None:
    with appliance.config.path.open("a") as file:
        file.write("# a word more\n")


def _other_secret(appliance: Appliance) -> None:
    path = appliance.config.state / "secret.key"
    path.unlink()
    path.write_bytes(b"s" * 32)


def _cut_off(appliance: Appliance) -> None:
    appliance.store.begin(job="bot", kind="command", trigger=Trigger.HAND, due=None, now=START)


def _used(appliance: Appliance) -> None:
    due = cron.due_name(slots(appliance, 2)[1])
    run, _ = appliance.store.begin(job="bot", kind="command", trigger=Trigger.HAND, due=due, now=START)
    appliance.store.end(run, Outcome.SUCCEEDED, "", now=START)


def _newer(appliance: Appliance) -> None:
    with closing(sqlite3.connect(appliance.config.state / "history.db")) as db:
        db.execute("PRAGMA user_version = 99")


def _to_be_told(appliance: Appliance) -> None:
    with appliance.store.writing() as db:
        db.execute(
            "INSERT INTO outbox (job, run, notice, event, made, title, body, next)"
            " VALUES ('bot', 1, 'me', 'failure', '', '', '', '')"
        )


def _post_left(appliance: Appliance) -> None:
    Posts(appliance.store).of_job("bot", 1, lambda: START).intend("slot", {"net": [Post("hello")]}, until=START)


def _too_many(appliance: Appliance) -> None:
    with appliance.store.writing() as db:
        insert = "INSERT INTO runs (job, kind, trigger, started, ended) VALUES ('bot', '', '', '2026', '2026')"
        db.executemany(insert, [()] * 1024)


def _too_old(appliance: Appliance) -> None:
    with appliance.store.writing() as db:
        insert = "INSERT INTO runs (job, kind, trigger, started, ended) VALUES ('other', '', '', '1900', '1900')"
        db.executemany(insert, [()] * 30)


def _damaged(appliance: Appliance) -> None:
    appliance.close()
    (appliance.config.state / "history.db").write_bytes(b"not a database at all" * 500)


def _nothing_foreseen(appliance: Appliance) -> None:
    shutil.rmtree(appliance.config.state / "coming")


def _cut_short(appliance: Appliance) -> None:
    os.truncate(appliance.config.state / "coming" / "bot", 300)


@pytest.mark.parametrize(
    "doubt",
    [
        *(
            _paused,
            _changed_file,
            _other_secret,
            _cut_off,
            _used,
            _newer,
            _to_be_told,
            _post_left,
            _too_many,
            _too_old,
            _damaged,
        ),
        *(_nothing_foreseen, _cut_short),
    ],
    ids=lambda doubt: doubt.__name__.strip("_"),
)
def test_what_is_in_doubt_comes_the_long_way(doubt: Callable[[Appliance], None], appliance: Appliance) -> None:
    doubt(appliance)
    before = _database(appliance)
    assert not short_way(appliance, slots(appliance, 2)[1])
    assert _database(appliance) == before


def _database(appliance: Appliance) -> list[bytes]:
    """Return what stands in the file and in its journal."""
    return [
        path.read_bytes() for path in sorted(appliance.config.state.glob("history.db*")) if path.suffix != ".db-shm"
    ]


def test_a_job_whose_lock_is_held_comes_the_long_way(appliance: Appliance) -> None:
    with locks.taken(appliance.lock_path("bot")):
        assert not short_way(appliance, slots(appliance, 2)[1])
    assert short_way(appliance, slots(appliance, 2)[1])


@pytest.mark.parametrize(
    ("number", "late"), [(0, 1), (1, -0.5), (1, 301), (2, 1), (600, 1)], ids=["used", "early", "late", "gap", "far"]
)
def test_only_the_next_slot_within_its_grace_takes_the_short_way(
    number: int, late: float, appliance: Appliance
) -> None:
    assert not short_way(appliance, slots(appliance, number + 1)[number], late)


def test_another_zone_of_the_machine_comes_the_long_way(appliance: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert not short_way(appliance, slots(appliance, 2)[1])


@pytest.mark.parametrize("words", ["--due {slot}", "--as-scheduled", "--json"])
def test_whatever_else_is_asked_comes_the_long_way(words: str, appliance: Appliance) -> None:
    slot = slots(appliance, 2)[1]
    asked = ["jobs", "run", "bot", "--by", "cron", "--config", str(appliance.config.path), *words.split()]
    assert not shortcut.skipped(asked, slot.timestamp() + 1)
    for other in (["jobs", "run", "../coming/bot", *asked[3:7]], [*asked[:4], "hand", *asked[5:7]], asked[:5], []):
        assert not shortcut.skipped(other, slot.timestamp() + 1)


@pytest.mark.parametrize("more", ["", "\n  only-if: {online: true}", "\n  runs-by: daemon"])
def test_nothing_is_foreseen_where_a_skip_could_be_something_else(more: str, house: House) -> None:
    job = JOB.format("'*/15 * * * *'", "1/1000000", "Europe/London") + more
    if not more:
        job = job.replace("chance: 1/1000000", "deadline: 1m")
    house.write(job.replace("  runs-by: cron\n", "") if "daemon" in more else job, KEEP)
    with Appliance.open(house.config) as appliance:
        coming.foresee(appliance, "bot", START)
    assert not (house.state / "coming").exists()


def test_the_file_is_for_its_owner_alone_and_written_once(appliance: Appliance) -> None:
    path = appliance.config.state / "coming" / "bot"
    before = path.stat()
    assert before.st_mode & 0o777 == 0o600
    coming.foresee(appliance, "bot", START + timedelta(days=5))
    assert path.stat().st_ino == before.st_ino
    coming.foresee(appliance, "bot", START + timedelta(days=8))
    assert path.stat().st_ino != before.st_ino
