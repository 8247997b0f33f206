"""A page with the password "open sesame", and the sign-in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web.served_appliance import ServedAppliance, configuration, serving, set_password

FIREFOX = "Mozilla/5.0 (Android 15; Mobile; rv:142.0) Gecko/142.0 Firefox/142.0"
HOST = "192.168.1.20:8080"  # the page behind a proxy: other devices can reach it


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Write a configuration with a password."""
    path = configuration(tmp_path)
    set_password(path, "open sesame")
    return path


@pytest.fixture
def page(config: Path) -> Iterator[ServedAppliance]:
    """Serve a page with its owner signed in."""
    with serving(config) as appliance:
        sign_in(appliance)
        yield appliance


def sign_in(appliance: ServedAppliance, name: str = "", password: str = "open sesame") -> str:  # noqa: S107
    """Sign in and return the cookie."""
    answer = appliance.request("/sign-in", f"password={password}&name={name}", User_Agent=FIREFOX)
    assert answer.status == 303
    appliance.cookie = answer.headers["set-cookie"].partition(";")[0]
    return appliance.cookie


def invite(appliance: ServedAppliance, name: str, role: str) -> str:
    """Invite as the owner, and return the path of the invitation."""
    answer = appliance.request("/api/v1/invitations", {"name": name, "role": role}, Host=HOST)
    assert answer.status == 201, answer.text
    address = str(answer.json["addresses"][0])
    assert address.startswith(f"http://{HOST}/join/")
    return address.removeprefix(f"http://{HOST}")


def join(appliance: ServedAppliance, path: str) -> str:
    """Accept the invitation at `path` on a new device, and return its cookie."""
    cookie, appliance.cookie = appliance.cookie, ""
    answer = appliance.request(path, "", User_Agent=FIREFOX)
    appliance.cookie = cookie
    assert (answer.status, answer.headers["location"]) == (303, "/")
    return answer.headers["set-cookie"].partition(";")[0]
