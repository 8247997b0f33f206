"""Sign in of the network `bluesky`, and the private storage of its session."""

import json
import logging
import re
from collections.abc import Callable, Sequence

import pytest

from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.posting.model import Post, SentPost
from pi_appliance.posting.networks import bluesky
from pi_appliance.storage.model import Picture
from tests.fakes.bluesky_account import DID, HANDLE, PASSWORD
from tests.fakes.bluesky_server import fake_bluesky
from tests.posting.networks.bluesky_account import KEY, connected, place, png, server

__all__ = ["place", "server"]


def test_one_private_session_serves_many_runs(server, place):
    for number in range(5):
        connected(server, place).post(Post(f"post {number}"), key=f"key {number}")

    assert server.count("createSession") == 1
    (session_file,) = place.private.iterdir()
    assert session_file.stat().st_mode & 0o777 == 0o600
    assert place.private.stat().st_mode & 0o777 == 0o700


def test_an_expired_session_is_refreshed(server, place):
    network = connected(server, place)
    for day in range(10):
        server.ahead = day * 86_400
        network.post(Post(f"day {day}"), key=f"key {day}")

    assert len(server.texts) == 10
    assert server.count("refreshSession") == 9
    assert server.count("createSession") == 1


def test_a_refreshed_session_is_stored_for_the_next_run(server, place):
    for hour in (0, 3, 6, 9):
        server.ahead = hour * 3600
        connected(server, place).post(Post(f"hour {hour}"), key=f"key {hour}")
    assert server.count("createSession") == 1


def test_a_run_uses_the_session_that_another_refreshed(server, place):
    first, second = connected(server, place), connected(server, place)
    for network in (first, second):
        network.post(Post("before"), key=KEY)
    server.ahead = 3 * 3600
    for number, network in enumerate((first, second)):
        network.post(Post("after"), key=f"key {number}")
    assert server.count("refreshSession") == 1


def test_a_session_that_cannot_be_refreshed_is_replaced(server, place):
    network = connected(server, place)
    network.post(Post("before"), key="a")
    server.ahead = 100 * 86_400
    network.post(Post("after"), key="b")
    assert server.texts == ["before", "after"]
    assert server.count("createSession") == 2


def test_an_unknown_session_is_replaced(server, place):
    connected(server, place).post(Post("before"), key="a")
    session_file = place.private / "session.json"
    session_file.write_text(re.sub(r"(access|refresh)-token", "foreign", session_file.read_text("ascii")), "ascii")
    connected(server, place).post(Post("after"), key="b")
    assert server.texts == ["before", "after"]


@pytest.mark.parametrize("fault", [429, 503, "cut-after"])
def test_a_temporary_refresh_failure_costs_no_sign_in(server, place, fault):
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


def test_a_revoked_password_is_refused_with_the_place_to_make_another(server, place):
    network = connected(server, place)
    network.post(Post("before"), key="a")
    server.revoke(PASSWORD)
    server.ahead = 3 * 3600
    with pytest.raises(Refused, match=r"does not know pi\.bsky\.social with this app password.*App passwords"):
        network.post(Post("after"), key="b")
    assert server.texts == ["before"]


def test_sign_ins_over_the_limit_wait_until_it_ends(server, place):
    network = connected(server, place)
    for _ in range(30):
        network.whoami()
    with pytest.raises(Unavailable) as raised:
        network.whoami()
    assert raised.value.retry_after is not None
    assert 290 <= raised.value.retry_after <= 301
    server.ahead = raised.value.retry_after
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
def test_a_damaged_session_is_ignored(server, place, content):
    connected(server, place).whoami()
    (place.private / "session.json").write_bytes(content)
    connected(server, place).post(Post("hello"), key=KEY)
    assert server.texts == ["hello"]


def test_a_session_with_a_line_break_in_a_token_is_ignored(server, place):
    connected(server, place).whoami()
    session_file = place.private / "session.json"
    session_file.write_text(json.dumps(json.loads(session_file.read_text("ascii")) | {"access": "a\nHost: b"}), "ascii")
    connected(server, place).post(Post("hello"), key=KEY)
    assert server.texts == ["hello"]


def test_without_session_storage_it_posts_with_one_sign_in(server, place):
    place.private.parent.mkdir(parents=True)
    place.private.write_text("a file where the folder should be", "ascii")
    network = connected(server, place)
    network.post(Post("hello @mia.example.org", (Picture(png(2, 2), "image/png"),)), key=KEY)
    network.post(Post("again"), key="another")
    assert len(server.texts) == 2
    assert server.count("createSession") == 1


def test_posts_go_to_the_server_of_the_account(server, place):
    with fake_bluesky() as home:
        server.home = home.address
        home._access, home._refresh = server._access, server._refresh  # two servers that trust each other
        connected(server, place).post(Post("hello", (Picture(png(2, 2), "image/png"),)), key=KEY)
        assert home.texts == ["hello"]
    assert server.records == {}


@pytest.mark.parametrize("home", ["http://example.org", "ftp://x", "https://user:pass@example.org", "https://a/b", "x"])
def test_an_insecure_server_gets_nothing(server, place, home):
    server.home = home
    connected(server, place).post(Post("hello"), key=KEY)
    assert server.texts == ["hello"]


def test_no_secret_reaches_an_error_a_log_or_a_repr(server, place, caplog):
    caplog.set_level(logging.DEBUG)
    output: list[str] = []
    faults: Sequence[int | str] = (401, 403, 429, 500, "cut-after", "cut-in-answer", "not-json", "elsewhere", 418)
    for method in ("createSession", "refreshSession", "putRecord", "getRecord"):
        for number, fault in enumerate(faults):
            server.ahead += 3 * 3600
            server.faults[method].append(fault)
            network = connected(server, place)
            output += [repr(network), repr(network._account), repr(network._account._session)]
            for act in (network.whoami, _post(network, f"{method} {number}"), _post(network, f"{method} {number}")):
                try:
                    act()
                except ApplianceError as error:
                    output += [repr(error), str(error)]
            output.append(repr(network._account.session()))
    output.append(caplog.text)
    assert "putRecord" in caplog.text, "the log was on"
    assert "odd: [redacted]" in " ".join(output)
    assert PASSWORD not in " ".join(output)
    assert "-token-" not in " ".join(output)


def _post(network: bluesky.Bluesky, text: str) -> Callable[[], SentPost]:
    return lambda: network.post(Post(text), key=text)


def test_a_netrc_does_not_replace_the_session(server, place, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n", "ascii")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    connected(server, place).post(Post("hello"), key=KEY)
    assert server.texts == ["hello"]
