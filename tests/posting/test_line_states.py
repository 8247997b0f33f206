"""The lines of a tweet job over the API and on the page: states, changes, checks, and posting now."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest

from pi_appliance.jobs import runner
from pi_appliance.posting.lines import line_fingerprint, parse_line
from pi_appliance.posting.model import Post, PostState, SentPost
from pi_appliance.posting.store import JobPostStore
from pi_appliance.storage.model import Trigger
from tests.web.served_appliance import ServedAppliance, configuration, job, serving

LINES = "\ufeff# mine\r\nOne line.\r\n\r\n{temprature}\r\nTwo lines.\r\n"
JOB = """  tweets:
    kind: tweet
    schedule: "@daily"
    with: {lines: tweets.txt, network: show}
"""


def settings(folder: Path) -> Path:
    config = configuration(folder, jobs=job("hello", "") + JOB)
    text = config.read_text("utf-8").replace(
        "jobs:\n", "networks:\n  show: {kind: preview, with: {limit: 40}}\njobs:\n"
    )
    config.write_text(text, "utf-8")
    (folder / "tweets.txt").write_bytes(LINES.encode())
    return config


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    with serving(settings(tmp_path)) as served_appliance:
        yield served_appliance


def lines(appliance: ServedAppliance) -> Any:
    answer = appliance.request("/api/v1/tweets/lines")
    assert answer.status == 200, answer.text
    return answer.json


def file_text(tmp_path: Path) -> str:
    return (tmp_path / "tweets.txt").read_bytes().decode()


def run_pending(appliance: ServedAppliance) -> None:
    """Run the requested post to its end, as the daemon does."""
    (request,) = appliance.daemon.appliance.store.requests.pending("tweets")
    runner.run(appliance.daemon.appliance, "tweets", Trigger.MANUAL, due=request.slot_name, random=SystemRandom())


def test_lines_have_their_state_length_and_problems(appliance: ServedAppliance) -> None:
    result = lines(appliance)
    assert [(each["number"], each["state"]) for each in result["lines"]] == [(2, "ready"), (4, "invalid"), (5, "ready")]
    first, wrong, _ = result["lines"]
    assert first["networks"] == [{"network": "show", "length": 9, "max_length": 40}]
    assert "not a placeholder" in wrong["problems"][0]["message"]
    assert result["next"]["number"] in (2, 5)
    assert [each["number"] for each in result["lines"] if each["next"]] == [result["next"]["number"]]
    assert result["next"]["networks"] == ["show"]
    coming = {each["number"]: each["next_at"] for each in result["lines"]}
    assert (coming.pop(result["next"]["number"]), coming.pop(4)) == (result["next"]["at"], None)
    ((_, later),) = coming.items()
    assert datetime.fromisoformat(later) - datetime.fromisoformat(result["next"]["at"]) == timedelta(days=1)
    page = appliance.request("/tweets").text
    assert re.search(r"next, \w+ 00:00 · <span>show 9|\w+ 00:00 · <span>show 9", page)


def test_lines_are_added_edited_moved_and_deleted(appliance: ServedAppliance, tmp_path: Path) -> None:
    version = lines(appliance)["version"]
    result = appliance.request("/api/v1/tweets/lines", {"text": "Three.", "version": version})
    assert (result.status, result.json["lines"]) == (201, 4)
    assert file_text(tmp_path) == LINES + "Three.\r\n"
    assert appliance.request("/api/v1/tweets/lines/4", {"text": "{temperature}"}).status == 200
    assert appliance.request("/api/v1/tweets/lines/5/move", {"to": 2}).status == 200
    assert appliance.request("/api/v1/tweets/lines/6?job=tweets", method="DELETE").status == 200
    assert file_text(tmp_path) == "\ufeff# mine\r\nTwo lines.\r\n\r\nOne line.\r\n{temperature}\r\n"


def test_a_new_line_that_cannot_be_posted_is_stored_and_reported(appliance: ServedAppliance) -> None:
    result = appliance.request("/api/v1/tweets/lines", {"text": "{temprature}!"})
    assert (result.status, result.json["problems"]) == (
        201,
        ["{temprature} is not a placeholder; did you mean {temperature}?"],
    )
    result = appliance.request("/api/v1/tweets/lines/2", {"text": "x" * 41})
    assert (result.status, result.json["problems"]) == (200, ["41 of 40 on show"])
    assert appliance.request("/api/v1/tweets/lines/2", {"text": "Fine."}).json["problems"] == []


def test_a_post_that_looks_like_a_comment_is_shown_and_saved_as_it_was_typed(
    appliance: ServedAppliance, tmp_path: Path
) -> None:
    fields = f"job=tweets&version={lines(appliance)['version']}"
    assert appliance.request("/do/tweets/lines", f"{fields}&text=%23+1+tip", Referer="http://x/tweets").status == 303
    assert file_text(tmp_path) == LINES + "\\# 1 tip\r\n"
    shown = lines(appliance)["lines"][-1]
    assert (shown["text"], shown["state"], shown["networks"][0]["length"]) == ("# 1 tip", "ready", 7)
    assert "\\#" not in appliance.request("/tweets").text
    number = shown["number"]
    assert appliance.request(f"/api/v1/tweets/lines/{number}", {"text": shown["text"]}).status == 200
    assert file_text(tmp_path) == LINES + "\\# 1 tip\r\n"
    assert appliance.request("/api/v1/tweets/post", {"line": number}).status in (200, 201, 202)
    run_pending(appliance)
    assert "# 1 tip" in (tmp_path / "state" / "reports" / "show" / "posts.txt").read_text("utf-8").splitlines()


def test_the_second_of_two_editors_is_told(appliance: ServedAppliance, tmp_path: Path) -> None:
    version = lines(appliance)["version"]
    assert appliance.request("/api/v1/tweets/lines/2", {"text": "Mine.", "version": version}).status == 200
    result = appliance.request("/api/v1/tweets/lines/2", {"text": "Yours.", "version": version})
    assert (result.status, result.json["error"]) == (
        409,
        "tweets.txt was changed in the meantime; look at it again, then change it",
    )
    assert "Mine." in file_text(tmp_path)


def test_a_text_is_checked_without_posting(appliance: ServedAppliance) -> None:
    result = appliance.request("/api/v1/tweets/check", {"text": "x" * 41}).json
    assert (result["good"], result["networks"][0]["length"]) == (False, 41)
    assert [each["message"] for each in result["problems"]] == ["41 of 40 on show"]
    assert appliance.request("/api/v1/tweets/check", {"text": "short"}).json["good"]
    assert appliance.request("/api/v1/posts").json["posts"] == []


def test_a_line_is_posted_now_and_only_once(appliance: ServedAppliance) -> None:
    assert appliance.request("/api/v1/tweets/post", {"line": 5}).status == 202
    assert "is posting just now" in appliance.request("/api/v1/tweets/post", {"line": 5}).json["error"]
    run_pending(appliance)
    (post,) = appliance.request("/api/v1/posts").json["posts"]
    assert (post["text"], post["state"]) == ("Two lines.", "sent")
    line = next(each for each in lines(appliance)["lines"] if each["number"] == 5)
    assert (line["state"], line["next"]) == ("posted", False)
    assert appliance.request("/api/v1/tweets/post", {"line": 5}).status == 409
    assert len(appliance.request("/api/v1/posts").json["posts"]) == 1


def test_a_text_of_your_own_is_posted_and_the_lines_stay(appliance: ServedAppliance, tmp_path: Path) -> None:
    assert appliance.request("/api/v1/tweets/post", {"text": "Hello there"}).status == 202
    run_pending(appliance)
    assert [each["text"] for each in appliance.request("/api/v1/posts").json["posts"]] == ["Hello there"]
    assert [each["state"] for each in lines(appliance)["lines"]] == ["ready", "invalid", "ready"]
    assert file_text(tmp_path) == LINES


@pytest.mark.parametrize(
    ("body", "status"),
    [({"line": 4}, 409), ({"line": 1}, 404), ({"text": "x" * 41}, 409), ({}, 400), ({"line": 2, "text": "a"}, 400)],
)
def test_what_cannot_be_posted_is_refused_before_a_run(
    appliance: ServedAppliance, body: dict[str, object], status: int
) -> None:
    assert appliance.request("/api/v1/tweets/post", body).status == status
    assert appliance.daemon.appliance.store.requests.pending() == []


def test_the_page_shows_the_next_post_the_refused_lines_and_all_lines(appliance: ServedAppliance) -> None:
    page = appliance.request("/tweets").text
    assert "Next · tomorrow 00:00 · show" in page
    assert "is not a placeholder" in page
    assert "3 lines" in page
    assert page.count('<li class="entry"') == 3
    assert 'href="/tweets"' in appliance.request("/more").text


def test_the_forms_of_the_page_work_without_scripts(appliance: ServedAppliance, tmp_path: Path) -> None:
    fields = f"job=tweets&version={lines(appliance)['version']}"
    answer = appliance.request("/do/tweets/lines", f"{fields}&text=Three.", Referer="http://127.0.0.1/tweets")
    assert (answer.status, answer.headers["location"]) == (303, "/tweets")
    assert appliance.request("/do/tweets/lines/4", f"{fields}&method=DELETE").status == 409
    version = lines(appliance)["version"]
    assert appliance.request("/do/tweets/lines/4", f"job=tweets&version={version}&method=DELETE").status == 303
    assert file_text(tmp_path) == "\ufeff# mine\r\nOne line.\r\n\r\nTwo lines.\r\nThree.\r\n"


def test_the_page_without_a_tweet_job_says_so(tmp_path: Path) -> None:
    with serving(configuration(tmp_path)) as appliance:
        assert "No job posts lines" in appliance.request("/tweets").text


def refuse_line(appliance: ServedAppliance) -> int:
    """Record that `other` took "One line." and `show` refused it; return the number of the refused post."""
    store, now = appliance.daemon.appliance.store, datetime(2026, 5, 1, 6, tzinfo=UTC)
    posts = JobPostStore(store, "tweets", 1, lambda: now)
    both = {name: [Post("One line.")] for name in ("other", "show")}
    line = line_fingerprint(parse_line(2, "One line."))
    taken, refused = posts.create_posts("2026-05-01T06:00:00Z", both, expires_at=now + timedelta(hours=6), line=line)
    posts.update_state(taken, PostState.SENT, remote=SentPost("1", ""))
    posts.update_state(refused, PostState.REFUSED, "show refuses it (400: too rude)")
    return refused.id


def test_a_refused_post_is_sent_again_edited_and_dropped_on_the_page(
    appliance: ServedAppliance, tmp_path: Path
) -> None:
    number = refuse_line(appliance)
    page = appliance.request("/tweets").text
    assert "Refused: “One line.”" in page
    assert "show: show refuses it (400: too rude)" in page
    assert f'action="/do/posts/{number}/drop"' in page
    assert appliance.request("/posts").text.count(f'action="/do/posts/{number}/resend"') == 1
    row = lines(appliance)["lines"][0]
    assert (row["state"], [(each["network"], each["state"]) for each in row["posts"]]) == (
        "refused",
        [("other", "sent"), ("show", "refused")],
    )

    back = {"Referer": "http://127.0.0.1/tweets"}
    assert appliance.request(f"/do/posts/{number}/resend", "text=Uno.&version=" + "0" * 16, **back).status == 409
    assert appliance.request(f"/do/posts/{number}/resend", "text=", **back).status == 400
    version = lines(appliance)["version"]
    assert appliance.request(f"/do/posts/{number}/resend", f"text=Uno.&version={version}", **back).status == 303
    assert "Uno." in file_text(tmp_path)
    assert [
        (each["network"], each["text"], each["state"]) for each in appliance.request("/api/v1/posts").json["posts"]
    ] == [
        ("show", "Uno.", "waiting"),
        ("other", "One line.", "sent"),
    ]
    assert "Refused:" not in appliance.request("/tweets").text
    again = refuse_again(appliance)
    assert appliance.request(f"/do/posts/{again}/drop", "", **back).status == 303
    assert "Refused:" not in appliance.request("/tweets").text


def refuse_again(appliance: ServedAppliance) -> int:
    """Record that `show` refused the new text, too."""
    posts = JobPostStore(appliance.daemon.appliance.store, "tweets", 1, lambda: datetime(2026, 5, 1, 6, tzinfo=UTC))
    (waiting,) = posts.pending_posts()
    posts.update_state(waiting, PostState.REFUSED, "no")
    assert "Refused: “Uno.”" in appliance.request("/tweets").text
    return waiting.id


def test_the_next_chance_and_the_cost_of_each_network_are_in_words(tmp_path: Path) -> None:
    config = settings(tmp_path)
    text = (
        config.read_text("utf-8")
        .replace("network: show", "network: [show, x]")
        .replace('"@daily"', '"@daily"\n    chance: 1/4')
    )
    text = text.replace("networks:\n", "networks:\n  x: {kind: x, with: {monthly-cap: 5}}\n")
    config.write_text(text, "utf-8")
    with serving(config) as appliance:
        store = appliance.daemon.appliance.store
        posts = JobPostStore(store, "tweets", 1, lambda: datetime.now(UTC))
        (post,) = posts.create_posts("s", {"x": [Post("a")]}, expires_at=datetime.now(UTC))
        posts.add_cost(post, Decimal("0.12"))
        page = appliance.request("/tweets").text
        assert "Next chance: tomorrow 00:00, one time in four" in page
        assert "$0.015 a post, $0.20 with an address · $0.12 this month of $5.00, $4.88 left" in page
        assert "free" in page
        assert lines(appliance)["next_chance"]["chance"] == "one time in four"
