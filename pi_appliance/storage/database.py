"""The SQLite file: schema, transactions, and the replacement of a damaged file.

The journal mode is WAL. Durable transactions use synchronous=FULL, others NORMAL. Writers share a
lock (`history.lock`); a process that replaces the file holds it alone.
"""

import contextlib
import fcntl
import functools
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar

from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.system import files

SCHEMA_VERSION = 7
"""Increase it with every change of `SCHEMA`. A file of another version is refused, not migrated."""
SCHEMA = """
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job TEXT NOT NULL,
        kind TEXT NOT NULL,
        trigger TEXT NOT NULL,
        -- One row may account for several slots without a run, from `first_slot` to `scheduled_for`.
        scheduled_for TEXT,
        first_slot TEXT,
        slot_count INTEGER NOT NULL DEFAULT 1,
        started TEXT NOT NULL,
        ended TEXT,
        outcome TEXT,
        summary TEXT NOT NULL DEFAULT '',
        details TEXT NOT NULL DEFAULT '{}',
        attempts INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX runs_by_job ON runs (job, id);
    CREATE INDEX active_runs ON runs (job) WHERE ended IS NULL;
    CREATE TABLE claims (
        key TEXT PRIMARY KEY,
        run INTEGER NOT NULL,
        at TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- Since when a job has this schedule, and until when all its slots are accounted for.
    CREATE TABLE schedule_cursors (
        job TEXT PRIMARY KEY,
        schedule TEXT NOT NULL,
        since TEXT NOT NULL,
        accounted_until TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- `ended`: a person ended the pause, but its slots are not accounted for yet.
    CREATE TABLE job_pauses (
        job TEXT PRIMARY KEY,
        since TEXT NOT NULL,
        until TEXT,
        ended INTEGER NOT NULL DEFAULT 0
    ) STRICT, WITHOUT ROWID;
    -- For counters, which must not go down when history is pruned.
    CREATE TABLE run_totals (
        job TEXT NOT NULL,
        outcome TEXT NOT NULL,
        runs INTEGER NOT NULL,
        seconds REAL NOT NULL,
        delay_seconds REAL NOT NULL,
        PRIMARY KEY (job, outcome)
    ) STRICT, WITHOUT ROWID;
    -- Jobs that fail now, and the run since which they do.
    CREATE TABLE failing_jobs (
        job TEXT PRIMARY KEY,
        run_id INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job TEXT NOT NULL,
        run INTEGER NOT NULL,
        notifier TEXT NOT NULL,
        event TEXT NOT NULL,
        created_at TEXT NOT NULL,
        title TEXT NOT NULL,
        body TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        next_attempt_at TEXT NOT NULL,
        last_error TEXT NOT NULL DEFAULT '',
        sent_at TEXT
    ) STRICT;
    -- Posts for social networks, written before they are sent: one row per slot, network and part of a thread.
    CREATE TABLE posts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job TEXT NOT NULL,
        slot TEXT NOT NULL,
        network TEXT NOT NULL,
        part INTEGER NOT NULL,
        parts INTEGER NOT NULL,
        line TEXT NOT NULL,
        text TEXT NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL DEFAULT '',
        created_at TEXT NOT NULL,
        expires_at TEXT NOT NULL,
        next_attempt_at TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        remote_id TEXT,
        link TEXT NOT NULL DEFAULT '',
        sent_at TEXT,
        cost_microdollars INTEGER NOT NULL DEFAULT 0,
        run INTEGER NOT NULL,
        -- Id on the network of an older post: a search for this one starts there.
        since_id TEXT NOT NULL DEFAULT '',
        UNIQUE (job, slot, network, part)
    ) STRICT;
    CREATE INDEX posts_pending ON posts (job) WHERE state IN ('waiting', 'sending');
    -- Pictures of posts, deleted when the post is on its network, or not wanted.
    CREATE TABLE post_images (
        post INTEGER NOT NULL,
        number INTEGER NOT NULL,
        mime TEXT NOT NULL,
        alt TEXT NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (post, number)
    ) STRICT, WITHOUT ROWID;
    -- Lines that a job has used, in rounds: no line is used twice in a round.
    CREATE TABLE used_lines (
        job TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        round INTEGER NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY (job, fingerprint)
    ) STRICT, WITHOUT ROWID;
    -- Spending by calendar month, such as 2027-03.
    CREATE TABLE network_spend (
        network TEXT NOT NULL,
        month TEXT NOT NULL,
        microdollars INTEGER NOT NULL,
        PRIMARY KEY (network, month)
    ) STRICT, WITHOUT ROWID;
    -- Until when a network has asked for no more requests.
    CREATE TABLE network_waits (
        network TEXT PRIMARY KEY,
        until TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- The unfinished work of a job, such as a ringing alarm. Another run resumes it after an interruption.
    CREATE TABLE job_checkpoints (
        job TEXT PRIMARY KEY,
        state TEXT NOT NULL,
        saved_at TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- Runs requested by a person: when, and the options that override those under `with:`.
    CREATE TABLE run_requests (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        job TEXT NOT NULL,
        run_at TEXT NOT NULL,
        arguments TEXT NOT NULL,
        created_at TEXT NOT NULL
    ) STRICT;
    -- Signals to active runs, such as snooze.
    CREATE TABLE run_signals (
        job TEXT PRIMARY KEY,
        signal TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- The slot of a job that a person wants to skip.
    CREATE TABLE skipped_slots (
        job TEXT PRIMARY KEY,
        slot TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- Ratings of tracks, for players that cannot store them.
    CREATE TABLE track_ratings (
        uri TEXT PRIMARY KEY,
        rating INTEGER,
        favourite INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    -- Values that survive a restart, by name.
    CREATE TABLE key_value (
        name TEXT PRIMARY KEY,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
"""


Values = Sequence[Any] | Mapping[str, Any]
Transaction = sqlite3.Connection
P = ParamSpec("P")
R = TypeVar("R")
_BUSY_TIMEOUT = 10.0  # seconds that a writer waits for another
_POLL_INTERVAL = 0.02  # seconds between two attempts to get the lock, because SQLite does not wait for it
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_DAMAGE_MESSAGES = ("no such table", "no such column", "Could not decode")  # errors that an intact file never causes
_MIN_FREE = 64 * 1024  # bytes; below this, the disk counts as full


class DatabaseCorrupt(Unavailable):
    """The file is damaged; `storage.damage_recovery` replaces it by a backup."""


class SchemaMismatch(ApplianceError):
    """The file is intact, but another version of the program wrote it."""

    def __init__(self, path: Path, version: int) -> None:
        age = "a newer" if version > SCHEMA_VERSION else "an older"
        self.reason = (
            f"it was written by {age} pi-appliance (schema version {version}, but this program needs "
            f"{SCHEMA_VERSION}); install the program that wrote it"
        )
        super().__init__(f"{path} cannot be used: {self.reason}, or move the file away")


class Repairable(Protocol):
    """An object with a database that can be replaced if it is damaged."""

    def repair(self, error: DatabaseCorrupt) -> None:
        """Replace the damaged database. Raises `error` if it cannot be replaced."""


M = TypeVar("M", bound=Repairable)


def retry_after_repair(method: Callable[Concatenate[M, P], R]) -> Callable[Concatenate[M, P], R]:
    """Call `method` again after a damaged file was replaced."""

    @functools.wraps(method)
    def call(self: M, /, *words: P.args, **more: P.kwargs) -> R:
        try:
            return method(self, *words, **more)
        except DatabaseCorrupt as error:
            self.repair(error)
            return method(self, *words, **more)

    return call


def auto_repair(kind: type[M]) -> type[M]:
    """Apply `retry_after_repair` to all public methods of the class `kind`."""
    for name, method in list(vars(kind).items()):
        if callable(method) and not name.startswith("_") and name != "repair":
            setattr(kind, name, retry_after_repair(method))
    return kind


class Database:
    """An open database. Each process opens the file itself."""

    def __init__(
        self, path: Path, *, read_only: bool = False, replace_file: Callable[[Path, str], None] | None = None
    ) -> None:
        """Open the file `path`, and create or upgrade it.

        Args:
            path: the file.
            read_only: open it read-only, as it is.
            replace_file: replaces a damaged file; called with the path and the error.

        Raises:
            DatabaseCorrupt: the file is damaged, and there is no `replace_file`.
            Unavailable: the file cannot be used.
        """
        self.path, self._name, self._replace_file = path, str(path), replace_file
        self.repair_count = 0
        """How often the open file was replaced."""
        self._inode = -1  # inode of the open file
        self._opened_inode = -1  # inode of the file that was last tried
        self._lock_fd = -1
        if read_only:
            self._open_read_only()
            return
        with self._errors():
            self._lock_fd = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._open()
        except BaseException:
            os.close(self._lock_fd)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def repair(self, error: DatabaseCorrupt) -> None:
        """Replace the damaged file, unless another process has done so.

        Raises `error` if that fails.
        """
        if self._replace_file is None:
            raise error
        self._inode = -1
        self._db.close()
        with self._errors(), self._hold_lock(fcntl.LOCK_EX):
            if self._opened_inode == self._current_inode() or replacement_path(self.path).exists():
                self._replace_file(self.path, str(error))
            self._connect()
        self.repair_count += 1

    def version(self) -> int:
        """Return a number that changes with each write of any process. It takes microseconds."""
        return int(self.rows("PRAGMA data_version", ())[0][0]) + self._db.total_changes

    def check(self) -> str:
        """Return the errors that SQLite finds in the file, or ''. It reads the whole file."""
        result = str(self.rows("PRAGMA quick_check(1)", ())[0][0])
        return "" if result == "ok" else result

    def ensure_intact(self) -> None:
        """Check the whole file and replace it if it is damaged."""
        try:
            damage = self.check()
        except DatabaseCorrupt as error:
            damage = str(error)
        if damage:
            self.repair(DatabaseCorrupt(f"{self.path} is damaged: {damage}"))

    @retry_after_repair
    def rows(self, query: str, values: Values) -> list[sqlite3.Row]:
        """Return the rows of `query`. Raises `DatabaseCorrupt` or `Unavailable`."""
        with self._errors():
            if self._lock_fd >= 0 and self._inode != self._current_inode():
                with self._hold_lock(fcntl.LOCK_SH):
                    self._follow()
            try:
                return self._db.execute(query, values).fetchall()
            except (OverflowError, UnicodeEncodeError):  # the value cannot be stored by SQLite
                return []

    @contextlib.contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Transaction]:
        """Open a write transaction. Raises DatabaseCorrupt or, if the disk is full, Unavailable."""
        if self._lock_fd < 0:
            raise Unavailable(f"{self.path} is open read-only")
        with self._errors(), self._hold_lock(fcntl.LOCK_SH):
            self._follow()
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    def _open_read_only(self) -> None:
        with self._errors():
            self._db = sqlite3.connect(
                _read_only_uri(self.path),
                uri=True,
                timeout=_BUSY_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
            )
            self._db.row_factory = sqlite3.Row
            try:
                self._require_version()
            except BaseException:
                self._db.close()
                raise

    @retry_after_repair
    def _open(self) -> None:
        with self._errors(), self._hold_lock(fcntl.LOCK_SH):
            if self._inode < 0:  # the repair may have opened the file
                self._connect()

    def _follow(self) -> None:
        if self._inode != self._current_inode():
            self._db.close()
            self._connect()
            self.repair_count += 1

    def _connect(self) -> None:
        """Open the file at the path.

        The caller holds the lock, so that no process replaces the file.
        """
        self._inode = -1
        # In autocommit mode, a transaction begins only where this code begins it.
        self._db = sqlite3.connect(self.path, timeout=_BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        self._opened_inode = self._current_inode()
        try:
            if replacement_path(self.path).exists():
                raise DatabaseCorrupt(f"{self.path} is damaged: its repair was interrupted")
            self._use_wal()
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._create_tables()
            self._require_version()
        except BaseException:
            self._db.close()
            raise
        self._inode = self._opened_inode

    def _current_inode(self) -> int:
        try:
            return os.stat(self._name).st_ino  # noqa: PTH116 - asked before every query
        except FileNotFoundError:
            return 0

    @contextlib.contextmanager
    def _hold_lock(self, mode: int) -> Iterator[None]:
        fcntl.flock(self._lock_fd, mode)
        try:
            yield
        finally:
            fcntl.flock(self._lock_fd, fcntl.LOCK_UN)

    def _use_wal(self) -> None:
        """Set the journal mode. SQLite does not wait if several processes create the file."""
        until = time.monotonic() + _BUSY_TIMEOUT
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                    raise
                time.sleep(_POLL_INTERVAL)
            else:
                return

    def _create_tables(self) -> None:
        if self._schema_version():
            return
        self._db.execute("BEGIN IMMEDIATE")
        if not self._schema_version():  # another process may have created the tables meanwhile
            for statement in filter(str.strip, SCHEMA.split(";")):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        self._db.execute("COMMIT")

    def _require_version(self) -> None:
        version = self._schema_version()
        if version != SCHEMA_VERSION:
            raise SchemaMismatch(self.path, version)

    def _schema_version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF
            if code in _DAMAGE_CODES or str(error).startswith(_DAMAGE_MESSAGES):
                raise DatabaseCorrupt(f"{self.path} is damaged: {error}") from None
            raise Unavailable(f"{self.path} cannot be used: {error}; {_disk_advice(self.path.parent)}") from None
        except UnicodeDecodeError:  # a text in a table or in a message of SQLite is not valid
            raise DatabaseCorrupt(f"{self.path} is damaged: it contains a text that is not UTF-8") from None
        except OSError as error:
            reason = error.strerror or str(error)
            raise Unavailable(f"{self.path} cannot be used: {reason}; {_disk_advice(self.path.parent)}") from None


def replacement_path(path: Path) -> Path:
    """Return the path of the complete file that is about to replace the damaged `path`."""
    return path.with_name(f"{path.name}.repaired")


def _disk_advice(folder: Path) -> str:
    with contextlib.suppress(OSError):
        disk = os.statvfs(folder)
        if disk.f_flag & os.ST_RDONLY:
            return f"{folder} is read-only: mount it so that it can be written, and check whether the card is worn out"
        if disk.f_bavail * disk.f_frsize < _MIN_FREE:
            return f"{folder} is full: make room there"
        if not os.access(folder, os.W_OK):
            return files.access_advice(folder)
    return "check its rights and the free space"


def _read_only_uri(path: Path) -> str:
    """Return the URI by which SQLite reads `path` without creating files beside it.

    Without a journal, no process has the file open. Then it is opened as immutable, without locks.
    """
    journal = os.access(path.with_name(f"{path.name}-wal"), os.F_OK)
    return f"{path.absolute().as_uri()}?mode=ro{'' if journal else '&immutable=1'}"


def format_instant(when: datetime) -> str:
    """Return `when` as text in UTC, to the millisecond. These texts sort in the order of time."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_instant(stored: str) -> datetime:
    """Return the instant that `text` stored. Raises `DatabaseCorrupt`."""
    try:
        when = datetime.fromisoformat(stored)
        if when.tzinfo is None:
            raise ValueError
    except (ValueError, TypeError):
        raise DatabaseCorrupt(f"the history is damaged: {str(stored)[:40]!r} is not a time") from None
    return when


class Repository:
    """Base class for access to some of the tables. The methods raise `Unavailable`.

    If a method finds the file damaged, the file is replaced and the method is called again.
    """

    def __init__(self, store: Database) -> None:
        self._db = store

    def __init_subclass__(cls) -> None:
        auto_repair(cls)

    def repair(self, error: DatabaseCorrupt) -> None:
        """Replace the damaged database. Raises `error` if it cannot be replaced."""
        self._db.repair(error)


class KeyValueStore(Repository):
    """The stored texts, each under a name."""

    def get(self, name: str) -> str | None:
        """Return the value of `name`, or None."""
        rows = self._db.rows("SELECT value FROM key_value WHERE name = ?", (name,))
        return str(rows[0]["value"]) if rows else None

    def put(self, name: str, text: str) -> None:
        """Set the value of `name`."""
        with self._db.writing() as db:
            db.execute("INSERT OR REPLACE INTO key_value (name, value) VALUES (?, ?)", (name, text))

    def delete(self, name: str) -> None:
        """Delete the value of `name`. Nothing is written if there is none."""
        if self.get(name) is not None:
            with self._db.writing() as db:
                db.execute("DELETE FROM key_value WHERE name = ?", (name,))
