"""The service of alarms, the sleep timer and announcements."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pi_appliance.config import loader
from pi_appliance.config.units import Names
from pi_appliance.errors import InvalidOption, Refused, UnknownName
from pi_appliance.jobs.run_options import request_run
from pi_appliance.music.alarms import alarm_control
from pi_appliance.music.alarms.music_job import Action, Options
from pi_appliance.music.alarms.music_session import Checkpoint, Phase, dump
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage.run_requests import RunRequest
from pi_appliance.system import clock
from pi_appliance.system.clock import Timestamp
from tests.installation import Installation

JOBS = """
wake:
  kind: music
  schedule: {times: ["06:45"], days: [mon-fri]}
  time-zone: Europe/Berlin
  with: {action: alarm, play: [fip, "album:Blue"], volume: 35}
sleep: {kind: music, with: {action: sleep, at: "23:30"}}
night: {kind: music, schedule: "30 22 * * *", with: {action: sleep, in: 1h}}
announce: {kind: music, with: {action: announce}}
other: {kind: command, with: {run: ['true']}}
"""
FRIDAY = datetime(2027, 3, 26, 12, tzinfo=UTC)  # the clocks move forward on Sunday
MONDAY = datetime(2027, 3, 29, 4, 45, tzinfo=UTC)


@pytest.fixture
def home(installation: Installation) -> Iterator[Appliance]:
    installation.write(JOBS)
    with Appliance.open(installation.config) as appliance:
        yield appliance


def the(home: Appliance, now: datetime = FRIDAY) -> alarm_control.Alarm:
    (result,) = alarm_control.alarms(home, now)
    return result


def rings(home: Appliance, phase: Phase, ago: timedelta = timedelta(0), seconds: float = 300.0, **more: Any) -> None:
    """Put the alarm, or the job `otherwise`, into `phase`."""
    machine = clock.SystemClock()
    since = Timestamp(clock.now() - ago, machine.monotonic() - ago.total_seconds(), clock.boot_id())
    session = Checkpoint(phase=phase, phase_started=since, session_started=since, seconds=seconds, **more)
    job = "sleep" if phase in (Phase.WAITING, Phase.FADING_OUT) and not more.get("snoozes") else "wake"
    options = Options(action=Action.SLEEP) if job == "sleep" else Options(action=Action.ALARM, play=Names(["fip"]))
    home.store.requests.save_checkpoint(job, dump(options, session), now=clock.now())


def announce(home: Appliance, **sound: Any) -> RunRequest:
    job, arguments = alarm_control.announcement_arguments(home, **sound)
    return request_run(home, job, FRIDAY, arguments, now=FRIDAY)


def test_a_stuck_button_requests_at_most_twenty_runs(home):
    for _ in range(20):
        announce(home, text="dinner")
    with pytest.raises(Refused, match="20 runs of announce are requested already"):
        announce(home, text="dinner")
    assert len(home.store.requests.pending("announce")) == 20


def test_an_alarm_lists_its_time_and_sources(home):
    alarm = the(home)
    assert (alarm.job, alarm.next_ring, alarm.next) == ("wake", MONDAY, MONDAY)
    assert alarm.description == "fip, else album Blue; up to volume 35 in 5m"
    assert (alarm.session, alarm.skipped, alarm.pause, alarm.settings.one_shot) == (None, None, None, False)


def test_a_skipped_alarm_rings_the_next_day(home):
    assert alarm_control.skip(home, "wake", now=FRIDAY) == MONDAY
    assert (the(home).skipped, the(home).next_ring) == (MONDAY, MONDAY + timedelta(days=1))
    assert alarm_control.alarm_values(the(home))["skipped"] == "2027-03-29T04:45:00Z"
    assert alarm_control.unskip(home, "wake", now=FRIDAY) == MONDAY
    assert the(home).next_ring == MONDAY


def test_a_paused_alarm_does_not_ring_until_the_pause_ends(home):
    home.pause("wake", now=FRIDAY)
    assert (the(home).next_ring, the(home).next, the(home).pause is not None) == (None, None, True)
    home.pause("wake", now=FRIDAY, until=MONDAY + timedelta(hours=1))
    assert the(home).next_ring == MONDAY + timedelta(days=1)


@pytest.mark.parametrize(
    ("now", "due"),
    [
        # 2:30 does not exist: the time of the change. 2:30 exists twice: the first time.
        (datetime(2027, 3, 28, 0, 0, tzinfo=UTC), datetime(2027, 3, 28, 1, 0, tzinfo=UTC)),
        (datetime(2027, 10, 30, 22, 0, tzinfo=UTC), datetime(2027, 10, 31, 0, 30, tzinfo=UTC)),
        (datetime(2027, 10, 31, 0, 45, tzinfo=UTC), datetime(2027, 11, 1, 1, 30, tzinfo=UTC)),
        (datetime(2027, 6, 1, 0, 30, tzinfo=UTC), datetime(2027, 6, 2, 0, 30, tzinfo=UTC)),
    ],
)
def test_a_nonexistent_local_time_rings_when_the_clock_next_shows_it(home, now, due):
    assert alarm_control.ring_at(home, "wake", "2:30", now=now).run_at == due
    assert alarm_control.ring_at(home, "wake", "02:30", now=now).run_at == due
    assert [ask.run_at for ask in the(home, now).requests] == [due]
    assert the(home, now).next == min(due, the(home, now).next_ring)
    assert alarm_control.cancel_rings(home, "wake") == 1
    with pytest.raises(Refused, match="no single ring of wake is set"):
        alarm_control.cancel_rings(home, "wake")


@pytest.mark.parametrize("at", ["", "25:00", "7", "07:60", "-1:30", "7:3", "seven", "٠٧:٣٠:00"])
def test_an_invalid_time_is_refused(home, at):
    with pytest.raises(InvalidOption, match='write a time such as "06:45"'):
        alarm_control.ring_at(home, "wake", at, now=FRIDAY)


def test_ringing_and_snoozing_alarms_are_listed(home):
    rings(home, Phase.RINGING)
    output = alarm_control.alarm_values(the(home))
    assert (output["ringing"], output["snoozed_until"]) == (True, None)
    rings(home, Phase.SNOOZING, timedelta(minutes=4), seconds=540.0)
    alarm = the(home)
    assert abs(alarm.session.ends_at - clock.now() - timedelta(minutes=5)) < timedelta(seconds=5)
    assert (alarm_control.alarm_values(alarm)["ringing"], alarm.next) == (False, alarm.session.ends_at)
    for text in ("of another release", '{"with": null, "session": {}}'):
        home.store.requests.save_checkpoint("wake", text, now=clock.now())
        assert alarm_control.alarm_values(the(home))["ringing"]


def test_a_signal_reaches_the_ringing_alarm_or_its_absence_is_reported(home):
    for say, name in ((alarm_control.snooze, None), (alarm_control.stop_ringing, "wake")):
        with pytest.raises(Refused, match="ringing"):
            say(home, name)
    rings(home, Phase.RINGING)
    assert alarm_control.snooze(home) == ["wake"]
    assert the(home).session.ending == "snooze"
    assert home.store.requests.take_signal("wake") == "snooze"
    assert the(home).session.ending == ""
    rings(home, Phase.FADING_OUT, snoozes=True)
    assert the(home).session.ending == "snooze"
    assert alarm_control.stop_ringing(home, "wake") == ["wake"]
    assert the(home).session.ending == "stop"
    assert home.store.requests.take_signal("wake") == "stop"
    with pytest.raises(UnknownName, match="no alarm is called 'wak'; did you mean 'wake'"):
        alarm_control.snooze(home, "wak")


def test_a_sleep_timer_removes_the_keys_it_replaces(home):
    ask = alarm_control.set_sleep_timer(home, now=FRIDAY, in_="30m")
    assert (ask.job, ask.run_at, ask.arguments) == ("sleep", FRIDAY, {"in": "30m", "at": None, "play-out": None})
    assert alarm_control.set_sleep_timer(home, now=FRIDAY).arguments == {}
    assert alarm_control.set_sleep_timer(home, now=FRIDAY, fade="5s").arguments == {"fade": "5s"}
    assert len(home.store.requests.pending()) == 1, "the last one counts"
    timer = alarm_control.sleep_timer(home)
    assert (timer.phase, timer.ends_at) == ("starting", FRIDAY.replace(hour=23, minute=30)), "as the job says"
    alarm_control.set_sleep_timer(home, now=FRIDAY, in_="30m")
    assert alarm_control.sleep_timer(home).ends_at == FRIDAY + timedelta(minutes=30)


def test_a_running_timer_is_ended_by_the_next_one_of_any_job(home):
    home.store.requests.save_checkpoint("night", "something", now=FRIDAY)
    alarm_control.set_sleep_timer(home, now=FRIDAY, at="22:00", play_out="track")
    assert home.store.requests.take_signal("night") == "stop"
    alarm_control.cancel_sleep_timer(home)
    assert home.store.requests.pending() == []
    home.store.requests.delete_checkpoint("night")
    with pytest.raises(Refused, match="no sleep timer is set"):
        alarm_control.cancel_sleep_timer(home)


def test_the_end_of_the_music_is_reported(home):
    assert alarm_control.sleep_values(alarm_control.sleep_timer(home))["set"] is False
    rings(home, Phase.WAITING, timedelta(minutes=10), seconds=1800.0)
    result = alarm_control.sleep_timer(home)
    assert abs(result.ends_at - clock.now() - timedelta(minutes=20)) < timedelta(seconds=5)
    assert (result.phase, result.status_text) == ("waiting", "interrupted; the daemon will resume it")
    rings(home, Phase.WAITING, until="2027-03-28T23:30:00")
    assert alarm_control.sleep_values(alarm_control.sleep_timer(home))["ends_at"] == "2027-03-28T23:30:00Z"
    alarm_control.cancel_sleep_timer(home)
    assert alarm_control.sleep_timer(home) is None, "not even before its run has ended"
    assert home.store.requests.take_signal("sleep") == "stop"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"in_": "2d"}, "2d is not a valid sleep time; write 1m to 24h"),
        ({"in_": "0s"}, "0s is not a valid sleep time; write 1m to 24h"),
        (
            {"at": "25:00"},
            "sleep cannot run with these options: at: '25:00' is not a valid time of day; "
            'write a time such as "23:30"',
        ),
        (
            {"play_out": "trak"},
            "sleep cannot run with these options: play-out: 'trak' is not known here; did you mean 'track'?",
        ),
        (
            {"in_": "1h", "at": "23:00"},
            "sleep cannot run with these options: at: in: already says when the music stops",
        ),
    ],
)
def test_invalid_requests_are_reported_before_any_change(home, arguments, message):
    home.store.requests.save_checkpoint("night", "something", now=FRIDAY)
    with pytest.raises(InvalidOption) as error:
        alarm_control.set_sleep_timer(home, now=FRIDAY, **arguments)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert home.store.requests.pending() == []
    assert home.store.requests.take_signal("night") == ""


def test_a_null_key_is_removed(home):
    taken = loader.override_options(home.config, home.job("wake"), {"volume": None, "snooze": None})
    assert (taken.final_volume, taken.snooze, taken.play) == (40, timedelta(minutes=9), ("fip", "album:Blue"))
    with pytest.raises(InvalidOption, match="wake cannot run with these options: 'action' is missing"):
        loader.override_options(home.config, home.job("wake"), {"action": None})


def test_an_announcement_is_stored_with_its_text(home):
    ask = announce(home, text="dinner", volume=50)
    assert (ask.job, ask.immediate, ask.arguments) == (
        "announce",
        True,
        {"text": "dinner", "source": None, "volume": 50},
    )
    for given in ({}, {"text": "a", "source": "b"}, {"text": "a", "volume": 101}):
        with pytest.raises(InvalidOption):
            announce(home, **given)
    assert len(home.store.requests.pending()) == 1


def test_without_such_a_job_the_needed_configuration_is_shown(installation):
    installation.write("other: {kind: command, with: {run: ['true']}}")
    with Appliance.open(installation.config) as home:
        assert alarm_control.alarms(home, FRIDAY) == []
        for ask, write in (
            (lambda: alarm_control.set_sleep_timer(home, now=FRIDAY), "sleep: {kind: music, with: {action: sleep}}"),
            (lambda: announce(home, text="a"), "announce: {kind: music, with: {action: announce}}"),
            (lambda: alarm_control.ring_at(home, "wake", "7:00", now=FRIDAY), "wake: {kind: music, schedule: "),
        ):
            with pytest.raises(Refused) as error:
                ask()
            assert write in str(error.value)
            yaml = str(error.value).partition("under jobs:  ")[2]
            installation.write(yaml)
            Appliance.open(installation.config).close()


def test_a_music_job_has_a_longer_default_timeout(home, installation):
    assert (home.job("sleep").timeout, home.job("other").timeout) == (timedelta(hours=25), timedelta(hours=1))
    installation.write("sleep: {kind: music, timeout: 2h, with: {action: sleep}}")
    assert home.reload().job("sleep").timeout == timedelta(hours=2)
