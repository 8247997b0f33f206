"""Sessions: they survive a restart, and end when a device is signed out or the password changes."""

import json
import stat
from pathlib import Path

import pytest

from tests.access.conftest import sign_in
from tests.web.served_appliance import serving, set_password


def test_a_session_survives_a_restart_and_its_token_is_not_stored(config: Path) -> None:
    with serving(config) as appliance:
        cookie = sign_in(appliance)
    stored = config.parent / "state" / "devices.json"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert cookie.partition("=")[2] not in stored.read_text()
    assert "open sesame" not in stored.read_text()
    before = stored.stat()
    with serving(config) as appliance:
        appliance.cookie = cookie
        assert appliance.request("/api/v1/state").status == 200
    assert (stored.stat().st_mtime_ns, stored.stat().st_ino) == (before.st_mtime_ns, before.st_ino), (
        "nothing is written"
    )


def test_a_password_changed_by_hand_ends_all_sessions(config: Path) -> None:
    with serving(config) as appliance:
        cookie = sign_in(appliance)
    set_password(config, "another sesame")
    with serving(config) as appliance:
        appliance.cookie = cookie
        assert appliance.request("/api/v1/state").status == 401


def test_last_seen_is_written_once_a_day_and_renews_the_cookie(config: Path) -> None:
    with serving(config) as appliance:
        cookie = sign_in(appliance)
    stored = config.parent / "state" / "devices.json"
    content = json.loads(stored.read_text())
    assert content["devices"][0]["name"] == "Firefox on Android"
    today, content["devices"][0]["last_seen"] = content["devices"][0]["last_seen"], "2099-01-01"
    stored.write_text(json.dumps(content))
    with serving(config) as appliance:
        appliance.cookie = cookie
        answer = appliance.request("/api/v1/state")
        assert answer.headers["set-cookie"].startswith(f"{cookie}; Max-Age=34560000;")
        assert "set-cookie" not in appliance.request("/api/v1/state").headers
        assert json.loads(stored.read_text())["devices"][0]["last_seen"] == today


def test_a_session_that_was_not_used_for_a_year_ends(config: Path) -> None:
    with serving(config) as appliance:
        cookie = sign_in(appliance)
    stored = config.parent / "state" / "devices.json"
    stored.write_text(stored.read_text().replace('"last_seen": "20', '"last_seen": "19'))
    with serving(config) as appliance:
        appliance.cookie = cookie
        assert appliance.request("/api/v1/state").status == 401


@pytest.mark.parametrize("content", ["", "{", "[]", '{"salt": "", "password": "", "devices": [{"id": "a"}]}'])
def test_a_damaged_file_signs_out_everybody(config: Path, content: str) -> None:
    with serving(config) as appliance:
        cookie = sign_in(appliance)
    (config.parent / "state" / "devices.json").write_text(content)
    with serving(config) as appliance:
        appliance.cookie = cookie
        assert appliance.request("/api/v1/state").status == 401
        sign_in(appliance)
        assert appliance.request("/api/v1/state").status == 200


def test_on_a_card_that_cannot_be_written_the_owner_can_sign_in(config: Path) -> None:
    with serving(config) as appliance:
        (config.parent / "state" / "devices.json").mkdir()
        sign_in(appliance)
        assert appliance.request("/api/v1/state").status == 200


def test_a_second_sign_in_replaces_the_first_and_ends_its_stream(config: Path) -> None:
    with serving(config) as appliance:
        cookie = sign_in(appliance)
        with appliance.events() as events:
            events.next_state()
            sign_in(appliance, name="Kitchen tablet")
            with pytest.raises(EOFError):
                events.wait_for_state(lambda _: False)
        assert appliance.request("/api/v1/state").status == 200
        appliance.cookie = cookie
        assert appliance.request("/api/v1/state").status == 401
    names = [each["name"] for each in json.loads((config.parent / "state" / "devices.json").read_text())["devices"]]
    assert names == ["Kitchen tablet"]
