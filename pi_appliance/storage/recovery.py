"""A damaged history: put aside as it is, and what can be read of it saved into a new file that takes its place.

Claims come first, for they keep a post from going out twice. Where some of them cannot be read, no slot of before is
used any more. At any moment the process may be killed: either the damaged file still stands there, or a whole new one
lies beside it (`draft_of`), and the next who opens it goes on from there.
"""

import contextlib
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_appliance.errors import ApplianceError
from pi_appliance.posting.store import intent_of
from pi_appliance.storage.database import Database, Transaction, instant, replacement_path
from pi_appliance.storage.rows import parse_run, parse_total
from pi_appliance.storage.run_requests import parse_checkpoint, parse_request
from pi_appliance.storage.runs import Store
from pi_appliance.storage.slots import block_unknown_slots, bump_run_id, insert_claims, slot_key
from pi_appliance.system import clock, files, locks

if TYPE_CHECKING:
    from pi_appliance.storage.runs import Store


_KEYED = {"claims": "key", "watched": "job", "pauses": "job", "totals": "job, outcome", "failing": "job"}
_KEYED |= {"pictures": "post, number", "lines": "job, line", "spent": "network, month"}
_KEYED |= {"held": "job", "words": "job", "skips": "job", "opinions": "uri", "notes": "name"}
_NUMBERED = ("runs", "outbox", "posts", "asks")
_LARGEST = 2**40  # no run ever has a higher number; a damaged page may say anything
_MOST_BREAKS = 5_000  # unreadable places in a table, after which the rest of it is given up
_SKIPPED = 1_000  # numbers that are left out where some runs were lost: one of them may still go on
_UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError)  # the latter where SQLite quotes what it cannot read
_Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """What became of a damaged file: where it was put, how many runs and claims were saved, whether claims were lost.

    `aside` is None where a mending that was cut off was brought to its end.
    """

    aside: Path | None
    runs: int = 0
    claims: int = 0
    sealed: bool = False


def repair(path: Path, *, now: datetime, boot: str, known: Mapping[str, int]) -> RecoveryResult:
    """Replace the damaged file PATH. For who holds the lock of the database alone.

    NOW and BOOT, the name of this start of the machine: what may have run until then is not run again where claims are
    lost. KNOWN: claims, with the run that took them, that are known from elsewhere. Raises Unavailable or OSError; then
    all is as it was.
    """
    if replacement_path(path).exists():
        _put_in_place(path)
        return RecoveryResult(None)
    aside = _put_aside(path, now)
    draft = path.with_name(f"{path.name}.mending")
    try:
        _remove(draft)
        with Database(draft) as fresh:
            saved = _save(aside, fresh, max(now, _written(path)), boot, known)
        _make_durable(draft)
        draft.rename(replacement_path(path))
    except BaseException:
        _remove(draft)
        _remove(aside)
        raise
    _tidy(aside)
    _put_in_place(path)
    return saved


def _put_aside(path: Path, now: datetime) -> Path:
    """Give the damaged file and its journal a second name. It takes no room: the disk may be full."""
    stamp = f"{path.name}.damaged-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    names = (path.with_name(stamp + (f"-{number}" if number else "")) for number in range(1000))
    aside = next(name for name in names if not name.exists())
    for end in ("", "-wal"):
        source, target = Path(f"{path}{end}"), Path(f"{aside}{end}")
        if source.exists():
            try:
                target.hardlink_to(source)
            except OSError:  # a file system without second names
                shutil.copyfile(source, target)
    return aside


def _put_in_place(path: Path) -> None:
    """Let the draft take the place of PATH. Its journal goes first, for it would be taken for the draft's."""
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    _sync(path.parent)
    replacement_path(path).rename(path)
    _sync(path.parent)


def _make_durable(draft: Path) -> None:
    """Flush the closed DRAFT to the disk, all of it in one file."""
    draft.with_suffix(".lock").unlink(missing_ok=True)
    number = os.open(draft, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _remove(path: Path) -> None:
    """Take the database PATH away, with what lies beside it."""
    for name in (str(path), f"{path}-wal", f"{path}-shm", str(path.with_suffix(".lock"))):
        Path(name).unlink(missing_ok=True)


def _tidy(aside: Path) -> None:
    """Take away what only reading has laid beside ASIDE."""
    Path(f"{aside}-shm").unlink(missing_ok=True)
    journal = Path(f"{aside}-wal")
    if journal.exists() and not journal.stat().st_size:
        journal.unlink()


def _written(path: Path) -> datetime:
    """Return when the file or its journal was written last: the clock of now may be behind that."""
    times = [Path(f"{path}{end}").stat().st_mtime for end in ("", "-wal") if Path(f"{path}{end}").exists()]
    return datetime.fromtimestamp(max(times), UTC)


def _save(aside: Path, fresh: Database, until: datetime, boot: str, known: Mapping[str, int]) -> RecoveryResult:
    """Copy what can be read of ASIDE into FRESH, one transaction a table."""
    whole = True
    with contextlib.closing(_opened(aside)) as old:
        for table, key in _KEYED.items():
            found = _Reading(old)
            with fresh.writing() as db:
                _copy(found.keyed(table, key), table, db)
            if table == "claims":
                whole = found.whole and _sound(old, table)
        for table in _NUMBERED:
            found = _Reading(old)
            with fresh.writing() as db:
                _copy(found.numbered(table), table, db)
        highest = _highest(old)
    with fresh.writing(durable=True) as db:
        _drop_nonsense(db)
        runs, claims = _number(db, "SELECT count(*) FROM runs"), _number(db, "SELECT count(*) FROM claims")
        insert_claims(db, known, at=until)
        newest = _SKIPPED + max(
            highest, _number(db, "SELECT max(id) FROM runs"), _number(db, "SELECT max(run) FROM claims")
        )
        bump_run_id(db, newest)
        if not whole:
            block_unknown_slots(db, at=max([until, *_instants(db)]), boot=boot, newest=newest)
        return RecoveryResult(aside, runs, claims, not whole)


def _opened(aside: Path) -> sqlite3.Connection:
    """Open the damaged file to read it; nothing in it is changed."""
    old = sqlite3.connect(f"{aside.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    old.row_factory = sqlite3.Row
    old.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return old


class _Reading:
    """Reads a table of a damaged file, and remembers whether it could all be read."""

    def __init__(self, old: sqlite3.Connection) -> None:
        self._old = old
        self.whole = True

    def keyed(self, table: str, key: str) -> Iterator[_Row]:
        """Yield the rows of TABLE from its beginning and, where that breaks off, from its end."""
        for order in (key, ", ".join(f"{part} DESC" for part in key.split(", "))):
            try:
                for row in self._old.execute(f"SELECT * FROM {table} ORDER BY {order}"):  # noqa: S608 - ours alone
                    yield dict(row)
            except _UNREADABLE:
                self.whole = False
            else:
                return

    def numbered(self, table: str) -> Iterator[_Row]:
        """Yield the rows of TABLE, range by range around what cannot be read."""
        spans, breaks = [(0, _LARGEST)], 0
        while spans and breaks < _MOST_BREAKS:
            low, high = spans.pop()
            try:
                query = f"SELECT * FROM {table} WHERE id BETWEEN ? AND ? ORDER BY id"  # noqa: S608 - ours alone
                for row in self._old.execute(query, (low, high)):
                    yield dict(row)
                    low = row["id"] + 1
            except _UNREADABLE:
                breaks, self.whole = breaks + 1, False
                if low < high:
                    middle = (low + high) // 2
                    spans += [(middle + 1, high), (low, middle)]


def _copy(rows: Iterator[_Row], table: str, db: Transaction) -> None:
    for row in rows:
        names, places = ", ".join(row), ", ".join("?" * len(row))
        # A value that no such column can hold is not worth more than none.
        with contextlib.suppress(sqlite3.IntegrityError, OverflowError):
            db.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({places})", tuple(row.values()))  # noqa: S608


def _drop_nonsense(db: Transaction) -> None:
    """Take out the rows that could be read and make no sense: nobody is to stumble over them later."""
    checks: dict[str, Callable[[Any], object]] = {
        "runs": parse_run,
        "totals": parse_total,
        "watched": lambda row: (instant(row["since"]), instant(row["until"])),
        "pauses": lambda row: (instant(row["since"]), row["until"] and instant(row["until"])),
        "outbox": lambda row: (instant(row["made"]), instant(row["next"])),
        "posts": intent_of,
        "asks": parse_request,
        "held": parse_checkpoint,
    }
    for table, check in checks.items():
        key = _KEYED.get(table, "id")
        for row in db.execute(f"SELECT * FROM {table}").fetchall():  # noqa: S608 - ours alone
            try:
                check(row)
            except ApplianceError:
                where = " AND ".join(f"{name} = ?" for name in key.split(", "))
                db.execute(f"DELETE FROM {table} WHERE {where}", [row[name] for name in key.split(", ")])  # noqa: S608


def _sound(old: sqlite3.Connection, table: str) -> bool:
    """Say whether SQLite finds nothing wrong with TABLE."""
    try:
        return bool(old.execute(f"PRAGMA integrity_check({table})").fetchone()[0] == "ok")
    except _UNREADABLE:
        return False


def _highest(old: sqlite3.Connection) -> int:
    """Return the highest number that a run was given, as far as that can be known."""
    with contextlib.suppress(*_UNREADABLE, TypeError):
        found = old.execute("SELECT seq FROM sqlite_sequence WHERE name = 'runs'").fetchone()
        return int(found[0]) if found and 0 <= int(found[0]) < _LARGEST else 0
    return 0


def _instants(db: Transaction) -> list[datetime]:
    """Return the latest instants that the saved rows tell of."""
    found = db.execute("SELECT (SELECT max(started) FROM runs), (SELECT max(until) FROM watched)").fetchone()
    return [instant(each) for each in found if each]


def _number(db: Transaction, query: str) -> int:
    return int(db.execute(query).fetchone()[0] or 0)


log = logging.getLogger("pi_appliance.history")


def open_history(state: Path) -> Store:
    """Open the history in the folder STATE. Tells the owner where it was damaged. Raises Unavailable."""
    began = _began(state)
    store = Store(state / "history.db", mend=partial(_mend, state))
    newest = max((run for _, run, _ in began), default=0)
    if newest > store.max_run_id():
        now = clock.now()
        store.seal(at=now, boot=clock.boot_id(), newest=newest, known=_claims(began))
        log.warning(
            "%s knows nothing of run %s, which began: it was lost or put back; no slot of before %s is run again",
            *(store.path, newest, f"{now:%Y-%m-%d %H:%M:%S} UTC"),
        )
    return store


def _began(state: Path) -> list[tuple[str, int, str | None]]:
    """Return what each lock remembers of the last run that held it: job, number, slot."""
    found = ((path.stem, locks.read_claim(path)) for path in (state / "locks").glob("*.lock"))
    return [(job, *known) for job, known in found if known]


def _claims(began: list[tuple[str, int, str | None]]) -> dict[str, int]:
    return {slot_key(job, due): run for job, run, due in began if due}


def _mend(state: Path, path: Path, wrong: str) -> None:
    saved = repair(path, now=clock.now(), boot=clock.boot_id(), known=_claims(_began(state)))
    if saved.aside is None:
        log.warning("%s: the new file is in its place now", wrong)
        return
    lost = "; some claims could not be read, so no slot of before now is run again" if saved.sealed else ""
    log.warning(
        "%s; put aside as %s, saved %s runs and %s claims in a new one%s",
        *(" ".join(wrong.split()), saved.aside.name, saved.runs, saved.claims, lost),
    )


class LazyStore:
    """The history in the folder STATE, opened when it is first asked for: most short visits never do."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._store: Store | None = None

    def open(self) -> "Store":
        """Return it. Raises Unavailable."""
        if self._store is None:
            self._store = open_history(files.make_directory(self._state, mode=0o750))
        return self._store

    def close(self) -> None:
        """Let go of it."""
        if self._store is not None:
            self._store.close()
            self._store = None
