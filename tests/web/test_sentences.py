"""Messages of the appliance are shown as sentences, by the server and by the scripts."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route

from pi_appliance.web.sentences import as_sentence
from tests.web.chromium import CHROMIUM
from tests.web.served_appliance import ServedAppliance, configuration, job, serving
from tests.web.test_browser import browser, phone

__all__ = ["browser"]
SENTENCES = {
    "that is not the code; on the machine, `pi-appliance qr` shows it": "That is not the code; on the machine, "
    "<code>pi-appliance qr</code> shows it.",
    "it is running already": "It is running already.",
    "The page says so.": "The page says so.",
    "is this phone in its network?": "Is this phone in its network?",
    "ärger mit <b>`<i>`</b>": "Ärger mit &lt;b&gt;<code>&lt;i&gt;</code>&lt;/b&gt;.",
    "one ` alone": "One ` alone.",
    "appliance.yaml:3: unknown key": "appliance.yaml:3: unknown key.",
    "pushover: not sent": "pushover: not sent.",
    "start it (sudo systemctl start mpd) or correct `host`": "Start it or correct <code>host</code>.",
    "/music/usb is full": "/music/usb is full.",
    "`host` is wrong": "<code>host</code> is wrong.",
    "two problems:\n  schedule: [": "Two problems:\n  schedule: [",
    "": "",
}


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    with serving(configuration(tmp_path, jobs=job("hello", "print('good morning')"))) as result:
        yield result


@pytest.mark.parametrize("message", SENTENCES)
def test_a_message_becomes_a_sentence(message: str) -> None:
    assert as_sentence(message) == SENTENCES[message]


def test_html_and_no_message_are_left_alone() -> None:
    assert as_sentence(as_sentence("it is running `already`")) == "It is running <code>already</code>."
    assert as_sentence(None) == ""


def test_the_page_of_an_error_shows_a_sentence(appliance: ServedAppliance) -> None:
    text = appliance.request("/do/jobs/unknown`<b>`/run", "").text
    assert '<p class="pre" id="error">No job is called' in text
    assert "<b>" not in text


def test_an_alarm_that_the_page_named_is_shown_with_its_time(tmp_path: Path) -> None:
    entry = "{kind: music, schedule: '30 6 * * *', with: {action: alarm, play: [X], duration: 1h}}"
    with serving(configuration(tmp_path, jobs=f"  alarm-07-00-2: {entry}\n  wake-up: {entry}\n")) as appliance:
        text = appliance.request("/music/alarms").text
    assert 'aria-label="Alarm 06:30 (2)"' in text
    assert 'aria-label="wake-up"' in text


@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")
def test_the_scripts_show_the_same_sentences(browser: Browser, appliance: ServedAppliance) -> None:
    def show(page: Page, message: str) -> None:
        def refuse(route: Route) -> None:
            route.fulfill(status=409, content_type="application/json", body=json.dumps({"error": message}))

        page.route("**/api/v1/player/toggle", refuse)
        page.get_by_role("button", name="Pause").tap()
        expected = SENTENCES[message]
        page.wait_for_function("(html) => document.getElementById('notice').innerHTML === html", arg=expected)

    with phone(browser, appliance, complaints=[]) as page:
        for message in SENTENCES:
            show(page, message)
