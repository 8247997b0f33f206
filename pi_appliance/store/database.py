"""One SQLite file: opened, brought up to date, written to in whole transactions. The only file that imports sqlite3.

Journal: WAL. What must be on the disk before something is done is written with synchronous=FULL, the rest with NORMAL.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from pi_appliance.errors import ApplianceError, Unavailable
from pi_appliance.store.migrations import STEPS

Values = Sequence[Any] | Mapping[str, Any]
Transaction = sqlite3.Connection
_PATIENCE = 10.0  # seconds that a writer waits for another
_LOOK = 0.02  # seconds between two tries where SQLite itself does not wait
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Damaged(Unavailable):
    """The file is no database any more; `store.salvage` puts it aside and saves what can be read."""


class Database:
    """One open file. Cheap to open; every process has its own."""

    def __init__(self, path: Path, *, only_look: bool = False) -> None:
        """Open the file PATH, making or upgrading it. Raises Damaged; Unavailable if it cannot be used.

        ONLY_LOOK: as it is. Nothing is made, upgraded or written, and nothing can be.
        """
        self.path = path
        with self._errors():
            # Autocommit, so that every transaction begins where the code says so.
            self._db = sqlite3.connect(
                _to_look_at(path) if only_look else path,
                uri=only_look,
                timeout=_PATIENCE,
                isolation_level=None,
                check_same_thread=False,
            )
            self._db.row_factory = sqlite3.Row
            try:
                if only_look:
                    self._refuse_another_version()
                    return
                self._use_wal()
                self._db.execute("PRAGMA synchronous = NORMAL")
                self._upgrade()
            except BaseException:
                self._db.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def version(self) -> int:
        """Return a number that changes when this or another process has written. Costs a few microseconds, no disk."""
        return int(self.rows("PRAGMA data_version", ())[0][0]) + self._db.total_changes

    def check(self) -> str:
        """Return what SQLite finds wrong with the whole file; '' if nothing. Reads all of it."""
        found = str(self.rows("PRAGMA quick_check(1)", ())[0][0])
        return "" if found == "ok" else found

    def rows(self, query: str, values: Values) -> list[sqlite3.Row]:
        """Return what QUERY finds. Raises Damaged; Unavailable."""
        with self._errors():
            try:
                return self._db.execute(query, values).fetchall()
            except (OverflowError, UnicodeEncodeError):  # a number or a name that no row can bear
                return []

    @contextlib.contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Transaction]:
        """One transaction, whole or not at all. Raises Damaged; Unavailable, as when the disk is full."""
        with self._errors():
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    def _use_wal(self) -> None:
        """Switch the journal over. Of several that make the file at once SQLite turns some away without waiting."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                    raise
                time.sleep(_LOOK)
            else:
                return

    def _upgrade(self) -> None:
        if self._step() < len(STEPS):
            self._db.execute("BEGIN IMMEDIATE")  # two that start at once: the second finds the work done
            for number, step in enumerate(STEPS[self._step() :], start=self._step() + 1):
                for statement in filter(str.strip, step.split(";")):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {number}")
            self._db.execute("COMMIT")
        if self._step() > len(STEPS):
            raise ApplianceError(f"{self.path} was written by a newer pi-appliance; install that version again")

    def _refuse_another_version(self) -> None:
        if self._step() < len(STEPS):
            raise Unavailable(
                f"{self.path} is of an older version; the next start of the appliance brings it up to date"
            )
        self._upgrade()

    def _step(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in _DAMAGE:
                raise Damaged(f"{self.path} is damaged: {error}") from None
            hint = "check its rights and the free space"
            raise Unavailable(f"{self.path} cannot be used: {error}; {hint}") from None


def _to_look_at(path: Path) -> str:
    """Return the address by which SQLite reads PATH and makes no file beside it.

    Where there is no journal, nobody has the file open: read as one that does not change, it needs no locks, and so
    can be looked at on a disk that takes no writes either.
    """
    journal = os.access(path.with_name(f"{path.name}-wal"), os.F_OK)
    return f"{path.absolute().as_uri()}?mode=ro{'' if journal else '&immutable=1'}"


def text(when: datetime) -> str:
    """Return WHEN as it stands in the file: UTC, to the millisecond, so that texts sort as instants do."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant(stored: str) -> datetime:
    """Return the instant that TEXT wrote."""
    return datetime.fromisoformat(stored)
