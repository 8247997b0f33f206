"""The system page in a real browser: the doctor without a reload, and the wait for a restart."""

import re
import socket
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.installation import Installation
from tests.test_daemon import running_daemon
from tests.web.chromium import CHROMIUM, launch_chromium

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        yield browser.new_page(viewport={"width": 390, "height": 844})
        browser.close()


@pytest.mark.slow
def test_the_doctor_answers_at_once_and_a_restart_comes_back_by_itself(installation: Installation, page: Page) -> None:
    installation.write("broken: {kind: command, with: {run: ['false']}}", f"web: {{port: {free_port()}}}")
    installation.run("jobs", "run", "broken")
    with running_daemon(installation) as daemon:
        page.goto(f"{daemon.page}/system")
        page.get_by_role("button", name="Check everything").click()
        expect(page.locator("#doctor")).to_contain_text("Checking …", timeout=300)
        expect(page.locator("#doctor")).to_contain_text("Job broken", timeout=60_000)
        assert page.url.endswith("/system"), "without a reload"
        page.goto(f"{daemon.page}/system/power")
        page.get_by_text("Restart the appliance").last.click()
        page.get_by_role("button", name="Restart", exact=True).click()
        expect(page.get_by_role("heading", name="Restarting …")).to_be_visible()
        expect(page).to_have_url(re.compile("/system$"), timeout=30_000)
        assert daemon.output.count("starting again") == 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
def test_the_page_says_so_if_the_appliance_does_not_come_back(installation: Installation, page: Page) -> None:
    installation.write("", f"web: {{port: {free_port()}}}")
    with running_daemon(installation, {"NOTIFY_SOCKET": str(installation.folder / "nobody")}) as daemon:
        page.goto(f"{daemon.page}/system/power")
        page.clock.install()
        page.get_by_text("Restart the appliance").last.click()
        page.get_by_role("button", name="Restart", exact=True).click()
        expect(page.locator("#waiting")).to_be_visible()
        assert daemon.status() == 100
        expect(page.locator("#late")).to_be_hidden()
        page.clock.run_for(61_000)
        expect(page.locator("#late")).to_contain_text("It has not answered for 60 seconds.")


def free_port() -> int:
    """Return a port that is free now. The restarted daemon needs the same one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
