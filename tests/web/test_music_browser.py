"""The music pages in a real browser of a phone's size, with and without scripts."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from pi_appliance.music.model import CoverArt, PlaybackState, Track
from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.system import clock, files
from tests.web.chromium import CHROMIUM
from tests.web.list_player import LIBRARY, SONG, ListMusic, ListPlayer
from tests.web.served_appliance import ServedAppliance, configuration, job, serving
from tests.web.test_art import draw_picture
from tests.web.test_browser import ANSWER, CONFIRMATION, TOO_SMALL, WIDTHS, browser, phone
from tests.web.test_pages import record

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
    "alarms/weekdays",
    "alarms/new",
)


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    music = ListMusic(ListPlayer([SONG, LONG]))
    jobs = job("hello", "print('good morning')") + ALARMS
    with serving(configuration(tmp_path, stations=STATIONS, jobs=jobs), music) as result:
        yield result


def bar(page: Page) -> str:
    return page.locator("#mini-title").inner_text()


@pytest.mark.parametrize("script", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["script", "no script"])
def test_nothing_is_wider_than_a_phone_or_smaller_than_a_thumb(
    browser: Browser, appliance: ServedAppliance, script: bool
) -> None:
    appliance.player.saved["Evening " + "w" * 80] = list(LIBRARY)
    with phone(browser, appliance, script=script) as page:
        for path in PAGES:
            page.goto(f"{appliance.origin}/music/{path}")
            expect(page.locator("#mini-title")).to_have_text("Blue Train")
            page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
            width, window = page.evaluate(WIDTHS)
            assert width <= window, path
            assert page.evaluate(TOO_SMALL) == [], path


def test_a_playlist_is_deleted_in_its_menu_after_a_question(browser: Browser, appliance: ServedAppliance) -> None:
    appliance.player.saved["Evening"] = list(LIBRARY)
    with phone(browser, appliance, path="/music/playlists") as page:
        page.add_init_script(ANSWER)
        page.reload()
        menu = page.get_by_label("What to do with Evening")
        menu.tap()
        page.get_by_role("button", name="Delete").tap()
        question = "Delete the playlist Evening? This cannot be undone. Its tracks stay in the library."
        assert page.evaluate(CONFIRMATION) == [question]
        assert "Evening" in appliance.player.saved
        page.get_by_role("button", name="Delete").tap()
        expect(menu).to_have_count(0)
        expect(page.locator("#answer")).to_contain_text("eleted Evening")
    assert "Evening" not in appliance.player.saved


def test_the_history_of_the_sleep_timer_is_large_enough_for_a_thumb(
    browser: Browser, appliance: ServedAppliance
) -> None:
    with phone(browser, appliance, script=False, path="/music/alarms") as page:
        box = page.get_by_text("History:").get_by_role("link", name="sleep").bounding_box()
        assert box
        assert min(box["width"], box["height"]) >= 44


def test_a_track_is_removed_and_the_page_stays(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance) as page:
        page.goto(f"{appliance.origin}/music/queue")
        page.evaluate("window.here = true")
        page.locator(".entry").nth(1).locator("summary").tap()
        page.get_by_role("button", name="Remove").tap()
        expect(page.locator(".entry")).to_have_count(1)
        assert page.evaluate("window.here"), "it was not loaded anew"
        assert [track.uri for track in appliance.player.tracks] == ["a.ogg"]


def test_changes_by_others_appear_in_the_queue(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance) as page:
        page.goto(f"{appliance.origin}/music/queue")
        expect(page.locator('[aria-current="true"] .name')).to_have_text("Blue Train")
        appliance.call_in_loop(lambda: appliance.player.set_state(track=LONG, queue_version=9))
        expect(page.locator('[aria-current="true"] .name')).to_contain_text("WWW")
        expect(page.locator("#mini-title")).to_contain_text("WWW")


def open_live(page: Page, appliance: ServedAppliance, path: str) -> None:
    """Open a page, and wait until it follows the player."""
    page.goto(f"{appliance.origin}/music/{path}")
    for track in (LONG, SONG):
        appliance.call_in_loop(lambda track=track: appliance.player.set_state(track=track))
        expect(page.locator("#mini-title")).to_have_text(track.title)


def test_a_setting_that_another_program_changes_is_shown(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance, path="/music/sound") as page:
        five_seconds = page.locator('form[action="/do/player/crossfade"] button[value="5"]')
        expect(five_seconds).to_have_attribute("aria-pressed", "false")
        appliance.call_in_loop(lambda: appliance.player.changed("options", crossfade=5))
        expect(five_seconds).to_have_attribute("aria-pressed", "true")


def test_a_text_that_is_typed_survives_changes_of_the_page(browser: Browser, appliance: ServedAppliance) -> None:
    def queue_changes() -> None:
        appliance.player.changed("playlist", queue_version=77, track=LONG)

    with phone(browser, appliance) as page:
        open_live(page, appliance, "queue")
        name = page.get_by_role("textbox", name="Keep it as a playlist")
        name.fill("Evening")
        appliance.call_in_loop(queue_changes)
        expect(page.locator('[aria-current="true"] .name')).to_contain_text("WWW")  # the list is drawn again
        expect(name).to_have_value("Evening")
        expect(name).to_be_focused()
        page.evaluate("document.getElementById('save-as').dataset.old = ''")
        page.get_by_role("button", name="Shuffle").tap()
        expect(page.locator("#save-as[data-old]")).to_have_count(0)  # the whole page is
        expect(name).to_have_value("Evening")
        page.get_by_role("button", name="Save").tap()
        expect(page).to_have_url(f"{appliance.origin}/music/playlists")
        open_live(page, appliance, "alarms")
        page.get_by_text("Ring once …").tap()
        time = page.get_by_label("A time to ring once")
        time.fill("05:30")
        page.evaluate("document.getElementById('live-part').dataset.old = ''")
        appliance.call_in_loop(lambda: appliance.player.changed("playlist", queue_version=99))
        expect(page.locator("#live-part[data-old]")).to_have_count(0)
        expect(time).to_have_value("05:30")
        expect(time).to_be_visible()
        expect(time).to_be_focused()


def test_an_album_is_searched_and_played(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance) as page:
        page.goto(f"{appliance.origin}/music/library")
        page.get_by_role("searchbox").fill("kind")
        page.get_by_role("button", name="Search").tap()
        page.get_by_role("link", name="Kind of Blue").tap()
        expect(page.get_by_role("heading", level=1)).to_have_text("Kind of Blue")
        page.get_by_role("button", name="Play now").first.tap()
        expect(page.locator("#mini-title")).to_have_text("So What")
        assert [track.uri for track in appliance.player.tracks] == [track.uri for track in LIBRARY]
        page.get_by_role("link", name="Back").tap()
        expect(page.get_by_role("heading", level=1)).to_have_text("Miles Davis")


def test_the_player_bar_pauses_and_shows_it(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance) as page:
        page.goto(f"{appliance.origin}/music/radio")
        page.get_by_role("button", name="Pause").tap()
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        assert appliance.player.now.playback is PlaybackState.PAUSED
        expect(page).to_have_url(re.compile("/music/radio$"))


def test_a_refusal_is_shown_on_the_page(browser: Browser, appliance: ServedAppliance) -> None:
    complaints: list[str] = []
    with phone(browser, appliance, complaints=complaints) as page:
        page.goto(f"{appliance.origin}/music/queue")
        appliance.call_in_loop(appliance.player.tracks.clear)
        page.locator(".entry button.what").nth(1).tap()
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.get_by_role("alert")).not_to_contain_text("Back to")
        expect(page.locator(".entry")).to_have_count(2)


@pytest.mark.parametrize("script", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["script", "no script"])
def test_a_station_is_added_and_the_sleep_timer_is_set(
    browser: Browser, appliance: ServedAppliance, script: bool
) -> None:
    with phone(browser, appliance, script=script) as page:
        page.goto(f"{appliance.origin}/music/radio")
        page.locator(".entry").nth(3).locator("summary").tap()
        page.locator(".entry").nth(3).get_by_role("button", name="Remove").tap()
        expect(page.get_by_text("Removed or changed")).to_be_visible()
        expect(page.locator(".entry")).to_have_count(19)
        page.goto(f"{appliance.origin}/music/alarms")
        page.get_by_role("button", name=re.compile("^Skip ")).tap()
        expect(page.get_by_text("is skipped")).to_be_visible()
        page.get_by_role("button", name="45 min").tap()
        expect(page.get_by_role("button", name="Cancel timer")).to_be_visible()
        page.get_by_role("button", name="Cancel timer").tap()
        expect(page.get_by_role("button", name="45 min")).to_be_visible()


def test_a_cover_is_shown_if_there_is_one(browser: Browser, appliance: ServedAppliance) -> None:
    appliance.player.pictures["a.ogg"] = CoverArt(data=draw_picture(), mime="image/png")
    with phone(browser, appliance) as page:
        expect(page.locator("#cover")).to_be_visible()
        assert page.evaluate("document.getElementById('cover').naturalWidth") > 0
        appliance.call_in_loop(lambda: appliance.player.set_state(track=LONG))
        expect(page.locator("#title")).to_contain_text("WWW")
        expect(page.locator("#cover")).to_be_hidden()


def test_a_ringing_alarm_is_on_the_home_page_with_its_buttons(browser: Browser, appliance: ServedAppliance) -> None:
    store = appliance.daemon.appliance.store
    with (
        files.acquire_lock(appliance.daemon.appliance.lock_path("weekdays")) as lock,
        phone(browser, appliance) as page,
    ):
        assert lock is not None
        expect(page.get_by_text("weekdays is ringing")).to_be_hidden()
        run, _ = store.start_run(job="weekdays", kind="music", trigger=Trigger.DAEMON, due=None, now=clock.now())
        lock.write_status(run, None, "Station 1 at volume 12")
        expect(page.get_by_text("weekdays is ringing")).to_be_visible()
        page.get_by_role("button", name="Snooze").tap()
        expect(page).to_have_url(f"{appliance.origin}/")
        expect(page.get_by_text("weekdays will snooze in a moment")).to_be_visible()
        expect(page.get_by_role("button", name="Snooze")).to_be_hidden()
        assert store.requests.take_signal("weekdays") == "snooze"


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("/", False),
        ("/music/queue", True),
        *(pytest.param(path, True, marks=pytest.mark.slow) for path in ("/", "/music/sound", "/music/alarms")),
        *(pytest.param(f"/music/{name}", False, marks=pytest.mark.slow) for name in ("queue", "sound", "alarms")),
    ],
)
def test_only_a_change_between_page_and_first_event_draws_again(
    browser: Browser, appliance: ServedAppliance, path: str, changed: bool
) -> None:
    player, held, asked = appliance.player, list[Route](), list[str]()

    def change() -> None:
        player.tracks.append(Track(uri="d.ogg", title="Added in between", position=2, id=3))
        player.changed("playlist", queue_version=player.now.queue_version + 1)

    record(appliance, "weekdays", Outcome.SUCCEEDED, "it rang")
    # Another browser follows the player, so that the first event already has the change.
    with appliance.events() as events, phone(browser, appliance, path="/more") as page:
        events.next_state()
        page.route("**/events?*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright sets an attribute of it
        page.goto(appliance.origin + path)
        appliance.wait_until(lambda: page.evaluate("1") and held)
        page.on("request", lambda request: asked.append(request.url))
        if changed:
            appliance.call_in_loop(change)
        appliance.call_in_loop(lambda: player.set_state(playback=PlaybackState.PAUSED))
        assert events.wait_for_state(lambda state: state["player"]["play"] == "pause")
        for route in held:
            route.continue_()
        expect(page.locator("#toggle, #mini-toggle")).to_have_attribute("aria-label", "Play")  # the event is there
        again = [each for each in asked if each.endswith(("/parts/queue", path))]
        assert len(again) == changed
        if changed and path in ("/", "/music/queue"):
            expect(page.get_by_text("Added in between")).to_be_visible()
