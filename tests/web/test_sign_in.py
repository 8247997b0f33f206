"""The password: required everywhere, entered once, and protected from guessing."""

from collections.abc import Callable
from datetime import UTC, datetime
from html import escape, unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.requests import HTTPConnection

from pi_appliance.access.authenticator import Authenticator
from pi_appliance.access.devices import Devices
from pi_appliance.roles import Role
from pi_appliance.web.security import address_of
from tests.web.served_appliance import Response, ServedAppliance


def sign_in(appliance: ServedAppliance, password: str, to: str = "/") -> Response:
    answer = appliance.request("/sign-in", f"password={quote(password)}&to={quote(to)}")
    if answer.status == 303:
        appliance.cookie = answer.headers["set-cookie"].partition(";")[0]
    return answer


PATHS = ["/jobs/hello", "/jobs/hello?before=7&x=%26", "/runs/1", "/reports", "/reports/hello/50%25%20%3F.txt"]


@pytest.mark.parametrize("path", PATHS)
def test_a_page_leads_to_the_sign_in_and_back(locked: ServedAppliance, path: str) -> None:
    answer = locked.request(path)
    assert (answer.status, answer.headers["location"]) == (303, f"/sign-in?to={quote(path)}")
    page = locked.request(answer.headers["location"]).text
    expected = unescape(page.partition('name="to" value="')[2].partition('"')[0])
    assert (
        f'name="to" value="{escape(expected)}"'
        in locked.request("/sign-in", f"password=guess&to={quote(expected)}").text
    )
    assert sign_in(locked, "open sesame", expected).headers["location"] == path
    assert locked.request(answer.headers["location"]).headers["location"] == path


def test_the_home_page_and_a_form_lead_to_the_plain_sign_in(locked: ServedAppliance) -> None:
    assert locked.request("/").headers["location"] == "/sign-in"
    assert locked.request("/jobs/hello/run", "").headers["location"] == "/sign-in"


ELSEWHERE = [
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "\\/evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "\t//evil.example",
    " //evil.example",
    "https://evil.example/",
    "https:evil.example",
    "javascript:alert(1)",
    "evil.example",
    "",
]


def test_the_sign_in_leads_to_no_other_site(locked: ServedAppliance) -> None:
    without = locked.cookie
    for to in ELSEWHERE:
        locked.cookie = without
        assert 'name="to" value="/"' in locked.request(f"/sign-in?to={quote(to)}").text, to
        assert sign_in(locked, "open sesame", to).headers["location"] == "/", to
        assert locked.request(f"/sign-in?to={quote(to)}").headers["location"] == "/", to


def test_a_foreign_host_name_leads_to_no_sign_in_there(locked: ServedAppliance) -> None:
    answer = locked.request("//evil.example/x")
    assert (answer.status, answer.headers["location"]) == (303, "/sign-in?to=//evil.example/x")
    assert 'name="to" value="/"' in locked.request(answer.headers["location"]).text


@pytest.mark.parametrize("path", ["/events", "/api/v1/state", "/api/v1/runs", "/api/v1/reports"])
def test_programs_get_401(locked: ServedAppliance, path: str) -> None:
    assert locked.request(path).status == 401


@pytest.mark.parametrize("path", ["/player/pause", "/api/v1/player/pause", "/api/v1/jobs/hello/run", "/jobs/hello/run"])
def test_strangers_can_do_nothing(locked: ServedAppliance, path: str) -> None:
    assert locked.request(path, "").status in (303, 401)
    assert locked.player.now.playback == "play"


def test_the_password_signs_in_and_signing_out_ends_it(locked: ServedAppliance) -> None:
    answer = sign_in(locked, "open sesame")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(answer.headers["set-cookie"].split("; "))
    assert "Sign out" in locked.request("/").text
    assert locked.request("/api/v1/state").status == 200
    assert locked.request("/sign-in").status == 303
    assert locked.request("/sign-out", "").status == 303
    assert locked.request("/api/v1/state").status == 401


def test_a_forged_cookie_is_refused(locked: ServedAppliance) -> None:
    for cookie in ("pi-appliance=", "pi-appliance=x", "pi-appliance=é"):
        assert locked.request("/api/v1/state", Cookie=cookie.encode().decode("latin-1")).status == 401


def test_a_program_may_send_the_password(locked: ServedAppliance) -> None:
    assert locked.request("/api/v1/state", Authorization="Bearer open sesame").status == 200
    wrong = locked.request("/api/v1/state", Authorization="Bearer open")
    assert (wrong.status, "not the password" in wrong.json["error"]) == (401, True)


def test_repeated_guesses_are_delayed_increasingly(locked: ServedAppliance) -> None:
    for _ in range(3):
        assert sign_in(locked, "guess").status == 401
    blocked = sign_in(locked, "open sesame")
    assert (blocked.status, blocked.headers["retry-after"]) == (429, "2")
    assert "try again in 2 s" in blocked.text
    assert locked.request("/api/v1/state", Authorization="Bearer open sesame").status == 429
    locked.ticks.now += 2
    assert sign_in(locked, "guess").status == 401
    assert sign_in(locked, "open sesame").headers["retry-after"] == "4"
    locked.ticks.now += 4
    assert sign_in(locked, "open sesame").status == 303


def test_a_signed_in_user_is_not_delayed_by_a_guesser(locked: ServedAppliance) -> None:
    sign_in(locked, "open sesame")
    cookie, locked.cookie = locked.cookie, ""
    for _ in range(5):
        sign_in(locked, "guess")
    locked.cookie = cookie
    assert locked.request("/").status == 200


def authenticator_in(folder: Path, monotonic: Callable[[], float]) -> Authenticator:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    authenticator = Authenticator(Devices(folder / "devices.json", lambda: now, now.date), monotonic)
    authenticator.use_password("open sesame")
    return authenticator


def test_the_longest_delay_is_five_minutes_and_ends_after_an_hour(tmp_path: Path) -> None:
    now = [0.0]
    authenticator = authenticator_in(tmp_path, lambda: now[0])
    statuses = []
    for _ in range(30):
        statuses.append(_status(authenticator, "guess"))
        now[0] += 300
    assert set(statuses) == {401}
    assert _status(authenticator, "guess") == 401
    assert _status(authenticator, "guess") == 429
    now[0] += 3601
    assert [_status(authenticator, "guess") for _ in range(3)] == [401, 401, 401]


def test_ten_thousand_guessers_do_not_fill_the_memory(tmp_path: Path) -> None:
    authenticator = authenticator_in(tmp_path, lambda: 0.0)
    for number in range(2000):
        _status(authenticator, "guess", f"10.0.{number // 256}.{number % 256}")
    assert len(authenticator._failures) <= 1024
    for number in range(70):
        authenticator.devices.add(f"phone {number}", Role.GUEST)
    names = [each.name for each in authenticator.devices.all()]
    assert names == [f"phone {number}" for number in range(6, 70)], "the oldest ones are signed out"


def _status(authenticator: Authenticator, password: str, address: str = "192.0.2.1") -> int:
    try:
        authenticator.check(password, address)
    except Exception as error:  # noqa: BLE001 - the test checks the status
        return int(getattr(error, "status_code", 0))
    return 200


@pytest.mark.parametrize(
    ("host", "known_as"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_clients_of_one_household_count_as_one_guesser(host: str, known_as: str) -> None:
    scope = {"type": "http", "headers": [], "client": (host, 50_000)}
    assert address_of(HTTPConnection(scope)) == known_as


def test_an_error_before_the_sign_in_does_not_say_what_plays(locked: ServedAppliance) -> None:
    for answer in (locked.request("/static/nothing.js"), locked.request("/sign-in", "no form")):
        assert answer.status in (400, 404)
        assert "Blue Train" not in answer.text
