"""Options, limits, login and account of the network `bluesky`."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from pi_appliance.errors import Refused
from pi_appliance.posting.graphemes import count_graphemes
from pi_appliance.posting.model import Post
from pi_appliance.posting.networks import bluesky
from pi_appliance.storage.model import Picture
from tests.fakes.bluesky_account import DID, HANDLE, PASSWORD
from tests.posting.networks.bluesky_account import KEY, connected, options, place, png, server

__all__ = ["place", "server"]


def test_it_asks_for_an_app_password_by_its_key_names(server):
    assert list(bluesky.required_secrets(options(server))) == ["BLUESKY_APP_PASSWORD"]
    assert list(bluesky.required_secrets(options(server, secrets_prefix="SKY2"))) == ["SKY2_APP_PASSWORD"]


def test_a_second_account_has_its_own_keys(server, place):
    connected(server, place, {"SKY2_APP_PASSWORD": PASSWORD}, secrets_prefix="SKY2").post(Post("hello"), key=KEY)
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
def test_invalid_options_are_reported(keys, where):
    result = bluesky.Options(**{"handle": HANDLE, **keys}).check()
    assert [problem[0][0] for problem in result] == where


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
def test_a_limit_is_reported_with_its_count(server, place, post, wrong):
    limits = bluesky.post_limits(options(server), place)
    assert limits.rejection_reason(post) == wrong
    assert limits.text_length(post.text) == count_graphemes(post.text)
    assert (limits.max_length, limits.prices) == (300, None)
    assert server.requests == [], "nobody is asked"


@pytest.mark.parametrize(
    "post",
    [
        Post("👨‍👩‍👧‍👦" * 120),
        Post("🇨🇭" * 300),
        Post("क्षि" * 200),
        Post("x" * 300, tuple(Picture(png(width, 2, 1_000_000), "image/png", "a") for width in range(1, 5))),
    ],
)
def test_the_server_accepts_every_valid_text(server, place, post):
    network = connected(server, place)
    assert network.limits.rejection_reason(post) == ""
    network.post(post, key=KEY)
    assert server.texts == [post.text]


def test_whoami_checks_the_current_password_despite_an_old_session(server, place):
    network = connected(server, place)
    assert network.whoami() == f"{HANDLE} ({DID})"
    server.revoke(PASSWORD)
    with pytest.raises(Refused, match="app password"):
        network.whoami()
    assert server.records == {}


@dataclass
class Owner:
    """A user at the terminal, with prepared `answers`."""

    answers: list[str]
    messages: list[str] = field(default_factory=list)
    questions: list[tuple[str, bool]] = field(default_factory=list)

    def show(self, text: str) -> None:
        self.messages.append(text)

    def ask(self, question: str, *, secret: bool = False) -> str:
        self.questions.append((question, secret))
        return self.answers.pop(0)


def test_login_explains_checks_and_returns_the_password(server):
    owner = Owner([PASSWORD])
    assert bluesky.login(options(server, secrets_prefix="SKY"), owner) == {"SKY_APP_PASSWORD": PASSWORD}
    assert owner.questions == [("App password", True)]
    assert "Settings, Privacy and security, App passwords" in owner.messages[0]
    assert DID in owner.messages[-1]
    assert PASSWORD not in " ".join(owner.messages)
    assert len(owner.messages) == 2


def test_login_warns_about_the_account_password(server):
    server.passwords.add("correct horse")
    owner = Owner(["correct horse"])
    bluesky.login(options(server), owner)
    assert any("does not look like an app password" in line for line in owner.messages)


@pytest.mark.parametrize(("password", "says"), [("wxyz-wxyz-wxyz-wxyz", "does not know"), ("", "nothing is changed")])
def test_login_refuses_wrong_credentials(server, password, says):
    with pytest.raises(Refused, match=says):
        bluesky.login(options(server), Owner([password]))


def test_login_with_a_password_that_needs_a_code_explains_the_remedy(server):
    server.wants_code = True
    with pytest.raises(Refused, match="not an app password; make one"):
        bluesky.login(options(server), Owner([PASSWORD]))
