"""The whole appliance as a household has it: the real daemon, a real MPD, a real browser of a phone's size."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.engine.test_daemon import Up, up
from tests.fakes.mpd_server import MpdServer, needs_mpd, running_mpd
from tests.house import House, until
from tests.web.test_browser import browser, pytestmark

__all__ = ["browser", "pytestmark"]
JOBS = """
post:
  kind: tweet
  schedule: "@daily"
  chance: 1/4
  with: {lines: tweets.txt, network: preview}
"""


@pytest.fixture
def mpd(house: House) -> Iterator[MpdServer]:
    with running_mpd(house.folder / "mpd") as server:
        server.mpc("add", "one.wav", "Ärzte/eins.wav")
        server.mpc("volume", "40")
        server.mpc("play")
        yield server


@pytest.fixture
def daemon(house: House, mpd: MpdServer) -> Iterator[Up]:
    (house.folder / "tweets.txt").write_text("Hello from the shelf\n", "utf-8")
    player = f"player: {{kind: mpd, with: {{address: '{mpd.address}'}}}}"
    house.write(JOBS, f"web: {{port: 0}}\n{player}\nnetworks: {{preview: {{kind: preview}}}}")
    with up(house) as started:
        yield started


@pytest.fixture
def page(browser: Browser, daemon: Up) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 393, "height": 727}, is_mobile=True, has_touch=True)
    opened = context.new_page()
    opened.goto(daemon.page)
    yield opened
    context.close()


def paused(mpd: MpdServer) -> bool:
    return "[paused]" in mpd.mpc("status")


@needs_mpd
def test_a_press_on_pause_on_the_phone_pauses_mpd_and_what_mpc_does_shows_on_the_phone(page, mpd):
    expect(page.locator("#title")).to_have_text("One")
    page.locator("#toggle").tap()
    until(lambda: paused(mpd))

    mpd.mpc("next")
    mpd.mpc("volume", "55")
    expect(page.locator("#title")).to_have_text("Eins")
    expect(page.locator("#volume-line")).to_have_value("55")


@needs_mpd
def test_mpd_that_dies_and_comes_back_is_told_and_works_again(page, mpd):
    mpd.kill()
    expect(page.locator("#trouble")).to_contain_text("not reached")
    mpd.start()
    expect(page.locator("#trouble")).to_be_hidden(timeout=15_000)
    mpd.mpc("volume", "40")
    expect(page.locator("#volume-line")).to_have_value("40")
    page.get_by_role("button", name="Quieter").tap()
    until(lambda: "35%" in mpd.mpc("volume"))


def test_a_press_on_run_now_runs_the_job_and_its_report_can_be_opened(page, house):
    page.get_by_role("button", name="Run now").tap()
    expect(page.locator("#job-post .how")).to_have_text("succeeded", timeout=15_000)
    page.get_by_role("link", name="posts.txt").click()
    expect(page.locator("body")).to_contain_text("Hello from the shelf")
    assert house.last("post")["trigger"] == "hand"


def test_a_run_of_cron_shows_on_the_phone_by_itself(page, house):
    expect(page.locator("#job-post .how")).to_have_text("not run yet")
    house.run("jobs", "run", "post")
    expect(page.locator("#job-post .how")).to_have_text("succeeded", timeout=15_000)
