"""The puzzle of the day in a real browser: solved with the keyboard, with hints, and printed on one page."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from pi_appliance.puzzles.daily import DailyPuzzle, read_daily
from pi_appliance.puzzles.puzzle_job import Options, run
from tests.fakes.context import FakeContext
from tests.web.chromium import CHROMIUM
from tests.web.served_appliance import ServedAppliance, configuration, serving
from tests.web.test_browser import WIDTHS, browser, phone

pytestmark = [
    pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium"),
    pytest.mark.slow,
]
__all__ = ["browser"]  # the fixture
JOBS = """\
  numbers: {kind: puzzle, with: {puzzle: sudoku}}
  pegs: {kind: puzzle, with: {puzzle: peg-solitaire}}
  sea: {kind: puzzle, with: {puzzle: bimaru}}
"""

_COLOURS = "(each) => [getComputedStyle(each).backgroundColor, getComputedStyle(each).color]"


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    with serving(configuration(tmp_path, jobs=JOBS)) as result:
        reports = result.daemon.appliance.config.reports
        boards = ("numbers", "sudoku", "sample"), ("pegs", "peg-solitaire", "cross"), ("sea", "bimaru", "small")
        for job, puzzle, board in boards:
            run(Options(puzzle=puzzle, boards=[Path(board)]), FakeContext(reports / job, job=job))
        yield result


def daily(appliance: ServedAppliance, job: str = "numbers") -> DailyPuzzle:
    daily_puzzle = read_daily(appliance.daemon.appliance.config.reports / job / "result.json")
    assert daily_puzzle
    return daily_puzzle


def empty_cells(page: Page) -> list[int]:
    names = page.locator(".grid input").evaluate_all("(inputs) => inputs.map((each) => each.name)")
    return [int(name.removeprefix("cell-")) for name in names]


@pytest.mark.parametrize("script", [True, False])
def test_a_sudoku_is_solved_on_the_phone(browser: Browser, appliance: ServedAppliance, script: bool) -> None:
    daily_puzzle = daily(appliance)
    assert daily_puzzle.grid
    with phone(browser, appliance, script=script) as page:
        page.goto(f"{appliance.origin}/puzzles/today/sudoku")
        shown, window = page.evaluate(WIDTHS) if script else (0, 0)
        assert shown <= window
        first, *others = empty_cells(page)
        wrong = "1" if daily_puzzle.grid.solution[first] != "1" else "2"
        page.locator(f"[name=cell-{first}]").fill(wrong)
        hint = page.get_by_role("button", name="Hint")
        place = hint.evaluate("(each) => each.offsetTop")
        hint.tap()
        expect(page.locator("#said")).to_have_text(re.compile(f"^The {wrong} in row 1, column"))
        assert hint.evaluate("(each) => each.offsetTop") == place, "a second press meets the same button"
        expect(page.locator(f"[name=cell-{first}]")).to_have_attribute("aria-invalid", "true")
        page.locator(f"[name=cell-{first}]").fill("")
        page.get_by_role("button", name="Hint").tap()
        expect(page.locator("#said")).to_have_text(daily_puzzle.hints[0].text)
        for cell in (first, *others):
            page.locator(f"[name=cell-{cell}]").fill(daily_puzzle.grid.solution[cell])
        if not script:
            page.get_by_role("button", name="Check").tap()
        expect(page.locator("#said")).to_have_text("Solved. Well done!")


def test_the_arrow_keys_move_over_the_clues(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance) as page:
        page.goto(f"{appliance.origin}/puzzles/today/sudoku")
        page.locator("[name=cell-1]").focus()  # the third cell of the first row is a clue
        page.keyboard.press("ArrowRight")
        expect(page.locator("[name=cell-3]")).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(page.locator("[name=cell-12]")).to_be_focused()
        page.keyboard.press("x")
        expect(page.locator("[name=cell-12]")).to_have_value("")
        page.keyboard.press("7")
        expect(page.locator("[name=cell-12]")).to_have_value("7")


def test_what_was_typed_stays_until_the_next_board(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance) as page:
        page.goto(f"{appliance.origin}/puzzles/today/sudoku")
        page.locator("[name=cell-0]").fill("5")
        page.reload()
        expect(page.locator("[name=cell-0]")).to_have_value("5")
        reports = appliance.daemon.appliance.config.reports
        tomorrow = FakeContext(reports / "numbers", job="numbers", now=datetime(2027, 3, 2, 6, tzinfo=UTC))
        run(Options(puzzle="sudoku", boards=[Path("sample")]), tomorrow)
        page.reload()
        expect(page.locator("[name=cell-0]")).to_have_value("")


def test_hints_of_pegs_come_one_by_one(browser: Browser, appliance: ServedAppliance) -> None:
    with phone(browser, appliance) as page:
        page.goto(f"{appliance.origin}/puzzles/today/peg-solitaire")
        assert page.locator("img.board").evaluate("(image) => image.complete && image.naturalWidth > 0")
        for number in (1, 2):
            page.get_by_role("button", name="Hint").tap()
            expect(page.locator(".hints li")).to_have_count(number)


@pytest.mark.parametrize("puzzle", ["sudoku", "peg-solitaire"])
def test_it_is_printed_on_one_page_without_navigation(
    browser: Browser, appliance: ServedAppliance, puzzle: str
) -> None:
    with phone(browser, appliance) as page:
        page.goto(f"{appliance.origin}/puzzles/today/{puzzle}")
        page.emulate_media(media="print", color_scheme="dark")
        for gone in (".places", ".actions", "footer", ".chips", ".mini"):
            assert not page.locator(gone).first.is_visible(), gone
        assert page.locator(".grid" if puzzle == "sudoku" else "img.board").is_visible()
        colours = page.locator("body").evaluate(_COLOURS)
        assert colours == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) == 1


@pytest.mark.parametrize("script", [True, False])
def test_a_bimaru_is_solved_on_the_phone(browser: Browser, appliance: ServedAppliance, script: bool) -> None:
    daily_puzzle = daily(appliance, "sea")
    assert daily_puzzle.grid
    with phone(browser, appliance, script=script) as page:
        page.goto(f"{appliance.origin}/puzzles/today/bimaru")
        if script:
            shown, window = page.evaluate(WIDTHS)
            assert shown <= window
        first, *others = [cell for cell in empty_cells(page) if daily_puzzle.grid.solution[cell] == "X"]
        for cell in (first, *others):
            square = page.locator(f"[name=cell-{cell}]")
            if script:
                square.tap()
                expect(square).to_have_value("~")
                square.press("Space")
                expect(square).to_have_value("X")
            else:
                square.fill("x")
        page.get_by_role("button", name="Check").tap()
        expect(page.locator("#said")).to_have_text("Solved. Well done!")
        if script:
            page.reload()
            expect(page.locator(f"[name=cell-{first}]")).to_have_value("X")
            page.locator(f"[name=cell-{first}]").tap()
            expect(page.locator(f"[name=cell-{first}]")).to_have_value("")
