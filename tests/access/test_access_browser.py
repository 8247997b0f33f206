"""The devices in a real browser: the pages of a guest, and the end of a session."""

import socket
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from pi_appliance.roles import Role
from tests.access.conftest import invite, join
from tests.access.test_roles import appliance_with_roles
from tests.web.chromium import CHROMIUM
from tests.web.served_appliance import ServedAppliance
from tests.web.test_browser import browser

__all__ = ["browser"]
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")


def sign_in(context: BrowserContext, home: ServedAppliance, cookie: str) -> None:
    name, _, value = cookie.partition("=")
    context.clear_cookies()
    context.add_cookies([{"name": name, "value": value, "url": home.origin}])


def test_the_code_of_an_invitation_leads_to_the_devices_once_it_was_used(
    browser: Browser, page: ServedAppliance
) -> None:
    path = invite(page, "Anna", "guest")
    (invitation,) = page.daemon.authenticator.invitations.all()
    context = browser.new_context(viewport={"width": 390, "height": 844})
    origin = page.origin.replace("127.0.0.1", socket.gethostname())  # an invitation is for other devices
    name, _, value = page.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": origin}])
    shown = context.new_page()
    shown.goto(f"{origin}/devices/invite/{invitation.id}")
    expect(shown.get_by_role("button", name="Cancel the invitation")).to_be_visible()
    join(page, path)
    expect(shown).to_have_url(f"{origin}/devices", timeout=15_000)
    expect(shown.get_by_text("Anna")).to_be_visible()
    context.close()


@pytest.mark.slow
def test_devices_in_a_browser(browser, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    with appliance_with_roles(tmp_path) as (home, cookies):
        context = browser.new_context(viewport={"width": 390, "height": 844})
        page, errors = context.new_page(), list[str]()
        page.on("pageerror", lambda error: errors.append(str(error)))

        sign_in(context, home, cookies[Role.LISTEN])
        page.goto(home.origin)
        expect(page.locator("#title")).to_have_text("Blue Train")
        expect(page.locator("main button, main a")).to_have_count(0)
        home.call_in_loop(lambda: home.player.set_state(track=home.player.tracks[1]))
        expect(page.locator("#title")).to_have_text("Moment's Notice")

        sign_in(context, home, cookies[Role.GUEST])
        page.goto(f"{home.origin}/music/radio")
        count = len(home.player.tracks)
        page.get_by_role("button", name="FIP").click()
        expect(page.locator("#answer")).to_have_text("Added: FIP")
        assert len(home.player.tracks) == count + 1
        home.call_in_loop(lambda: home.daemon.authenticator.devices.remove(*home.daemon.authenticator.devices.all()))
        page.wait_for_url("**/sign-in?to=**")
        assert errors == []
        context.close()
