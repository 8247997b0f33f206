"""The pages without a script: what they show, what their forms do, and what they never let through."""

import os
import re
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest

from pi_appliance.jobs import reports
from pi_appliance.music.model import PlaybackState, PlayerState
from pi_appliance.storage.model import Outcome, Trigger
from pi_appliance.system import clock
from tests.web.list_player import SONG, ListMusic
from tests.web.served_appliance import World, configuration, job, served

STATIONS = '- {name: Groove, url: "http://radio.example/groove", genre: Jazz}\n- {name: "R&B <1>", url: "http://b"}\n'
EVIL = "<script>alert(1)</script>"


def record(world: World, name: str, outcome: Outcome, summary: str) -> int:
    store = world.daemon.appliance.store
    run, _ = store.start_run(job=name, kind="command", trigger=Trigger.MANUAL, due=None, now=clock.now())
    store.finish_run(run, outcome, summary, now=clock.now(), attempts=1)
    return run


def report(world: World, name: str, content: str) -> Path:
    path = world.daemon.appliance.config.reports / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_it_shows_what_plays_and_how_loud(world: World) -> None:
    text = world.ask("/").text
    assert "Blue Train" in text
    assert "John Coltrane" in text
    assert ">1:01</span>" in text
    assert ">10:43</span>" in text
    assert 'value="40"' in text
    assert 'aria-label="Pause"' in text


def test_each_button_does_what_it_says(world: World) -> None:
    def press(path: str, body: str = "") -> PlayerState:
        assert world.ask(path, body).status == 303
        return world.player.now

    assert press("/do/player/toggle").playback is PlaybackState.PAUSED
    assert press("/do/player/toggle").playback is PlaybackState.PLAYING
    assert press("/do/player/next").track != SONG
    assert press("/do/player/previous").track == SONG
    assert press("/do/player/volume", "volume=%2B5").volume == 45
    assert press("/do/player/volume", "volume=-50").volume == 0
    assert press("/do/player/volume", "volume=70").volume == 70
    assert press("/do/player/seek", "seconds=12").elapsed == 12
    assert press("/do/player/stop").playback is PlaybackState.STOPPED


def test_a_station_is_played_and_marked(tmp_path: Path) -> None:
    with served(configuration(tmp_path, stations=STATIONS)) as world:
        assert 'aria-pressed="true"' not in world.ask("/").text
        assert world.ask("/do/player/play-station", "station=R%26B+%3C1%3E").status == 303
        assert world.player.now.track is not None
        assert (world.player.now.track.uri, world.player.now.track.title) == ("http://b", "R&B <1>")
        text = world.ask("/").text
        assert text.count('aria-pressed="true"') == 1
        assert "R&amp;B &lt;1&gt;" in text


def test_a_changed_file_of_stations_is_read_again(tmp_path: Path) -> None:
    with served(configuration(tmp_path, stations=STATIONS)) as world:
        world.ask("/")
        (tmp_path / "stations.yaml").write_text('- {name: Brand New, url: "http://n"}\n')
        assert "Brand New" in world.ask("/").text


def test_a_wrong_file_of_stations_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    with served(configuration(tmp_path, stations="- {name: X, url: nowhere}\n")) as world:
        text = world.ask("/").text
        assert "stations.yaml:1:" in text
        assert "Blue Train" in text


def test_without_a_player_it_says_why_and_shows_the_jobs(tmp_path: Path) -> None:
    with served(configuration(tmp_path), ListMusic(None, "MPD does not answer at localhost:6600")) as world:
        text = world.ask("/").text
        assert "MPD does not answer at localhost:6600" in text
        assert '<div id="player" hidden>' in text
        assert "hello" in text
        answer = world.ask("/do/player/play", "")
        assert (answer.status, "MPD does not answer" in answer.text) == (503, True)


def test_the_silent_stand_in_is_told(world: World) -> None:
    world.daemon.hub.error, world.daemon.hub.uses_fallback = "the silent player is used", True
    assert '<p class="note" id="player-problem" >the silent player is used</p>' in world.ask("/").text


def test_an_empty_queue_is_said(world: World) -> None:
    world.in_loop(lambda: world.player.become(playback=PlaybackState.STOPPED, track=None, elapsed=None))
    assert "Nothing is playing" in world.ask("/").text
    assert world.ask("/api/v1/player").json["player"]["track"] is None


def test_run_now_starts_a_real_run_that_ends_in_the_history(world: World) -> None:
    target = "/?started=hello#job-hello"
    assert f'action="/do/jobs/hello/run"><input type="hidden" name="return_to" value="{target}"' in world.ask("/").text
    answer = world.ask("/do/jobs/hello/run", urlencode({"return_to": target}))
    assert (answer.status, answer.headers["location"]) == (303, target)
    assert "hello was started" in world.ask("/?started=hello").text
    assert "was started" not in world.ask("/?started=other").text
    world.eventually(lambda: "succeeded" in world.ask("/").text)
    assert "good morning" in world.ask("/runs/1").text
    page = world.ask("/jobs/hello").text
    assert "/runs/1" in page
    assert "by hand" in page


def test_a_job_that_is_running_is_not_started_twice(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    code = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(.02)"
    with served(configuration(tmp_path, jobs=job("slow", code))) as world:
        world.ask("/do/jobs/slow/run", "")
        world.eventually(lambda: "running" in world.ask("/").text)
        answer = world.ask("/do/jobs/slow/run", "")
        assert (answer.status, "slow is running already, as run 1" in answer.text) == (409, True)
        assert 'action="/do/jobs/slow/run"' not in world.ask("/").text
        assert 'action="/do/jobs/slow/cancel"' in world.ask("/").text
        gate.touch()
        world.eventually(lambda: "succeeded" in world.ask("/").text)


def test_the_next_slot_says_whether_the_chance_uses_it(tmp_path: Path) -> None:
    jobs = job("always", "", "    schedule: 0 6 * * *\n") + job(
        "rarely", "", "    schedule: 0 7 * * *\n    chance: 1/50\n"
    )
    with served(configuration(tmp_path, jobs=jobs)) as world:
        text = world.ask("/").text
        assert "Next <b>to" in text
        assert "skipped by chance (1/50)" in text or "will run (chance 1/50)" in text


RARE = """    schedule: 0 7 * * *
    started-by: cron
    chance: 1/50
    timeout: 1h30m
    misfire-grace: 7m
"""


def test_the_page_of_a_job_says_what_it_runs_by(tmp_path: Path) -> None:
    jobs = job("rare", "", RARE) + job("often", "", "    schedule: {every: 20m}\n") + job("plain", "")
    with served(configuration(tmp_path, jobs=jobs)) as world:
        rare = world.ask("/jobs/rare").text
        assert "At 07:00 every day" in rare
        assert "<dt>Started by</dt><dd>cron, from the crontab, or by hand</dd>" in rare
        assert "<dt>Chance</dt><dd>1/50 of the slots, at random</dd>" in rare
        assert "<dt>Misfire grace</dt><dd>starts up to 7m late</dd>" in rare
        assert "<dt>Timeout</dt><dd>stopped after 1h30m</dd>" in rare
        often = world.ask("/jobs/often").text
        assert "Every " in often
        assert "<dt>Started by</dt><dd>the daemon, or by hand</dd>" in often
        assert "<dt>Chance</dt>" not in often
        plain = world.ask("/jobs/plain").text
        assert "it runs only by hand" in plain
        assert "<dt>Misfire grace</dt>" not in plain
        assert "<dt>Timeout</dt><dd>stopped after 1h</dd>" in plain


def test_the_strip_tells_each_run_in_words(world: World) -> None:
    record(world, "hello", Outcome.SUCCEEDED, "fine & well")
    record(world, "hello", Outcome.FAILED, EVIL)
    text = world.ask("/").text
    assert re.search(r"succeeded in \d\.\ds: fine &amp; well</title>", text)
    assert re.search(r"failed in \d\.\ds: &lt;script&gt;", text)
    assert text.count('<g class="none">') == 18


@pytest.mark.parametrize("path", ["/", "/jobs/hello", "/runs/1", "/reports/hello/x.txt", "/parts/jobs/hello"])
def test_what_a_job_says_is_never_markup(world: World, path: str) -> None:
    run = record(world, "hello", Outcome.SUCCEEDED, EVIL)
    log = world.daemon.appliance.log_path("hello", run)
    log.parent.mkdir(parents=True)
    log.write_text(EVIL)
    report(world, "hello/x.txt", EVIL)
    text = world.ask(path).text
    assert EVIL not in text
    assert "&lt;script&gt;alert(1)" in text


def test_a_report_is_shown_by_its_kind(world: World) -> None:
    report(world, "hello/board.txt", "o . o")
    report(world, "hello/board.svg", "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    report(world, "hello/blob.bin", "\x00")
    report(world, "hello/page.html", EVIL)
    text = world.ask("/reports/hello/board.txt")
    assert text.headers["content-type"].startswith("text/html")
    assert "o . o" in text.text
    raw = world.ask("/reports/hello/board.txt?raw=1")
    assert (raw.text, raw.headers["content-type"]) == ("o . o", "text/plain; charset=utf-8")
    assert world.ask("/reports/hello/board.svg?raw=1").headers["content-type"] == "image/svg+xml"
    assert world.ask("/reports/hello/blob.bin").headers["content-disposition"].startswith("attachment")
    for name in ("board.svg?raw=1", "page.html?raw=1", "blob.bin"):
        policy = world.ask(f"/reports/hello/{name}").headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "sandbox" in policy
        assert "script-src" not in policy
    assert "board.svg" in world.ask("/").text
    assert "board.svg" in world.ask("/reports").text
    assert "board.svg" in world.ask("/parts/reports").text
    assert "board.svg" in world.ask("/jobs/hello").text


@pytest.mark.parametrize("name", ["board.svg", "board.PNG"])
def test_a_picture_is_shown_within_a_page_that_leads_back(world: World, name: str) -> None:
    report(world, f"hello/{name}", "<svg xmlns='http://www.w3.org/2000/svg'/>")
    answer = world.ask(f"/reports/hello/{name}")
    assert answer.headers["content-type"].startswith("text/html")
    assert f'<img src="?raw=1" alt="{name}">' in answer.text
    assert 'href="/jobs/hello" aria-label="Back"' in answer.text


def test_a_page_among_the_reports_is_shown_in_a_frame_that_runs_nothing_and_nobody_else_frames_it(world: World) -> None:
    report(world, "hello/result.html", EVIL)
    answer = world.ask("/reports/hello/result.html")
    assert EVIL not in answer.text
    assert '<iframe class="framed" src="?raw=1" sandbox title="result.html">' in answer.text
    assert 'href="/jobs/hello" aria-label="Back"' in answer.text
    raw = world.ask("/reports/hello/result.html?raw=1")
    assert raw.text == EVIL
    assert "sandbox; frame-ancestors 'self'" in raw.headers["content-security-policy"]
    assert raw.headers["x-frame-options"] == "SAMEORIGIN"
    assert answer.headers["x-frame-options"] == "DENY"


def test_the_lists_of_reports_hold_while_a_run_puts_new_ones_in_the_place_of_old_ones(world: World) -> None:
    folder, done = world.daemon.appliance.config.reports / "hello", threading.Event()

    def write() -> None:
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        while not done.is_set():
            moment += timedelta(days=1)
            with reports.report_set(folder, moment, keep=1) as draft:
                for number in range(5):
                    with draft.file(f"{moment.day + number}.svg") as file:
                        file.write("<svg/>")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(60):
            assert world.ask("/reports").status == world.ask("/jobs/hello").status == 200
            for name in reports.report_sets(folder):
                assert world.ask(f"/reports/hello/{name}").status in (200, 404)
    finally:
        done.set()
        writer.join()


def test_dated_reports_stand_on_the_page_of_their_job_each_with_its_files(world: World) -> None:
    for name in (
        "result.txt",
        "2026-11-21_0330/result.txt",
        "2026-11-21_0330/cross.svg",
        "2026-11-20_0330/result.html",
    ):
        report(world, f"hello/{name}", "<svg xmlns='http://www.w3.org/2000/svg'/>")
    report(world, "hello/2026-11-21_0330/.half", "x")
    assert listed(world, "/jobs/hello") == ["hello/result.txt", "hello/2026-11-21_0330", "hello/2026-11-20_0330"]
    assert "21 Nov 2026, 03:30" in world.ask("/jobs/hello").text
    assert listed(world, "/reports/hello/2026-11-21_0330") == [
        "hello/2026-11-21_0330/result.txt",
        "hello/2026-11-21_0330/cross.svg",
    ]
    assert 'href="/jobs/hello" aria-label="Back"' in world.ask("/reports/hello/2026-11-21_0330").text
    text = world.ask("/reports/hello/2026-11-21_0330/result.txt").text
    assert 'href="/reports/hello/2026-11-21_0330" aria-label="Back"' in text
    assert world.ask("/reports/hello/2026-11-20_0330/result.html?raw=1").text.startswith("<svg")
    assert listed(world, "/reports") == ["hello/result.txt"], "the list has the newest alone"
    dated = world.ask("/api/v1/reports/hello").json
    assert [each["date"] for each in dated] == ["2026-11-21_0330", "2026-11-20_0330"]
    assert [each["file"] for each in dated[0]["files"]] == ["result.txt", "cross.svg"]
    assert world.ask("/api/v1/reports/nobody").status == 404


TWEETS = """  tweets:
    kind: tweet
    with: {network: preview, lines: tweets.txt}
networks:
  preview:
    kind: preview
"""


def listed(world: World, path: str) -> list[str]:
    return re.findall(r'href="/reports/([^"]+)"', world.ask(path).text)


@pytest.mark.parametrize("path", ["/", "/parts/reports"])
def test_a_job_that_wrote_much_leaves_room_for_the_others(world: World, path: str) -> None:
    os.utime(report(world, "preview/posts.txt", "x"), (1, 1))
    for number in range(8):
        os.utime(report(world, f"pegs/{number}.svg", ""), (10 + number, 10 + number))
    report(world, "pegs/result.txt", "x")
    assert listed(world, path) == ["pegs/result.txt", "pegs/7.svg", "pegs/6.svg", "preview/posts.txt"]
    assert "All reports" in world.ask(path).text
    assert len(listed(world, "/reports")) == 10


def test_where_many_jobs_wrote_each_shows_its_newest(world: World) -> None:
    for number in range(5):
        os.utime(report(world, f"job{number}/a.txt", "x"), (number, number))
        os.utime(report(world, f"job{number}/b.txt", "x"), (10 + number, 10 + number))
    assert listed(world, "/") == [f"job{number}/b.txt" for number in (4, 3, 2, 1, 0)]


def test_what_a_job_posts_for_preview_stands_on_its_page_and_leads_back_there(tmp_path: Path) -> None:
    with served(configuration(tmp_path, jobs=job("hello", "") + TWEETS)) as world:
        report(world, "preview/posts.txt", "x")
        report(world, "old/x.txt", "x")
        assert listed(world, "/jobs/tweets") == ["preview/posts.txt"]
        assert listed(world, "/jobs/hello") == []
        assert 'href="/jobs/tweets" aria-label="Back"' in world.ask("/reports/preview/posts.txt").text
        assert 'href="/reports" aria-label="Back"' in world.ask("/reports/old/x.txt").text


OUTSIDE = [
    "/reports/../secret.key",
    "/reports/%2e%2e/secret.key",
    "/reports/hello/..%2f..%2fsecret.key",
    "/reports/hello%2f../..%2fsecret.key",
    "/reports/hello/%2e%2e%2f%2e%2e%2fhistory.db",
    "/reports/..%5c../secret.key",
    "/reports//etc/passwd",
    "/reports/hello/%00",
    "/reports/hello/.hidden",
    "/reports/hello/link.txt",
    "/reports/hello/2026-11-21_0330/../../../secret.key",
    "/reports/hello/2026-11-21_0330/%2e%2e",
    "/reports/hello/2026-11-21_0330/..%2f..%2f..%2fsecret.key",
    "/reports/hello/2026-11-21_0330/.hidden",
    "/reports/hello/2026-11-21_0330/link.txt",
    "/reports/hello/2026-11-22_0330",
    "/reports/hello/2026-11-22_0330/secret.key",
    "/reports/hello/.2026-11-21_0330.7.new/half.txt",
    "/reports/hello/2026-13-99_0330",
    "/reports/%2e%2e/2026-11-21_0330/x.txt",
    "/reports/hello/%2e%2e/secret.key",
    "/reports/hello/deep/x.txt",
    "/static/../service.py",
    "/static/%2e%2e/service.py",
    "/static/..%2fservice.py",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out_of_the_reports(world: World, path: str) -> None:
    report(world, "hello/x.txt", "x")
    report(world, "hello/.hidden", "half")
    folder = world.daemon.appliance.config.reports / "hello"
    for half in (".2026-11-21_0330.7.new/half.txt", "2026-11-21_0330/.hidden", "deep/x.txt"):
        report(world, f"hello/{half}", "half")
    for link in ("link.txt", "2026-11-21_0330/link.txt"):
        (folder / link).symlink_to(world.daemon.appliance.config.path)
    (folder / "2026-11-22_0330").symlink_to(world.daemon.appliance.config.state_dir)
    answer = world.ask(path)
    assert answer.status == 404
    assert "kind: command" not in answer.text


def test_a_long_report_is_cut_and_says_so(world: World) -> None:
    report(world, "hello/x.txt", "x" * 500_000)
    answer = world.ask("/reports/hello/x.txt")
    assert len(answer.body) < 410_000
    assert "This is only its beginning" in answer.text
    assert len(world.ask("/reports/hello/x.txt?raw=1").body) == 500_000


NOWHERE = ["/jobs/helo", "/runs/99", "/nowhere", "/parts/jobs/helo", "/runs/x"]
BEYOND = [
    str(2**63 - 1),
    str(2**63),
    "9" * 20,
    "9" * 5000,
]  # the largest of SQLite, and what neither it nor int() takes


@pytest.mark.parametrize(
    "path", [*NOWHERE, *(f"{each}/runs/{number}" for each in ("", "/api/v1") for number in BEYOND)]
)
def test_what_is_not_there_is_404_with_a_sentence(world: World, path: str) -> None:
    answer = world.ask(path)
    assert answer.status == 404
    assert "no " in answer.text
    assert "Traceback" not in answer.text


def test_a_history_longer_than_a_page_goes_on(world: World) -> None:
    for _ in range(60):
        record(world, "hello", Outcome.SUCCEEDED, "")
    first = world.ask("/jobs/hello").text
    assert "?before=11" in first
    older = world.ask("/jobs/hello?before=11").text
    assert "/runs/10" in older
    assert "/runs/11" not in older
    assert "?before" not in older


def test_the_history_of_a_job_that_was_taken_out_stays(world: World) -> None:
    record(world, "gone", Outcome.SUCCEEDED, "long ago")
    text = world.ask("/jobs/gone").text
    assert "no longer in the configuration" in text
    assert "long ago" in text
    assert world.ask("/jobs/gone/run", "").status == 404
