"""The network `x` against a fake X over a real socket: signatures, threads and answers."""

import logging
import subprocess
import sys
import time
from datetime import timedelta
from email.utils import formatdate
from typing import Any

import pytest

from pi_appliance.errors import AccountBlocked, ApplianceError, Duplicate, Refused, Unavailable, Uncertain
from pi_appliance.posting.model import Post, SentPost
from pi_appliance.posting.networks import x
from tests.fakes.x_server import SECRETS, FakeX, Raw
from tests.posting.networks.x_account import HELLO, connected, server

__all__ = ["server"]

PROBLEM = b'{"title": "%b", "detail": "%b", "type": "%b"}'


def test_a_post_is_signed_and_sent_once_and_its_address_returned(server):
    sent_post = connected(server).post(Post("Grüße vom Regal 🍓 & <mehr>"), key="k")

    assert server.posts == ["Grüße vom Regal 🍓 & <mehr>"]
    assert server.requests == 1
    assert sent_post == SentPost("1001", "https://x.com/i/web/status/1001")


def test_a_thread_is_a_chain_of_replies(server):
    network, sent_posts = connected(server), []
    for text in ("one", "two", "three"):
        sent_posts.append(network.post(Post(text), key=text, thread=tuple(sent_posts)))
    assert [(post.text, post.above) for post in server.made] == [("one", None), ("two", "1001"), ("three", "1002")]


def test_a_reply_to_a_deleted_post_is_refused_with_a_reason(server):
    with pytest.raises(Refused, match="check whether the post before it still exists"):
        connected(server).post(HELLO, key="k", thread=[SentPost("77", "")])


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        (401, AccountBlocked, "four X_ secrets, and the clock"),
        (402, AccountBlocked, "credit"),
        (403, Refused, "write permission"),
        (429, Unavailable, "429"),
        (500, Uncertain, "internal error"),
        (503, Uncertain, "internal error"),
        (408, Uncertain, "check the account"),
        ("5xx-after", Uncertain, "internal error"),
        ("cut-before", Uncertain, "broke before it answered"),
        ("cut-after", Uncertain, "broke before it answered"),
        ("cut-in-answer", Uncertain, "broke before it answered"),
        ("not-an-object", Uncertain, "an invalid response"),
        ("no-id", Uncertain, "an invalid response"),
        ("html", Uncertain, "an invalid response"),
        ("redirect", Uncertain, "an invalid response (307"),
        (418, Refused, "418"),
        (Raw(200, b""), Uncertain, "an invalid response"),
        (Raw(201, b'{"data": {"id": ""}}'), Uncertain, "an invalid response"),
        (Raw(201, b'{"data": {"id": null}}'), Uncertain, "an invalid response"),
        (Raw(201, b'{"data": {"id": "12/../34"}}'), Uncertain, "an invalid response"),
        (Raw(201, b"[" * 100_000), Uncertain, "an invalid response"),
        (Raw(201, b'"\xff"'), Uncertain, "an invalid response"),
        (Raw(204, b""), Uncertain, "an invalid response"),
        # Answers that tweepy cannot parse, but whose status is clear:
        (Raw(403, b"[]"), Refused, "403: Forbidden"),
        (Raw(403, b'{"errors": null, "detail": 7}'), Refused, "403: Forbidden"),
        (Raw(402, b"null"), AccountBlocked, "credit"),
        (Raw(429, b"[1]", {"x-rate-limit-reset": "soon"}), Unavailable, "no more requests now"),
        (Raw(503, b"<html><body><h1>Over capacity</h1></body></html>"), Uncertain, "503: Service Unavailable"),
        (Raw(403, PROBLEM % (b"SpendCapReached", b"has reached its spend cap", b"")), AccountBlocked, "spending limit"),
        (
            Raw(403, PROBLEM % (b"Client Forbidden", b"", b"problems/client-forbidden")),
            AccountBlocked,
            "no paid project",
        ),
        (
            Raw(403, PROBLEM % (b"", b"not configured", b"problems/oauth1-permissions")),
            AccountBlocked,
            "make new tokens",
        ),
        (
            Raw(403, PROBLEM % (b"Forbidden", b"Your account is suspended", b"")),
            AccountBlocked,
            "suspended this account",
        ),
        (Raw(400, b'{"errors": [{"message": "text is too long"}]}'), Refused, "400: text is too long"),
        (Raw(400, b'{"errors": ["so", 7, null, {"message": ""}], "detail": "why"}'), Refused, "400: why"),
    ],
    ids=str,
)
def test_each_answer_has_the_right_meaning(server, fault, error, says):
    server.faults.append(fault)

    with pytest.raises(ApplianceError) as raised:
        connected(server).post(HELLO, key="k")

    assert type(raised.value) is error
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
    assert server.requests == 1, "nothing is sent twice, whatever the answer"


def test_only_a_possible_post_is_uncertain_and_an_existing_one_is_never_missing(server):
    accepting = ["5xx-after", "cut-after", "cut-in-answer", "not-an-object", "no-id"]
    for number, fault in enumerate(accepting):
        server.faults.append(fault)
        with pytest.raises(Uncertain):
            connected(server).post(Post(f"text {number}"), key="k")
    assert [request.accepted for request in server.log] == [f"text {number}" for number in range(len(accepting))]


def test_an_existing_text_is_a_duplicate(server):
    network = connected(server)
    network.post(HELLO, key="k")
    with pytest.raises(Duplicate, match="posted before"):
        network.post(HELLO, key="k")


def test_wrong_keys_are_refused_and_name_the_secrets_of_this_account(server):
    wrong = {name.replace("X_", "X2_", 1): value for name, value in SECRETS.items()} | {"X2_ACCESS_TOKEN_SECRET": "no"}
    with pytest.raises(Refused, match="four X2_ secrets, and the clock"):
        connected(server, secrets=wrong, secrets_prefix="X2").post(HELLO, key="k")
    assert server.posts == []


def test_missing_keys_are_named(server):
    with pytest.raises(Refused, match="X_CONSUMER_SECRET, X_ACCESS_TOKEN_SECRET"):
        connected(server, secrets={"X_CONSUMER_KEY": "a", "X_ACCESS_TOKEN": "b", "X_CONSUMER_SECRET": ""})


NOW = 1_800_000_000


def limited(**resets: Any) -> Raw:
    """Return an answer with rate limits: the remaining requests and the seconds to the reset."""
    headers = {"Date": formatdate(NOW, usegmt=True)}
    for name, (remaining, after) in resets.items():
        headers[f"x-{name.replace('_', '-')}-remaining"] = str(remaining)
        headers[f"x-{name.replace('_', '-')}-reset"] = str(NOW + after)
    return Raw(429, b"{}", headers)


@pytest.mark.parametrize(
    ("answer", "after"),
    [
        (limited(rate_limit=(0, 90)), 90),
        (limited(rate_limit=(50, 600), user_limit_24hour=(0, 40_000), app_limit_24hour=(7, 80_000)), 40_000),
        (limited(rate_limit=(0, 600), user_limit_24hour=(0, 40_000), app_limit_24hour=(0, 80_000)), 80_000),
        (limited(rate_limit=(0, -30)), 0),
        (limited(rate_limit=(0, 10**9)), 86_400),
        (Raw(429, b"{}", {"x-rate-limit-reset": str(NOW), "Date": "some day"}), None),
        (Raw(429, b"{}", {"x-rate-limit-reset": "nan"}), None),
        (Raw(429, b"{}"), None),
    ],
)
def test_a_rate_limit_ends_by_the_clock_of_the_server_and_the_later_one_counts(server, answer, after):
    server.faults.append(answer)
    with pytest.raises(Unavailable) as raised:
        connected(server).post(HELLO, key="k")
    assert raised.value.retry_after == after


def test_no_server_is_unavailable_because_nothing_was_sent():
    with pytest.raises(Unavailable, match="online"):
        connected("http://127.0.0.1:9").post(HELLO, key="k")


def test_an_unresolvable_name_is_unavailable_because_nothing_was_sent():
    with pytest.raises(Unavailable, match="online"):
        connected("https://no-such-host.invalid").post(HELLO, key="k")


@pytest.mark.parametrize("address", ["https://", "https://[", "https://" + "a" * 300])
def test_an_invalid_address_is_unavailable_because_nothing_was_sent(address):
    with pytest.raises(Unavailable):
        connected(address).post(HELLO, key="k")


@pytest.mark.parametrize("fault", ["hang", "hang-before", "drip", "drip-head"])
def test_an_endless_answer_is_uncertain_after_the_timeout(server, fault):
    server.faults.append(fault)
    began = time.monotonic()
    with pytest.raises(Uncertain, match="took too long to answer; check the account"):
        connected(server, timeout=timedelta(seconds=0.3)).post(HELLO, key="k")
    assert time.monotonic() - began < 3


def test_no_secret_reaches_an_error_even_if_x_repeats_it(server):
    for status in (400, 401, 402, 403, 409, 429, 500):
        output = " ".join(SECRETS.values())
        server.faults.append(Raw(status, b'{"detail": "%b \\u001b[31m\\nand more"}' % output.encode()))
        with pytest.raises(ApplianceError) as raised:
            connected(server).post(HELLO, key="k")
        assert not any(secret in repr(raised.value) for secret in SECRETS.values())
        assert str(raised.value).isprintable()


def test_no_secret_reaches_a_log_at_any_level(server, tmp_path):
    root, file = logging.getLogger(), logging.FileHandler(tmp_path / "everything.log")
    before = root.level
    root.addHandler(file)
    root.setLevel(logging.DEBUG)
    try:
        logging.getLogger("pi_appliance").debug("it works")
        network = connected(server)
        network.post(HELLO, key="k")
        network.whoami()
        network.find_post(HELLO, key="k", known_ids=())
        server.faults.append("cut-after")
        with pytest.raises(Uncertain):
            network.post(Post("again"), key="k")
    finally:
        root.setLevel(before)
        root.removeHandler(file)
        file.close()
    written = (tmp_path / "everything.log").read_text("utf-8")
    assert "it works" in written
    assert "oauth" not in written.lower()
    assert not any(secret in written for secret in SECRETS.values())


def test_each_request_has_its_own_connection(server):
    network = connected(server)
    for number in range(100):
        network.post(Post(f"post {number}"), key="k")
    assert server.lines == server.requests == len(server.log) == len(server.made) == 100


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"server": "http://api.example.org"}, "unprotected"),
        ({"secrets_prefix": "my keys"}, "is not valid at the beginning"),
        ({"timeout": timedelta(0)}, "the timeout is zero"),
    ],
)
def test_invalid_options_are_reported(options, wrong):
    assert wrong in x.Options(**options).check()[0][1]
    assert x.Options().check() == []


def test_the_rules_work_without_importing_the_library():
    code = (
        "import pathlib, sys; from pi_appliance.posting.networks import x;"
        "from pi_appliance.config.options import NetworkDirs; from pi_appliance.posting.model import Post;"
        "limits = x.post_limits(x.Options(), NetworkDirs(pathlib.Path('a'), pathlib.Path('b')));"
        "assert limits.rejection_reason(Post('x' * 281)) == '281 of 280';"
        "assert not {'requests', 'tweepy', 'oauthlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


def test_the_secrets_are_named_per_account():
    assert list(x.required_secrets(x.Options(secrets_prefix="X2"))) == [
        name.replace("X_", "X2_", 1) for name in SECRETS
    ]


def test_the_fake_refuses_a_wrong_or_old_signature(server: FakeX):
    """The tests above rely on the fake to verify signatures."""
    keys = server.keys
    assert keys.signed("POST", "/2/tweets", "") is None
    assert keys.signed("POST", "/2/tweets", 'OAuth oauth_consumer_key="consumer-key-1"') is None
