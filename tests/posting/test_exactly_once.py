"""Posts through every accident: each is published at most once, and the store agrees.

Networks in memory accept, lose, refuse and forget posts, over a real store; the power fails at any step.
tests/posting/test_kills.py tries the same with real processes and sockets.
"""

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.errors import Refused
from pi_appliance.posting.model import PENDING_STATES, Post, PostState, SentPost
from pi_appliance.posting.store import PostDatabase
from pi_appliance.storage.database import format_instant
from pi_appliance.storage.model import Picture
from tests.examples import examples
from tests.installation import in_memory
from tests.posting.in_memory_networks import InMemoryNetwork, PaidLimits, PostingEnvironment


@pytest.fixture
def posting() -> Iterator[PostingEnvironment]:
    with open_posting() as environment:
        yield environment


@contextlib.contextmanager
def open_posting() -> Iterator[PostingEnvironment]:
    """Yield an environment with its store in memory: a power cut affects the process only."""
    with in_memory() as folder:
        environment = PostingEnvironment(Path(folder, "history.db"))
        try:
            yield environment
        finally:
            environment.database.close()


def add_network(posting: PostingEnvironment, **more) -> InMemoryNetwork:
    """Add the network `x` and one post for it."""
    posting.networks["x"] = InMemoryNetwork(posting.steps, **more)
    posting.create_posts("slot", {"x": ["hello"]})
    return posting.networks["x"]


def test_a_sent_post_is_recorded_with_its_link_and_cost(posting):
    add_network(posting)
    (sent_post,) = posting.send()
    assert (sent_post.state, sent_post.remote, sent_post.attempts, sent_post.cost) == (
        PostState.SENT,
        SentPost("id0", "link"),
        1,
        Decimal("0.015"),
    )
    assert PostDatabase(posting.database).month_spend(posting.now) == {"x": Decimal("0.015")}
    assert posting.send() == []


def test_an_unreachable_network_costs_nothing_and_is_retried_later(posting):
    x = add_network(posting)
    x.faults = ["away"]
    (waits,) = posting.send()
    assert (waits.state, waits.reason, waits.cost) == (PostState.WAITING, "cannot be reached", 0)
    assert waits.next_attempt_at == posting.now + timedelta(seconds=90)
    assert PostDatabase(posting.database).jobs_due(posting.now) == []
    posting.now += timedelta(seconds=91)
    assert PostDatabase(posting.database).jobs_due(posting.now) == ["bird"]
    assert posting.send()[0].state is PostState.SENT
    assert PostDatabase(posting.database).month_spend(posting.now) == {"x": Decimal("0.015")}


def test_nothing_is_sent_to_a_network_before_the_time_that_it_asked_for(posting):
    x = add_network(posting)
    x.faults = ["away"]  # for 90 seconds
    posting.send()
    posting.create_posts("the next line", {"x": ["another"]})
    first, second = posting.send()
    assert (first.state, second.state, second.cost) == (PostState.WAITING, PostState.WAITING, 0)
    assert second.reason == "x accepts no more requests until 2027-03-01 06:01 UTC"
    assert (x.posted, second.next_attempt_at) == ([], posting.now + timedelta(seconds=90))
    posting.now += timedelta(seconds=90)
    assert [each.state for each in posting.send()] == [PostState.SENT, PostState.SENT]


def test_a_wait_recorded_by_a_clock_that_was_ahead_is_ignored(posting):
    x = add_network(posting)
    posting.send()
    posting.now += timedelta(days=900)
    posting.create_posts("ahead", {"x": ["another"]})
    x.faults = ["away"]
    posting.send()
    posting.now -= timedelta(days=900)
    posting.create_posts("now", {"x": ["a third"]})
    assert posting.send()[-1].state is PostState.SENT


def test_an_expired_post_is_given_up_and_its_line_is_free_again(posting):
    x = add_network(posting)
    x.faults = ["away"]
    posting.send()
    assert PostDatabase(posting.database).used_lines("bird").current_round == {"slot"}
    posting.now += timedelta(hours=7)
    (late,) = posting.send()
    assert (late.state, x.stored) == (PostState.ABANDONED, [])
    assert PostDatabase(posting.database).used_lines("bird").current_round == frozenset()


def test_a_refusal_is_not_retried(posting):
    x = add_network(posting)
    x.faults = ["no"]
    (refused,) = posting.send()
    assert (refused.state, refused.reason, refused.cost) == (PostState.REFUSED, "you may not", 0)
    assert posting.send() == []


def test_a_lost_answer_is_looked_up_at_once(posting):
    x = add_network(posting)
    x.faults = ["lost after"]
    (sent_post,) = posting.send()
    assert (sent_post.state, sent_post.remote, len(x.stored)) == (PostState.SENT, SentPost("id0", "link"), 1)
    assert sent_post.cost == Decimal("0.016")  # with the look


def test_a_lost_answer_without_a_lookup_needs_the_owner_and_is_never_resent(posting):
    x = add_network(posting, lookup_allowed=False)
    x.faults = ["lost before"]
    (perhaps,) = posting.send()
    assert (perhaps.state, "looking is not allowed" in perhaps.reason) == (PostState.UNCERTAIN, True)
    posting.now += timedelta(minutes=5)
    assert (posting.send(), x.stored) == ([], [])


@pytest.mark.parametrize(
    ("says", "there"), [(PostState.WAITING, ["hello"]), (PostState.ABANDONED, []), (PostState.SENT, [])]
)
def test_the_owner_settles_a_post(posting, says, there):
    x = add_network(posting, lookup_allowed=False)
    x.faults = ["lost before"]
    (perhaps,) = posting.send()
    posting.now += timedelta(days=2)
    PostDatabase(posting.database).resolve_post(perhaps.id, says, "the owner looked", link="", now=posting.now)
    posting.send()
    assert [text for _, text in x.stored] == there


def test_a_lost_answer_is_resent_only_after_a_lookup_without_a_match(posting):
    x = add_network(posting)
    x.faults = ["lost before"]
    (perhaps,) = posting.send()
    assert (perhaps.state, x.stored) == (PostState.SENDING, [])
    posting.now += timedelta(minutes=2)
    assert posting.send()[0].state is PostState.SENT
    assert len(x.stored) == 1


@pytest.mark.parametrize("is_there", [True, False])
def test_a_network_that_shows_posts_late_is_searched_twice_and_then_the_owner_decides(posting, is_there):
    x = add_network(posting, refuses_twice=False, search_lag=timedelta(minutes=5), clock=lambda: posting.now)
    x.faults = ["lost after" if is_there else "lost before"]
    (first,) = posting.send()
    posting.now += timedelta(seconds=45)
    (early,) = posting.send()
    assert (first.state, early.state, len(x.stored)) == (PostState.SENDING, PostState.SENDING, int(is_there))
    assert early.next_attempt_at == first.next_attempt_at
    posting.now = early.next_attempt_at
    (last,) = posting.send()
    assert last.state is (PostState.SENT if is_there else PostState.UNCERTAIN)
    posting.now += timedelta(hours=1)
    assert (posting.send(), len(x.stored)) == ([], int(is_there)), "it is never sent a second time on its own"


def test_a_post_that_the_owner_sends_again_waits_for_no_second_search(posting):
    x = add_network(posting, search_lag=timedelta(minutes=5), clock=lambda: posting.now)
    x.faults = ["away", "no"]
    posting.send()
    posting.now += timedelta(minutes=5)
    (refused,) = posting.send()
    assert (refused.state, refused.attempts) == (PostState.REFUSED, 2)
    PostDatabase(posting.database).resend_posts(refused.id, now=posting.now)
    assert posting.send()[0].state is PostState.SENT


def test_a_post_is_found_among_any_number_of_newer_ones(posting):
    x = add_network(posting)
    posting.send()
    posting.create_posts("lost", {"x": ["lost"]})
    x.faults, x.failed_lookups = ["lost after"], [True]
    posting.send()
    x.stored += [(f"id{number}", "somebody else's") for number in range(10, 60)]
    assert [(each.slot, each.state) for each in posting.send()] == [("lost", PostState.SENT)]


def test_the_first_post_is_found_after_all_known_ones(posting):
    x = add_network(posting)
    x.faults, x.failed_lookups = ["lost after"], [True] * 60
    posting.send()
    for number in range(50):
        posting.create_posts(f"slot {number}", {"x": [f"hello {number}"]})
        posting.send()
    x.failed_lookups = []
    assert [(each.slot, each.state) for each in posting.send()] == [("slot", PostState.SENT)]


def test_a_duplicate_after_a_lost_answer_is_a_success(posting):
    x = add_network(posting)
    x.faults, x.failed_lookups = ["lost after"], [True]
    posting.send()
    x.stored[0] = ("id0", "hello as the network keeps it")  # so a look does not find it
    x.faults = ["duplicate"]
    (sent_post,) = posting.send()
    assert (sent_post.state, "reported it as a duplicate" in sent_post.reason) == (PostState.SENT, True)


def test_a_duplicate_at_the_first_attempt_is_a_refusal(posting):
    x = add_network(posting)
    x.stored.append(("of-before", "hello"))
    assert posting.send()[0].state is PostState.REFUSED


def test_a_duplicate_of_an_older_post_of_ours_is_a_refusal(posting):
    x = add_network(posting)
    posting.send()
    posting.create_posts("next slot", {"x": ["hello"]})
    x.faults = ["lost before"]
    posting.send()
    posting.now += timedelta(minutes=2)
    (refused,) = posting.send()
    assert (refused.slot, refused.state) == ("next slot", PostState.REFUSED)


def test_an_exception_of_one_network_affects_no_other(posting, capsys):
    x = add_network(posting)
    posting.create_posts("next slot", {"x": ["the next"]})
    x.faults = ["fault"]
    first, second = posting.send()
    assert (first.state, second.state) == (PostState.SENDING, PostState.SENT)
    assert "KeyError" in first.reason
    assert "Traceback" in capsys.readouterr().err
    assert posting.send()[0].state is PostState.SENT


def test_without_keys_an_uncertain_post_waits_and_finally_needs_the_owner(posting):
    x = add_network(posting)
    x.faults, x.failed_lookups = ["lost after"], [True]
    posting.send()
    del posting.networks["x"]
    assert posting.send()[0].state is PostState.SENDING
    posting.now += timedelta(days=4)
    assert posting.send()[0].state is PostState.UNCERTAIN


def test_networks_are_recorded_independently(posting):
    posting.networks = {
        "a": InMemoryNetwork(posting.steps),
        "b": InMemoryNetwork(posting.steps, faults=["away"]),
        "c": InMemoryNetwork(posting.steps, faults=["no"]),
    }
    posting.create_posts("slot", {name: ["hello"] for name in "abc"})
    assert {each.network: each.state for each in posting.send()} == {
        "a": PostState.SENT,
        "b": PostState.WAITING,
        "c": PostState.REFUSED,
    }
    posting.now += timedelta(hours=1)
    assert [(each.network, each.state) for each in posting.send()] == [("b", PostState.SENT)]


def test_a_thread_is_sent_in_order_and_waits_for_a_missing_part(posting):
    x = posting.networks["x"] = InMemoryNetwork(posting.steps)
    posting.create_posts("slot", {"x": ["one", "two", "three"]})
    x.faults = ["", "away"]
    posting.send()
    assert [text for _, text in x.stored] == ["one"]
    posting.now += timedelta(hours=1)
    posting.send()
    assert x.posted == [("one", ()), ("two", ("id0",)), ("three", ("id0", "id1"))]


def test_the_rest_of_a_thread_is_given_up_with_the_previous_part(posting):
    x = posting.networks["x"] = InMemoryNetwork(posting.steps)
    posting.create_posts("slot", {"x": ["one", "two", "three"]})
    x.faults = ["", "no"]
    posting.send()
    assert [each.state for each in reversed(posting.all_posts())] == [
        PostState.SENT,
        PostState.REFUSED,
        PostState.ABANDONED,
    ]


def test_the_rest_of_a_thread_continues_once_the_owner_settles_the_previous_part(posting):
    x = posting.networks["x"] = InMemoryNetwork(posting.steps, lookup_allowed=False, faults=["lost after"])
    posting.create_posts("slot", {"x": ["one", "two"]})
    first, rest = posting.send()
    assert (first.state, rest.state) == (PostState.UNCERTAIN, PostState.ABANDONED)
    PostDatabase(posting.database).resolve_post(first.id, PostState.SENT, "the owner saw it", now=posting.now)
    assert [(each.part, each.state) for each in posting.send()] == [(1, PostState.SENT)]
    assert [text for _, text in x.stored] == ["one", "two"]


def test_the_cap_stops_posting_with_a_reason_until_the_next_month(posting):
    x = posting.networks["x"] = InMemoryNetwork(posting.steps, limits=PaidLimits(monthly_cap=Decimal("0.03")))
    for number in range(3):
        posting.create_posts(f"slot {number}", {"x": [f"hello {number}"]})
    *_, third = posting.send()
    assert (third.state, len(x.stored)) == (PostState.BLOCKED, 2)
    assert "has used $0.03 of its $0.03 this month and the post costs $0.015; raise monthly-cap" in third.reason
    posting.now += timedelta(days=31)
    posting.create_posts("slot 4", {"x": ["hello 4"]})
    assert posting.send()[0].state is PostState.SENT


def test_pictures_are_kept_until_the_post_is_sent(posting):
    posting.networks["x"] = InMemoryNetwork(posting.steps, faults=["away"])
    picture = Picture(b"\x89PNG", "image/png", "a sky")
    posting.store().create_posts(
        "slot", {"x": [Post("hello", (picture,))]}, expires_at=posting.now + timedelta(hours=6)
    )
    (waits,) = posting.send()
    assert posting.store().load_post(waits) == Post("hello", (picture,))
    posting.now += timedelta(hours=1)
    (sent_post,) = posting.send()
    assert posting.store().load_post(sent_post) == Post("hello")


ACCIDENTS = st.sampled_from(["", "", "away", "no", "lost before", "lost after"])
WORLDS = st.fixed_dictionaries(
    {
        "idempotent": st.booleans(),
        "refuses_twice": st.booleans(),
        "lookup_allowed": st.sampled_from([True, True, False]),
        "search_lag": st.sampled_from([timedelta(0), timedelta(minutes=10)]),
    }
)


@settings(max_examples=examples(150))
@given(
    worlds=st.lists(WORLDS, min_size=1, max_size=3),
    rounds=st.lists(
        st.tuples(
            st.booleans(), st.integers(0, 40), st.lists(ACCIDENTS, max_size=4), st.lists(st.booleans(), max_size=3)
        ),
        min_size=1,
        max_size=12,
    ),
    parts=st.integers(1, 3),
)
def test_after_any_accident_each_post_exists_at_most_once_and_the_ledger_is_true(worlds, rounds, parts):
    with open_posting() as posting:
        for number, network in enumerate(worlds):
            posting.networks[f"net{number}"] = InMemoryNetwork(posting.steps, clock=lambda: posting.now, **network)
        for number, (fresh, power, faults, blind) in enumerate(rounds):
            if fresh:
                texts = [f"slot {number} part {part}" for part in range(parts)]
                posting.create_posts(f"slot {number}", dict.fromkeys(posting.networks, texts))
            for network in posting.networks.values():
                network.faults, network.failed_lookups = list(faults), list(blind)
            posting.send(power)
            posting.now += timedelta(minutes=7)
            _check(posting)
        for network in posting.networks.values():
            network.faults, network.failed_lookups = [], []
        for _ in range(2 + parts):
            posting.now += timedelta(minutes=61)
            posting.send()
        _check(posting)
        assert not [each for each in posting.all_posts() if each.state in PENDING_STATES]


def _check(posting: PostingEnvironment) -> None:
    for each in posting.all_posts():
        network = posting.networks[each.network]
        times = [text for _, text in network.stored].count(each.text)
        assert times <= 1, "it is there twice"
        assert each.state is not PostState.SENT or times == 1, "it is said to be there"
        assert each.state not in (PostState.WAITING, PostState.REFUSED, PostState.ABANDONED) or times == 0, (
            "it is said not to be"
        )
        can_tell = network.lookup_allowed and not network.search_lag
        assert each.state is not PostState.UNCERTAIN or not can_tell, "a look would have told"


def test_a_post_that_was_refused_after_an_unclear_answer_is_searched_before_it_is_sent_again(posting):
    x = add_network(posting, refuses_twice=False)
    x.faults = ["lost before", "no"]
    posting.send()
    posting.now += timedelta(minutes=5)
    (refused,) = posting.send()
    assert (refused.state, refused.attempts, refused.cost) == (PostState.REFUSED, 2, 0)
    x.stored.append(("id0", "hello"))  # the first attempt shows up late
    PostDatabase(posting.database).resend_posts(refused.id, now=posting.now)
    (sent_post,) = posting.send()
    assert (sent_post.state, len(x.stored)) == (PostState.SENT, 1)


def test_a_refused_post_is_charged_when_it_is_sent_again(posting):
    x = add_network(posting)
    x.faults = ["no"]
    (refused,) = posting.send()
    PostDatabase(posting.database).resend_posts(refused.id, now=posting.now)
    (sent_post,) = posting.send()
    assert (sent_post.state, sent_post.cost) == (PostState.SENT, Decimal("0.015"))
    assert PostDatabase(posting.database).month_spend(posting.now) == {"x": Decimal("0.015")}


def test_nothing_is_sent_again_while_a_run_could_choose_the_same_line(posting):
    x = add_network(posting)
    x.faults = ["no"]
    (refused,) = posting.send()
    with posting.database.writing() as db:
        query = "INSERT INTO runs (job, kind, trigger, started) VALUES ('bird', 'tweet', 'daemon', ?)"
        db.execute(query, (format_instant(posting.now),))
    with pytest.raises(Refused, match="posting just now"):
        PostDatabase(posting.database).resend_posts(refused.id, now=posting.now)
    assert posting.send() == []
