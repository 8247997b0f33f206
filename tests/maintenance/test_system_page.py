"""The system page, the doctor on it, and the log."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pi_appliance.diagnostics.context import DiagnosticContext
from pi_appliance.diagnostics.machine_facts import read_facts
from pi_appliance.maintenance.releases import Installation as Releases
from pi_appliance.maintenance.update_check import UpdateChecker, UpdatePlaces
from pi_appliance.scheduling.daemon_interface import LogEntry
from pi_appliance.system.clock import ClockState
from pi_appliance.system.systemd import PowerAction
from tests.fakes.release_server import release_server
from tests.installation import Installation
from tests.web.served_appliance import ServedAppliance, configuration, serving

SENSORS = {
    "sys/class/thermal/thermal_zone0/temp": "84200",
    "sys/class/hwmon/hwmon0/name": "rpi_volt",
    "sys/class/hwmon/hwmon0/in0_lcrit_alarm": "1",
    "sys/block/mmcblk0/device/life_time": "0x09 0x02",
    "proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/mmcblk0p2 rw",
    "proc/meminfo": "MemTotal: 1000000 kB\nMemAvailable: 50000 kB",
    "proc/loadavg": "0.10 999.00 0.30 1/100 4000",
    "proc/uptime": "266400.12 1000.0",
}


def test_each_fact_says_whether_it_is_fine(tmp_path: Path) -> None:
    for name, content in SENSORS.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    context = DiagnosticContext(path=None, config=None, error=None, environment={"PATH": ""}, root=tmp_path)
    facts = {each.check: each for each in read_facts(context)}
    assert [facts[name].status for name in ("temperature", "power", "card", "memory", "load", "uptime")] == [
        *("warn", "fail", "warn", "warn", "warn", "ok"),
    ]
    assert facts["memory"].summary == "51.2MB of 1GB available"
    assert facts["card"].summary == "mmcblk0: 90 % of its life is used"
    assert facts["uptime"].summary == "3 days"
    assert all(each.fix for each in facts.values() if each.status in ("warn", "fail"))
    assert facts["MPD"].summary == "not installed"


def test_the_page_shows_the_machine_and_an_unset_clock(appliance: ServedAppliance) -> None:
    assert 'href="/system"' in appliance.request("/more").text
    page = appliance.request("/system").text
    for subject in ("Memory", "Space", "Temperature", "Clock", "Network", "Uptime", "Appliance"):
        assert f'<span class="name">{subject}</span>' in page
    for subject in ("pi-appliance", "Python", "kernel", "MPD"):
        assert f"<dt>{subject}</dt>" in page
    assert "not set yet" not in page
    appliance.daemon.scheduler.clock_state = ClockState.UNTRUSTED
    assert "not set yet; jobs at a time of day wait for it" in appliance.request("/system").text
    assert {"memory", "clock"} <= {each["check"] for each in appliance.request("/api/v1/system").json}


def test_the_doctor_shows_failures_first_each_with_what_to_do(tmp_path: Path) -> None:
    """Without scripts: the form of the page leads to it with all results."""
    installation = Installation(tmp_path)
    installation.write("broken: {kind: command, with: {run: ['false']}}", "web: {port: 0}")
    installation.run("jobs", "run", "broken")
    with serving(installation.config) as appliance:
        for path in ("/system?doctor=1", "/parts/doctor"):
            page = appliance.request(path).text
            page = page[page.index('id="doctor"') if "?" in path else 0 :]
            job, rest = page.index("Job broken"), page.index('<details class="card rest"')
            assert job < rest < page.index(">Configuration<")
            assert '<a href="/jobs/broken">Show the job</a>' in page[job:rest]
            assert "jobs log 1" in page[job:rest]


def test_the_player_is_connected_again_on_request(appliance: ServedAppliance) -> None:
    assert appliance.request("/do/player/reconnect", "").status == 303
    assert appliance.daemon.hub.reconnects == 1


@pytest.fixture
def with_log(tmp_path: Path):
    with serving(configuration(tmp_path)) as appliance:
        start = datetime(2026, 5, 1, tzinfo=UTC)
        appliance.daemon.messages = [
            LogEntry(start + timedelta(minutes=number), f"message {number}.", is_problem=number % 50 == 7)
            for number in range(250)
        ]
        yield appliance


def test_the_log_has_pages_the_newest_first_and_a_filter(with_log: ServedAppliance) -> None:
    first = with_log.request("/system/log").text
    assert first.index("message 249.") < first.index("message 150.")
    assert "message 149." not in first
    assert "message 149." in with_log.request("/system/log?start=100").text
    problems = with_log.request("/system/log?problems").text
    assert problems.count("message ") == 5
    assert problems.index("message 207.") < problems.index("message 7.")
    assert "5 problems" in with_log.request("/system").text
    assert [each["message"] for each in with_log.request("/api/v1/logs?problems=true&lines=1").json] == ["message 207."]


def test_restart_reboot_and_shutdown_are_asked_twice_and_then_requested(appliance: ServedAppliance) -> None:
    page = appliance.request("/system/power").text
    assert page.count("<details") == page.count('method="post" action="/system/power"') == 3
    assert "No job is running." in page
    assert appliance.daemon.power.requests == [], "to look changes nothing"
    answer = appliance.request("/system/power", "request=restart")
    assert answer.status == 200
    assert 'data-started="2026-05-01T00:00:00' in answer.text
    assert "has not answered for 60 seconds" in answer.text
    appliance.wait_until(lambda: appliance.daemon.restarts == 1)
    assert "Restarts" not in appliance.request("/system/power", "request=shutdown").text
    assert appliance.request("/api/v1/system/reboot", {}).json["request"] == "reboot"
    assert appliance.daemon.power.requests == [PowerAction.SHUTDOWN, PowerAction.REBOOT]
    assert appliance.request("/system/power", "request=explode").status == 400


def test_without_the_right_the_page_names_the_command(appliance: ServedAppliance) -> None:
    appliance.daemon.power.obstacle = "no right; type on the machine: sudo reboot"
    page = appliance.request("/system/power").text
    assert page.count("type on the machine: sudo reboot") == 2
    assert page.count("<details") == 1
    answer = appliance.request("/system/power", "request=reboot")
    assert answer.status == 409
    assert "type on the machine" in answer.text
    assert appliance.daemon.power.requests == []


def test_a_clone_says_how_it_is_updated(appliance: ServedAppliance) -> None:
    assert 'href="/system/update"' in appliance.request("/system").text
    assert "git pull" in appliance.request("/system/update").text
    assert appliance.request("/api/v1/system/update").json["newest"] is None


def test_the_owner_sees_what_is_new_and_installs_it(tmp_path: Path) -> None:
    with release_server("0.2.0", b"an archive") as releases, serving(configuration(tmp_path)) as appliance:
        home = tmp_path / "opt"
        home.mkdir()
        source = tmp_path / "update.conf"
        source.write_text(f"address={releases.address}/releases\n")
        source.chmod(0o644)
        places = UpdatePlaces(Releases(home), source, tmp_path / "request", home / "releases/0.1.0-here")
        daemon = appliance.daemon
        daemon.update_checker = UpdateChecker(lambda: daemon.appliance.config, lambda: datetime.now(UTC), places)
        assert appliance.request("/do/system/update/check", "return_to=/system/update").status == 303
        page = appliance.request("/system/update").text
        assert "0.2.0 is available" in page
        assert "Alarms fade in." in page
        assert "Version 0.2.0 is available" in appliance.request("/").text
        appliance.request("/do/system/update", "return_to=/system/update")
        assert places.request_file.exists()
        assert "Updating to 0.2.0" in appliance.request("/system/update").text
        assert "data-running" in appliance.request("/parts/update").text
        progress = {"state": "failed", "version": "0.2.0", "steps": ["unpacking"], "message": "the card is full"}
        places.installation.progress_file.write_text(json.dumps(progress))
        page = appliance.request("/system/update").text
        assert "The update to 0.2.0 did not end well: the card is full." in page
        assert "data-running" not in page
