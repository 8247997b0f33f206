"""The history strip and formatted texts of the page."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.jobs.pages import history_bars, legend_bar, slot_bars
from pi_appliance.storage.model import Outcome, Run, Trigger
from pi_appliance.web import pages

LONDON = ZoneInfo("Europe/London")
NOW = datetime(2026, 3, 27, 12, 0, tzinfo=UTC)  # a Friday, two days before summer time


def run(number: int, outcome: Outcome | None, summary: str = "") -> Run:
    ended = NOW + timedelta(seconds=2) if outcome else None
    return Run(
        id=number, job="j", kind="k",
        trigger=Trigger.MANUAL, scheduled_for=None, started=NOW, ended=ended, outcome=outcome,
        summary=summary, attempts=1,
    )  # fmt: skip


def bars(runs: list[Run]) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(history_bars(runs, LONDON)))  # noqa: S314 - ours


def test_the_newest_run_is_at_the_right() -> None:
    result = bars([run(2, Outcome.FAILED), run(1, Outcome.SUCCEEDED)])
    assert [bar.get("class") for bar in result] == ["none"] * 18 + ["succeeded", "failed"]


def test_at_most_as_many_runs_as_places_are_shown() -> None:
    assert len(bars([run(number, Outcome.SUCCEEDED) for number in range(50)])) == 20


def test_every_outcome_has_its_class_and_success_and_failure_differ_in_shape() -> None:
    result = bars([run(1, outcome) for outcome in (*Outcome, None)])[::-1]
    shown = {bar.get("class"): len(bar.findall("{*}rect")) for bar in result if bar.get("class") != "none"}
    assert set(shown) == {*map(str, Outcome), "running"}
    assert {name for name, parts in shown.items() if parts == 1} == {"succeeded", "skipped", "running", "misfired"}


def test_a_bar_describes_its_run_with_escaped_brackets() -> None:
    (bar,) = [bar for bar in bars([run(1, Outcome.FAILED, "</svg>&")]) if bar.get("class") == "failed"]
    title = bar.findtext("{*}title")
    assert title == "Fri 2026-03-27 12:00: failed in 2.0s: </svg>&"


def test_an_empty_strip_is_mentioned() -> None:
    assert 'aria-label="no runs yet"' in history_bars([], LONDON)


KINDS = ("succeeded", "failed", "skipped", "misfired", "paused", "unknown", "running")


def shape(bar: ElementTree.Element) -> list[tuple[str | None, str | None]]:
    return [(part.get("y"), part.get("height")) for part in bar.findall("{*}rect")]


def test_the_state_of_a_slot_is_shown_by_class_shape_and_title() -> None:
    result = [(what, f"{what} <so>") for what in KINDS]
    drawn = list(ElementTree.fromstring(slot_bars(result, places=9)))  # noqa: S314 - ours
    assert [bar.get("class") for bar in drawn] == ["none", "none", *reversed(KINDS)]
    assert [bar.findtext("{*}title") for bar in drawn[2:]] == [f"{what} <so>" for what in reversed(KINDS)]
    assert len({tuple(shape(bar)) for bar in drawn}) == len(KINDS) + 1  # no two look alike without colour


def test_a_legend_mark_looks_like_its_bar() -> None:
    for what in KINDS:
        (alone,) = ElementTree.fromstring(legend_bar(what))  # noqa: S314 - ours
        (among,) = ElementTree.fromstring(slot_bars([(what, "")], places=1))  # noqa: S314 - ours
        assert (alone.get("class"), shape(alone)) == (among.get("class"), shape(among))


def test_an_empty_slot_strip_is_mentioned() -> None:
    assert 'aria-label="no slots yet"' in slot_bars([])


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 min ago"),
        (timedelta(minutes=59), "59 min ago"),
        (timedelta(hours=1), "1 h ago"),
        (timedelta(hours=47), "47 h ago"),
        (timedelta(hours=48), "2 days ago"),
        (timedelta(days=400), "400 days ago"),
    ],
)
def test_ages_are_formatted(before: timedelta, message: str) -> None:
    assert pages.ago(NOW - before, NOW) == message


@pytest.mark.parametrize(
    ("ahead", "message"),
    [
        (timedelta(hours=1), "today 13:00"),
        (timedelta(hours=12), "tomorrow 00:00"),
        (timedelta(days=2), "Sunday 13:00"),
        (timedelta(days=7), "3 Apr 13:00"),
        (timedelta(days=300), "21 Jan 2027 12:00"),
    ],
)
def test_day_and_time_are_in_the_zone_of_the_owner(ahead: timedelta, message: str) -> None:
    assert pages.day_and_time(NOW + ahead, NOW, LONDON) == message
