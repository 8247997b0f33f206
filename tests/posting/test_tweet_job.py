"""A tweet job run by cron: real processes, the preview file, and a fake X."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from pi_appliance.config.units import Names
from pi_appliance.posting.model import Post
from pi_appliance.posting.networks.bluesky import BlueskyLimits
from pi_appliance.posting.networks.mastodon import MastodonLimits
from pi_appliance.posting.networks.preview import PreviewLimits
from pi_appliance.posting.store import PostDatabase
from pi_appliance.posting.tweet_job import Attach, Options, attach_report
from pi_appliance.storage.history import Store
from pi_appliance.storage.model import Picture, Report
from tests.fakes.x_server import SECRETS, fake_x
from tests.installation import Installation, wait_until

SLOT = "2026-05-01T06:00:00Z"
JOB = "bird:\n  kind: tweet\n  schedule: '0 6 * * *'\n  with: {lines: tweets.txt, network: net}"


def write(installation: Installation, lines: str | bytes | None, network: str = "kind: preview") -> None:
    installation.write(JOB, f"networks:\n  net: {{{network}}}")
    if lines is not None:
        raw = lines.encode() if isinstance(lines, str) else lines
        (installation.folder / "tweets.txt").write_bytes(raw)


def on_slot(installation: Installation, slot: str = SLOT) -> subprocess.CompletedProcess[str]:
    return installation.run("jobs", "run", "bird", "--trigger", "cron", "--slot", slot, environment=SECRETS)


def test_the_preview_shows_the_exact_post(installation):
    write(installation, "# not this\n\nHello from the shelf 🍓\n")
    done = on_slot(installation)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    shown = (installation.state / "reports" / "net" / "posts.txt").read_text("utf-8")
    assert shown == f"--- bird {SLOT}\nHello from the shelf 🍓\n\n"
    assert installation.latest_run("bird")["summary"] == "posted to net: Hello from the shelf 🍓"


@pytest.mark.slow
def test_every_line_is_used_once_per_round(installation):
    write(installation, "one\ntwo\nthree\n")
    for day in range(1, 7):
        on_slot(installation, f"2026-05-{day:02}T06:00:00Z")
    shown = (installation.state / "reports" / "net" / "posts.txt").read_text("utf-8").splitlines()
    lines = [line for line in shown if line and not line.startswith("---")]
    assert sorted(lines[:3]) == sorted(lines[3:]) == ["one", "three", "two"]


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (None, "does not exist; create it with one post per line"),
        ("", "has no line to post"),
        ("# only\n\n# comments\n", "has no line to post"),
        (b"caf\xe9\n", "it is not UTF-8 text"),
        (b"a\0b\0", "it is not UTF-8 text"),
        ("x" * 281 + "\n", "(line 1: 281 of 280 on net)"),
    ],
)
def test_a_file_without_lines_is_a_clear_outcome_in_the_history(installation, lines, says):
    write(installation, lines)
    done = on_slot(installation)
    assert done.returncode == 1
    assert says in done.stderr
    assert (installation.latest_run("bird")["outcome"], says in installation.latest_run("bird")["summary"]) == (
        "failed",
        True,
    )


def test_a_long_line_is_never_sent_and_counted(installation):
    write(installation, "日" * 141 + "\nshort\n")
    on_slot(installation)
    assert installation.latest_run("bird")["summary"] == (
        "posted to net: short; 1 line cannot be posted, see: pi-appliance tweets check"
    )


def test_a_repeated_slot_is_posted_once_on_x(installation):
    with fake_x() as server:
        write(installation, "only once\n", f"kind: x, with: {{server: '{server.address}'}}")
        runs = [on_slot(installation) for _ in range(3)]
    assert [run.returncode for run in runs] == [0, 0, 0]
    assert (server.posts, server.requests) == (["only once"], 1)
    assert installation.latest_run("bird")["outcome"] == "skipped"


def test_a_run_killed_while_waiting_is_abandoned_and_its_post_found_by_the_next_run(installation):
    with fake_x() as server:
        write(installation, "sent but never answered\n", f"kind: x, with: {{server: '{server.address}'}}")
        server.faults.append("hang")
        with installation.start(
            "jobs", "run", "bird", "--trigger", "cron", "--slot", SLOT, environment=SECRETS
        ) as runner:
            wait_until(lambda: server.posts)
            os.kill(runner.pid, signal.SIGKILL)
        wait_until(lambda: "abandoned" in installation.outcomes("bird"))
        on_slot(installation)
    assert server.posts == ["sent but never answered"]
    result, again, _ = installation.json("jobs", "history", "bird")
    assert (again["outcome"], again["summary"]) == ("skipped", f"its slot {SLOT} was used by run 1")
    assert result["summary"] == f"posted to net: of {SLOT}: sent but never answered"


def test_a_lost_answer_is_looked_up_and_found(installation):
    with fake_x() as server:
        write(installation, "perhaps\n", f"kind: x, with: {{server: '{server.address}'}}")
        server.faults.append("cut-after")
        assert on_slot(installation).returncode == 0
    (post,) = installation.json("tweets", "list")["posts"]
    assert (post["state"], post["reason"]) == ("sent", "no answer came; found on the account")
    assert server.posts == ["perhaps"]


@pytest.mark.parametrize("shown_after", [45, 1e9])
def test_a_post_that_x_shows_late_is_not_posted_twice(installation, shown_after):
    with fake_x() as server:
        now, server.lag_seconds, server.refuses_twice = [0.0], shown_after, False
        server.clock = lambda: now[0]
        write(installation, "perhaps\n", f"kind: x, with: {{server: '{server.address}', search-lag: 1s}}")
        server.faults.append("cut-after")
        assert on_slot(installation).returncode == 75
        (post,) = installation.json("tweets", "list")["posts"]
        assert (post["state"], post["reason"]) == ("sending", "no answer came, and a search did not find it yet")
        now[0] = 46

        def settled():
            installation.run("jobs", "run", "bird", "--resume", environment=SECRETS)
            (post,) = json.loads(installation.run("tweets", "list", "--json").stdout)["posts"]
            return post["state"] != "sending" and post

        assert wait_until(settled)["state"] == ("sent" if shown_after == 45 else "uncertain")
        assert server.posts == ["perhaps"]


@pytest.mark.parametrize(("saw", "then"), [("there", 0), ("post", 1), ("drop", 0)])
def test_a_lost_answer_without_a_lookup_is_uncertain_until_the_owner_settles_it(installation, saw, then):
    with fake_x() as server:
        write(installation, "perhaps\n", f"kind: x, with: {{server: '{server.address}', verify-uncertain: false}}")
        server.faults.append("cut-before")
        assert on_slot(installation).returncode == 1
        assert installation.latest_run("bird")["outcome"] == "uncertain"
        status, listed, _ = installation.call("tweets", "list")
        assert (status, b"uncertain" in listed) == (1, True)
        assert installation.run("jobs", "run", "bird", "--resume", environment=SECRETS).returncode == 0
        assert server.posts == [], "never sent again blindly"
        assert installation.call("tweets", "resolve", "1", saw)[0] == 0
        assert installation.call("tweets", "resolve", "1", saw)[0] == 2
        assert installation.run("jobs", "run", "bird", "--resume", environment=SECRETS).returncode == 0
    assert len(server.posts) == then
    assert installation.call("tweets", "list")[0] == 0


def test_keys_come_from_a_private_secrets_file_and_appear_nowhere(installation):
    with fake_x() as server:
        write(installation, "with keys\n", f"kind: x, with: {{server: '{server.address}'}}")
        keys = installation.folder / "secrets.env"
        keys.write_text("# keys\n" + "".join(f"{name}={value}\n" for name, value in SECRETS.items()), "ascii")
        keys.chmod(0o644)
        open_to_all = installation.run("jobs", "run", "bird")
        keys.chmod(0o600)
        closed = installation.run("jobs", "run", "bird")
    assert "can be read by others and is not used; run: chmod 600" in open_to_all.stderr
    assert closed.returncode == 0
    written = b"".join(path.read_bytes() for path in installation.state.rglob("*") if path.is_file())
    output = open_to_all.stderr + open_to_all.stdout + closed.stdout + closed.stderr
    assert not any(value.encode() in written or value in output for value in SECRETS.values())


def test_a_command_job_does_not_get_the_keys(installation):
    installation.write("env:\n  kind: command\n  with: {run: [env]}")
    done = installation.run("jobs", "run", "env", environment=SECRETS)
    assert "PATH=" in done.stdout
    assert "X_CONSUMER" not in done.stdout


def test_the_daemon_does_not_import_tweepy(installation):
    write(installation, "one\n")
    code = (
        "import sys\n"
        "from pi_appliance.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: print('tweepy' in sys.modules)\n"
    )
    words = ["-c", code, "jobs", "list", "--config", str(installation.config)]
    done = subprocess.run(
        [installation.program[0], *words], env=installation.environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "False"


CROSS = "pegs:\n  kind: puzzle\n  with: {puzzle: peg-solitaire, boards: [cross]}\n"


def brag(installation: Installation, options: str) -> str:
    """Solve a board, post about it, and return the preview."""
    installation.write(
        f"{CROSS}brag:\n  kind: tweet\n  with: {{lines: tweets.txt, network: net, report-from: pegs, {options}}}",
        "networks:\n  net: {kind: preview}",
    )
    (installation.folder / "tweets.txt").write_text("Solved on {hostname}: {last-report}\n", "utf-8")
    installation.run("jobs", "run", "pegs")
    assert installation.run("jobs", "run", "brag").returncode == 0
    return (installation.state / "reports" / "net" / "posts.txt").read_text("utf-8")


def test_a_post_shows_a_solved_puzzle_with_a_description(installation):
    shown = brag(installation, "attach: picture")
    assert installation.latest_run("pegs")["summary"] in shown
    assert os.uname().nodename in shown
    assert "[picture: Peg solitaire" in shown


def test_a_post_shows_the_solution_in_motion(installation):
    assert "[picture: Peg solitaire: cross" in brag(installation, "attach: animation")


def test_a_network_without_animations_gets_the_still_picture():
    still, moving = Picture(b"still", "image/png"), Picture(b"moving", "image/gif")
    limits = {"blue": BlueskyLimits(), "preview": PreviewLimits(280), "small": MastodonLimits(picture_bytes=5)}
    posts = {name: [Post("Solved")] for name in limits}
    options = Options(lines=Path("t.txt"), network=Names(limits), attach=Attach.ANIMATION, report_from="pegs")
    attached = attach_report(posts, options, Report("pegs", "solved", "", still, moving), limits)
    assert {name: each[0].pictures for name, each in attached.items()} == {
        "blue": (still,), "preview": (moving,), "small": (still,),
    }  # fmt: skip


def test_a_post_has_as_much_of_a_report_as_fits(installation):
    shown = brag(installation, "attach: report").strip()
    assert shown.endswith("\n…")
    assert "\nStarting Board\n" in shown


@pytest.mark.slow
def test_report_texts_of_a_post_are_of_one_run_even_after_an_interruption(installation):
    first = brag(installation, "attach: report")
    summary = installation.latest_run("pegs")["summary"]
    written = installation.config.read_text("utf-8")
    installation.config.write_text(
        written.replace("boards: [cross]", "boards: [diamond, full], solutions: count"), "utf-8"
    )
    report = installation.state / "reports" / "pegs" / "result.txt"
    with installation.start("jobs", "run", "pegs") as process:
        wait_until(lambda: "full: jump" in installation.run("jobs", "history", "pegs", "--json").stdout, 30)
        process.send_signal(signal.SIGTERM)
    assert report.read_text("utf-8").startswith("diamond")
    later = report.stat().st_mtime + 3_600
    os.utime(report, (later, later))
    installation.config.write_text(written, "utf-8")
    assert installation.run("jobs", "run", "brag").returncode == 0
    posts = (installation.state / "reports" / "net" / "posts.txt").read_text("utf-8").removeprefix(first)
    assert f"{summary}\n\nStarting Board\n" in posts


def test_without_a_report_the_job_to_run_first_is_named(installation):
    installation.write(
        f"{CROSS}brag:\n  kind: tweet\n  with: {{lines: tweets.txt, network: net, report-from: pegs, attach: picture}}",
        "networks:\n  net: {kind: preview}",
    )
    (installation.folder / "tweets.txt").write_text("Solved\n", "utf-8")
    done = installation.run("jobs", "run", "brag")
    assert (done.returncode, "pegs has no report yet; run it first: pi-appliance jobs run pegs" in done.stderr) == (
        1,
        True,
    )


def test_a_line_with_a_missing_value_is_not_used(installation):
    write(installation, "It is {temprature} here\nAll is well\n")
    on_slot(installation)
    assert installation.latest_run("bird")["summary"].startswith("posted to net: All is well; 1 line cannot be posted")


def test_a_picture_of_a_line_is_posted_with_it(installation):
    write(installation, "The sky ![red clouds](sky.png) today\n")
    (installation.folder / "sky.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    on_slot(installation)
    shown = (installation.state / "reports" / "net" / "posts.txt").read_text("utf-8")
    assert "The sky today\n[picture: red clouds]\n" in shown


def test_an_unsent_post_is_sent_once_on_request(installation):
    with fake_x() as server:
        server.faults.append(429)
        write(installation, "patience\n", f"kind: x, with: {{server: '{server.address}'}}")
        assert on_slot(installation).returncode == 75
        assert server.posts == []
        results = [installation.run("jobs", "run", "bird", "--resume", environment=SECRETS) for _ in range(2)]
    assert f"posted to net: of {SLOT}: patience" in results[0].stdout
    assert "nothing was left to send" in results[1].stdout
    assert server.posts == ["patience"]


def test_a_cron_slot_unused_by_chance_still_sends_pending_posts(installation):
    with fake_x() as server:
        write(installation, "patience\n", f"kind: x, with: {{server: '{server.address}'}}")
        installation.config.write_text(
            installation.config.read_text("utf-8").replace(
                "    kind: tweet\n", "    kind: tweet\n    chance: 1/1000000\n"
            )
        )
        server.faults.append(429)
        assert installation.run("jobs", "run", "bird", environment=SECRETS).returncode == 75
        assert server.posts == []
        with Store(installation.state / "history.db") as store, store.writing() as db:
            db.execute("UPDATE posts SET next_attempt_at = created_at")  # its time has come
            db.execute("DELETE FROM network_waits")
        done = on_slot(installation)
        assert (done.returncode, server.posts) == (0, ["patience"])
    summaries = [run["summary"] for run in installation.json("jobs", "history", "bird")]
    assert summaries[:2] == ["posted to net: of run 1: patience", "by chance (1/1000000)"]


@pytest.mark.slow
def test_the_preview_agrees_with_the_next_run(installation):
    installation.write(
        "bird:\n  kind: tweet\n  schedule: '0 * * * *'\n  chance: 2/3\n  misfire-grace: 300d\n"
        "  with: {lines: tweets.txt, network: net}",
        "networks:\n  net: {kind: preview}",
    )
    (installation.folder / "tweets.txt").write_text("".join(f"Thought {number}\n" for number in range(7)), "utf-8")
    coming = installation.json("tweets", "preview", "--count", "12")["slots"]
    for slot in coming:
        assert installation.run("jobs", "run", "bird", "--trigger", "daemon", "--slot", slot["slot"]).returncode == 0
    with Store(installation.state / "history.db") as store:
        posted = {each.slot: each.text for each in PostDatabase(store).newest_posts(limit=100)}
    assert posted == {slot["slot"]: slot["posts"]["net"][0]["text"] for slot in coming if slot["line"]}
    assert len(set(posted.values())) == min(7, len(posted)) > 1
