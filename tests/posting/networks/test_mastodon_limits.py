"""The limits of a Mastodon server: counted like there, requested once a day, remembered offline."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.config.options import NetworkDirs
from pi_appliance.errors import Refused
from pi_appliance.posting.model import Post, PostLimits
from pi_appliance.posting.networks import mastodon
from pi_appliance.storage.model import Picture
from tests.fakes.mastodon_server import TOKEN, FakeMastodon, fake_mastodon

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
NOWHERE = NetworkDirs(Path("/nowhere"), Path("/nowhere"))
RULES = mastodon.post_limits(mastodon.Options(server="https://mastodon.social"), NOWHERE)


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("", 0),
        ("plain", 5),
        ("a\r\nb\n", 4),
        ("Grüße", 5),
        ("e\u0301", 1),
        ("👩‍🚀🇨🇭🏳️‍🌈", 3),
        ("https://example.org", 23),
        ("https://example.org/a/very/long/way/that/goes/on?and=on&and#on", 23),
        ("http://pi.co", 23),
        ("see https://example.org.", 4 + 23 + 1),
        ("(https://en.wikipedia.org/wiki/Pi_(letter))", 1 + 23 + 1),
        ("https://example.org/wiki/Pi_(letter)", 23),
        ("https://example.org/a(b(c)d)e, https://example.org:8080/", 23 + 2 + 23),
        ("日本https://example.jp/パスです", 2 + 23),
        ("https://example.comです", 23 + 2),
        ("https://bücher.example.рф", 23),
        ("https://a.xn--p1ai/x", 23),
        ("example.org and www.example.org/a", 33),  # no address without its beginning
        ("ahttps://example.org", 20),
        ("@https://example.org", 20),
        ("http://raspberrypi.local:8080/page", 34),  # .local is the ending of no domain
        ("http://192.168.1.20/", 20),
        ("http://localhost/", 17),
        ("https://", 8),
        ("hi @me, @me@mastodon.social!", 12),
        ("@me.too@mastodon.social.", 7 + 1),
        ("mail@mastodon.social", 20),
        ("https://mastodon.social/@me@far.example/1", 23),
        ("x/@me@far.example", 17),
    ],
)
def test_a_text_is_weighed_like_the_server_does(text, weight):
    assert RULES.text_length(text) == weight


known = st.text(st.characters(exclude_categories=("Cn", "Cs")))
# Without "=": the server ends no address with it (its twitter_regex.rb), Mastodon.py does.
PIECES = [
    *(" https://", "(http://", "example.org", "a.b.c.museum", "www.example.com", ":8080", "/", "/a/b", "(", ")", "()"),
    *("?", "?q=1&b=2", "#x", "!", ".", ",", "'", " ", "\n", "日 ", "é ", "-", "_", "~", "&", "🍓", "👩‍🚀"),
    *("<", ">", "[", "]", "1", "*", "$"),
]


@given(known.filter(lambda text: "@" not in text and "://" not in text))
def test_plain_text_is_weighed_in_graphemes(text):
    assert RULES.text_length(text) == len(regex.findall(r"\X", text))


@given(st.lists(st.sampled_from(PIECES), max_size=9).map("".join))
def test_addresses_are_recognized_like_mastodon_py_does(text):
    from mastodon._url_regex import url_regex  # noqa: PLC0415 - it imports the whole library, for this test only

    counted = url_regex.sub(lambda result: result[2] + "x" * 23, text)
    assert RULES.text_length(text) == len(regex.findall(r"\X", counted))


@given(known, st.integers(0, 3))
def test_a_text_weighs_at_most_its_characters_and_23_per_address(text, addresses):
    weight = RULES.text_length(text + " https://example.org" * addresses)
    assert weight <= len(text) + 24 * addresses
    assert weight >= 23 * addresses


def test_a_post_is_free(server, tmp_path):
    assert RULES.prices is None


def picture(mime: str = "image/png", size: int = 3, alt: str = "") -> Picture:
    return Picture(b"x" * size, mime, alt)


@pytest.mark.parametrize(
    ("post", "wrong"),
    [
        (Post("x" * 500), ""),
        (Post("x" * 501), "501 of 500"),
        (Post("x" * 477 + " https://example.org"), "501 of 500"),
        (Post("x" * 476 + " https://example.org"), ""),
        (Post(" \n"), "the post is empty"),
        (Post("", (picture(),)), ""),
        (Post("x", (picture(),) * 4), ""),
        (Post("x", (picture(),) * 5), "5 pictures of 4"),
        (
            Post("x", (picture(), picture("image/tiff"))),
            "a picture of the kind image/tiff, which the server does not take",
        ),
        (Post("x", (picture(size=16777217),)), "a picture of 16777217 bytes of 16777216"),
        (Post("x", (picture(alt="y" * 1501),)), "a description of a picture with 1501 of 1500 characters"),
    ],
)
def test_the_default_limits_of_a_server_apply(post, wrong):
    assert RULES.rejection_reason(post) == wrong


@pytest.fixture
def server() -> Iterator[FakeMastodon]:
    with fake_mastodon() as fake:
        yield fake


def request_limits(server: FakeMastodon, folder: Path, when: datetime = NOON) -> PostLimits:
    """Return the limits of a run that starts `when`."""
    options = mastodon.Options(server=server.address, timeout=timedelta(seconds=0.5))
    place = NetworkDirs(folder / "state" / "networks" / "m", folder)
    return mastodon.connect(options, {"MASTODON_TOKEN": TOKEN}, place, now=lambda: when).limits


def cached_limits(server: FakeMastodon, folder: Path) -> PostLimits:
    place = NetworkDirs(folder / "state" / "networks" / "m", folder)
    return mastodon.post_limits(mastodon.Options(server=server.address), place)


def file_of(folder: Path) -> Path:
    return folder / "state" / "networks" / "m" / "limits.json"


def test_the_limit_is_requested_and_remembered_offline(server, tmp_path):
    server.limit = 1000
    assert cached_limits(server, tmp_path).max_length == 500, "until it is known"

    limits = request_limits(server, tmp_path)
    assert (
        limits.max_length,
        limits.rejection_reason(Post("x" * 1000)),
        limits.rejection_reason(Post("x" * 1001)),
    ) == (1000, "", "1001 of 1000")
    assert limits.rejection_reason(Post("x", (picture("image/webp"),))) != "", "this server takes none"
    assert cached_limits(server, tmp_path) == limits
    assert server.paths == ["GET /api/v2/instance", "GET /.well-known/nodeinfo", "GET /nodeinfo/2.0"]


def test_the_limit_is_requested_once_a_day(server, tmp_path):
    request_limits(server, tmp_path)
    server.limit = 1000
    assert request_limits(server, tmp_path, NOON + timedelta(hours=23, minutes=59)).max_length == 500
    assert request_limits(server, tmp_path, NOON + timedelta(days=1)).max_length == 1000
    assert server.paths.count("GET /api/v2/instance") == 2


def test_a_limit_stored_in_the_future_is_requested_again(server, tmp_path):
    request_limits(server, tmp_path, NOON + timedelta(days=3650))
    server.limit = 1000
    assert request_limits(server, tmp_path).max_length == 1000


def test_one_run_asks_once_even_without_an_answer(server, tmp_path):
    server.other_faults["instance"] = [500, 500]
    options = mastodon.Options(server=server.address)
    network = mastodon.connect(options, {"MASTODON_TOKEN": TOKEN}, NetworkDirs(tmp_path, tmp_path), now=lambda: NOON)
    assert network.limits.max_length == network.limits.max_length == 500
    assert len(server.log) == 2


def test_an_old_server_is_asked_by_the_old_api(server, tmp_path):
    server.old, server.limit = True, 700
    assert request_limits(server, tmp_path).max_length == 700
    assert server.paths[:2] == ["GET /api/v2/instance", "GET /api/v1/instance"]


def test_a_server_with_a_broken_new_api_is_asked_by_the_old_one_silently(server, tmp_path):
    server.limit = 700
    server.other_faults["instance"] = [500]
    assert request_limits(server, tmp_path).max_length == 700


def test_a_redirect_to_another_address_of_the_server_is_followed(server, tmp_path):
    server.strict, server.limit = True, 5000
    assert request_limits(server, tmp_path).max_length == 5000


@pytest.mark.parametrize("fault", [401, 404, 429, 500, "not-an-object", "not-json", "no-id", "cut-in-answer", "hang"])
def test_without_an_answer_the_remembered_limit_applies(server, tmp_path, fault):
    server.limit = 1000
    request_limits(server, tmp_path)
    server.other_faults["instance"] = [fault, fault]
    assert request_limits(server, tmp_path, NOON + timedelta(days=2)).max_length == 1000
    assert file_of(tmp_path).exists()


def test_an_unreachable_server_is_tried_once_and_the_remembered_limit_applies(server, tmp_path):
    server.limit = 1000
    request_limits(server, tmp_path)
    server.other_faults["instance"] = ["cut-before", "cut-before"]
    assert request_limits(server, tmp_path, NOON + timedelta(days=2)).max_length == 1000
    assert server.other_faults["instance"] == ["cut-before"]


def test_the_limit_of_another_server_does_not_apply(server, tmp_path):
    server.limit = 1000
    request_limits(server, tmp_path)
    options = mastodon.Options(server="https://mastodon.social")
    assert mastodon.post_limits(options, NetworkDirs(file_of(tmp_path).parent, tmp_path)).max_length == 500


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "7", '{"server": 1}', "{SERVER}", '{SERVER, "read": 5, "limits": {}}', "\x00" * 80]
    + [f'{{SERVER, "read": "2026-06-01T12:00:00+00:00", "limits": {limits}}}' for limits in ("[]", "7", '{"odd": 3}')]
    + ['{SERVER, "read": "yesterday", "limits": {"limit": 900}}', '{SERVER, "read": "2026-06-01", "limits": []}'],
)
def test_a_damaged_file_is_ignored(server, tmp_path, content):
    file_of(tmp_path).parent.mkdir(parents=True)
    file_of(tmp_path).write_text(content.replace("SERVER", f'"server": "{server.address}"'), "utf-8")
    assert cached_limits(server, tmp_path).max_length == 500
    server.limit = 1000
    assert request_limits(server, tmp_path).max_length == 1000


@pytest.mark.parametrize(
    "odd",
    [
        {"max_characters": -1, "characters_reserved_per_url": "many", "max_media_attachments": None},
        {"max_characters": True},
        {},
        [],
    ],
)
def test_invalid_limits_become_the_defaults(server, tmp_path, odd):
    media = {"supported_mime_types": 1, "image_size_limit": 0}
    server.instance = {"version": "2.0", "configuration": {"statuses": odd, "media_attachments": media}}
    assert request_limits(server, tmp_path) == RULES


def test_the_stored_limit_is_private_and_the_only_file(server, tmp_path):
    request_limits(server, tmp_path)
    file = file_of(tmp_path)
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(file.parent.iterdir()) == [file]
    assert TOKEN not in file.read_text("utf-8")
    assert json.loads(file.read_text("utf-8"))["read"] == "2026-06-01T12:00:00+00:00"


def test_a_full_disk_does_not_prevent_posting(server, tmp_path):
    (tmp_path / "state").write_text("a file where a folder should be", "utf-8")
    server.limit = 1000
    assert request_limits(server, tmp_path).max_length == 1000
    assert cached_limits(server, tmp_path).max_length == 500


LINK = "https://example.org/" + "a" * 40  # 60 characters, 23 at Mastodon
MENTION = "@me@far.example"  # 15 characters, 3 at Mastodon
COUNTS = {"mastodon": 1, "hometown": 1, "gotosocial": 2, "pleroma": 1, "akkoma": 1, "takahe": 2}


@pytest.mark.parametrize("software", list(COUNTS))
def test_a_text_counts_as_the_software_of_the_server_counts_it(server, tmp_path, software):
    server.software = software
    limits = request_limits(server, tmp_path)
    discount = software in ("mastodon", "hometown")
    assert limits.text_length(LINK) == (23 if discount else 60)
    assert limits.text_length(MENTION) == (3 if discount else 15)
    assert limits.text_length("e\u0301") == COUNTS[software]
    assert cached_limits(server, tmp_path).text_length(LINK) == limits.text_length(LINK)


@pytest.mark.parametrize("software", ["mastodon", "gotosocial", "akkoma"])
@pytest.mark.parametrize("length", [440, 441, 477, 478])
def test_the_server_takes_what_fits_and_nothing_else(server, tmp_path, software, length):
    server.software = software
    options = mastodon.Options(server=server.address)
    network = mastodon.connect(options, {"MASTODON_TOKEN": TOKEN}, NetworkDirs(tmp_path, tmp_path))
    post = Post("x" * (length - 1) + " " + LINK)
    if network.limits.rejection_reason(post) == "":
        network.post(post, key="one")
    else:
        with pytest.raises(Refused, match=r"40|42"):
            network.post(post, key="one")


@pytest.mark.parametrize(
    ("version", "length"),
    [
        ("4.4.0", 23),
        ("0.17.3 git-bb95055", 60),
        ("4.1.1+gotosocial-0.15.0", 60),
        ("2.7.2 (compatible; Pleroma 2.6.2)", 60),
        ("2.7.2 (compatible; Akkoma 3.10.4)", 60),
    ],
)
def test_without_nodeinfo_the_version_names_the_software(server, tmp_path, version, length):
    server.software, server.version = "", version
    assert request_limits(server, tmp_path).text_length(LINK) == length


@pytest.mark.parametrize("fault", [404, 500, "not-an-object", "not-json", "no-id", "cut-in-answer", "hang", "moved"])
def test_without_nodeinfo_the_remembered_software_counts(server, tmp_path, fault):
    server.software = "gotosocial"
    request_limits(server, tmp_path)
    server.other_faults["nodeinfo"] = [fault, fault]
    assert request_limits(server, tmp_path, NOON + timedelta(days=2)).text_length(LINK) == 60


@settings(deadline=None)  # a server each, and a busy machine
@given(st.sampled_from([499, 500, 501]), st.sampled_from(["x", "é", "👩‍🚀", "e\u0301", "日"]))
def test_the_server_agrees_on_the_maximum_length(count, character):
    with fake_mastodon() as server, TemporaryDirectory() as folder:
        options = mastodon.Options(server=server.address)
        network = mastodon.connect(options, {"MASTODON_TOKEN": TOKEN}, NetworkDirs(Path(folder), Path(folder)))
        post = Post(character * (count - 28) + " @me@far.example https://example.org/where/it/is/told"[:53])
        fits = network.limits.rejection_reason(post) == ""
        try:
            network.post(post, key="k")
        except Refused:
            assert not fits
        else:
            assert fits
