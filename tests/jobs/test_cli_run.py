"""Command `jobs run` with real processes and a real history."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pi_appliance.system import files
from tests.installation import Installation, is_running, wait_until

SLEEP_CODE = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(60)"


def sleeping_job(seconds: str = "1h") -> str:
    """Return a job whose program starts another one, prints both process ids and waits."""
    inner = json.dumps(SLEEP_CODE)
    outer = (
        f"import subprocess, sys, os; print(os.getpid(), flush=True); subprocess.run([sys.executable, '-c', {inner}])"
    )
    return (
        f"slow:\n  kind: command\n  timeout: {seconds}\n  with:\n    run: {json.dumps([sys.executable, '-c', outer])}"
    )


def pids(installation: Installation) -> list[int]:
    """Return both process ids of the sleeper."""
    log = installation.state / "logs" / "slow" / "1.log"
    words = wait_until(lambda: log.exists() and len(words := log.read_text("ascii").split()) == 2 and words)
    return [int(word) for word in words]


def test_a_manual_run_prints_output_and_outcome(installation):
    installation.write("hello:\n  kind: command\n  with: {run: [echo, grüß, dich]}")
    done = installation.run("jobs", "run", "hello")

    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "grüß dich"
    assert "hello: succeeded" in done.stdout
    assert installation.latest_run("hello")["outcome"] == "succeeded"
    assert "grüß dich" in installation.run("jobs", "log", "1").stdout


def test_control_characters_are_shown_instead_of_sent_to_the_terminal(installation):
    installation.write(r"""evil:
  kind: command
  with: {run: [printf, 'a\033]0;title\007b\r\nc\302\2332J']}""")
    expected = r"a\x1b]0;title\x07b" + "\n" + r"c\x9b2J"
    for words in (("jobs", "run", "evil"), ("jobs", "log", "1")):
        assert expected in installation.run(*words).stdout
    installation.config.write_text("\033[31m: [", "utf-8")
    assert "\033" not in installation.run("jobs", "list").stderr


def test_a_failing_program_fails_the_run_and_its_output_is_stored(installation):
    installation.write(
        "bad:\n  kind: command\n  schedule: '* * * * *'\n  with: {run: [sh, -c, 'echo why it failed; exit 7']}"
    )
    done = installation.run("jobs", "run", "bad", "--trigger", "daemon")

    assert done.returncode == 1
    assert done.stdout == "", "started by a program, it hears of trouble on stderr only"
    assert "ended with status 7" in done.stderr
    assert "why it failed" in installation.run("jobs", "log", "1").stdout


def test_a_missing_program_is_reported_in_one_line(installation):
    installation.write("gone:\n  kind: command\n  with: {run: [/no/such/program]}")
    done = installation.run("jobs", "run", "gone")
    assert done.returncode == 1
    assert done.stderr == "gone: failed in " + done.stderr.split(" in ")[1]
    assert "/no/such/program cannot be run: No such file or directory" in done.stderr


def test_an_impossible_variable_is_reported_in_one_line(installation):
    installation.write("odd:\n  kind: command\n  with: {run: ['true'], environment: {'A=B': c}}")
    done = installation.run("jobs", "run", "odd")
    assert done.returncode == 2
    assert "'A=B' cannot be a variable; write NAME: value" in done.stderr


def test_an_unknown_job_is_reported_with_the_most_similar_name(installation):
    installation.write("tweets:\n  kind: command\n  with: {run: [ls]}")
    done = installation.run("jobs", "run", "tweet")
    assert done.returncode == 2
    assert done.stderr == "pi-appliance: no job is called 'tweet'; did you mean 'tweets'?\n"


def test_the_timeout_ends_the_run_and_all_its_processes(installation):
    installation.write(sleeping_job("1s"))
    done = installation.run("jobs", "run", "slow")

    assert done.returncode == 1
    assert installation.latest_run("slow")["outcome"] == "timed-out"
    assert not any(is_running(pid) for pid in pids(installation))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_ends_all_its_processes(installation, number):
    installation.write(sleeping_job())
    with installation.start("jobs", "run", "slow") as runner:
        started = pids(installation)
        runner.send_signal(number)
        assert runner.wait(20) == 1
    assert installation.latest_run("slow")["outcome"] == "stopped"
    assert not any(is_running(pid) for pid in started)


def test_a_killed_run_is_abandoned_without_orphans_or_locks(installation):
    installation.write(sleeping_job() + "\nother:\n  kind: command\n  with: {run: [ls]}")
    with installation.start("jobs", "run", "slow") as runner:
        started = pids(installation)
        assert installation.latest_run("slow")["outcome"] is None, "it is still active"
        runner.kill()
        runner.wait(20)
    wait_until(lambda: not any(is_running(pid) for pid in started))
    wait_until(lambda: "abandoned" in installation.outcomes("slow"))
    installation.write("slow:\n  kind: command\n  with: {run: ['true']}")
    assert installation.run("jobs", "run", "slow").returncode == 0


def test_a_killed_worker_fails_the_run(installation):
    installation.write(sleeping_job())
    with installation.start("jobs", "run", "slow") as runner:
        outer, _ = pids(installation)
        child = int(Path(f"/proc/{outer}/stat").read_text("ascii").rpartition(")")[2].split()[1])
        os.kill(child, signal.SIGKILL)
        assert runner.wait(20) == 1
    assert installation.latest_run("slow")["outcome"] == "failed"
    assert "by signal 9" in installation.latest_run("slow")["summary"]
    wait_until(lambda: not is_running(outer))


def test_a_job_never_overlaps_itself(installation):
    installation.write(sleeping_job())
    with installation.start("jobs", "run", "slow") as first:
        pids(installation)
        second = installation.run("jobs", "run", "slow")
        assert second.returncode == 0
        assert "skipped: run 1 is still active" in second.stdout
        first.terminate()
    assert [run["outcome"] for run in installation.json("jobs", "history")] == ["skipped", "stopped"]


def test_an_unavailable_service_is_retried_and_exits_75(installation):
    (installation.folder / "tweets.txt").write_text("hello\n", "utf-8")
    rest = "networks: {bird: {kind: x, with: {server: 'http://127.0.0.1:9'}}}"
    installation.write(
        "post:\n  kind: tweet\n  retry: {max-retries: 2, delay: 0s}\n  with: {lines: tweets.txt, network: bird}", rest
    )
    keys = dict.fromkeys(("X_CONSUMER_KEY", "X_CONSUMER_SECRET", "X_ACCESS_TOKEN", "X_ACCESS_TOKEN_SECRET"), "k")
    done = installation.run("jobs", "run", "post", environment=keys)

    assert done.returncode == 75
    assert installation.latest_run("post")["attempts"] == 3
    assert "at try 3: bird: not posted yet: X cannot be reached" in done.stderr


@pytest.mark.parametrize(
    ("name", "outcome", "says"),
    [("post", "succeeded", "posted to bird: hello"), ("renamed", "failed", "no job is called 'post'")],
)
def test_a_configuration_may_change_between_attempts(installation, name, outcome, says):
    (installation.folder / "tweets.txt").write_text("hello\n", "utf-8")
    job = "kind: tweet\n  retry: {max-retries: 1, delay: 1s}\n  with: {lines: tweets.txt, network: bird}"
    installation.write(f"post:\n  {job}", "networks: {bird: {kind: x, with: {server: 'http://127.0.0.1:9'}}}")
    keys = dict.fromkeys(("X_CONSUMER_KEY", "X_CONSUMER_SECRET", "X_ACCESS_TOKEN", "X_ACCESS_TOKEN_SECRET"), "k")
    runner = installation.start("jobs", "run", "post", environment=keys)
    wait_until(
        lambda: (
            (lock_status := files.read_lock_status(installation.state / "locks" / "post.lock"))
            and lock_status[2].startswith("try 2")
        )
    )
    installation.write(f"{name}:\n  {job}", "networks: {bird: {kind: preview}}")
    text = installation.config.read_text("utf-8")
    installation.config.write_text(text.replace(str(installation.state), str(installation.folder / "other")), "utf-8")
    output = runner.communicate(timeout=30)[0]
    assert says in output
    assert f"post: {outcome}" in output
    assert not (installation.folder / "other").exists()


def test_a_slot_is_used_once_by_concurrent_runs(installation):
    installation.write("daily:\n  kind: command\n  schedule: '@daily'\n  with: {run: ['true']}")
    runners = [
        installation.start("jobs", "run", "daily", "--trigger", "cron", "--slot", "2026-01-01T00:00:00Z")
        for _ in range(5)
    ]
    for runner in runners:
        runner.communicate(timeout=60)
    outcomes = [run["outcome"] for run in installation.json("jobs", "history")]
    assert sorted(outcomes) == ["skipped"] * 4 + ["succeeded"]


def test_a_late_run_by_cron_is_a_misfire(installation):
    installation.write("rare:\n  kind: command\n  schedule: 0 0 1 1 *\n  with: {run: ['true']}")
    done = installation.run("jobs", "run", "rare", "--trigger", "cron")
    assert done.returncode == 1
    assert "misfired: its schedule has no slot now" in done.stderr


def test_jobs_next_predicts_the_chance(installation):
    installation.write("dice:\n  kind: command\n  schedule: '* * * * *'\n  chance: 1/3\n  with: {run: ['true']}")
    slots = installation.json("jobs", "next", "dice", "--count", "8")
    for slot in slots:
        installation.run("jobs", "run", "dice", "--trigger", "daemon", "--slot", slot["slot"])
    ran = {run["scheduled_for"]: run["outcome"] for run in installation.json("jobs", "history")}
    assert ran == {slot["slot"]: "succeeded" if slot["selected"] else "skipped" for slot in slots}


def test_a_manual_run_ignores_the_chance_by_default(installation):
    installation.write(
        "never:\n  kind: command\n  schedule: '* * * * *'\n  chance: 1/999999999\n  with: {run: ['true']}"
    )
    assert "succeeded" in installation.run("jobs", "run", "never").stdout
    assert "by chance (1/999999999)" in installation.run("jobs", "run", "never", "--as-scheduled").stdout


def test_a_long_log_is_shortened_with_a_note(installation):
    installation.write(
        "loud:\n  kind: command\n  schedule: '* * * * *'\n  with: {run: [head, -c, '1500000', /dev/zero]}"
    )
    assert installation.run("jobs", "run", "loud", "--trigger", "daemon").returncode == 0
    log = (installation.state / "logs" / "loud" / "1.log").read_bytes()
    assert len(log) < 1_001_000
    assert "500,000 bytes of output omitted" in log.decode()


def test_an_unusable_state_folder_exits_75(installation):
    installation.write("a:\n  kind: command\n  with: {run: ['true']}")
    installation.state.write_text("a file where the folder should be", "ascii")
    done = installation.run("jobs", "run", "a")
    assert done.returncode == 75
    assert done.stderr.count("\n") == 1
    assert str(installation.state) in done.stderr


def test_a_damaged_history_is_set_aside(installation):
    installation.write("a:\n  kind: command\n  with: {run: ['true']}")
    installation.run("jobs", "run", "a")
    for name in ("history.db", "history.db-wal"):
        (installation.state / name).write_bytes(b"not a database at all" * 500)
    done = installation.run("jobs", "list")
    assert done.returncode == 0
    assert "is damaged" in done.stderr
    assert "set aside as history.db.damaged-" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_closed_pipe_causes_no_traceback(installation):
    installation.write("a:\n  kind: command\n  schedule: '* * * * *'\n  with: {run: ['true']}")
    words = " ".join(f"'{word}'" for word in (sys.executable, "-m", "pi_appliance", "jobs", "next"))
    line = f"{words} --count 1000 --config '{installation.config}' | head -1"
    done = subprocess.run(
        ["sh", "-c", line], env=installation.environment(), capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_a_short_lock_of_another_process_costs_no_slot(installation):
    installation.write("a:\n  kind: command\n  schedule: '@daily'\n  with: {run: ['true']}")
    installation.json("jobs", "list")
    with files.acquire_lock(installation.state / "locks" / "a.lock") as lock:
        assert lock is not None
        runner = installation.start("jobs", "run", "a", "--slot", "2026-01-01T00:00:00Z")
        wait_until(lambda: "a.lock" in open_files(runner.pid))
    runner.communicate(timeout=30)
    assert installation.latest_run("a")["outcome"] == "succeeded"


def open_files(pid: int) -> str:
    """Return the names of the files that a process has open."""
    names = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # closed meanwhile
            names.append(str(path.readlink()))
    return " ".join(names)


LASTING = "lasting:\n  kind: command\n  with: {directory: ., run: [sh, -c, 'seq 9; sleep 0.3; seq 9; touch done']}"


@pytest.mark.slow_variants
@pytest.mark.parametrize("output", ["| head -1", ">&-", "> /dev/full", ">&- 2>&-"])
def test_a_run_ends_normally_without_a_reader(installation, output):
    installation.write(LASTING)
    words = " ".join(
        f"'{word}'" for word in (*installation.program, "jobs", "run", "lasting", "--config", str(installation.config))
    )
    done = subprocess.run(
        ["sh", "-c", f"{words} {output}"], env=installation.environment(), capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert (installation.folder / "done").exists()
    assert installation.latest_run("lasting")["outcome"] == "succeeded"


def test_a_run_ends_normally_without_a_log(installation):
    installation.write(LASTING)
    installation.state.mkdir()
    (installation.state / "logs").write_text("a file where the folder should be", "ascii")
    assert installation.run("jobs", "run", "lasting").returncode == 0
    assert (installation.folder / "done").exists()
    run = installation.latest_run("lasting")
    assert run["outcome"] == "succeeded"
    assert "logs/lasting cannot be written" in run["summary"]


@pytest.mark.parametrize(
    "slot", ["", "noon", "2026-05-01 06:00", "2026-05-01T06:00:00Z\n", "2026-13-01T06:00:00Z", b"\xff"]
)
def test_an_invalid_slot_is_refused(installation, slot):
    installation.write("daily:\n  kind: command\n  schedule: '@daily'\n  with: {run: ['true']}")
    done = installation.run("jobs", "run", "daily", "--slot", os.fsdecode(slot))
    assert done.returncode == 2
    assert "is not a slot" in done.stderr
    assert installation.json("jobs", "history") == []


@pytest.mark.parametrize("words", [("log", "9" * 30), ("history", os.fsdecode(b"\xff")), ("run", os.fsdecode(b"\xff"))])
def test_impossible_numbers_and_names_are_refused(installation, words):
    installation.write("a:\n  kind: command\n  with: {run: ['true']}")
    done = installation.run("jobs", *words)
    assert done.returncode == 2
    assert "must be a" in done.stderr


@pytest.mark.parametrize("due", ["2026-05-01T06:01:00Z", "2026-05-01T06:00:01Z"])
def test_a_slot_of_another_time_is_refused_with_the_next_one(installation, due):
    installation.write("daily:\n  kind: command\n  schedule: '0 6 * * *'\n  with: {run: ['true']}")
    done = installation.run("jobs", "run", "daily", "--trigger", "cron", "--slot", due)
    assert done.returncode == 2
    assert f"no slot of daily is called '{due}'; did you mean '2026-05-02T06:00:00Z'?" in done.stderr
    assert installation.json("jobs", "history", "daily") == []


def test_a_slot_on_a_day_that_does_not_exist_is_refused(installation):
    installation.write("daily:\n  kind: command\n  schedule: '0 6 * * *'\n  with: {run: ['true']}")
    status, _, errors = installation.call("jobs", "run", "daily", "--slot", "2026-02-30T06:00:00Z")
    assert (status, "no slot of daily is called '2026-02-30T06:00:00Z'" in errors) == (2, True)


def test_a_slot_used_early_is_shown_as_used(installation):
    installation.write("daily:\n  kind: command\n  schedule: '0 6 * * *'\n  with: {run: ['true']}")
    first, second = installation.json("jobs", "next", "daily", "--count", "2")
    installation.run("jobs", "run", "daily", "--slot", first["slot"])
    again = installation.json("jobs", "next", "daily", "--count", "2")
    assert [(slot["used"], slot["selected"]) for slot in again] == [(True, False), (False, True)]
    assert again[1]["slot"] == second["slot"]


def test_an_active_run_is_listed_before_a_later_skipped_one(installation):
    installation.write(sleeping_job())
    with installation.start("jobs", "run", "slow") as first:
        pids(installation)
        installation.run("jobs", "run", "slow")
        assert installation.json("jobs", "list")[0]["last"]["id"] == 1
        first.terminate()


def test_a_missing_cron_entry_is_reported(installation):
    installation.write("post:\n  kind: command\n  schedule: '@daily'\n  started-by: cron\n  with: {run: ['true']}")
    assert "post: cron has no entry for it" in installation.run("jobs", "list").stderr


def test_a_failed_run_names_its_log(installation):
    installation.write("bad:\n  kind: command\n  with: {run: ['false']}")
    assert installation.run("jobs", "run", "bad").stderr.endswith("see: pi-appliance jobs log 1\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can meet the state of another user")
def test_root_does_not_touch_the_state_of_another_user(installation):
    installation.write("a:\n  kind: command\n  with: {run: ['true']}")
    installation.state.mkdir()
    os.chown(installation.state, 65534, 65534)
    done = installation.run("jobs", "list")
    assert done.returncode == 1
    assert "belongs to nobody; run this as that user: sudo -u nobody pi-appliance" in done.stderr
    assert list(installation.state.iterdir()) == []


BY_CHANCE = """
bot:
  kind: command
  schedule: "@daily"
  misfire-grace: 25h
  chance: 1/1000000
  started-by: cron
  with: {run: ["true"]}
"""


def test_a_pause_also_holds_after_a_predicted_slot(installation):
    installation.write(BY_CHANCE)
    before = (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT00:00:00Z")
    installation.run("jobs", "run", "bot", "--trigger", "cron", "--slot", before)
    installation.run("jobs", "pause", "bot")
    assert installation.run("jobs", "run", "bot", "--trigger", "cron").returncode == 0
    assert installation.latest_run("bot")["summary"] == "paused"


def test_a_run_does_not_import_optional_libraries(installation):
    installation.write(BY_CHANCE, "player: {kind: mpd}\nnetworks: {bird: {kind: x}}")
    done = installation.run("jobs", "run", "bot", environment={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "yaml" in loaded
    assert not loaded & {"asyncio", "mpd", "crontab", "tweepy", "requests", "starlette"}
