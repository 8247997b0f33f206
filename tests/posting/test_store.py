"""The store of posts: rounds of lines, monthly cost, and the effects of damage."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from pi_appliance.errors import Uncertain, UnknownName
from pi_appliance.posting.model import Post, PostState, SentPost
from pi_appliance.posting.store import JobPostStore, PostDatabase
from pi_appliance.storage.history import Store

NOW = datetime(2027, 3, 31, 23, 30, tzinfo=UTC)
LATE = NOW + timedelta(hours=6)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "history.db") as new_store:
        yield new_store


def job_posts(store: Store, job: str = "bird", run: int = 1, now: datetime = NOW) -> JobPostStore:
    return JobPostStore(store, job, run, lambda: now)


def test_reusing_a_line_starts_a_new_round(store):
    rounds = []
    for number, line in enumerate("abcbac"):
        job_posts(store).create_posts(f"slot {number}", {"net": [Post("hello")]}, expires_at=LATE, line=line)
        rounds.append("".join(sorted(PostDatabase(store).used_lines("bird").current_round)))
    assert rounds == ["a", "ab", "abc", "b", "ab", "abc"]
    assert PostDatabase(store).used_lines("bird").by_last_use == ("b", "a", "c")
    assert PostDatabase(store).used_lines("other").current_round == frozenset()


def test_only_an_unpublished_line_is_free_again(store):
    desk = job_posts(store)
    for line, states in {
        "gone": (PostState.BLOCKED, PostState.ABANDONED),
        "bad": (PostState.REFUSED, PostState.ABANDONED),
        "there": (PostState.SENT, PostState.REFUSED),
    }.items():
        posts = {"a": [Post("hello")], "b": [Post("hello")]}
        for record, state in zip(desk.create_posts(line, posts, expires_at=LATE, line=line), states, strict=True):
            desk.update_state(record, state, remote=SentPost("id", "") if state is PostState.SENT else None)
    assert desk.used_lines("bird").current_round == {"there", "bad"}, "a refused line steps back"


def test_a_slot_is_planned_once(store):
    desk = job_posts(store)
    desk.create_posts("slot", {"net": [Post("hello")]}, expires_at=LATE)
    with pytest.raises(Uncertain, match="check the account"):
        desk.create_posts("slot", {"net": [Post("something else")]}, expires_at=LATE)
    assert [each.text for each in desk.posts_for_slot("slot")] == ["hello"]


def test_a_post_lost_from_the_ledger_but_not_the_claims_is_not_sent_again(store):
    job_posts(store).create_posts("slot", {"net": [Post("hello")]}, expires_at=LATE)
    with store.writing() as db:
        db.execute("DELETE FROM posts")
    with pytest.raises(Uncertain, match="was lost with damage"):
        job_posts(store, run=2).create_posts("slot", {"net": [Post("hello")]}, expires_at=LATE)


def test_a_row_lost_while_sending_is_written_again(store):
    desk = job_posts(store)
    (record,) = desk.create_posts("slot", {"net": [Post("hello")]}, expires_at=LATE)
    with store.writing() as db:
        db.execute("DELETE FROM posts")
    sent_post = desk.update_state(record, PostState.SENT, remote=SentPost("id 1", "link"))
    assert (sent_post.id, sent_post.text, sent_post.state) == (record.id, "hello", PostState.SENT)
    assert desk.posts_for_slot("slot") == [sent_post]


def test_cost_is_counted_by_utc_month_and_outlives_the_posts(store):
    desk = job_posts(store)
    (record,) = desk.create_posts("slot", {"net": [Post("hello")]}, expires_at=LATE)
    desk.update_state(record, PostState.SENT, remote=SentPost("id", ""), cost=Decimal("0.015"))
    job_posts(store, now=NOW + timedelta(hours=1)).add_cost(record, Decimal("0.001"))
    PostDatabase(store).delete_old(timedelta(0), now=NOW + timedelta(days=1))
    assert PostDatabase(store).newest_posts() == []
    assert PostDatabase(store).month_spend(NOW) == {"net": Decimal("0.015")}
    assert PostDatabase(store).month_spend(NOW + timedelta(hours=1)) == {"net": Decimal("0.001")}


def test_pending_posts_are_not_pruned(store):
    job_posts(store).create_posts("slot", {"net": [Post("hello")]}, expires_at=LATE)
    PostDatabase(store).delete_old(timedelta(0), now=NOW + timedelta(days=1000))
    assert [each.state for each in PostDatabase(store).newest_posts()] == [PostState.WAITING]


def test_only_an_uncertain_post_can_be_settled(store):
    desk = job_posts(store)
    (record,) = desk.create_posts("slot", {"net": [Post("hello")]}, expires_at=LATE)
    with pytest.raises(UnknownName, match="no uncertain post is called '1'"):
        PostDatabase(store).resolve_post(record.id, PostState.SENT, "", now=NOW)


def test_known_posts_are_those_of_all_jobs_on_one_network(store):
    for number, (job, network) in enumerate([("bird", "a"), ("bard", "a"), ("bird", "b")]):
        desk = job_posts(store, job)
        for record in desk.create_posts(f"slot {number}", {network: [Post(f"text {number}")]}, expires_at=LATE):
            desk.update_state(record, PostState.SENT, remote=SentPost(f"id {number}", ""))
    assert job_posts(store).known_posts("a") == {"id 0": "text 0", "id 1": "text 1"}
