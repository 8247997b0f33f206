"""The page of posts and its API: states, decisions of the owner, monthly cost."""

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pi_appliance.posting.model import OWNER_DECISIONS, Post, PostRecord, PostState, SentPost
from pi_appliance.posting.store import JobPostStore, PostDatabase
from pi_appliance.system import clock
from tests.web.served_appliance import ServedAppliance, configuration, job, serving, set_password

NETWORKS = """networks:
  bird: {kind: x, with: {monthly-cap: 0.50}}
  dear: {kind: x, with: {secrets-prefix: DEAR}}
  show: {kind: preview}
"""


def settings(folder: Path, networks: str = NETWORKS, jobs: str = "") -> Path:
    config = configuration(folder, jobs=job("hello", "") + jobs)
    config.write_text(config.read_text("utf-8").replace("jobs:\n", f"{networks}jobs:\n"), "utf-8")
    return config


@pytest.fixture
def appliance(tmp_path: Path) -> Iterator[ServedAppliance]:
    with serving(settings(tmp_path)) as served_world:
        yield served_world


def post_store(appliance: ServedAppliance) -> JobPostStore:
    return JobPostStore(appliance.daemon.appliance.store, "hello", 1, clock.now)


def add_post(
    appliance: ServedAppliance,
    text: str,
    state: PostState,
    why: str = "",
    *,
    network: str = "bird",
    link: str = "",
    cost: str = "0",
) -> PostRecord:
    slot = f"slot {text}"
    (record,) = post_store(appliance).create_posts(
        slot, {network: [Post(text)]}, expires_at=clock.now() + timedelta(hours=6), line=text
    )
    remote = SentPost(f"id {text}", link) if state is PostState.SENT else None
    return post_store(appliance).update_state(record, state, why, remote=remote, cost=Decimal(cost))


def ask_posts(appliance: ServedAppliance, query: str = "") -> Any:
    answer = appliance.request(f"/api/v1/posts{query}")
    assert answer.status == 200, answer.text
    return answer.json


def line(text: str) -> str:
    """Return `text` without tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def section(page: str, title: str) -> str:
    """Return the section of `page` with this `title`, or ''."""
    return next((each for each in page.split("<section")[1:] if f">{title}</h2>" in each), "").partition("</section")[0]


def test_without_networks_the_home_page_has_no_posts(tmp_path: Path) -> None:
    with serving(configuration(tmp_path)) as appliance:
        assert section(appliance.request("/jobs").text, "Posts") == ""
        assert ask_posts(appliance) == {"posts": [], "counts": {}, "months": []}
        assert "Nothing was posted yet." in appliance.request("/posts").text


def test_posts_are_listed_newest_first_with_their_state(appliance: ServedAppliance) -> None:
    add_post(appliance, "one", PostState.SENT, link="https://x.com/1", cost="0.015")
    add_post(appliance, "two", PostState.REFUSED, "X does not know the keys (401)")
    add_post(appliance, "three", PostState.WAITING, "X cannot be reached", network="show")
    posts = ask_posts(appliance)["posts"]
    assert [(each["text"], each["state"], each["reason"], each["link"], each["cost"]) for each in posts] == [
        ("three", "waiting", "X cannot be reached", None, "0"),
        ("two", "refused", "X does not know the keys (401)", None, "0"),
        ("one", "sent", None, "https://x.com/1", "0.015"),
    ]
    assert {(each["job"], each["slot"]) for each in posts} == {("hello", f"slot {each['text']}") for each in posts}
    page = section(appliance.request("/posts").text, "All")
    assert line(page).index("three") < line(page).index("two") < line(page).index("one")
    assert "show waiting three hello · just now X cannot be reached Tried again today" in line(page)
    assert '<a class="see" href="https://x.com/1" target="_blank" rel="noopener noreferrer">See it</a>' in page
    assert "$0.015" in page


def test_posts_can_be_filtered_by_state_and_paged(appliance: ServedAppliance) -> None:
    for number in range(60):
        add_post(appliance, f"no {number}.", PostState.REFUSED)
    add_post(appliance, "yes", PostState.SENT)
    assert [each["text"] for each in ask_posts(appliance, "?state=sent")["posts"]] == ["yes"]
    assert ask_posts(appliance)["counts"] == {"refused": 60, "sent": 1}
    assert [each["text"] for each in ask_posts(appliance, "?state=refused&count=2")["posts"]] == ["no 59.", "no 58."]
    page = appliance.request("/posts?state=refused").text
    assert ("yes" in section(page, "Refused"), "no 59." in page, "no 9." in page) == (False, True, False)
    older = re.search(r'href="(/posts\?state=refused&amp;before=\d+)"', page)
    assert older is not None
    page = appliance.request(older[1].replace("&amp;", "&")).text
    assert ("no 59." in page, "no 9." in page) == (False, True)
    assert "Older posts" not in page


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("?state=snt", f"'state' must be one of {', '.join(PostState)}"),
        ("?count=0", "'count' must be a whole number from 1 to 10000"),
        ("?stat=sent", "posts takes no 'stat'; did you mean 'state'?"),
    ],
)
def test_an_invalid_query_is_reported(appliance: ServedAppliance, query: str, sentence: str) -> None:
    answer = appliance.request(f"/api/v1/posts{query}")
    assert (answer.status, answer.json) == (400, {"error": sentence})
    if query.startswith("?state"):
        assert appliance.request(f"/posts{query}").status == 400


def test_monthly_cost_and_limit_are_shown(appliance: ServedAppliance) -> None:
    add_post(appliance, "one", PostState.SENT, cost="0.2")
    add_post(appliance, "two", PostState.UNCERTAIN, cost="0.015")
    add_post(appliance, "free", PostState.SENT, network="show")
    bird, dear, show = ask_posts(appliance)["months"]
    prices = {"price": "0.015", "price_with_link": "0.200"}
    assert bird == {"network": "bird", "spent": "0.215", "monthly_cap": "0.5", "left": "0.285", **prices}
    assert dear == {"network": "dear", "spent": "0", "monthly_cap": None, "left": None, **prices}
    assert (show["network"], show["price"]) == ("show", "0")
    page = appliance.request("/posts").text
    assert line(section(page, "This month")).endswith("bird $0.215 of $0.50")
    assert '<progress value="0.215" max="0.5"' in " ".join(page.split()).replace("progress  ", "progress ")
    add_post(appliance, "three", PostState.SENT, cost="0.3")
    add_post(appliance, "four", PostState.SENT, network="dear", cost="1.2")
    page = line(section(appliance.request("/posts").text, "This month"))
    assert "bird $0.515 of $0.50 Nothing more is posted there until next month." in page
    assert "dear $1.20 No limit: monthly-cap would be one." in page


def test_a_removed_network_still_shows_its_cost(tmp_path: Path) -> None:
    with serving(settings(tmp_path, "networks:\n  show: {kind: preview}\n")) as appliance:
        add_post(appliance, "one", PostState.SENT, network="gone", cost="0.2")
        gone = ask_posts(appliance)["months"][1]
        assert (gone["network"], gone["spent"], gone["monthly_cap"]) == ("gone", "0.2", None)
        assert "gone" in section(appliance.request("/posts").text, "This month")


def test_a_job_without_a_network_belongs_to_none(tmp_path: Path) -> None:
    kind = "kind: monkey-bard, with: {text: tweets.txt"
    jobs = f"  silent: {{{kind}}}}}\n  bard: {{{kind}, network: show}}}}\n"
    with serving(settings(tmp_path, jobs=jobs)) as appliance:
        assert appliance.request("/networks").status == 200
        assert "used by bard<" in appliance.request("/networks/show").text


def test_the_home_page_has_one_line_of_posts(appliance: ServedAppliance) -> None:
    assert line(section(appliance.request("/jobs").text, "Posts")).endswith(
        "None posted yet This month: bird $0.00 of $0.50"
    )
    add_post(appliance, "one", PostState.SENT, cost="0.015")
    add_post(appliance, "two", PostState.UNCERTAIN, cost="0.015")
    add_post(appliance, "three", PostState.WAITING)
    text = line(appliance.request("/parts/posts").text)
    assert text.endswith(
        "1 posted 1 uncertain Only you can tell whether it is there. "
        "This month: bird $0.03 of $0.50 · 1 still to be sent"
    )
    assert 'href="/posts"' in section(appliance.request("/jobs").text, "Posts")


@pytest.mark.parametrize(
    ("answer", "state", "cost"), [("there", "sent", "0.2"), ("post", "waiting", "0"), ("drop", "dropped", "0")]
)
def test_the_owner_settles_an_uncertain_post(appliance: ServedAppliance, answer: str, state: str, cost: str) -> None:
    add_post(appliance, "other", PostState.SENT)
    record = add_post(appliance, "perhaps", PostState.UNCERTAIN, "no answer came", cost="0.2")
    page = section(appliance.request("/posts").text, "Only you can tell")
    assert "perhaps" in page
    assert "No answer came. Look at the account: is it there?" in line(page)
    forms = re.findall(r'method="post" action="([^"]+)"', page)
    assert forms == [f"/do/posts/{record.id}/resolve"] * 3
    assert re.findall(r'name="answer" value="(\w+)"', page) == ["there", "post", "drop"]
    assert re.search(r'data-ask="[^"]+"><button\s+class="button wide" name="answer" value="post"', page), (
        "what cannot be undone is confirmed first"
    )

    reply = appliance.request(f"/do/posts/{record.id}/resolve", f"answer={answer}", Referer=f"{appliance.origin}/posts")
    assert (reply.status, reply.headers["location"]) == (303, "/posts")
    (post,) = [each for each in ask_posts(appliance)["posts"] if each["id"] == record.id]
    assert (post["state"], post["cost"], ask_posts(appliance)["months"][0]["spent"]) == (state, cost, cost)
    assert section(appliance.request("/posts").text, "Only you can tell") == ""
    assert appliance.daemon.woken == 1
    again = appliance.request(f"/do/posts/{record.id}/resolve", f"answer={answer}")
    assert (again.status, "No uncertain post is called" in again.text) == (404, True)
    assert appliance.daemon.woken == 1


def test_the_api_settles_posts_too(appliance: ServedAppliance) -> None:
    record = add_post(appliance, "perhaps", PostState.UNCERTAIN)
    sent_post = add_post(appliance, "surely", PostState.SENT)
    for post, body, status, sentence in (
        (record.id, {"answer": "there", "url": "x"}, 400, "resolve takes no 'url'; known: answer, link, post"),
        (sent_post.id, {"answer": "there"}, 404, f"no uncertain post is called '{sent_post.id}'; known: {record.id}"),
        (record.id, {"answer": "maybe"}, 400, f"'answer' must be one of {', '.join(OWNER_DECISIONS)}"),
    ):
        answer = appliance.request(f"/api/v1/posts/{post}/resolve", body)
        assert (answer.status, answer.json) == (status, {"error": sentence})
    assert ask_posts(appliance)["counts"] == {"sent": 1, "uncertain": 1}
    answer = appliance.request(
        f"/api/v1/posts/{record.id}/resolve", {"answer": "there", "link": "https://bird.example/1"}
    )
    assert (answer.status, answer.json["state"], answer.json["reason"]) == (200, "sent", "you saw it there")
    assert answer.json["link"] == "https://bird.example/1"


def test_network_messages_are_text_without_scripts(appliance: ServedAppliance) -> None:
    add_post(appliance, "<script>alert(1)</script>", PostState.SENT, "<b>why</b>", link="javascript:alert(1)")
    page = appliance.request("/posts").text
    assert "<script>alert" not in page
    assert "<b>why" not in page
    assert "javascript:" not in page
    assert "See it" not in page


def test_an_anonymous_user_cannot_settle_a_post(tmp_path: Path) -> None:
    config = settings(tmp_path)
    set_password(config, "open sesame")
    with serving(config) as appliance:
        record = add_post(appliance, "perhaps", PostState.UNCERTAIN)
        assert appliance.request(f"/posts/{record.id}/post", "").headers["location"].startswith("/sign-in")
        assert appliance.request(f"/api/v1/posts/{record.id}/resolve", {"answer": "post"}).status == 401
        assert appliance.request("/api/v1/posts").status == 401
        elsewhere = {"Authorization": "Bearer open sesame", "Origin": "http://elsewhere.example"}
        assert appliance.request(f"/api/v1/posts/{record.id}/resolve", {"answer": "post"}, **elsewhere).status == 403
        assert PostDatabase(appliance.daemon.appliance.store).count_by_state() == {PostState.UNCERTAIN: 1}
        assert (
            appliance.request(
                f"/api/v1/posts/{record.id}/resolve", {"answer": "post"}, Authorization="Bearer open sesame"
            ).status
            == 200
        )
