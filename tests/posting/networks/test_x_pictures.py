"""Pictures on X are uploaded before the post, so their failures post nothing."""

import socket
import threading
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from pi_appliance.config.options import NetworkDirs
from pi_appliance.errors import AccountBlocked, ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.posting.model import Post
from pi_appliance.posting.networks import x
from pi_appliance.storage.model import Picture
from tests.fakes.x_server import Raw
from tests.posting.networks.x_account import connected, server

__all__ = ["server"]

RULES = x.post_limits(x.Options(), NetworkDirs(Path("/nowhere"), Path("/nowhere")))
SOLVED = Picture(bytes(range(256)) * 8, "image/png", "A solved board: one peg is left in the middle.")
PLAIN = Picture(b"RIFF", "image/webp")


def test_pictures_are_uploaded_described_and_kept_in_order(server):
    sent_post = connected(server).post(Post("solved", (SOLVED, PLAIN)), key="k")

    assert server.paths() == [
        "POST /2/media/upload",
        "POST /2/media/metadata",
        "POST /2/media/upload",
        "POST /2/tweets",
    ]
    first, second = (server.pictures[number] for number in server.made[0].pictures)
    assert (first.data, first.mime, first.alt, first.post) == (SOLVED.data, "image/png", SOLVED.alt, sent_post.id)
    assert (second.data, second.mime, second.alt) == (PLAIN.data, "image/webp", "")


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        (401, AccountBlocked, "four X_ secrets"),
        (402, AccountBlocked, "credit"),
        (403, Refused, "does not allow this app to upload pictures; give it write permission"),
        (413, Refused, "413"),
        (429, Unavailable, "429"),
        (500, Unavailable, "internal error"),
        ("5xx-after", Unavailable, "internal error"),
        ("cut-before", Unavailable, "broke before it answered"),
        ("cut-after", Unavailable, "broke before it answered"),
        ("cut-in-answer", Unavailable, "broke before it answered"),
        ("not-an-object", Unavailable, "an invalid response"),
        ("html", Unavailable, "an invalid response"),
        ("redirect", Unavailable, "307"),
        ("hang", Unavailable, "took too long"),
        ("drip", Unavailable, "took too long"),
    ],
)
def test_a_failure_before_the_post_is_certain(server, at, fault, error, says):
    server.faults += [None] * at + [fault]
    with pytest.raises(ApplianceError) as raised:
        connected(server, timeout=timedelta(seconds=0.3)).post(Post("solved", (SOLVED,)), key="k")

    assert type(raised.value) is error
    assert says in str(raised.value)
    assert server.posts == []
    assert "POST /2/tweets" not in server.paths()


def test_an_upload_without_an_id_is_unavailable(server):
    server.faults.append(Raw(200, b'{"data": {"media_key": "3_1"}}'))
    with pytest.raises(Unavailable, match="an invalid response"):
        connected(server).post(Post("solved", (PLAIN,)), key="k")


def test_a_failure_of_the_post_is_uncertain(server):
    server.faults += [None, None, "cut-after"]
    with pytest.raises(Uncertain):
        connected(server).post(Post("solved", (SOLVED,)), key="k")
    assert server.posts == ["solved"]


def test_a_rate_limit_of_an_upload_is_awaited(server):
    server.faults.append(429)
    with pytest.raises(Unavailable) as raised:
        connected(server).post(Post("solved", (PLAIN,)), key="k")
    assert 85 <= (raised.value.retry_after or 0) <= 91


def test_a_slow_connection_gets_time_for_a_large_picture():
    """The timeout is per chunk: 5 MB on a slow connection take longer."""
    size, taken = 4_900_000, threading.Event()
    answer = b'{"data": {"id": "12"}}'
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(answer)

    def take_slowly(listener: socket.socket) -> None:
        line, _ = listener.accept()
        with line:
            left = size
            while left > 0 and (piece := line.recv(65_536)):
                left -= len(piece)
                taken.wait(0.04)  # the default: seventy such pieces take much longer than the timeout
            line.sendall(head + answer)
        line, _ = listener.accept()
        with line:
            line.recv(65_536)
            line.sendall(head + answer)

    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = threading.Thread(target=take_slowly, args=(listener,), daemon=True)
        thread.start()
        network = connected(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=timedelta(seconds=0.5))
        sent_post = network.post(Post("large", (Picture(bytes(size), "image/png"),)), key="k")
        thread.join()
    assert sent_post.id == "12"


@pytest.mark.parametrize(
    ("post", "wrong"),
    [
        (Post("x" * 280), ""),
        (Post("x" * 281), "281 of 280"),
        (Post(""), "nothing to post"),
        (Post(" \n"), "nothing to post"),
        (Post("", (PLAIN,)), ""),
        (Post("four", (PLAIN,) * 4), ""),
        (Post("five", (PLAIN,) * 5), "5 of 4 pictures"),
        (
            Post("moving", (Picture(b"GIF89a", "image/gif"),)),
            "a picture of type image/gif; X accepts png, jpeg and webp",
        ),
        (Post("nothing known", (Picture(b"", ""),)), "a picture of type unknown; X accepts png, jpeg and webp"),
        (Post("5 MB", (Picture(bytes(5_000_000), "image/jpeg"),)), ""),
        (Post("more", (Picture(bytes(5_000_001), "image/jpeg"),)), "a picture of 5,000,001 of 5,000,000 bytes"),
        (Post("said", (Picture(b"", "image/png", "ä" * 1000),)), ""),
        (Post("said", (Picture(b"", "image/png", "ä" * 1001),)), "1001 of 1000 characters about a picture"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.text[:9],
)
def test_a_post_that_x_would_refuse_is_refused_before_a_request(post, wrong):
    assert RULES.rejection_reason(post) == wrong


@pytest.mark.parametrize(
    ("post", "price"),
    [
        (Post("words"), "0.015"),
        (Post("words https://example.org"), "0.200"),
        (Post("words example.org"), "0.200"),
        (Post("words", (PLAIN,)), "0.015"),
        (Post("words", (SOLVED, SOLVED)), "0.025"),
    ],
)
def test_a_post_costs_what_x_charges(post, price):
    assert RULES.prices.post_price(post) == Decimal(price)


def test_prices_and_cap_are_configurable():
    mine = x.Options(price=Decimal("0.02"), price_with_link=Decimal("0.3"), monthly_cap=Decimal(5))  # type: ignore[arg-type]
    limits = x.post_limits(mine, NetworkDirs(Path("/nowhere"), Path("/nowhere")))
    assert (limits.prices.post_price(Post("a")), limits.prices.post_price(Post("a.de")), limits.prices.monthly_cap) == (
        Decimal("0.02"),
        Decimal("0.3"),
        Decimal(5),
    )
    assert RULES.prices.monthly_cap is None
    assert RULES.prices.lookup_price == Decimal("0.020")
