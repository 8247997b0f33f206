"""What the owner is still to be told. Rows are made where a run ends, in the same transaction, and kept until sent.

A job that fails is told once, when it begins to; once more when it succeeds again. Rows that were sent stay for a
while, so that it is known how much a notice has carried of late.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from pi_appliance.config.notifications import Event, Message, NotifyTargets, OutboxMessage
from pi_appliance.storage.database import Database, Transaction
from pi_appliance.storage.database import text as to_text
from pi_appliance.storage.model import FAILED_OUTCOMES, Outcome

WINDOW = timedelta(minutes=10)  # how long a row stays that was sent
LONGEST_WAIT = timedelta(hours=6)  # no row waits longer for its next try
# One that waits for longer than any wait is due too: it was put there while the clock was ahead.
_DUE = "SELECT * FROM outbox WHERE sent IS NULL AND (next <= :now OR next > :never) ORDER BY id"
_FAILURES = """
    SELECT sum(slot_count) AS slots, min(coalesce(ended, started)) AS since FROM runs
    WHERE job = :job AND id < :run AND outcome IN (SELECT value FROM json_each(:bad)) AND id > coalesce(
        (SELECT max(id) FROM runs WHERE job = :job AND id < :run AND outcome = 'succeeded'), 0)
"""


def note_end(db: Transaction, job: str, run: int, outcome: Outcome, told: NotifyTargets, *, now: datetime) -> None:
    """Put into the outbox what follows from the end of RUN of JOB, within the transaction that ends it.

    A run that was skipped or stopped changes nothing. Call it once a run, in the order in which they ended.
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
        _put(db, job, run, notice, event, now)
    if told.ping:
        # An older one that could not be sent has nothing to say any more: what counts is how it went last.
        db.execute("DELETE FROM outbox WHERE job = ? AND notice = '' AND sent IS NULL", (job,))
        _put(db, job, run, "", ping, now)


def _put(
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
    """The letters that wait, in the database of STORE."""

    def __init__(self, store: Database) -> None:
        self._writing, self._rows = store.writing, store.rows

    def put(self, notice: str, message: Message, *, now: datetime) -> None:
        """Let NOTICE be told MESSAGE, which is of no job."""
        with self._writing() as db:
            _put(db, "", 0, notice, Event.CUSTOM, now, message)

    def is_due(self, now: datetime) -> bool:
        """Say whether anything is to be sent. One look at a table that is empty most of the time."""
        return bool(self._rows(_DUE, _at(now)))

    def due(self, now: datetime) -> list[OutboxMessage]:
        """Return the letters that are to be sent, the oldest first."""
        return [_letter(row) for row in self._rows(_DUE, _at(now))]

    def waiting(self) -> list[OutboxMessage]:
        """Return all letters that are not sent yet, the oldest first."""
        return [_letter(row) for row in self._rows("SELECT * FROM outbox WHERE sent IS NULL ORDER BY id", ())]

    def carried(self, notice: str, now: datetime) -> list[datetime]:
        """Return when NOTICE carried something within the last WINDOW, the oldest first. Several in one count once."""
        rows = self._rows(
            "SELECT DISTINCT sent FROM outbox WHERE notice = ? AND sent > ? AND sent <= ? ORDER BY sent",
            (notice, to_text(now - WINDOW), to_text(now)),
        )
        return [datetime.fromisoformat(row["sent"]) for row in rows]

    def sent(self, letters: Iterable[OutboxMessage], *, now: datetime) -> None:
        """Note that LETTERS are sent. Those that were sent long ago, and pings, go for good."""
        with self._writing() as db:
            for letter in letters:
                db.execute("UPDATE outbox SET sent = ? WHERE id = ?", (to_text(now), letter.id))
            db.execute(
                "DELETE FROM outbox WHERE sent IS NOT NULL AND (notice = '' OR sent <= ? OR sent > ?)",
                (to_text(now - WINDOW), to_text(now)),
            )

    def postpone(self, letters: Iterable[OutboxMessage], until: datetime, *, why: str, tried: bool = True) -> None:
        """Let LETTERS wait UNTIL then, because of WHY. TRIED: it counts as a try."""
        with self._writing() as db:
            for letter in letters:
                db.execute(
                    "UPDATE outbox SET next = ?, tries = tries + ?, why = ? WHERE id = ?",
                    (to_text(until), int(tried), why, letter.id),
                )

    def drop(self, letters: Iterable[OutboxMessage]) -> None:
        """Take LETTERS out unsent."""
        with self._writing() as db:
            for letter in letters:
                db.execute("DELETE FROM outbox WHERE id = ?", (letter.id,))

    def failures_before(self, job: str, run: int) -> tuple[int, datetime | None]:
        """Return how many slots of JOB went wrong between its last success and RUN, and since when."""
        rows = self._rows(_FAILURES, {"job": job, "run": run, "bad": json.dumps(sorted(FAILED_OUTCOMES))})
        if not rows or not rows[0]["slots"]:
            return 0, None
        return int(rows[0]["slots"]), datetime.fromisoformat(rows[0]["since"])


def _at(now: datetime) -> dict[str, str]:
    return {"now": to_text(now), "never": to_text(now + LONGEST_WAIT + WINDOW)}


def _letter(row: Any) -> OutboxMessage:
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
