"""Alarms that are added, edited, copied and removed, with and without a daemon."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.fakes.mpd_server import needs_mpd, running_mpd
from tests.installation import Installation, wait_until
from tests.test_daemon import running_daemon
from tests.web.served_appliance import ServedAppliance, configuration, serving

# The comments and the order of the file are the owner's.
JOBS = """\
# we get up early
wake:
  kind: music  # loud
  schedule: {times: ["06:45"], days: [weekdays]}  # not on Saturdays
  with: {action: alarm, play: FIP, volume: 70}  # too loud?
cron: {kind: music, schedule: "45 6 * * 1-5", with: {action: alarm, play: [FIP, "album:Blue"]}}
monthly: {kind: music, schedule: "0 7 1 * *", with: {action: alarm, play: [FIP]}}
two: {kind: music, schedule: {times: ["07:00", "06:30"], days: [sat]}, with: {action: alarm, play: [FIP]}}
hello: {kind: command, with: {run: ["true"]}}
# the end"""
REST = "web: {port: 0}\nvolume: {maximum: 60}\n"


@pytest.fixture
def home(installation: Installation) -> Installation:
    installation.write(JOBS, REST)
    return installation


@pytest.fixture
def appliance(tmp_path: Path):
    indented = "".join(f"  {line}\n" for line in JOBS.splitlines())
    with serving(configuration(tmp_path, jobs=indented)) as result:
        yield result


def text_of(appliance: ServedAppliance) -> str:
    return appliance.daemon.appliance.config.path.read_text()


def alarm(appliance: ServedAppliance, name: str) -> dict:
    return appliance.request(f"/api/v1/alarms/{name}").json


def edit(appliance: ServedAppliance, name: str, /, **values: object):
    return appliance.request(f"/api/v1/alarms/{name}", values, method="PATCH")


def lines_changed(before: str, after: str) -> tuple[list[str], list[str]]:
    old, new = before.splitlines(), after.splitlines()
    return [line.strip() for line in old if line not in new], [line.strip() for line in new if line not in old]


def test_the_command_changes_the_file_without_a_daemon(home):
    before = home.config.read_text()
    added = home.json("music", "alarm", "add", "7:30", "--days", "sat", "--days", "sun", "--play", "FIP")
    assert (added["job"], added["schedule"], added["sources"]) == ("alarm-07-30", "07:30, Sat, Sun", ["FIP"])
    assert home.json("music", "alarm", "edit", "wake", "--time", "06:50")["schedule"] == "06:50, Mon - Fri"
    assert home.json("music", "alarm", "copy", "wake", "late")["job"] == "late"
    assert home.json("music", "alarm", "off", "late")[-1]["paused"]
    assert " off " in home.run("music", "alarm", "show", "late").stdout
    for name in ("late", "alarm-07-30"):
        assert name not in [each["job"] for each in home.json("music", "alarm", "remove", name)]
    assert home.config.read_text() == before.replace('"06:45"], days', '"06:50"], days')


def test_the_answer_of_the_daemon_shows_the_new_state(home):
    with running_daemon(home):
        added = home.json("music", "alarm", "add", "06:15", "--play", "FIP", "--name", "Early bird!")
        assert (added["job"], added["schedule"], added["paused"]) == ("early-bird", "06:15, every day", False)
        assert "early-bird" in [each["job"] for each in home.json("music", "alarms")]
        with ThreadPoolExecutor(4) as pool:  # several phones at once
            list(pool.map(lambda hour: home.run("music", "alarm", "add", f"{hour}:00", "--play", "x"), range(6)))
        assert len(home.json("music", "alarms")) == 11
        home.json("music", "alarm", "off", "early-bird")
        home.json("music", "alarm", "remove", "early-bird")
        again = home.json("music", "alarm", "add", "06:15", "--play", "FIP", "--name", "early-bird")
        assert not again["paused"], "the pause belonged to the alarm that was removed"


@pytest.mark.parametrize(
    ("name", "schedule", "times", "days"),
    [
        ("wake", "06:45, Mon - Fri", ["06:45"], ["mon-fri"]),
        ("cron", "06:45, Mon - Fri", ["06:45"], ["mon-fri"]),
        ("two", "06:30 and 07:00, Sat", ["06:30", "07:00"], ["sat"]),
        ("monthly", "At 07:00 on the first day of every month", [], []),
    ],
)
def test_every_form_of_a_schedule_is_shown(appliance, name, schedule, times, days):
    shown = alarm(appliance, name)
    assert (shown["schedule"], shown["times"], shown["days"]) == (schedule, times, days)


def test_equal_values_change_nothing(appliance):
    before = text_of(appliance)
    for name in ("wake", "cron", "two", "monthly"):
        shown = alarm(appliance, name)
        fields = {
            key: shown[key]
            for key in ("days", "play", "volume", "start_volume", "duration", "fade", "snooze", "one_shot", "version")
        }
        if len(shown["times"]) == 1:
            fields["time"] = shown["times"][0]
        assert edit(appliance, name, **fields).json == shown
    assert text_of(appliance) == before


@pytest.mark.parametrize(
    ("name", "values", "old", "new"),
    [
        ("wake", {"days": ["daily"]}, ", days: [weekdays]}", "}"),
        ("wake", {"days": ["tue-sat", "sun"]}, "[weekdays]", "[tue-sat, sun]"),
        ("wake", {"play": ["FIP", "playlist:Morning"]}, "play: FIP", 'play: [FIP, "playlist:Morning"]'),
        ("wake", {"volume": 40, "fade": "10m"}, "volume: 70", "volume: 40, fade: 10m"),
        ("wake", {"volume": 3}, "volume: 70", "volume: 3, start-volume: 3"),
        ("cron", {"time": "7:05"}, '"45 6 * * 1-5"', '{times: ["07:05"], days: [mon-fri]}'),
        ("two", {"days": ["sun"]}, "days: [sat]", "days: [sun]"),
        ("two", {"time": "08:00"}, '["07:00", "06:30"]', '["08:00"]'),
        ("monthly", {"snooze": "5m", "one_shot": True}, "play: [FIP]}", "play: [FIP], snooze: 5m, one-shot: true}"),
        ("monthly", {"time": "08:00"}, '"0 7 1 * *"', '{times: ["08:00"]}'),
    ],
)
def test_only_the_changed_fields_are_written(appliance, name, values, old, new):
    before = text_of(appliance)
    assert edit(appliance, name, **values).status == 200
    removed, added = lines_changed(before, text_of(appliance))
    assert len(added) == 1
    assert added[0] == removed[0].replace(old, new)


@pytest.mark.parametrize(
    ("values", "status", "message"),
    [
        ({"days": ["someday"]}, 400, "'days' must be a list of up to 7, each a day or a range such as mon-fri"),
        ({"days": ["fri-mon"]}, 422, "'fri-mon' runs backwards for cron; list the days one by one"),
        ({"time": "25:00"}, 400, "'time' must be a time of day such as 06:45"),
        ({"snooze": "5s"}, 422, "wake cannot run with these options: snooze: the snooze time is too short; write 1m"),
        ({"play": []}, 422, "an alarm needs something to play; choose a station, a playlist or an album"),
        ({"play": ["playlist:"]}, 422, "wake cannot run with these options: play.0: nothing is named to play"),
        ({"volume": 0}, 400, "'volume' must be a whole number from 1 to 100"),
    ],
)
def test_a_wrong_value_is_one_line_and_changes_nothing(appliance, values, status, message):
    before = text_of(appliance)
    answer = edit(appliance, "wake", **values)
    assert (answer.status, answer.json["error"].startswith(message)) == (status, True), answer.json
    assert "\n" not in answer.json["error"]
    assert text_of(appliance) == before


def test_names_are_unique_and_no_parts_of_addresses(appliance):
    def add(**values: object):
        return appliance.request("/api/v1/alarms", {"time": "06:30", "play": ["FIP"], **values})

    assert [add().json["job"] for _ in range(3)] == ["alarm-06-30", "alarm-06-30-2", "alarm-06-30-3"]
    taken = "there is already a job called hello; choose another name"
    assert (add(name="Hello").status, add(name="Hello").json["error"]) == (422, taken)
    for name in ("once", "new", "!"):
        assert add(name=name).json["error"].endswith("write another one, such as wake-up")
    assert appliance.request("/api/v1/alarms/wake/copy", {}).json["job"] == "wake-2"
    assert appliance.request("/api/v1/alarms/hello", method="DELETE").status == 404


def test_the_second_of_two_editors_is_told(appliance):
    version = alarm(appliance, "wake")["version"]
    assert edit(appliance, "cron", volume=30, version=alarm(appliance, "cron")["version"]).status == 200
    assert edit(appliance, "wake", volume=30, version=version).status == 200, "another alarm does not matter"
    answer = edit(appliance, "wake", volume=50, version=version)
    assert (answer.status, "changed by somebody else in the meantime" in answer.json["error"]) == (409, True)
    assert alarm(appliance, "wake")["volume"] == 30


def test_a_schedule_without_times_is_kept_unless_replaced(appliance):
    answer = edit(appliance, "monthly", days=["mon"])
    assert (answer.status, "write a time as well" in answer.json["error"]) == (422, True)
    assert edit(appliance, "monthly", volume=20).json["schedule"] == "At 07:00 on the first day of every month"


def test_every_next_ring_is_listed_and_a_skip_names_its_day(appliance):
    edit(appliance, "wake", days=["daily"])
    appliance.request("/api/v1/alarms/once", {"at": "06:30", "job": "wake"})
    shown = alarm(appliance, "wake")
    assert [ring["skipped"] for ring in shown["rings"]] in ([False], [False, False])
    last = shown["rings"][-1]["at"]
    assert last[:10] == shown["one_off_rings"][0][:10]
    skipped = appliance.request("/api/v1/alarms/skip", {"job": "wake", "day": last[:10]}).json[0]
    assert (skipped["skipped"], skipped["one_off_rings"]) == (last, shown["one_off_rings"])
    other = appliance.request("/api/v1/alarms/skip", {"job": "wake", "day": "2001-01-01"})
    assert other.json["error"] == "wake does not ring on 2001-01-01, so there is nothing to skip"


def test_a_volume_above_the_maximum_is_shown_as_it_will_be(home):
    shown = home.json("music", "alarms")[0]
    assert (shown["volume"], shown["limit"]) == (70, 60)
    assert shown["description"] == "FIP; up to volume 60 (the highest allowed, not 70) in 5m"
    assert "allowed" not in home.json("music", "alarms")[1]["description"]


def test_a_renamed_alarm_keeps_its_place_comments_and_state(appliance):
    before, store = text_of(appliance), appliance.daemon.appliance.store
    appliance.request("/api/v1/alarms/skip", {"job": "wake"})
    appliance.request("/api/v1/alarms/once", {"job": "wake", "at": "05:00"})
    appliance.request("/api/v1/alarms/off", {"job": "wake"})
    old = alarm(appliance, "wake")
    renamed = edit(appliance, "wake", name="Early bird", volume=50).json
    assert text_of(appliance) == before.replace("  wake:", "  early-bird:").replace("volume: 70", "volume: 50")
    assert (renamed["job"], renamed["paused"]) == ("early-bird", True)
    assert (renamed["skipped"], renamed["one_off_rings"]) == (old["skipped"], old["one_off_rings"])
    assert not store.requests.pending("wake")
    assert "wake" not in store.slots.pauses()
    taken = edit(appliance, "early-bird", name="cron", volume=60)
    assert (taken.status, taken.json["error"]) == (422, "there is already a job called cron; choose another name")
    assert alarm(appliance, "early-bird")["volume"] == 50


def test_duration_and_start_volume_are_set_and_removed(appliance):
    before = text_of(appliance)
    assert edit(appliance, "two", duration="1h", start_volume=10).status == 200
    assert "play: [FIP], start-volume: 10, duration: 1h}" in text_of(appliance)
    shown = alarm(appliance, "two")
    assert (shown["duration"], shown["start_volume"]) == ("1h", 10)
    assert edit(appliance, "two", duration="0s").status == 200
    assert text_of(appliance) == before.replace(
        "sat]}, with: {action: alarm, play: [FIP]", "sat]}, with: {action: alarm, play: [FIP], start-volume: 10"
    )
    answer = edit(appliance, "two", start_volume=80)
    assert (answer.status, "80 is louder than volume: 40" in answer.json["error"]) == (422, True)


def test_a_ringing_alarm_is_not_removed(appliance):
    appliance.daemon.appliance.store.requests.save_checkpoint("wake", "ringing", now=appliance.daemon.started_at)
    answer = appliance.request("/api/v1/alarms/wake", method="DELETE")
    assert (answer.status, answer.json["error"]) == (409, "wake is ringing; stop it first")


@needs_mpd
@pytest.mark.slow
def test_an_alarm_for_the_next_minute_rings(home, tmp_path):
    with running_mpd(tmp_path / "mpd") as server:
        home.write(JOBS, f"{REST}player: {{kind: mpd, with: {{address: '{server.address}'}}}}\n")
        song = server.mpc("listall").splitlines()[0]
        with running_daemon(home):
            soon = datetime.now(UTC) + timedelta(seconds=65)
            added = home.json("music", "alarm", "add", f"{soon:%H:%M}", "--play", song, "--name", "soon", "--one-shot")
            assert added["next"] == f"{soon:%Y-%m-%dT%H:%M}:00Z"
            wait_until(lambda: home.json("music", "alarm", "show", "soon")["ringing"], 90)
            wait_until(lambda: "[playing]" in server.mpc("status"))
            assert "stop it first" in home.run("music", "alarm", "remove", "soon").stderr
            home.json("music", "alarm", "stop", "soon")
            wait_until(lambda: not home.json("music", "alarm", "show", "soon")["ringing"])
            assert home.json("music", "alarm", "show", "soon")["paused"], "it was to ring once"
            assert home.run("music", "alarm", "remove", "soon").returncode == 0


def test_the_page_adds_the_jobs_of_announcements_and_sleep_timers_and_speaks(appliance):
    page = appliance.request("/music/alarms").text
    assert "No job announces yet" in page
    assert "No job is a sleep timer yet" in page
    for action in ("announce", "sleep"):
        form = f"name={action}&kind=music&set=with.action%3D{action}&return_to=/music/alarms"
        assert appliance.request("/do/jobs", form).status == 303
    page = appliance.request("/music/alarms").text
    assert 'href="/jobs/announce"' in page, "its history can be reached"
    assert 'name="text"' in page
    answer = appliance.request("/do/announce", "text=dinner+is+ready&wait=0&return_to=/music/alarms?announced")
    assert "It is announced" in appliance.request(answer.headers["location"]).text
    (request,) = appliance.daemon.appliance.store.requests.pending("announce")
    assert request.arguments["text"] == "dinner is ready"
    jobs = appliance.request("/jobs").text
    for name in ("announce", "sleep", "wake"):
        assert f'id="job-{name}"' not in jobs
