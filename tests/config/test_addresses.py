"""Addresses with secrets: expansion, redaction and errors."""

import pytest

from pi_appliance.config import secrets

SECRETS = {"TOKEN": "p@ss:w/o rd", "URL": "ntfys://ntfy.sh/mine"}


def test_a_partial_secret_is_escaped_and_a_complete_one_is_not():
    assert secrets.substitute_secrets("mailto://me:${TOKEN}@host", SECRETS) == "mailto://me:p%40ss%3Aw%2Fo%20rd@host"
    assert secrets.substitute_secrets("${URL}", SECRETS) == "ntfys://ntfy.sh/mine"
    assert secrets.substitute_secrets("json://host/ö", SECRETS) == "json://host/ö"


def test_secret_names_of_an_address_are_listed_with_those_missing():
    address = "json://${USER}:${TOKEN}@host/${USER}"
    assert secrets.secret_names_in(address) == ("USER", "TOKEN")
    assert secrets.missing_secrets(address, SECRETS) == ["USER"]
    assert secrets.missing_secrets("${EMPTY}://x", {"EMPTY": ""}) == ["EMPTY"]


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("ntfys://ntfy.sh/topic", "ntfys://…"),
        ("ntfys://ntfy.sh/${TOPIC}?a=${B}", "ntfys://… (TOPIC, B)"),
        ("${URL}", "… (URL)"),
        ("what is this", "…"),
    ],
)
def test_only_the_scheme_and_secret_names_are_shown(address, shown):
    assert secrets.redact_address(address) == shown


@pytest.mark.parametrize(
    ("address", "wrong"),
    [
        ("ntfy.sh/hush", "this is not an address"),
        ("json://", "this is not an address"),
        ("json:// hush", "this is not an address"),
        ("json://host/$HUSH", "a $ must start a ${NAME}"),
        ("json://host/${HUSH", "a $ must start a ${NAME}"),
        ("mailto://me:hush@host", "a password does not belong here"),
        ("mailto://${ME}:hush@host", "a password does not belong here"),
    ],
)
def test_address_errors_do_not_show_the_address(address, wrong):
    result = secrets.find_address_problem(address, "json://host/${HOOK}")
    assert result is not None
    assert result[0] == wrong
    assert "hush" not in "".join(result).lower()


@pytest.mark.parametrize(
    "address", ["${URL}", "mailto://me:${P}@host?to=a@b.c", "ntfy://token@host", "json://[::1]:80/a:b@c"]
)
def test_valid_addresses_are_accepted(address):
    assert secrets.find_address_problem(address, "") is None
