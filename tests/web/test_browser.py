"""The page in a real browser of a phone's size, with and without scripts."""

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, Route, expect, sync_playwright

from pi_appliance.music.model import PlaybackState
from pi_appliance.posting.model import PostState
from pi_appliance.scheduling.schedule import dump_schedule
from pi_appliance.storage.model import Outcome
from pi_appliance.system import clock
from pi_appliance.system.clock import ClockState
from tests.posting.test_pages import add_post, settings
from tests.warm_program import IS_COLD
from tests.web.chromium import CHROMIUM, launch_chromium
from tests.web.served_appliance import ServedAppliance, configuration, job, serving, set_password
from tests.web.test_pages import STATIONS, record, report

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")
MANY = "".join(f'- {{name: Station {number}, url: "http://radio.example/{number}"}}\n' for number in range(8))
# The width of the page and of the window, and each control that is too small for a thumb.
WIDTHS = "[document.documentElement.scrollWidth, window.innerWidth]"
TOO_SMALL = """[...document.querySelectorAll("button, input, select, summary, .list a, .history, h2 a, .back")]
    .filter((each) => each.checkVisibility()).map((each) => [each.outerHTML, each.getBoundingClientRect()])
    .filter(([, box]) => box.height < 44 || box.width < 44).map(([text]) => text)"""
# Questions in a window of the browser are answered no, later ones yes. (The driver of a real window hung once.)
ANSWER = """window.confirm = (question) => {
    sessionStorage.asked = JSON.stringify([...JSON.parse(sessionStorage.asked ?? "[]"), question]);
    return JSON.parse(sessionStorage.asked).length > 1;
};"""
CONFIRMATION = "JSON.parse(sessionStorage.asked)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        result = launch_chromium(playwright)
        yield result
        result.close()


@pytest.fixture
def served_appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    """Serve a page with all features."""
    jobs = job("hello", "print('good morning')") + job("a-job-with-a-very-long-name-" + "x" * 30, "")
    with serving(configuration(tmp_path, jobs=jobs, stations=STATIONS + MANY)) as result:
        record(result, "hello", Outcome.FAILED, "could not " + "w" * 90)
        yield result


@contextlib.contextmanager
def phone(
    browser: Browser,
    served_appliance: ServedAppliance,
    *,
    script: bool = True,
    complaints: list[str] | None = None,
    path: str = "/",
) -> Iterator[Page]:
    """Yield a phone page opened at `path`, with browser errors in `complaints`."""
    errors = [] if complaints is None else complaints
    context = browser.new_context(
        viewport={"width": 393, "height": 727},
        device_scale_factor=2.75 if IS_COLD else 1,  # fewer pixels take less processor time
        is_mobile=True,
        has_touch=True,
        java_script_enabled=script,
    )
    page = context.new_page()
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(served_appliance.origin + path)
    try:
        yield page
    finally:
        context.close()
    assert complaints is not None or not errors, errors


def test_pressing_pause_pauses_and_the_button_becomes_play(browser: Browser, served_appliance: ServedAppliance) -> None:
    with phone(browser, served_appliance) as page:
        page.get_by_role("button", name="Pause").tap()
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        assert served_appliance.player.now.playback is PlaybackState.PAUSED
        page.get_by_role("button", name="Next").tap()
        expect(page.locator("#title")).to_have_text("Moment's Notice")
        assert page.url == f"{served_appliance.origin}/"


def test_an_answer_older_than_the_last_event_is_not_shown(browser: Browser, served_appliance: ServedAppliance) -> None:
    def made_older(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        body["player"]["track"]["label"] = "Older"
        route.fulfill(response=answer, json=body)

    with phone(browser, served_appliance) as page:
        page.route("**/api/v1/player/next", made_older)
        with page.expect_response("**/api/v1/player/next") as answered:
            page.get_by_role("button", name="Next").tap()
        answered.value.finished()
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        expect(page.locator("#title")).to_have_text("Moment's Notice")


def test_changes_by_others_appear_automatically(browser: Browser, served_appliance: ServedAppliance) -> None:
    with phone(browser, served_appliance) as page:
        expect(page.locator("#elapsed")).to_have_text("1:02", timeout=10_000)  # it advances without events
        served_appliance.call_in_loop(
            lambda: served_appliance.player.set_state(volume=90, playback=PlaybackState.STOPPED)
        )
        expect(page.locator("#volume-line")).to_have_value("90")
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_the_volume_is_set_by_button_and_by_slider(browser: Browser, served_appliance: ServedAppliance) -> None:
    with phone(browser, served_appliance) as page:
        page.get_by_role("button", name="Louder").tap()
        expect(page.locator("#volume-line")).to_have_value("45")
        page.locator("#volume-line").fill("60")
        served_appliance.wait_until(lambda: served_appliance.player.now.volume == 60)
        expect(page.locator("#volume-line")).to_have_value("60")
        served_appliance.player.loudest = 60  # nothing changes now, so there is no event
        page.locator("#volume-line").fill("99")
        expect(page.locator("#volume-text")).to_have_text("60")
        expect(page.locator("#volume-line")).to_have_value("60")


def test_a_station_starts_with_one_tap(browser: Browser, served_appliance: ServedAppliance) -> None:
    with phone(browser, served_appliance) as page:
        page.get_by_role("button", name="R&B <1>").tap()
        expect(page.get_by_role("button", name="R&B <1>")).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#title")).to_have_text("R&B <1>")
        expect(page.locator("#seek")).to_be_hidden()  # a stream has no end to seek to


def test_a_long_list_of_stations_is_folded(browser: Browser, served_appliance: ServedAppliance) -> None:
    with phone(browser, served_appliance) as page:
        last = page.get_by_role("button", name="Station 7")
        expect(last).to_be_hidden()
        page.get_by_text("4 more").tap()
        last.tap()
        expect(page.locator("#title")).to_have_text("Station 7")


def test_run_now_shows_the_run_until_it_has_ended(browser: Browser, served_appliance: ServedAppliance) -> None:
    with phone(browser, served_appliance, path="/jobs") as page:
        card = page.locator("#job-hello")
        card.get_by_role("button", name="Run now").tap()
        expect(card.locator(".how")).to_have_text("succeeded", timeout=20_000)
        expect(card.locator(".strip .succeeded")).to_have_count(1)
        expect(card.get_by_role("button", name="Run now")).to_be_enabled()


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[ServedAppliance]:
    """Serve a page with paused, dependent and slow jobs."""
    daily = "    schedule: 0 6 * * *\n    chance: 1/4\n    jitter: 20m\n"
    slow = job("slow", "import time; time.sleep(60)", "    schedule: {every: 15m}\n")
    with serving(
        configuration(tmp_path, jobs=job("daily", "", daily) + slow + job("copy", "", "    depends-on: [slow]\n"))
    ) as result:
        record(result, "daily", Outcome.FAILED, "could not " + "w" * 90)
        result.daemon.scheduler.clock_state, result.daemon.scheduler.clock_wait = ClockState.UNTRUSTED, 300.0
        appliance = result.daemon.appliance
        every, zone = appliance.job("slow").schedule, appliance.config.zone_of(appliance.job("slow"))
        assert every
        appliance.store.slots.start_cursor("slow", dump_schedule(every, zone), since=clock.now() - timedelta(hours=9))
        yield result


def test_pause_and_resume_appear_by_their_event(browser: Browser, jobs: ServedAppliance) -> None:
    with phone(browser, jobs, path="/jobs") as page:
        card = page.locator("#job-daily")
        card.get_by_role("button", name="Pause").tap()
        expect(card.locator(".next")).to_contain_text("Paused since today")
        card.get_by_role("button", name="Resume").tap()
        expect(card.locator(".next")).to_contain_text("Next")
        jobs.call_in_loop(lambda: jobs.daemon.appliance.pause("daily", now=clock.now()))  # as another phone does
        expect(card.get_by_role("button", name="Resume")).to_be_visible()


def test_the_job_page_pauses_the_job_for_a_duration(browser: Browser, jobs: ServedAppliance) -> None:
    with phone(browser, jobs, path="/jobs") as page:
        page.goto(f"{jobs.origin}/jobs/daily")
        page.get_by_label("For how long").select_option("for a day")
        page.locator("main").get_by_role("button", name="Pause").tap()
        expect(page.locator(".next")).to_contain_text("until tomorrow")
        expect(page).to_have_url(f"{jobs.origin}/jobs/daily")
        jobs.call_in_loop(lambda: jobs.daemon.appliance.resume("daily", now=clock.now()))
        expect(
            page.locator("main").get_by_role("button", name="Pause")
        ).to_be_visible()  # it was reloaded automatically


@pytest.mark.slow_variants
@pytest.mark.parametrize("path", ["/jobs", "/jobs/slow"])
def test_cancel_asks_first_and_ends_the_run(browser: Browser, jobs: ServedAppliance, path: str) -> None:
    with phone(browser, jobs, path="/jobs") as page:
        page.add_init_script(ANSWER)
        page.reload()
        place = page.locator("#job-slow")
        place.get_by_role("button", name="Run now").tap()
        expect(place.get_by_role("button", name="Cancel")).to_be_visible()
        if path != "/jobs":
            page.goto(jobs.origin + path)
            place = page.locator("[data-watch]")
        jobs.wait_until(lambda: jobs.request("/api/v1/jobs").json[1]["last"]["status_text"])
        place.get_by_role("button", name="Cancel").tap()
        assert page.evaluate(CONFIRMATION) == ["End this run of slow?"]
        assert jobs.request("/api/v1/jobs").json[1]["running"]
        place.get_by_role("button", name="Cancel").tap()
        expect(page.locator(".how.stopped").first).to_be_visible(timeout=15_000)
        expect(place.get_by_role("button", name="Run now")).to_be_enabled()


def test_the_banner_follows_the_clock_and_the_jobs(browser: Browser, jobs: ServedAppliance) -> None:
    scheduler = jobs.daemon.scheduler
    with phone(browser, jobs, path="/jobs") as page:
        waiting, stepped = page.get_by_text("The clock is not set yet"), page.locator("#stepped")
        expect(waiting).to_be_visible()
        expect(page.locator(".failing")).to_contain_text("daily")
        scheduler.clock_state, scheduler.clock_wait = ClockState.TRUSTED, 0.0
        expect(waiting).to_be_hidden()
        expect(stepped).to_be_hidden()
        scheduler.steps, scheduler.last_step = 1, "the clock was put forward by 2h"
        expect(stepped).to_have_text("While this page was open, the clock was put forward by 2h.")
        record(jobs, "daily", Outcome.SUCCEEDED, "")
        expect(page.locator(".failing")).to_have_count(0)
        page.reload()
        expect(page.locator("#job-daily")).to_be_visible()
        expect(stepped).to_be_hidden()


@pytest.mark.slow
def test_without_scripts_a_job_is_paused_resumed_and_cancelled(browser: Browser, jobs: ServedAppliance) -> None:
    with phone(browser, jobs, script=False, path="/jobs") as page:
        card = page.locator("#job-slow")
        card.get_by_role("button", name="Pause").tap()
        expect(card.locator(".next")).to_contain_text("Paused since")
        card.get_by_role("button", name="Resume").tap()
        expect(card.locator(".next")).to_contain_text("Next")
        card.get_by_role("button", name="Run now").tap()
        page.wait_for_url("**started=slow**")
        jobs.wait_until(lambda: (jobs.request("/api/v1/jobs").json[1]["last"] or {}).get("status_text"))
        page.goto(f"{jobs.origin}/jobs")
        card.get_by_role("button", name="Cancel").tap()
        page.wait_for_load_state()
        jobs.wait_until(lambda: jobs.request("/api/v1/jobs").json[1]["last"]["outcome"] == "stopped")


@pytest.mark.parametrize("width", [320, *(pytest.param(each, marks=pytest.mark.slow) for each in (360, 393))])
def test_jobs_fit_a_phone_and_a_thumb(browser: Browser, jobs: ServedAppliance, width: int) -> None:
    with phone(browser, jobs, script=False, path="/jobs") as page:
        page.set_viewport_size({"width": width, "height": 727})
        for path in ("/jobs", "/jobs/slow", "/jobs/daily", "/jobs/copy"):
            page.goto(jobs.origin + path)
            for summary in page.locator("summary").all():
                summary.tap()
            assert page.evaluate(WIDTHS) == [width, width]
            assert page.evaluate(TOO_SMALL) == []
            inside = "(card) => card.scrollWidth <= card.clientWidth"
            assert all(card.evaluate(inside) for card in page.locator(".card").all()), path


def test_without_a_network_the_page_says_so_and_recovers(browser: Browser, served_appliance: ServedAppliance) -> None:
    with phone(browser, served_appliance, complaints=[]) as page:
        expect(page.locator("#live")).to_be_hidden()
        page.context.set_offline(True)
        expect(page.locator("#live")).to_be_visible()
        page.get_by_role("button", name="Pause").tap()
        expect(page.locator("#notice")).to_have_text("The appliance does not answer. Is this phone in its network?")
        served_appliance.call_in_loop(lambda: served_appliance.player.set_state(volume=7))
        page.context.set_offline(False)
        expect(page.locator("#live")).to_be_hidden()
        expect(page.locator("#notice")).to_be_hidden()
        expect(page.locator("#volume-line")).to_have_value("7")


def test_a_refusal_stays_visible_after_an_event(browser: Browser, served_appliance: ServedAppliance) -> None:
    with phone(browser, served_appliance, complaints=[]) as page:
        page.locator("#transport").evaluate(
            "(form) => form.querySelector('#toggle').setAttribute('formaction', '/player/no')"
        )
        page.get_by_role("button", name="Pause").tap()
        expect(page.locator("#notice")).to_contain_text("There is no such address")
        served_appliance.call_in_loop(lambda: served_appliance.player.set_state(volume=7))
        expect(page.locator("#volume-line")).to_have_value("7")
        expect(page.locator("#notice")).to_be_visible()


def test_the_page_survives_a_restart_of_the_appliance(browser: Browser, tmp_path: Path) -> None:
    with contextlib.ExitStack() as phones:
        with serving(configuration(tmp_path)) as first:
            page = phones.enter_context(phone(browser, first, complaints=[]))
            port = first.service.port
            with first.events() as events:
                events.next_state()
        expect(page.get_by_text("connection lost")).to_be_visible()
        with serving(configuration(tmp_path, web=f"host: 127.0.0.1, port: {port}")) as second:
            expect(page.get_by_text("connection lost")).to_be_hidden(timeout=15_000)
            second.call_in_loop(lambda: second.player.set_state(volume=8))
            expect(page.locator("#volume-line")).to_have_value("8")


@pytest.mark.parametrize("script", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_page_fits_a_phone_and_a_thumb(browser: Browser, served_appliance: ServedAppliance, script: bool) -> None:
    with phone(browser, served_appliance, script=script) as page:
        for path in ("/", "/jobs", "/more", "/jobs/hello", "/runs/1", "/reports"):
            page.goto(served_appliance.origin + path)
            width, window = page.evaluate(WIDTHS)
            assert width <= window == 393
            assert page.evaluate(TOO_SMALL) == []


@pytest.mark.parametrize("width", [320, *(pytest.param(each, marks=pytest.mark.slow) for each in (360, 375, 393))])
def test_stop_is_not_next_to_the_next_button(browser: Browser, served_appliance: ServedAppliance, width: int) -> None:
    with phone(browser, served_appliance) as page:
        page.set_viewport_size({"width": width, "height": 727})
        boxes = [page.get_by_role("button", name=name, exact=True).bounding_box() for name in ("Next", "Stop")]
        assert boxes[0]
        assert boxes[1]
        assert boxes[1]["x"] - boxes[0]["x"] - boxes[0]["width"] >= 16
        assert page.evaluate(WIDTHS)[0] <= width


@pytest.mark.parametrize(("name", "wide"), [("posts.txt", False), ("table.csv", True)])
def test_a_long_text_line_wraps_but_a_table_row_does_not(
    browser: Browser, served_appliance: ServedAppliance, name: str, wide: bool
) -> None:
    report(served_appliance, f"hello/{name}", "a post of many words " * 13 + "w" * 90 + "\n. o o . o o\n")
    with phone(browser, served_appliance) as page:
        page.goto(f"{served_appliance.origin}/reports/hello/{name}")
        shown = page.locator("pre")
        assert shown.evaluate("(pre) => pre.scrollWidth > pre.clientWidth") == wide
        assert shown.inner_text().endswith("\n. o o . o o\n")


@pytest.mark.parametrize("script", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_picture_fills_the_page(browser: Browser, served_appliance: ServedAppliance, script: bool) -> None:
    report(
        served_appliance,
        "hello/board.svg",
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9' width='9' height='9'/>",
    )
    with phone(browser, served_appliance, script=script) as page:
        page.goto(f"{served_appliance.origin}/reports/hello/board.svg")
        picture = page.get_by_role("img", name="Board")
        expect(picture).to_have_js_property("naturalWidth", 9)  # it was signed in
        expect(picture).to_have_js_property("clientWidth", 393 - 2 * 16 - 2 * 18)
        page.get_by_label("Back").tap()
        expect(page).to_have_url(f"{served_appliance.origin}/jobs/hello")


def test_without_scripts_everything_works_by_reloading(browser: Browser, served_appliance: ServedAppliance) -> None:
    with phone(browser, served_appliance, script=False) as page:
        page.get_by_role("button", name="Pause").tap()
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        assert served_appliance.player.now.playback is PlaybackState.PAUSED
        page.locator("#volume-line").fill("15")
        with page.expect_navigation():
            page.get_by_role("button", name="Save").tap()
        assert served_appliance.wait_until(lambda: served_appliance.player.now.volume == 15)
        page.goto(f"{served_appliance.origin}/jobs")
        page.locator("#job-hello").get_by_role("button", name="Run now").tap()
        expect(page.get_by_text("hello was started")).to_be_visible()
        served_appliance.wait_until(lambda: served_appliance.daemon.appliance.store.find_run(2))


def test_the_password_is_asked_once(browser: Browser, tmp_path: Path) -> None:
    config = configuration(tmp_path)
    set_password(config, "open sesame")
    with serving(config) as served_appliance, phone(browser, served_appliance, complaints=[]) as page:
        page.get_by_label("Password").fill("guess")
        page.get_by_role("button", name="Sign in").tap()
        expect(page.get_by_role("alert")).to_contain_text("That is not the password")
        page.get_by_label("Password").fill("open sesame")
        page.get_by_role("button", name="Sign in").tap()
        page.get_by_role("button", name="Pause").tap()
        expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
        page.get_by_role("button", name="Sign out").tap()
        expect(page.get_by_label("Password")).to_be_visible()


def test_a_sign_in_leads_to_the_requested_page(browser: Browser, tmp_path: Path) -> None:
    config = configuration(tmp_path)
    set_password(config, "open sesame")
    with serving(config) as served_appliance, phone(browser, served_appliance, complaints=[]) as page:
        page.goto(f"{served_appliance.origin}/jobs/hello")
        page.get_by_label("Password").fill("open sesame")
        page.get_by_role("button", name="Sign in").tap()
        expect(page).to_have_url(f"{served_appliance.origin}/jobs/hello")
        page.goto(served_appliance.origin)  # loaded, so that its script answers the press
        page.context.clear_cookies()
        # A part of the page may be loaded at this moment, which leads to the sign-in as well.
        with contextlib.suppress(Error):  # it may even do so during the press
            page.evaluate("document.querySelector('[formaction=\"/do/player/next\"]')?.click()")
        expect(page).to_have_url(f"{served_appliance.origin}/sign-in?to=%2F")


@pytest.mark.parametrize("script", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["script", "no script"])
def test_the_owner_settles_a_post_on_a_phone(browser: Browser, tmp_path: Path, script: bool) -> None:
    with (
        serving(settings(tmp_path)) as served_appliance,
        phone(browser, served_appliance, script=script) as page,
    ):
        add_post(served_appliance, "surely " + "w" * 200, PostState.SENT, link="https://x.example/1", cost="0.2")
        add_post(served_appliance, "perhaps", PostState.UNCERTAIN, "no answer came")
        page.add_init_script(ANSWER)
        page.goto(f"{served_appliance.origin}/jobs")
        page.get_by_role("link", name="Only you can tell").tap()
        expect(page).to_have_url(f"{served_appliance.origin}/posts")
        assert page.evaluate(WIDTHS) == [393, 393]
        assert page.evaluate(TOO_SMALL) == []
        page.get_by_role("button", name="It is not there: post it").tap()
        if script:
            assert page.evaluate(CONFIRMATION) == [
                "You have looked at bird, and it is not there? Then it is posted now."
            ]
            assert served_appliance.request("/api/v1/posts").json["counts"] == {"sent": 1, "uncertain": 1}
            page.get_by_role("button", name="It is not there: post it").tap()
        expect(page.locator(".how.waiting")).to_be_visible()
        expect(page.get_by_text("Only you can tell")).to_have_count(0)
        assert served_appliance.request("/api/v1/posts").json["counts"] == {"sent": 1, "waiting": 1}
        page.get_by_role("link", name="sent 1").tap()
        expect(page.locator(".posts li")).to_have_count(1)


def test_posts_are_loaded_again_once_if_a_run_ends_while_the_page_loads(browser: Browser, tmp_path: Path) -> None:
    held, loads = list[Route](), list[str]()
    with (
        serving(settings(tmp_path)) as served_appliance,
        served_appliance.events("/events?page=posts") as events,
        phone(browser, served_appliance, path="/more") as page,
    ):
        record(served_appliance, "hello", Outcome.SUCCEEDED, "good")
        page.route("**/events?*", lambda route: route.continue_() if held else held.append(route))
        page.on("request", lambda request: loads.append(request.url) if request.is_navigation_request() else None)
        page.goto(f"{served_appliance.origin}/posts")
        served_appliance.wait_until(lambda: page.evaluate("1") and held)
        add_post(served_appliance, "in between", PostState.SENT)
        record(served_appliance, "hello", Outcome.SUCCEEDED, "good")
        assert events.wait_for_state(
            lambda state: any(each["last"] and each["last"]["id"] == 2 for each in state["jobs"])
        )
        with page.expect_request("**/events?*"):  # of the page that was loaded again
            held[0].continue_()
        expect(page.get_by_text("in between")).to_be_visible()
        expect(page.locator("#live")).to_be_hidden()
        served_appliance.call_in_loop(lambda: served_appliance.player.set_state(playback=PlaybackState.PAUSED))
        expect(page.locator("#mini-toggle")).to_have_attribute("aria-label", "Play")  # an event is there
        assert len(loads) == 2


def test_the_mini_player_works_on_a_page_without_its_own_script(
    browser: Browser, served_appliance: ServedAppliance
) -> None:
    with phone(browser, served_appliance, path="/more") as page:
        mini = page.get_by_label("What plays")
        mini.get_by_role("button", name="Pause").tap()
        expect(mini.get_by_role("button", name="Play")).to_be_visible()
        assert served_appliance.player.now.playback is PlaybackState.PAUSED
        expect(page.get_by_role("link", name="More", exact=True)).to_have_attribute("aria-current", "page")
