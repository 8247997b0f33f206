"""The Monkey Bard run by a user and by cron: real processes, the preview file, kill -9."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pi_appliance.posting.monkey_bard_state import Keyboard, Progress, advance, prepare_target
from tests.installation import ROOT, Installation, wait_until

SEED, KILLS = 7, 12
NETWORKS = "networks: {net: {kind: preview}}"


def write(installation: Installation, *more: str) -> None:
    options = "".join(f"\n    {line}" for line in ("text: sonnet.txt", f"seed: {SEED}", *more))
    installation.write(f"bard:\n  kind: monkey-bard\n  schedule: '0 * * * *'\n  with:{options}", NETWORKS)
    (installation.folder / "sonnet.txt").write_bytes((ROOT / "config" / "sonnet.txt").read_bytes())


def by_hand(installation: Installation) -> subprocess.CompletedProcess[str]:
    return installation.run("jobs", "run", "bard")


def memory(installation: Installation) -> Path:
    return installation.state / "memory" / "bard.txt"


def read_state(installation: Installation) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(memory(installation).read_text("utf-8"))
    return result


def report(installation: Installation) -> str:
    return (installation.state / "reports" / "bard" / "result.txt").read_text("utf-8")


def posts(installation: Installation) -> list[str]:
    path = installation.state / "reports" / "net" / "posts.txt"
    return path.read_text("utf-8").split("--- ")[1:] if path.exists() else []


def straight(keystrokes: int) -> list[int]:
    """Return the state after `keystrokes` keys without an interruption."""
    target = prepare_target((ROOT / "config" / "sonnet.txt").read_text("utf-8"), Keyboard.LETTERS, "sonnet.txt")
    place = Progress()
    while place.keystrokes < keystrokes:
        place, _ = advance(place, target, SEED, keystrokes - place.keystrokes)
    return [place.keystrokes, place.block, place.offset, place.matched, place.overlap]


def test_it_types_reports_and_shows_once(installation):
    write(installation, "network: net")
    done = by_hand(installation)

    assert done.returncode == 0
    assert "100,000 keystrokes: “sha”, 3 of 597 letters; the next letter in about 531,000 more (6 runs)" in done.stdout
    assert report(installation).startswith(
        "Typed so far: [sha]ll i compare thee to a summers day\n\nKeystrokes:   100,000 since "
    )
    assert "Next letter:  expected after 531,441 more keystrokes: 6 runs\n" in report(installation)
    assert installation.latest_run("bard")["details"]["keystrokes"] == 100_000
    assert "posted" not in by_hand(installation).stdout
    assert len(posts(installation)) == 1
    assert "“sha”" in posts(installation)[0]


def test_without_a_network_it_only_types(installation):
    write(installation)
    assert by_hand(installation).returncode == 0
    assert posts(installation) == []


def test_a_slot_is_typed_once(installation):
    write(installation)
    for _ in range(2):
        installation.run("jobs", "run", "bard", "--trigger", "cron", "--slot", "2026-05-01T06:00:00Z")
    assert read_state(installation)["progress"][0] == 100_000


def test_two_small_runs_are_one_large_run(installation, tmp_path):
    write(installation, "keystrokes: 150000")
    by_hand(installation)
    by_hand(installation)
    (tmp_path / "other").mkdir()
    other = Installation(tmp_path / "other")
    write(other, "keystrokes: 300000")
    by_hand(other)
    assert read_state(installation)["progress"] == read_state(other)["progress"] == straight(300_000)


@pytest.mark.parametrize("kills", [3, pytest.param(KILLS, marks=pytest.mark.faults)])
def test_a_kill_at_any_time_keeps_up_with_the_published_report(installation, kills):
    write(installation, "keystrokes: 30000000", "network: net", "announce: every-run")
    random, count = Random(SEED), 0
    for _ in range(kills):
        started = installation.start("jobs", "run", "bard")
        time.sleep(random.uniform(0.1, 0.8))  # it ends after half a second or so: before, while and after it posts
        started.send_signal(signal.SIGKILL)
        started.communicate(timeout=60)
        shown = installation.state / "reports" / "bard" / "result.txt"
        output = [int(each.replace(",", "")) for each in re.findall(r"([\d,]{10,}) key", "".join(posts(installation)))]
        if shown.exists():
            output += [int(re.findall(r"Keystrokes: +([\d,]+)", report(installation))[0].replace(",", ""))]
        # This is read last, because a run ends a moment after its parent.
        saved_progress = read_state(installation)["progress"] if memory(installation).exists() else straight(0)
        assert saved_progress == straight(saved_progress[0])
        assert saved_progress[0] >= max([count, *output])
        count = saved_progress[0]
    wait_until(lambda: by_hand(installation).returncode == 0)
    place = read_state(installation)["progress"]
    assert place[0] >= count + 30_000_000
    assert place == straight(place[0])
    keys = [post.partition("\n")[0] for post in posts(installation)]
    assert len(set(keys)) == len(keys)


def test_a_damaged_checkpoint_is_reported_with_a_remedy(installation):
    write(installation)
    by_hand(installation)
    memory(installation).write_text("{", "utf-8")
    done = by_hand(installation)
    assert done.returncode == 1
    output = "memory/bard.txt in the state folder is damaged, so its progress is unknown; move it away"
    assert output in done.stderr + done.stdout
    memory(installation).rename(installation.folder / "away")
    assert by_hand(installation).returncode == 0


@pytest.mark.parametrize(
    ("line", "says", "status"),
    [
        ("keystrokes: 0", "0 types nothing; write 1 or more", 2),
        ("network: nett", "no network is called 'nett'; did you mean 'net'?", 2),
        ("keyboard: piano", "'piano' is not known here; known: letters, typewriter", 2),
        ("announce: never", "'never' is not known here", 2),
        ("keyboard: typewriter", "all well", 0),
    ],
)
def test_the_configuration_is_validated(installation, line, says, status):
    write(installation, line)
    done = installation.run("config", "check")
    assert (done.returncode, says in done.stdout + done.stderr) == (status, True), done.stdout + done.stderr


def test_a_text_that_cannot_be_typed_is_a_warning_and_refused(installation):
    write(installation)
    (installation.folder / "sonnet.txt").write_text("Sonnet 18\n", "utf-8")
    checked = installation.run("config", "check")
    says = "sonnet.txt:1:8: the monkey has no key for '1' (nor for 1 more); write it in letters, or take `keyboard:"
    assert says in checked.stdout + checked.stderr
    done = by_hand(installation)
    assert (done.returncode, says in done.stdout + done.stderr) == (1, True), done.stderr


def test_the_example_in_the_configuration_works_unchanged(installation):
    text = (ROOT / "config" / "appliance.yaml").read_text("utf-8")
    example = re.search(r"((?:^  # .*\n)*^  # bard:\n(?:^  #   .*\n)+)", text, re.MULTILINE)
    assert example is not None
    block = re.sub(r"^  # ", "", example[1][example[1].index("  # bard:") :], flags=re.MULTILINE)
    installation.write(block, "networks: {preview: {kind: preview}}")
    (installation.folder / "sonnet.txt").write_bytes((ROOT / "config" / "sonnet.txt").read_bytes())
    assert by_hand(installation).returncode == 0
    assert "letters of sonnet.txt" in report(installation)
