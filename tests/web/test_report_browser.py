"""A puzzle report in a real browser of a phone's size: it plays and can be stepped through."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, expect

from pi_appliance.puzzles.puzzle_job import Options, run
from tests.fakes.context import FakeContext
from tests.web.chromium import CHROMIUM
from tests.web.served_appliance import ServedAppliance, configuration, job, serving
from tests.web.test_browser import TOO_SMALL, WIDTHS, browser, phone

pytestmark = [
    pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium"),
    pytest.mark.slow,
]
__all__ = ["browser"]  # the fixture
VISIBLE_FRAMES = (
    "(frames) => frames.map((each, number) => getComputedStyle(each).visibility == 'visible' ? number : -1)"
)


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    """Serve a page with a puzzle report."""
    with serving(configuration(tmp_path, jobs=job("pegs", ""))) as result:
        options = Options(puzzle="peg-solitaire", boards=[Path("cross"), Path("full"), Path("diamond")])
        run(options, FakeContext(result.daemon.appliance.config.reports / "pegs", job="pegs"))
        yield result


def visible_frames(page: FrameLocator) -> list[int]:
    """Return the visible frames of the first player."""
    result = page.locator("#s0 .frame").evaluate_all(VISIBLE_FRAMES)
    return [number for number in result if number >= 0]


@pytest.mark.parametrize("script", [True, False])
def test_a_solution_is_animated_and_stepped_through_by_hand(
    browser: Browser, appliance: ServedAppliance, script: bool
) -> None:
    complaints: list[str] = []
    with phone(browser, appliance, script=script, complaints=complaints) as page:
        page.goto(f"{appliance.origin}/reports/pegs/result.html")
        inside = page.frame_locator("iframe.framed")
        expect(inside.get_by_role("heading", name="cross", exact=True)).to_be_visible()
        begun = visible_frames(inside)
        appliance.wait_until(lambda: visible_frames(inside) not in ([], begun))
        inside.locator("#s0 summary").first.click()
        inside.locator("#s0 .all label").nth(2).click()
        assert visible_frames(inside) == [2]
        inside.locator("#s0 .frame").nth(2).get_by_title("Next step").click()
        assert visible_frames(inside) == [3]
        inside.locator("#s0 .frame").nth(3).get_by_title("Previous step").click()
        assert visible_frames(inside) == [2]
        inside.locator("#s0 .frame").nth(2).get_by_text("Play").click()
        appliance.wait_until(lambda: visible_frames(inside) not in ([], [2]))
        page.get_by_label("Back").tap()
        expect(page).to_have_url(f"{appliance.origin}/jobs/pegs")
    assert not [each for each in complaints if "script" not in each.lower()], complaints


@pytest.mark.parametrize("width", [320, 393])
def test_reports_and_their_list_fit_a_phone_and_a_thumb(
    browser: Browser, appliance: ServedAppliance, width: int
) -> None:
    with phone(browser, appliance, script=False) as page:
        page.set_viewport_size({"width": width, "height": 727})
        for path in ("/reports/pegs/result.html?raw=1", "/jobs/pegs", "/reports/pegs/2027-03-01_0600"):
            page.goto(appliance.origin + path)
            for summary in page.locator("summary").all():
                summary.tap()
            assert page.evaluate(WIDTHS) == [width, width], path
            if "raw" not in path:
                assert page.evaluate(TOO_SMALL) == [], path
