"""The layout in three windows: the play button, columns, covers, long titles, switches, and the size of pages."""

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from pi_appliance.music.model import CoverArt
from pi_appliance.storage.model import Outcome, Run, Trigger
from pi_appliance.system import clock
from pi_appliance.system.clock import ClockState
from tests.web.chromium import CHROMIUM
from tests.web.list_player import SONG, ListMusic, ListPlayer
from tests.web.served_appliance import ServedAppliance, configuration, job, serving
from tests.web.test_art import draw_picture
from tests.web.test_browser import browser
from tests.web.test_pages import STATIONS, record

pytestmark = [
    pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium"),
    pytest.mark.slow,
]
__all__ = ["browser"]
SIZES = {"portrait": (390, 844), "landscape": (844, 390), "desktop": (1280, 800)}
LONG = "A title that is much too long for one line, and also for two lines of any phone that was ever sold. " * 2
TRACKS = [
    dataclasses.replace(
        SONG, uri=f"{number}.ogg", title=LONG if number in (0, 2) else f"Track {number}", position=number, id=number + 1
    )
    for number in range(100)
]
ALARM = """  weekdays:
    kind: music
    schedule: "45 6 * * mon-fri"
    with: {action: alarm, play: [Groove]}
  weekend:
    kind: music
    schedule: "0 9 * * sat,sun"
    with: {action: alarm, play: [Groove]}
"""


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAppliance]:
    """Serve a page whose tracks with even numbers have a cover."""
    player = ListPlayer(TRACKS)
    cover = CoverArt(data=draw_picture(size=(300, 300)), mime="image/png")
    player.pictures.update({track.uri: cover for track in TRACKS[::2]})
    jobs = job("one", "") + job("two", "") + ALARM
    with serving(
        configuration(tmp_path_factory.mktemp("layout"), jobs=jobs, stations=STATIONS), ListMusic(player)
    ) as result:
        result.call_in_loop(lambda: result.daemon.appliance.pause("weekend", now=clock.now()))
        yield result


def open_page(browser: Browser, appliance: ServedAppliance, path: str, size: tuple[int, int]) -> Page:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    page.goto(appliance.origin + path)
    return page


def set_messages(appliance: ServedAppliance, number: int) -> None:
    """Show no message, one, or three on the page."""
    scheduler = appliance.daemon.scheduler
    scheduler.error = "the history cannot be written: " + "w" * 60 if number else ""
    scheduler.clock_state = ClockState.UNTRUSTED if number > 1 else ClockState.TRUSTED
    scheduler.clock_wait = 300.0
    for name in ("one", "two"):
        record(appliance, name, Outcome.FAILED if number > 1 else Outcome.SUCCEEDED, "no space left on the device")


@pytest.mark.parametrize("messages", [0, 1, 3])
def test_the_play_button_is_on_the_first_screen(browser: Browser, appliance: ServedAppliance, messages: int) -> None:
    set_messages(appliance, messages)
    for size in SIZES.values():
        page = open_page(browser, appliance, "/", size)
        expect(page.locator("#cover")).to_have_js_property("naturalWidth", 300)
        expect(page.locator("#title")).to_contain_text("much too long")
        expect(page.locator("#banner .notice")).to_have_count(messages)
        toggle, places = page.locator("#toggle").bounding_box(), page.locator(".places").bounding_box()
        assert toggle
        assert places
        bottom = size[1] if size[0] >= 900 else places["y"]
        assert 0 < toggle["y"] < toggle["y"] + toggle["height"] <= bottom, size
        page.context.close()


def test_a_desktop_has_two_columns(browser: Browser, appliance: ServedAppliance) -> None:
    page = open_page(browser, appliance, "/", SIZES["desktop"])
    player, queue = page.locator("#music").bounding_box(), page.locator("#queue").bounding_box()
    assert player
    assert queue
    assert player["x"] + player["width"] < queue["x"]
    page.goto(f"{appliance.origin}/music/alarms")
    alarm, sleep = (
        page.get_by_label("weekdays").first.bounding_box(),
        page.get_by_role("heading", name="Sleep timer").bounding_box(),
    )
    assert alarm
    assert sleep
    assert alarm["x"] + alarm["width"] < sleep["x"]
    page.goto(f"{appliance.origin}/jobs")
    first, second = (page.locator(f"#job-{name}").bounding_box() for name in ("one", "two"))
    assert first
    assert second
    assert (first["y"], first["x"] + first["width"] < second["x"]) == (second["y"], True)
    page.goto(f"{appliance.origin}/settings")
    sides = {round(each.bounding_box()["x"]) for each in page.locator(".settings > section").all()}
    assert len(sides) == 2
    page.context.close()


def test_on_a_phone_on_its_side_places_and_player_share_a_row(browser: Browser, appliance: ServedAppliance) -> None:
    page = open_page(browser, appliance, "/jobs", SIZES["landscape"])
    link, mini = page.get_by_role("link", name="More", exact=True).bounding_box(), page.locator("#mini").bounding_box()
    assert link
    assert mini
    assert link["x"] + link["width"] <= mini["x"]
    assert mini["y"] >= 390 - 70, "the content has the rest"
    page.context.close()


def test_covers_load_when_they_are_seen_and_move_nothing(browser: Browser, appliance: ServedAppliance) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/music/cover?small" in request.url else None)
    page.add_init_script(
        "window.shifts = 0; new PerformanceObserver((list) => list.getEntries().forEach((each) =>"
        " (window.shifts += each.value))).observe({type: 'layout-shift', buffered: true})"
    )
    page.goto(f"{appliance.origin}/music/queue", wait_until="networkidle")
    expect(page.locator(".list .thumb img").first).to_have_js_property("naturalWidth", 128)
    at_first = len(asked)
    assert 5 < at_first < 80, "only those near the window are loaded"
    page.locator(".list .thumb").last.scroll_into_view_if_needed()
    appliance.wait_until(lambda: page.evaluate("1") and len(asked) > at_first)
    assert page.evaluate("window.shifts") < 0.01
    boxes = page.locator(".list .thumb").evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().width)")
    assert set(boxes) == {40}, "also without a cover"
    context.close()


def test_no_button_moves_when_a_cover_is_missing_or_known(browser: Browser, appliance: ServedAppliance) -> None:
    def moved() -> bool:
        """Open the player, have its cover answered late, and return whether a button has moved then."""
        page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
        late: list[Route] = []
        page.route("**/music/cover?uri=*", lambda route: late.append(route))  # noqa: PLW0108 - Playwright gives the handler an attribute
        page.goto(f"{appliance.origin}/", wait_until="domcontentloaded")
        appliance.wait_until(lambda: page.evaluate("1") and late)
        before = page.locator("#toggle").bounding_box()
        late[0].continue_()
        page.wait_for_load_state("load")  # with the cover, or without
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        after = page.locator("#toggle").bounding_box()
        page.context.close()
        return before != after

    set_messages(appliance, 0)  # three leave no room for a cover
    appliance.call_in_loop(lambda: appliance.player.set_state(track=TRACKS[3]))  # it has no cover
    assert not moved()
    unknown = dataclasses.replace(SONG, uri="unknown.ogg")
    appliance.player.pictures[unknown.uri] = appliance.player.pictures[TRACKS[0].uri]
    appliance.call_in_loop(lambda: appliance.player.set_state(track=unknown))
    assert moved(), "a cover that was never asked for is not known"
    assert not moved()


def test_an_album_has_the_cover_of_its_first_track(browser: Browser, appliance: ServedAppliance) -> None:
    page = open_page(browser, appliance, "/music/library?by=album", SIZES["portrait"])
    expect(page.locator(".albums .thumb img").first).to_have_js_property("naturalWidth", 300)
    page.context.close()


@pytest.mark.parametrize("path", ["/music/queue", "/more", "/tweets", "/music/library?by=album"])
def test_no_list_shows_a_broken_picture(browser: Browser, appliance: ServedAppliance, path: str) -> None:
    appliance.call_in_loop(lambda: appliance.player.set_state(track=TRACKS[1]))  # it has no cover
    context = browser.new_context(viewport={"width": 390, "height": 844}, java_script_enabled=False)
    page = context.new_page()
    page.goto(appliance.origin + path, wait_until="networkidle")
    broken = page.locator("img").evaluate_all(
        "(all) => all.filter((each) => each.complete && !each.naturalWidth).map((each) => each.outerHTML)"
    )
    context.close()
    appliance.call_in_loop(lambda: appliance.player.set_state(track=TRACKS[0]))
    assert broken == []


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/jobs",
        "/music/alarms",
        "/music/alarms/weekdays",
        "/music/sound",
        "/new-job?kind=puzzle",
        "/tweets",
        "/settings",
        "/devices",
        "/system/power",
        "/system/backup",
        "/more",
    ],
)
def test_the_text_follows_the_font_size_of_the_browser(browser: Browser, appliance: ServedAppliance, path: str) -> None:
    page = open_page(browser, appliance, path, SIZES["portrait"])
    before = page.locator("h1").evaluate("(each) => parseFloat(getComputedStyle(each).fontSize)")
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert page.locator("h1").evaluate("(each) => parseFloat(getComputedStyle(each).fontSize)") == 2 * before
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.context.close()


def test_a_lost_connection_moves_nothing(browser: Browser, appliance: ServedAppliance) -> None:
    places = "[...document.querySelectorAll('h1, #toggle, .tabs a')].map((each) => each.getBoundingClientRect().y)"
    page = open_page(browser, appliance, "/", SIZES["portrait"])
    expect(page.locator("#volume-line")).to_be_visible()
    before = page.evaluate(places)
    page.context.set_offline(True)
    expect(page.locator("#live")).to_be_in_viewport()
    assert page.evaluate(places) == before
    page.get_by_role("button", name="Next", exact=True).click()
    expect(page.locator("#notice")).to_contain_text("does not answer")
    expect(page.locator("#notice")).to_be_in_viewport()
    assert page.evaluate(places) == before
    page.context.close()


def test_long_titles_are_cut(browser: Browser, appliance: ServedAppliance) -> None:
    page = open_page(browser, appliance, "/music/queue", SIZES["portrait"])
    name = page.locator(".entry .name").nth(2)
    assert name.evaluate("(each) => each.clientHeight / parseFloat(getComputedStyle(each).lineHeight)") < 2.5
    assert name.evaluate("(each) => each.scrollHeight > each.clientHeight")
    page.goto(appliance.origin)
    names = page.locator("#queue .name")
    assert names.evaluate_all("(all) => Math.max(...all.map((each) => each.clientHeight))") < 30
    page.context.close()


def test_a_switch_looks_off_when_it_is_off(browser: Browser, appliance: ServedAppliance) -> None:
    page = open_page(browser, appliance, "/music/alarms", SIZES["portrait"])
    on, off = (page.get_by_role("switch", checked=checked) for checked in (True, False))
    look = """(each) => [getComputedStyle(each, "::before").backgroundColor, getComputedStyle(each, "::after").left]"""
    assert on.evaluate(look) != off.evaluate(look)
    assert [on.evaluate(look)[1], off.evaluate(look)[1]] == ["28px", "4px"]
    page.context.close()


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAppliance]:
    """Serve an appliance with 56 jobs and 5,000 runs."""
    names = [f"job-{number}" for number in range(56)]
    jobs = "".join(job(name, "", "    schedule: 0 6 * * *\n    chance: 1/4\n") for name in names)
    with serving(configuration(tmp_path_factory.mktemp("busy"), jobs=jobs, stations=STATIONS)) as result:
        store, now = result.daemon.appliance.store, clock.now()
        for number in range(1, 5001):
            started = now - timedelta(minutes=5001 - number)
            name = names[0] if number % 2 else names[number % 56]
            outcome = Outcome.FAILED if number % 7 == 0 else Outcome.SUCCEEDED
            run = Run(
                id=number,
                job=name,
                kind="command",
                trigger=Trigger.DAEMON,
                scheduled_for=None,
                started=started,
                ended=started,
                outcome=outcome,
                summary="printed a line",
                attempts=1,
            )
            store.restore_run(run)
        yield result


def transferred(browser: Browser, address: str) -> int:
    """Return the bytes over the wire of the first visit of `address`, with headers."""
    context = browser.new_context(viewport={"width": 390, "height": 844})
    page = context.new_page()
    done: list[Request] = []

    def note(request: Request) -> None:
        done.append(request)

    page.on("requestfinished", note)
    page.goto(address)
    sizes: list[Any] = [request.sizes() for request in done]
    context.close()
    return sum(int(each["responseBodySize"]) + int(each["responseHeadersSize"]) for each in sizes)


@pytest.mark.parametrize("path", ["/", "/jobs", "/jobs/job-0", "/music/alarms", "/more"])
def test_the_first_load_is_small_also_with_many_jobs_and_runs(
    browser: Browser, busy: ServedAppliance, path: str
) -> None:
    assert 8_000 < transferred(browser, busy.origin + path) < 70_000


@pytest.mark.parametrize("path", ["/", "/jobs", "/jobs/job-0", "/reports", "/system/log", "/posts"])
def test_no_page_is_endless(browser: Browser, busy: ServedAppliance, path: str) -> None:
    page = open_page(browser, busy, path, SIZES["portrait"])
    assert page.evaluate("document.documentElement.scrollHeight") < 8_000
    page.context.close()
