"""Looking for a post among the account's own on X, and asking whose account it is. Nothing is posted by either."""

import json
import os
import stat
from datetime import timedelta
from typing import Any

import pytest

from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.posting.model import Post, SentPost
from pi_appliance.storage.model import Picture
from tests.fakes.x_server import SECRETS, Made, Raw
from tests.posting.networks.x_account import HELLO, connected, place, server

__all__ = ["place", "server"]

PNG = Picture(b"\x89PNG", "image/png")
ME = Raw(200, b'{"data": {"id": "7001", "username": "shelf_bot"}}')


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "Grüße & <mehr> &amp; &lt; \"so\" 'was'",
        "&amp;lt;",
        "two  gaps\nand a line ",
        "see https://example.org/a?b=c&d=e#f, then go",
        "bare example.com/path and example.net",
        "not an address for us: setup.py",
        "https://example.org/",
        "first https://example.org/1 second https://example.org/2",
        "cafe\u0301 is composed by X",
        "👩‍👩‍👧‍👦 🇩🇪 #️⃣",
        "a (b) [c] {d} * + ? . \\ ^ $ |",
        "long https://example.org/" + "a" * 200,
    ],
)
@pytest.mark.parametrize("pictures", [(), (PNG,)])
def test_what_was_posted_is_found_however_x_writes_it(server, text, pictures):
    network, post = connected(server), Post(text, pictures)
    network.post(Post("something before"), key="a")
    sent = network.post(post, key="b")
    network.post(Post("something after"), key="c")

    assert network.find_post(post, key="b", known_ids=()) == sent
    assert len(server.made) == 3, "a look posts nothing"


def test_a_picture_without_words_is_found(server):
    network, post = connected(server), Post("", (PNG,))
    sent = network.post(post, key="k")
    assert network.find_post(post, key="k", known_ids=()) == sent


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        (Post("hello"), Post("hello!")),
        (Post("hello"), Post("hello", (PNG,))),
        (Post("hello", (PNG,)), Post("hello")),
        (Post("new: https://example.org/1"), Post("new: https://example.org/2")),
        (Post("new: https://example.org/1"), Post("new:")),
        (Post("a.b"), Post("axb")),
        (Post("a &amp; b"), Post("a & b")),
        (Post("see https://example.org"), Post("see https://t.co/abc")),
    ],
)
def test_what_read_onlys_like_it_is_not_it(server, there, wanted):
    network = connected(server)
    network.post(there, key="k")
    assert network.find_post(wanted, key="k", known_ids=()) is None


def test_what_is_accounted_for_is_not_it(server):
    network = connected(server)
    sent = network.post(HELLO, key="k")
    assert network.find_post(HELLO, key="k", known_ids={sent.id}) is None


def test_an_account_without_posts_has_it_not(server):
    assert connected(server).find_post(HELLO, key="k", known_ids=()) is None


def test_a_post_that_x_does_not_show_yet_is_not_found_and_then_is(server):
    server.lag = 2
    network = connected(server)
    sent = network.post(HELLO, key="k")
    assert [network.find_post(HELLO, key="k", known_ids=()) for _ in range(3)] == [None, None, sent]


@pytest.mark.parametrize(("since", "found"), [("first", True), ("", False)])
def test_all_that_was_posted_since_one_that_was_there_before_is_looked_at(server, since, found):
    network = connected(server)
    first = network.post(Post("first"), key="1")
    lost = network.post(HELLO, key="2")
    server.made += [Made(str(2000 + number), f"and then {number}", None, (), 0) for number in range(250)]
    seen = network.find_post(HELLO, key="2", known_ids=(), since_id=first.id if since else "")
    assert seen == (lost if found else None)
    assert network.find_post(Post("first"), key="1", known_ids=(), since_id=first.id) is None


def test_without_a_beginning_the_look_goes_back_behind_all_that_is_known(server):
    network = connected(server)
    lost = network.post(HELLO, key="lost")
    server.made += [Made(str(2000 + number), f"and then {number}", None, (), 0) for number in range(250)]
    known = {made.id for made in server.made[1:]}
    assert network.find_post(HELLO, key="lost", known_ids=known) == lost
    assert network.find_post(Post("another"), key="k", known_ids=known) is None


def test_more_than_can_be_looked_at_is_left_to_the_owner(server):
    network = connected(server)
    first = network.post(Post("first"), key="1")
    server.made += [Made(str(2000 + number), f"and then {number}", None, (), 0) for number in range(501)]
    with pytest.raises(Refused, match="more than 500 newer posts"):
        network.find_post(HELLO, key="2", known_ids=(), since_id=first.id)


def timeline(*entries: dict[str, Any]) -> Raw:
    return Raw(200, json.dumps({"data": entries, "meta": {"result_count": len(entries)}}).encode())


def link(whole: str, **more: str) -> dict[str, Any]:
    return {"urls": [{"url": "https://t.co/abc", "expanded_url": whole, **more}]}


@pytest.mark.parametrize(
    ("text", "entities", "wanted"),
    [
        ("https://t.co/abc", link("http://xn--mnchen-3ya.example/a%C3%A4"), "münchen.example/aä"),
        (
            "https://t.co/abc",
            link("https://a.example/short", unwound_url="https://b.example/long"),
            "https://b.example/long",
        ),
        ("https://t.co/abc", link("https://EXAMPLE.org"), "https://example.org/"),
        ("https://t.co/abc", {}, "https://t.co/abc"),
        ("words https://t.co/xyz", link("https://example.org"), "words https://t.co/xyz"),
        ("\0 words", {}, "words"),
    ],
)
def test_addresses_are_known_in_each_way_they_can_be_written(server, text, entities, wanted):
    server.faults += [ME, timeline({"id": "5", "text": text, "entities": entities})]
    assert connected(server).find_post(Post(wanted), key="k", known_ids=()) == SentPost(
        "5", "https://x.com/i/web/status/5"
    )


def test_a_picture_is_known_without_its_entity(server):
    server.faults += [ME, timeline({"id": "5", "text": "hello https://t.co/abc"})]
    found = connected(server).find_post(Post("hello", (PNG,)), key="k", known_ids=())
    assert found is not None


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        (401, Refused, "four X_ secrets"),
        (402, Refused, "credit"),
        (403, Refused, "does not allow this app to see"),
        (404, Refused, "404"),
        (429, Unavailable, "429"),
        (500, Unavailable, "internal error"),
        (408, Unavailable, "408"),
        ("cut-before", Unavailable, "broke before it answered"),
        ("cut-after", Unavailable, "broke before it answered"),
        ("cut-in-answer", Unavailable, "broke before it answered"),
        ("hang", Unavailable, "took too long"),
        ("hang-before", Unavailable, "took too long"),
        ("drip", Unavailable, "took too long"),
        ("drip-head", Unavailable, "took too long"),
        ("redirect", Unavailable, "an invalid response (307"),
        ("html", Unavailable, "an invalid response"),
        ("not-an-object", Unavailable, "an invalid response"),
        (Raw(200, b"{}"), Unavailable, "an invalid response"),
        (Raw(200, b'{"errors": [{"detail": "suspended"}]}'), Unavailable, "an invalid response"),
        (Raw(200, b'{"data": null, "meta": null}'), Unavailable, "an invalid response"),
        (Raw(200, b'{"data": {}, "meta": {"result_count": 0}}'), Unavailable, "an invalid response"),
        (Raw(200, b'{"data": ""}'), Unavailable, "an invalid response"),
    ],
    ids=str,
)
@pytest.mark.parametrize("asked", ["look", "whoami"])
def test_each_answer_to_a_look_leaves_nothing_uncertain(server, fault, error, says, asked):
    network = connected(server, timeout=timedelta(seconds=0.3))
    if asked == "look":
        server.faults.append(None)  # who it is, it says
    server.faults.append(fault)

    with pytest.raises(ApplianceError) as raised:
        _ = network.find_post(HELLO, key="k", known_ids=()) if asked == "look" else network.whoami()

    assert type(raised.value) is error
    assert says in str(raised.value)
    assert "check the account" not in str(raised.value)
    assert server.posts == []


@pytest.mark.parametrize(
    "entry",
    [[], "text", {}, {"id": "5"}, {"id": "5", "text": 7}, {"id": [], "text": "hello"}, {"id": "x", "text": "hello"}]
    + [{"id": "5", "text": "hello", "entities": each} for each in (7, {"urls": 7}, {"urls": [7]}, {"urls": [{}]})],
    ids=str,
)
def test_a_timeline_that_makes_no_sense_is_unavailable(server, entry):
    server.faults += [ME, timeline(entry)]
    with pytest.raises(Unavailable, match="an invalid response"):
        connected(server).find_post(HELLO, key="k", known_ids=())


def test_where_the_owner_does_not_want_to_pay_for_a_look_nothing_is_asked(server):
    with pytest.raises(Refused, match="verify-uncertain is false"):
        connected(server, verify_uncertain=False).find_post(HELLO, key="k", known_ids=())
    assert server.requests == 0


def test_no_server_is_unavailable():
    network = connected("http://127.0.0.1:9")
    for ask in (network.whoami, lambda: network.find_post(HELLO, key="k", known_ids=())):
        with pytest.raises(Unavailable, match="online"):
            ask()


def test_whoami_proves_the_keys_and_names_the_account(server):
    assert connected(server).whoami() == "@shelf_bot on X"
    assert server.paths() == ["GET /2/users/me"]


def test_whoami_shows_of_keys_that_may_only_read(server):
    server.headers["x-access-level"] = "read"
    with pytest.raises(Refused, match="@shelf_bot may read but not post; give the app write permission"):
        connected(server).whoami()
    server.headers["x-access-level"] = "read-write-directmessages"
    assert connected(server).whoami() == "@shelf_bot on X"


@pytest.mark.parametrize("name", [None, 7, "", "two words", "\u001b[31m", "a" * 99])
def test_an_account_whose_name_is_none_makes_no_sense(server, name):
    server.faults.append(Raw(200, json.dumps({"data": {"id": "7001", "username": name}}).encode()))
    with pytest.raises(Unavailable, match="an invalid response"):
        connected(server).whoami()


def test_who_it_is_is_asked_once_and_kept_for_the_owner_alone(server, place):
    for _ in range(3):
        network = connected(server, place)
        network.find_post(HELLO, key="k", known_ids=())
        network.find_post(HELLO, key="k", known_ids=())
    assert server.paths() == ["GET /2/users/me"] + 6 * ["GET /2/users/7001/tweets"]
    (file,) = place.private.iterdir()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (place.private, file)] == [0o700, 0o600]
    assert not any(secret in file.read_text("ascii") for secret in SECRETS.values())


def test_other_keys_in_the_same_place_are_asked_whose_they_are(server, place):
    connected(server, place).find_post(HELLO, key="k", known_ids=())
    server.keys.token = "another-token"
    connected(server, place, secrets=SECRETS | {"X_ACCESS_TOKEN": "another-token"}).find_post(
        HELLO, key="k", known_ids=()
    )
    assert server.paths().count("GET /2/users/me") == 2


@pytest.mark.parametrize("kept", ["", "{", "[]", "null", '{"id": 7}', '{"id": "../x", "token": "y"}', "\u00e4"])
def test_a_damaged_memory_is_forgotten(server, place, kept):
    connected(server, place).find_post(HELLO, key="k", known_ids=())
    (file,) = place.private.iterdir()
    file.write_text(kept, "utf-8")
    assert connected(server, place).find_post(HELLO, key="k", known_ids=()) is None
    assert json.loads(file.read_text("ascii"))["id"] == "7001"


def test_a_place_that_cannot_be_written_costs_no_more_than_a_question(server, place):
    place.private.write_text("a file where a folder should be", "ascii")
    network = connected(server, place)
    network.find_post(HELLO, key="k", known_ids=())
    network.find_post(HELLO, key="k", known_ids=())
    assert server.paths().count("GET /2/users/me") == 1
    assert os.listdir(place.private.parent) == ["private"]  # noqa: PTH208 - names are all that is wanted
