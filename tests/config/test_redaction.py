"""Redaction of texts and settings."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.config.redaction import MARK, Redactor

SECRET = 'hünter "2" & <co>/x'


@pytest.mark.parametrize(
    "spelled",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        quote(SECRET),
        quote(SECRET, safe=""),
        repr(SECRET),
        base64.b64encode(SECRET.encode()).decode(),
    ],
)
def test_a_known_secret_is_redacted_in_every_spelling(spelled: str) -> None:
    redacted = Redactor([SECRET]).remove_known(f"it said {spelled}!")
    assert MARK in redacted
    assert "nter" not in redacted


@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "consumer-key-1:"])
@pytest.mark.parametrize("after", ["", ":", ":2", ":23", ":end"])
def test_a_known_secret_is_redacted_within_base64(before: str, after: str) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(f"{before}{SECRET}{after}".encode()).decode()
        redacted = Redactor([SECRET]).remove_known(f"Basic {encoded}")
        assert MARK in redacted
        assert len(redacted.replace(MARK, "").replace("Basic ", "")) <= len(encoded) - 4 * len(SECRET.encode()) / 3 + 4


@pytest.mark.parametrize(
    ("line", "redacted"),
    [
        ("password: correct horse", f"password: {MARK}"),
        ("X_ACCESS_TOKEN=abc def", f"X_ACCESS_TOKEN={MARK}"),
        ("host: nas, password: correct horse", f"host: nas, password: {MARK}"),
        ("backup --user me --password hunter2 --all", f"backup --user me --password {MARK}"),
        ("curl --token=abc", f"curl --token={MARK}"),
        ('{"api_key": "abc", "b": 1}', f'{{"api_key": {MARK}'),
        ("Authorization: Bearer abc.def", f"Authorization: {MARK}"),
        ("sent Bearer abcdefgh12345678 twice", f"sent Bearer {MARK} twice"),
        ("POST https://ntfy.sh/my-topic ok", f"POST https://ntfy.sh/{MARK} ok"),
        ("at https://me:pw@nas.lan:8443/a?b=c#d", f"at https://nas.lan:8443/{MARK}"),
        ("at http://nas.lan?token=1", f"at http://nas.lan/{MARK}"),
        ("at http://127.0.0.1:8080", "at http://127.0.0.1:8080"),
        ("at http://127.0.0.1:8080/", "at http://127.0.0.1:8080"),
        ("KeyError: 'greet'", "KeyError: 'greet'"),
        ("posted line 12 of 40", "posted line 12 of 40"),
        ("/var/lib/pi-appliance/history.db is whole", "/var/lib/pi-appliance/history.db is whole"),
        ("PrivateTmp=yes", "PrivateTmp=yes"),
        ("2026-05-01T06:00:00Z misfired", "2026-05-01T06:00:00Z misfired"),
    ],
)
def test_a_line_is_redacted(line: str, redacted: str) -> None:
    assert Redactor([]).redact_text(line) == redacted


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("403: Authorization: Bearer abcdefgh12345678-._~", f"403: Authorization: Bearer {MARK}"),
        ("no such token: eyJhbGciOiJFUzI1NksifQ.eyJzdWIiOiJkaWQifQ.s1gn_a-ture", f"no such token: {MARK}"),
        ("the bearer token is not valid", "the bearer token is not valid"),
        ("see https://bsky.app/profile/x and hush", f"see https://bsky.app/profile/x and {MARK}"),
    ],
)
def test_sessions_in_server_replies_are_redacted_and_addresses_stay(text: str, redacted: str) -> None:
    assert Redactor(["hush"]).redact_message(text) == redacted


def test_a_non_text_value_is_redacted_too() -> None:
    value = b"caf\xe9 \xff".decode("utf-8", "surrogateescape")
    assert Redactor([value]).remove_known(f"it is {value}") == f"it is {MARK}"


def test_a_multi_line_value_is_redacted_as_a_whole() -> None:
    assert Redactor(["-----BEGIN\nabc\n-----END"]).redact_text("so: -----BEGIN\nabc\n-----END.") == f"so: {MARK}."


def test_everything_below_a_secret_name_is_redacted() -> None:
    assert Redactor([]).redact_settings({"auth": {"user": "me", "code": [1, "two"]}}) == {
        "auth": {"user": MARK, "code": [MARK, MARK]}
    }


def test_the_longest_secret_is_redacted_first() -> None:
    assert Redactor(["open", "open sesame"]).remove_known("open sesame, open") == f"{MARK}, {MARK}"


SETTINGS = {
    "state": "/var/lib/x",
    "web": {"port": 8080},
    "notices": {"phone": {"kind": "ntfy", "with": {"server": "https://ntfy.sh", "topic": "kitchen-alarm"}}},
    "jobs": {
        "backup": {
            "healthchecks-url": "https://hc-ping.com/abcd-efgh",
            "with": {
                "run": ["rsync", "--password", "hunter2", "-a", "https://u:sesam@nas/share"],
                "environment": {"MODE": "full-moon", "N": 5},
                "pin": 4711,
            },
        }
    },
}


def test_settings_keep_their_shape_without_their_secrets() -> None:
    redactor = Redactor([])
    result = redactor.redact_settings(SETTINGS)
    assert result == {
        "state": "/var/lib/x",
        "web": {"port": 8080},
        "notices": {"phone": {"kind": "ntfy", "with": {"server": "https://ntfy.sh", "topic": MARK}}},
        "jobs": {
            "backup": {
                "healthchecks-url": MARK,
                "with": {
                    "run": ["rsync", "--password", MARK, "-a", f"https://nas/{MARK}"],
                    "environment": {"MODE": MARK, "N": MARK},
                    "pin": MARK,
                },
            }
        },
    }
    output = redactor.remove_known("kitchen-alarm, hunter2, sesam, full-moon, abcd-efgh, 4711, 5")
    assert output == ", ".join([MARK] * 6 + ["5"])


@given(st.text(min_size=1, max_size=30).filter(lambda text: not set(text) & set(f"{MARK}0123456789 ")), st.integers())
def test_no_known_secret_stays_in_any_text(secret: str, number: int) -> None:
    assert Redactor([secret]).redact_text(f"{number} {secret}{number}{secret} ").count(secret) == 0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=8), each, max_size=3),
        max_leaves=12,
    )
)
def test_settings_of_any_shape_are_accepted(value: object) -> None:
    json.dumps(Redactor(["abcd"]).redact_settings(value))
