"""The network 'x' against a fake X over a real socket: signatures, and what each answer means."""

import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.networks import x
from tests.fakes.x_server import SECRETS, FakeX, fake_x


@pytest.fixture
def server() -> Iterator[FakeX]:
    with fake_x() as fake:
        yield fake


def connected(server: FakeX, *, secrets: dict[str, str] = SECRETS, timeout: float = 5) -> x.X:
    return x.connect(x.Options(server=server.address, timeout=timedelta(seconds=timeout)), secrets, Path("/nowhere"))


def test_a_post_is_signed_sent_once_and_its_address_returned(server):
    link = connected(server).post("Grüße vom Regal 🍓", key="k")

    assert server.posts == ["Grüße vom Regal 🍓"]
    assert server.requests == 1
    assert link == "https://x.com/i/web/status/1001"


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        (402, Refused, "credit"),
        (403, Refused, "write permission"),
        (429, Unavailable, "429"),
        (500, Uncertain, "fault of its own"),
        (503, Uncertain, "fault of its own"),
        ("cut-before", Uncertain, "broke before it answered"),
        ("cut-after", Uncertain, "broke before it answered"),
        ("cut-in-answer", Uncertain, "look at the account"),
        ("not-an-object", Uncertain, "makes no sense"),
        (418, Refused, "418"),
    ],
)
def test_each_fault_means_what_the_owner_needs_to_know(server, fault, error, says):
    server.faults.append(fault)

    with pytest.raises(error) as raised:
        connected(server).post("once", key="k")

    assert type(raised.value) is error
    assert says in str(raised.value)
    assert server.requests == 1, "nothing is sent twice, whatever the answer"


def test_a_duplicate_is_refused_and_says_so(server):
    network = connected(server)
    network.post("again", key="k")
    with pytest.raises(Refused, match="posted before"):
        network.post("again", key="k")


def test_wrong_keys_are_refused_and_point_to_the_secrets_and_the_clock(server):
    wrong = SECRETS | {"X_ACCESS_TOKEN_SECRET": "not-it"}
    with pytest.raises(Refused, match="four X_ secrets, and the clock"):
        connected(server, secrets=wrong).post("hello", key="k")
    assert server.posts == []


def test_missing_keys_are_named(server):
    with pytest.raises(Refused, match="X_CONSUMER_SECRET, X_ACCESS_TOKEN_SECRET"):
        connected(server, secrets={"X_CONSUMER_KEY": "a", "X_ACCESS_TOKEN": "b"})


def test_a_rate_limit_tells_when_it_is_lifted_by_the_servers_clock(server):
    server.faults.append(429)
    with pytest.raises(Unavailable) as raised:
        connected(server).post("later", key="k")
    assert raised.value.after is not None
    assert 80 <= raised.value.after <= 91


def test_a_server_that_never_answers_is_given_up_after_the_timeout_as_uncertain(server):
    server.faults.append("hang")
    with pytest.raises(Uncertain):
        connected(server, timeout=0.3).post("hello?", key="k")


def test_nobody_there_is_unavailable_because_nothing_was_sent(server):
    network = x.connect(x.Options(server="http://127.0.0.1:9"), SECRETS, Path("/nowhere"))
    with pytest.raises(Unavailable, match="online"):
        network.post("hello?", key="k")


def test_no_secret_reaches_an_error_or_the_log(server, caplog):
    caplog.set_level(logging.DEBUG)
    messages = []
    for fault in (401, 402, 403, 429, 500, "cut-after"):
        server.faults.append(fault)
        with pytest.raises(ApplianceError) as raised:
            connected(server).post("quiet", key="k")
        messages.append(repr(raised.value))
    told = " ".join(messages)
    assert not any(secret in told for name, secret in SECRETS.items() if name.endswith("SECRET"))
