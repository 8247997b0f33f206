"""Commands `tweets check` and `tweets preview`."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest

from pi_appliance.posting.lines import LineOrder, line_fingerprint, mark_used, parse_lines, pick_line
from pi_appliance.posting.model import UsedLines
from pi_appliance.scheduling.chance import Chance, is_selected, uniform_for_label
from tests.installation import Installation

NETWORKS = "networks:\n  x: {kind: x, with: {monthly-cap: 5}}\n  wall: {kind: preview, with: {limit: 500}}"
PNG = b"\x89PNG\r\n\x1a\n"


def write(installation: Installation, lines: str | bytes, *, more: str = "", job: str = "", network: str = "x") -> None:
    """Write the lines and a job for them; `more` extends its `with:`, `job` adds other jobs."""
    file = installation.folder / "tweets.txt"
    file.write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    installation.write(
        f"bird:\n  kind: tweet\n  schedule: '0 0,6,12,18 * * *'\n{job}"
        f"  with: {{lines: tweets.txt, network: {network}{more}}}",
        NETWORKS,
    )


def check(installation: Installation, *words: str, status: int = 0) -> list[str]:
    """Return the output of `tweets check` with a short file name."""
    done = installation.run("tweets", "check", *words)
    assert (done.returncode, done.stderr) == (status, "")
    return done.stdout.replace(f"{installation.folder}/", "").splitlines()


def preview(installation: Installation, *words: str) -> dict[str, Any]:
    output: dict[str, Any] = installation.json("tweets", "preview", *words)
    return output


# check


def test_valid_lines_are_reported_in_one_line(installation):
    write(installation, "# mine\none\n\ntwo\n", network="[x, wall]")
    assert check(installation) == ["tweets.txt: 2 lines, 2 fit x and wall"]


def test_a_long_line_is_reported_per_refusing_network(installation):
    write(installation, f"fits\n{'日' * 141}\n{'x' * 501}\n", network="[x, wall]")
    assert check(installation, status=1) == [
        "tweets.txt:2: 282 of 280 on x",
        "tweets.txt:3: 501 of 280 on x",
        "tweets.txt:3: 501 of 500 on wall",
        "tweets.txt: 3 lines, 1 fits x, 2 fit wall",
    ]


def test_a_long_line_of_a_thread_job_is_shown_as_a_thread(installation):
    write(installation, f"{'A sentence that is here. ' * 30}\n{'x' * 300}\n", more=", too-long: thread")
    assert check(installation, status=1) == [
        "tweets.txt:1: a thread of 3 parts on x",
        f"tweets.txt:2: {'x' * 39}… alone does not fit into a post on x",
        "tweets.txt: 2 lines, 1 fits x",
    ]


def test_problems_of_words_and_pictures_are_reported_once(installation):
    (installation.folder / "here.png").write_bytes(PNG)
    (installation.folder / "text.png").write_text("no picture")
    lines = ["{temprature}", "![sky](gone.png)", "![sky](text.png)", "look ![](here.png)", "look here ![sky](here.png)"]
    write(installation, "\n".join(lines), network="[x, wall]")
    assert check(installation, status=1) == [
        "tweets.txt:1: {temprature} is not a placeholder; did you mean {temperature}?",
        "tweets.txt:2: the picture gone.png cannot be read: No such file or directory",
        "tweets.txt:3: text.png is not a picture that networks accept; use PNG, JPEG, GIF or WebP",
        "tweets.txt:4: warning: the picture here.png has no description; write ![description](here.png)",
        "tweets.txt: 5 lines, 2 fit x and wall",
    ]


def test_a_missing_description_and_duplicates_are_warnings_only(installation):
    (installation.folder / "a.png").write_bytes(PNG)
    write(installation, "Hello from a shelf.\nLook! ![](a.png)\nhello FROM  a shelf.\nHello from the shelf.\nOther.\n")
    assert check(installation) == [
        "tweets.txt:2: warning: the picture a.png has no description; write ![description](a.png)",
        "tweets.txt:3: warning: the same as line 1",
        "tweets.txt:4: warning: nearly the same as line 1 (90 %)",
        "tweets.txt: 5 lines, 5 fit x",
    ]


def test_a_line_that_may_be_meant_as_a_comment_is_a_warning(installation):
    write(installation, "# a comment\n#MondayMotivation helps.\n\\#TuesdayThoughts too.\nIt is Wednesday.\n")
    assert check(installation) == [
        "tweets.txt:2: warning: it is posted, with its #; "
        "write a space after the # for a comment, or \\# if it is a post",
        "tweets.txt: 3 lines, 3 fit x",
    ]


def test_placeholders_count_with_their_maximum_length(installation):
    rest = 280 - len("30 September 2026") - len(" 23:59 100 °C ") - len(os.uname().nodename)
    write(installation, f"{{date}} {{time}} {{temperature}} {{hostname}}{'x' * rest}\n")
    assert check(installation) == ["tweets.txt: 1 line, 1 fits x"]
    write(installation, f"{{date}} {{time}} {{temperature}} {{hostname}}{'x' * (rest + 1)}\n")
    assert check(installation, status=1)[0] == "tweets.txt:1: 281 of 280 on x"


def test_a_report_placeholder_needs_the_job_that_writes_the_report(installation):
    write(installation, "{last-report}!\n")
    assert check(installation, status=1)[0] == "tweets.txt:1: {last-report} has no value here"
    write(installation, f"{{last-report}}{'x' * 200}\n{{last-report}}{'x' * 201}\n", more=", report-from: bird")
    assert check(installation, status=1)[0] == "tweets.txt:2: 281 of 280 on x"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"one\r\ntwo\r\ncaf\xe9\r\n", "tweets.txt:3: byte 0xe9 is not UTF-8 text; save the file as UTF-8"),
        (b"\xff\xfeo\x00n\x00e\x00", "tweets.txt:1: byte 0xff is not UTF-8 text; save the file as UTF-8"),
        (b"one\nt\0w\0o\0", "tweets.txt:2: byte 0x00 is not UTF-8 text; save the file as UTF-8"),
        (b"", "tweets.txt: has no line to post; write one post per line"),
        (b"\xef\xbb\xbf# only this\n", "tweets.txt: has no line to post; write one post per line"),
    ],
)
def test_a_file_without_usable_lines_is_reported(installation, data, says):
    write(installation, data)
    assert check(installation, status=1) == [says]


def test_a_missing_file_is_reported(installation):
    write(installation, "one\n")
    (installation.folder / "tweets.txt").unlink()
    (output,) = check(installation, status=1)
    assert output == "tweets.txt: cannot be read: No such file or directory; create it with one post per line"


def test_an_unused_file_is_checked_for_any_network(installation):
    write(installation, "one\n", network="wall")
    (installation.folder / "new.txt").write_text(f"{'x' * 281}\n")
    new = str(installation.folder / "new.txt")
    assert check(installation, "--lines", new, "--network", "wall") == ["new.txt: 1 line, 1 fits wall"]
    assert check(installation, "--lines", new, status=1) == [
        "new.txt:1: 281 of 280 on x",
        "new.txt: 1 line, 0 fit x, 1 fits wall",
    ]


def test_jobs_are_checked_together_or_alone_and_a_shared_file_once(installation):
    (installation.folder / "a.txt").write_text("one\n")
    (installation.folder / "b.txt").write_text("x" * 300)
    installation.write(
        "a: {kind: tweet, with: {lines: a.txt, network: x}}\n"
        "b: {kind: tweet, with: {lines: b.txt, network: x}}\n"
        "again: {kind: tweet, with: {lines: a.txt, network: x}}\n"
        "pegs: {kind: command, with: {run: [/bin/true]}}",
        NETWORKS,
    )
    assert check(installation, status=1) == [
        "a.txt: 1 line, 1 fits x",
        "b.txt:1: 300 of 280 on x",
        "b.txt: 1 line, 0 fit x",
    ]
    assert check(installation, "again") == ["a.txt: 1 line, 1 fits x"]


def test_without_a_tweet_job_the_owner_learns_how_to_name_a_file(installation):
    installation.write("", NETWORKS)
    assert check(installation) == ["no job posts lines; to check a file: --lines FILE"]
    assert installation.run("tweets", "preview").stdout == "no job that posts lines has a future slot\n"


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (["birt"], 2, "no job is called 'birt'; did you mean 'bird'?"),
        (["pegs"], 1, "pegs does not post lines of a file: its kind is command, not tweet"),
    ],
)
@pytest.mark.parametrize("command", ["check", "preview"])
def test_a_job_that_posts_no_lines_is_reported(installation, command, words, status, says):
    pegs = "pegs: {kind: command, with: {run: [/bin/true]}}"
    installation.write(f"bird: {{kind: tweet, with: {{lines: t.txt, network: x}}}}\n{pegs}", NETWORKS)
    done = installation.run("tweets", command, *words)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", f"pi-appliance: {says}\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--network", "x"], "--network needs --lines"),
        (["bird", "--lines", "t.txt"], "not both"),
        (["--lines", "t.txt", "--network", "y"], "no network is called 'y'"),
    ],
)
def test_invalid_options_are_reported(installation, words, says):
    write(installation, "one\n")
    done = installation.run("tweets", "check", *words)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_check_is_available_as_json(installation):
    write(installation, f"{'x' * 300}\none\none\n", network="[x, wall]")
    done = installation.run("tweets", "check", "--json")
    assert done.returncode == 1
    (output,) = json.loads(done.stdout)
    assert (output["file"], output["lines"], output["fit"]) == (
        str(installation.folder / "tweets.txt"),
        3,
        {"x": 2, "wall": 3},
    )
    long, same = output["notes"]
    assert long == {
        "line": 1,
        "severity": "refused",
        "message": "300 of 280 on x",
        "network": "x",
        "length": 300,
        "max_length": 280,
        "parts": None,
    }
    assert (same["line"], same["severity"], same["network"]) == (3, "warning", None)


def test_a_check_creates_nothing_and_needs_no_access_to_the_state(installation):
    write(installation, "one\n")
    check(installation)
    assert not installation.state.exists()


# preview


def predict_slots(
    installation: Installation, lines: str, dues: Sequence[str], *, chance: Chance | None, how: LineOrder
) -> list[int | None]:
    """Return the line for each of `dues`, or None if unused, computed from the secret alone."""
    secret = (installation.state / "secret.key").read_bytes()
    read = parse_lines(lines)
    prints, used, result = [line_fingerprint(line) for line in read], UsedLines(), []
    for due in dues:
        at = None
        if is_selected(chance, secret=secret, job="bird", due=due):
            at = pick_line(prints, used, how, uniform_for_label(secret, "bird", due, "line"))
        if at is not None:
            used = mark_used(used, prints[at])
        result.append(None if at is None else read[at].number)
    return result


@pytest.mark.parametrize("how", list(LineOrder))
@pytest.mark.parametrize("chance", [None, Chance(1, 4)], ids=str)
def test_upcoming_slots_have_the_lines_of_chance_and_draw(installation, how, chance):
    lines = "# five\none\ntwo\nthree\n\nfour\nfive\n"
    write(installation, lines, job=f"  chance: {chance}\n" if chance else "", more=f", order: {how}")
    slots = preview(installation, "--count", "40")["slots"]
    dues = [slot["slot"] for slot in slots]
    assert [slot["line"] for slot in slots] == predict_slots(installation, lines, dues, chance=chance, how=how)
    begin = datetime.fromisoformat(dues[0])
    assert [datetime.fromisoformat(due) for due in dues] == [begin + timedelta(hours=6 * n) for n in range(40)]
    assert timedelta(0) < begin - datetime.now(UTC) <= timedelta(hours=6)
    if how is LineOrder.IN_ORDER and chance is None:
        assert [slot["why_not"] for slot in slots[5:]] == ["nothing: every line was posted"] * 35


def test_a_shuffled_round_is_predicted_without_a_repeat(installation):
    write(installation, "\n".join(f"line {number}" for number in range(1, 9)))
    lines = [slot["line"] for slot in preview(installation, "--count", "16")["slots"]]
    assert sorted(lines[:8]) == sorted(lines[8:]) == list(range(1, 9))
    assert lines[7] != lines[8]


def test_length_pictures_parts_and_cost_are_reported_per_network(installation):
    (installation.folder / "a.png").write_bytes(PNG)
    text = "See example.com. " + "And a sentence more. " * 20
    write(installation, f"{text}![](a.png)\n", network="[x, wall]", more=", too-long: thread")
    output = preview(installation, "--count", "1")
    (slot,) = output["slots"]
    first, second = slot["posts"]["x"]
    assert [(post["max_length"], post["pictures"], post["cost"]) for post in (first, second)] == [
        (280, 1, "0.200"),
        (280, 0, "0.015"),
    ]
    assert first["length"] == len(first["text"]) + 23 - len("example.com")
    (whole,) = slot["posts"]["wall"]
    assert (whole["text"], whole["max_length"], whole["pictures"], whole["cost"]) == (text.strip(), 500, 1, "0")
    assert (slot["cost"], output["cost"]) == ("0.215", "0.215")


def test_a_monthly_cost_is_slots_times_chance_times_mean_price(installation):
    write(installation, "plain\nexample.com\n", job="  chance: 1/4\n", network="[x, wall]")
    month = preview(installation)["month"]["bird"]
    posts = Fraction(4 * 365, 12) / 4
    assert month["x"] == {
        "posts": round(float(posts), 2),
        "cost": "3.27",
        "monthly_cap": "5",
    }  # 30.4 at (0.015 + 0.2) / 2
    assert month["wall"] == {"posts": round(float(posts), 2), "cost": "0.00", "monthly_cap": None}


def test_a_month_of_very_many_slots_and_one_of_the_last_lines(installation):
    write(installation, "one\ntwo\nthree\n", more=", order: in-order", network="wall")
    text = installation.config.read_text().replace("schedule: '0 0,6,12,18 * * *'", "schedule: {every: 30s}")
    installation.config.write_text(text)
    assert preview(installation)["month"]["bird"]["wall"]["posts"] == 3
    installation.config.write_text(text.replace(", order: in-order", ""))
    assert preview(installation)["month"]["bird"]["wall"]["posts"] == 87_600


def test_invalid_lines_are_passed_over(installation):
    write(installation, f"{'x' * 300}\n{{oops}}\nfits\n![a](gone.png)\n")
    assert {slot["line"] for slot in preview(installation)["slots"]} == {3}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("x" * 300, "nothing: no line can be posted; see: pi-appliance tweets check"),
        ("# none\n", "nothing: no line can be posted; see: pi-appliance tweets check"),
        (b"\xe9", "cannot be read: it is not UTF-8 text"),
    ],
)
def test_without_a_line_the_slots_are_empty(installation, lines, says):
    write(installation, lines)
    output = preview(installation, "--count", "2")
    assert all(says in slot["why_not"] for slot in output["slots"])
    assert output["month"]["bird"]["x"]["posts"] == 0


def test_placeholders_are_filled_for_their_slot_in_the_zone_of_the_job(installation):
    write(installation, "{date}, {time} on {hostname}\n", job="  time-zone: Asia/Kolkata\n")
    (slot,) = preview(installation, "--count", "1")["slots"]
    local = datetime.fromisoformat(slot["slot"]) + timedelta(hours=5, minutes=30)
    (post,) = slot["posts"]["x"]
    assert post["text"] == f"{local.day} {local:%B %Y}, {local:%H:%M} on {os.uname().nodename}"


def test_paused_and_unused_slots_are_reported(installation):
    write(installation, "one\n", job="  chance: 1/1000000\n")
    assert {slot["why_not"] for slot in preview(installation)["slots"]} == {"skipped by chance"}
    assert installation.run("jobs", "pause", "bird").returncode == 0
    assert {slot["why_not"] for slot in preview(installation)["slots"]} == {"skipped: paused"}


def test_the_text_preview_is_readable(installation):
    (installation.folder / "a.png").write_bytes(PNG)
    write(
        installation, f"Hello from a shelf, {'and so on ' * 20}![](a.png)\n", network="[x, wall]", job="  jitter: 10m\n"
    )
    done = installation.run("tweets", "preview", "--count", "2", environment={"COLUMNS": "100"})
    head, first, second, together, on_x, on_wall = done.stdout.splitlines()
    assert head.split() == ["SLOT", "LINE", "LENGTH", "COST", "TEXT,", "OR", "WHY", "NOT"]
    start = head.index("TEXT")
    assert first[start:].startswith("[1 picture] Hello from")
    assert len(first) == len(second) == 100
    assert first.endswith("…")
    assert "1     x 219/280, wall 219/500  $0.015" in first
    slot = preview(installation, "--count", "1")["slots"][0]
    assert f"{datetime.fromisoformat(slot['starts_at']):%H:%M:%S}" in first
    assert together == "2 of 2 slots post, for $0.03 in total"
    assert on_x == "average month: 121.7 posts of bird on x, for $1.83; monthly-cap $5.00"
    assert on_wall == "average month: 121.7 posts of bird on wall, for $0.00"


def test_slots_of_several_jobs_are_ordered_and_named(installation):
    (installation.folder / "t.txt").write_text("one\n")
    installation.write(
        "a: {kind: tweet, schedule: '0 * * * *', with: {lines: t.txt, network: wall}}\n"
        "b: {kind: tweet, schedule: '30 * * * *', with: {lines: t.txt, network: wall, attach: report, report-from: a}}",
        NETWORKS,
    )
    slots = preview(installation, "--count", "6")["slots"]
    assert [slot["slot"] for slot in slots] == sorted(slot["slot"] for slot in slots)
    assert sorted({slot["job"] for slot in slots[:2]}) == sorted({slot["job"] for slot in slots[2:4]}) == ["a", "b"]
    assert {(slot["job"], slot["attached"]) for slot in slots} == {("a", None), ("b", "report of a")}
    assert "[report of a] one" in installation.run("tweets", "preview").stdout


def test_a_line_for_one_of_several_jobs_needs_its_name(installation):
    (installation.folder / "t.txt").write_text("one\n")
    keys = "{kind: tweet, with: {lines: t.txt, network: wall}}\n"
    installation.write(f"a: {keys}b: {keys}", NETWORKS)
    refused = installation.run("tweets", "add", "two")
    assert refused.returncode == 1
    assert refused.stderr == "pi-appliance: several jobs post lines: a, b; name one with `job` (--job)\n"
    added = installation.run("tweets", "add", "{hostnam}", "--job", "b")
    assert added.stdout.splitlines()[1:] == [
        "this line cannot be posted: {hostnam} is not a placeholder; did you mean {hostname}?"
    ]


def test_a_preview_posts_nothing_and_uses_no_slot(installation):
    write(installation, "one\n", network="wall")
    before = preview(installation)
    assert preview(installation) == before
    assert installation.json("jobs", "history") == []
    assert not (installation.state / "reports").exists()


@pytest.mark.slow
def test_the_predicted_lines_are_posted_and_the_rest_stays_predicted(installation):
    write(installation, "\n".join(f"line {number}" for number in range(1, 8)), job="  chance: 1/2\n", network="wall")
    foretold = [slot for slot in preview(installation, "--count", "40")["slots"] if slot["line"]]
    for slot in foretold[:9]:
        done = installation.run("jobs", "run", "bird", "--trigger", "cron", "--slot", slot["slot"])
        assert (done.returncode, done.stderr) == (0, "")
    blocks = (installation.state / "reports" / "wall" / "posts.txt").read_text().split("--- bird ")[1:]
    assert [block.split("\n")[1] for block in blocks] == [slot["posts"]["wall"][0]["text"] for slot in foretold[:9]]
    again = preview(installation, "--count", "40")["slots"]
    assert [slot["slot"] for slot in again if slot["why_not"] == "was used already"] == [
        slot["slot"] for slot in foretold[:9]
    ]
    later = [(slot["slot"], slot["line"]) for slot in again if slot["line"]]
    assert later == [(slot["slot"], slot["line"]) for slot in foretold[9:]]
