"""The network `bluesky` against a fake server over a real socket."""

import dataclasses
import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pi_appliance.errors import AccountBlocked, Refused, Unavailable, Uncertain
from pi_appliance.posting.model import Post, SentPost
from pi_appliance.posting.networks import bluesky
from pi_appliance.storage.model import Picture
from tests.fakes.bluesky_account import DID, HANDLE, PASSWORD, SECRETS, FakeBluesky
from tests.posting.networks.bluesky_account import KEY, connected, options, place, png, server

__all__ = ["place", "server"]


def record(server: FakeBluesky) -> dict[str, Any]:
    """Return the only record."""
    (only,) = server.records.values()
    value: dict[str, Any] = only["value"]
    return value


def test_a_post_is_created_once_with_its_time_and_address(server, place):
    before = datetime.now(UTC) - timedelta(seconds=1)
    sent_post = connected(server, place).post(Post("Grüße vom Regal 🍓"), key=KEY)

    (rkey,) = server.records
    assert record(server)["text"] == "Grüße vom Regal 🍓"
    assert before < datetime.fromisoformat(record(server)["createdAt"]) < datetime.now(UTC)
    assert sent_post.id == f"at://{DID}/app.bsky.feed.post/{rkey} {server.records[rkey]['cid']}"
    assert sent_post.link == f"https://bsky.app/profile/{HANDLE}/post/{rkey}"
    assert set(record(server)) == {"$type", "text", "createdAt"}


def test_the_configured_languages_are_sent(server, place):
    connected(server, place, languages=["de", "pt-BR"]).post(Post("Hallo"), key=KEY)
    assert record(server)["langs"] == ["de", "pt-BR"]


def test_links_tags_and_known_mentions_are_marked(server, place):
    server.handles["mia.example.org"] = "did:plc:mia"
    text = "🍓 @mia.example.org und @nobody.example.org: example.org/pi, #Raspberry"
    connected(server, place).post(Post(text), key=KEY)

    marked = {
        text.encode()[mark["index"]["byteStart"] : mark["index"]["byteEnd"]].decode(): mark["features"][0]
        for mark in record(server)["facets"]
    }
    assert marked == {
        "@mia.example.org": {"$type": "app.bsky.richtext.facet#mention", "did": "did:plc:mia"},
        "example.org/pi": {"$type": "app.bsky.richtext.facet#link", "uri": "https://example.org/pi"},
        "#Raspberry": {"$type": "app.bsky.richtext.facet#tag", "tag": "Raspberry"},
    }


def test_pictures_are_sent_with_descriptions_and_png_with_its_size(server, place):
    jpeg = Picture(b"\xff\xd8\xff\xe0 not measured", "image/jpeg")
    connected(server, place).post(Post("Bilder", (Picture(png(16, 9), "image/png", "ein Brett"), jpeg)), key=KEY)

    first, second = record(server)["embed"]["images"]
    assert first["alt"] == "ein Brett"
    assert first["aspectRatio"] == {"width": 16, "height": 9}
    assert second["alt"] == ""
    assert "aspectRatio" not in second
    assert [blob["mimeType"] for blob in server.blobs.values()] == ["image/png", "image/jpeg"]


def test_thread_parts_reply_to_the_previous_and_name_the_first(server, place):
    network, sent_posts = connected(server, place), list[SentPost]()
    for part in range(3):
        sent_posts.append(network.post(Post(f"part {part}"), key=f"{KEY[:-1]}{part}", thread=tuple(sent_posts)))

    first, second, third = (each["value"] for each in server.records.values())
    ids = [dict(zip(("uri", "cid"), each.id.split(), strict=True)) for each in sent_posts]
    assert "reply" not in first
    assert second["reply"] == {"root": ids[0], "parent": ids[0]}
    assert third["reply"] == {"root": ids[0], "parent": ids[1]}


# Once


def test_a_second_attempt_finds_the_first_and_changes_nothing(server, place):
    network = connected(server, place)
    first = network.post(Post("once"), key=KEY)
    there = json.dumps(server.records)

    assert network.post(Post("once"), key=KEY) == first
    assert json.dumps(server.records) == there
    assert server.written == ["once"]


@pytest.mark.parametrize("fault", ["cut-after", "cut-in-answer", "503-after", "not-an-object", "not-json", "empty"])
def test_a_retry_after_a_lost_answer_is_the_same_post(server, place, fault):
    server.faults["putRecord"].append(fault)
    network = connected(server, place)
    with pytest.raises(Uncertain):
        network.post(Post("once"), key=KEY)

    sent_post = network.post(Post("once"), key=KEY)

    assert server.written == ["once"]
    assert sent_post.id.endswith(next(iter(server.records.values()))["cid"])


def test_a_server_that_overwrites_still_has_one_post(server, place):
    server.knows_null = False
    moments = iter([datetime(2026, 5, 1, 6, tzinfo=UTC), datetime(2026, 5, 1, 7, tzinfo=UTC)])
    network = bluesky.Bluesky(options(server), PASSWORD, place.private, now=lambda: next(moments))
    first, second = (network.post(Post("once"), key=KEY) for _ in range(2))
    assert server.texts == ["once"]
    assert first.link == second.link


def test_concurrent_runs_create_one_post(server, place):
    def post(_: int) -> SentPost:
        return connected(server, place).post(Post("once"), key=KEY)

    with ThreadPoolExecutor(8) as pool:
        sent_posts = set(pool.map(post, range(16)))
    assert len(sent_posts) == 1
    assert server.written == ["once"]


@pytest.mark.parametrize("other", [("another key", "once"), (KEY, "another text")])
def test_another_key_or_text_is_another_post(server, place, other):
    network = connected(server, place)
    network.post(Post("once"), key=KEY)
    network.post(Post(other[1]), key=other[0])
    assert len(server.records) == 2


def test_record_keys_are_valid_and_not_in_the_future():
    digits = "234567abcdefghijklmnopqrstuvwxyz"
    names = {bluesky.record_name(f"job run {number} sky 0", "text") for number in range(5000)}
    assert len(names) == 5000
    for name in names:
        assert re.fullmatch(f"[{digits[:16]}][{digits}]{{12}}", name)
        number = sum(digits.index(digit) << shift for digit, shift in zip(name, range(60, -1, -5), strict=True))
        assert datetime(2024, 1, 1, tzinfo=UTC) <= datetime.fromtimestamp((number >> 10) / 1e6, UTC)
        assert datetime.fromtimestamp((number >> 10) / 1e6, UTC) < datetime(2025, 2, 12, tzinfo=UTC)


def test_it_looks_up_a_post_by_its_record_key(server, place):
    network = connected(server, place)
    assert network.find_post(Post("once"), key=KEY, known_ids=()) is None
    sent_post = network.post(Post("once"), key=KEY)
    assert network.find_post(Post("once"), key=KEY, known_ids=()) == sent_post
    assert network.find_post(Post("once"), key="another", known_ids=()) is None


@pytest.mark.parametrize(
    ("fault", "error"), [(503, Unavailable), (429, Unavailable), ("empty", Unavailable), (403, Refused)]
)
def test_a_failed_lookup_never_reports_a_missing_post(server, place, fault, error):
    network = connected(server, place)
    network.post(Post("once"), key=KEY)
    server.faults["getRecord"].append(fault)
    with pytest.raises(error):
        network.find_post(Post("once"), key=KEY, known_ids=())


@pytest.mark.parametrize("fault", [503, 403, "cut-read", "not-json"])
def test_an_existing_but_unreadable_post_is_uncertain_and_not_refused(server, place, fault):
    network = connected(server, place)
    network.post(Post("once"), key=KEY)
    server.faults["getRecord"].append(fault)
    with pytest.raises(Uncertain, match="already"):
        network.post(Post("once"), key=KEY)


# The meaning of answers


@pytest.mark.parametrize(
    ("fault", "error", "says", "there"),
    [
        (400, Refused, "refuses it (400: told to fail)", False),
        (403, Refused, "403", False),
        (413, Refused, "413", False),
        ("elsewhere", AccountBlocked, "check server", False),
        (429, Unavailable, "429", False),
        (500, Uncertain, "internal error (500: told to fail)", False),
        (503, Uncertain, "internal error", False),
        ("503-after", Uncertain, "internal error", True),
        ("cut-before", Uncertain, "broke before it answered", False),
        ("cut-read", Uncertain, "broke before it answered", False),
        ("cut-after", Uncertain, "broke before it answered", True),
        ("cut-in-answer", Uncertain, "check the account", True),
        ("not-an-object", Uncertain, "invalid response", True),
        ("not-json", Uncertain, "invalid response", True),
        ("empty", Uncertain, "invalid response", True),
    ],
)
def test_each_fault_while_posting_has_the_right_meaning(server, place, fault, error, says, there):
    server.faults["putRecord"].append(fault)
    with pytest.raises(error) as raised:
        connected(server, place).post(Post("once"), key=KEY)
    assert type(raised.value) is error
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
    assert server.texts == ["once"] * there
    assert server.count("putRecord") == 1, "nothing is sent twice, whatever the answer"


@pytest.mark.parametrize("method", ["createSession", "uploadBlob", "resolveHandle"])
@pytest.mark.parametrize(
    "fault",
    [429, 500, 503, "503-after", "cut-before", "cut-read", "cut-after", "cut-in-answer", "not-an-object", "not-json"],
)
def test_a_failure_before_posting_is_unavailable(server, place, method, fault):
    server.faults[method].append(fault)
    post = Post("hello @mia.example.org", (Picture(png(2, 2), "image/png"),))
    network = connected(server, place)
    with pytest.raises(Unavailable) as raised:
        network.post(post, key=KEY)
    assert "check the account" not in str(raised.value)
    assert server.records == {}

    network.post(post, key=KEY)
    assert server.texts == ["hello @mia.example.org"]


@pytest.mark.parametrize("method", ["putRecord", "createSession", "uploadBlob"])
def test_a_rate_limit_ends_by_the_clock_of_the_server(server, place, method):
    server.ahead = 5_000_000
    server.faults[method].append(429)
    with pytest.raises(Unavailable) as raised:
        connected(server, place).post(Post("later", (Picture(png(2, 2), "image/png"),)), key=KEY)
    assert raised.value.retry_after is not None
    assert 85 <= raised.value.retry_after <= 91


@pytest.mark.parametrize(("fault", "there"), [("hang", True), ("hang-before", False), ("drip", True)])
def test_a_hanging_server_is_uncertain_after_the_timeout(server, place, fault, there):
    network = connected(server, place, timeout=timedelta(seconds=0.5))
    network.whoami()
    server.faults["putRecord"].append(fault)
    with pytest.raises(Uncertain, match=r"within 0\.5 s"):
        network.post(Post("hello?"), key=KEY)

    assert server.texts == ["hello?"] * there
    assert network.post(Post("hello?"), key=KEY).link
    assert server.written == ["hello?"]


@pytest.mark.parametrize("fault", ["hang", "drip"])
def test_a_server_that_hangs_at_sign_in_is_unavailable(server, place, fault):
    server.faults["createSession"].append(fault)
    with pytest.raises(Unavailable, match="nothing was posted"):
        connected(server, place, timeout=timedelta(seconds=0.3)).post(Post("hello?"), key=KEY)


def test_no_server_is_unavailable_because_nothing_was_sent(server, place):
    nowhere = dataclasses.replace(options(server), server="http://127.0.0.1:9")
    network = bluesky.connect(nowhere, SECRETS, place)
    with pytest.raises(Unavailable, match="cannot be reached"):
        network.post(Post("hello?"), key=KEY)


def test_a_server_that_disappeared_is_unavailable_because_nothing_was_sent(server, place):
    connected(server, place).whoami()
    session_file = place.private / "session.json"
    session_file.write_text(
        session_file.read_text("ascii").replace(f'"server": "{server.address}"', '"server": "http://127.0.0.1:9"'),
        "ascii",
    )
    with pytest.raises(Unavailable, match="cannot be reached"):
        connected(server, place).post(Post("hello?"), key=KEY)


@pytest.mark.parametrize(("status", "says"), [("takendown", "taken down"), ("deactivated", "deactivated")])
def test_a_closed_account_is_refused_with_a_reason(server, place, status, says):
    network = connected(server, place)
    network.whoami()
    server.status = status
    with pytest.raises(Refused, match=f"{says}.*see why"):
        network.post(Post("hello?"), key=KEY)
    with pytest.raises(Refused, match=f"{says}.*see why"):
        network.whoami()


def test_a_problem_is_reported_in_the_words_of_the_server(server, place):
    with pytest.raises(Refused, match="must not be longer than 300 graphemes"):
        connected(server, place).post(Post("x" * 301), key=KEY)
