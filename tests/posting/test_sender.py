"""Posts through every accident: each is there at most once, and what the store says of it is true.

A world of networks in memory, which take, lose, refuse and forget, over a real store; the power goes at any step. What
real processes and sockets add to that is tried in tests/posting/test_exactly_once.py.
"""

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.posting.model import PENDING_STATES, Post, PostState, SentPost
from pi_appliance.posting.store import PostDatabase
from pi_appliance.storage.model import Picture
from tests.installation import in_memory
from tests.posting.in_memory_networks import Desk, PaidLimits, World


@pytest.fixture
def desk() -> Iterator[Desk]:
    with new_desk() as made:
        yield made


@contextlib.contextmanager
def new_desk() -> Iterator[Desk]:
    """Give a desk whose store is a file in memory: the power goes for the process, never for the disk."""
    with in_memory() as folder:
        made = Desk(Path(folder, "history.db"))
        try:
            yield made
        finally:
            made.database.close()


def one(desk: Desk, **more) -> World:
    """Let there be one network, x, and one post for it."""
    desk.networks["x"] = World(desk.steps, **more)
    desk.create_posts("slot", {"x": ["hello"]})
    return desk.networks["x"]


def test_a_sent_post_is_recorded_with_its_link_and_cost(desk):
    one(desk)
    (sent,) = desk.send()
    assert (sent.state, sent.remote, sent.attempts, sent.cost) == (
        PostState.SENT,
        SentPost("id0", "link"),
        1,
        Decimal("0.015"),
    )
    assert PostDatabase(desk.database).month_spend(desk.now) == {"x": Decimal("0.015")}
    assert desk.send() == []


def test_an_unreachable_network_costs_nothing_and_is_retried_later(desk):
    x = one(desk)
    x.faults = ["away"]
    (waits,) = desk.send()
    assert (waits.state, waits.reason, waits.cost) == (PostState.WAITING, "cannot be reached", 0)
    assert waits.next_attempt_at == desk.now + timedelta(seconds=90)
    assert PostDatabase(desk.database).jobs_due(desk.now) == []
    desk.now += timedelta(seconds=91)
    assert PostDatabase(desk.database).jobs_due(desk.now) == ["bird"]
    assert desk.send()[0].state is PostState.SENT
    assert PostDatabase(desk.database).month_spend(desk.now) == {"x": Decimal("0.015")}


def test_an_expired_post_is_given_up_and_its_line_is_free_again(desk):
    x = one(desk)
    x.faults = ["away"]
    desk.send()
    assert PostDatabase(desk.database).used_lines("bird").current_round == {"slot"}
    desk.now += timedelta(hours=7)
    (late,) = desk.send()
    assert (late.state, x.there) == (PostState.ABANDONED, [])
    assert PostDatabase(desk.database).used_lines("bird").current_round == frozenset()


def test_a_refusal_is_not_retried(desk):
    x = one(desk)
    x.faults = ["no"]
    (refused,) = desk.send()
    assert (refused.state, refused.reason, refused.cost) == (PostState.REFUSED, "you may not", 0)
    assert desk.send() == []


def test_a_lost_answer_is_looked_up_at_once(desk):
    x = one(desk)
    x.faults = ["lost after"]
    (sent,) = desk.send()
    assert (sent.state, sent.remote, len(x.there)) == (PostState.SENT, SentPost("id0", "link"), 1)
    assert sent.cost == Decimal("0.016")  # with the look


def test_a_lost_answer_without_a_lookup_needs_the_owner_and_is_never_resent(desk):
    x = one(desk, may_look=False)
    x.faults = ["lost before"]
    (perhaps,) = desk.send()
    assert (perhaps.state, "looking is not allowed" in perhaps.reason) == (PostState.UNCERTAIN, True)
    desk.now += timedelta(minutes=5)
    assert (desk.send(), x.there) == ([], [])


@pytest.mark.parametrize(
    ("says", "there"), [(PostState.WAITING, ["hello"]), (PostState.ABANDONED, []), (PostState.SENT, [])]
)
def test_the_owner_settles_a_post(desk, says, there):
    x = one(desk, may_look=False)
    x.faults = ["lost before"]
    (perhaps,) = desk.send()
    desk.now += timedelta(days=2)
    PostDatabase(desk.database).resolve_post(perhaps.id, says, "the owner looked", link="", now=desk.now)
    desk.send()
    assert [text for _, text in x.there] == there


def test_a_lost_answer_is_resent_only_after_a_lookup_without_a_match(desk):
    x = one(desk)
    x.faults = ["lost before"]
    (perhaps,) = desk.send()
    assert (perhaps.state, x.there) == (PostState.SENDING, [])
    desk.now += timedelta(minutes=2)
    assert desk.send()[0].state is PostState.SENT
    assert len(x.there) == 1


def test_a_post_is_found_among_any_number_of_newer_ones(desk):
    x = one(desk)
    desk.send()
    desk.create_posts("lost", {"x": ["lost"]})
    x.faults, x.blind = ["lost after"], [True]
    desk.send()
    x.there += [(f"id{number}", "somebody else's") for number in range(10, 60)]
    assert [(each.slot, each.state) for each in desk.send()] == [("lost", PostState.SENT)]


def test_the_first_post_is_found_after_all_known_ones(desk):
    x = one(desk)
    x.faults, x.blind = ["lost after"], [True] * 60
    desk.send()
    for number in range(50):
        desk.create_posts(f"slot {number}", {"x": [f"hello {number}"]})
        desk.send()
    x.blind = []
    assert [(each.slot, each.state) for each in desk.send()] == [("slot", PostState.SENT)]


def test_a_duplicate_after_a_lost_answer_is_a_success(desk):
    x = one(desk)
    x.faults, x.blind = ["lost after"], [True]
    desk.send()
    x.there[0] = ("id0", "hello as the network keeps it")  # so a look does not find it
    x.faults = ["duplicate"]
    (sent,) = desk.send()
    assert (sent.state, "reported it as a duplicate" in sent.reason) == (PostState.SENT, True)


def test_a_duplicate_at_the_first_attempt_is_a_refusal(desk):
    x = one(desk)
    x.there.append(("of-before", "hello"))
    assert desk.send()[0].state is PostState.REFUSED


def test_a_duplicate_of_an_older_post_of_ours_is_a_refusal(desk):
    x = one(desk)
    desk.send()
    desk.create_posts("next slot", {"x": ["hello"]})
    x.faults = ["lost before"]
    desk.send()
    desk.now += timedelta(minutes=2)
    (refused,) = desk.send()
    assert (refused.slot, refused.state) == ("next slot", PostState.REFUSED)


def test_an_exception_of_one_network_affects_no_other(desk, capsys):
    x = one(desk)
    desk.create_posts("next slot", {"x": ["the next"]})
    x.faults = ["fault"]
    first, second = desk.send()
    assert (first.state, second.state) == (PostState.SENDING, PostState.SENT)
    assert "KeyError" in first.reason
    assert "Traceback" in capsys.readouterr().err
    assert desk.send()[0].state is PostState.SENT


def test_without_keys_an_uncertain_post_waits_and_finally_needs_the_owner(desk):
    x = one(desk)
    x.faults, x.blind = ["lost after"], [True]
    desk.send()
    del desk.networks["x"]
    assert desk.send()[0].state is PostState.SENDING
    desk.now += timedelta(days=4)
    assert desk.send()[0].state is PostState.UNCERTAIN


def test_networks_are_recorded_independently(desk):
    desk.networks = {
        "a": World(desk.steps),
        "b": World(desk.steps, faults=["away"]),
        "c": World(desk.steps, faults=["no"]),
    }
    desk.create_posts("slot", {name: ["hello"] for name in "abc"})
    assert {each.network: each.state for each in desk.send()} == {
        "a": PostState.SENT,
        "b": PostState.WAITING,
        "c": PostState.REFUSED,
    }
    desk.now += timedelta(hours=1)
    assert [(each.network, each.state) for each in desk.send()] == [("b", PostState.SENT)]


def test_a_thread_is_sent_in_order_and_waits_for_a_missing_part(desk):
    x = desk.networks["x"] = World(desk.steps)
    desk.create_posts("slot", {"x": ["one", "two", "three"]})
    x.faults = ["", "away"]
    desk.send()
    assert [text for _, text in x.there] == ["one"]
    desk.now += timedelta(hours=1)
    desk.send()
    assert x.posted == [("one", ()), ("two", ("id0",)), ("three", ("id0", "id1"))]


def test_the_rest_of_a_thread_is_given_up_with_the_previous_part(desk):
    x = desk.networks["x"] = World(desk.steps)
    desk.create_posts("slot", {"x": ["one", "two", "three"]})
    x.faults = ["", "no"]
    desk.send()
    assert [each.state for each in reversed(desk.all())] == [PostState.SENT, PostState.REFUSED, PostState.ABANDONED]


def test_the_rest_of_a_thread_continues_once_the_owner_settles_the_previous_part(desk):
    x = desk.networks["x"] = World(desk.steps, may_look=False, faults=["lost after"])
    desk.create_posts("slot", {"x": ["one", "two"]})
    first, rest = desk.send()
    assert (first.state, rest.state) == (PostState.UNCERTAIN, PostState.ABANDONED)
    PostDatabase(desk.database).resolve_post(first.id, PostState.SENT, "the owner saw it", now=desk.now)
    assert [(each.part, each.state) for each in desk.send()] == [(1, PostState.SENT)]
    assert [text for _, text in x.there] == ["one", "two"]


def test_the_cap_stops_posting_with_a_reason_until_the_next_month(desk):
    x = desk.networks["x"] = World(desk.steps, limits=PaidLimits(monthly_cap=Decimal("0.03")))
    for number in range(3):
        desk.create_posts(f"slot {number}", {"x": [f"hello {number}"]})
    *_, third = desk.send()
    assert (third.state, len(x.there)) == (PostState.REFUSED, 2)
    assert "has used $0.03 of its $0.03 this month and the post costs $0.015; raise monthly-cap" in third.reason
    desk.now += timedelta(days=31)
    desk.create_posts("slot 4", {"x": ["hello 4"]})
    assert desk.send()[0].state is PostState.SENT


def test_pictures_are_kept_until_the_post_is_sent(desk):
    desk.networks["x"] = World(desk.steps, faults=["away"])
    picture = Picture(b"\x89PNG", "image/png", "a sky")
    desk.store().create_posts("slot", {"x": [Post("hello", (picture,))]}, expires_at=desk.now + timedelta(hours=6))
    (waits,) = desk.send()
    assert desk.store().load_post(waits) == Post("hello", (picture,))
    desk.now += timedelta(hours=1)
    (sent,) = desk.send()
    assert desk.store().load_post(sent) == Post("hello")


ACCIDENTS = st.sampled_from(["", "", "away", "no", "lost before", "lost after"])
WORLDS = st.fixed_dictionaries(
    {"idempotent": st.booleans(), "refuses_twice": st.booleans(), "may_look": st.sampled_from([True, True, False])}
)


@settings(max_examples=150)
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
    with new_desk() as desk:
        for number, world in enumerate(worlds):
            desk.networks[f"net{number}"] = World(desk.steps, **world)
        for number, (fresh, power, faults, blind) in enumerate(rounds):
            if fresh:
                texts = [f"slot {number} part {part}" for part in range(parts)]
                desk.create_posts(f"slot {number}", dict.fromkeys(desk.networks, texts))
            for world in desk.networks.values():
                world.faults, world.blind = list(faults), list(blind)
            desk.send(power)
            desk.now += timedelta(minutes=7)
            _check(desk)
        for world in desk.networks.values():
            world.faults, world.blind = [], []
        for _ in range(2 + parts):
            desk.now += timedelta(minutes=61)
            desk.send()
        _check(desk)
        assert not [each for each in desk.all() if each.state in PENDING_STATES]


def _check(desk: Desk) -> None:
    for each in desk.all():
        world = desk.networks[each.network]
        times = [text for _, text in world.there].count(each.text)
        assert times <= 1, "it is there twice"
        assert each.state is not PostState.SENT or times == 1, "it is said to be there"
        assert each.state not in (PostState.WAITING, PostState.REFUSED, PostState.ABANDONED) or times == 0, (
            "it is said not to be"
        )
        assert each.state is not PostState.UNCERTAIN or not world.may_look, "a look would have told"
