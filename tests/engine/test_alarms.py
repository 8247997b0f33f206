"""Alarms, the sleep timer and announcements, as a person sees them and asks for them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from pi_appliance.config import loader
from pi_appliance.config.units import Names
from pi_appliance.errors import Refused, UnknownName, WrongArgument
from pi_appliance.music.alarms import service
from pi_appliance.music.alarms.options import Action, Options
from pi_appliance.music.alarms.session import Phase, Session, dump
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.system import clock
from pi_appliance.system.clock import Timestamp
from tests.house import House

JOBS = """
wake:
  kind: music
  schedule: {times: ["06:45"], days: [mon-fri]}
  time-zone: Europe/Berlin
  with: {do: alarm, play: [fip, "album:Blue"], volume: 35}
sleep: {kind: music, with: {do: sleep, at: "23:30"}}
night: {kind: music, schedule: "30 22 * * *", with: {do: sleep, in: 1h}}
announce: {kind: music, with: {do: announce}}
other: {kind: command, with: {run: ['true']}}
"""
FRIDAY = datetime(2027, 3, 26, 12, tzinfo=UTC)  # the clocks are put forward on Sunday
MONDAY = datetime(2027, 3, 29, 4, 45, tzinfo=UTC)


@pytest.fixture
def home(house: House) -> Iterator[Appliance]:
    house.write(JOBS)
    with Appliance.open(house.config) as appliance:
        yield appliance


def the(home: Appliance, now: datetime = FRIDAY) -> service.Alarm:
    (found,) = service.alarms(home, now)
    return found


def rings(home: Appliance, phase: Phase, ago: timedelta = timedelta(0), seconds: float = 300.0, **more: str) -> None:
    """Let the alarm, or what it is to be otherwise, be in PHASE since a while."""
    machine = clock.MachineClock()
    since = Timestamp(clock.now() - ago, machine.steady() - ago.total_seconds(), clock.boot_name())
    session = Session(phase=phase, since=since, began=since, seconds=seconds, **more)
    job = "sleep" if phase in (Phase.WAITING, Phase.FALLING) else "wake"
    options = Options(do=Action.SLEEP) if job == "sleep" else Options(do=Action.ALARM, play=Names(["fip"]))
    home.store.asks.hold(job, dump(options, session), now=clock.now())


def test_a_button_that_hangs_asks_for_twenty_runs_and_no_more(home):
    for _ in range(20):
        service.announce(home, now=FRIDAY, say="dinner")
    with pytest.raises(Refused, match="20 runs of announce are asked for already"):
        service.announce(home, now=FRIDAY, say="dinner")
    assert len(home.store.asks.all("announce")) == 20


def test_an_alarm_says_when_it_rings_and_what(home):
    alarm = the(home)
    assert (alarm.job, alarm.rings, alarm.soonest) == ("wake", MONDAY, MONDAY)
    assert alarm.words == "fip, else album Blue; to volume 35 in 5m"
    assert (alarm.session, alarm.skipped, alarm.pause, alarm.once) == (None, None, None, False)


def test_skipped_it_rings_the_day_after(home):
    assert service.skip(home, "wake", now=FRIDAY) == MONDAY
    assert (the(home).skipped, the(home).rings) == (MONDAY, MONDAY + timedelta(days=1))
    assert service.alarm_values(the(home))["skipped"] == "2027-03-29T04:45:00Z"
    assert service.unskip(home, "wake", now=FRIDAY) == MONDAY
    assert the(home).rings == MONDAY


def test_paused_it_does_not_ring_until_its_pause_ends(home):
    home.pause("wake", now=FRIDAY)
    assert (the(home).rings, the(home).soonest, the(home).pause is not None) == (None, None, True)
    home.pause("wake", now=FRIDAY, until=MONDAY + timedelta(hours=1))
    assert the(home).rings == MONDAY + timedelta(days=1)


@pytest.mark.parametrize(
    ("now", "due"),
    [
        # 2:30 is left out: when the clock is put forward. 2:30 comes twice: the first time.
        (datetime(2027, 3, 28, 0, 0, tzinfo=UTC), datetime(2027, 3, 28, 1, 0, tzinfo=UTC)),
        (datetime(2027, 10, 30, 22, 0, tzinfo=UTC), datetime(2027, 10, 31, 0, 30, tzinfo=UTC)),
        (datetime(2027, 10, 31, 0, 45, tzinfo=UTC), datetime(2027, 11, 1, 1, 30, tzinfo=UTC)),
        (datetime(2027, 6, 1, 0, 30, tzinfo=UTC), datetime(2027, 6, 2, 0, 30, tzinfo=UTC)),
    ],
)
def test_once_at_half_past_two_is_when_its_own_wall_shows_it_next(home, now, due):
    assert service.ring_at(home, "wake", "2:30", now=now).due == due
    assert service.ring_at(home, "wake", "02:30", now=now).due == due
    assert [ask.due for ask in the(home, now).asks] == [due]
    assert the(home, now).soonest == min(due, the(home, now).rings)
    assert service.forget_once(home, "wake") == 1
    with pytest.raises(Refused, match="was not asked to ring at a time of its own"):
        service.forget_once(home, "wake")


@pytest.mark.parametrize("at", ["", "25:00", "7", "07:60", "-1:30", "7:3", "seven", "٠٧:٣٠:00"])
def test_what_is_no_time_is_refused(home, at):
    with pytest.raises(WrongArgument, match='write a time such as "06:45"'):
        service.ring_at(home, "wake", at, now=FRIDAY)


def test_what_rings_and_what_snoozes_is_told(home):
    rings(home, Phase.RINGING)
    told = service.alarm_values(the(home))
    assert (told["ringing"], told["snoozed-until"]) == (True, None)
    rings(home, Phase.SNOOZING, timedelta(minutes=4), seconds=540.0)
    alarm = the(home)
    assert abs(alarm.session.ends - clock.now() - timedelta(minutes=5)) < timedelta(seconds=5)
    assert (service.alarm_values(alarm)["ringing"], alarm.soonest) == (False, alarm.session.ends)
    home.store.asks.hold("wake", "of another release", now=clock.now())
    assert service.alarm_values(the(home))["ringing"]


def test_a_word_reaches_the_one_that_rings_and_where_none_does_that_is_said(home):
    for say, name in ((service.snooze, None), (service.stop_ringing, "wake")):
        with pytest.raises(Refused, match="just now"):
            say(home, name)
    rings(home, Phase.RINGING)
    assert service.snooze(home) == ["wake"]
    assert home.store.asks.hear("wake") == "snooze"
    assert service.stop_ringing(home, "wake") == ["wake"]
    assert home.store.asks.hear("wake") == "stop"
    with pytest.raises(UnknownName, match="no alarm is called 'wak'; did you mean 'wake'"):
        service.snooze(home, "wak")


def test_a_sleep_timer_takes_the_keys_of_the_file_out_that_it_replaces(home):
    ask = service.set_sleep(home, now=FRIDAY, in_=timedelta(minutes=30))
    assert (ask.job, ask.due, ask.arguments) == ("sleep", FRIDAY, {"in": "30m", "at": None, "finish": None})
    assert service.set_sleep(home, now=FRIDAY).arguments == {}
    assert service.set_sleep(home, now=FRIDAY, fade=timedelta(seconds=5)).arguments == {"fade": "5s"}
    assert len(home.store.asks.all()) == 1, "the last one counts"
    assert service.sleep_state(home).phase == "begins"


def test_a_timer_that_goes_on_is_ended_by_the_next_whichever_job_it_is_of(home):
    home.store.asks.hold("night", "something", now=FRIDAY)
    service.set_sleep(home, now=FRIDAY, at="22:00", finish="track")
    assert home.store.asks.hear("night") == "stop"
    service.cancel_sleep(home)
    assert home.store.asks.all() == []
    home.store.asks.let_go("night")
    with pytest.raises(Refused, match="no sleep timer is set"):
        service.cancel_sleep(home)


def test_until_when_the_music_plays_is_told(home):
    assert service.sleep_values(service.sleep_state(home))["set"] is False
    rings(home, Phase.WAITING, timedelta(minutes=10), seconds=1800.0)
    found = service.sleep_state(home)
    assert abs(found.ends - clock.now() - timedelta(minutes=20)) < timedelta(seconds=5)
    assert (found.phase, found.note) == ("waiting", "cut off; the daemon goes on with it")
    rings(home, Phase.WAITING, until="2027-03-28T23:30:00")
    assert service.sleep_values(service.sleep_state(home))["ends"] == "2027-03-28T23:30:00Z"
    service.cancel_sleep(home)
    assert home.store.asks.hear("sleep") == "stop"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"in_": timedelta(days=2)}, "2d is no time to fall asleep; write 1m to 24h"),
        ({"in_": timedelta(0)}, "0s is no time to fall asleep; write 1m to 24h"),
        ({"at": "25:00"}, "sleep is not run so: at: '25:00' is no time of the day; write a time such as \"23:30\""),
        ({"finish": "trak"}, "sleep is not run so: finish: 'trak' is not known here; did you mean 'track'?"),
        ({"in_": timedelta(hours=1), "at": "23:00"}, "sleep is not run so: at: in: says already when it ends"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_written_or_ended(home, given, said):
    home.store.asks.hold("night", "something", now=FRIDAY)
    with pytest.raises(WrongArgument) as error:
        service.set_sleep(home, now=FRIDAY, **given)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)
    assert home.store.asks.all() == []
    assert home.store.asks.hear("night") == ""


def test_a_key_that_is_given_as_nothing_is_taken_out(home):
    taken = loader.options(home.config, home.job("wake"), {"volume": None, "snooze": None})
    assert (taken.loudness, taken.snooze, taken.play) == (40, timedelta(minutes=9), ("fip", "album:Blue"))
    with pytest.raises(WrongArgument, match="wake is not run so: 'do' is missing"):
        loader.options(home.config, home.job("wake"), {"do": None})


def test_an_announcement_is_written_down_with_its_words(home):
    ask = service.announce(home, now=FRIDAY, say="dinner", volume=50)
    assert (ask.job, ask.at_once, ask.arguments) == ("announce", True, {"say": "dinner", "sound": None, "volume": 50})
    for given in ({}, {"say": "a", "sound": "b"}, {"say": "a", "volume": 101}):
        with pytest.raises(WrongArgument):
            service.announce(home, now=FRIDAY, **given)
    assert len(home.store.asks.all()) == 1


def test_where_the_file_has_no_such_job_what_to_write_is_said(house):
    house.write("other: {kind: command, with: {run: ['true']}}")
    with Appliance.open(house.config) as home:
        assert service.alarms(home, FRIDAY) == []
        for ask, write in (
            (lambda: service.set_sleep(home, now=FRIDAY), "sleep: {kind: music, with: {do: sleep}}"),
            (lambda: service.announce(home, now=FRIDAY, say="a"), "announce: {kind: music, with: {do: announce}}"),
            (lambda: service.ring_at(home, "wake", "7:00", now=FRIDAY), "wake: {kind: music, schedule: "),
        ):
            with pytest.raises(Refused) as error:
                ask()
            assert write in str(error.value)
            yaml = str(error.value).partition("under jobs:  ")[2]
            house.write(yaml)
            Appliance.open(house.config).close()


def test_a_music_job_may_take_longer_than_other_jobs_unless_the_file_says_so(home, house):
    assert (home.job("sleep").deadline, home.job("other").deadline) == (timedelta(hours=25), timedelta(hours=1))
    house.write("sleep: {kind: music, deadline: 2h, with: {do: sleep}}")
    assert home.reloaded().job("sleep").deadline == timedelta(hours=2)
