"""Posts on three networks that fail in every way, by processes that are killed: servers and store agree.

The suite does it 20 times. For more, and for other accidents:

    PI_APPLIANCE_POSTS=1000 PI_APPLIANCE_SEED=7 pytest -s tests/posting/test_kills.py
"""

import contextlib
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from pi_appliance.posting.model import FAILED_STATES, PENDING_STATES, PostRecord, PostState
from pi_appliance.posting.store import PostDatabase
from pi_appliance.storage.history import Store
from tests.fakes import bluesky_account, mastodon_server, x_server
from tests.fakes.bluesky_server import fake_bluesky
from tests.fakes.mastodon_server import fake_mastodon
from tests.fakes.x_server import fake_x
from tests.installation import PROGRAM, Installation, wait_until
from tests.warm_program import Process

TIMES = int(os.environ.get("PI_APPLIANCE_POSTS", "20"))
SEED = int(os.environ.get("PI_APPLIANCE_SEED", "2026"))
BEGIN = datetime(2026, 5, 1, 6, 0, tzinfo=UTC)
SECRETS = x_server.SECRETS | bluesky_account.SECRETS | {"MASTODON_TOKEN": mastodon_server.TOKEN}
JOB = """
bird:
  kind: tweet
  schedule: '0 6 * * *'
  timeout: 20s
  retry: {max-retries: 1, delay: 1s}
  with: {lines: tweets.txt, network: [x, mastodon, bluesky], send-within: 20d}
"""
NETWORKS = """
networks:
  x: {kind: x, with: {server: "%s", timeout: 1s, search-lag: 3s}}
  mastodon: {kind: mastodon, with: {server: "%s", timeout: 1s}}
  bluesky: {kind: bluesky, with: {server: "%s", handle: pi.bsky.social, timeout: 1s}}
"""
RARE = ("hang", "hang-before")  # they take their time


@dataclass
class Server:
    """One server: the posts it accepted, and a way to make its next request fail."""

    texts: Callable[[], list[str]]
    fail: Callable[[Any], None]
    faults: tuple[Any, ...]
    reset: Callable[[], None]


@dataclass
class EventCounts:
    """The number of faults and kills."""

    faults: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    resent: int = 0


@contextlib.contextmanager
def servers() -> Iterator[tuple[dict[str, Server], str]]:
    """Run the three servers; yield them and the configuration of their networks."""
    with fake_x() as x, fake_mastodon() as mastodon, fake_bluesky() as bluesky:
        common = (402, 403, 429, 500, 503, "cut-before", "cut-after", "cut-in-answer", "not-an-object", *RARE)
        blue = ("putRecord", "getRecord", "createSession")
        random = Random(SEED)
        x.lag_seconds, x.refuses_twice = 2.0, False
        yield (
            {
                "x": Server(
                    lambda: list(x.posts), x.faults.append, (*common, "5xx-after", "no-id", "html"), x.faults.clear
                ),
                "mastodon": Server(
                    lambda: list(mastodon.texts),
                    lambda fault: random.choice((mastodon.faults, mastodon.other_faults.setdefault("look", []))).append(
                        fault
                    ),
                    (*common, "after-503", "no-id", "not-json"),
                    lambda: (mastodon.faults.clear(), mastodon.other_faults.clear()),  # type: ignore[func-returns-value]
                ),
                "bluesky": Server(
                    lambda: list(bluesky.texts),
                    lambda fault: bluesky.faults[random.choice(blue)].append(fault),  # noqa: PLW0108 - a new one each time
                    (*common, "503-after", "cut-read", "not-json", "empty"),
                    bluesky.faults.clear,
                ),
            },
            NETWORKS % (x.address, mastodon.address, bluesky.address),
        )


@pytest.mark.faults
@pytest.mark.timeout(600 + 10 * TIMES)
def test_after_any_event_each_post_exists_at_most_once_and_the_ledger_is_true(
    installation: Installation,
) -> None:
    random, counts = Random(SEED), EventCounts()
    with servers() as (known, networks):
        installation.write(JOB, networks)
        for number in range(TIMES):
            (installation.folder / "tweets.txt").write_text(f"Thought number {number} of the shelf\n", "utf-8")
            for name, server in known.items():
                server.reset()
                for _ in range(random.choice((0, 0, 1, 1, 2, 3))):
                    fault = random.choice([each for each in server.faults if each not in RARE or random.random() < 0.3])
                    server.fail(fault)
                    counts.faults[f"{name} {fault}"] += 1
            if number:
                with Store(installation.state / "history.db") as known_state, known_state.writing() as db:
                    db.execute("DELETE FROM network_waits")  # the servers forget a 429 as well
            slot = BEGIN + timedelta(days=number)
            slot_words = ("--trigger", "cron", "--slot", f"{slot:%Y-%m-%dT%H:%M:%SZ}")
            one_command(installation, random, counts, "jobs", "run", "bird", *slot_words)
            resend_some(installation, random, counts, number)
            if number % 100 == 99:
                print(f"{number + 1} runs, {counts.kills} kills, {sum(counts.faults.values())} faults")  # noqa: T201
        for server in known.values():
            server.reset()
        wait_until(lambda: not send_pending(installation), 60)
        check(installation, known, counts)


def resend_some(installation: Installation, random: Random, counts: EventCounts, number: int) -> None:
    """Send refused posts again as the owner would, some with a new text, and run the job for some of them."""
    refused = installation.json("tweets", "refused")["refused"]
    for entry in random.sample(refused, min(len(refused), random.choice((0, 1, 2)))):
        text = random.choice(((), ("--text", f"Second thought number {number} about {entry['post']}")))
        one_command(installation, random, counts, "tweets", "resend", str(entry["post"]), *text)
        counts.resent += 1
    if random.random() < 0.5:
        one_command(installation, random, counts, "jobs", "run", "bird", "--resume")


def one_command(installation: Installation, random: Random, counts: EventCounts, *words: str) -> None:
    """Run a command; two of five are killed at a random time."""
    with Process(
        [*PROGRAM, *words, "--config", str(installation.config)],
        env=installation.environment(SECRETS),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        if random.random() < 0.4:
            time.sleep(random.uniform(0.2, 1.8))  # a person pulls the plug at no particular moment
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                counts.kills += 1
        assert "Traceback" not in (process.stderr.read() if process.stderr else "")
    wait_until(
        lambda: None not in installation.outcomes("bird"), 30
    )  # a process of it may still run: the guard ends it soon


def send_pending(installation: Installation) -> list[PostRecord]:
    """Run the job for the pending posts and return those that remain."""
    installation.run("jobs", "run", "bird", "--resume", environment=SECRETS)
    return [each for each in store(installation) if each.state in PENDING_STATES]


def store(installation: Installation) -> list[PostRecord]:
    with Store(installation.state / "history.db", read_only=True) as store:
        return PostDatabase(store).newest_posts(limit=10_000)


def check(installation: Installation, known: dict[str, Server], counts: EventCounts) -> None:
    """Compare the store with the posts on the servers."""
    posts, states = store(installation), Counter[str]()
    for name, server in known.items():
        there = Counter(server.texts())
        assert max(there.values(), default=0) <= 1, f"{name} has something twice"
        mine = {each.text: each for each in posts if each.network == name}
        assert set(there) <= set(mine), f"{name} has something that nobody knows of"
        for text, each in mine.items():
            states[f"{name} {each.state}"] += 1
            assert each.state is not PostState.SENT or there[text] == 1, f"said to be on {name}, and is not: {each}"
            assert each.state not in FAILED_STATES or not there[text], f"said not to be on {name}: {each}"
            if each.state is PostState.UNCERTAIN:  # only if the account cannot be searched, or shows posts late
                known_late = name == "x" and "two searches did not find it" in each.reason
                assert known_late or any(word in each.reason for word in ("401", "402", "403")), each.reason
                assert not (known_late and there[text]), "it is there, and two searches did not find it"
    runs = installation.json("jobs", "history", "bird", "--count", "10000")
    slots = Counter(run["scheduled_for"] for run in runs if run["scheduled_for"])
    assert set(slots.values()) <= {1}, "a slot ran twice"
    assert {each.slot for each in posts} <= set(slots)
    print(  # noqa: T201
        f"seed {SEED}: {len(slots)} runs, {counts.kills} kills, {sum(counts.faults.values())} faults, "
        f"{counts.resent} sent again; {dict(states)}"
    )
