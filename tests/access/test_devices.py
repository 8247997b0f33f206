"""The devices: their list, invitations, signing out, and the password."""

import re
from pathlib import Path
from urllib.parse import urlencode

import pytest

from pi_appliance.access.pages import browser_name
from tests.access.conftest import HOST, invite, join, sign_in
from tests.web.served_appliance import ServedAppliance, configuration, serving


def test_the_list_names_each_device_and_this_one(page: ServedAppliance) -> None:
    join(page, invite(page, "Anna", "guest"))
    invite(page, "Ben", "listen")
    anna, own, ben = page.request("/api/v1/devices").json
    assert (own["name"], own["role"], own["this_device"]) == ("Firefox on Android", "owner", True)
    assert (anna["name"], anna["role"], anna["this_device"]) == ("Anna", "guest", False)
    assert (ben["name"], ben["signed_in_at"]) == ("Ben", None)
    text = page.request("/devices").text
    assert re.search(
        r"Firefox on Android</span> <span class=.tag.>owner</span>\s+<span class=.quiet.>this device · ", text
    )
    assert re.search(r"Anna</span> <span class=.tag.>guest", text)
    assert "invited until" in text


def test_an_invitation_signs_in_one_device_once(page: ServedAppliance) -> None:
    path = invite(page, "Anna", "guest")
    page.cookie, owner = "", page.cookie
    for _ in range(2):  # a preview of the link uses nothing up
        assert "Sign in this device as <strong>Anna</strong>?" in page.request(path).text
    page.cookie = owner
    cookie = join(page, path)
    assert [each["name"] for each in page.request("/api/v1/devices").json] == ["Anna", "Firefox on Android"]
    for used in (page.request(path), page.request(path, "")):
        assert (used.status, "was used already" in used.text) == (404, True)
        assert "set-cookie" not in used.headers
    page.cookie = cookie
    assert page.request("/api/v1/devices").status == 403


def test_an_invitation_expires(page: ServedAppliance) -> None:
    path = invite(page, "Anna", "guest")
    page.ticks.now += 599
    assert page.request(path).status == 200
    page.ticks.now += 1
    assert page.request(path, "").status == 404
    assert [each["name"] for each in page.request("/api/v1/devices").json] == ["Firefox on Android"]


@pytest.mark.parametrize("values", [{"role": "owner"}, {"role": "king"}, {"for": "8d"}, {"for": "0s"}, {"name": ""}])
def test_a_wrong_invitation_is_refused(page: ServedAppliance, values: dict[str, str]) -> None:
    answer = page.request("/api/v1/invitations", {"name": "Anna", **values}, Host=HOST)
    assert (answer.status, "error" in answer.json) in ((400, True), (422, True))
    form = page.request("/devices/invite", urlencode({"name": "Anna", "role": "guest", **values}), Host=HOST)
    assert (form.status, 'role="alert"' in form.text) == (422, True)


def test_guessed_codes_are_delayed(page: ServedAppliance) -> None:
    path = invite(page, "Anna", "guest")
    assert [page.request("/join/guess").status for _ in range(4)] == [404, 404, 404, 429]
    assert page.request(path).status == 429
    page.ticks.now += 2
    assert page.request(path).status == 200


def test_another_site_cannot_use_an_invitation(page: ServedAppliance) -> None:
    path = invite(page, "Anna", "guest")
    assert page.request(path, "", Origin="http://evil.example").status == 403
    assert page.request(path).status == 200


def test_the_page_shows_the_code_of_an_invitation(page: ServedAppliance) -> None:
    answer = page.request("/devices/invite", "name=Anna&role=control&for=1h", Host=HOST)
    assert answer.status == 303
    shown = page.request(answer.headers["location"], Host=HOST).text
    (address,) = re.findall(rf"http://{re.escape(HOST)}/join/[\w-]+", shown)
    assert '<svg xmlns="http://www.w3.org/2000/svg"' in shown
    assert "style=" not in shown
    device = answer.headers["location"].rpartition("/")[2]
    assert page.request(f"/do/devices/{device}", "method=DELETE&return_to=/devices").headers["location"] == "/devices"
    assert page.request(address.partition(HOST)[2]).status == 404, "it was cancelled"


def test_a_page_that_no_other_device_reaches_invites_none(page: ServedAppliance) -> None:
    answer = page.request("/api/v1/invitations", {"name": "Anna"})
    assert (answer.status, "phones cannot reach it" in answer.json["error"]) == (409, True)


def test_a_revoked_device_is_signed_out_at_once_with_its_stream(page: ServedAppliance) -> None:
    owner = page.cookie
    page.cookie = guest = join(page, invite(page, "Anna", "guest"))
    with page.events() as events:
        events.next_state()
        page.cookie = owner
        (anna, _) = page.request("/api/v1/devices").json
        assert page.request(f"/api/v1/devices/{anna['id']}", method="DELETE").status == 200
        with pytest.raises(EOFError):
            events.wait_for_state(lambda _: False)
    page.cookie = guest
    assert page.request("/api/v1/player").status == 401
    assert page.request("/").headers["location"] == "/sign-in"


def test_all_other_devices_can_be_signed_out(page: ServedAppliance) -> None:
    guest, path = join(page, invite(page, "Anna", "guest")), invite(page, "Ben", "guest")
    assert page.request("/do/devices/revoke-others", "return_to=/devices").status == 303
    assert [each["this_device"] for each in page.request("/api/v1/devices").json] == [True]
    assert page.request(path).status == 404
    page.cookie = guest
    assert page.request("/api/v1/player").status == 401


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile/15E148 Safari/604.1",
            "Safari on iPhone",
        ),
        ("Mozilla/5.0 (Linux; Android 15; K) Chrome/140.0.0.0 Mobile Safari/537.36", "Chrome on Android"),
        (
            "Mozilla/5.0 (Linux; Android 15) SamsungBrowser/28.0 Chrome/130.0.0.0 Safari/537.36",
            "Samsung Internet on Android",
        ),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0", "Edge on Windows"),
        ("curl/8.14.1", "curl"),
        ("", "a device"),
        ("<b>x</b>", "<b>x<"),
    ],
)
def test_a_device_without_a_name_is_called_after_its_browser(user_agent: str, name: str) -> None:
    assert browser_name(user_agent) == name


def test_a_name_is_shown_as_text(page: ServedAppliance) -> None:
    join(page, invite(page, "<script>x</script>", "guest"))
    assert "<script>x" not in page.request("/devices").text
    assert "&lt;script&gt;x" in page.request("/devices").text


def test_an_unknown_device_is_refused(page: ServedAppliance) -> None:
    answer = page.request("/api/v1/devices/Annna", method="DELETE")
    assert (answer.status, "no device is called 'Annna'" in answer.json["error"]) == (404, True)


def test_a_new_password_is_stored_and_keeps_only_this_device(page: ServedAppliance, config: Path) -> None:
    guest, path = join(page, invite(page, "Anna", "guest")), invite(page, "Ben", "guest")
    config.with_name("secrets.env").write_text("# mine\nWEB_PASSWORD=open sesame\nOTHER=1\n")
    form = urlencode({"current": "open sesame", "new": "another sesame", "again": "another sesame"})
    assert page.request("/devices/password", form).headers["location"] == "/devices?changed"
    assert config.with_name("secrets.env").read_text() == "# mine\nWEB_PASSWORD=another sesame\nOTHER=1\n"
    assert page.request("/api/v1/state").status == 200
    assert page.request(path).status == 404, "invitations end"
    own, page.cookie = page.cookie, guest
    assert page.request("/api/v1/player").status == 401
    assert page.request("/api/v1/state", Authorization="Bearer open sesame").status == 401
    assert page.request("/api/v1/state", Authorization="Bearer another sesame").status == 200
    page.end_and_wait()
    with serving(config) as again:
        again.cookie = own
        assert again.request("/api/v1/state").status == 200, "this device also stays signed in over a restart"


@pytest.mark.parametrize(
    ("fields", "status", "sentence"),
    [
        ({"current": "guess", "new": "another sesame", "again": "another sesame"}, 422, "not the current password"),
        ({"current": "", "new": "another sesame", "again": "another sesame"}, 422, "not the current password"),
        ({"current": "open sesame", "new": "sesame7", "again": "sesame7"}, 422, "at least 8 characters"),
        ({"current": "open sesame", "new": "another sesame", "again": "another"}, 422, "differ"),
        ({"current": "open sesame", "new": "another\nsesame", "again": "another\nsesame"}, 422, "must be a line"),
    ],
)
def test_a_wrong_change_of_the_password_changes_nothing(
    page: ServedAppliance, config: Path, fields: dict[str, str], status: int, sentence: str
) -> None:
    answer = page.request("/devices/password", urlencode(fields))
    assert (answer.status, sentence in answer.text) == (status, True)
    assert fields["new"] not in answer.text
    assert config.with_name("secrets.env").read_text() == "WEB_PASSWORD=open sesame\n"


def test_the_current_password_cannot_be_guessed_from_a_signed_in_device(page: ServedAppliance) -> None:
    form = urlencode({"current": "guess", "new": "another sesame", "again": "another sesame"})
    assert [page.request("/devices/password", form).status for _ in range(4)] == [422, 422, 422, 429]


def test_the_first_password_is_set_on_the_page(tmp_path: Path) -> None:
    with serving(configuration(tmp_path)) as page:
        assert "everyone who reaches this page is its owner" in page.request("/devices").text
        assert page.request("/api/v1/invitations", {"name": "Anna"}).status == 409
        answer = page.request("/devices/password", urlencode({"new": "open sesame", "again": "open sesame"}))
        assert answer.headers["location"] == "/devices?changed"
        assert page.request("/api/v1/state").status == 401
        page.cookie = answer.headers["set-cookie"].partition(";")[0]
        assert page.request("/api/v1/state").status == 200
        assert (tmp_path / "secrets.env").stat().st_mode & 0o777 == 0o600
        sign_in(page)


def test_a_password_of_the_environment_is_changed_there(
    page: ServedAppliance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    values = {"new": "another sesame", "current": "open sesame"}
    monkeypatch.setenv("WEB_PASSWORD", "open sesame")
    assert "set in the environment" in page.request("/api/v1/password", values).json["error"]
    monkeypatch.delenv("WEB_PASSWORD")
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials" / "secrets.env").write_text("WEB_PASSWORD=open sesame\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path / "credentials"))
    assert "credential of systemd" in page.request("/api/v1/password", values).json["error"]
    assert page.request("/api/v1/state").status == 200
