"""Runs in a real browser: an answer at once, output while it runs, and failures that are dismissed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from pi_appliance.storage.model import Outcome
from tests.web.chromium import CHROMIUM
from tests.web.served_appliance import ServedAppliance, configuration, job, serving
from tests.web.test_browser import TOO_SMALL, WIDTHS, browser, phone
from tests.web.test_pages import record

__all__ = ["browser"]
pytestmark = [
    pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium"),
    pytest.mark.slow,
]

# It prints a hundred lines, then waits for a file, and prints once more.
PRINTS = """
import os, time
for number in range(100): print('line', number, flush=True)
while not os.path.exists('go on'): time.sleep(0.02)
print('the last l\\u00efne', flush=True)
"""


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    jobs = job("prints", PRINTS) + job("fails", "raise SystemExit(1)")
    with serving(configuration(tmp_path, jobs=jobs)) as result:
        yield result
        (tmp_path / "go on").touch()


def test_a_press_is_answered_at_once_and_the_output_appears_while_it_runs(
    browser: Browser,
    appliance: ServedAppliance,
    tmp_path: Path,
) -> None:
    with phone(browser, appliance, path="/jobs/prints") as page:
        waiting: list[Route] = []
        page.route("**/jobs/prints/run", lambda route: waiting.append(route))  # noqa: PLW0108
        page.get_by_role("button", name="Run now").tap(no_wait_after=True)
        expect(page.get_by_role("button", name="Starting …")).to_be_visible()
        waiting[0].continue_()
        page.wait_for_url("**/runs/*")
        output = page.get_by_role("log")
        expect(output).to_contain_text("line 99")
        assert page.evaluate(WIDTHS) == [393, 393]
        assert page.evaluate(TOO_SMALL) == []
        at_end = "(it) => it.scrollTop + it.clientHeight >= it.scrollHeight - 8"
        assert output.evaluate(at_end), "the end is in view"
        output.evaluate("(it) => (it.scrollTop = 0)")
        (tmp_path / "go on").touch()
        expect(output).to_contain_text("the last lïne")
        assert output.evaluate("(it) => it.scrollTop") == 0, "somebody reads another part"
        expect(page.locator("#facts .how")).to_have_text("succeeded")
        expect(page.locator("#facts")).to_contain_text("Took")
        assert output.inner_text().count("line 99") == 1
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url) if "/api/v1/runs/" in request.url else None)
        page.wait_for_timeout(1500)
        assert asked == [], "nothing is asked after the end"


def test_the_list_answers_at_once_too_and_a_refusal_gives_the_button_back(
    browser: Browser,
    appliance: ServedAppliance,
) -> None:
    with phone(browser, appliance, path="/jobs", complaints=[]) as page:
        waiting: list[Route] = []
        page.route("**/api/v1/jobs/prints/run", lambda route: waiting.append(route))  # noqa: PLW0108
        card = page.locator("#job-prints")
        card.get_by_role("button", name="Run now").tap()
        expect(card.get_by_role("button", name="Starting …")).to_be_visible()
        waiting[0].fulfill(status=409, json={"error": "it is running already"})
        expect(page.locator("#notice")).to_have_text("It is running already.")
        expect(card.get_by_role("button", name="Run now")).to_be_enabled()


def test_only_the_end_of_a_long_output_is_shown(appliance: ServedAppliance) -> None:
    run = record(appliance, "prints", Outcome.SUCCEEDED, "done")
    log = appliance.daemon.appliance.log_path("prints", run)
    log.parent.mkdir(parents=True)
    log.write_text("first line\n" + "x" * 90_000 + "\nlast line\n")
    page = appliance.request(f"/runs/{run}").text
    assert "first line" not in page
    assert "last line" in page
    assert len(page) < 75_000
    assert "first line" in appliance.request(f"/runs/{run}?all").text


def test_a_failure_is_dismissed_where_it_is_shown(browser: Browser, appliance: ServedAppliance) -> None:
    record(appliance, "fails", Outcome.FAILED, "it broke")
    with phone(browser, appliance, path="/jobs") as page:
        assert page.evaluate(TOO_SMALL) == []
        page.get_by_role("button", name="Dismiss the failure of fails").tap()
        expect(page.locator("#banner")).to_be_empty()
        expect(page.locator("#job-fails .how")).to_have_text("dismissed")
        page.goto(f"{appliance.origin}/more")
        expect(page.get_by_text("1 job failed")).to_have_count(0)
        page.goto(f"{appliance.origin}/jobs/fails")
        expect(page.locator(".list").get_by_text("it broke")).to_be_visible()
    record(appliance, "fails", Outcome.FAILED, "it broke again")
    with phone(browser, appliance, script=False, path="/jobs/fails") as page:
        page.get_by_role("button", name="Dismiss the failure").tap()
        expect(page.get_by_role("button", name="Dismiss the failure")).to_have_count(0)
    assert "failing" not in appliance.request("/parts/banner").text


def test_a_long_list_of_jobs_comes_in_pages(browser: Browser, tmp_path: Path) -> None:
    jobs = "".join(job(f"job-{number:02}", "", "    schedule: '@daily'\n") for number in range(56))
    with serving(configuration(tmp_path, jobs=jobs)) as appliance:
        page = appliance.request("/jobs", Accept_Encoding="gzip")
        assert len(page.body) < 10_000, "bytes, compressed"
        with phone(browser, appliance, path="/jobs") as page:
            expect(page.locator(".job")).to_have_count(24)
            assert page.evaluate("document.documentElement.scrollHeight") < 8000
            page.get_by_role("link", name="On", exact=True).tap()
            expect(page.locator(".job").first).to_have_attribute("data-job", "job-24")
            page.get_by_role("link", name="On", exact=True).tap()
            expect(page.locator(".job")).to_have_count(8)
            page.get_by_role("link", name="Back", exact=True).tap()
            expect(page.locator(".job").first).to_have_attribute("data-job", "job-24")
