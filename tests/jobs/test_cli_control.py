"""Commands `jobs pause`, `resume`, `cancel` and `history --slots`, and runs by cron with `concurrency` and `jitter`."""

import signal
from datetime import UTC, datetime, timedelta

import pytest

from pi_appliance.scheduling.chance import uniform_for_slot
from tests.installation import Installation, catches_sigterm, is_running, wait_until

MINUTELY = "tick:\n  kind: command\n  schedule: '* * * * *'\n  with: {run: ['true']}\n"
LONG = (
    "long:\n  kind: command\n  schedule: '* * * * *'\n  concurrency: %s\n"
    "  with: {run: [sh, -c, 'echo $$ >> pids; sleep 60']}\n"
)


def pids(installation: Installation) -> list[int]:
    path = installation.folder / "pids"
    return [int(line) for line in path.read_text("utf-8").split()] if path.exists() else []


def last_minute() -> str:
    return datetime.now(UTC).replace(second=0, microsecond=0).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_paused_job_runs_only_manually(installation: Installation) -> None:
    installation.write(MINUTELY)
    assert "tick is paused until you resume it" in installation.run("jobs", "pause", "tick").stdout
    assert "paused" in installation.run("jobs", "list").stdout
    assert installation.json("jobs", "list")[0]["paused"]["until"] is None
    assert "skipped: paused" in installation.run("jobs", "next", "tick").stdout
    assert installation.run("jobs", "run", "tick", "--trigger", "cron").returncode == 0
    assert (installation.latest_run("tick")["outcome"], installation.latest_run("tick")["summary"]) == (
        "skipped",
        "paused",
    )
    assert installation.run("jobs", "run", "tick").returncode == 0
    assert installation.latest_run("tick")["outcome"] == "succeeded"
    assert "tick is resumed; next slot: " in installation.run("jobs", "resume", "tick").stdout
    assert "skipped: paused" not in installation.run("jobs", "next", "tick").stdout


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (("pause", "tick", "--for", "soon"), 2, "must be a duration"),
        (("pause", "tik"), 2, "did you mean 'tick'?"),
        (("pause", "hand"), 1, "hand has no schedule, so there is nothing to pause"),
        (("resume", "tick"), 1, "tick is not paused"),
        (("cancel", "tick"), 1, "no run of tick is active"),
    ],
)
def test_a_refused_command_prints_one_line(
    installation: Installation, words: tuple[str, ...], status: int, says: str
) -> None:
    installation.write(MINUTELY + "hand:\n  kind: command\n  with: {run: ['true']}\n")
    done = installation.run("jobs", *words)
    assert done.returncode == status
    assert says in done.stderr


def test_a_pause_prints_its_end_and_is_limited(installation: Installation) -> None:
    installation.write(MINUTELY)
    assert "tick is paused until " in installation.run("jobs", "pause", "tick", "--for", "2h").stdout
    refused = installation.run("jobs", "pause", "tick", "--for", "99999999d")
    assert (refused.returncode, "'for' must be from 1s to 3650d" in refused.stderr) == (2, True)


def test_a_cancelled_run_ends_with_all_its_processes(installation: Installation) -> None:
    installation.write(LONG % "skip")
    run = installation.start("jobs", "run", "long")
    wait_until(lambda: pids(installation))
    assert "was asked to end" in installation.run("jobs", "cancel", "long").stdout
    assert run.wait(20) == 1
    assert (installation.latest_run("long")["outcome"], installation.latest_run("long")["summary"]) == (
        "stopped",
        "cancelled by a person",
    )
    assert not any(is_running(pid) for pid in pids(installation))
    run.communicate(timeout=60)


def test_a_replacing_slot_ends_the_active_run(installation: Installation) -> None:
    installation.write(LONG % "replace")
    first = installation.start("jobs", "run", "long")
    wait_until(lambda: pids(installation))
    second = installation.start("jobs", "run", "long", "--trigger", "cron")
    assert first.wait(20) == 1
    wait_until(lambda: len(pids(installation)) == 2)
    before, now = reversed(installation.json("jobs", "history", "long"))
    assert before["summary"].startswith("replaced by 20")
    assert now["outcome"] is None
    assert [is_running(pid) for pid in pids(installation)] == [False, True]
    second.send_signal(signal.SIGTERM)
    assert second.wait(20) == 1
    for each in (first, second):
        each.communicate(timeout=60)


def test_runs_of_cron_wait_for_a_place_without_a_daemon(installation: Installation) -> None:
    installation.write(LONG % "skip" + MINUTELY, "max-concurrent-runs: 1")
    first = installation.start("jobs", "run", "long", "--trigger", "cron")
    wait_until(lambda: pids(installation))
    slot = (datetime.now(UTC) - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:00Z")
    installation.run("jobs", "run", "tick", "--trigger", "cron", "--slot", slot)
    assert (installation.latest_run("tick")["outcome"], installation.latest_run("tick")["summary"]) == (
        "misfired",
        "more than 5m late: it waited for other runs to end (1 may be active at the same time)",
    )
    assert installation.run("jobs", "run", "tick").returncode == 0, "a person does not wait"
    stopped = installation.start("jobs", "run", "tick", "--trigger", "cron")
    wait_until(lambda: catches_sigterm(stopped.pid))
    stopped.send_signal(signal.SIGTERM)
    assert stopped.wait(20) == 75
    assert installation.outcomes("tick") == ["succeeded", "misfired"]
    waiting = installation.start("jobs", "run", "tick", "--trigger", "cron")
    installation.run("jobs", "cancel", "long")
    assert waiting.wait(20) == 0
    assert installation.outcomes("tick").count("succeeded") == 2
    for each in (first, stopped, waiting):
        each.communicate(timeout=60)


def test_a_queued_slot_of_cron_waits_for_the_active_run(installation: Installation) -> None:
    installation.write(LONG % "queue")
    first = installation.start("jobs", "run", "long")
    wait_until(lambda: pids(installation))
    second = installation.start("jobs", "run", "long", "--trigger", "cron")
    installation.run("jobs", "cancel", "long")
    wait_until(lambda: len(pids(installation)) == 2, 20)
    installation.run("jobs", "cancel", "long")
    for each in (first, second):
        assert each.wait(20) == 1
        each.communicate(timeout=60)


def test_a_run_by_cron_waits_for_its_jitter(installation: Installation) -> None:
    installation.write(MINUTELY + "  jitter: 3s\n  misfire-grace: 10m\n")
    installation.run("jobs", "list")  # makes the secret
    secret = (installation.state / "secret.key").read_bytes()
    # A slot whose jitter ends now or in a few seconds: the run does not start earlier.
    begun = datetime.now(UTC)
    due = last_minute()
    assert installation.run("jobs", "run", "tick", "--trigger", "cron").returncode == 0
    run = installation.latest_run("tick")
    begins = datetime.fromisoformat(run["scheduled_for"]) + timedelta(seconds=3) * uniform_for_slot(
        secret, "tick", run["scheduled_for"]
    )
    assert datetime.fromisoformat(run["started"]) >= begins.replace(microsecond=0)
    assert run["scheduled_for"] >= due
    assert begun < begins + timedelta(minutes=2)


def test_slots_that_cron_missed_are_recorded_with_the_next_one(installation: Installation) -> None:
    installation.write(MINUTELY.replace("schedule:", "started-by: cron\n  schedule:"))
    slots = [datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=ago) for ago in (5, 1)]
    for at in slots:
        installation.run("jobs", "run", "tick", "--trigger", "cron", "--slot", at.strftime("%Y-%m-%dT%H:%M:%SZ"))
    output = installation.json("jobs", "history", "tick", "--slots")
    assert [each["outcome"] for each in output[-5:]] == ["succeeded", "misfired", "misfired", "misfired", "succeeded"]
    assert "cron did not start it" in output[-2]["summary"]


def test_slots_are_shown_without_gaps_as_table_and_json(installation: Installation) -> None:
    installation.write(MINUTELY)
    assert installation.run("jobs", "history", "--slots").stdout == "there are no past slots yet\n"
    assert installation.run("jobs", "reports").stdout == "there are no reports yet\n"
    installation.run("jobs", "run", "tick", "--trigger", "cron")
    slot = installation.json("jobs", "history", "--slots")[-1]  # the minute may have passed since
    assert (slot["job"], slot["outcome"], slot["run"]) == ("tick", "succeeded", 1)
    assert "true ended well" in installation.run("jobs", "history", "tick", "--slots").stdout
