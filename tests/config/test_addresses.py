"""Addresses with secrets in them: filled, hidden, and what is wrong with one told without showing it."""

import pytest

from pi_appliance.config import secrets

SECRETS = {"TOKEN": "p@ss:w/o rd", "URL": "ntfys://ntfy.sh/mine"}


def test_a_secret_within_an_address_is_escaped_and_one_that_is_all_of_it_is_not():
    assert secrets.substitute_secrets("mailto://me:${TOKEN}@host", SECRETS) == "mailto://me:p%40ss%3Aw%2Fo%20rd@host"
    assert secrets.substitute_secrets("${URL}", SECRETS) == "ntfys://ntfy.sh/mine"
    assert secrets.substitute_secrets("json://host/ö", SECRETS) == "json://host/ö"


def test_the_names_in_an_address_are_known_and_those_that_are_missing():
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
def test_what_is_shown_is_the_way_and_the_names(address, shown):
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
def test_what_is_wrong_is_told_without_the_address(address, wrong):
    found = secrets.find_address_problem(address, "json://host/${HOOK}")
    assert found is not None
    assert found[0] == wrong
    assert "hush" not in "".join(found).lower()


@pytest.mark.parametrize(
    "address", ["${URL}", "mailto://me:${P}@host?to=a@b.c", "ntfy://token@host", "json://[::1]:80/a:b@c"]
)
def test_good_addresses_are_good(address):
    assert secrets.find_address_problem(address, "") is None
