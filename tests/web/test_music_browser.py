"""The pages of the music in a real browser of a phone's size: live with a script, whole without."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pi_appliance.music.model import CoverArt, PlaybackState, Track
from pi_appliance.storage.model import Trigger
from pi_appliance.system import clock, locks
from tests.web.list_player import SHELF, SONG, ListMusic, ListPlayer
from tests.web.served_appliance import World, configuration, job, served
from tests.web.test_art import drawn
from tests.web.test_browser import CHROMIUM, TOO_SMALL, WIDTHS, browser, phone

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")
__all__ = ["browser"]
STATIONS = "".join(f'- {{name: Station {number}, url: "http://radio.example/{number}"}}\n' for number in range(20))
ALARMS = """  weekdays:
    kind: music
    schedule: "45 6 * * mon-fri"
    with: {action: alarm, play: [Station 1], duration: 1h}
  sleep: {kind: music, with: {action: sleep}}
"""
LONG = Track(uri="c.ogg", title="W" * 90 + " שלום 🎷", artist="Ä" * 60, album="Z", duration=61.0, position=1, id=2)
PAGES = (
    "queue",
    "library",
    "library?by=album",
    "library?by=track",
    "library?text=blue",
    "playlists",
    "radio",
    "sound",
    "alarms",
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    music = ListMusic(ListPlayer([SONG, LONG]))
    jobs = job("hello", "print('good morning')") + ALARMS
    with served(configuration(tmp_path, stations=STATIONS, jobs=jobs), music) as found:
        yield found


def bar(page: Page) -> str:
    return page.locator("#bar-title").inner_text()


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_nothing_is_wider_than_the_phone_or_smaller_than_a_thumb(browser: Browser, world: World, script: bool) -> None:
    world.player.saved["Evening " + "w" * 80] = list(SHELF)
    with phone(browser, world, script=script) as page:
        for path in PAGES:
            page.goto(f"{world.origin}/music/{path}")
            expect(page.locator("#bar-title")).to_have_text("Blue Train")
            page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
            width, window = page.evaluate(WIDTHS)
            assert width <= window, path
            assert page.evaluate(TOO_SMALL) == [], path


def test_a_track_is_taken_out_of_the_queue_and_the_page_stays(browser: Browser, world: World) -> None:
    with phone(browser, world) as page:
        page.goto(f"{world.origin}/music/queue")
        page.evaluate("window.here = true")
        page.locator(".entry").nth(1).locator("summary").tap()
        page.get_by_role("button", name="Remove").tap()
        expect(page.locator(".entry")).to_have_count(1)
        assert page.evaluate("window.here"), "it was not loaded anew"
        assert [track.uri for track in world.player.tracks] == ["a.ogg"]


def test_what_others_do_shows_on_the_queue(browser: Browser, world: World) -> None:
    with phone(browser, world) as page:
        page.goto(f"{world.origin}/music/queue")
        expect(page.locator('[aria-current="true"] .name')).to_have_text("Blue Train")
        world.in_loop(lambda: world.player.become(track=LONG, queue_version=9))
        expect(page.locator('[aria-current="true"] .name')).to_contain_text("WWW")
        expect(page.locator("#bar-title")).to_contain_text("WWW")


def test_an_album_is_found_by_its_words_and_played(browser: Browser, world: World) -> None:
    with phone(browser, world) as page:
        page.goto(f"{world.origin}/music/library")
        page.get_by_role("searchbox").fill("kind")
        page.get_by_role("button", name="Search").tap()
        page.get_by_role("link", name="Kind of Blue").tap()
        expect(page.get_by_role("heading", level=1)).to_have_text("Kind of Blue")
        page.get_by_role("button", name="Play now").first.tap()
        expect(page.locator("#bar-title")).to_have_text("So What")
        assert [track.uri for track in world.player.tracks] == [track.uri for track in SHELF]
        page.get_by_role("link", name="Back").tap()
        expect(page.get_by_role("heading", level=1)).to_have_text("Miles Davis")


def test_the_bar_pauses_and_says_so(browser: Browser, world: World) -> None:
    with phone(browser, world) as page:
        page.goto(f"{world.origin}/music/radio")
        page.get_by_role("button", name="Pause").tap()
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        assert world.player.now.playback is PlaybackState.PAUSED
        expect(page).to_have_url(re.compile("/music/radio$"))


def test_a_no_is_told_on_the_page(browser: Browser, world: World) -> None:
    complaints: list[str] = []
    with phone(browser, world, complaints=complaints) as page:
        page.goto(f"{world.origin}/music/queue")
        world.in_loop(world.player.tracks.clear)
        page.locator(".entry button.what").nth(1).tap()
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.locator(".entry")).to_have_count(2)


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_station_is_added_and_the_sleep_timer_is_set(browser: Browser, world: World, script: bool) -> None:
    with phone(browser, world, script=script) as page:
        page.goto(f"{world.origin}/music/radio")
        page.locator(".entry").nth(3).locator("summary").tap()
        page.locator(".entry").nth(3).get_by_role("button", name="Remove").tap()
        expect(page.get_by_text("Removed or changed")).to_be_visible()
        expect(page.locator(".entry")).to_have_count(19)
        page.goto(f"{world.origin}/music/alarms")
        page.get_by_role("button", name="Skip next ring").tap()
        expect(page.get_by_text("is skipped")).to_be_visible()
        page.get_by_role("button", name="45 min").tap()
        expect(page.get_by_role("button", name="Cancel timer")).to_be_visible()
        page.get_by_role("button", name="Cancel timer").tap()
        expect(page.get_by_role("button", name="45 min")).to_be_visible()


def test_the_cover_shows_where_there_is_one(browser: Browser, world: World) -> None:
    world.player.pictures["a.ogg"] = CoverArt(data=drawn(), mime="image/png")
    with phone(browser, world) as page:
        expect(page.locator("#cover")).to_be_visible()
        assert page.evaluate("document.getElementById('cover').naturalWidth") > 0
        world.in_loop(lambda: world.player.become(track=LONG))
        expect(page.locator("#title")).to_contain_text("WWW")
        expect(page.locator("#cover")).to_be_hidden()


def test_an_alarm_that_rings_is_on_the_first_page_with_its_buttons(browser: Browser, world: World) -> None:
    store = world.daemon.appliance.store
    with locks.acquire(world.daemon.appliance.lock_path("weekdays")) as lock, phone(browser, world) as page:
        assert lock is not None
        expect(page.get_by_text("weekdays is ringing")).to_be_hidden()
        run, _ = store.start_run(job="weekdays", kind="music", trigger=Trigger.DAEMON, due=None, now=clock.now())
        lock.write_status(run, None, "Station 1 at volume 12")
        expect(page.get_by_text("weekdays is ringing")).to_be_visible()
        page.get_by_role("button", name="Snooze").tap()
        expect(page).to_have_url(f"{world.origin}/")
        assert store.requests.take_signal("weekdays") == "snooze"
