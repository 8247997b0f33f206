"""Completion in the editor of the configuration file: the offered values, and the list in a browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.chromium import CHROMIUM
from tests.web.served_appliance import ServedAppliance, configuration, serving
from tests.web.test_browser import browser, phone

__all__ = ["browser"]

SECRET = "a-very-secret-topic"
NOTIFIERS = f'notifiers: {{phone: {{kind: apprise, with: {{url: "ntfys://ntfy.sh/{SECRET}"}}}}}}\n'


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAppliance]:
    path = configuration(tmp_path_factory.mktemp("completion"))
    path.write_text(NOTIFIERS + path.read_text("utf-8"), "utf-8")
    with serving(path) as result:
        yield result


def completion(appliance: ServedAppliance, marked: str):
    """Return the completion at the `|` in a text."""
    before, _, after = marked.partition("|")
    place = {"line": before.count("\n") + 1, "column": len(before) - before.rfind("\n")}
    answer = appliance.request("/api/v1/config/complete", {"text": before + after, **place})
    assert answer.status == 200, answer.text
    return answer.json


JOB = "jobs:\n  a:\n"


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("vol|", ["volume:\n  "]),
        ("volume:\n  maximum: 60\n  |", ["start: ", "quiet: "]),
        ("volume:\n  |\n  maximum: 60\n", ["start: ", "quiet: "]),
        ("volume: {maximum: 60, |}", ["start: ", "quiet: "]),
        ("volume: {quiet: [{from: '22:00', to: 1}, {to: 3,\n  |", ["from: ", "maximum: ", "days: "]),
        ("volume:\n  quiet:\n  - from: 22:00  # late\n    m|", ["maximum: "]),
        ("volume:\n  quiet:\n  - {from: 22:00}\nres|", ["resume: "]),
        ("resume:|", [" true", " false"]),
        ("radio:\n  auto-reconnect: f|", ["false"]),
        ('state-dir: "a # b\'"\nresume: |  # as before', ["true", "false"]),
        ("retention:\n\n  # how many\n  max-r|", ["max-runs: "]),
        (f"{JOB}    with: {{action: |}}\n    kind: music", ["alarm", "sleep", "volume", "stop", "announce"]),
        (f"{JOB}    kind: music\n    with:\n      ac|", ["action: "]),
        (f"{JOB}    kind: |", ["monkey-bard", "music", "puzzle", "tweet"]),  # programs are added on the machine
        (f"{JOB}    kind: command\n    with:\n      |", []),
        (f"{JOB}    conditions:\n      comm|", []),
        (f"{JOB}    schedule: week|", []),
        (f"{JOB}    schedule: boo|", ['"@reboot"']),
        (f"{JOB}    kind: tweet\n    with:\n      text: >\n        vol|", []),
        ("# vol|", []),
        ("resume: true  # vol|", []),
        ("resume|: true", []),
        ("nothing:\n  like: {this: [|", []),
        ("]}: }{ [\n\t- |", []),
    ],
)
def test_what_fits_is_offered(appliance: ServedAppliance, text: str, offered: list[str]) -> None:
    assert [each["insert"] for each in completion(appliance, text)["candidates"]] == offered


def test_candidates_have_a_line_of_help_and_none_is_a_value_of_the_file(appliance: ServedAppliance) -> None:
    result = completion(appliance, "volume: {ma|")
    assert result["column"] == 10
    [maximum] = result["candidates"]
    assert maximum["help"] == "the loudest that is ever allowed, 0 to 100"
    assert completion(appliance, "resume: |")["help"] == "after a power cut, play on where it was"
    text = "notifiers:\n  phone:\n    kind: apprise\n    with:\n      url: |\n"
    for place in (text + NOTIFIERS, NOTIFIERS + text.replace("      url: |", "      |")):
        assert SECRET not in str(completion(appliance, place))


browser_only = pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")


def type_at_end(page: Page, text: str) -> None:
    page.locator("#file").focus()
    page.keyboard.press("Control+End")
    page.keyboard.type(text)


@pytest.mark.slow
@browser_only
def test_a_key_and_its_value_are_chosen_by_finger_and_by_keyboard(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance, path="/settings/file") as page:
        field, options = page.locator("#file"), page.get_by_role("option")
        before = field.input_value()
        type_at_end(page, "\nreten")
        expect(options).to_have_count(1)
        options.tap()
        expect(options).to_have_count(2)  # the keys in it
        assert field.input_value() == f"{before}\nretention:\n  "
        page.keyboard.press("ArrowUp")
        expect(page.get_by_role("option", name="max-runs")).to_have_attribute("aria-selected", "true")
        chosen = page.get_by_role("option", selected=True).get_attribute("id")
        expect(field).to_have_attribute("aria-activedescendant", str(chosen))
        page.keyboard.press("Enter")
        expect(page.get_by_role("option", name="1000 default")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("listbox")).to_be_hidden()
        page.keyboard.press("Enter")  # nothing is chosen: a new line
        assert field.input_value() == f"{before}\nretention:\n  max-runs: \n"
        page.keyboard.press("Control+z")
        assert field.input_value().endswith("max-runs: ")


@browser_only
def test_a_problem_is_shown_at_its_line_soon_after_the_last_key(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance, path="/settings/file") as page:
        before = appliance.daemon.appliance.config.path.read_text("utf-8")
        page.clock.install()
        type_at_end(page, "\nretention: {max-runs: 0}")
        expect(page.locator("#numbers .wrong")).to_have_count(0)
        page.clock.run_for(300)  # the rest of half a second is for the answer
        expect(page.locator("#line-note")).to_have_text("0 keeps nothing; write 1 or more.")
        expect(page.locator("#numbers .wrong")).to_have_count(1)
        page.keyboard.press("ArrowUp")  # another line
        expect(page.locator("#line-note")).to_be_hidden()
        assert appliance.daemon.appliance.config.path.read_text("utf-8") == before
