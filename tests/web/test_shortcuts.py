"""Keys for the player, and the lines that answer a press, in a real browser."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from pi_appliance.music.model import AddResult, PlaybackState
from tests.web.chromium import CHROMIUM
from tests.web.list_player import ListMusic, ListPlayer
from tests.web.served_appliance import ServedAppliance, configuration, serving
from tests.web.test_browser import browser

pytestmark = [
    pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium"),
    pytest.mark.slow,
]
__all__ = ["browser"]


class SlowPlayer(ListPlayer):
    """A player that adds nothing until `go_on` is set."""

    go_on: asyncio.Event | None = None

    async def add_source(self, *words: Any, **options: Any) -> AddResult:
        if self.go_on:
            await self.go_on.wait()
        return await super().add_source(*words, **options)


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    stations = "- {name: Station 1, url: http://radio.example/1}\n"
    with serving(configuration(tmp_path, stations=stations), ListMusic(SlowPlayer())) as result:
        yield result


@pytest.fixture
def page(browser: Browser, appliance: ServedAppliance) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    result = context.new_page()
    result.goto(appliance.origin)
    yield result
    context.close()


def test_keys_play_seek_and_change_the_volume(page: Page, appliance: ServedAppliance) -> None:
    page.keyboard.press("Space")
    expect(page.locator("#answer")).to_have_text("Paused")
    assert appliance.player.now.playback is PlaybackState.PAUSED
    page.keyboard.press("+")
    expect(page.locator("#answer")).to_have_text("Volume 45")
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("#answer")).to_have_text("Moment's Notice")
    expect(page.locator("#title")).to_have_text("Moment's Notice")
    appliance.call_in_loop(lambda: appliance.player.set_state(elapsed=100.0))
    page.keyboard.press("ArrowRight")
    appliance.wait_until(lambda: appliance.player.now.elapsed == 110)


def test_keys_of_a_control_and_a_text_field_stay_theirs(page: Page, appliance: ServedAppliance) -> None:
    page.get_by_role("button", name="Louder").focus()
    page.keyboard.press("Space")  # presses the button that has the focus
    expect(page.locator("#volume-line")).to_have_value("45")
    page.locator("#volume-line").press("ArrowRight")
    expect(page.locator("#volume-line")).to_have_value("46")
    page.goto(f"{appliance.origin}/music/library")
    field = page.get_by_role("searchbox")
    field.press_sequentially("k + ? -")
    expect(field).to_have_value("k + ? -")
    expect(page.get_by_role("dialog")).to_have_count(0)
    appliance.wait_until(lambda: appliance.player.now.volume == 46)
    assert appliance.player.now.playback is PlaybackState.PLAYING


def test_the_list_is_shown_and_the_keys_are_switched_off_on_this_device(page: Page, appliance: ServedAppliance) -> None:
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Play or pause")
    page.get_by_role("switch", name="On this device").click()
    page.keyboard.press("Escape")
    page.goto(f"{appliance.origin}/more")
    page.keyboard.press("k")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Keyboard shortcuts").click()
    assert appliance.player.now.playback is PlaybackState.PLAYING
    page.get_by_role("switch", name="On this device").click()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("k")
    appliance.wait_until(lambda: appliance.player.now.playback is PlaybackState.PAUSED)


def test_a_press_is_answered_before_the_player_has_done_it(page: Page, appliance: ServedAppliance) -> None:
    page.goto(f"{appliance.origin}/music/library?by=album")
    waiting = asyncio.Event()
    appliance.player.go_on = waiting  # type: ignore[attr-defined]
    page.locator(".entry").filter(has_text="Kind of Blue").locator("summary").click()
    page.locator(".menu[open]").get_by_role("button", name="At the end").click()
    status = page.get_by_role("status").filter(has_text="Kind of Blue")
    expect(status).to_have_text("Adding Kind of Blue …")
    appliance.call_in_loop(waiting.set)
    expect(status).to_have_text("Added: Kind of Blue, 2 tracks")


def test_each_press_is_answered(page: Page, appliance: ServedAppliance) -> None:
    answer, waiting = page.locator("#answer"), asyncio.Event()
    appliance.player.go_on = waiting  # type: ignore[attr-defined]
    page.get_by_role("button", name="Station 1").click()
    expect(answer).to_have_text("Starting Station 1 …")
    appliance.call_in_loop(waiting.set)
    page.goto(f"{appliance.origin}/music/library?by=album")
    page.locator(".entry").filter(has_text="Blue Train").locator("summary").click()
    page.locator(".menu[open]").get_by_role("button", name="Play now").click()
    expect(answer).to_have_text("Starting: Blue Train, 2 tracks")
    page.goto(f"{appliance.origin}/music/library?by=track")
    page.locator(".entry").filter(has_text="So What").get_by_role("button").click()
    expect(answer).to_have_text("Starting: So What")
    page.goto(f"{appliance.origin}/music/queue")
    page.locator(".entry").nth(1).locator("summary").click()
    page.locator(".menu[open]").get_by_role("button", name="Remove").click()
    expect(answer).to_have_text("Removed 1 track; 2 left in the queue")
    expect(page.locator(".entry")).to_have_count(2)  # drawn again
    page.get_by_role("textbox", name="Keep it as a playlist").fill("Evening")
    page.get_by_role("button", name="Save").click()
    expect(answer).to_have_text("Saved Evening, 2 tracks")
    expect(page).to_have_url(f"{appliance.origin}/music/playlists")
