"""Runs with options of their own, and failures that are dismissed: command line, API and page."""

import urllib.error
import urllib.request
from urllib.parse import urlencode

import pytest

from tests.installation import Installation
from tests.test_daemon import running_daemon

JOBS = """
daily: {kind: tweet, schedule: "@daily", chance: 1/1000, with: {lines: lines.txt, network: here}}
solve: {kind: puzzle, with: {puzzle: sudoku, boards: [sample]}}
announce: {kind: music, with: {action: announce}}
fail: {kind: command, with: {run: ["false"]}}
"""
REST = "networks: {here: {kind: preview}}\nweb: {port: 0}\n"


@pytest.fixture
def home(installation: Installation) -> Installation:
    installation.write(JOBS, REST)
    (installation.folder / "lines.txt").write_text("From the file.\n")
    return installation


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("fail", "--with", "run=id"), "fail takes no options for one run: its kind, command, has none"),
        (("daily", "--with", "txt=x"), "'txt' is not an option for one run of daily; did you mean 'text'?"),
        (("daily", "--with", "lines=/etc/passwd"), "'lines' is not an option for one run of daily"),
        (("daily", "--with", "text"), "write KEY=VALUE"),
        (("solve", "--with", "generate=-1"), "-1 is not a valid number of boards"),
        (("announce", "--with", "volume=20"), "announce cannot run: nothing to announce; give a text or a source"),
        (("announce", "--with", "text=x", "--with", "source=y"), "a job announces one thing"),
    ],
)
def test_what_a_run_does_not_take_is_refused_in_one_line(home: Installation, words: tuple[str, ...], says: str) -> None:
    done = home.run("jobs", "run", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert says in done.stderr
    assert home.json("jobs", "history") == []


def test_a_run_takes_its_options_and_is_manual_with_and_without_a_daemon(home: Installation) -> None:
    before = home.config.read_text()
    assert "by hand" in home.run("jobs", "run", "daily", "--with", "text=by hand").stdout
    with running_daemon(home) as daemon:
        done = home.run("jobs", "run", "daily", "--with", "text=by the daemon")
        assert "posted to here: by the daemon" in done.stdout
        page = f"{daemon.page}/jobs/solve/run"
        form = urlencode({"with.generate": "1", "with.boards": "seventeen\r\n"}).encode()
        with urllib.request.urlopen(page, form) as answer:
            assert "/runs/" in answer.url
            assert "<dt>Started by</dt><dd>hand</dd>" in answer.read().decode()
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{daemon.page}/jobs/announce/run", b"with.volume=20")
        text = refused.value.read().decode()
        assert "nothing to announce" in text
        assert 'value="20"' in text, "the typed value is not lost"
        with urllib.request.urlopen(f"{daemon.page}/jobs/announce") as answer:
            shown = answer.read().decode()
        assert shown.count(">Run now</button>") == 1, "only with a text"
        with urllib.request.urlopen(f"{daemon.page}/jobs") as answer:
            assert "job-announce" not in answer.read().decode()
    runs = home.json("jobs", "history", "daily")
    assert [(run["trigger"], run["outcome"]) for run in runs] == [("manual", "succeeded")] * 2
    assert home.config.read_text() == before
    assert home.json("jobs", "history", "announce") == []


def test_a_dismissed_failure_is_hidden_until_the_job_fails_again(home: Installation) -> None:
    def is_failing() -> bool:
        return next(job["failing"] for job in home.json("jobs", "list") if job["job"] == "fail")

    assert home.run("jobs", "dismiss", "fail").stderr.endswith("shows no failure, so there is nothing to dismiss\n")
    home.run("jobs", "run", "fail")
    assert is_failing()
    assert home.run("jobs", "dismiss", "fail").stdout == "the failure of fail in run 1 is dismissed\n"
    assert not is_failing()
    assert "failed (dismissed)" in home.run("jobs", "list").stdout
    assert home.run("jobs", "dismiss", "fail").returncode == 1
    assert home.latest_run("fail")["outcome"] == "failed", "the history still has it"
    home.run("jobs", "run", "fail")
    assert is_failing()
