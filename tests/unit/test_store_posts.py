"""The ledger of posts: rounds of lines, money by the month, what damage may do to it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from pi_appliance.errors import Uncertain, UnknownName
from pi_appliance.posting.model import Post, Sent, State
from pi_appliance.posting.store import JobPosts, Posts
from pi_appliance.storage.runs import Store

NOW = datetime(2027, 3, 31, 23, 30, tzinfo=UTC)
LATE = NOW + timedelta(hours=6)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "history.db") as made:
        yield made


def ledger(store: Store, job: str = "bird", run: int = 1, now: datetime = NOW) -> JobPosts:
    return Posts(store).of_job(job, run, lambda: now)


def test_a_line_that_is_used_again_begins_a_new_round(store):
    rounds = []
    for number, line in enumerate("abcbac"):
        ledger(store).intend(f"slot {number}", {"net": [Post("hello")]}, until=LATE, line=line)
        rounds.append("".join(sorted(Posts(store).used("bird").round)))
    assert rounds == ["a", "ab", "abc", "b", "ab", "abc"]
    assert Posts(store).used("bird").last == ("b", "a", "c")
    assert Posts(store).used("other").round == frozenset()


def test_a_line_that_stands_nowhere_is_free_again_and_one_that_stands_somewhere_is_not(store):
    desk = ledger(store)
    for line, states in {"gone": (State.REFUSED, State.GIVEN_UP), "there": (State.SENT, State.REFUSED)}.items():
        posts = {"a": [Post("hello")], "b": [Post("hello")]}
        for intent, state in zip(desk.intend(line, posts, until=LATE, line=line), states, strict=True):
            desk.put(intent, state, sent=Sent("id", "") if state is State.SENT else None)
    assert desk.used().round == {"there"}


def test_a_slot_is_intended_once(store):
    desk = ledger(store)
    desk.intend("slot", {"net": [Post("hello")]}, until=LATE)
    with pytest.raises(Uncertain, match="check the account"):
        desk.intend("slot", {"net": [Post("something else")]}, until=LATE)
    assert [each.text for each in desk.intended("slot")] == ["hello"]


def test_what_damage_has_taken_from_the_ledger_but_not_from_the_claims_is_not_posted_again(store):
    ledger(store).intend("slot", {"net": [Post("hello")]}, until=LATE)
    with store.writing() as db:
        db.execute("DELETE FROM posts")
    with pytest.raises(Uncertain, match="was lost with damage"):
        ledger(store, run=2).intend("slot", {"net": [Post("hello")]}, until=LATE)


def test_a_post_whose_row_is_lost_while_it_is_sent_is_written_anew(store):
    desk = ledger(store)
    (intent,) = desk.intend("slot", {"net": [Post("hello")]}, until=LATE)
    with store.writing() as db:
        db.execute("DELETE FROM posts")
    sent = desk.put(intent, State.SENT, sent=Sent("id 1", "link"))
    assert (sent.id, sent.text, sent.state) == (intent.id, "hello", State.SENT)
    assert desk.intended("slot") == [sent]


def test_money_is_counted_by_the_month_of_utc_and_outlives_the_posts(store):
    desk = ledger(store)
    (intent,) = desk.intend("slot", {"net": [Post("hello")]}, until=LATE)
    desk.put(intent, State.SENT, sent=Sent("id", ""), cost=Decimal("0.015"))
    ledger(store, now=NOW + timedelta(hours=1)).charge(intent, Decimal("0.001"))
    Posts(store).prune(timedelta(0), now=NOW + timedelta(days=1))
    assert Posts(store).newest() == []
    assert Posts(store).spent(NOW) == {"net": Decimal("0.015")}
    assert Posts(store).spent(NOW + timedelta(hours=1)) == {"net": Decimal("0.001")}


def test_what_is_open_is_not_pruned(store):
    ledger(store).intend("slot", {"net": [Post("hello")]}, until=LATE)
    Posts(store).prune(timedelta(0), now=NOW + timedelta(days=1000))
    assert [each.state for each in Posts(store).newest()] == [State.WAITING]


def test_only_an_uncertain_post_can_be_settled(store):
    desk = ledger(store)
    (intent,) = desk.intend("slot", {"net": [Post("hello")]}, until=LATE)
    with pytest.raises(UnknownName, match="no uncertain post is called '1'"):
        Posts(store).settle(intent.id, State.SENT, "", now=NOW)


def test_known_posts_are_those_of_all_jobs_on_one_network(store):
    for number, (job, network) in enumerate([("bird", "a"), ("bard", "a"), ("bird", "b")]):
        desk = ledger(store, job)
        for intent in desk.intend(f"slot {number}", {network: [Post(f"text {number}")]}, until=LATE):
            desk.put(intent, State.SENT, sent=Sent(f"id {number}", ""))
    assert ledger(store).known("a") == {"id 0": "text 0", "id 1": "text 1"}
