"""Database tables of posting: posts, their pictures, the lines used, and the money spent.

A post is written before it is sent, and each state is on the disk (synchronous=FULL) before the
next step. Otherwise a power cut could make the appliance forget a post that was sent, and send it
twice.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from pi_appliance.errors import Refused, Uncertain, UnknownName
from pi_appliance.posting.model import (
    FAILED_STATES,
    MAX_RETRY_DELAY,
    RESENT,
    Post,
    PostRecord,
    PostState,
    SentPost,
    UsedLines,
)
from pi_appliance.storage.database import (
    Database,
    DatabaseCorrupt,
    Repository,
    Transaction,
    Values,
    format_instant,
    parse_instant,
)
from pi_appliance.storage.history import is_blocked
from pi_appliance.storage.model import Picture

MICRODOLLARS = 1_000_000  # amounts are stored as integers, in millionths of a dollar
_PENDING = "state IN ('waiting', 'sending')"
# A wait longer than the longest back-off was recorded while the clock was ahead, so the post is
# due.
_DUE = f"{_PENDING} AND (next_attempt_at <= :now OR next_attempt_at > :latest)"
# Posts that can be sent again: not on the network, nothing to search for, and the line was not
# posted there since. The owner first resolves an uncertain part of their thread. The newest posts
# are grouped once, because comparing each failed post with all others takes seconds after a year.
_RESENDABLE = (
    "SELECT posts.* FROM posts"
    " LEFT JOIN (SELECT network, line, slot, max(id) FROM posts WHERE job = :job AND line != ''"
    " GROUP BY network, line) AS by_line ON by_line.network = posts.network AND by_line.line = posts.line"
    " LEFT JOIN (SELECT network, text, slot, max(id) FROM posts WHERE job = :job GROUP BY network, text)"
    " AS by_text ON by_text.network = posts.network AND by_text.text = posts.text"
    " WHERE posts.job = :job AND posts.state IN ('refused', 'blocked', 'abandoned')"
    " AND coalesce(by_line.slot, posts.slot) = posts.slot AND by_text.slot = posts.slot"
    " AND NOT EXISTS (SELECT 1 FROM posts AS part WHERE part.job = posts.job AND part.slot = posts.slot"
    " AND part.network = posts.network AND part.state = 'uncertain') ORDER BY posts.id DESC"
)
_KNOWN_POSTS = 1000  # newest posts of a network that a search is compared with
_PLAIN_COLUMNS = (
    *("id", "job", "slot", "network", "part", "parts", "line", "text", "state", "reason", "attempts", "run"),
    "since_id",
)
_TIME_COLUMNS = ("created_at", "expires_at", "next_attempt_at")
# The ids "resolved 7" and "duplicate 7" are our own, so they are not sent to the network.
_NEWEST_REMOTE_ID = (
    "SELECT remote_id FROM posts WHERE network = ? AND remote_id IS NOT NULL"
    " AND remote_id NOT GLOB 'resolved *' AND remote_id NOT GLOB 'duplicate *' ORDER BY id DESC LIMIT 1"
)
_DELETE_BATCH = 50  # posts that one call deletes
_NOT_FAILED = f"state NOT IN ({', '.join(repr(str(each)) for each in sorted(FAILED_STATES))})"


def to_dollars(microdollars: int) -> Decimal:
    """Convert a stored amount to US dollars."""
    return Decimal(microdollars) / MICRODOLLARS


def month_of(now: datetime) -> str:
    """Return the calendar month of `now`, such as 2027-03."""
    return f"{now:%Y-%m}"


def record_from_row(row: Any) -> PostRecord:
    """Convert a row of the table `posts`. Raises DatabaseCorrupt if a value is not valid."""
    try:
        state = PostState(row["state"])
    except ValueError as error:
        raise DatabaseCorrupt(f"the history is damaged: a post is not valid: {error}") from None
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
        reason=row["reason"],
        created_at=parse_instant(row["created_at"]),
        expires_at=parse_instant(row["expires_at"]),
        next_attempt_at=parse_instant(row["next_attempt_at"]),
        attempts=row["attempts"],
        remote=None if row["remote_id"] is None else SentPost(row["remote_id"], row["link"]),
        sent_at=parse_instant(row["sent_at"]) if row["sent_at"] else None,
        cost=to_dollars(row["cost_microdollars"]),
        run=row["run"],
        since_id=row["since_id"],
    )


class PostDatabase(Repository):
    """The posts of all jobs."""

    def newest_posts(
        self, *, limit: int = 50, before: int | None = None, state: PostState | None = None
    ) -> list[PostRecord]:
        """Return at most `limit` posts, newest first: with an id below `before`, and in `state`."""
        with_state = "state = :state AND " if state is not None else ""
        return _select_posts(
            self._db,
            f"WHERE {with_state}id < coalesce(:before, 9223372036854775807) ORDER BY id DESC LIMIT :limit",
            {"state": state, "before": before, "limit": limit},
        )

    def count_by_state(self) -> dict[PostState, int]:
        """Return the number of posts in each state that occurs."""
        rows = self._db.rows("SELECT state, count(*) AS posts FROM posts GROUP BY state", ())
        return {PostState(row["state"]): int(row["posts"]) for row in rows}

    def jobs_due(self, now: datetime) -> list[str]:
        """Return the jobs with a post to send or to search by `now`. Reads a small index only."""
        values = {"now": format_instant(now), "latest": format_instant(now + MAX_RETRY_DELAY + timedelta(hours=1))}
        return [
            row["job"]
            for row in self._db.rows(f"SELECT DISTINCT job FROM posts WHERE {_DUE} ORDER BY job", values)  # noqa: S608
        ]

    def month_spend(self, now: datetime) -> dict[str, Decimal]:
        """Return the spending in the calendar month (UTC) of `now`, by network."""
        query = "SELECT network, microdollars FROM network_spend WHERE month = ? ORDER BY network"
        return {row["network"]: to_dollars(row["microdollars"]) for row in self._db.rows(query, (month_of(now),))}

    def used_lines(self, job: str) -> UsedLines:
        """Return the lines that `job` has used."""
        rows = self._db.rows("SELECT fingerprint, round FROM used_lines WHERE job = ? ORDER BY position", (job,))
        newest = max((row["round"] for row in rows), default=0)
        current = frozenset(row["fingerprint"] for row in rows if row["round"] == newest)
        return UsedLines(current, tuple(row["fingerprint"] for row in rows))

    def posts_of_lines(self, job: str) -> dict[str, list[PostRecord]]:
        """Return the newest post of each line on each network, by the fingerprint of the line."""
        query = (
            "WHERE id IN (SELECT max(id) FROM posts WHERE job = ? AND line != '' GROUP BY line, network) ORDER BY id"
        )
        posts: dict[str, list[PostRecord]] = {}
        for record in _select_posts(self._db, query, (job,)):
            posts.setdefault(record.line, []).append(record)
        return posts

    def has_post(self, job: str, *, since: datetime, text: str | None = None, line: str = "") -> bool:
        """Return whether `job` has created or sent a post since `since` that did not fail.

        With `text`, only a post of this text or of the line with the fingerprint `line` counts. An
        earlier one that is still to be sent counts, too.
        """
        rows = self._db.rows(
            f"SELECT 1 FROM posts WHERE job = :job AND {_NOT_FAILED}"  # noqa: S608
            f" AND (:text IS NULL OR text = :text OR line = :line)"
            f" AND (coalesce(sent_at, created_at) > :since OR :text IS NOT NULL AND {_PENDING}) LIMIT 1",
            {"job": job, "since": format_instant(since), "text": text, "line": line},
        )
        return bool(rows)

    def resendable_posts(self, job: str) -> list[PostRecord]:
        """Return the posts that a network did not take, newest first, unless posted since."""
        return [record_from_row(row) for row in self._db.rows(_RESENDABLE, {"job": job})]

    def resend_posts(
        self, number: int, *, now: datetime, posts: Mapping[str, Sequence[Post]] | None = None, line: str = ""
    ) -> list[PostRecord]:
        """Send the post `number` again, and the others of its slot that a network did not take.

        Args:
            number: The id of a resendable post.
            posts: New posts by network, in place of the old ones. Each network needs some.
            line: The fingerprint of the line that the new posts were made of.

        Raises:
            UnknownName: There is no resendable post with this number.
            Refused: A run of the job is active, or a part of the thread has the old text.
        """
        with self._db.writing(durable=True) as db:
            records = _resendable_of_slot(db, number)
            job, slot = records[0].job, records[0].slot
            # A run that begins after this transaction finds the line used, and chooses another one.
            if db.execute("SELECT 1 FROM runs WHERE ended IS NULL AND job = ?", (job,)).fetchone():
                raise Refused(f"{job} is posting just now; wait until its run has ended")
            for network, parts in (posts or {}).items():
                old = [each for each in records if each.network == network]
                if len(old) < old[0].parts:
                    raise Refused(
                        f"a part of this thread is on {network} already; send the same text again, or drop it"
                    )
                _delete_posts(db, [each.id for each in old])
                expires_at = now + (old[0].expires_at - old[0].created_at)
                _insert_posts(db, replace(old[0], line=line, created_at=now, expires_at=expires_at), parts)
                db.execute("UPDATE posts SET line = ? WHERE job = ? AND slot = ?", (line, job, slot))
            for each in records if posts is None else ():
                _resend_post(db, each, now)
            used_line = line if posts is not None else records[0].line
            query = "SELECT 1 FROM used_lines WHERE job = ? AND fingerprint = ?"
            if used_line and not db.execute(query, (job, used_line)).fetchone():
                _mark_line_used(db, job, used_line)
            query = f"SELECT * FROM posts WHERE job = ? AND slot = ? AND {_PENDING} ORDER BY network, part"  # noqa: S608
            return [record_from_row(row) for row in db.execute(query, (job, slot)).fetchall()]

    def drop_posts(self, number: int, reason: str) -> list[PostRecord]:
        """Record that the owner does not want the post `number` and the others of its slot.

        Raises:
            UnknownName: There is no resendable post with this number.
        """
        with self._db.writing(durable=True) as db:
            records = _resendable_of_slot(db, number)
            query = "UPDATE posts SET state = ?, reason = ? WHERE id = ?"
            db.executemany(query, [(PostState.DROPPED, reason, each.id) for each in records])
            db.executemany("DELETE FROM post_images WHERE post = ?", [(each.id,) for each in records])
            return records

    def resolve_post(self, number: int, state: PostState, reason: str, *, link: str = "", now: datetime) -> PostRecord:
        """Record the owner's decision about the uncertain post `number`.

        Raises:
            UnknownName: There is no uncertain post with this number.
        """
        with self._db.writing(durable=True) as db:
            query = "SELECT * FROM posts WHERE id = ? AND state = ?"
            row = db.execute(query, (number, PostState.UNCERTAIN)).fetchone()
            if row is None:
                query = "SELECT id FROM posts WHERE state = ? ORDER BY id"
                uncertain = db.execute(query, (PostState.UNCERTAIN,)).fetchall()
                raise UnknownName("uncertain post", str(number), [str(each["id"]) for each in uncertain])
            record = record_from_row(row)
            remote = SentPost(f"resolved {number}", link) if state is PostState.SENT else None
            expires_at = max(record.expires_at, now + (record.expires_at - record.created_at))
            db.execute(
                "UPDATE posts SET expires_at = ?, next_attempt_at = ? WHERE id = ?",
                (format_instant(expires_at), format_instant(now), number),
            )
            # state of the rest of its thread
            rest = PostState.DROPPED if state is PostState.DROPPED else PostState.WAITING
            db.execute(
                "UPDATE posts SET state = ?, expires_at = ?, next_attempt_at = ?"
                " WHERE job = ? AND slot = ? AND network = ? AND part > ? AND state = ?",
                (
                    *(rest, format_instant(expires_at), format_instant(now)),
                    *(record.job, record.slot, record.network, record.part, PostState.ABANDONED),
                ),
            )
            refund = Decimal(0) if state is PostState.SENT else -record.cost
            return _update_state(db, record, _StateChange(state=state, reason=reason, remote=remote, cost=refund), now)

    def delete_old(self, age: timedelta, *, now: datetime) -> None:
        """Delete posts that are final and older than `age`, one batch at each call."""
        with self._db.writing() as db:
            query = f"SELECT id FROM posts WHERE created_at < ? AND NOT {_PENDING} ORDER BY id LIMIT {_DELETE_BATCH}"  # noqa: S608
            _delete_posts(db, [row["id"] for row in db.execute(query, (format_instant(now - age),)).fetchall()])


class JobPostStore(PostDatabase):
    """The posts as `run` of `job` uses them. Each change is on the disk before the method returns.

    `installation` identifies this appliance among others that post to the same account.
    """

    def __init__(
        self, store: Database, job: str, run: int, clock: Callable[[], datetime], installation: str = ""
    ) -> None:
        super().__init__(store)
        self._job, self._run, self._clock = job, run, clock
        self.installation = installation

    def posts_for_slot(self, slot: str) -> list[PostRecord]:
        """Return the posts of `slot`, ordered by network and part."""
        return _select_posts(self._db, "WHERE job = ? AND slot = ? ORDER BY network, part", (self._job, slot))

    def pending_posts(self) -> list[PostRecord]:
        """Return the posts that still have to be sent or searched, oldest first."""
        return _select_posts(self._db, f"WHERE job = ? AND {_PENDING} ORDER BY id", (self._job,))

    def thread_of(self, record: PostRecord) -> list[PostRecord]:
        """Return every part of the thread of `record`, first part first."""
        values = (self._job, record.slot, record.network)
        return _select_posts(self._db, "WHERE job = ? AND slot = ? AND network = ? ORDER BY part", values)

    def create_posts(
        self, slot: str, posts: Mapping[str, Sequence[Post]], *, expires_at: datetime, line: str = ""
    ) -> list[PostRecord]:
        """Record the posts of `slot` for each network in one durable transaction.

        Raises:
            Uncertain: They were recorded before, and damage to the file has lost their result.
        """
        now = self._clock()
        with self._db.writing(durable=True) as db:
            for network, parts in posts.items():
                _claim_post(db, f"{self._job} post {network} {slot}", slot, self._run, format_instant(now))
                shared = PostRecord(
                    id=0,
                    job=self._job,
                    slot=slot,
                    network=network,
                    line=line,
                    text="",
                    created_at=now,
                    expires_at=expires_at,
                    next_attempt_at=now,
                    run=self._run,
                )
                _insert_posts(db, shared, parts)
            if line:
                _mark_line_used(db, self._job, line)
        return self.posts_for_slot(slot)

    def load_post(self, record: PostRecord) -> Post:
        """Return the post of `record` with its pictures."""
        rows = self._db.rows("SELECT * FROM post_images WHERE post = ? ORDER BY number", (record.id,))
        return Post(record.text, tuple(Picture(row["data"], row["mime"], row["alt"]) for row in rows))

    def update_state(
        self,
        record: PostRecord,
        state: PostState,
        reason: str = "",
        *,
        remote: SentPost | None = None,
        cost: Decimal = Decimal(0),
        delay: timedelta = timedelta(0),
    ) -> PostRecord:
        """Set the state of `record` durably, and return the changed record."""
        change = _StateChange(state=state, reason=reason, remote=remote, cost=cost, delay=delay)
        with self._db.writing(durable=True) as db:
            return _update_state(db, record, change, self._clock())

    def add_cost(self, record: PostRecord, cost: Decimal) -> None:
        """Add `cost` to the spending of the month without changing `record`."""
        with self._db.writing() as db:
            _add_spend(db, record.network, cost, self._clock())

    def known_posts(self, network: str) -> dict[str, str]:
        """Return the newest posts on `network` that are accounted for, of all jobs: text by id."""
        query = "SELECT remote_id, text FROM posts WHERE network = ? AND remote_id IS NOT NULL ORDER BY id DESC LIMIT ?"
        return {row["remote_id"]: row["text"] for row in self._db.rows(query, (network, _KNOWN_POSTS))}

    def waits_until(self, network: str) -> datetime | None:
        """Return the time before which `network` wants no more requests, from any job."""
        rows = self._db.rows("SELECT until FROM network_waits WHERE network = ?", (network,))
        return parse_instant(rows[0]["until"]) if rows else None

    def wait_for_network(self, network: str, until: datetime) -> None:
        """Record that `network` has asked for no more requests before `until`."""
        with self._db.writing() as db:
            db.execute("INSERT OR REPLACE INTO network_waits VALUES (?, ?)", (network, format_instant(until)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _StateChange:
    state: PostState
    reason: str
    remote: SentPost | None
    cost: Decimal
    delay: timedelta = timedelta(0)


def _select_posts(store: Database, clauses: str, values: Values) -> list[PostRecord]:
    return [record_from_row(row) for row in store.rows(f"SELECT * FROM posts {clauses}", values)]  # noqa: S608


def _claim_post(db: Transaction, key: str, slot: str, run: int, now: str) -> None:
    """Claim `key` permanently. A claim without a post shows that damage has lost the post."""
    is_new = db.execute("INSERT OR IGNORE INTO claims (key, run, at) VALUES (?, ?, ?)", (key, run, now)).rowcount
    if not is_new or is_blocked(db, slot):
        raise Uncertain(f"the result of the post of {slot} was lost with damage to the history; check the account")


def _newest_remote_id(db: Transaction, network: str) -> str:
    newest = db.execute(_NEWEST_REMOTE_ID, (network,)).fetchone()
    return newest["remote_id"] if newest else ""


def _insert_posts(db: Transaction, shared: PostRecord, parts: Sequence[Post]) -> None:
    """Insert one row for each of `parts`, waiting to be sent; `shared` has the other columns."""
    now, since_id = format_instant(shared.created_at), _newest_remote_id(db, shared.network)
    for part, post in enumerate(parts):
        row = db.execute(
            "INSERT INTO posts (job, slot, network, part, parts, line, text, state,"
            " created_at, expires_at, next_attempt_at, run, since_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            (
                *(shared.job, shared.slot, shared.network, part, len(parts), shared.line, post.text),
                *(PostState.WAITING, now, format_instant(shared.expires_at), now, shared.run, since_id),
            ),
        ).fetchone()
        _insert_images(db, row["id"], post.pictures)


def _resendable_of_slot(db: Transaction, number: int) -> list[PostRecord]:
    """Return the resendable posts of the slot of the post `number`. Raises UnknownName."""
    named = db.execute("SELECT job, slot FROM posts WHERE id = ?", (number,)).fetchone()
    rows = db.execute(_RESENDABLE, {"job": named["job"]}).fetchall() if named else []
    if number not in [row["id"] for row in rows]:
        raise UnknownName("refused post", str(number), [str(row["id"]) for row in rows])
    return [record_from_row(row) for row in reversed(rows) if row["slot"] == named["slot"]]


def _resend_post(db: Transaction, record: PostRecord, now: datetime) -> None:
    # A network that was tried more than once may have the post in spite of its answers, so it is
    # searched first.
    was_unclear = record.attempts > 1
    db.execute(
        "UPDATE posts SET state = ?, reason = ?, attempts = ?, next_attempt_at = ?, expires_at = ?, since_id = ?"
        " WHERE id = ?",
        (
            *((PostState.SENDING, RESENT) if was_unclear else (PostState.WAITING, "")),
            record.attempts if was_unclear else 0,
            format_instant(now),
            format_instant(max(record.expires_at, now + (record.expires_at - record.created_at))),
            record.since_id if was_unclear else _newest_remote_id(db, record.network),
            record.id,
        ),
    )


def _delete_posts(db: Transaction, numbers: Sequence[int]) -> None:
    for table, key in (("posts", "id"), ("post_images", "post")):
        db.executemany(f"DELETE FROM {table} WHERE {key} = ?", [(each,) for each in numbers])  # noqa: S608


def _insert_images(db: Transaction, post: int, pictures: Iterable[Picture]) -> None:
    for number, picture in enumerate(pictures):
        values = (post, number, picture.mime, picture.alt, picture.data)
        db.execute("INSERT INTO post_images (post, number, mime, alt, data) VALUES (?, ?, ?, ?, ?)", values)


def _mark_line_used(db: Transaction, job: str, line: str) -> None:
    """Record the use of `line`. A line of the current round starts a new round."""
    newest = db.execute(
        "SELECT coalesce(max(round), 0) AS round, coalesce(max(position), 0) AS position,"
        " coalesce(max(round) FILTER (WHERE fingerprint = ?), -1) AS round_of_line FROM used_lines WHERE job = ?",
        (line, job),
    ).fetchone()
    round_ = newest["round"] + (newest["round_of_line"] == newest["round"])
    db.execute(
        "INSERT INTO used_lines (job, fingerprint, round, position) VALUES (:job, :line, :round, :position)"
        " ON CONFLICT DO UPDATE SET round = :round, position = :position",
        {"job": job, "line": line, "round": round_, "position": newest["position"] + 1},
    )


def _update_state(db: Transaction, record: PostRecord, change: _StateChange, now: datetime) -> PostRecord:
    _restore_row(db, record)
    row = db.execute(
        "UPDATE posts SET state = :state, reason = :reason, remote_id = coalesce(:id, remote_id),"
        " link = coalesce(:link, link), sent_at = coalesce(sent_at, :sent_at),"
        " cost_microdollars = max(0, cost_microdollars + :cost), attempts = attempts + :attempt,"
        " next_attempt_at = :next WHERE id = :post RETURNING *",
        {
            "post": record.id,
            "state": change.state,
            "reason": change.reason,
            "id": change.remote and change.remote.id,
            "link": change.remote and change.remote.link,
            "sent_at": format_instant(now) if change.remote else None,
            "cost": int(change.cost * MICRODOLLARS),
            "attempt": int(change.state is PostState.SENDING and not change.reason),
            "next": format_instant(now + change.delay),
        },
    ).fetchone()
    _add_spend(db, record.network, change.cost, now)
    if change.state in (PostState.SENT, PostState.DROPPED):
        db.execute("DELETE FROM post_images WHERE post = ?", (record.id,))
    if change.state in FAILED_STATES:
        _release_line(db, record)
    return record_from_row(row)


def _add_spend(db: Transaction, network: str, cost: Decimal, now: datetime) -> None:
    if cost:
        db.execute(
            "INSERT INTO network_spend (network, month, microdollars) VALUES (:network, :month, max(0, :cost))"
            " ON CONFLICT DO UPDATE SET microdollars = max(0, microdollars + :cost)",
            {"network": network, "month": month_of(now), "cost": int(cost * MICRODOLLARS)},
        )


def _restore_row(db: Transaction, record: PostRecord) -> None:
    """Insert the row of `record` again if the repair of a damaged file has lost it."""
    row = {
        **{name: getattr(record, name) for name in _PLAIN_COLUMNS},
        **{name: format_instant(getattr(record, name)) for name in _TIME_COLUMNS},
        "cost_microdollars": int(record.cost * MICRODOLLARS),
    }
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    db.execute(f"INSERT OR IGNORE INTO posts ({names}) VALUES ({marks})", tuple(row.values()))  # noqa: S608


def _release_line(db: Transaction, record: PostRecord) -> None:
    """Make the line of `record` unused again if no network was asked to post it.

    A line that a network has refused stays used: the next line is posted, and the owner decides.
    """
    others = db.execute(
        "SELECT 1 FROM posts WHERE job = ? AND slot = ? AND state NOT IN (?, ?)",
        (record.job, record.slot, PostState.BLOCKED, PostState.ABANDONED),
    ).fetchone()
    if others is None and record.line:
        db.execute("DELETE FROM used_lines WHERE job = ? AND fingerprint = ?", (record.job, record.line))


def prune(store: Database, max_age: timedelta, *, now: datetime) -> None:
    """Delete final posts older than `max_age`: a hook of job kinds that post."""
    PostDatabase(store).delete_old(max_age, now=now)


def has_pending_work(store: Database, job: str, *, now: datetime) -> bool:
    """Return whether a post of `job` is due: a hook of job kinds that post."""
    return job in PostDatabase(store).jobs_due(now)
