"""Our cron entries: time fields as written, commands as a shell parses them."""

import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.config.loader import load_config
from pi_appliance.config.options import Config
from pi_appliance.errors import Refused
from pi_appliance.scheduling.crontab import build_entries, have_same_rules
from pi_appliance.scheduling.schedule import parse_expression

NOW = datetime(2026, 11, 21, tzinfo=UTC)
UTC_ZONE = ZoneInfo("UTC")


def config_of(folder: Path, *schedules: str, zone: str = "UTC", runs_by: str = "cron") -> Config:
    """Return a configuration in `folder` with one job for each of `schedules`."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "appliance.yaml"
    jobs = "".join(
        f"  job-{number}:\n    kind: command\n    schedule: {schedule}\n    started-by: {runs_by}\n"
        f"    with: {{run: [/bin/true]}}\n"
        for number, schedule in enumerate(schedules)
    )
    file.write_text(f"state-dir: state\ntime-zone: {zone}\njobs:\n{jobs}", "utf-8")
    return load_config(file)


def entries(config: Config, user: str | None = None) -> list[str]:
    """Return the entries of `config` on a machine whose zone is UTC."""
    return build_entries(config, ["/opt/app/pi-appliance"], zone=UTC_ZONE, now=NOW, user=user)


def test_an_entry_starts_the_program_with_the_job_and_the_configuration(tmp_path: Path) -> None:
    (entry,) = entries(config_of(tmp_path, '"30 6 * * 1-5"'))
    assert entry == (
        f"30 6 * * 1-5 /opt/app/pi-appliance jobs run job-0 --trigger cron --config {tmp_path}/appliance.yaml"
    )


def test_each_time_of_a_list_gets_an_entry_and_reboot_its_keyword(tmp_path: Path) -> None:
    result = entries(config_of(tmp_path, '["06:00", "18:30"]', '"@reboot"'))
    assert [entry.split(" /opt")[0] for entry in result] == ["0 6 * * *", "30 18 * * *", "@reboot"]


@pytest.mark.parametrize("fields", ["0 0-23 * * *", "0 0 13 * 0-7", "05 08 * * 7", "*/1 * * * *", "0 6 1 jan-mar mon"])
def test_the_time_fields_are_the_text_that_the_daemon_parses(tmp_path: Path, fields: str) -> None:
    (entry,) = entries(config_of(tmp_path, f'"{fields}"'))
    assert entry.startswith(fields + " /opt")


def test_a_system_entry_names_its_user_before_the_command(tmp_path: Path) -> None:
    (entry,) = entries(config_of(tmp_path, '"@daily"'), user="pi-appliance")
    assert entry.startswith("0 0 * * * pi-appliance /opt/app/pi-appliance jobs run")


def test_only_cron_jobs_get_an_entry(tmp_path: Path) -> None:
    assert entries(config_of(tmp_path, '"@daily"', '"@reboot"', runs_by="daemon")) == []


def test_special_characters_in_a_path_reach_the_program(tmp_path: Path) -> None:
    config = config_of(tmp_path / "my config, 100% 'mine' #1 ü", '"@daily"')
    (entry,) = entries(config)
    as_cron_reads = entry.split(" ", 5)[5].replace("\\%", "%")  # cron takes a bare % for the end of the line
    assert entry.count("%") == entry.count("\\%") == 1
    assert shlex.split(as_cron_reads)[-1] == str(config.path)


@pytest.mark.parametrize("folder", ["new\nline", "back\\slash", "bell\a"])
def test_a_path_that_cron_would_change_is_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(Refused, match="rename"):
        entries(config_of(tmp_path / folder, '"@daily"'))


def test_a_command_too_long_for_cron_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="998"):
        entries(config_of(tmp_path.joinpath(*["long" * 50] * 5), '"@daily"'))


def test_a_job_in_another_zone_is_refused_with_both_remedies(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="timedatectl set-timezone Europe/Paris, or write started-by: daemon"):
        entries(config_of(tmp_path, '"@daily"', zone="Europe/Paris"))


def test_a_job_with_its_own_zone_is_compared_by_that(tmp_path: Path) -> None:
    file = config_of(tmp_path, '"@daily"', '"@hourly"').path
    text = file.read_text("utf-8")
    last = text.rindex("    started-by")
    file.write_text(f"{text[:last]}    time-zone: Asia/Tokyo\n{text[last:]}", "utf-8")
    with pytest.raises(Refused, match="but job-1 is to run by Asia/Tokyo"):
        entries(load_config(file))
    file.write_text(
        file.read_text("utf-8").replace("Asia/Tokyo", "Etc/UTC").replace("time-zone: UTC", "time-zone: GMT")
    )
    assert len(entries(load_config(file))) == 2


def test_a_boot_job_is_the_same_in_every_zone(tmp_path: Path) -> None:
    assert len(entries(config_of(tmp_path, '"@reboot"', zone="Europe/Paris"))) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("UTC", "Etc/UTC"), ("GB", "Europe/London"), ("Asia/Calcutta", "Asia/Kolkata")]
)
def test_two_zone_names_with_the_same_rules_are_equal(one: str, other: str) -> None:
    assert have_same_rules(ZoneInfo(one), ZoneInfo(other), NOW)


@pytest.mark.parametrize(("one", "other"), [("UTC", "Europe/London"), ("Europe/Berlin", "Africa/Algiers")])
def test_zones_that_differ_in_summer_only_are_different(one: str, other: str) -> None:
    assert not have_same_rules(ZoneInfo(one), ZoneInfo(other), NOW)


FIELDS = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """Draw five mostly valid fields."""

    def field(low: int, high: int) -> str:
        number = st.integers(low, high).map(str)
        ranges = st.tuples(st.integers(low, high - 1), number).map(
            lambda two: f"{two[0]}-{max(two[0] + 1, int(two[1]))}"
        )
        steps = st.tuples(st.just("*") | ranges, st.integers(1, high).map(str)).map("/".join)
        part = st.just("*") | number | ranges | steps
        return ",".join(draw(st.lists(part, min_size=1, max_size=2)))

    return " ".join(field(low, high) for low, high in FIELDS)


def readable(expression: str) -> bool:
    """Return whether our own parser accepts `expression`."""
    try:
        return bool(parse_expression(expression))
    except ValueError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/usr/bin/crontab").exists(), reason="cron is not installed")
@settings(max_examples=8, deadline=None)
@given(st.lists(expressions().filter(readable), min_size=50, max_size=50))
def test_cron_accepts_every_expression_that_we_accept(accepted: list[str]) -> None:
    table = "".join(f"{expression} true\n" for expression in accepted)
    asked = subprocess.run(["crontab", "-n", "-"], input=table, text=True, capture_output=True, check=False, timeout=60)
    assert asked.returncode == 0, asked.stderr + table
