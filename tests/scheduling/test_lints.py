"""Warnings about valid schedules with a surprising meaning."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pi_appliance.config import loader, warnings
from pi_appliance.scheduling import explanation, schedule

NOW = datetime(2026, 11, 21, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def list_warnings(expression: str, zone: ZoneInfo = BERLIN) -> list[str]:
    """Return every warning about `expression` in `zone` with its advice as one line."""
    read = schedule.parse_expression(expression)
    return ["; ".join(lint) for lint in (*explanation.find_lints(read), *explanation.find_dst_lints(read, zone, NOW))]


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("*/45 * * * *", "*/45 means minute 0 and 45 of each hour, not every 45 minutes"),
        ("*/45 * * * *", "every 45m"),
        ("*/70 * * * *", "*/70 means minute 0 of each hour"),
        ("*/7 * * * *", "minute 0, 7, 14 … 56 of each hour"),
        ("30 */5 * * *", "*/5 means hour 0, 5, 10 … 20 of each day, not every 5 hours"),
        ("0 0 */2 * *", "day 1, 3, 5 … 31 of each month, and then the 1st again"),
        ("0 0 1 */5 *", "*/5 means jan, jun, nov of each year"),
        ("0 0 * * */2", "*/2 means sun, tue, thu, sat of each week"),
        ("0 0 13 * fri", 'either day: day 13 of a month, and each fri; to say so, write ["0 0 13 * *", "0 0 * * fri"]'),
        ("0 0 13 * 0-7", "0-7 is not * to cron, and either day is enough: it runs every day"),
        ("0 0 1-31 * mon", "it runs every day; write * for 1-31"),
        ("0 0 */9 * mon", "*/9 and mon must both fit, for */9 begins with *; if either day is enough, write 1-31/9"),
        ("0 0 1-7 * */3", "1-7 and */3 must both fit, for */3 begins with *; if either day is enough, write 0-6/3"),
        ("0 0 31 * *", "no day 31 in feb, apr, jun, sep, nov"),
        ("0 0 1,30 * *", "no day 30 in feb"),
        ("0 0 30 1-3 *", "no day 30 in feb"),
        ("0 0 29 2 *", "leap years only"),
        ("0 0-23 * * *", "0-23 is not * to cron"),
        ("0-59 12 * * *", "write * to run it at each of these local times: '* 12 * * *'"),
        (
            "30 2 * * *",
            "on Sun 2027-03-28 02:30 does not exist, it runs at 03:00; on Sun 2027-10-31 02:30 occurs twice",
        ),
        ("*/30 2 * * *", "on Sun 2027-03-28 02:00 and 02:30 do not exist, it does not run for them"),
    ],
)
def test_surprising_expressions_are_reported(expression: str, says: str) -> None:
    assert says in "\n".join(list_warnings(expression))


@pytest.mark.parametrize(
    "expression",
    [
        *("* * * * *", "*/5 * * * *", "*/15 * * * *", "0 * * * *", "0 */2 * * *", "0 */6 * * *", "5-59/15 * * * *"),
        *("0 6 * * *", "30 3 * * *", "0 0 * * *", "0 6,18 * * 1-5", "0 9-17 * * mon-fri", "0 0 1 * *", "0 0 1 1 *"),
        *("0 0 1,15 * *", "0 0 28-31 * *", "0 0 31 1,3,5 *", "0 0 1-31 * 0-7", "*/1 * * * *", "0 0 1 */3 *"),
        *("30 2 * * 1-5", "0 12 1 * *"),  # the clock is changed on Sundays
    ],
)
def test_common_expressions_cause_no_warning(expression: str) -> None:
    assert list_warnings(expression) == []


@pytest.mark.parametrize("expression", ["30 2 * * *", "0 0-23 * * *"])
def test_a_zone_without_clock_changes_causes_no_warning(expression: str) -> None:
    assert list_warnings(expression, ZoneInfo("Asia/Tokyo")) == []


def test_one_warning_names_only_the_first_change_of_each_kind() -> None:
    (only,) = list_warnings("30 2 * * *")
    assert "2028" not in only


def test_config_check_places_each_warning_and_uses_the_zone_of_the_job(tmp_path: Path) -> None:
    file = tmp_path / "appliance.yaml"
    file.write_text(
        "state-dir: state\n"
        "time-zone: Asia/Tokyo\n"
        "jobs:\n"
        "  one:\n"
        "    kind: command\n"
        "    schedule: ['06:00', '*/45 * * * *', '0 0 31 * *']\n"
        "    with: {run: [/bin/true]}\n"
        "  two:\n"
        "    kind: command\n"
        "    time-zone: Europe/Berlin\n"
        "    schedule: {times: ['06:00', '02:30'], days: daily}\n"
        "    with: {run: [/bin/true]}\n"
        "  three:\n"
        "    kind: command\n"
        "    schedule: {times: '02:30'}\n"
        "    with: {run: [/bin/true]}\n"
        "  four:\n"
        "    kind: command\n"
        "    schedule: every 45m\n"
        "    with: {run: [/bin/true]}\n"
        "  five: {kind: command, schedule: '@reboot', with: {run: [/bin/true]}}\n"
        "  six: {kind: command, with: {run: [/bin/true]}}\n"
        "  seven: {kind: command, schedule: '*/70 * * * *', with: {run: [/bin/true]}}\n",
        "utf-8",
    )
    result = warnings.config_warnings(loader.read_yaml(file), loader.load_config(file), {}, NOW)
    assert [(each.line, each.column, each.message.split()[0]) for each in result] == [
        (6, 25, "*/45"),
        (6, 41, "there"),
        (11, 33, "in"),
        (23, 36, "*/70"),
    ]
