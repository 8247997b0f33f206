"""The ledger of posts: what is to be on which network, written down before it is sent; what became of it; what it cost.

Whatever is told of a post is on the disk before anything follows from it (synchronous=FULL): a post that was sent, and
then forgotten by a power cut, would be sent twice.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from pi_appliance.errors import Uncertain, UnknownName
from pi_appliance.posting.model import FAILED_STATES, PENDING_STATES, Post, PostRecord, Sent, State, UsedLines
from pi_appliance.storage.database import Database, DatabaseCorrupt, Transaction, Values, auto_repair, instant, text
from pi_appliance.storage.model import Picture
from pi_appliance.storage.slots import is_blocked
from pi_appliance.system.clock import MAX_POST_RETRY_DELAY

MILLION = 1_000_000  # the file counts money in millionths of a dollar


def dollars(millionths: int) -> Decimal:
    """Return the amount that the file holds as MILLIONTHS."""
    return Decimal(millionths) / MILLION


def month_of(now: datetime) -> str:
    """Return the calendar month of NOW as the file names it: 2027-03."""
    return f"{now:%Y-%m}"


def intent_of(row: Any) -> PostRecord:
    """Return the intent that stands in ROW of the table `posts`. Raises Damaged if it makes no sense."""
    try:
        state = State(row["state"])
    except ValueError as error:
        raise DatabaseCorrupt(f"the history is damaged: a post makes no sense: {error}") from None
    return PostRecord(
        id=row["id"],
        job=row["job"],
        slot=row["slot"],
        network=row["network"],
        part=row["part"],
        parts=row["parts"],
        line=row["line"],
        text=row["text"],
        state=state,
        why=row["why"],
        made=instant(row["made"]),
        until=instant(row["until"]),
        next=instant(row["next"]),
        tries=row["tries"],
        sent=None if row["remote"] is None else Sent(row["remote"], row["link"]),
        sent_at=instant(row["sent"]) if row["sent"] else None,
        cost=dollars(row["cost"]),
        run=row["run"],
        older=row["older"],
    )


_OPEN = "state IN ('waiting', 'sending')"
# One that waits for longer than any wait is due too: it was put there while the clock was ahead.
_DUE = f"{_OPEN} AND (next <= :now OR next > :never)"
_KNOWN = 1000  # posts of a network that a look is compared with
_AS_THEY_ARE = (
    *("id", "job", "slot", "network", "part", "parts", "line", "text", "state", "why", "tries", "run"),
    "older",
)
# Any that is there will do, for it was there before; ids that only we have given are none.
_OLDER = (
    "SELECT remote FROM posts WHERE network = ? AND remote IS NOT NULL"
    " AND remote NOT GLOB 'told *' AND remote NOT GLOB 'there *' ORDER BY id DESC LIMIT 1"
)
_AT_ONCE = 50  # rows that are pruned at a time


@auto_repair
class Posts:
    """The posts of all jobs, in the database of STORE."""

    def __init__(self, store: Database) -> None:
        self._db = store

    def repair(self, error: DatabaseCorrupt) -> None:
        """Put the file right that was found damaged. Raises ERROR if nobody said how."""
        self._db.repair(error)

    def newest(self, *, limit: int = 50, before: int | None = None, state: State | None = None) -> list[PostRecord]:
        """Return posts, the newest first: LIMIT at the most, older than the one numbered BEFORE, those in STATE."""
        of_state = "state = :state AND " if state is not None else ""
        return self._intents(
            f"WHERE {of_state}id < coalesce(:before, 9223372036854775807) ORDER BY id DESC LIMIT :limit",
            {"state": state, "before": before, "limit": limit},
        )

    def post(self, number: int) -> PostRecord | None:
        """Return the post of that number."""
        return next(iter(self._intents("WHERE id = ?", (number,))), None) if 0 < number < 2**63 else None

    def counts(self) -> dict[State, int]:
        """Return how many posts are in each state that there are any in."""
        rows = self._db.rows("SELECT state, count(*) AS posts FROM posts GROUP BY state", ())
        return {State(row["state"]): int(row["posts"]) for row in rows}

    def left(self) -> list[PostRecord]:
        """Return the posts of all jobs that are still to be sent or looked up, the oldest first."""
        return self._intents(f"WHERE {_OPEN} ORDER BY id", ())

    def due(self, now: datetime) -> list[str]:
        """Return the jobs that have something to send or to look up by NOW. Costs one look at a small index."""
        values = {"now": text(now), "never": text(now + MAX_POST_RETRY_DELAY + timedelta(hours=1))}
        return [
            row["job"]
            for row in self._db.rows(f"SELECT DISTINCT job FROM posts WHERE {_DUE} ORDER BY job", values)  # noqa: S608
        ]

    def spent(self, now: datetime) -> dict[str, Decimal]:
        """Return what was spent in the calendar month of NOW (UTC), by network."""
        rows = self._db.rows("SELECT network, amount FROM spent WHERE month = ? ORDER BY network", (month_of(now),))
        return {row["network"]: dollars(row["amount"]) for row in rows}

    def used(self, job: str) -> UsedLines:
        """Return which lines JOB has used."""
        rows = self._db.rows("SELECT line, round FROM lines WHERE job = ? ORDER BY used", (job,))
        newest = max((row["round"] for row in rows), default=0)
        now = frozenset(row["line"] for row in rows if row["round"] == newest)
        return UsedLines(now, tuple(row["line"] for row in rows))

    def settle(self, number: int, state: State, why: str, *, link: str = "", now: datetime) -> PostRecord:
        """Let the owner say of the uncertain post NUMBER that it is SENT, or that it is not there: WAITING or GIVEN_UP.

        Raises UnknownName if there is no uncertain post of that number.
        """
        with self._db.writing(durable=True) as db:
            row = db.execute("SELECT * FROM posts WHERE id = ? AND state = ?", (number, State.UNCERTAIN)).fetchone()
            if row is None:
                known = db.execute("SELECT id FROM posts WHERE state = ? ORDER BY id", (State.UNCERTAIN,)).fetchall()
                raise UnknownName("uncertain post", str(number), [str(each["id"]) for each in known])
            intent = intent_of(row)
            sent = Sent(f"told {number}", link) if state is State.SENT else None
            until = max(intent.until, now + (intent.until - intent.made))
            db.execute("UPDATE posts SET until = ?, next = ? WHERE id = ?", (text(until), text(now), number))
            if state is not State.GIVEN_UP:  # then the rest of its thread has something to follow
                db.execute(
                    "UPDATE posts SET state = ?, until = ?, next = ? WHERE job = ? AND slot = ? AND network = ?"
                    " AND part > ? AND state = ?",
                    (
                        *(State.WAITING, text(until), text(now), intent.job, intent.slot, intent.network),
                        *(intent.part, State.GIVEN_UP),
                    ),
                )
            refund = Decimal(0) if state is State.SENT else -intent.cost
            return _put(db, intent, _StateChange(state=state, why=why, sent=sent, cost=refund), now)

    def prune(self, age: timedelta, *, now: datetime) -> None:
        """Forget posts that were settled longer than AGE ago, a little at each call."""
        with self._db.writing() as db:
            query = f"SELECT id FROM posts WHERE made < ? AND NOT {_OPEN} ORDER BY id LIMIT {_AT_ONCE}"  # noqa: S608
            going = db.execute(query, (text(now - age),)).fetchall()
            for table, key in (("posts", "id"), ("pictures", "post")):
                db.executemany(f"DELETE FROM {table} WHERE {key} = ?", [(row["id"],) for row in going])  # noqa: S608

    def of_job(self, job: str, run: int, clock: Callable[[], datetime], installation: str = "") -> "JobPosts":
        """Return the ledger that RUN of JOB sees; INSTALLATION tells this appliance from others."""
        return JobPosts(self._db, job, run, clock, installation)

    def _intents(self, where: str, values: Values) -> list[PostRecord]:
        return [intent_of(row) for row in self._db.rows(f"SELECT * FROM posts {where}", values)]  # noqa: S608 - ours


@auto_repair
class JobPosts:
    """The ledger of one run."""

    def __init__(
        self, store: Database, job: str, run: int, clock: Callable[[], datetime], installation: str = ""
    ) -> None:
        self._db, self._job, self._run, self._clock = store, job, run, clock
        self.installation = installation

    def repair(self, error: DatabaseCorrupt) -> None:
        """Put the file right that was found damaged. Raises ERROR if nobody said how."""
        self._db.repair(error)

    def intended(self, slot: str) -> list[PostRecord]:
        """Return what was intended for SLOT, by network and part."""
        return self._intents("job = ? AND slot = ? ORDER BY network, part", (self._job, slot))

    def left(self) -> list[PostRecord]:
        """Return what is still to be sent or looked up, of any slot, the oldest first."""
        return self._intents(f"job = ? AND {_OPEN} ORDER BY id", (self._job,))

    def siblings(self, intent: PostRecord) -> list[PostRecord]:
        """Return all parts of the thread that INTENT belongs to, the first one first."""
        values = (self._job, intent.slot, intent.network)
        return self._intents("job = ? AND slot = ? AND network = ? ORDER BY part", values)

    def intend(
        self, slot: str, posts: Mapping[str, Sequence[Post]], *, until: datetime, line: str = ""
    ) -> list[PostRecord]:
        """Write down, durably and at once, the parts of what each network is to get for SLOT. LINE is used by it.

        Raises Uncertain where that was done before, and damage to the file has lost what became of it.
        """
        now = text(self._clock())
        with self._db.writing(durable=True) as db:
            for network, parts in posts.items():
                _claim(db, f"{self._job} post {network} {slot}", slot, self._run, now)
                older = db.execute(_OLDER, (network,)).fetchone()
                for part, post in enumerate(parts):
                    row = db.execute(
                        "INSERT INTO posts"
                        " (job, slot, network, part, parts, line, text, state, made, until, next, run, older)"
                        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
                        (
                            *(self._job, slot, network, part, len(parts), line, post.text),
                            *(State.WAITING, now, text(until), now, self._run),
                            older["remote"] if older else "",
                        ),
                    ).fetchone()
                    _keep_pictures(db, row["id"], post.pictures)
            if line:
                _use(db, self._job, line)
        return self.intended(slot)

    def post_of(self, intent: PostRecord) -> Post:
        """Return the post of INTENT, with its pictures."""
        rows = self._db.rows("SELECT * FROM pictures WHERE post = ? ORDER BY number", (intent.id,))
        return Post(intent.text, tuple(Picture(row["data"], row["mime"], row["alt"]) for row in rows))

    def put(
        self,
        intent: PostRecord,
        state: State,
        why: str = "",
        *,
        sent: Sent | None = None,
        cost: Decimal = Decimal(0),
        after: timedelta = timedelta(0),
    ) -> PostRecord:
        """Let INTENT be in STATE because of WHY, durably, having cost COST more. Return it as it is then."""
        new = _StateChange(state=state, why=why, sent=sent, cost=cost, after=after)
        with self._db.writing(durable=True) as db:
            return _put(db, intent, new, self._clock())

    def charge(self, intent: PostRecord, cost: Decimal) -> None:
        """Note that COST dollars more went for INTENT, which is no farther by it."""
        with self._db.writing() as db:
            _spend(db, intent.network, cost, self._clock())

    def known(self, network: str) -> dict[str, str]:
        """Return the posts that are accounted for on NETWORK, of all jobs: text by id."""
        query = "SELECT remote, text FROM posts WHERE network = ? AND remote IS NOT NULL ORDER BY id DESC LIMIT ?"
        return {row["remote"]: row["text"] for row in self._db.rows(query, (network, _KNOWN))}

    def spent(self, network: str) -> Decimal:
        """Return what was spent on NETWORK in this calendar month (UTC), by all jobs."""
        values = (network, month_of(self._clock()))
        rows = self._db.rows("SELECT amount FROM spent WHERE network = ? AND month = ?", values)
        return dollars(rows[0]["amount"]) if rows else Decimal(0)

    def used(self) -> UsedLines:
        """Return which lines the job has used."""
        return Posts(self._db).used(self._job)

    def _intents(self, where: str, values: Values) -> list[PostRecord]:
        return [intent_of(row) for row in self._db.rows(f"SELECT * FROM posts WHERE {where}", values)]  # noqa: S608


def _claim(db: Transaction, key: str, slot: str, run: int, now: str) -> None:
    """Take KEY for ever. Claims outlive damage best: what is not in the ledger, but claimed, was perhaps sent."""
    fresh = db.execute("INSERT OR IGNORE INTO claims (key, run, at) VALUES (?, ?, ?)", (key, run, now)).rowcount
    if not fresh or is_blocked(db, slot):
        raise Uncertain(f"what became of the post of {slot} was lost with damage to the history; check the account")


def _keep_pictures(db: Transaction, post: int, pictures: Iterable[Picture]) -> None:
    for number, picture in enumerate(pictures):
        values = (post, number, picture.mime, picture.alt, picture.data)
        db.execute("INSERT INTO pictures (post, number, mime, alt, data) VALUES (?, ?, ?, ?, ?)", values)


def _use(db: Transaction, job: str, line: str) -> None:
    """Note that LINE is used. If it was used in this round already, a new round begins with it."""
    found = db.execute(
        "SELECT coalesce(max(round), 0) AS round, coalesce(max(used), 0) AS used,"
        " coalesce(max(round) FILTER (WHERE line = ?), -1) AS its FROM lines WHERE job = ?",
        (line, job),
    ).fetchone()
    round_ = found["round"] + (found["its"] == found["round"])
    db.execute(
        "INSERT INTO lines (job, line, round, used) VALUES (:job, :line, :round, :used)"
        " ON CONFLICT DO UPDATE SET round = :round, used = :used",
        {"job": job, "line": line, "round": round_, "used": found["used"] + 1},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _StateChange:
    """What is new of a post."""

    state: State
    why: str
    sent: Sent | None
    cost: Decimal
    after: timedelta = timedelta(0)


def _put(db: Transaction, intent: PostRecord, new: _StateChange, now: datetime) -> PostRecord:
    _require_row(db, intent)
    row = db.execute(
        "UPDATE posts SET state = :state, why = :why, remote = coalesce(:id, remote), link = coalesce(:link, link),"
        " sent = coalesce(sent, :sent), cost = max(0, cost + :cost), tries = tries + :tried, next = :next"
        " WHERE id = :post RETURNING *",
        {
            "post": intent.id,
            "state": new.state,
            "why": new.why,
            "id": new.sent and new.sent.id,
            "link": new.sent and new.sent.link,
            "sent": text(now) if new.sent else None,
            "cost": int(new.cost * MILLION),
            "tried": int(new.state is State.SENDING and not new.why),
            "next": text(now + new.after),
        },
    ).fetchone()
    _spend(db, intent.network, new.cost, now)
    if new.state not in PENDING_STATES and new.state is not State.UNCERTAIN:
        db.execute("DELETE FROM pictures WHERE post = ?", (intent.id,))
    if new.state in FAILED_STATES:
        _give_back(db, intent)
    return intent_of(row)


def _spend(db: Transaction, network: str, cost: Decimal, now: datetime) -> None:
    if cost:
        db.execute(
            "INSERT INTO spent (network, month, amount) VALUES (:network, :month, max(0, :amount))"
            " ON CONFLICT DO UPDATE SET amount = max(0, amount + :amount)",
            {"network": network, "month": month_of(now), "amount": int(cost * MILLION)},
        )


def _require_row(db: Transaction, intent: PostRecord) -> None:
    """Write the row of INTENT anew where a file that was damaged, and mended since, has lost it."""
    row = {
        **{name: getattr(intent, name) for name in _AS_THEY_ARE},
        **{name: text(getattr(intent, name)) for name in ("made", "until", "next")},
        "cost": int(intent.cost * MILLION),
    }
    names, places = ", ".join(row), ", ".join("?" * len(row))
    db.execute(f"INSERT OR IGNORE INTO posts ({names}) VALUES ({places})", tuple(row.values()))  # noqa: S608 - ours


def _give_back(db: Transaction, intent: PostRecord) -> None:
    """Let the line of INTENT be unused again, if it stands on no network and is not to be."""
    others = db.execute(
        "SELECT 1 FROM posts WHERE job = ? AND slot = ? AND state NOT IN (?, ?)",
        (intent.job, intent.slot, *sorted(FAILED_STATES)),
    ).fetchone()
    if others is None and intent.line:
        db.execute("DELETE FROM lines WHERE job = ? AND line = ?", (intent.job, intent.line))


def prune(store: Database, max_age: timedelta, *, now: datetime) -> None:
    """Delete finished posts older than `max_age`, for jobs that post."""
    Posts(store).prune(max_age, now=now)


def has_pending_work(store: Database, job: str, *, now: datetime) -> bool:
    """Return whether a post of `job` is to be sent or checked now."""
    return job in Posts(store).due(now)
