"""The reports of a job by year and month."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.jobs.reports import IndexEntry, list_months, list_years
from pi_appliance.storage.model import Outcome, Run, Trigger

BERLIN = ZoneInfo("Europe/Berlin")


def write_set(folder: Path, name: str, title: str = "") -> str:
    """Write a report set with a page of this title, or without a page."""
    (folder / name).mkdir(parents=True)
    (folder / name / "result.txt").write_text("1 board solved\n", "utf-8")
    if title:
        (folder / name / "result.html").write_text(f"<title>{title}</title>", "utf-8")
    return name


def night(number: int, start: datetime, summary: str = "1 board solved", outcome: Outcome = Outcome.SUCCEEDED) -> Run:
    """Return a run of the slot `start`, which began a little later."""
    return Run(
        id=number,
        job="pegs",
        kind="puzzle",
        trigger=Trigger.DAEMON,
        scheduled_for=start.isoformat(),
        started=start + timedelta(seconds=5),
        ended=start + timedelta(seconds=9),
        outcome=outcome,
        summary=summary,
    )


def utc(*date: int) -> datetime:
    return datetime(*date, tzinfo=UTC)  # type: ignore[arg-type, misc]


def test_a_year_is_shown_by_months_the_newest_first(tmp_path: Path) -> None:
    folder = tmp_path / "pegs"
    names = [
        write_set(folder, f"2027-{month:02}-{day:02}_0330", f"{month}/{day} · pegs")
        for month in (1, 2)
        for day in (1, 28)
    ]
    months = list_months(folder, names, [], 2027, UTC)
    shown = {month.name: [entry.title for entry in month.entries] for month in months}
    assert shown == {"February 2027": ["2/28", "2/1"], "January 2027": ["1/28", "1/1"]}
    assert list(shown) == ["February 2027", "January 2027"]
    assert months[0].entries[0] == IndexEntry(datetime(2027, 2, 28, 3, 30), "2/28", "", "/reports/pegs/2027-02-28_0330")  # noqa: DTZ001


def test_a_report_has_the_result_of_its_run(tmp_path: Path) -> None:
    name = write_set(tmp_path / "pegs", "2027-07-01_0330", "Peg solitaire: cross · pegs")
    (month,) = list_months(tmp_path / "pegs", [name], [night(7, utc(2027, 7, 1, 1, 30))], 2027, BERLIN)
    (entry,) = month.entries
    assert (entry.title, entry.result) == ("Peg solitaire: cross", "1 board solved")


def test_a_run_without_a_kept_report_leads_to_its_output(tmp_path: Path) -> None:
    runs = [
        night(3, utc(2027, 3, 3), "no memory", Outcome.FAILED),
        night(2, utc(2027, 3, 2)),
        night(1, utc(2027, 3, 1)),
    ]
    name = write_set(tmp_path / "pegs", "2027-03-02_0000", "kept")
    (month,) = list_months(tmp_path / "pegs", [name], runs, 2027, UTC)
    assert [(each.title, each.result, each.address) for each in month.entries] == [
        ("", "failed: no memory", "/runs/3"),
        ("kept", "1 board solved", "/reports/pegs/2027-03-02_0000"),
        ("", "1 board solved", "/runs/1"),
    ]


def test_several_reports_of_one_minute_belong_to_the_runs_in_their_order(tmp_path: Path) -> None:
    names = [
        write_set(tmp_path / "pegs", name) for name in ("2027-03-01_0600", "2027-03-01_0600-2", "2027-03-01_0600-10")
    ]
    runs = [night(number, utc(2027, 3, 1, 6), f"run {number}") for number in (3, 2, 1)]
    (month,) = list_months(tmp_path / "pegs", names, runs, 2027, UTC)
    results = {each.address.rpartition("/")[2]: each.result for each in month.entries}
    assert results == {"2027-03-01_0600": "run 1", "2027-03-01_0600-2": "run 2", "2027-03-01_0600-10": "run 3"}


@pytest.mark.parametrize("outcome", [Outcome.SKIPPED, None])
def test_a_run_without_a_night_is_left_out(tmp_path: Path, outcome: Outcome | None) -> None:
    runs = [night(1, utc(2027, 3, 1), outcome=outcome)]  # type: ignore[arg-type]
    assert list_months(tmp_path / "pegs", [], runs, 2027, UTC) == []
    assert list_years([], runs, UTC) == []


def test_the_year_is_that_of_the_time_zone(tmp_path: Path) -> None:
    runs = [night(1, utc(2026, 12, 31, 23, 30))]
    assert list_years(["2025-05-01_0000"], runs, BERLIN) == [2027, 2025]
    (month,) = list_months(tmp_path / "pegs", [], runs, 2027, BERLIN)
    assert month.name == "January 2027"


def test_a_set_without_a_page_is_called_by_its_file(tmp_path: Path) -> None:
    name = write_set(tmp_path / "pegs", "2027-03-01_0600")
    (month,) = list_months(tmp_path / "pegs", [name], [], 2027, UTC)
    assert month.entries[0].title == "Result"
