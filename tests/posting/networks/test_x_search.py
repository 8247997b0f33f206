"""Searching the own posts on X, and requesting the account name."""

import json
import os
import stat
from datetime import timedelta
from typing import Any

import pytest

from pi_appliance.errors import AccountBlocked, ApplianceError, Refused, Unavailable
from pi_appliance.posting.model import Post, SentPost
from pi_appliance.storage.model import Picture
from tests.fakes.x_server import SECRETS, CreatedPost, Raw
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
def test_a_post_is_found_however_x_writes_it(server, text, pictures):
    network, post = connected(server), Post(text, pictures)
    network.post(Post("something before"), key="a")
    sent_post = network.post(post, key="b")
    network.post(Post("something after"), key="c")

    assert network.find_post(post, key="b", known_ids=()) == sent_post
    assert len(server.made) == 3, "a look posts nothing"


def test_a_picture_without_text_is_found(server):
    network, post = connected(server), Post("", (PNG,))
    sent_post = network.post(post, key="k")
    assert network.find_post(post, key="k", known_ids=()) == sent_post


@pytest.mark.parametrize(
    ("there", "expected"),
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
def test_a_similar_post_is_not_found(server, there, expected):
    network = connected(server)
    network.post(there, key="k")
    assert network.find_post(expected, key="k", known_ids=()) is None


def test_a_recorded_post_is_not_found(server):
    network = connected(server)
    sent_post = network.post(HELLO, key="k")
    assert network.find_post(HELLO, key="k", known_ids={sent_post.id}) is None


def test_an_account_without_posts_has_no_match(server):
    assert connected(server).find_post(HELLO, key="k", known_ids=()) is None


def test_a_post_is_found_as_soon_as_x_shows_it(server):
    server.lag = 2
    network = connected(server)
    sent_post = network.post(HELLO, key="k")
    assert [network.find_post(HELLO, key="k", known_ids=()) for _ in range(3)] == [None, None, sent_post]


@pytest.mark.parametrize(("since", "result"), [("first", True), ("", False)])
def test_all_posts_since_a_known_one_are_searched(server, since, result):
    network = connected(server)
    first = network.post(Post("first"), key="1")
    lost = network.post(HELLO, key="2")
    server.made += [CreatedPost(str(2000 + number), f"and then {number}", None, (), 0) for number in range(250)]
    found_post = network.find_post(HELLO, key="2", known_ids=(), since_id=first.id if since else "")
    assert found_post == (lost if result else None)
    assert network.find_post(Post("first"), key="1", known_ids=(), since_id=first.id) is None


def test_without_a_known_post_the_search_covers_all_known_posts(server):
    network = connected(server)
    lost = network.post(HELLO, key="lost")
    server.made += [CreatedPost(str(2000 + number), f"and then {number}", None, (), 0) for number in range(250)]
    known_ids = {post.id for post in server.made[1:]}
    assert network.find_post(HELLO, key="lost", known_ids=known_ids) == lost
    assert network.find_post(Post("another"), key="k", known_ids=known_ids) is None


def test_more_posts_than_can_be_searched_need_the_owner(server):
    network = connected(server)
    first = network.post(Post("first"), key="1")
    server.made += [CreatedPost(str(2000 + number), f"and then {number}", None, (), 0) for number in range(501)]
    with pytest.raises(Refused, match="more than 500 newer posts"):
        network.find_post(HELLO, key="2", known_ids=(), since_id=first.id)


def timeline(*entries: dict[str, Any]) -> Raw:
    return Raw(200, json.dumps({"data": entries, "meta": {"result_count": len(entries)}}).encode())


def link(whole: str, **more: str) -> dict[str, Any]:
    return {"urls": [{"url": "https://t.co/abc", "expanded_url": whole, **more}]}


@pytest.mark.parametrize(
    ("text", "entities", "expected"),
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
def test_addresses_are_recognized_in_every_spelling(server, text, entities, expected):
    server.faults += [ME, timeline({"id": "5", "text": text, "entities": entities})]
    assert connected(server).find_post(Post(expected), key="k", known_ids=()) == SentPost(
        "5", "https://x.com/i/web/status/5"
    )


def test_a_picture_is_recognized_without_its_entity(server):
    server.faults += [ME, timeline({"id": "5", "text": "hello https://t.co/abc"})]
    result = connected(server).find_post(Post("hello", (PNG,)), key="k", known_ids=())
    assert result is not None


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        (401, AccountBlocked, "four X_ secrets"),
        (402, AccountBlocked, "credit"),
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
def test_each_answer_to_a_search_has_the_right_meaning(server, fault, error, says, asked):
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
def test_an_invalid_timeline_is_unavailable(server, entry):
    server.faults += [ME, timeline(entry)]
    with pytest.raises(Unavailable, match="an invalid response"):
        connected(server).find_post(HELLO, key="k", known_ids=())


def test_without_paid_searches_nothing_is_requested(server):
    with pytest.raises(Refused, match="verify-uncertain is false"):
        connected(server, verify_uncertain=False).find_post(HELLO, key="k", known_ids=())
    assert server.requests == 0


def test_no_server_is_unavailable():
    network = connected("http://127.0.0.1:9")
    for ask in (network.whoami, lambda: network.find_post(HELLO, key="k", known_ids=())):
        with pytest.raises(Unavailable, match="online"):
            ask()


def test_whoami_checks_the_keys_and_names_the_account(server):
    assert connected(server).whoami() == "@shelf_bot on X"
    assert server.paths() == ["GET /2/users/me"]


def test_whoami_reports_read_only_keys(server):
    server.headers["x-access-level"] = "read"
    with pytest.raises(Refused, match="@shelf_bot may read but not post; give the app write permission"):
        connected(server).whoami()
    server.headers["x-access-level"] = "read-write-directmessages"
    assert connected(server).whoami() == "@shelf_bot on X"


@pytest.mark.parametrize("name", [None, 7, "", "two words", "\u001b[31m", "a" * 99])
def test_an_invalid_account_name_is_refused(server, name):
    server.faults.append(Raw(200, json.dumps({"data": {"id": "7001", "username": name}}).encode()))
    with pytest.raises(Unavailable, match="an invalid response"):
        connected(server).whoami()


def test_the_account_is_requested_once_and_stored_privately(server, place):
    for _ in range(3):
        network = connected(server, place)
        network.find_post(HELLO, key="k", known_ids=())
        network.find_post(HELLO, key="k", known_ids=())
    assert server.paths() == ["GET /2/users/me"] + 6 * ["GET /2/users/7001/tweets"]
    (file,) = place.private.iterdir()
    assert [stat.S_IMODE(each.stat().st_mode) for each in (place.private, file)] == [0o700, 0o600]
    assert not any(secret in file.read_text("ascii") for secret in SECRETS.values())


def test_changed_keys_request_the_account_again(server, place):
    connected(server, place).find_post(HELLO, key="k", known_ids=())
    server.keys.token = "another-token"
    connected(server, place, secrets=SECRETS | {"X_ACCESS_TOKEN": "another-token"}).find_post(
        HELLO, key="k", known_ids=()
    )
    assert server.paths().count("GET /2/users/me") == 2


@pytest.mark.parametrize("kept", ["", "{", "[]", "null", '{"id": 7}', '{"id": "../x", "token": "y"}', "\u00e4"])
def test_a_damaged_cache_is_ignored(server, place, kept):
    connected(server, place).find_post(HELLO, key="k", known_ids=())
    (file,) = place.private.iterdir()
    file.write_text(kept, "utf-8")
    assert connected(server, place).find_post(HELLO, key="k", known_ids=()) is None
    assert json.loads(file.read_text("ascii"))["id"] == "7001"


def test_an_unwritable_cache_costs_one_request_only(server, place):
    place.private.write_text("a file where a folder should be", "ascii")
    network = connected(server, place)
    network.find_post(HELLO, key="k", known_ids=())
    network.find_post(HELLO, key="k", known_ids=())
    assert server.paths().count("GET /2/users/me") == 1
    assert os.listdir(place.private.parent) == ["private"]  # noqa: PTH208 - names are all that is wanted
