"""The pages of alarms in a real browser, with and without scripts."""

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pi_appliance.system import clock
from tests.web.chromium import CHROMIUM
from tests.web.list_player import LIBRARY, SONG, ListMusic, ListPlayer
from tests.web.served_appliance import ServedAppliance, configuration, serving
from tests.web.test_browser import browser, phone

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")
__all__ = ["browser"]
STATIONS = "".join(f'- {{name: {name}, url: "http://radio.example/{name}"}}\n' for name in ("FIP", "Groove"))
JOBS = """\
  # we get up early
  wake:
    kind: music
    schedule: {times: ["06:45"], days: [mon-fri]}  # not on Saturdays
    with: {action: alarm, play: [FIP], volume: 70}
  monthly: {kind: music, schedule: "0 7 1 * *", with: {action: alarm, play: [FIP]}}
  hello: {kind: command, with: {run: ["true"]}}
"""
BOTH = pytest.mark.parametrize(
    "script", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["script", "no script"]
)


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    music = ListMusic(ListPlayer([SONG]))
    assert music.list_player is not None
    music.list_player.saved = {"Morning": list(LIBRARY)}
    path = configuration(tmp_path, stations=STATIONS, jobs=JOBS)
    path.write_text(f"{path.read_text()}volume: {{maximum: 60}}\n")
    with serving(path, music) as result:
        yield result


def text_of(appliance: ServedAppliance) -> str:
    return appliance.daemon.appliance.config.path.read_text()


def go(page: Page, appliance: ServedAppliance, path: str = "") -> None:
    page.goto(f"{appliance.origin}/music/alarms{path}")


def save(page: Page) -> None:
    page.get_by_role("button", name="Save").tap()


@BOTH
def test_an_alarm_is_added_edited_copied_and_deleted(
    browser: Browser, appliance: ServedAppliance, script: bool
) -> None:
    before = text_of(appliance)
    with phone(browser, appliance, script=script) as page:
        go(page, appliance)
        page.get_by_role("link", name="New").tap()
        page.get_by_label("Time").fill("05:30")
        page.get_by_role("checkbox", name="Tue").uncheck(force=True)
        page.get_by_label("Plays", exact=True).last.fill("Groove")
        page.get_by_label("Name").fill("Sunrise")
        save(page)
        card = page.get_by_role("region", name="sunrise", exact=True)
        expect(card).to_contain_text("05:30")
        expect(card).to_contain_text("Mon, Wed - Fri · Groove")
        expect(card).to_contain_text("gets louder to 40 of 60 in 5 min")
        card.get_by_role("link").tap()
        page.get_by_role("radio", name="20 min").check(force=True)
        save(page)
        expect(card).to_contain_text("in 20 min")
        assert "fade: 20m" in text_of(appliance)
        for name in ("sunrise", "sunrise-2"):
            go(page, appliance, f"/{name}")
            if name == "sunrise":
                page.get_by_role("button", name="Copy").tap()
                expect(page.get_by_role("region", name="sunrise-2")).to_be_visible()
                go(page, appliance, f"/{name}")
            page.get_by_text("Delete", exact=True).tap()
            page.get_by_role("button", name="Delete it").tap()
            expect(page).to_have_url(re.compile(f"/music/alarms.deleted={name}$"))
            expect(page.get_by_text(f"{name} was deleted.")).to_be_visible()
    assert text_of(appliance) == before, "comments, order and all other bytes stay"


@pytest.mark.slow
@BOTH
def test_an_alarm_that_is_off_looks_off(browser: Browser, appliance: ServedAppliance, script: bool) -> None:
    with phone(browser, appliance, script=script) as page:
        go(page, appliance)
        card = page.get_by_role("region", name="wake", exact=True)
        expect(card).to_contain_text("gets louder to 60 in 5 min (limited to 60)")
        card.get_by_role("switch").tap()
        expect(card.get_by_role("switch")).to_have_attribute("aria-checked", "false")
        expect(card).to_contain_text("Off")
        card.get_by_role("switch").tap()
        expect(card).to_contain_text("Next:")


@pytest.mark.slow
@BOTH
def test_an_error_keeps_what_was_typed(browser: Browser, appliance: ServedAppliance, script: bool) -> None:
    before = text_of(appliance)
    with phone(browser, appliance, script=script) as page:
        go(page, appliance, "/new")
        page.get_by_label("Time").fill("05:30")
        page.get_by_role("checkbox", name="Sun").check(force=True)
        page.get_by_label("Name").fill("wake")
        page.get_by_label("Plays", exact=True).last.fill("Groove")
        save(page)
        expect(page.locator("#form-error")).to_have_text("There is already a job called wake; choose another name.")
        expect(page.get_by_label("Time")).to_have_value("05:30")
        expect(page.get_by_role("checkbox", name="Sun")).to_be_checked()
        expect(page.get_by_label("Plays", exact=True).first).to_have_value("Groove")
        assert text_of(appliance) == before
        page.get_by_label("Name").fill("another")
        save(page)
        expect(page.get_by_role("region", name="another")).to_be_visible()


@pytest.mark.slow
def test_the_limit_follows_the_time_that_is_typed(browser: Browser, tmp_path: Path) -> None:
    path = configuration(tmp_path, jobs=JOBS)
    quiet = "[{from: '22:00', to: '06:45', maximum: 20}, {from: '12:00', to: '13:00', maximum: 30, days: [sun]}]"
    path.write_text(f"{path.read_text()}volume: {{quiet: {quiet}}}\n")
    with serving(path, ListMusic(ListPlayer([SONG]))) as appliance, phone(browser, appliance) as page:
        go(page, appliance, "/wake")
        limit, time = page.locator("#limit"), page.get_by_label("Time")
        expect(limit).to_be_hidden()
        for text, maximum in (("23:00", 20), ("06:30", 20), ("12:30", 100), ("06:40", 100)):
            time.fill(text)  # at 06:40 it fades in until the quiet hours are over
            if maximum == 100:
                expect(limit).to_be_hidden()
            else:
                expect(limit).to_have_text(
                    f"The highest allowed volume at that time is {maximum}. It will be {maximum}, not 70."
                )
            expect(page.locator("#volume-shown")).to_have_text(str(min(maximum, 70)))
        page.get_by_role("group", name="Gets louder over").get_by_role("radio", name="at once").check(force=True)
        expect(limit).to_contain_text("It will be 20, not 70.")
        time.fill("12:30")
        for day in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sun"):
            page.get_by_role("checkbox", name=day).set_checked(day == "Sun", force=True)
        expect(limit).to_contain_text("It will be 30, not 70.")
        time.fill("")
        expect(limit).to_be_hidden()  # as it is stored


@pytest.mark.slow
@BOTH
def test_an_alarm_is_renamed_and_gets_an_end(browser: Browser, appliance: ServedAppliance, script: bool) -> None:
    with phone(browser, appliance, script=script) as page:
        go(page, appliance, "/wake")
        expect(page.locator("#limit")).to_contain_text("It will be 60, not 70.")
        page.get_by_label("Name").fill("Early bird")
        page.get_by_role("group", name="Plays for").get_by_role("radio", name="30 min").check(force=True)
        page.get_by_role("group", name="Starts at volume").get_by_role("radio", name="10").check(force=True)
        save(page)
        expect(page.get_by_role("region", name="early-bird", exact=True)).to_be_visible()
        assert "volume: 70, start-volume: 10, duration: 30m}" in text_of(appliance)
        go(page, appliance, "/early-bird")
        expect(page.get_by_role("group", name="Plays for").get_by_role("radio", name="30 min")).to_be_checked()
        page.get_by_role("button", name="Hear FIP").tap()
        appliance.wait_until(lambda: [track.uri for track in appliance.player.tracks] == ["http://radio.example/FIP"])
        if script:
            expect(page.locator("#answer")).to_have_text("Starting FIP …")
        expect(page.get_by_label("Name")).to_have_value("early-bird")


@pytest.mark.slow
def test_the_second_of_two_phones_is_told(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance) as page:
        go(page, appliance, "/wake")
        page.get_by_label("Time").fill("05:30")
        appliance.request("/api/v1/alarms/wake", {"volume": 20}, method="PATCH")
        save(page)
        expect(page.locator("#form-error")).to_contain_text("Wake was changed by somebody else in the meantime")
        expect(page.get_by_label("Time")).to_have_value("05:30")
        page.get_by_role("link", name="Show the stored alarm").tap()
        expect(page.get_by_label("Time")).to_have_value("06:45")
        expect(page.locator("#volume-shown")).to_have_text("20")


@pytest.mark.slow
def test_a_schedule_in_another_form_stays(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance) as page:
        go(page, appliance, "/monthly")
        expect(page.get_by_text("Now: At 07:00 on the first day of every month.")).to_be_visible()
        page.get_by_role("checkbox", name="Only once, then off").check(force=True)
        save(page)
        expect(page.get_by_role("region", name="monthly")).to_contain_text("rings once")
    assert 'schedule: "0 7 1 * *", with: {action: alarm, play: [FIP], one-shot: true}' in text_of(appliance)


def test_every_ring_is_shown_and_a_skip_names_its_ring(browser: Browser, appliance: ServedAppliance) -> None:
    appliance.request("/api/v1/alarms/wake", {"days": []}, method="PATCH")
    with phone(browser, appliance) as page:
        go(page, appliance)
        card = page.get_by_role("region", name="wake", exact=True)
        card.get_by_text("Ring once …").tap()
        card.get_by_label("A time to ring once").fill("06:30")
        card.get_by_role("button", name="Ring once").tap()
        once = page.get_by_role("region", name="wake once")
        expect(once).to_contain_text("The 06:45 alarm rings as well.")
        expect(card).to_contain_text(re.compile(r"Next: (today|tomorrow) 06:45"))
        once.get_by_role("button", name="Skip it that day").tap()
        expect(once).to_contain_text("The 06:45 alarm is skipped that day.")
        once.get_by_role("button", name="Cancel").tap()
        expect(once).to_be_hidden()


@BOTH
def test_the_editor_knows_of_a_skipped_ring_and_of_a_switch(
    browser: Browser, appliance: ServedAppliance, script: bool
) -> None:
    appliance.request("/api/v1/alarms/skip", {"job": "wake"})
    alarm = appliance.request("/api/v1/alarms/wake").json
    days = (datetime.fromisoformat(alarm["next_ring"]) - clock.now()).days
    with phone(browser, appliance, script=script) as page:
        go(page, appliance, "/wake")
        line = page.locator("#rings-in")
        expect(line).to_contain_text(" 06:45 is skipped")
        if script:
            shown = re.match(r"Rings in (?:(\d+) d )?", line.inner_text())
            assert shown
            assert int(shown[1] or 0) >= days
            page.get_by_label("Time").fill("07:45")
            expect(line).not_to_contain_text("is skipped")
        page.goto(f"{appliance.origin}/jobs/wake")
        expect(page.get_by_text(re.compile("06:45 is skipped"))).to_be_visible()
        expect(page.locator("p.next")).not_to_contain_text(re.compile("Next t(oday|omorrow) 06:45"))
        appliance.request("/api/v1/alarms/unskip", {"job": "wake"})
        appliance.request("/api/v1/alarms/off", {"job": "wake"})
        go(page, appliance, "/wake")
        expect(line).to_have_text("Off")


@BOTH
def test_an_alarm_is_rung_at_once(browser: Browser, appliance: ServedAppliance, script: bool) -> None:
    with phone(browser, appliance, script=script) as page:
        go(page, appliance)
        page.get_by_role("region", name="wake", exact=True).get_by_role("button", name="Ring now").tap()
        appliance.wait_until(lambda: appliance.request("/api/v1/runs?job=wake").json)
        expect(page).to_have_url(f"{appliance.origin}/music/alarms")


def test_a_tap_on_a_source_chooses_it_and_another_one_undoes_that(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance) as page:
        go(page, appliance, "/new")
        groove, plays = page.get_by_role("button", name="Groove", exact=True), page.get_by_label("Plays", exact=True)
        groove.tap()
        expect(groove).to_have_attribute("aria-pressed", "true")
        expect(plays.first).to_have_value("Groove")
        groove.tap()
        expect(groove).to_have_attribute("aria-pressed", "false")
        expect(plays).to_have_count(1)
        expect(plays).to_have_value("")


@pytest.mark.slow
def test_sources_are_chosen_ordered_and_heard(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance) as page:
        go(page, appliance, "/wake")
        expect(page.locator("#rings-in")).to_have_text(re.compile(r"Rings in (\d+ d )?(\d+ h )?(\d+ min)?"))
        page.get_by_text("Choose a station").tap()
        page.get_by_role("button", name="Playlist Morning").tap()
        page.get_by_label("Search").fill("kind")
        page.get_by_role("button", name="album Kind of Blue").tap()
        page.locator(".source").nth(2).get_by_label("Try it earlier").tap()
        page.locator(".source").first.get_by_label("Remove").tap()
        page.get_by_label(re.compile("^Hear")).first.tap()
        appliance.wait_until(lambda: [each.uri for each in appliance.player.tracks] == [each.uri for each in LIBRARY])
        save(page)
        expect(page.get_by_role("region", name="wake", exact=True)).to_contain_text("album Kind of Blue")
    assert 'play: ["album:Kind of Blue", "playlist:Morning"]' in text_of(appliance)


def test_alarms_are_not_in_the_list_of_jobs(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance) as page:
        page.goto(f"{appliance.origin}/jobs")
        page.evaluate("window.here = true")
        expect(page.locator("[data-job]")).to_have_count(1)
        appliance.request("/api/v1/jobs/hello/run", {})
        expect(page.locator("#job-hello").get_by_role("img")).to_have_accessible_name(re.compile("succeeded|1"))
        assert page.evaluate("window.here"), "it was not loaded again"
        go(page, appliance, "/wake")
        page.get_by_role("link", name="History").tap()
        expect(page).to_have_url(f"{appliance.origin}/jobs/wake")
