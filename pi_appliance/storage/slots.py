"""What became of slots that no run was started for, up to where all are accounted for, and which jobs pause."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pi_appliance.config.notifications import NotifyTargets
from pi_appliance.storage.database import Database, DatabaseCorrupt, Transaction, auto_repair, instant, text
from pi_appliance.storage.model import Outcome, Run, Trigger
from pi_appliance.storage.rows import closed, parse_run

_SEAL = "lost "  # begins the key under which the claims table tells that some of it was lost


@dataclass(frozen=True, slots=True)
class ScheduleCursor:
    """Since when a job is watched with a schedule, and up to which instant every slot of it is accounted for."""

    schedule: str
    since: datetime
    accounted_until: datetime


@dataclass(frozen=True, slots=True)
class Pause:
    """A job whose slots are not used from SINCE on; it ends by itself at UNTIL, by a person where that is None."""

    since: datetime
    until: datetime | None
    ended: bool = False
    """Whether a person has ended it."""

    def is_active(self, now: datetime) -> bool:
        """Say whether it goes on. Not if it begins in the future and has an end: the clock was ahead meanwhile."""
        if self.ended:
            return False
        return self.until is None or self.since <= now < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountedSlots:
    """Slots of a job that came to nothing: COUNT of them from FIRST to LAST, by the names they have in the history."""

    job: str
    kind: str
    trigger: Trigger
    first: str
    last: str
    count: int
    outcome: Outcome
    summary: str
    notify_targets: NotifyTargets | None = None


@auto_repair
class Slots:
    """The accounts of slots, in the file of the store."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def repair(self, error: DatabaseCorrupt) -> None:
        """Put the file right that was found damaged. Raises ERROR if nobody said how."""
        self._db.repair(error)

    def record_unused(self, what: Sequence[AccountedSlots], *, now: datetime, until: datetime | None = None) -> None:
        """Write a row for each of WHAT, all or none; every slot of that job up to UNTIL is then accounted for.

        A single slot that is not before UNTIL is claimed, so that it is not accounted for a second time.
        """
        if not what:
            return
        with self._db.writing(durable=until is None) as db:
            for each in what:
                row = db.execute(
                    "INSERT INTO runs"
                    " (job, kind, trigger, scheduled_for, first_slot, slot_count, started, ended, outcome, summary)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *",
                    (
                        *(each.job, each.kind, each.trigger, each.last, each.first if each.count > 1 else None),
                        *(each.count, text(now), text(now), each.outcome, each.summary),
                    ),
                ).fetchone()
                closed(db, parse_run(row), each.notify_targets, now=now)
                if each.count == 1 and (until is None or each.last[:19] > text(until)[:19]):
                    db.execute(
                        "INSERT OR IGNORE INTO claims (key, run, at) VALUES (?, ?, ?)",
                        (slot_key(each.job, each.last), row["id"], text(now)),
                    )
            if until is not None:
                db.execute("UPDATE schedule_cursors SET accounted_until = ? WHERE job = ?", (text(until), what[0].job))

    def cursors(self) -> dict[str, ScheduleCursor]:
        """Return what is known of every job that is watched."""
        rows = self._db.rows("SELECT * FROM schedule_cursors", ())
        return {
            row["job"]: ScheduleCursor(row["schedule"], instant(row["since"]), instant(row["accounted_until"]))
            for row in rows
        }

    def start_cursor(self, job: str, schedule: str, *, since: datetime) -> None:
        """Begin to watch JOB with SCHEDULE: slots up to SINCE are none of its."""
        with self._db.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO schedule_cursors VALUES (?, ?, ?, ?)", (job, schedule, text(since), text(since))
            )

    def advance_cursor(self, job: str, until: datetime) -> None:
        """Every slot of JOB up to UNTIL is accounted for."""
        with self._db.writing() as db:
            db.execute("UPDATE schedule_cursors SET accounted_until = ? WHERE job = ?", (text(until), job))

    def claimed_slots(self, job: str, after: datetime, until: datetime) -> set[str]:
        """Return the names of the slots of JOB from the second of AFTER to that of UNTIL that were claimed."""
        first, last = slot_key(job, text(after)[:19]), slot_key(job, text(until)[:19])
        rows = self._db.rows("SELECT key FROM claims WHERE key BETWEEN ? AND ?", (first, last + "Z"))
        start = len(slot_key(job, ""))
        return {row["key"][start:] for row in rows}

    def find_runs(self, job: str, first: str, last: str) -> list[Run]:
        """Return the runs of JOB, the newest first, that account for a slot from FIRST to LAST, by name."""
        query = (
            "SELECT * FROM runs WHERE job = ? AND scheduled_for >= ?"
            " AND coalesce(first_slot, scheduled_for) <= ? ORDER BY id DESC"
        )
        return [parse_run(row) for row in self._db.rows(query, (job, first, last))]

    def last_slot_with_prefix(self, job: str, beginning: str) -> str | None:
        """Return the newest slot of JOB whose name begins with BEGINNING."""
        query = "SELECT scheduled_for FROM runs WHERE job = ? AND scheduled_for GLOB ? ORDER BY id DESC LIMIT 1"
        return next((str(row["scheduled_for"]) for row in self._db.rows(query, (job, beginning + "*"))), None)

    def pauses(self) -> dict[str, Pause]:
        """Return the jobs that pause, or paused and have not been settled since."""
        rows = self._db.rows("SELECT * FROM job_pauses", ())
        return {
            row["job"]: Pause(
                instant(row["since"]), instant(row["until"]) if row["until"] else None, bool(row["ended"])
            )
            for row in rows
        }

    def pause(self, job: str, *, since: datetime, until: datetime | None) -> None:
        """Let JOB pause. One that pauses already keeps its beginning."""
        with self._db.writing(durable=True) as db:
            db.execute(
                "INSERT INTO job_pauses (job, since, until) VALUES (:job, :since, :until)"
                " ON CONFLICT DO UPDATE SET until = :until, ended = 0",
                {"job": job, "since": text(since), "until": until and text(until)},
            )

    def end_pause(self, job: str, *, at: datetime) -> None:
        """Let the pause of JOB be over; what it left out is still to be accounted for."""
        with self._db.writing(durable=True) as db:
            db.execute("UPDATE job_pauses SET until = ?, ended = 1 WHERE job = ?", (text(at), job))

    def delete_pause(self, job: str) -> None:
        """Forget that JOB paused."""
        with self._db.writing(durable=True) as db:
            db.execute("DELETE FROM job_pauses WHERE job = ?", (job,))


def slot_key(job: str, due: str) -> str:
    """Return the claim that stands for the slot DUE of JOB."""
    return f"slot {job} {due}"


def insert_claims(db: Transaction, known: Mapping[str, int], *, at: datetime) -> None:
    """Claim each key that is KNOWN to be taken for the run that took it, unless it is claimed."""
    db.executemany(
        "INSERT OR IGNORE INTO claims (key, run, at) VALUES (?, ?, ?)",
        [(key, run, text(at)) for key, run in known.items()],
    )


def bump_run_id(db: Transaction, newest: int) -> None:
    """Let no run be given a number up to NEWEST any more."""
    db.execute("INSERT INTO sqlite_sequence SELECT 'runs', 0 WHERE 'runs' NOT IN (SELECT name FROM sqlite_sequence)")
    db.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'runs'", (newest,))


def block_unknown_slots(db: Transaction, *, at: datetime, boot: str, newest: int) -> None:
    """Let no slot of before AT, of the start of the machine BOOT, and after runs up to NEWEST be used any more.

    For a history that has lost claims: what it does not know may have run.
    """
    bump_run_id(db, newest)
    db.execute("INSERT OR REPLACE INTO claims (key, run, at) VALUES (?, ?, ?)", (_SEAL + boot, newest, text(at)))
    db.execute("UPDATE schedule_cursors SET accounted_until = max(accounted_until, ?)", (text(at),))
    db.execute("UPDATE schedule_cursors SET since = max(since, ?) WHERE schedule GLOB 'after:*'", (text(at),))


def is_blocked(db: Transaction, due: str) -> bool:
    """Say whether the claim to the slot DUE may be among those that were lost."""
    for row in db.execute(f"SELECT key, run, at FROM claims WHERE key GLOB '{_SEAL}*'").fetchall():  # noqa: S608 - ours
        numbers = [int(number) for number in due.removeprefix("after:").split("+") if number.isdigit()]
        if due == row["key"].removeprefix(_SEAL) or (due[:1].isdigit() and due[:19] <= row["at"][:19]):
            return True
        if due.startswith("after:") and any(number <= row["run"] for number in numbers):
            return True
    return False
