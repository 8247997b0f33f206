"""The network `mastodon` against a fake server over a real socket."""

import hashlib
import logging
import subprocess
import sys
import time
import unicodedata
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.config.options import NetworkDirs
from pi_appliance.errors import AccountBlocked, ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.posting.model import Post, SentPost
from pi_appliance.posting.networks import mastodon
from pi_appliance.storage.model import Picture
from tests.fakes.mastodon_server import ACCOUNT, TOKEN, FakeMastodon, fake_mastodon

PICTURE = Picture(b"\x89PNG\r\n--a picture\x00\xff", "image/png", "A solved board: one peg is left")
SECRETS = {"MASTODON_TOKEN": TOKEN}


@pytest.fixture
def server() -> Iterator[FakeMastodon]:
    with fake_mastodon() as fake:
        yield fake


class Account:
    """One server and one folder, and the time spent waiting for pictures."""

    def __init__(self, server: FakeMastodon, folder: Path) -> None:
        self.server, self.place = server, NetworkDirs(folder / "private", folder / "public")
        self.waited: list[float] = []

    def connected(self, *, secrets: dict[str, str] = SECRETS, timeout: float = 5, **more: object) -> mastodon.Mastodon:
        options = mastodon.Options(server=self.server.address, timeout=timedelta(seconds=timeout), **more)
        return mastodon.connect(options, secrets, self.place, pause=self.waited.append)


@pytest.fixture
def account(server: FakeMastodon, tmp_path: Path) -> Account:
    return Account(server, tmp_path)


def test_a_post_is_sent_once_and_its_address_returned(server, account):
    sent_post = account.connected().post(Post("Grüße vom Regal 🍓"), key="tweets slot mastodon 0")

    assert server.texts == ["Grüße vom Regal 🍓"]
    assert server.paths == ["POST /api/v1/statuses"]
    status = server.statuses[0]
    assert sent_post == SentPost(status["id"], status["url"])
    assert server.log[0].headers["Idempotency-Key"] == hashlib.sha256(b"tweets slot mastodon 0").hexdigest()
    assert (status["visibility"], status["language"], status["in_reply_to_id"]) == ("public", None, None)


def test_visibility_and_language_are_configurable(server, account):
    account.connected(visibility=mastodon.Visibility.UNLISTED, language="gsw").post(Post("Grüezi"), key="k")
    assert (server.statuses[0]["visibility"], server.statuses[0]["language"]) == ("unlisted", "gsw")


def test_thread_parts_reply_to_each_other(server, account):
    network, sent_posts = account.connected(), []
    for part in ("one", "two", "three"):
        sent_posts.append(network.post(Post(part), key=part, thread=tuple(sent_posts)))
    assert [status["in_reply_to_id"] for status in server.statuses] == [None, sent_posts[0].id, sent_posts[1].id]


def test_a_repeated_key_posts_nothing_for_an_hour_and_then_does(server, account):
    network, began = account.connected(), time.time()
    first = network.post(Post("once"), key="k")
    server.clock = lambda: began + 3590
    assert network.post(Post("once"), key="k") == first
    server.clock = lambda: began + 3610
    assert network.post(Post("once"), key="k") != first
    assert server.texts == ["once", "once"]
    assert not network.idempotent, "because of that"


def test_pictures_are_uploaded_first_with_descriptions(server, account):
    second = Picture(b"GIF89a", "image/gif")
    account.connected().post(Post("look", (PICTURE, second)), key="k")

    (one, two) = server.pictures.values()
    assert (one["mime"], one["data"], one["description"]) == (PICTURE.mime, PICTURE.data, PICTURE.alt)
    assert (two["data"], two["description"]) == (second.data, None)
    assert server.statuses[0]["media_attachments"] == [{"id": one["id"]}, {"id": two["id"]}]
    assert server.paths == ["POST /api/v2/media", "POST /api/v2/media", "POST /api/v1/statuses"]
    assert account.waited == []


def test_a_picture_in_processing_is_awaited(server, account):
    server.polls = 3
    account.connected().post(Post("look", (PICTURE,)), key="k")
    assert server.texts == ["look"]
    assert account.waited == [1.0, 2.0, 4.0]


def test_a_picture_that_is_never_processed_fails_before_posting(server, account):
    server.polls = 1000
    with pytest.raises(Unavailable, match="still working on the picture"):
        account.connected().post(Post("look", (PICTURE,)), key="k")
    assert server.texts == []
    assert sum(account.waited) == 30


@pytest.mark.parametrize(
    ("fault", "error", "says", "there"),
    [
        (401, AccountBlocked, "log in again: pi-appliance networks login", False),
        (403, AccountBlocked, "403: Your login is currently disabled", False),
        (404, Refused, "404: Record not found", False),
        (410, Refused, "410", False),
        (413, Refused, "413", False),
        (422, Refused, "Text character limit of 500 exceeded", False),
        (418, Refused, "418", False),
        ("moved", AccountBlocked, "redirects to elsewhere.example", False),
        ("half-422", Refused, "rejected the request (422)", False),
        (429, Unavailable, "429: Too many requests", False),
        ("half-429", Unavailable, "429", False),
        (408, Uncertain, "check the account", False),
        (500, Uncertain, "internal error", False),
        (502, Uncertain, "internal error", False),
        (503, Uncertain, "503: There was a temporary problem", False),
        (520, Uncertain, "internal error", False),
        ("after-500", Uncertain, "internal error", True),
        ("after-503", Uncertain, "check the account", True),
        ("cut-before", Uncertain, "broke before it answered", False),
        ("cut-after", Uncertain, "broke before it answered", True),
        ("cut-in-answer", Uncertain, "broke before it answered", True),
        ("not-an-object", Uncertain, "invalid response", True),
        ("not-json", Uncertain, "invalid response", True),
        ("no-id", Uncertain, "invalid response", True),
    ],
)
def test_each_fault_has_the_right_meaning(server, account, fault, error, says, there):
    server.faults.append(fault)

    with pytest.raises(ApplianceError) as raised:
        account.connected().post(Post("once"), key="k")

    assert type(raised.value) is error
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
    assert server.texts == (["once"] if there else [])
    assert len(server.log) == (0 if fault == "cut-before" else 1), "nothing is sent twice, whatever the answer"


def test_an_accepted_post_with_an_unreadable_header_exists(server, account):
    server.faults.append("odd-header")  # Mastodon.py reports it as a reached limit of requests
    sent_post = account.connected().post(Post("once"), key="k")
    assert sent_post.id == server.statuses[0]["id"]


@pytest.mark.parametrize("fault", ["hang", "hang-before"])
def test_a_hanging_server_is_uncertain_after_the_timeout(server, account, fault):
    server.faults.append(fault)
    with pytest.raises(Uncertain, match=r"did not answer within 0\.3 seconds"):
        account.connected(timeout=0.3).post(Post("hello?"), key="k")


def test_no_server_is_unavailable_because_nothing_was_sent(server, account):
    server.address = "http://127.0.0.1:9"
    with pytest.raises(Unavailable, match="online"):
        account.connected().post(Post("hello?"), key="k")


def test_an_invalid_server_is_refused(account):
    network = mastodon.connect(mastodon.Options(server="https://*.social"), SECRETS, account.place)
    with pytest.raises(Refused, match=r"\*\.social is not the address of a server"):
        network.post(Post("hello?"), key="k")


def test_a_rate_limit_ends_by_the_clock_of_the_server(server, account):
    server.clock = lambda: 1_000_000_000.25  # of a Pi, or a server, that is wrong by decades
    server.faults.append(429)
    with pytest.raises(Unavailable) as raised:
        account.connected().post(Post("later"), key="k")
    assert raised.value.retry_after == pytest.approx(60, abs=1)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (401, AccountBlocked),
        (422, Refused),
        (429, Unavailable),
        (500, Unavailable),
        ("after-503", Unavailable),
        ("cut-before", Unavailable),
        ("cut-after", Unavailable),
        ("cut-in-answer", Unavailable),
        ("not-an-object", Unavailable),
        ("not-json", Unavailable),
        ("no-id", Unavailable),
    ],
)
def test_a_failed_picture_certainly_posts_nothing(server, account, fault, error):
    server.other_faults["media"] = [fault]
    with pytest.raises(ApplianceError) as raised:
        account.connected().post(Post("look", (PICTURE,)), key="k")
    assert type(raised.value) is error
    assert "check the account" not in str(raised.value)
    assert server.texts == []


def test_a_hang_during_an_upload_certainly_posts_nothing(server, account):
    server.other_faults["media"] = ["hang"]
    with pytest.raises(Unavailable, match="did not answer"):
        account.connected(timeout=0.3).post(Post("look", (PICTURE,)), key="k")


def test_a_read_only_token_is_refused(server, account):
    server.tokens[TOKEN] = "read:accounts read:statuses"
    with pytest.raises(Refused, match="outside the authorized scopes"):
        account.connected().post(Post("once"), key="k")


@pytest.mark.parametrize("token", ["", "two words", "tökén", "a\nb", "a\x00b"])
def test_an_invalid_token_is_refused_before_anything_is_sent(server, account, token):
    with pytest.raises(Refused, match=r"^MASTODON_TOKEN is (missing|not a token); log in: ") as raised:
        account.connected(secrets={"MASTODON_TOKEN": token})
    assert not token or token not in str(raised.value)


def test_a_second_account_has_its_own_token(server, account):
    server.tokens["other-token"] = server.tokens.pop(TOKEN)
    options = mastodon.Options(server=server.address, secrets_prefix="CAT")
    assert list(mastodon.required_secrets(options)) == ["CAT_TOKEN"]
    network = mastodon.connect(options, {**SECRETS, "CAT_TOKEN": "other-token"}, account.place)
    assert network.post(Post("meow"), key="k").id


def test_whoami_checks_the_token_and_posts_nothing(server, account):
    assert account.connected().whoami() == f"@shelf at {server.address.removeprefix('http://')}"
    assert server.paths == ["GET /api/v1/accounts/verify_credentials"]


@pytest.mark.parametrize(
    ("fault", "error"), [(401, AccountBlocked), (403, AccountBlocked), (500, Unavailable), ("cut-after", Unavailable)]
)
def test_whoami_reports_problems(server, account, fault, error):
    server.other_faults["verify_credentials"] = [fault]
    with pytest.raises(error):
        account.connected().whoami()


def test_a_post_is_found_in_any_unicode_normalization(server, account):
    network = account.connected()
    sent_post = network.post(Post("Grüße"), key="k")
    server.statuses[0]["content"] = unicodedata.normalize("NFD", server.statuses[0]["content"])
    assert looked_up(network, "Grüße") == sent_post


@pytest.mark.parametrize(("since", "result"), [("first", True), ("", False)])
def test_all_posts_since_a_known_one_are_searched(account, since, result):
    network = account.connected()
    first, lost = (network.post(Post(text), key=text) for text in ("first", "lost"))
    for number in range(90):
        network.post(Post(f"and then {number}"), key=str(number))
    found_post = network.find_post(Post("lost"), key="k", known_ids=(), since_id=first.id if since else "")
    assert found_post == (lost if result else None)
    assert network.find_post(Post("first"), key="k", known_ids=(), since_id=first.id) is None


def test_without_a_known_post_the_search_covers_all_known_posts(account):
    network = account.connected()
    lost = network.post(Post("lost"), key="lost")
    known = {network.post(Post(f"and then {number}"), key=str(number)).id for number in range(90)}
    assert network.find_post(Post("lost"), key="k", known_ids=known) == lost
    assert network.find_post(Post("another"), key="k", known_ids=known) is None


def looked_up(
    network: mastodon.Mastodon, text: str, known: tuple[str, ...] = (), pictures: tuple = ()
) -> SentPost | None:
    return network.find_post(Post(text, pictures), key="k", known_ids=frozenset(known))


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "  spaces around, and two  within ",
        "a line\nand another\n\na paragraph\n\n\n\nfar below",
        "windows\r\nlines",
        'Is 1 < 2 & 3 > 2? "Yes", it\'s so. &amp; stays',
        "https://example.org/a/very/long/way/to/go/that/is/cut?for=the&eyes=of#readers and on",
        "(https://www.example.org/short), http://example.org:8080!",
        "#raspberrypi and #Grüße_2 at once",
        "hello @friend@far.example, @Friend@Far.Example and @stranger@nowhere.example; not mail@far.example",
        "decomposed: e\u0301, A\u030a",
        "👩‍🚀🇨🇭 emoji 🏳️‍🌈",
        "no-break\u00a0space",
        "日本語のテキストhttps://example.jp/パス です",
        "a#b @ # <b>not bold</b>",
    ],
)
def test_a_post_is_found_after_every_change_by_the_server(server, account, text):
    network = account.connected()
    network.post(Post("something else"), key="0")
    sent_post = network.post(Post(text), key="k")
    network.post(Post(text + " but longer"), key="2")

    assert looked_up(network, text) == sent_post
    assert looked_up(network, text + "!") is None


@settings(deadline=None)  # a server each, and a busy machine
@given(st.text(st.characters(exclude_categories=("Cs", "Cc"))).filter(lambda text: text.strip() != ""))
def test_any_text_is_found_again(text):
    with fake_mastodon() as server:
        server.limit = 10_000
        network = mastodon.connect(
            mastodon.Options(server=server.address), SECRETS, NetworkDirs(Path("/no"), Path("/no"))
        )
        sent_post = network.post(Post(text), key="k")
        assert looked_up(network, text) == sent_post


def test_a_recorded_post_is_not_found_again(server, account):
    network = account.connected()
    first, second = (network.post(Post("same"), key=key) for key in "ab")
    assert looked_up(network, "same", (first.id,)) == second
    assert looked_up(network, "same", (first.id, second.id)) is None


def test_posts_with_and_without_a_picture_differ(server, account):
    network = account.connected()
    plain = network.post(Post("look"), key="a")
    assert looked_up(network, "look", pictures=(PICTURE,)) is None
    with_picture = network.post(Post("look", (PICTURE,)), key="b")
    assert looked_up(network, "look", pictures=(PICTURE,)) == with_picture
    assert looked_up(network, "look") == plain


def test_the_account_name_is_requested_once(server, account):
    network = account.connected()
    looked_up(network, "a")
    looked_up(network, "b")
    accounts = f"GET /api/v1/accounts/{ACCOUNT['id']}/statuses"
    assert server.paths == ["GET /api/v1/accounts/verify_credentials", accounts, accounts]
    assert server.log[1].fields == {"exclude_reblogs": "1", "limit": "40"}


@pytest.mark.parametrize("where", ["look", "verify_credentials"])
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (401, AccountBlocked),
        (403, AccountBlocked),
        (404, Unavailable),
        (422, Unavailable),
        (429, Unavailable),
        (500, Unavailable),
        ("cut-before", Unavailable),
        ("cut-after", Unavailable),
        ("cut-in-answer", Unavailable),
        ("not-an-object", Unavailable),
        ("not-json", Unavailable),
    ],
)
def test_a_failed_search_never_reports_a_missing_post(server, account, where, fault, error):
    server.other_faults[where] = [fault]
    with pytest.raises(ApplianceError) as raised:
        looked_up(account.connected(), "where am I?")
    assert type(raised.value) is error


@pytest.mark.parametrize("odd", [{}, {"content": None}, {"id": ""}, {"media_attachments": None, "id": None}, "text"])
def test_an_invalid_search_result_never_reports_a_missing_post(server, account, odd):
    network = account.connected()
    network.post(Post("same"), key="k")
    if isinstance(odd, dict) and odd:
        server.statuses[0] |= odd
    else:
        server.statuses[0] = odd if isinstance(odd, dict) else {"id": odd}
    with pytest.raises(Unavailable):
        looked_up(network, "same")


FAULTS = ["cut-before", "cut-after", "cut-in-answer", "half-429", "not-an-object", "not-json", "no-id", "odd-header"]
FAULTS += ["after-500", "after-503", 429, 500, 503]


@settings(deadline=None)  # a server each, and a busy machine
@given(st.lists(st.sampled_from(FAULTS), max_size=4), st.lists(st.sampled_from(FAULTS), max_size=3), st.booleans())
def test_searching_before_a_retry_posts_once_even_if_the_server_forgot_the_key(faults, looks, hours):
    with fake_mastodon() as server:
        server.faults, server.other_faults["look"], server.other_faults["media"] = faults, looks, looks[1:]
        options = mastodon.Options(server=server.address)
        post, sent_post, perhaps, began = Post("once", (PICTURE,)), None, False, time.time()
        for turn in range(20):
            server.clock = lambda now=began + turn * 3700 * hours: now
            network = mastodon.connect(options, SECRETS, NetworkDirs(Path("/no"), Path("/no")))
            try:
                sent_post = network.find_post(post, key="k", known_ids=()) if perhaps else None
                sent_post = sent_post or network.post(post, key="k")
                break
            except Unavailable:
                continue
            except Uncertain:
                perhaps = True
        assert sent_post is not None
        assert [status["id"] for status in server.statuses] == [sent_post.id]


class Owner:
    """A user at a terminal with a browser."""

    def __init__(self, server: FakeMastodon, code: str | None = None) -> None:
        self.server, self.code = server, code
        self.messages: list[str] = []

    def show(self, text: str) -> None:
        self.messages.append(text)

    def ask(self, question: str, *, secret: bool = False) -> str:  # noqa: ARG002 - the shape of ports.Talk
        self.messages.append(question)
        address = next(word for word in " ".join(self.messages).split() if "/oauth/" in word)
        allowed = self.server.approve(address)
        return allowed if self.code is None else self.code


def test_login_registers_asks_for_the_code_and_returns_a_working_token(server, account):
    owner = Owner(server)
    secrets = mastodon.login(mastodon.Options(server=server.address, secrets_prefix="CAT"), owner)

    assert list(secrets) == ["CAT_TOKEN"]
    token = secrets["CAT_TOKEN"]
    assert server.tokens[token] == "read:accounts read:statuses write:statuses write:media"
    assert next(iter(server.apps.values()))["client_name"] == "pi-appliance"
    assert "@shelf" in owner.messages[-1]
    assert token not in " ".join(owner.messages)
    assert mastodon.connect(mastodon.Options(server=server.address, secrets_prefix="CAT"), secrets, account.place).post(
        Post("hello", (PICTURE,)), key="k"
    )


def test_login_ignores_the_netrc_of_the_owner(server, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("default login me password hush\n", "utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    mastodon.login(mastodon.Options(server=server.address), Owner(server))
    authorizations = [request.headers["Authorization"] for request in server.log if "Authorization" in request.headers]
    assert [value.split()[0] for value in authorizations] == ["Bearer"]


def test_login_with_a_missing_or_wrong_code_is_reported(server):
    options = mastodon.Options(server=server.address)
    with pytest.raises(Refused, match=r"rejected the code \(400: .*revoked\); log in again"):
        mastodon.login(options, Owner(server, "not-it"))
    with pytest.raises(Refused, match="no code was given"):
        mastodon.login(options, Owner(server, ""))
    assert list(server.tokens) == [TOKEN]


@pytest.mark.parametrize("where", ["apps", "token", "verify_credentials"])
@pytest.mark.parametrize("fault", [403, 429, 500, "cut-before", "cut-in-answer", "not-an-object", "not-json", "no-id"])
def test_a_failed_login_is_reported_in_one_line(server, where, fault):
    server.other_faults[where] = [fault]
    with pytest.raises(ApplianceError) as raised:
        mastodon.login(mastodon.Options(server=server.address, timeout=timedelta(seconds=5)), Owner(server))
    assert type(raised.value) is ({"token": Refused}.get(where, AccountBlocked) if fault == 403 else Unavailable)
    assert "\n" not in str(raised.value)


def test_no_secret_reaches_an_error_the_log_or_the_terminal(server, account, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    owner = Owner(server)
    token = mastodon.login(mastodon.Options(server=server.address), owner)["MASTODON_TOKEN"]
    network = account.connected(secrets={"MASTODON_TOKEN": token})
    messages = [network.whoami(), str(looked_up(network, "quiet")), str(network.limits.max_length), repr(network)]
    for fault in (401, 403, 422, 429, 500, "moved", "cut-after", "cut-in-answer", "not-json", "not-an-object"):
        server.faults.append(fault)
        with pytest.raises(ApplianceError) as raised:
            network.post(Post("quiet", (PICTURE,)), key="k")
        messages.append(repr(raised.value))
    output = " ".join([caplog.text, *messages, *capfd.readouterr()])

    assert "POST /api/v1/statuses" in caplog.text, "what is logged was looked at"
    secrets = (token, next(iter(server.apps.values()))["client_secret"], "code-1")
    assert [secret for secret in secrets if secret in output or secret in " ".join(owner.messages)] == []


@pytest.mark.parametrize(
    ("server", "wrong"),
    [
        ("https://mastodon.social", ""),
        ("https://mastodon.social/", ""),
        ("https://xn--bcher-kva.example:8443", ""),
        ("http://127.0.0.1:3000", ""),
        ("http://localhost:3000", ""),
        ("http://[::1]:3000", ""),
        ("http://mastodon.social", "unprotected"),
        ("http://localhost.example", "unprotected"),
        ("mastodon.social", "address"),
        ("", "address"),
        ("https://", "address"),
        ("https://mastodon..social", "address"),
        ("https://mastodon.social:port", "address"),
        ("https://mastodon.social/@shelf", "more than"),
        ("https://me:word@mastodon.social", "more than"),
        ("ftp://mastodon.social", "address"),
    ],
)
def test_the_server_address_is_validated(server, wrong):
    problems = mastodon.Options(server=server).check()
    assert [where for where, _, _ in problems] == ([("server",)] if wrong else [])
    assert wrong in "".join(text for _, text, _ in problems)


@pytest.mark.parametrize(
    ("language", "good"), [("en", True), ("gsw", True), ("pt-BR", True), ("english", False), ("", False)]
)
def test_the_language_is_validated(language, good):
    problems = mastodon.Options(server="https://mastodon.social", language=language).check()
    assert (problems == []) is good


def test_without_the_library_it_names_the_extra_and_the_rules_work(tmp_path):
    script = f"""
import sys
sys.modules["mastodon"] = None
from pathlib import Path
from pi_appliance.errors import Refused
from pi_appliance.config.options import NetworkDirs
from pi_appliance.posting.model import Post
from pi_appliance.posting.networks import mastodon
options = mastodon.Options(server="https://mastodon.social")
place = NetworkDirs(Path({str(tmp_path)!r}), Path({str(tmp_path)!r}))
print(mastodon.post_limits(options, place).rejection_reason(Post("x" * 501)))
secrets = {{"MASTODON_TOKEN": "t"}}
for call in (lambda: mastodon.connect(options, secrets, place), lambda: mastodon.login(options, None)):
    try:
        call()
    except Refused as error:
        print(error)
"""
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    first, *refused = output.splitlines()
    assert first == "501 of 500"
    assert (
        refused
        == [f"the library Mastodon.py is not installed; run: {sys.executable} -m pip install 'Mastodon.py>=2.0'"] * 2
    )


def test_neither_the_rules_nor_the_module_import_the_library(tmp_path):
    script = (
        "import sys; from pi_appliance.posting.networks import mastodon;"
        "from pi_appliance.config.options import NetworkDirs;"
        "from pathlib import Path; p = Path('/nowhere');"
        "mastodon.post_limits(mastodon.Options(server='https://mastodon.social'), NetworkDirs(p, p)).text_length('a');"
        "print([name for name in ('mastodon', 'requests', 'dateutil') if name in sys.modules])"
    )
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert output == "[]\n"
