"""Which results are reported, and the outbox with the messages that wait to be sent.

`queue_notifications` decides at the end of a run. It reports the first failure of a job, and its
recovery; further failures are not reported. `notify/delivery.py` sends the messages of the outbox.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from pi_appliance.config.options import NotifyTargets
from pi_appliance.storage.database import Database, Transaction, format_instant
from pi_appliance.storage.model import FAILED_OUTCOMES, Event, Message, OutboxMessage, Outcome

SENT_WINDOW = timedelta(minutes=10)  # time for which a sent row is kept
MAX_WAIT = timedelta(hours=6)  # maximum delay of the next attempt
# A row with a longer delay is due, too, because the clock was ahead when it was queued.
_DUE = (
    "SELECT * FROM outbox WHERE sent_at IS NULL AND (next_attempt_at <= :now OR next_attempt_at > :never) ORDER BY id"
)
_FAILURES = """
    SELECT sum(slot_count) AS slots, min(coalesce(ended, started)) AS since FROM runs
    WHERE job = :job AND id < :run AND outcome IN (SELECT value FROM json_each(:bad)) AND id > coalesce(
        (SELECT max(id) FROM runs WHERE job = :job AND id < :run AND outcome = 'succeeded'), 0)
"""


def queue_notifications(
    db: Transaction, job: str, run: int, outcome: Outcome, targets: NotifyTargets, *, now: datetime
) -> None:
    """Queue the notifications for the end of `run` of `job`, in the transaction that ends it.

    A run that was skipped or stopped changes nothing. Call it once for each run, in the order of
    their ends.
    """
    if outcome in FAILED_OUTCOMES:
        begun = db.execute("INSERT OR IGNORE INTO failing_jobs (job, run_id) VALUES (?, ?)", (job, run)).rowcount
        names, event, ping = targets.on_failure, Event.FAILURE, Event.PING_FAIL
    elif outcome is Outcome.SUCCEEDED:
        begun = db.execute("DELETE FROM failing_jobs WHERE job = ?", (job,)).rowcount
        names, event, ping = targets.on_recovery, Event.RECOVERY, Event.PING_SUCCESS
    else:
        return
    for notifier in dict.fromkeys(names) if begun else ():
        _insert_row(db, job, run, notifier, event, now)
    if targets.ping:
        # A new ping replaces an unsent older one, because only the latest result counts.
        db.execute("DELETE FROM outbox WHERE job = ? AND notifier = '' AND sent_at IS NULL", (job,))
        _insert_row(db, job, run, "", ping, now)


def _insert_row(
    db: Transaction, job: str, run: int, notifier: str, event: Event, now: datetime, message: Message | None = None
) -> None:
    db.execute(
        "INSERT INTO outbox (job, run, notifier, event, created_at, title, body, next_attempt_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(job, run, notifier, event, format_instant(now)),
            *(message.title if message else "", message.body if message else ""),
            format_instant(now),
        ),
    )


class Outbox:
    """The messages that wait in the database `store` to be sent."""

    def __init__(self, store: Database) -> None:
        self._writing, self._rows = store.writing, store.rows

    def put(self, notifier: str, message: Message, *, now: datetime) -> None:
        """Queue `message`, which belongs to no job, for `notifier`."""
        with self._writing() as db:
            _insert_row(db, "", 0, notifier, Event.CUSTOM, now, message)

    def is_due(self, now: datetime) -> bool:
        """Return whether anything is to be sent. It reads a table that is usually empty."""
        return bool(self._rows(_DUE, _due_limits(now)))

    def due(self, now: datetime) -> list[OutboxMessage]:
        """Return the notifications to send now, the oldest first."""
        return [_parse_row(row) for row in self._rows(_DUE, _due_limits(now))]

    def waiting(self) -> list[OutboxMessage]:
        """Return all notifications that are not sent yet, the oldest first."""
        return [_parse_row(row) for row in self._rows("SELECT * FROM outbox WHERE sent_at IS NULL ORDER BY id", ())]

    def sent_times(self, notifier: str, now: datetime) -> list[datetime]:
        """Return when `notifier` sent within the last `SENT_WINDOW`. A digest counts once."""
        rows = self._rows(
            "SELECT DISTINCT sent_at FROM outbox WHERE notifier = ? AND sent_at > ? AND sent_at <= ? ORDER BY sent_at",
            (notifier, format_instant(now - SENT_WINDOW), format_instant(now)),
        )
        return [datetime.fromisoformat(row["sent_at"]) for row in rows]

    def mark_sent(self, messages: Iterable[OutboxMessage], *, now: datetime) -> None:
        """Mark `messages` as sent. Old sent rows and pings are deleted."""
        with self._writing() as db:
            for each in messages:
                db.execute("UPDATE outbox SET sent_at = ? WHERE id = ?", (format_instant(now), each.id))
            db.execute(
                "DELETE FROM outbox WHERE sent_at IS NOT NULL AND (notifier = '' OR sent_at <= ? OR sent_at > ?)",
                (format_instant(now - SENT_WINDOW), format_instant(now)),
            )

    def postpone(self, messages: Iterable[OutboxMessage], until: datetime, *, why: str, tried: bool = True) -> None:
        """Postpone `messages` to `until`, with the error `why`. `tried` counts it as an attempt."""
        with self._writing() as db:
            for each in messages:
                db.execute(
                    "UPDATE outbox SET next_attempt_at = ?, attempts = attempts + ?, last_error = ? WHERE id = ?",
                    (format_instant(until), int(tried), why, each.id),
                )

    def drop(self, messages: Iterable[OutboxMessage]) -> None:
        """Delete `messages` unsent."""
        with self._writing() as db:
            for each in messages:
                db.execute("DELETE FROM outbox WHERE id = ?", (each.id,))

    def failures_before(self, job: str, run: int) -> tuple[int, datetime | None]:
        """Return how many slots of `job` have failed since its last success, and since when.

        Only runs before `run` count.
        """
        rows = self._rows(_FAILURES, {"job": job, "run": run, "bad": json.dumps(sorted(FAILED_OUTCOMES))})
        if not rows or not rows[0]["slots"]:
            return 0, None
        return int(rows[0]["slots"]), datetime.fromisoformat(rows[0]["since"])


def _due_limits(now: datetime) -> dict[str, str]:
    return {"now": format_instant(now), "never": format_instant(now + MAX_WAIT + SENT_WINDOW)}


def _parse_row(row: Any) -> OutboxMessage:
    return OutboxMessage(
        id=row["id"],
        job=row["job"],
        run=row["run"],
        notifier=row["notifier"],
        event=Event(row["event"]),
        created_at=datetime.fromisoformat(row["created_at"]),
        message=Message(title=row["title"], body=row["body"]),
        attempts=row["attempts"],
        next_attempt_at=datetime.fromisoformat(row["next_attempt_at"]),
        last_error=row["last_error"],
    )
