"""Replace a damaged database by the newest daily backup, and prevent that anything is done twice.

The damaged file is kept under another name. Runs since the backup are unknown, so no slot up to now
is used again. The process may be killed at any moment. Then either the damaged file is still in its
place, or a complete replacement is beside it (`replacement_path`). The next process that opens the
database continues from there.
"""

import contextlib
import logging
import os
import shutil
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pi_appliance.errors import ApplianceError
from pi_appliance.storage.daily_backups import list_backups
from pi_appliance.storage.database import (
    Database,
    Transaction,
    format_instant,
    parse_instant,
    replacement_path,
)
from pi_appliance.storage.history import block_unknown_slots, claims_of_locks, insert_claims
from pi_appliance.system import clock, files

log = logging.getLogger("pi_appliance.history")
_MAX_RUN_ID = 2**40  # larger ids are damage: a damaged page may hold any number
_SKIPPED_IDS = 100_000  # run ids that are left out after a restore: more than one per second for a day


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """The damaged file, and the backup that replaced it.

    `damaged` is None if an interrupted replacement was completed.
    """

    damaged: Path | None
    backup: Path | None = None


def replace_damaged(
    path: Path, *, now: datetime, boot: str, known: Mapping[str, int], keeps_posts: bool = False
) -> RecoveryResult:
    """Replace the database `path`, which is damaged or old. The caller holds its exclusive lock.

    Args:
        path: the database.
        now: the current time.
        boot: the name of this boot. Slots until `now` and of this boot are not used again.
        known: claims known from the locks, with the ids of their runs.
        keeps_posts: whether `path` is intact, so that its posts are kept.

    Raises:
        Unavailable: the replacement cannot be written. Nothing has changed then. So with `OSError`.
    """
    if replacement_path(path).exists():
        _put_in_place(path)
        return RecoveryResult(None)
    damaged = _set_aside(path, now)
    draft = path.with_name(f"{path.name}.repairing")
    try:
        source = _copy_backup(path.parent, draft)
        with Database(draft) as database:
            _block_slots(database, damaged, until=max(now, _modified_at(path)), boot=boot, known=known)
            if keeps_posts:
                _keep_posts(database, damaged)
        _make_durable(draft)
        draft.rename(replacement_path(path))
    except BaseException:
        delete_database(draft)
        delete_database(damaged)
        raise
    _put_in_place(path)
    return RecoveryResult(damaged, source)


def _set_aside(path: Path, now: datetime) -> Path:
    """Give the damaged file and its journal a second name, which needs no space on a full disk."""
    stamp = f"{path.name}.damaged-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    names = (path.with_name(stamp + (f"-{number}" if number else "")) for number in range(1000))
    damaged = next(name for name in names if not name.exists())
    for suffix in ("", "-wal"):
        source, target = Path(f"{path}{suffix}"), Path(f"{damaged}{suffix}")
        if source.exists() and (not suffix or source.stat().st_size):
            try:
                target.hardlink_to(source)
            except OSError:  # the file system has no hard links
                shutil.copyfile(source, target)
    return damaged


def _copy_backup(state_dir: Path, draft: Path) -> Path | None:
    """Copy the newest intact backup to `draft` and return the backup; None without one."""
    for source in list_backups(state_dir):
        delete_database(draft)
        with contextlib.suppress(ApplianceError, OSError):
            shutil.copyfile(source, draft)
            with Database(draft) as database:
                if not database.check():
                    return source
    delete_database(draft)
    return None


def _block_slots(database: Database, damaged: Path, *, until: datetime, boot: str, known: Mapping[str, int]) -> None:
    """Prevent that the restored `database` repeats anything that was done since the backup."""
    with database.writing(durable=True) as db:
        last_id = max(
            _read_last_id(damaged), *known.values(), *(int(db.execute(query).fetchone()[0] or 0) for query in _LAST_IDS)
        )
        until = max([until, *_latest_instants(db)])
        insert_claims(db, known, at=until)
        block_unknown_slots(db, at=until, boot=boot, newest=last_id + _SKIPPED_IDS)
        # A waiting post may have been sent since the backup, so the account is searched first.
        db.execute("UPDATE posts SET state = 'sending' WHERE state = 'waiting'")
        db.execute("DELETE FROM job_checkpoints")
        db.execute("DELETE FROM run_signals")
        db.execute("DELETE FROM run_requests WHERE run_at <= ?", (format_instant(until),))


def _keep_posts(database: Database, previous: Path) -> None:
    """Add the posts, used lines and spending of `previous`, so that nothing is posted again."""
    with contextlib.closing(sqlite3.connect(f"{previous.absolute().as_uri()}?mode=ro", uri=True)) as old:
        old.row_factory = sqlite3.Row
        with database.writing(durable=True) as db:
            for row in old.execute("SELECT * FROM posts ORDER BY id"):
                _replace_post(db, dict(row), old)
            for row in old.execute("SELECT * FROM used_lines"):
                _insert(db, "INSERT OR REPLACE", "used_lines", dict(row))
            for row in old.execute("SELECT * FROM network_spend"):
                db.execute(
                    "INSERT INTO network_spend VALUES (?, ?, ?) ON CONFLICT DO UPDATE"
                    " SET microdollars = max(microdollars, excluded.microdollars)",
                    tuple(row),
                )


def _replace_post(db: Transaction, post: dict[str, object], old: sqlite3.Connection) -> None:
    number, key = post["id"], tuple(post[name] for name in ("job", "slot", "network", "part"))
    where = "job = ? AND slot = ? AND network = ? AND part = ?"
    db.execute(f"DELETE FROM post_images WHERE post IN (SELECT id FROM posts WHERE {where})", key)  # noqa: S608 - ours
    db.execute(f"DELETE FROM posts WHERE {where}", key)  # noqa: S608
    if db.execute("SELECT 1 FROM posts WHERE id = ?", (number,)).fetchone():
        post["id"] = None  # the number belongs to another post now
    new = _insert(db, "INSERT", "posts", post)
    for row in old.execute("SELECT * FROM post_images WHERE post = ?", (number,)):
        _insert(db, "INSERT", "post_images", {**dict(row), "post": new})


def _insert(db: Transaction, verb: str, table: str, row: Mapping[str, object]) -> int | None:
    names = ", ".join(f":{name}" for name in row)
    return db.execute(f"{verb} INTO {table} ({', '.join(row)}) VALUES ({names})", row).lastrowid


_LAST_IDS = (
    "SELECT max(id) FROM runs",
    "SELECT max(run) FROM claims",
    "SELECT max(seq) FROM sqlite_sequence WHERE name = 'runs'",
)


def _latest_instants(db: Transaction) -> list[datetime]:
    row = db.execute(
        "SELECT (SELECT max(started) FROM runs), (SELECT max(accounted_until) FROM schedule_cursors)"
    ).fetchone()
    return [parse_instant(each) for each in row if each]


def _read_last_id(damaged: Path) -> int:
    """Return the highest run id in the damaged file, or 0 if the file cannot be read."""
    with contextlib.suppress(sqlite3.DatabaseError, UnicodeDecodeError, TypeError, ValueError):
        uri = f"{damaged.absolute().as_uri()}?mode=ro&immutable=1"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as old:
            row = old.execute("SELECT seq FROM sqlite_sequence WHERE name = 'runs'").fetchone()
            return int(row[0]) if row and 0 <= int(row[0]) < _MAX_RUN_ID else 0
    return 0


def _modified_at(path: Path) -> datetime:
    """Return when the file or its journal was changed last, by a clock that may have been ahead."""
    times = [Path(f"{path}{end}").stat().st_mtime for end in ("", "-wal") if Path(f"{path}{end}").exists()]
    return datetime.fromtimestamp(max(times, default=0), UTC)


def _put_in_place(path: Path) -> None:
    """Rename the replacement to `path`, without the old journal, which SQLite would apply."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    files.sync_directory(path.parent)
    replacement_path(path).rename(path)
    files.sync_directory(path.parent)


def _make_durable(draft: Path) -> None:
    draft.with_suffix(".lock").unlink(missing_ok=True)
    number = os.open(draft, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def delete_database(path: Path) -> None:
    """Delete the database `path` and its journal, lock and shared memory."""
    for name in (str(path), f"{path}-wal", f"{path}-shm", str(path.with_suffix(".lock"))):
        Path(name).unlink(missing_ok=True)


def replace_and_warn(state: Path, path: Path, damage: str) -> None:
    """Replace the damaged database `path` in the folder `state`, and write the result to the log.

    Raises Unavailable.
    """
    known = claims_of_locks(state)
    result = replace_damaged(path, now=clock.now(), boot=clock.boot_id(), known=known)
    if result.damaged is None:
        log.warning("%s: the interrupted replacement is complete", damage)
        return
    backup_note = f"the backup {result.backup.name} was restored" if result.backup else "there was no backup to restore"
    log.warning(
        "%s; set aside as %s; %s; no earlier slot is run again",
        *(" ".join(damage.split()), result.damaged.name, backup_note),
    )
