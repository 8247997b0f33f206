"""The network 'bluesky' against a fake server over a real socket: what is posted, and what each answer means."""

import dataclasses
import json
import logging
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pi_appliance.core import graphemes
from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.model.post import Picture, Place, Post, Sent
from pi_appliance.networks import bluesky
from tests.fakes.bluesky_account import DID, HANDLE, PASSWORD, SECRETS, FakeBluesky
from tests.fakes.bluesky_server import fake_bluesky

KEY = "tweets 2026-05-01T06:00:00+00:00 sky 0"


@pytest.fixture
def server() -> Iterator[FakeBluesky]:
    with fake_bluesky() as fake:
        yield fake


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "state" / "sky", tmp_path / "reports" / "sky")


def options(server: FakeBluesky, **keys: Any) -> bluesky.Options:
    return bluesky.Options(**{"handle": HANDLE, "server": server.address, "timeout": timedelta(seconds=5), **keys})


def connected(server: FakeBluesky, place: Place, secrets: dict[str, str] = SECRETS, **keys: Any) -> bluesky.Bluesky:
    return bluesky.connect(options(server, **keys), secrets, place)


def record(server: FakeBluesky) -> dict[str, Any]:
    """Return the one record there is."""
    (only,) = server.records.values()
    value: dict[str, Any] = only["value"]
    return value


def png(width: int, height: int, size: int = 0) -> bytes:
    """Return a grey picture, made longer to SIZE bytes by a comment."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    end = chunk(b"IDAT", zlib.compress((b"\0" + b"\x80" * width) * height)) + chunk(b"IEND", b"")
    fill = size - len(head) - len(end) - 12
    return head + (chunk(b"tEXt", b"x" * fill) if fill > 0 else b"") + end


# What is posted


def test_a_post_is_there_once_with_its_time_and_its_address(server, place):
    before = datetime.now(UTC) - timedelta(seconds=1)
    sent = connected(server, place).post(Post("Grüße vom Regal 🍓"), key=KEY)

    (rkey,) = server.records
    assert record(server)["text"] == "Grüße vom Regal 🍓"
    assert before < datetime.fromisoformat(record(server)["createdAt"]) < datetime.now(UTC)
    assert sent.id == f"at://{DID}/app.bsky.feed.post/{rkey} {server.records[rkey]['cid']}"
    assert sent.link == f"https://bsky.app/profile/{HANDLE}/post/{rkey}"
    assert set(record(server)) == {"$type", "text", "createdAt"}


def test_the_languages_of_the_options_go_with_the_post(server, place):
    connected(server, place, languages=["de", "pt-BR"]).post(Post("Hallo"), key=KEY)
    assert record(server)["langs"] == ["de", "pt-BR"]


def test_links_tags_and_mentions_are_marked_and_strangers_stay_plain(server, place):
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


def test_pictures_go_with_what_they_show_and_a_png_with_its_size(server, place):
    jpeg = Picture(b"\xff\xd8\xff\xe0 not measured", "image/jpeg")
    connected(server, place).post(Post("Bilder", (Picture(png(16, 9), "image/png", "ein Brett"), jpeg)), key=KEY)

    first, second = record(server)["embed"]["images"]
    assert first["alt"] == "ein Brett"
    assert first["aspectRatio"] == {"width": 16, "height": 9}
    assert second["alt"] == ""
    assert "aspectRatio" not in second
    assert [blob["mimeType"] for blob in server.blobs.values()] == ["image/png", "image/jpeg"]


def test_parts_of_a_thread_answer_the_one_before_and_name_the_first(server, place):
    network, sent = connected(server, place), list[Sent]()
    for part in range(3):
        sent.append(network.post(Post(f"part {part}"), key=f"{KEY[:-1]}{part}", after=tuple(sent)))

    first, second, third = (each["value"] for each in server.records.values())
    ids = [dict(zip(("uri", "cid"), each.id.split(), strict=True)) for each in sent]
    assert "reply" not in first
    assert second["reply"] == {"root": ids[0], "parent": ids[0]}
    assert third["reply"] == {"root": ids[0], "parent": ids[1]}


# Once


def test_a_second_try_finds_the_first_and_changes_nothing(server, place):
    network = connected(server, place)
    first = network.post(Post("once"), key=KEY)
    there = json.dumps(server.records)

    assert network.post(Post("once"), key=KEY) == first
    assert json.dumps(server.records) == there
    assert server.written == ["once"]


@pytest.mark.parametrize("fault", ["cut-after", "cut-in-answer", "503-after", "not-an-object", "not-json", "empty"])
def test_a_try_after_a_lost_answer_is_the_same_post(server, place, fault):
    server.faults["putRecord"].append(fault)
    network = connected(server, place)
    with pytest.raises(Uncertain):
        network.post(Post("once"), key=KEY)

    sent = network.post(Post("once"), key=KEY)

    assert server.written == ["once"]
    assert sent.id.endswith(next(iter(server.records.values()))["cid"])


def test_a_server_that_overwrites_still_has_it_once(server, place):
    server.knows_null = False
    moments = iter([datetime(2026, 5, 1, 6, tzinfo=UTC), datetime(2026, 5, 1, 7, tzinfo=UTC)])
    network = bluesky.Bluesky(options(server), PASSWORD, place.private, now=lambda: next(moments))
    first, second = (network.post(Post("once"), key=KEY) for _ in range(2))
    assert server.texts == ["once"]
    assert first.link == second.link


def test_two_runs_at_the_same_time_post_it_once(server, place):
    def post(_: int) -> Sent:
        return connected(server, place).post(Post("once"), key=KEY)

    with ThreadPoolExecutor(8) as pool:
        sent = set(pool.map(post, range(16)))
    assert len(sent) == 1
    assert server.written == ["once"]


@pytest.mark.parametrize("other", [("another key", "once"), (KEY, "another text")])
def test_another_key_or_text_is_another_post(server, place, other):
    network = connected(server, place)
    network.post(Post("once"), key=KEY)
    network.post(Post(other[1]), key=other[0])
    assert len(server.records) == 2


def test_names_of_posts_are_valid_and_of_no_time_to_come():
    digits = "234567abcdefghijklmnopqrstuvwxyz"
    names = {bluesky.record_name(f"job run {number} sky 0", "text") for number in range(5000)}
    assert len(names) == 5000
    for name in names:
        assert re.fullmatch(f"[{digits[:16]}][{digits}]{{12}}", name)
        number = sum(digits.index(digit) << shift for digit, shift in zip(name, range(60, -1, -5), strict=True))
        assert datetime(2024, 1, 1, tzinfo=UTC) <= datetime.fromtimestamp((number >> 10) / 1e6, UTC)
        assert datetime.fromtimestamp((number >> 10) / 1e6, UTC) < datetime(2025, 2, 12, tzinfo=UTC)


def test_it_looks_for_a_post_by_its_name(server, place):
    network = connected(server, place)
    assert network.look(Post("once"), key=KEY, known=()) is None
    sent = network.post(Post("once"), key=KEY)
    assert network.look(Post("once"), key=KEY, known=()) == sent
    assert network.look(Post("once"), key="another", known=()) is None


@pytest.mark.parametrize(
    ("fault", "error"), [(503, Unavailable), (429, Unavailable), ("empty", Unavailable), (403, Refused)]
)
def test_a_look_that_tells_nothing_never_says_that_it_is_not_there(server, place, fault, error):
    network = connected(server, place)
    network.post(Post("once"), key=KEY)
    server.faults["getRecord"].append(fault)
    with pytest.raises(error):
        network.look(Post("once"), key=KEY, known=())


@pytest.mark.parametrize("fault", [503, 403, "cut-read", "not-json"])
def test_there_already_but_not_to_be_looked_at_is_uncertain_not_refused(server, place, fault):
    network = connected(server, place)
    network.post(Post("once"), key=KEY)
    server.faults["getRecord"].append(fault)
    with pytest.raises(Uncertain, match="already"):
        network.post(Post("once"), key=KEY)


# What answers mean


@pytest.mark.parametrize(
    ("fault", "error", "says", "there"),
    [
        (400, Refused, "refuses it (400: told to fail)", False),
        (403, Refused, "403", False),
        (413, Refused, "413", False),
        ("elsewhere", Refused, "check server", False),
        (429, Unavailable, "429", False),
        (500, Uncertain, "fault of its own (500: told to fail)", False),
        (503, Uncertain, "fault of its own", False),
        ("503-after", Uncertain, "fault of its own", True),
        ("cut-before", Uncertain, "broke before it answered", False),
        ("cut-read", Uncertain, "broke before it answered", False),
        ("cut-after", Uncertain, "broke before it answered", True),
        ("cut-in-answer", Uncertain, "look at the account", True),
        ("not-an-object", Uncertain, "makes no sense", True),
        ("not-json", Uncertain, "makes no sense", True),
        ("empty", Uncertain, "makes no sense", True),
    ],
)
def test_each_fault_when_it_is_posted_means_what_is_true(server, place, fault, error, says, there):
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
def test_whatever_fails_before_it_is_posted_is_unavailable(server, place, method, fault):
    server.faults[method].append(fault)
    post = Post("hello @mia.example.org", (Picture(png(2, 2), "image/png"),))
    network = connected(server, place)
    with pytest.raises(Unavailable) as raised:
        network.post(post, key=KEY)
    assert "look at the account" not in str(raised.value)
    assert server.records == {}

    network.post(post, key=KEY)
    assert server.texts == ["hello @mia.example.org"]


@pytest.mark.parametrize("method", ["putRecord", "createSession", "uploadBlob"])
def test_a_limit_tells_when_it_is_lifted_by_the_servers_clock(server, place, method):
    server.ahead = 5_000_000
    server.faults[method].append(429)
    with pytest.raises(Unavailable) as raised:
        connected(server, place).post(Post("later", (Picture(png(2, 2), "image/png"),)), key=KEY)
    assert raised.value.after is not None
    assert 85 <= raised.value.after <= 91


@pytest.mark.parametrize(("fault", "there"), [("hang", True), ("hang-before", False), ("drip", True)])
def test_a_server_that_takes_for_ever_is_given_up_in_time_as_uncertain(server, place, fault, there):
    network = connected(server, place, timeout=timedelta(seconds=0.5))
    network.whoami()
    server.faults["putRecord"].append(fault)
    with pytest.raises(Uncertain, match=r"within 0\.5 s"):
        network.post(Post("hello?"), key=KEY)

    assert server.texts == ["hello?"] * there
    assert network.post(Post("hello?"), key=KEY).link
    assert server.written == ["hello?"]


@pytest.mark.parametrize("fault", ["hang", "drip"])
def test_a_server_that_takes_for_ever_to_sign_in_is_unavailable(server, place, fault):
    server.faults["createSession"].append(fault)
    with pytest.raises(Unavailable, match="nothing was posted"):
        connected(server, place, timeout=timedelta(seconds=0.3)).post(Post("hello?"), key=KEY)


def test_nobody_there_is_unavailable_because_nothing_was_sent(server, place):
    nowhere = dataclasses.replace(options(server), server="http://127.0.0.1:9")
    network = bluesky.connect(nowhere, SECRETS, place)
    with pytest.raises(Unavailable, match="online"):
        network.post(Post("hello?"), key=KEY)


def test_nobody_there_any_more_is_unavailable_because_nothing_was_sent(server, place):
    connected(server, place).whoami()
    kept = place.private / "session.json"
    kept.write_text(
        kept.read_text("ascii").replace(f'"home": "{server.address}"', '"home": "http://127.0.0.1:9"'), "ascii"
    )
    with pytest.raises(Unavailable, match="online"):
        connected(server, place).post(Post("hello?"), key=KEY)


@pytest.mark.parametrize(("status", "says"), [("takendown", "taken down"), ("deactivated", "deactivated")])
def test_an_account_that_is_closed_is_refused_and_says_so(server, place, status, says):
    network = connected(server, place)
    network.whoami()
    server.status = status
    with pytest.raises(Refused, match=f"{says}.*see why"):
        network.post(Post("hello?"), key=KEY)
    with pytest.raises(Refused, match=f"{says}.*see why"):
        network.whoami()


def test_what_the_server_finds_wrong_is_told_in_its_words(server, place):
    with pytest.raises(Refused, match="must not be longer than 300 graphemes"):
        connected(server, place).post(Post("x" * 301), key=KEY)


# Sessions


def test_one_session_serves_many_runs_and_nobody_else_can_read_it(server, place):
    for number in range(5):
        connected(server, place).post(Post(f"post {number}"), key=f"key {number}")

    assert server.count("createSession") == 1
    (kept,) = place.private.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert place.private.stat().st_mode & 0o777 == 0o700


def test_a_session_that_is_over_is_renewed_not_begun_anew(server, place):
    network = connected(server, place)
    for day in range(10):
        server.ahead = day * 86_400
        network.post(Post(f"day {day}"), key=f"key {day}")

    assert len(server.texts) == 10
    assert server.count("refreshSession") == 9
    assert server.count("createSession") == 1


def test_a_renewed_session_is_kept_for_the_next_run(server, place):
    for hour in (0, 3, 6, 9):
        server.ahead = hour * 3600
        connected(server, place).post(Post(f"hour {hour}"), key=f"key {hour}")
    assert server.count("createSession") == 1


def test_a_run_takes_the_session_that_another_renewed(server, place):
    first, second = connected(server, place), connected(server, place)
    for network in (first, second):
        network.post(Post("before"), key=KEY)
    server.ahead = 3 * 3600
    for number, network in enumerate((first, second)):
        network.post(Post("after"), key=f"key {number}")
    assert server.count("refreshSession") == 1


def test_a_session_that_cannot_be_renewed_is_begun_anew(server, place):
    network = connected(server, place)
    network.post(Post("before"), key="a")
    server.ahead = 100 * 86_400
    network.post(Post("after"), key="b")
    assert server.texts == ["before", "after"]
    assert server.count("createSession") == 2


def test_a_session_the_server_does_not_know_is_begun_anew(server, place):
    connected(server, place).post(Post("before"), key="a")
    kept = place.private / "session.json"
    kept.write_text(re.sub(r"(access|refresh)-token", "foreign", kept.read_text("ascii")), "ascii")
    connected(server, place).post(Post("after"), key="b")
    assert server.texts == ["before", "after"]


@pytest.mark.parametrize("fault", [429, 503, "cut-after"])
def test_a_session_that_cannot_be_renewed_just_now_costs_no_sign_in(server, place, fault):
    network = connected(server, place)
    network.post(Post("before"), key="a")
    server.ahead = 3 * 3600
    server.faults["refreshSession"].append(fault)
    with pytest.raises(Unavailable):
        network.post(Post("after"), key="b")
    assert server.count("createSession") == 1
    network.post(Post("after"), key="b")
    assert server.texts == ["before", "after"]
    assert server.count("createSession") == 1


def test_a_password_that_was_taken_back_is_refused_and_says_where_to_make_another(server, place):
    network = connected(server, place)
    network.post(Post("before"), key="a")
    server.revoke(PASSWORD)
    server.ahead = 3 * 3600
    with pytest.raises(Refused, match=r"does not know pi\.bsky\.social with this app password.*App passwords"):
        network.post(Post("after"), key="b")
    assert server.texts == ["before"]


def test_sign_ins_over_the_limit_wait_until_it_is_lifted(server, place):
    network = connected(server, place)
    for _ in range(30):
        network.whoami()
    with pytest.raises(Unavailable) as raised:
        network.whoami()
    assert raised.value.after is not None
    assert 290 <= raised.value.after <= 301
    server.ahead = raised.value.after
    assert network.whoami() == f"{HANDLE} ({DID})"


def test_a_session_belongs_to_one_handle(server, place):
    connected(server, place).whoami()
    with pytest.raises(Refused, match="does not know other"):
        connected(server, place, handle="other.bsky.social").post(Post("hello?"), key=KEY)
    assert server.records == {}


def test_a_session_belongs_to_one_server(server, place):
    connected(server, place).whoami()
    with fake_bluesky() as other:
        connected(other, place).post(Post("there"), key=KEY)
        assert other.texts == ["there"]
    assert server.records == {}


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"\xff", b'{"handle": 3}', b"{}", b'{"access": "a\\nb"}', b"[" * 100_000]
)
def test_a_damaged_session_is_as_none(server, place, content):
    connected(server, place).whoami()
    (place.private / "session.json").write_bytes(content)
    connected(server, place).post(Post("hello"), key=KEY)
    assert server.texts == ["hello"]


def test_a_session_with_a_line_break_in_a_token_is_as_none(server, place):
    connected(server, place).whoami()
    kept = place.private / "session.json"
    kept.write_text(json.dumps(json.loads(kept.read_text("ascii")) | {"access": "a\nHost: b"}), "ascii")
    connected(server, place).post(Post("hello"), key=KEY)
    assert server.texts == ["hello"]


def test_where_no_session_can_be_kept_it_posts_all_the_same_with_one_sign_in(server, place):
    place.private.parent.mkdir(parents=True)
    place.private.write_text("a file where the folder should be", "ascii")
    network = connected(server, place)
    network.post(Post("hello @mia.example.org", (Picture(png(2, 2), "image/png"),)), key=KEY)
    network.post(Post("again"), key="another")
    assert len(server.texts) == 2
    assert server.count("createSession") == 1


def test_posts_go_to_the_home_the_account_names(server, place):
    with fake_bluesky() as home:
        server.home = home.address
        home._access, home._refresh = server._access, server._refresh  # two servers that trust each other
        connected(server, place).post(Post("hello", (Picture(png(2, 2), "image/png"),)), key=KEY)
        assert home.texts == ["hello"]
    assert server.records == {}


@pytest.mark.parametrize("home", ["http://example.org", "ftp://x", "https://user:pass@example.org", "https://a/b", "x"])
def test_a_home_that_is_not_safe_gets_nothing(server, place, home):
    server.home = home
    connected(server, place).post(Post("hello"), key=KEY)
    assert server.texts == ["hello"]


# Options, rules, keys


def test_it_wants_an_app_password_by_the_name_of_its_keys(server):
    assert list(bluesky.wants(options(server))) == ["BLUESKY_APP_PASSWORD"]
    assert list(bluesky.wants(options(server, keys="SKY2"))) == ["SKY2_APP_PASSWORD"]


def test_a_second_account_takes_its_own_keys(server, place):
    connected(server, place, {"SKY2_APP_PASSWORD": PASSWORD}, keys="SKY2").post(Post("hello"), key=KEY)
    assert server.texts == ["hello"]


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ({}, []),
        ({"handle": "Me.BSky.social"}, []),
        ({"handle": "@me.bsky.social"}, ["handle"]),
        ({"handle": "me"}, ["handle"]),
        ({"handle": "me@example.org"}, ["handle"]),
        ({"server": "https://pds.example.org/"}, []),
        ({"server": "https://pds.example.org:8443"}, []),
        ({"server": "http://localhost:2583"}, []),
        ({"server": "http://[::1]:2583"}, []),
        ({"server": "http://bsky.social"}, ["server"]),
        ({"server": "http://127.0.0.1.example.org"}, ["server"]),
        ({"server": "http://localhost:1@example.org"}, ["server"]),
        ({"server": "https://me:secret@example.org"}, ["server"]),
        ({"server": "https://a..b"}, ["server"]),
        ({"server": "bsky.social"}, ["server"]),
        ({"languages": ["en", "pt-BR"]}, []),
        ({"languages": ["en", "de", "fr", "it"]}, ["languages"]),
        ({"languages": ["english language"]}, ["languages"]),
        ({"timeout": timedelta(0)}, ["timeout"]),
    ],
)
def test_options_that_cannot_work_are_told(keys, where):
    found = bluesky.Options(**{"handle": HANDLE, **keys}).check()
    assert [problem[0][0] for problem in found] == where


@pytest.mark.parametrize(
    ("post", "wrong"),
    [
        (Post("x" * 300), ""),
        (Post("x" * 301), "301 of 300"),
        (Post("👨‍👩‍👧‍👦" * 120), ""),
        (Post("👨‍👩‍👧‍👦" * 121), "3,025 of 3,000 bytes"),
        (Post("🇨🇭" * 300), ""),
        (Post("👨‍👩‍👧‍👦" * 301), "301 of 300; 7,525 of 3,000 bytes"),
        (Post("", (Picture(b"", "image/png"),) * 4), ""),
        (Post("", (Picture(b"", "image/png"),) * 5), "5 of 4 pictures"),
        (Post("", (Picture(b"x" * 1_000_000, "image/png"),)), ""),
        (
            Post("", (Picture(b"", "image/png"), Picture(b"x" * 1_000_001, "image/png"))),
            "picture 2: 1,000,001 of 1,000,000 bytes",
        ),
    ],
)
def test_what_is_too_much_is_told_with_its_count(server, place, post, wrong):
    rules = bluesky.rules(options(server), place)
    assert rules.wrong(post) == wrong
    assert rules.weigh(post.text) == graphemes.count(post.text)
    assert (rules.limit, rules.price(post), rules.look_price, rules.cap) == (300, 0, 0, None)
    assert server.seen == [], "nobody is asked"


@pytest.mark.parametrize(
    "post",
    [
        Post("👨‍👩‍👧‍👦" * 120),
        Post("🇨🇭" * 300),
        Post("क्षि" * 200),
        Post("x" * 300, tuple(Picture(png(width, 2, 1_000_000), "image/png", "a") for width in range(1, 5))),
    ],
)
def test_what_the_rules_let_through_the_server_takes(server, place, post):
    network = connected(server, place)
    assert network.rules.wrong(post) == ""
    network.post(post, key=KEY)
    assert server.texts == [post.text]


def test_whoami_proves_the_password_of_now_even_if_an_old_session_lasts(server, place):
    network = connected(server, place)
    assert network.whoami() == f"{HANDLE} ({DID})"
    server.revoke(PASSWORD)
    with pytest.raises(Refused, match="app password"):
        network.whoami()
    assert server.records == {}


@dataclasses.dataclass
class Owner:
    """Somebody at the terminal who answers with ANSWERS."""

    answers: list[str]
    said: list[str] = dataclasses.field(default_factory=list)
    asked: list[tuple[str, bool]] = dataclasses.field(default_factory=list)

    def say(self, text: str) -> None:
        self.said.append(text)

    def ask(self, question: str, *, secret: bool = False) -> str:
        self.asked.append((question, secret))
        return self.answers.pop(0)


def test_login_says_where_to_make_a_password_proves_it_and_returns_it(server):
    owner = Owner([PASSWORD])
    assert bluesky.login(options(server, keys="SKY"), owner) == {"SKY_APP_PASSWORD": PASSWORD}
    assert owner.asked == [("App password", True)]
    assert "Settings, Privacy and security, App passwords" in owner.said[0]
    assert DID in owner.said[-1]
    assert PASSWORD not in " ".join(owner.said)
    assert len(owner.said) == 2


def test_login_warns_of_the_password_of_the_account_itself(server):
    server.passwords.add("correct horse")
    owner = Owner(["correct horse"])
    bluesky.login(options(server), owner)
    assert any("does not look like an app password" in line for line in owner.said)


@pytest.mark.parametrize(("password", "says"), [("wxyz-wxyz-wxyz-wxyz", "does not know"), ("", "nothing is changed")])
def test_login_refuses_what_does_not_work(server, password, says):
    with pytest.raises(Refused, match=says):
        bluesky.login(options(server), Owner([password]))


def test_login_with_a_password_that_asks_for_a_code_says_what_to_do(server):
    server.wants_code = True
    with pytest.raises(Refused, match="no app password; make one"):
        bluesky.login(options(server), Owner([PASSWORD]))


def test_no_secret_reaches_an_error_a_log_or_the_sight_of_an_object(server, place, caplog):
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    faults: Sequence[int | str] = (401, 403, 429, 500, "cut-after", "cut-in-answer", "not-json", "elsewhere")
    for method in ("createSession", "refreshSession", "putRecord", "getRecord"):
        for number, fault in enumerate(faults):
            server.ahead += 3 * 3600
            server.faults[method].append(fault)
            network = connected(server, place)
            told += [repr(network), repr(network._account), repr(network._account._session)]
            for act in (network.whoami, _post(network, f"{method} {number}"), _post(network, f"{method} {number}")):
                try:
                    act()
                except ApplianceError as error:
                    told += [repr(error), str(error)]
            told.append(repr(network._account.session()))
    told.append(caplog.text)
    assert "putRecord" in caplog.text, "the log was on"
    assert PASSWORD not in " ".join(told)
    assert "-token-" not in " ".join(told)


def _post(network: bluesky.Bluesky, text: str) -> Callable[[], Sent]:
    return lambda: network.post(Post(text), key=text)


def test_a_netrc_does_not_take_the_place_of_the_session(server, place, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n", "ascii")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    connected(server, place).post(Post("hello"), key=KEY)
    assert server.texts == ["hello"]
