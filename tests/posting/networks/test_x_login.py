"""Login to X: the answers of the owner, the PIN flow against a fake X, and failures."""

import logging
from collections.abc import Callable
from datetime import timedelta

import pytest

from pi_appliance.errors import ApplianceError, Refused, Unavailable
from pi_appliance.posting.networks import x
from tests.fakes.x_server import SECRETS, FakeX, Raw
from tests.posting.networks.x_account import server

__all__ = ["server"]

APP = [SECRETS["X_CONSUMER_KEY"], SECRETS["X_CONSUMER_SECRET"]]


class Owner:
    """Answers questions in order; an answer may be taken from the output."""

    def __init__(self, *answers: str | Callable[[str], str]) -> None:
        self.messages: list[str] = []
        self.questions: list[tuple[str, bool]] = []
        self._answers = list(answers)

    def show(self, text: str) -> None:
        self.messages.append(text)

    def ask(self, question: str, *, secret: bool = False) -> str:
        self.questions.append((question, secret))
        answer = self._answers.pop(0)
        return answer if isinstance(answer, str) else answer(self.messages[-1])


def login(server: FakeX | str, owner: Owner, secrets_prefix: str = "X") -> dict[str, str]:
    address = server if isinstance(server, str) else server.address
    return dict(
        x.login(x.Options(server=address, timeout=timedelta(seconds=0.5), secrets_prefix=secrets_prefix), owner)
    )


def consent(server: FakeX) -> Callable[[str], str]:
    """Return a function that gets the PIN from the last printed address."""
    return lambda message: server.keys.consent(message.rsplit(maxsplit=1)[-1])


def test_login_by_pin_returns_the_four_keys(server):
    owner = Owner(*APP, "", consent(server))
    assert login(server, owner) == SECRETS
    assert f"{server.address}/oauth/authorize?oauth_token=" in owner.messages[1]
    assert owner.messages[-1] == "These are the keys of @shelf_bot."
    assert [secret for _, secret in owner.questions] == [True, True, True, False]
    assert server.posts == []


def test_a_pin_may_have_spaces(server):
    owner = Owner(*APP, "", lambda message: " ".join(consent(server)(message)))
    assert login(server, owner) == SECRETS


def test_a_console_token_is_used_unchanged_without_a_request(server):
    owner = Owner(*SECRETS.values())
    assert login(server, owner, secrets_prefix="X2") == {
        name.replace("X_", "X2_", 1): value for name, value in SECRETS.items()
    }
    assert all(secret for _, secret in owner.questions)
    assert server.requests == 0


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ([""], "no API key .* was given; nothing was changed"),
        (["key", ""], "no API key secret was given"),
        (["key", "secret", "token", ""], "no Access token secret was given"),
        ([*APP, "", ""], "no PIN was given"),
    ],
)
def test_a_missing_answer_ends_the_login(server, answers, says):
    with pytest.raises(Refused, match=says):
        login(server, Owner(*answers))


def test_a_wrong_key_is_reported_as_such(server):
    with pytest.raises(Refused, match=r"does not know this API key and secret; check both, and the clock .* \(401\)"):
        login(server, Owner("wrong", "secret", ""))


def test_an_app_without_pin_login_is_reported_as_such(server):
    server.pin_allowed = False
    with pytest.raises(Refused, match="'User authentication settings'"):
        login(server, Owner(*APP, ""))


@pytest.mark.parametrize("typed", ["0", "the PIN"])
def test_a_wrong_pin_is_reported_as_such(server, typed):
    def mistyped(message: str) -> str:
        consent(server)(message)
        return typed

    with pytest.raises(Refused, match="rejected this PIN; log in again"):
        login(server, Owner(*APP, "", mistyped))


@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        (429, Unavailable, "429"),
        (500, Unavailable, "internal error"),
        (418, Refused, "418"),
        ("cut-before", Unavailable, "broke before it answered; nothing was changed"),
        ("cut-after", Unavailable, "broke before it answered; nothing was changed"),
        ("hang", Unavailable, "took too long to answer; nothing was changed"),
        ("drip-head", Unavailable, "took too long to answer; nothing was changed"),
        ("html", Unavailable, "an invalid response"),
        ("redirect", Unavailable, "307"),
        (Raw(200, b"oauth_token=&oauth_token_secret=x"), Unavailable, "an invalid response"),
        (Raw(200, b"\xff\xfe"), Unavailable, "an invalid response"),
    ],
    ids=str,
)
def test_every_failure_of_a_login_is_one_clear_line(server, step, fault, error, says):
    server.faults += [None] * step + [fault]
    with pytest.raises(ApplianceError) as raised:
        login(server, Owner(*APP, "", consent(server)))
    assert type(raised.value) is error
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_no_server_is_unavailable():
    with pytest.raises(Unavailable, match="online"):
        login("http://127.0.0.1:9", Owner(*APP, ""))


def test_an_invalid_name_is_not_shown(server):
    server.faults += [None, Raw(200, b"oauth_token=a&oauth_token_secret=b&screen_name=%1b%5b31m")]
    owner = Owner(*APP, "", consent(server))
    assert list(login(server, owner).values()) == [*APP, "a", "b"]
    assert len(owner.messages) == 2


def test_no_secret_of_a_login_reaches_a_log_at_any_level(server, tmp_path):
    root, file = logging.getLogger(), logging.FileHandler(tmp_path / "everything.log")
    before = root.level
    root.addHandler(file)
    root.setLevel(logging.DEBUG)
    try:
        login(server, Owner(*APP, "", consent(server)))
    finally:
        root.setLevel(before)
        root.removeHandler(file)
        file.close()
    written = (tmp_path / "everything.log").read_text("utf-8")
    assert not any(secret in written for secret in [*SECRETS.values(), *server.keys.pending_logins])
