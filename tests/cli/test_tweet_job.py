"""A tweet job as cron runs it: real processes, the preview file, and a fake X over a real socket."""

import os
import signal
import subprocess

import pytest

from tests.fakes.x_server import SECRETS, fake_x
from tests.house import House, until

SLOT = "2026-05-01T06:00:00Z"
JOB = "bird:\n  kind: tweet\n  schedule: '0 6 * * *'\n  with: {lines: tweets.txt, network: net}"


def write(house: House, lines: str | bytes | None, network: str = "kind: preview") -> None:
    house.write(JOB, f"networks:\n  net: {{{network}}}")
    if lines is not None:
        raw = lines.encode() if isinstance(lines, str) else lines
        (house.folder / "tweets.txt").write_bytes(raw)


def on_slot(house: House, slot: str = SLOT) -> subprocess.CompletedProcess[str]:
    return house.run("jobs", "run", "bird", "--by", "cron", "--due", slot, environment=SECRETS)


def test_the_preview_shows_exactly_what_would_have_been_posted(house):
    write(house, "# not this\n\nHello from the shelf 🍓\n")
    done = on_slot(house)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    shown = (house.state / "reports" / "net" / "posts.txt").read_text("utf-8")
    assert shown == f"--- bird {SLOT}\nHello from the shelf 🍓\n\n"
    assert house.last("bird")["summary"] == "posted to net: Hello from the shelf 🍓"


def test_every_line_gets_its_turn_over_many_slots(house):
    write(house, "one\ntwo\nthree\n")
    for day in range(1, 21):
        on_slot(house, f"2026-05-{day:02}T06:00:00Z")
    shown = (house.state / "reports" / "net" / "posts.txt").read_text("utf-8")
    assert {line for line in shown.splitlines() if line and not line.startswith("---")} == {"one", "two", "three"}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (None, "is not there; write it, one post a line"),
        ("", "holds no line to post"),
        ("# only\n\n# comments\n", "holds no line to post"),
        (b"caf\xe9\n", "it is not UTF-8 text"),
        ("x" * 281 + "\n", "(line 1: 281 of 280 on net)"),
    ],
)
def test_a_file_with_nothing_to_post_is_a_clear_outcome_in_the_history(house, lines, says):
    write(house, lines)
    done = on_slot(house)
    assert done.returncode == 1
    assert says in done.stderr
    assert (house.last("bird")["outcome"], says in house.last("bird")["summary"]) == ("failed", True)


def test_a_line_that_is_too_long_is_never_sent_and_counted(house):
    write(house, "日" * 141 + "\nshort\n")
    on_slot(house)
    assert house.last("bird")["summary"] == (
        "posted to net: short; 1 line cannot be posted, see: pi-appliance tweets check"
    )


def test_on_x_a_slot_is_posted_once_however_often_it_comes(house):
    with fake_x() as server:
        write(house, "only once\n", f"kind: x, with: {{server: '{server.address}'}}")
        runs = [on_slot(house) for _ in range(3)]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert (server.posts, server.requests) == (["only once"], 1)
    assert house.last("bird")["outcome"] == "skipped"


def test_killed_while_it_waits_for_xs_answer_it_is_abandoned_and_the_slot_is_not_posted_again(house):
    with fake_x() as server:
        write(house, "sent but never answered\n", f"kind: x, with: {{server: '{server.address}'}}")
        server.faults.append("hang")
        with house.start("jobs", "run", "bird", "--by", "cron", "--due", SLOT, environment=SECRETS) as runner:
            until(lambda: server.posts)
            os.kill(runner.pid, signal.SIGKILL)
        until(lambda: house.last("bird")["outcome"] == "abandoned")
        on_slot(house)
    assert server.requests == 1
    assert house.last("bird")["outcome"] == "skipped"


def test_an_answer_that_never_came_is_uncertain_told_and_not_tried_again(house):
    with fake_x() as server:
        write(house, "perhaps\n", f"kind: x, with: {{server: '{server.address}'}}")
        server.faults.append("cut-after")
        done = on_slot(house)
    assert done.returncode == 1
    assert house.last("bird")["outcome"] == "uncertain"
    assert server.requests == 1


def test_keys_come_from_secrets_env_if_only_the_owner_can_read_it_and_show_up_nowhere(house):
    with fake_x() as server:
        write(house, "with keys\n", f"kind: x, with: {{server: '{server.address}'}}")
        keys = house.folder / "secrets.env"
        keys.write_text("# keys\n" + "".join(f"{name}={value}\n" for name, value in SECRETS.items()), "ascii")
        keys.chmod(0o644)
        open_to_all = house.run("jobs", "run", "bird")
        keys.chmod(0o600)
        closed = house.run("jobs", "run", "bird")
    assert "can be read by others and is not used; run: chmod 600" in open_to_all.stderr
    assert closed.returncode == 0
    written = b"".join(path.read_bytes() for path in house.state.rglob("*") if path.is_file())
    told = open_to_all.stderr + open_to_all.stdout + closed.stdout + closed.stderr
    assert not any(value.encode() in written or value in told for value in SECRETS.values())


def test_a_program_run_as_a_job_does_not_get_the_keys(house):
    house.write("env:\n  kind: command\n  with: {run: [env]}")
    done = house.run("jobs", "run", "env", environment=SECRETS)
    assert "PATH=" in done.stdout
    assert "X_CONSUMER" not in done.stdout


def test_the_idle_parts_never_load_tweepy(house):
    write(house, "one\n")
    code = (
        "import sys\n"
        "from pi_appliance.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: print('tweepy' in sys.modules)\n"
    )
    words = ["-c", code, "jobs", "list", "--config", str(house.config)]
    done = subprocess.run(
        [house.program[0], *words], env=house.environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "False"
