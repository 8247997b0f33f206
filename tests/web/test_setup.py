"""The set-up: a one-time code opens it, each step is saved at once, and nothing else answers before."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Browser, expect

from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.storage.run_requests import RunRequest
from pi_appliance.system import clock
from tests.installation import Installation
from tests.web.chromium import CHROMIUM
from tests.web.list_player import ListMusic, ListPlayer
from tests.web.served_appliance import ServedAppliance, configuration, serving, set_password
from tests.web.test_browser import browser, phone

__all__ = ["browser"]
PASSWORD = "open sesame"
OPEN = "host: 0.0.0.0, port: 0"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    jobs = "  announce: {kind: music, with: {action: announce}}  # says dinner\n"
    return configuration(tmp_path, web=OPEN, jobs=jobs)


@pytest.fixture
def new(config: Path) -> Iterator[ServedAppliance]:
    with serving(config, ListMusic(ListPlayer())) as appliance:
        yield appliance


def code_of(appliance: ServedAppliance) -> str:
    code: str = json.loads((appliance.daemon.appliance.config.state_dir / "setup.json").read_text())["code"]
    return code


def choose_password(appliance: ServedAppliance, password: str = PASSWORD, again: str = "", code: str = "") -> int:
    """Send the form of the first step, and keep the cookie; return the status."""
    fields = {"code": code or code_of(appliance), "password": password, "again": again or password}
    body = "&".join(f"{name}={quote(value)}" for name, value in fields.items())
    answer = appliance.request("/setup/password", body)
    if answer.status == 303:
        assert answer.headers["location"] == "/setup/name"
        appliance.cookie = answer.headers["set-cookie"].partition(";")[0]
    return answer.status


PAGES = ["/", "/jobs", "/more", "/settings", "/sign-in", "/join/x", "/setup/name", "/setup/music", "/no-such-page"]


def test_before_the_set_up_nothing_else_answers(new: ServedAppliance) -> None:
    for path in PAGES:
        answer = new.request(path)
        assert (answer.status, answer.headers.get("location")) == (303, "/setup"), path
    for path in ("/api/v1/state", "/api/v1/config", "/events", "/metrics"):
        for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {code_of(new)}"}):
            answer = new.request(path, **headers)
            assert answer.status == 401
            assert "open /setup in a browser" in answer.text
    for path, body in (("/sign-in", "password="), ("/jobs/announce/run", ""), ("/setup/name", "name=Mine")):
        answer = new.request(path, body)
        assert (answer.status, answer.headers["location"]) == (303, "/setup")
        assert "set-cookie" not in answer.headers
    assert new.request("/health").status == 200
    assert new.request("/setup", Host="evil.example").status == 421
    assert "this appliance is new" in new.request("/setup").text.lower()
    assert code_of(new) not in new.request("/setup").text


def test_the_code_is_private_and_readable_and_survives_a_restart(config: Path) -> None:
    with serving(config) as appliance:
        code = code_of(appliance)
        file = config.parent / "state" / "setup.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert len(code) == 9
        assert not set(code) & set("01OIL")
    with serving(config) as appliance:
        assert code_of(appliance) == code
        for typed in (code, code.lower().replace("-", " "), f" {code.replace('-', '')} "):
            assert 'name="again"' in appliance.request(f"/setup?code={quote(typed)}").text, "a look does not use it up"
        assert choose_password(appliance) == 303


def test_codes_cannot_be_guessed(new: ServedAppliance) -> None:
    assert [new.request("/setup?code=AAAA-AAAA").status for _ in range(4)] == [401, 401, 401, 429]
    assert new.request(f"/setup?code={code_of(new)}").status == 429
    assert choose_password(new) == 429
    new.ticks.now += 2
    assert choose_password(new, code="BBBB-BBBB") == 401
    new.ticks.now += 4
    assert choose_password(new) == 303


def test_a_password_ends_the_code_and_signs_in_this_device(config: Path, new: ServedAppliance) -> None:
    code = code_of(new)
    assert choose_password(new, "short") == 422
    assert choose_password(new, "open sesame", "open sesam") == 422
    assert not config.with_name("secrets.env").exists()
    assert choose_password(new) == 303
    assert config.with_name("secrets.env").read_text() == "WEB_PASSWORD=open sesame\n"
    assert stat.S_IMODE(config.with_name("secrets.env").stat().st_mode) == 0o600
    assert new.request("/api/v1/state").status == 200
    assert "The set-up is not finished" in new.request("/jobs").text
    owner, new.cookie = new.cookie, ""
    assert new.request("/api/v1/state").status == 401
    assert new.request(f"/setup?code={code}").headers["location"].startswith("/sign-in")
    assert new.request("/setup/password", f"code={code}&password=another1&again=another1").status == 303
    assert "open sesame" in config.with_name("secrets.env").read_text()
    new.cookie = owner
    assert new.request("/setup").headers["location"] == "/setup/name"
    assert new.request("/setup/done", "").headers["location"] == "/"
    assert "The set-up is not finished" not in new.request("/jobs").text


def test_an_interrupted_set_up_goes_on_with_the_password(config: Path) -> None:
    with serving(config) as appliance:
        choose_password(appliance)
    with serving(config) as appliance:
        assert appliance.request("/setup").headers["location"] == "/sign-in?to=/setup"
        answer = appliance.request("/sign-in", "password=open sesame&to=/setup")
        appliance.cookie = answer.headers["set-cookie"].partition(";")[0]
        assert appliance.request("/setup").headers["location"] == "/setup/name"
        assert "The set-up is not finished" in appliance.request("/jobs").text


def test_an_interrupted_set_up_goes_on_with_the_next_step(config: Path, new: ServedAppliance) -> None:
    choose_password(new)
    new.request("/setup/name", "name=Kitchen")
    assert new.request("/setup").headers["location"] == "/setup/time-zone"
    assert new.request("/setup/time-zone", "zone=Mars/Base").status == 422
    assert new.request("/setup").headers["location"] == "/setup/time-zone"
    new.request("/setup/time-zone", "zone=Asia/Kolkata")
    assert new.request("/setup").headers["location"] == "/setup/music"
    assert new.request("/setup/done", "").headers["location"] == "/"
    new.request("/setup/name", "name=Shelf")  # a look back later does not begin it again
    assert "The set-up is not finished" not in new.request("/jobs").text


@pytest.mark.parametrize(
    ("typed", "zone"),
    [("berlin", "Europe/Berlin"), ("New York", "America/New_York"), ("utc", "UTC"), ("asia/kolkata", "Asia/Kolkata")],
)
def test_a_time_zone_is_found_by_its_city(new: ServedAppliance, typed: str, zone: str) -> None:
    choose_password(new)
    assert new.request("/setup/time-zone", urlencode({"zone": typed})).status == 303
    assert new.daemon.appliance.config.time_zone.key == zone


@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")
def test_the_way_back_never_leads_to_a_form_that_was_sent(browser: Browser, new: ServedAppliance) -> None:
    with phone(browser, new, complaints=[], path=f"/setup?code={code_of(new)}") as page:
        for again in ("open sesam", "open sesame"):
            page.get_by_label("Password, 8 characters or more").fill("open sesame")
            page.get_by_label("Again").fill(again)
            page.get_by_role("button", name="Save and continue").tap()
            if again != "open sesame":
                expect(page.locator("#notice")).to_contain_text("The two passwords differ")
        expect(page).to_have_url(f"{new.origin}/setup/name")
        page.go_back()
        expect(page).to_have_url(f"{new.origin}/setup/name")
        page.get_by_role("button", name="Save and continue").tap()
        expect(page).to_have_url(f"{new.origin}/setup/time-zone")


def test_each_step_changes_the_file_and_nothing_else_in_it(config: Path, new: ServedAppliance) -> None:
    choose_password(new)
    before = config.read_text()
    assert new.request("/setup/name", f"name={quote('Küche')}").headers["location"] == "/setup/time-zone"
    assert "<title>Jobs · Küche</title>" in new.request("/jobs").text
    assert new.request("/setup/name", "name=" + "x" * 41).status == 422
    answer = new.request("/setup/time-zone", "zone=Mars/Base")
    assert (answer.status, "appliance.yaml" in answer.text) == (422, False)
    assert "No time zone is called &#39;Mars/Base&#39;" in answer.text
    assert '<option value="Asia/Kolkata">' in new.request("/setup/time-zone").text
    assert new.request("/setup/time-zone", "zone=Asia/Kolkata").headers["location"] == "/setup/music"
    after = config.read_text()
    assert after == before.replace("Europe/London", "Asia/Kolkata") + "name: Küche\n"
    assert "Is music to play here" in new.request("/setup/music").text
    assert new.request("/setup/music", "music=yes").headers["location"] == "/setup/music"
    assert config.read_text() == after + "player:\n  kind: mpd\n"
    assert new.request("/setup/music", "music=no").headers["location"] == "/setup/done"
    assert config.read_text() == after


def test_the_test_sound_is_an_announcement_within_the_limits(config: Path, new: ServedAppliance) -> None:
    config.write_text(config.read_text() + "player: {kind: mpd}\nvolume: {maximum: 50}\n")
    choose_password(new)
    new.request("/setup/name", "name=Kitchen")  # reads the file again
    page = new.request("/setup/music").text
    assert 'max="50" value="30"' in page, "the first sound is not loud"
    sounds: list[RunRequest] = []

    def run(request: RunRequest) -> None:
        store, now = new.daemon.appliance.store, clock.now()
        number, _ = store.start_run(
            job=request.job, kind="music", trigger=Trigger.MANUAL, due=request.slot_name, now=now
        )
        store.finish_run(number, Outcome.FAILED if sounds else Outcome.SUCCEEDED, "no such card", now=now)
        sounds.append(request)

    new.daemon.start_request = run  # type: ignore[method-assign]
    assert new.request("/setup/sound", "volume=20").headers["location"] == "/setup/music?played=20"
    assert 'max="50" value="20"' in new.request("/setup/music?played=20").text
    assert new.request("/setup/sound", "volume=101").status == 422
    assert new.player.now.volume == 20
    assert [(each.job, each.arguments["source"]) for each in sounds] == [("announce", "chime")]
    failed = new.request("/setup/sound", "volume=20")
    assert (failed.status, "No such card" in failed.text, "A chime plays" in failed.text) == (422, True, False)
    new.daemon.hub.list_player, new.daemon.hub.error = None, "nothing listens at localhost:6600; start it"
    page = new.request("/setup/music").text
    assert "nothing listens at localhost:6600; start it" in page
    assert "/setup/sound" not in page


def test_on_this_machine_only_no_password_is_needed(tmp_path: Path) -> None:
    with serving(configuration(tmp_path)) as appliance:
        assert appliance.request("/jobs").status == 200
        assert not (tmp_path / "state" / "setup.json").exists()


def test_a_password_written_by_hand_ends_the_set_up(config: Path) -> None:
    with serving(config) as appliance:
        assert code_of(appliance)
    set_password(config, "open sesame")
    with serving(config) as appliance:
        assert not (config.parent / "state" / "setup.json").exists()
        assert appliance.request("/").headers["location"] == "/sign-in"


def test_the_program_shows_the_code_until_there_is_a_password(installation: Installation) -> None:
    installation.write("", "web: {host: 0.0.0.0, port: 0}\ndiscovery: false")
    assert "the set-up is not finished" in installation.run("config", "check").stderr
    doctor = json.loads(installation.run("doctor", "--json").stdout)
    assert {"status": "warn", "summary": "the set-up is not finished: the page has no password yet"}.items() <= next(
        each for each in doctor if each["check"] == "secrets"
    ).items()
    with installation.start("up") as daemon:
        try:
            assert daemon.stdout is not None
            output = next(line for line in daemon.stdout if "Its code is" in line)
            code = output.split()[-1]
            assert code == json.loads((installation.state / "setup.json").read_text())["code"]
            assert code not in installation.run("logs").stdout
            assert code not in installation.run("status", "--json").stdout
        finally:
            daemon.terminate()
            daemon.communicate(timeout=20)
    installation.write("", "web: {host: 0.0.0.0, port: 8123}\ndiscovery: false")
    shown = installation.run("qr", environment={"PYTHONUTF8": "1"})
    assert f"Its code is {code}" in shown.stdout
    if shown.returncode == 0:  # this machine has an address
        assert f":8123/setup?code={code}" in shown.stdout
