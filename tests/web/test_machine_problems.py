"""The page and /health report when the card is full, the processor too hot or the power too weak."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_appliance.diagnostics.health import find_problems
from pi_appliance.music.player import NO_PLAYER
from pi_appliance.system.clock import ClockState
from pi_appliance.system.machine import Sensors
from tests.installation import Installation
from tests.storage.test_full_disk import fill, free, small_card
from tests.web.served_appliance import ServedAppliance, configuration, serving


@pytest.fixture
def on_small_card(tmp_path: Path) -> Iterator[ServedAppliance]:
    installation = Installation(tmp_path)
    installation.write("hello: {kind: command, with: {run: [echo, hello]}}", "web: {port: 0}")
    with small_card(installation), serving(installation.config) as appliance:
        yield appliance


def test_a_full_card_is_shown_and_refuses_runs(on_small_card: ServedAppliance) -> None:
    state = on_small_card.daemon.appliance.config.state_dir
    assert on_small_card.request("/health").status == 200
    fill(state)
    health = on_small_card.request("/health")
    assert (health.status, health.json["why"]) == (503, "the disk of the state folder is full or cannot be written")
    assert "is full: make room there" in on_small_card.request("/").text
    answer = on_small_card.request("/api/v1/jobs/hello/run", {})
    assert answer.status == 503
    assert "is full: make room there" in answer.json["error"]
    free(state)
    assert on_small_card.request("/health").status == 200
    assert on_small_card.request("/api/v1/jobs/hello/run", {}).status < 300


def test_heat_and_weak_power_are_shown(tmp_path: Path) -> None:
    sensors = tmp_path / "sys"
    for file, content in (
        ("class/thermal/thermal_zone0/temp", "84200"),
        ("class/hwmon/hwmon0/name", "rpi_volt"),
        ("class/hwmon/hwmon0/in0_lcrit_alarm", "1"),
    ):
        path = sensors / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    with serving(configuration(tmp_path)) as appliance:
        problems = list(find_problems(appliance.daemon, Sensors(sys=sensors)))
        assert [each.text for each in problems] == [
            "The processor is at 84 °C and slows down. Give it more air.",
            "The power supply is too weak. Use the one made for this Raspberry Pi, with a short cable.",
        ]
        assert [each.name for each in problems] == ["the processor is too hot", "the power supply is too weak"]
        assert list(find_problems(appliance.daemon, Sensors(sys=tmp_path))) == []


def test_a_clock_that_is_not_set_a_player_away_and_a_wrong_file_are_shown(appliance: ServedAppliance) -> None:
    daemon = appliance.daemon
    daemon.hub.error = NO_PLAYER
    assert appliance.request("/health").json == {"ok": True}, "no player is configured, and none is missed"
    daemon.scheduler.clock_state, daemon.scheduler.clock_wait = ClockState.UNTRUSTED, 90.0
    daemon.hub.error = "MPD at /secret/place is not reached: start it (sudo systemctl start mpd)"
    daemon.config_error = {"in_use_since": None, "problems": []}
    health = appliance.request("/health")
    assert (health.status, health.json) == (
        200,
        {
            "ok": True,
            "degraded": "the configuration file is wrong; the last good one is used; the clock is not set; "
            "the player is not reached",
        },
    )
    page = appliance.request("/jobs").text
    assert "wait for it, at most 2 minutes more. Connect the machine to the internet." in page
    assert "is not reached: start it." in page
    assert "sudo" not in page, "nobody can type a command on a phone"
    assert 'href="/system/power"' in page
    assert 'action="/do/player/reconnect"' in page
    assert "The configuration file is wrong." in page
    assert "The clock is not set yet" in appliance.request("/more").text
