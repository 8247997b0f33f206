"""Joining a network in a real browser: the page follows it and shows the outcome without a press."""

from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.fakes.nmcli import HOME, World
from tests.installation import Installation
from tests.test_daemon import running_daemon
from tests.web.chromium import CHROMIUM, launch_chromium

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")


@pytest.mark.slow
def test_the_page_follows_a_join_to_its_outcome(installation: Installation, tmp_path: Path) -> None:
    world = World(tmp_path / "bin", networks=[HOME, {**HOME, "ssid": "Cabin"}])
    world.connect("Cabin")
    installation.write("", "web: {port: 0}")
    with running_daemon(installation, world.environment) as daemon, sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        page = browser.new_page(viewport={"width": 390, "height": 844})
        for password, outcome in (("wrong and long", "Cabin is in use again."), ("correct horse", "Home is joined.")):
            page.goto(f"{daemon.page}/system/wifi")
            page.locator("summary", has_text="Home").click()
            page.get_by_label("Password of Home").fill(password)
            page.get_by_role("button", name="Join").click()
            expect(page.locator("#wifi")).to_contain_text(outcome, timeout=30_000)
            expect(page.locator(".networks")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        expect(page.locator("summary", has_text="Home")).to_contain_text("Connected")
        page.on("dialog", lambda dialog: dialog.accept())
        page.locator("summary", has_text="Home").click()
        page.get_by_role("button", name="Forget").click()
        expect(page.locator("summary", has_text="Cabin")).to_contain_text("Connected")
        browser.close()
