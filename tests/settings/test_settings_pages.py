"""The pages of the settings, as a browser without scripts uses them."""

import html
import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, expect

from pi_appliance.config.config_file import FOLDER
from tests.fakes.http_recorder import http_recorder
from tests.web.chromium import CHROMIUM
from tests.web.served_appliance import ServedAppliance, configuration, serving
from tests.web.test_browser import browser, phone

__all__ = ["browser"]

REST = """volume:
  maximum: 60  # the neighbours
  quiet:
  - {from: "22:00", to: "07:00", maximum: 20}
"""
JOBS = '\n  backup: {kind: command, with: {run: [sh, -c, "secret words"]}}\n'


@pytest.fixture
def appliance(tmp_path: Path):
    config = configuration(tmp_path, jobs=JOBS)
    config.write_text(REST + config.read_text("utf-8"), "utf-8")
    with serving(config) as result:
        yield result


def text_of(appliance: ServedAppliance) -> str:
    return appliance.daemon.appliance.config.path.read_text("utf-8")


def fields_of(page: str) -> dict[str, str]:
    """Return the fields of the form of the settings with the values that a browser would send."""
    form = re.search(r'<form class="settings".*?</form>', page, re.DOTALL)[0]
    fields = {}
    for name, options in re.findall(r'<select name="([^"]*)"(.*?)</select>', form, re.DOTALL):
        fields[name] = next(iter(re.findall(r'value="([^"]*)" selected', options)), "")
    for name, value in re.findall(r'<input(?: type="hidden")? name="([^"]*)" value="([^"]*)"', form):
        fields[name] = html.unescape(value)
    return fields


def save(appliance: ServedAppliance, **changes: str):
    fields = fields_of(appliance.request("/settings").text)
    return appliance.request(
        "/settings", urlencode({**fields, **{k.replace("__", "."): v for k, v in changes.items()}})
    )


def test_a_form_without_a_change_changes_nothing(appliance: ServedAppliance) -> None:
    before = text_of(appliance)
    assert save(appliance).status == 303
    assert text_of(appliance) == before


def test_a_changed_field_changes_its_value_only(appliance: ServedAppliance) -> None:
    before = text_of(appliance)
    answer = save(appliance, volume__maximum="70", radio__silence_timeout="")
    assert (answer.status, answer.headers["location"]) == (303, "/settings?saved")
    assert text_of(appliance) == before.replace("maximum: 60  # the", "maximum: 70  # the")
    assert appliance.daemon.appliance.config.volume.maximum == 70
    page = appliance.request("/settings?saved").text
    assert "Saved, and in use." in page
    assert 'value="70"' in page


def test_quiet_hours_are_added_and_removed(appliance: ServedAppliance) -> None:
    new = {"volume.quiet.1.from": "13:00", "volume.quiet.1.to": "15:00", "volume.quiet.1.maximum": "30"}
    assert save(appliance, **new).status == 303
    assert [each.maximum for each in appliance.daemon.appliance.config.volume.quiet] == [20, 30]
    old = {f"volume.quiet.0.{key}": "" for key in ("from", "to", "maximum")}
    assert save(appliance, **old).status == 303
    assert [each.maximum for each in appliance.daemon.appliance.config.volume.quiet] == [30]


def test_a_wrong_value_is_shown_with_its_place_and_what_was_typed(appliance: ServedAppliance) -> None:
    before = text_of(appliance)
    answer = save(appliance, volume__maximum="loud", volume__start="30")
    assert answer.status == 422
    assert "appliance.yaml:2:12: &#39;loud&#39; is not a whole number" in answer.text
    assert 'value="loud"' in answer.text
    assert 'name="volume.start" value="30"' in answer.text
    assert text_of(appliance) == before


def test_the_text_is_shown_without_programs_checked_and_saved(appliance: ServedAppliance) -> None:
    page = appliance.request("/settings/file").text
    assert "secret words" not in page
    text = html.unescape(re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)[1])
    version = re.search(r'name="version" value="(\w+)"', page)[1]
    changed = text.replace("maximum: 60", "maximum: 55").replace("\n", "\r\n")
    preview = appliance.request("/settings/file", urlencode({"text": changed, "version": version, "check": "yes"}))
    assert "+  maximum: 55" in preview.text
    assert "secret words" not in preview.text
    assert "maximum: 60" in text_of(appliance)
    assert appliance.request("/settings/file", urlencode({"text": changed, "version": version})).status == 303
    assert "maximum: 55" in text_of(appliance)
    assert "\r" not in text_of(appliance)
    assert "secret words" in text_of(appliance)
    late = appliance.request("/settings/file", urlencode({"text": changed, "version": version}))
    assert late.status == 422
    assert "changed by somebody else" in late.text


def test_the_player_is_chosen_and_asked(appliance: ServedAppliance) -> None:
    before = text_of(appliance)
    assert save(appliance, player__kind="mpd").status == 303
    assert text_of(appliance) == f"{before}player:\n  kind: mpd\n"
    page = appliance.request("/settings").text
    assert 'name="player.with.address" value="" placeholder="localhost:6600"' in page
    changes = {"player.with.address": "127.0.0.1:1", "player.with.music": "~", "player.with.fallback-mpd": "false"}
    assert save(appliance, **changes).status == 303
    options = appliance.daemon.appliance.config.player.options
    assert (options.address, options.fallback_mpd, options.music) == ("127.0.0.1:1", False, Path.home())
    asked = appliance.request("/api/v1/player/check", {})
    assert (asked.status, "127.0.0.1:1" in asked.text) == (503, True)
    refused = appliance.request("/api/v1/player/check", {"address": "nowhere"})
    assert (refused.status, "'nowhere' is not an address of MPD" in refused.text) == (422, True)
    assert save(appliance, player__kind="volumio").status == 303  # the address was that of the MPD
    assert "player:\n  kind: volumio\n" in text_of(appliance)
    assert "127.0.0.1:1" not in text_of(appliance)
    assert 'name="player.with.poll" value="" placeholder="5s"' in appliance.request("/settings").text
    assert save(appliance, player__kind="").status == 303
    assert text_of(appliance) == before


BROKEN = """time-zone: Europe/London
volume: {maximum: 55
jobs:
  tidy:
    kind: tweets
    schedule: "0 6 * * *"
    with: {lines: [a]}
  backup: {kind: command, with: {run: [sh, -c, "secret words"]}}
  later:
    kind: command
    with:
      run: |
  more secret words
  - even more secret words
retention: {max-runs: 9}
"notifiers":
  shell: {kind: command, with: {run: secret}}
"""


def test_a_file_that_is_not_yaml_is_corrected_without_showing_programs(appliance: ServedAppliance) -> None:
    path = appliance.daemon.appliance.config.path
    good = text_of(appliance)
    path.write_text(good.replace("  maximum: 60", "  maximum: {60"))
    settings = appliance.request("/settings")
    assert (settings.status, "/settings/file" in settings.text) == (200, True)
    page = appliance.request("/settings/file").text
    assert "secret" not in page
    assert re.search(r'data-line="(\d+)"', page)
    text = html.unescape(re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.DOTALL)[1])
    version = re.search(r'name="version" value="(\w+)"', page)[1]
    fixed = text.replace("{60", "61")
    added = fixed.replace("jobs:\n", "jobs:\n  mine: {kind: command, with: {run: [id]}}\n")
    refused = appliance.request("/settings/file", urlencode({"text": added, "version": version}))
    assert (refused.status, "would start a program" in refused.text) == (422, True)
    assert appliance.request("/settings/file", urlencode({"text": fixed, "version": version})).status == 303
    assert text_of(appliance) == good.replace("maximum: 60", "maximum: 61")


def test_programs_stay_hidden_in_every_part_of_a_broken_file(appliance: ServedAppliance) -> None:
    appliance.daemon.appliance.config.path.write_text(BROKEN)
    shown = appliance.request("/api/v1/config").json["text"]
    assert "secret" not in shown
    assert "kind: tweets" in shown
    assert "0 6 * * *" in shown
    assert "{maximum: 55" in shown


def test_the_owner_goes_back_from_a_file_that_is_not_even_text(appliance: ServedAppliance) -> None:
    path = appliance.daemon.appliance.config.path
    before = text_of(appliance)
    save(appliance, volume__maximum="70")
    path.write_bytes(b"\xff\xfe: [")
    page = appliance.request("/settings/file").text
    assert "is not UTF-8" in page
    action = re.search(r'action="(/do/config/history/2[^"]*)"', page)[1]
    assert appliance.request(action, urlencode({"return_to": "/settings?saved"})).status == 303
    assert text_of(appliance) == before


def test_the_owner_goes_back(appliance: ServedAppliance) -> None:
    before = text_of(appliance)
    save(appliance, volume__maximum="70")
    action = re.search(r'action="(/do/config/history/[^"]*)"', appliance.request("/settings").text)[1]
    assert appliance.request(action, urlencode({"return_to": "/settings?saved"})).status == 303
    assert text_of(appliance) == before


def test_texts_of_the_same_minute_have_their_seconds(appliance: ServedAppliance) -> None:
    folder = appliance.daemon.appliance.config.state_dir / FOLDER
    folder.mkdir(exist_ok=True)
    for time in ("2025-03-01T16-40-05", "2025-03-01T16-40-48", "2025-03-01T16-52-30"):
        (folder / f"{time}.000000Z.yaml").write_text("jobs: {}\n", "utf-8")
    for path in ("/settings", "/settings/file"):
        shown = re.findall(r"In use until ([^<]*)", appliance.request(path).text)
        assert shown == ["1 Mar 2025 16:52", "1 Mar 2025 16:40:48", "1 Mar 2025 16:40:05"]


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")
@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_the_page_says_that_an_earlier_text_is_in_use(
    browser: Browser, appliance: ServedAppliance, script: bool
) -> None:
    save(appliance, volume__maximum="70")
    with phone(browser, appliance, script=script, path="/settings") as page:
        link = page.get_by_role("link", name="Edit appliance.yaml").bounding_box()
        assert link
        assert link["height"] >= 44
        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Go back").tap()
        said = page.get_by_role("status").filter(has_text="is in use again")
        expect(said).to_contain_text("The text in use until today")
        expect(said).to_be_in_viewport()


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")
def test_a_notifier_and_a_player_are_tested_with_one_press(browser: Browser, tmp_path: Path) -> None:
    with http_recorder() as recorder:
        config = configuration(tmp_path)
        addresses = {"phone": recorder.address, "gone": "127.0.0.1:1"}
        notifiers = [f"{name}: {{kind: apprise, with: {{url: 'json://{at}'}}}}" for name, at in addresses.items()]
        config.write_text(
            f"name: Kitchen\nnotifiers: {{{', '.join(notifiers)}}}\nplayer: {{kind: mpd}}\n{config.read_text()}"
        )
        complaints: list[str] = []
        with (
            serving(config) as appliance,
            phone(browser, appliance, path="/settings", complaints=complaints) as page,
        ):
            notice, test = page.locator("#notice"), page.get_by_role("button", name="Test")
            test.first.tap()
            expect(notice).to_have_text("Sent. Look for the message.", timeout=20_000)
            assert recorder.requests[0].json["title"] == "a test from Kitchen"
            test.last.tap()
            expect(notice).to_have_text("gone: not sent: not reached: nothing listens there.", timeout=20_000)
            expect(test).to_have_count(2)  # as before they were pressed
            page.locator("[name='player.with.address']").fill("127.0.0.1:2")
            page.get_by_role("button", name="Check").tap()
            expect(notice).to_contain_text("MPD at 127.0.0.1:2 is not reached")
            assert "127.0.0.1:2" not in config.read_text()  # it was only asked
            form = urlencode({"notifiers": "phone", "return_to": "/settings?tested={notifiers}"})  # without scripts
            answer = appliance.request("/do/notifiers/test", form)
            assert "phone was tested." in appliance.request(answer.headers["location"]).text
        assert all("503" in each for each in complaints)


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")
def test_a_problem_leads_to_its_line_while_one_types(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance, path="/settings/file") as page:
        expect(page.locator("#mini-title")).to_have_text("Blue Train")
        field = page.locator("#file")
        field.fill(field.input_value().replace("maximum: 60", "maximum: [60"))
        page.get_by_role("alert").get_by_role("link").first.tap()
        expect(page.locator("#numbers .wrong")).not_to_have_count(0)
        marked = page.locator("#numbers .wrong").first.text_content()
        chosen = field.evaluate("(each) => each.value.slice(each.selectionStart, each.selectionEnd)")
        assert field.input_value().split("\n")[int(marked or 0) - 1] == chosen


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")
@pytest.mark.parametrize("script", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["script", "no script"])
def test_quiet_hours_are_added_and_removed_and_the_file_saved(
    browser: Browser, appliance: ServedAppliance, script: bool
) -> None:
    with phone(browser, appliance, script=script, path="/settings") as page:
        for field, value in zip(("from", "to", "maximum"), ("13:00", "15:00", "30"), strict=True):
            page.locator(f'[name="volume.quiet.1.{field}"]').fill(value)
        page.get_by_role("button", name="Save").tap()
        expect(page.get_by_text("Saved, and in use.")).to_be_visible()
        expect(page.locator('[name="volume.quiet.1.from"]')).to_have_value("13:00")
        page.get_by_role("checkbox", name="Remove 22:00 to 07:00").check(force=True)
        page.get_by_role("button", name="Save").tap()
        expect(page.get_by_text("Saved, and in use.")).to_be_visible()
        [hours] = appliance.daemon.appliance.config.volume.quiet
        assert hours.maximum == 30
        page.get_by_role("link", name="Edit appliance.yaml").tap()
        field = page.locator("#file")
        field.fill(field.input_value().replace("maximum: 60", "maximum: 65"))
        page.get_by_role("button", name="Save").tap()
        expect(page.get_by_text("Saved, and in use.")).to_be_visible()
        assert appliance.daemon.appliance.config.volume.maximum == 65
