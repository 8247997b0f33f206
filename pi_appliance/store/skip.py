"""A skip by chance, written down in one transaction: what Store.begin and Store.end do in two, for engine/shortcut.py.

Without the data classes of the other files here, for loading those takes longer than all the rest of a skip.
"""

import fcntl
import os
import sqlite3

from pi_appliance.store.migrations import STEPS

_PATIENCE = 10.0  # seconds that a writer waits for another
_DOUBTS = """
    SELECT EXISTS (SELECT 1 FROM claims WHERE key = :key)
        OR EXISTS (SELECT 1 FROM pauses WHERE job = :job)
        OR EXISTS (SELECT 1 FROM skips WHERE job = :job)
        OR EXISTS (SELECT 1 FROM runs WHERE job = :job AND ended IS NULL)
        OR EXISTS (SELECT 1 FROM outbox WHERE sent IS NULL)
        OR EXISTS (SELECT 1 FROM posts WHERE job = :job AND state IN ('waiting', 'sending'))
        OR EXISTS (SELECT 1 FROM (SELECT started FROM runs ORDER BY id LIMIT 1 OFFSET :few) WHERE started < :old)
        OR EXISTS (SELECT 1 FROM runs WHERE job = :job ORDER BY id DESC LIMIT 1 OFFSET :runs + :few)
        OR NOT EXISTS (
            SELECT 1 FROM watched WHERE job = :job AND schedule = :schedule AND until >= :before AND until < :slot
        )
"""
_RECORDS = (
    "INSERT INTO runs (job, kind, trigger, due, started, ended, outcome, summary)"
    " VALUES (:job, :kind, 'cron', :due, :now, :now, 'skipped', :summary)",
    "INSERT INTO claims (key, run, at) VALUES (:key, last_insert_rowid(), :now)",
    "UPDATE watched SET until = :slot WHERE job = :job",
    "INSERT INTO totals (job, outcome, runs, seconds, late) VALUES (:job, 'skipped', 1, 0, 0)"
    " ON CONFLICT DO UPDATE SET runs = runs + 1",
)
_FEW = 24  # rows beyond what the owner keeps, before a run has to come the long way and prune


def record(path: str, values: dict[str, str | int]) -> bool:
    """Write into the database PATH that a slot was skipped by chance, durably. False if it is not as it should be.

    VALUES: job, kind, summary; due, the slot's name; as the file has instants: slot, before (the slot before it),
    now, old (older rows go); schedule as it is watched; runs, how many of the job are kept. Where a person paused the
    job, its slot was used, a run goes on or was cut off, a slot before was missed, a post is left, rows are to be
    pruned, or SQLite has anything to object, nothing is written.
    """
    values = {**values, "key": f"slot {values['job']} {values['due']}", "few": _FEW}
    guard = os.open(path.removesuffix("db") + "lock", os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(guard, fcntl.LOCK_SH | fcntl.LOCK_NB)  # as in store/database.py: not while the file is mended
        return _record(path, values)
    except BlockingIOError:
        return False
    finally:
        os.close(guard)


def _record(path: str, values: dict[str, str | int]) -> bool:
    try:
        db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    except sqlite3.Error:
        return False
    try:
        if db.execute("PRAGMA user_version").fetchone()[0] != len(STEPS):
            return False
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")
        if db.execute(_DOUBTS, values).fetchone()[0]:
            return False
        for statement in _RECORDS:
            db.execute(statement, values)
        db.execute("COMMIT")
    except sqlite3.Error:
        return False
    finally:
        db.close()  # which takes back what was not committed
    return True
