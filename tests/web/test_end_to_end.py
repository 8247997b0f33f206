"""The whole appliance: the real daemon, a real MPD, a real browser of a phone's size."""

import contextlib
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from pi_appliance.scheduling.appliance import Appliance
from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd
from tests.installation import Installation, wait_until
from tests.test_daemon import RunningDaemon, running_daemon
from tests.web.test_browser import browser, pytestmark

__all__ = ["browser", "pytestmark"]
JOBS = """
post:
  kind: tweet
  schedule: "@daily"
  chance: 1/4
  with: {lines: tweets.txt, network: preview}
long:
  kind: command
  with: {run: [sleep, "300"]}
"""
TICK = """
tick:
  kind: command
  schedule: {every: 1s}
  with: {run: ["true"]}
"""


@pytest.fixture
def mpd(installation: Installation) -> Iterator[MpdServer]:
    with running_mpd(installation.folder / "mpd") as server:
        server.mpc("add", "one.wav", "Ärzte/eins.wav")
        server.mpc("volume", "40")
        server.mpc("play")
        yield server


@pytest.fixture
def daemon(installation: Installation, mpd: MpdServer) -> Iterator[RunningDaemon]:
    (installation.folder / "tweets.txt").write_text("Hello from the shelf\n", "utf-8")
    player = f"player: {{kind: mpd, with: {{address: '{mpd.address}'}}}}"
    installation.write(JOBS, f"web: {{port: 0}}\n{player}\nnetworks: {{preview: {{kind: preview}}}}")
    with running_daemon(installation) as started:
        yield started


@contextlib.contextmanager
def open_home_page(browser: Browser, daemon: RunningDaemon) -> Iterator[Page]:
    """Yield the home page of `daemon` on a phone."""
    context = browser.new_context(viewport={"width": 393, "height": 727}, is_mobile=True, has_touch=True)
    page = context.new_page()
    page.goto(daemon.page)
    yield page
    context.close()


@pytest.fixture
def page(browser: Browser, daemon: RunningDaemon) -> Iterator[Page]:
    with open_home_page(browser, daemon) as result:
        yield result


@pytest.fixture
def jobs_page(page: Page) -> Page:
    page.get_by_role("link", name="Jobs", exact=True).tap()
    page.wait_for_url("**/jobs")
    return page


def paused(mpd: MpdServer) -> bool:
    return "[paused]" in mpd.mpc("status")


@needs_mpd
def test_pause_on_the_page_pauses_mpd_and_changes_by_mpc_appear(page, mpd):
    expect(page.locator("#title")).to_have_text("One")
    page.locator("#toggle").tap()
    wait_until(lambda: paused(mpd))

    mpd.mpc("next")
    mpd.mpc("volume", "55")
    expect(page.locator("#title")).to_have_text("Eins")
    expect(page.locator("#volume-line")).to_have_value("55")


@needs_mpd
def test_an_mpd_outage_is_reported_and_mpd_works_again(page, mpd):
    mpd.kill()
    expect(page.locator("#player-problem")).to_contain_text("not reached")
    mpd.start()
    expect(page.locator("#player-problem")).to_be_hidden(timeout=15_000)
    mpd.mpc("volume", "40")
    expect(page.locator("#volume-line")).to_have_value("40")
    page.get_by_role("button", name="Quieter").tap()
    wait_until(lambda: "35%" in mpd.mpc("volume"))


def test_run_now_runs_the_job_and_its_report_can_be_opened(jobs_page, installation):
    jobs_page.locator("#job-post").get_by_role("button", name="Run now").tap()
    expect(jobs_page.locator("#job-post .how")).to_have_text("succeeded", timeout=15_000)
    jobs_page.locator("#reports").get_by_role("link", name="Posts").click()
    expect(jobs_page.locator("body")).to_contain_text("Hello from the shelf")
    assert installation.latest_run("post")["trigger"] == "manual"


def test_a_post_by_a_press_is_shown_as_posted_and_a_text_that_is_typed_stays(page):
    page.goto(f"{page.url}tweets")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("link", name="Add").tap()
    expect(page.locator("#text-new")).to_be_focused()
    page.keyboard.type("not ready yet")
    page.get_by_role("button", name="Post now").first.tap()
    expect(page.locator("#answer")).to_have_text("Posted to preview: Hello from the shelf", timeout=15_000)
    expect(page.locator("#line-1 .quiet").first).to_contain_text("posted · preview today")
    expect(page.locator("#text-new")).to_have_value("not ready yet")


def test_a_cron_run_appears_automatically(jobs_page, installation):
    expect(jobs_page.locator("#job-post .how")).to_have_text("not run yet")
    installation.run("jobs", "run", "post")
    expect(jobs_page.locator("#job-post .how")).to_have_text("succeeded", timeout=15_000)


def slots(installation: Installation) -> list[dict[str, Any]]:
    """Return the outcomes of the recorded slots of `tick`, newest first."""
    result = installation.json("jobs", "history", "tick", "--slots", "--count", "200")
    return [each for each in result if each["run"]]


@pytest.fixture
def ticking(browser: Browser, installation: Installation) -> Iterator[Page]:
    """Yield the page of an appliance with one job, `tick`, every second."""
    installation.write(TICK, "web: {port: 0}")
    with running_daemon(installation) as started, open_home_page(browser, started) as result:
        yield result


@pytest.mark.slow
def test_a_pause_on_the_page_skips_slots_until_it_is_resumed(ticking, installation):
    page = ticking
    card = page.locator("#job-tick")
    wait_until(lambda: slots(installation))
    card.get_by_role("button", name="Pause").tap()
    expect(card.locator(".next")).to_contain_text("Paused since")
    before = installation.latest_run("tick")["id"]
    wait_until(
        lambda: (
            sum(each["summary"] == "paused" for each in installation.json("jobs", "history", "tick", "--slots")) >= 3
        )
    )
    assert installation.latest_run("tick")["id"] <= before + 1  # at most the one that was starting
    card.get_by_role("button", name="Resume").tap()
    expect(card.locator(".next")).to_contain_text("Next")
    wait_until(
        lambda: any(each["outcome"] == "succeeded" for each in slots(installation)[:3])
    )  # the newest may still run
    result = slots(installation)
    assert sum(each["summary"].startswith("paused") for each in result) >= 3
    times = [datetime.fromisoformat(each["slot"]) for each in result]
    assert times == [times[0] - timedelta(seconds=place) for place in range(len(times))]  # not one is missing
    page.goto(f"{page.url}/tick")
    expect(page.get_by_label("results of the last").locator(".paused")).not_to_have_count(0)


@pytest.mark.slow
def test_a_resume_on_the_page_takes_effect_at_once(jobs_page, installation):
    card = jobs_page.locator("#job-post")
    card.get_by_role("button", name="Pause").tap()
    card.get_by_role("button", name="Resume").tap()
    expect(card.get_by_role("button", name="Pause")).to_be_visible()
    with Appliance.open(installation.config) as appliance:
        wait_until(lambda: not appliance.store.slots.pauses())


@pytest.mark.slow
def test_cancel_on_the_page_ends_a_long_run(jobs_page, installation):
    jobs_page.on("dialog", lambda dialog: dialog.accept())
    card = jobs_page.locator("#job-long")
    card.get_by_role("button", name="Run now").tap()
    expect(card.locator(".doing")).not_to_be_empty()
    card.get_by_role("button", name="Cancel").tap()
    expect(card.locator(".how")).to_have_text("stopped", timeout=15_000)
    assert installation.latest_run("long")["summary"] == "cancelled by a person"
