"""The pages without scripts: content, forms, and escaping."""

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
from tests.web.served_appliance import ServedAppliance, configuration, job, serving

STATIONS = '- {name: Groove, url: "http://radio.example/groove", genre: Jazz}\n- {name: "R&B <1>", url: "http://b"}\n'
EVIL = "<script>alert(1)</script>"


def record(appliance: ServedAppliance, name: str, outcome: Outcome, summary: str) -> int:
    store, recorded = appliance.daemon.appliance.store, list[int]()

    def add() -> None:
        run, _ = store.start_run(job=name, kind="command", trigger=Trigger.MANUAL, due=None, now=clock.now())
        store.finish_run(run, outcome, summary, now=clock.now(), attempts=1)
        recorded.append(run)

    appliance.call_in_loop(add)  # the connection to the database is that of the service
    return recorded[0]


def report(appliance: ServedAppliance, name: str, content: str) -> Path:
    path = appliance.daemon.appliance.config.reports / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_the_page_shows_the_track_and_the_volume(appliance: ServedAppliance) -> None:
    text = appliance.request("/").text
    assert "Blue Train" in text
    assert "John Coltrane" in text
    assert ">1:01</span>" in text
    assert ">10:43</span>" in text
    assert 'value="40"' in text
    assert 'aria-label="Pause"' in text


def test_each_button_works(appliance: ServedAppliance) -> None:
    def press(path: str, body: str = "") -> PlayerState:
        assert appliance.request(path, body).status == 303
        return appliance.player.now

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
    with serving(configuration(tmp_path, stations=STATIONS)) as appliance:
        assert 'aria-pressed="true"' not in appliance.request("/").text
        assert appliance.request("/do/player/play-station", "station=R%26B+%3C1%3E").status == 303
        assert appliance.player.now.track is not None
        assert (appliance.player.now.track.uri, appliance.player.now.track.title) == ("http://b", "R&B <1>")
        text = appliance.request("/").text
        assert text.count('aria-pressed="true"') == 1
        assert "R&amp;B &lt;1&gt;" in text


def test_a_changed_stations_file_is_reloaded(tmp_path: Path) -> None:
    with serving(configuration(tmp_path, stations=STATIONS)) as appliance:
        appliance.request("/")
        (tmp_path / "stations.yaml").write_text('- {name: Brand New, url: "http://n"}\n')
        assert "Brand New" in appliance.request("/").text


def test_an_invalid_stations_file_is_reported_and_the_rest_works(tmp_path: Path) -> None:
    with serving(configuration(tmp_path, stations="- {name: X, url: nowhere}\n")) as appliance:
        text = appliance.request("/").text
        assert "stations.yaml:1:" in text
        assert "Blue Train" in text


def test_without_a_player_the_page_shows_the_reason_and_the_jobs(tmp_path: Path) -> None:
    with serving(configuration(tmp_path), ListMusic(None, "MPD does not answer at localhost:6600")) as appliance:
        text = appliance.request("/").text
        assert "MPD does not answer at localhost:6600" in text
        assert '<div id="player" hidden>' in text
        assert "hello" in appliance.request("/jobs").text
        answer = appliance.request("/do/player/play", "")
        assert (answer.status, "MPD does not answer" in answer.text) == (503, True)


def test_the_private_mpd_is_mentioned(appliance: ServedAppliance) -> None:
    appliance.daemon.hub.error, appliance.daemon.hub.uses_fallback = "the silent player is used", True
    assert '<p class="note" id="player-problem" >The silent player is used.</p>' in appliance.request("/").text


def test_an_empty_queue_is_mentioned(appliance: ServedAppliance) -> None:
    appliance.call_in_loop(lambda: appliance.player.set_state(playback=PlaybackState.STOPPED, track=None, elapsed=None))
    assert "Nothing is playing" in appliance.request("/").text
    assert appliance.request("/api/v1/player").json["player"]["track"] is None


def test_run_now_starts_a_run_that_appears_in_the_history(appliance: ServedAppliance) -> None:
    target = "/jobs?started=hello#job-hello"
    assert (
        f'action="/do/jobs/hello/run"><input type="hidden" name="return_to" value="{target}"'
        in appliance.request("/jobs").text
    )
    answer = appliance.request("/do/jobs/hello/run", urlencode({"return_to": target}))
    assert (answer.status, answer.headers["location"]) == (303, target)
    assert "hello was started" in appliance.request("/jobs?started=hello").text
    assert "was started" not in appliance.request("/jobs?started=other").text
    appliance.wait_until(lambda: "succeeded" in appliance.request("/jobs").text)
    assert "good morning" in appliance.request("/runs/1").text
    page = appliance.request("/jobs/hello").text
    assert "/runs/1" in page
    assert "by hand" in page


def test_a_running_job_is_not_started_twice(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    code = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(.02)"
    with serving(configuration(tmp_path, jobs=job("slow", code))) as appliance:
        appliance.request("/do/jobs/slow/run", "")
        appliance.wait_until(lambda: "running" in appliance.request("/jobs").text)
        answer = appliance.request("/do/jobs/slow/run", "")
        assert (answer.status, "Slow is running already, as run 1" in answer.text) == (409, True)
        assert 'action="/do/jobs/slow/run"' not in appliance.request("/jobs").text
        assert 'action="/do/jobs/slow/cancel"' in appliance.request("/jobs").text
        gate.touch()
        appliance.wait_until(lambda: "succeeded" in appliance.request("/jobs").text)


def test_the_next_slot_shows_whether_the_chance_uses_it(tmp_path: Path) -> None:
    jobs = job("always", "", "    schedule: 0 6 * * *\n") + job(
        "rarely", "", "    schedule: 0 7 * * *\n    chance: 1/50\n"
    )
    with serving(configuration(tmp_path, jobs=jobs)) as appliance:
        text = appliance.request("/jobs").text
        assert "Next <b>to" in text
        assert "skipped by chance (1/50)" in text or "will run (chance 1/50)" in text


RARE = """    schedule: 0 7 * * *
    started-by: cron
    chance: 1/50
    timeout: 1h30m
    misfire-grace: 7m
"""


def test_an_error_ends_before_the_way_back_begins(appliance: ServedAppliance) -> None:
    page = appliance.request("/runs/999")
    assert page.status == 404
    message = re.search(r'<p class="pre" id="error">(.*?)</p>\s*<p><a [^>]*>Back to the first page</a></p>', page.text)
    assert message
    assert message[1].startswith("No run is called &#39;999&#39;")
    assert "<" not in message[1]


def test_the_job_page_shows_its_schedule(tmp_path: Path) -> None:
    jobs = job("rare", "", RARE) + job("often", "", "    schedule: {every: 20m}\n") + job("plain", "")
    with serving(configuration(tmp_path, jobs=jobs)) as appliance:
        rare = appliance.request("/jobs/rare").text
        assert "Every day at 07:00" in rare
        assert "<dt>Started by</dt><dd>cron, from the crontab, or by hand</dd>" in rare
        assert "<dt>Chance</dt><dd>1/50 of the slots, at random</dd>" in rare
        assert "<dt>Misfire grace</dt><dd>starts up to 7m late</dd>" in rare
        assert "<dt>Timeout</dt><dd>stopped after 1h30m</dd>" in rare
        often = appliance.request("/jobs/often").text
        assert "Every " in often
        assert "<dt>Started by</dt><dd>the daemon, or by hand</dd>" in often
        assert "<dt>Chance</dt>" not in often
        plain = appliance.request("/jobs/plain").text
        assert "it runs only by hand" in plain
        assert "<dt>Misfire grace</dt>" not in plain
        assert "<dt>Timeout</dt><dd>stopped after 1h</dd>" in plain


def test_the_strip_describes_each_run(appliance: ServedAppliance) -> None:
    record(appliance, "hello", Outcome.SUCCEEDED, "fine & well")
    record(appliance, "hello", Outcome.FAILED, EVIL)
    text = appliance.request("/jobs").text
    assert re.search(r"succeeded in \d\.\ds: fine &amp; well</title>", text)
    assert re.search(r"failed in \d\.\ds: &lt;script&gt;", text)
    assert text.count('<g class="none">') == 18


@pytest.mark.parametrize("path", ["/jobs", "/jobs/hello", "/runs/1", "/reports/hello/x.txt", "/parts/jobs/hello"])
def test_job_output_is_never_markup(appliance: ServedAppliance, path: str) -> None:
    run = record(appliance, "hello", Outcome.SUCCEEDED, EVIL)
    log = appliance.daemon.appliance.log_path("hello", run)
    log.parent.mkdir(parents=True)
    log.write_text(EVIL)
    report(appliance, "hello/x.txt", EVIL)
    text = appliance.request(path).text
    assert EVIL not in text
    assert "&lt;script&gt;alert(1)" in text


def test_a_report_is_shown_by_its_kind(appliance: ServedAppliance) -> None:
    report(appliance, "hello/board.txt", "o . o")
    report(appliance, "hello/board.svg", "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    report(appliance, "hello/blob.bin", "\x00")
    report(appliance, "hello/page.html", EVIL)
    text = appliance.request("/reports/hello/board.txt")
    assert text.headers["content-type"].startswith("text/html")
    assert "o . o" in text.text
    raw = appliance.request("/reports/hello/board.txt?raw=1")
    assert (raw.text, raw.headers["content-type"]) == ("o . o", "text/plain; charset=utf-8")
    assert appliance.request("/reports/hello/board.svg?raw=1").headers["content-type"] == "image/svg+xml"
    assert appliance.request("/reports/hello/blob.bin").headers["content-disposition"].startswith("attachment")
    for name in ("board.svg?raw=1", "page.html?raw=1", "blob.bin"):
        policy = appliance.request(f"/reports/hello/{name}").headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "sandbox" in policy
        assert "script-src" not in policy
    assert "board.svg" in appliance.request("/jobs").text
    assert "board.svg" in appliance.request("/reports").text
    assert "board.svg" in appliance.request("/parts/reports").text
    assert "board.svg" in appliance.request("/jobs/hello").text


@pytest.mark.parametrize("name", ["board.svg", "board.PNG"])
def test_a_picture_has_a_page_with_a_link_back(appliance: ServedAppliance, name: str) -> None:
    report(appliance, f"hello/{name}", "<svg xmlns='http://www.w3.org/2000/svg'/>")
    answer = appliance.request(f"/reports/hello/{name}")
    assert answer.headers["content-type"].startswith("text/html")
    assert '<img src="?raw=1" alt="Board">' in answer.text
    assert 'href="/jobs/hello" aria-label="Back"' in answer.text


def test_an_html_report_is_sandboxed_in_a_frame(appliance: ServedAppliance) -> None:
    report(appliance, "hello/result.html", EVIL)
    answer = appliance.request("/reports/hello/result.html")
    assert EVIL not in answer.text
    assert '<iframe class="framed" src="?raw=1" sandbox title="Result">' in answer.text
    assert 'href="/jobs/hello" aria-label="Back"' in answer.text
    raw = appliance.request("/reports/hello/result.html?raw=1")
    assert raw.text == EVIL
    assert "sandbox; frame-ancestors 'self'" in raw.headers["content-security-policy"]
    assert raw.headers["x-frame-options"] == "SAMEORIGIN"
    assert answer.headers["x-frame-options"] == "DENY"


def test_report_lists_stay_complete_while_a_run_replaces_reports(appliance: ServedAppliance) -> None:
    folder, done = appliance.daemon.appliance.config.reports / "hello", threading.Event()

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
            assert appliance.request("/reports").status == appliance.request("/jobs/hello").status == 200
            for name in reports.report_sets(folder):
                assert appliance.request(f"/reports/hello/{name}").status in (200, 404)
    finally:
        done.set()
        writer.join()


def test_dated_reports_are_on_the_job_page_with_their_files(appliance: ServedAppliance) -> None:
    for name in (
        "result.txt",
        "2026-11-21_0330/result.txt",
        "2026-11-21_0330/cross.svg",
        "2026-11-20_0330/result.html",
    ):
        report(appliance, f"hello/{name}", "<svg xmlns='http://www.w3.org/2000/svg'/>")
    report(appliance, "hello/2026-11-21_0330/.half", "x")
    dates = ["hello/2026-11-21_0330", "hello/2026-11-20_0330"]
    assert list_reports(appliance, "/jobs/hello") == ["hello/result.txt", *dates, "hello"]  # at last, the index by year
    assert list_reports(appliance, "/reports/hello") == dates
    assert "21 Nov 2026, 03:30" in appliance.request("/jobs/hello").text
    assert list_reports(appliance, "/reports/hello/2026-11-21_0330") == [
        "hello/2026-11-21_0330/result.txt",
        "hello/2026-11-21_0330/cross.svg",
    ]
    assert 'href="/jobs/hello" aria-label="Back"' in appliance.request("/reports/hello/2026-11-21_0330").text
    text = appliance.request("/reports/hello/2026-11-21_0330/result.txt").text
    assert 'href="/reports/hello/2026-11-21_0330" aria-label="Back"' in text
    assert appliance.request("/reports/hello/2026-11-20_0330/result.html?raw=1").text.startswith("<svg")
    assert list_reports(appliance, "/reports") == ["hello/result.txt"], "the list has the newest alone"
    dated = appliance.request("/api/v1/reports/hello").json
    assert [each["date"] for each in dated] == ["2026-11-21_0330", "2026-11-20_0330"]
    assert [each["file"] for each in dated[0]["files"]] == ["result.txt", "cross.svg"]
    assert appliance.request("/api/v1/reports/nobody").status == 404


TWEETS = """  tweets:
    kind: tweet
    with: {network: preview, lines: tweets.txt}
networks:
  preview:
    kind: preview
"""


def list_reports(appliance: ServedAppliance, path: str) -> list[str]:
    return re.findall(r'href="/reports/([^"]+)"', appliance.request(path).text)


@pytest.mark.parametrize("path", ["/jobs", "/parts/reports"])
def test_a_job_with_many_reports_leaves_room_for_others(appliance: ServedAppliance, path: str) -> None:
    os.utime(report(appliance, "preview/posts.txt", "x"), (1, 1))
    for number in range(8):
        os.utime(report(appliance, f"pegs/{number}.svg", ""), (10 + number, 10 + number))
    report(appliance, "pegs/result.txt", "x")
    assert list_reports(appliance, path) == ["pegs/result.txt", "pegs/7.svg", "pegs/6.svg", "preview/posts.txt"]
    assert "All reports" in appliance.request(path).text
    assert len(list_reports(appliance, "/reports")) == 10


def test_with_many_jobs_each_shows_its_newest_report(appliance: ServedAppliance) -> None:
    for number in range(5):
        os.utime(report(appliance, f"job{number}/a.txt", "x"), (number, number))
        os.utime(report(appliance, f"job{number}/b.txt", "x"), (10 + number, 10 + number))
    assert list_reports(appliance, "/jobs") == [f"job{number}/b.txt" for number in (4, 3, 2, 1, 0)]


def test_preview_posts_are_on_the_job_page_with_a_link_back(tmp_path: Path) -> None:
    with serving(configuration(tmp_path, jobs=job("hello", "") + TWEETS)) as appliance:
        report(appliance, "preview/posts.txt", "x")
        report(appliance, "old/x.txt", "x")
        assert list_reports(appliance, "/jobs/tweets") == ["preview/posts.txt"]
        assert list_reports(appliance, "/jobs/hello") == []
        assert 'href="/jobs/tweets" aria-label="Back"' in appliance.request("/reports/preview/posts.txt").text
        assert 'href="/reports" aria-label="Back"' in appliance.request("/reports/old/x.txt").text


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


def test_no_path_leads_out_of_the_reports(appliance: ServedAppliance) -> None:
    report(appliance, "hello/x.txt", "x")
    report(appliance, "hello/.hidden", "half")
    folder = appliance.daemon.appliance.config.reports / "hello"
    for half in (".2026-11-21_0330.7.new/half.txt", "2026-11-21_0330/.hidden", "deep/x.txt"):
        report(appliance, f"hello/{half}", "half")
    for link in ("link.txt", "2026-11-21_0330/link.txt"):
        (folder / link).symlink_to(appliance.daemon.appliance.config.path)
    (folder / "2026-11-22_0330").symlink_to(appliance.daemon.appliance.config.state_dir)
    for path in OUTSIDE:
        answer = appliance.request(path)
        assert answer.status == 404, path
        assert "kind: command" not in answer.text, path


def test_a_long_report_is_truncated_with_a_note(appliance: ServedAppliance) -> None:
    report(appliance, "hello/x.txt", "x" * 500_000)
    answer = appliance.request("/reports/hello/x.txt")
    assert len(answer.body) < 410_000
    assert "This is only its beginning" in answer.text
    assert len(appliance.request("/reports/hello/x.txt?raw=1").body) == 500_000


NOWHERE = ["/jobs/helo", "/runs/99", "/nowhere", "/parts/jobs/helo", "/runs/x"]
BEYOND = [
    str(2**63 - 1),
    str(2**63),
    "9" * 20,
    "9" * 5000,
]  # the largest of SQLite, and values that neither it nor int() accepts


@pytest.mark.parametrize(
    "path", [*NOWHERE, *(f"{each}/runs/{number}" for each in ("", "/api/v1") for number in BEYOND)]
)
def test_a_missing_page_is_404_with_a_sentence(appliance: ServedAppliance, path: str) -> None:
    answer = appliance.request(path)
    assert answer.status == 404
    assert "no " in answer.text.lower()
    assert "Traceback" not in answer.text


def test_a_long_history_is_paged(appliance: ServedAppliance) -> None:
    for _ in range(60):
        record(appliance, "hello", Outcome.SUCCEEDED, "")
    first = appliance.request("/jobs/hello").text
    assert "?before=11" in first
    older = appliance.request("/jobs/hello?before=11").text
    assert "/runs/10" in older
    assert "/runs/11" not in older
    assert "?before" not in older


def test_the_history_of_a_removed_job_stays(appliance: ServedAppliance) -> None:
    record(appliance, "gone", Outcome.SUCCEEDED, "long ago")
    text = appliance.request("/jobs/gone").text
    assert "no longer in the configuration" in text
    assert "long ago" in text
    assert appliance.request("/jobs/gone/run", "").status == 404
