"""Every page meets WCAG 2.2 AA as far as axe-core can check it, fits a window of 320 pixels, and shows the focus."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page

from pi_appliance import plugins
from pi_appliance.puzzles.puzzle_job import Options, run
from tests.fakes.context import FakeContext
from tests.web.chromium import CHROMIUM
from tests.web.every_page import open_every_page, served_with_everything
from tests.web.served_appliance import ServedAppliance
from tests.web.test_browser import WIDTHS, browser

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not installed: apt-get install chromium")
__all__ = ["browser"]
_RUN_AXE = """async (rules) => {
    const chosen = rules.length ? {type: "rule", values: rules}
        : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const result = await axe.run(document, {iframes: false, resultTypes: ["violations"], runOnly: chosen,
        rules: rules.length ? {} : {"target-size": {enabled: true}}});
    return result.violations.flatMap((rule) => rule.nodes.map((node) =>
        `${rule.id}: ${node.html.slice(0, 200)} (${node.failureSummary.replaceAll("\\n", " ")})`));
}"""
_OPEN_ALL = "document.querySelectorAll('details').forEach((each) => (each.open = true))"
# Elements with the focus that look as before: no outline at the element, its label, or the bar of its player. And
# those that are below the places or the small player.
_HIDDEN_FOCUS = """() => {
    const hasOutline = (each) => {
        const style = getComputedStyle(each);
        return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    };
    const isCovered = (each) => {
        const box = each.getBoundingClientRect();
        const top = document.elementFromPoint(box.left + box.width / 2, box.top + Math.min(box.height / 2, 20));
        return top?.closest(".places, .mini") && !each.closest(".places, .mini");
    };
    const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
    return all.filter((each) => each.checkVisibility({visibilityProperty: true}) && !each.disabled).flatMap((each) => {
        each.focus();
        if (document.activeElement !== each) return [];
        const near = [each, each.closest("label"), ...each.parentElement.querySelectorAll(":scope.player .bar")];
        if (!near.some((other) => other && hasOutline(other))) return [`no focus: ${each.outerHTML.slice(0, 200)}`];
        return isCovered(each) ? [`covered: ${each.outerHTML.slice(0, 200)}`] : [];
    });
}"""


# Links and buttons within a line of text, without a space before them.
_GLUED = r"""() => [...document.querySelectorAll("main a, main button")].filter((each) => {
    const before = each.previousSibling;
    return before?.nodeType === Node.TEXT_NODE && getComputedStyle(each).display.startsWith("inline")
        && /[^\s(“"]$/.test(before.textContent) && !getComputedStyle(each.parentElement).display.includes("flex");
}).map((each) => `no space before ${each.outerHTML.slice(0, 200)}`)"""


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAppliance]:
    with served_with_everything(tmp_path_factory.mktemp("everything")) as result:
        yield result


def violations(page: Page, *rules: str) -> list[str]:
    """Return the violations in the open page of `rules`, or of WCAG 2.2 AA."""
    page.evaluate(AXE_SCRIPT)
    result: list[str] = page.evaluate(_RUN_AXE, rules)
    return result


def faults(page: Page, width: int) -> list[str]:
    """Return all faults of the open page, also in its folds, light and dark."""
    page.evaluate(_OPEN_ALL)
    shown, window = page.evaluate(WIDTHS)
    assert window == width
    result = [f"{shown} pixels wide"] if shown > window else []
    result += page.evaluate(_GLUED)
    result += violations(page)
    page.emulate_media(color_scheme="dark")
    result += [f"dark: {each}" for each in violations(page, "color-contrast")]
    page.emulate_media(color_scheme="light")
    page.keyboard.press("Tab")
    result += page.evaluate(_HIDDEN_FOCUS)
    return result


def test_the_first_pages_are_accessible(browser: Browser, appliance: ServedAppliance) -> None:
    context = browser.new_context(
        viewport={"width": 320, "height": 844}, color_scheme="light", reduced_motion="reduce", bypass_csp=True
    )
    page = context.new_page()
    name, _, token = appliance.cookie.partition("=")
    context.add_cookies([{"name": name, "value": token, "url": appliance.origin}])
    violations = {}
    for path in ("/", "/music/alarms", "/jobs", "/more"):
        page.goto(appliance.origin + path)
        violations[path] = faults(page, 320)
    context.close()
    assert not any(violations.values()), violations


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 390, 1280, 1920])
def test_every_page_is_accessible(browser: Browser, appliance: ServedAppliance, width: int) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 844}, color_scheme="light", reduced_motion="reduce", bypass_csp=True
    )
    page = context.new_page()
    result = {path: violations for path in open_every_page(page, appliance) if (violations := faults(page, width))}
    context.close()
    assert not result, "\n".join(f"{path}: {each}" for path, violations in result.items() for each in violations)


@pytest.mark.slow
def test_every_page_fits_a_phone_with_large_text(browser: Browser, appliance: ServedAppliance) -> None:
    page = browser.new_context(viewport={"width": 390, "height": 844}, bypass_csp=True).new_page()
    too_wide = {}
    for path in open_every_page(page, appliance):
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        widths = [page.evaluate(WIDTHS)[0]]
        page.evaluate(_OPEN_ALL)
        widths.append(page.evaluate(WIDTHS)[0])
        if max(widths) > 390:
            too_wide[path] = widths
    page.context.close()
    assert not too_wide


@pytest.mark.slow
@pytest.mark.parametrize("name", plugins.names("puzzles"))
def test_the_report_of_each_puzzle_is_accessible(browser: Browser, tmp_path: Path, name: str) -> None:
    board = Path(next(iter(plugins.load("puzzles", name).BOARDS)))
    run(Options(puzzle=name, boards=[board]), FakeContext(tmp_path, job=name))
    context = browser.new_context(viewport={"width": 320, "height": 844}, reduced_motion="reduce")
    page = context.new_page()
    page.goto((tmp_path / "result.html").as_uri())
    violations = faults(page, 320)
    context.close()
    assert not violations, "\n".join(violations)
