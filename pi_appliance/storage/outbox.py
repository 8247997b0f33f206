"""Notifications that wait to be sent. A run adds them in the transaction that ends it.

A job that starts to fail is reported once, and once more when it succeeds again. Sent rows are kept
for a while to limit the rate of each notifier.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from pi_appliance.config.notifications import Event, Message, NotifyTargets, OutboxMessage
from pi_appliance.storage.database import Database, Transaction
from pi_appliance.storage.database import text as to_text
from pi_appliance.storage.model import FAILED_OUTCOMES, Outcome

WINDOW = timedelta(minutes=10)  # time that a sent row is kept
LONGEST_WAIT = timedelta(hours=6)  # maximum delay of the next attempt
# A row with a longer delay is due too: it was queued while the clock was ahead.
_DUE = "SELECT * FROM outbox WHERE sent IS NULL AND (next <= :now OR next > :never) ORDER BY id"
_FAILURES = """
    SELECT sum(slot_count) AS slots, min(coalesce(ended, started)) AS since FROM runs
    WHERE job = :job AND id < :run AND outcome IN (SELECT value FROM json_each(:bad)) AND id > coalesce(
        (SELECT max(id) FROM runs WHERE job = :job AND id < :run AND outcome = 'succeeded'), 0)
"""


def note_end(db: Transaction, job: str, run: int, outcome: Outcome, told: NotifyTargets, *, now: datetime) -> None:
    """Queue the notifications for the end of `run` of `job`, in the transaction that ends it.

    A run that was skipped or stopped changes nothing. Call it once for each run, in the order of
    their ends.
    """
    if outcome in FAILED_OUTCOMES:
        begun = db.execute("INSERT OR IGNORE INTO failing_jobs (job, run_id) VALUES (?, ?)", (job, run)).rowcount
        names, event, ping = told.on_failure, Event.FAILURE, Event.PING_FAIL
    elif outcome is Outcome.SUCCEEDED:
        begun = db.execute("DELETE FROM failing_jobs WHERE job = ?", (job,)).rowcount
        names, event, ping = told.on_recovery, Event.RECOVERY, Event.PING_SUCCESS
    else:
        return
    for notice in dict.fromkeys(names) if begun else ():
        _insert_row(db, job, run, notice, event, now)
    if told.ping:
        # A new ping replaces an unsent older one, because only the latest result counts.
        db.execute("DELETE FROM outbox WHERE job = ? AND notice = '' AND sent IS NULL", (job,))
        _insert_row(db, job, run, "", ping, now)


def _insert_row(
    db: Transaction, job: str, run: int, notice: str, event: Event, now: datetime, message: Message | None = None
) -> None:
    db.execute(
        "INSERT INTO outbox (job, run, notice, event, made, title, body, next) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(job, run, notice, event, to_text(now)),
            *(message.title if message else "", message.body if message else ""),
            to_text(now),
        ),
    )


class Outbox:
    """The queued notifications in the database `store`."""

    def __init__(self, store: Database) -> None:
        self._writing, self._rows = store.writing, store.rows

    def put(self, notice: str, message: Message, *, now: datetime) -> None:
        """Queue `message`, which belongs to no job, for `notice`."""
        with self._writing() as db:
            _insert_row(db, "", 0, notice, Event.CUSTOM, now, message)

    def is_due(self, now: datetime) -> bool:
        """Return whether anything is to be sent. It reads a table that is usually empty."""
        return bool(self._rows(_DUE, _due_limits(now)))

    def due(self, now: datetime) -> list[OutboxMessage]:
        """Return the notifications to send now, the oldest first."""
        return [_parse_row(row) for row in self._rows(_DUE, _due_limits(now))]

    def waiting(self) -> list[OutboxMessage]:
        """Return all notifications that are not sent yet, the oldest first."""
        return [_parse_row(row) for row in self._rows("SELECT * FROM outbox WHERE sent IS NULL ORDER BY id", ())]

    def carried(self, notice: str, now: datetime) -> list[datetime]:
        """Return when `notice` sent something within the last `WINDOW`, the oldest first.

        Several notifications in one message count once.
        """
        rows = self._rows(
            "SELECT DISTINCT sent FROM outbox WHERE notice = ? AND sent > ? AND sent <= ? ORDER BY sent",
            (notice, to_text(now - WINDOW), to_text(now)),
        )
        return [datetime.fromisoformat(row["sent"]) for row in rows]

    def sent(self, letters: Iterable[OutboxMessage], *, now: datetime) -> None:
        """Mark `letters` as sent. Old sent rows and pings are deleted."""
        with self._writing() as db:
            for letter in letters:
                db.execute("UPDATE outbox SET sent = ? WHERE id = ?", (to_text(now), letter.id))
            db.execute(
                "DELETE FROM outbox WHERE sent IS NOT NULL AND (notice = '' OR sent <= ? OR sent > ?)",
                (to_text(now - WINDOW), to_text(now)),
            )

    def postpone(self, letters: Iterable[OutboxMessage], until: datetime, *, why: str, tried: bool = True) -> None:
        """Postpone `letters` to `until`, with the error `why`. `tried` counts it as an attempt."""
        with self._writing() as db:
            for letter in letters:
                db.execute(
                    "UPDATE outbox SET next = ?, tries = tries + ?, why = ? WHERE id = ?",
                    (to_text(until), int(tried), why, letter.id),
                )

    def drop(self, letters: Iterable[OutboxMessage]) -> None:
        """Delete `letters` unsent."""
        with self._writing() as db:
            for letter in letters:
                db.execute("DELETE FROM outbox WHERE id = ?", (letter.id,))

    def failures_before(self, job: str, run: int) -> tuple[int, datetime | None]:
        """Return the number of failed slots of `job` since its last success, and their start.

        Only runs before `run` count.
        """
        rows = self._rows(_FAILURES, {"job": job, "run": run, "bad": json.dumps(sorted(FAILED_OUTCOMES))})
        if not rows or not rows[0]["slots"]:
            return 0, None
        return int(rows[0]["slots"]), datetime.fromisoformat(rows[0]["since"])


def _due_limits(now: datetime) -> dict[str, str]:
    return {"now": to_text(now), "never": to_text(now + LONGEST_WAIT + WINDOW)}


def _parse_row(row: Any) -> OutboxMessage:
    return OutboxMessage(
        id=row["id"],
        job=row["job"],
        run=row["run"],
        notifier=row["notice"],
        event=Event(row["event"]),
        created_at=datetime.fromisoformat(row["made"]),
        message=Message(title=row["title"], body=row["body"]),
        attempts=row["tries"],
        next_attempt_at=datetime.fromisoformat(row["next"]),
        last_error=row["why"],
    )
