"""Posts that one network refuses: the state is per line and network, and nothing is lost or posted twice."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.fakes import mastodon_server, x_server
from tests.fakes.mastodon_server import FakeMastodon, fake_mastodon
from tests.fakes.x_server import fake_x
from tests.installation import Installation

SECRETS = x_server.SECRETS | {"MASTODON_TOKEN": mastodon_server.TOKEN}
FIRST_SLOT = datetime(2026, 5, 1, 6, tzinfo=UTC)


@dataclass
class Bird:
    """A job that posts lines in their order, with its two servers."""

    installation: Installation
    x: Any
    mastodon: FakeMastodon
    slots: int = 0

    def write(self, networks: str, *lines: str, order: str = "in-order", more: str = "") -> None:
        self.installation.write(
            f"bird:\n  kind: tweet\n  schedule: '0 6 * * *'\n"
            f"  with: {{lines: tweets.txt, network: [{networks}], order: {order}{more}}}",
            f"networks:\n  x: {{kind: x, with: {{server: '{self.x.address}', price: 0.015}}}}\n"
            f"  mastodon: {{kind: mastodon, with: {{server: '{self.mastodon.address}'}}}}",
        )
        (self.installation.folder / "tweets.txt").write_text("".join(f"{each}\n" for each in lines), "utf-8")

    def run_slot(self) -> str:
        """Run the job on its next slot and return the summary of the run."""
        slot = FIRST_SLOT + timedelta(days=self.slots)
        self.slots += 1
        words = ("--trigger", "cron", "--slot", f"{slot:%Y-%m-%dT%H:%M:%SZ}")
        self.installation.run("jobs", "run", "bird", *words, environment=SECRETS)
        return str(self.installation.latest_run("bird")["summary"])

    def resume(self) -> str:
        done = self.installation.run("jobs", "run", "bird", "--resume", environment=SECRETS)
        return done.stdout + done.stderr

    def refused(self) -> list[dict[str, Any]]:
        return self.installation.json("tweets", "refused")["refused"]  # type: ignore[no-any-return]

    def states(self) -> dict[str, str]:
        lines = self.installation.json("tweets", "lines")["lines"]
        return {each["text"]: each["state"] for each in lines}


@pytest.fixture
def bird(installation: Installation) -> Iterator[Bird]:
    with ExitStack() as stack:
        yield Bird(installation, stack.enter_context(fake_x()), stack.enter_context(fake_mastodon()))


def test_what_one_network_refused_is_reported_kept_and_sent_again_there_only(bird: Bird) -> None:
    bird.write("x, mastodon", "One.", "Two.")
    bird.x.faults.append(402)
    summary = bird.run_slot()
    assert summary.startswith("posted to mastodon; x: not posted: the credit at X is used up (402")
    assert "posted to mastodon and x: Two." in bird.run_slot()
    assert (bird.x.posts, bird.mastodon.texts) == (["Two."], ["One.", "Two."])

    summary = bird.run_slot()
    assert "every line of" in summary
    assert "not posted on every network: line 1 on x" in summary
    (entry,) = bird.refused()
    assert (entry["text"], entry["line"], [each["network"] for each in entry["posts"]]) == ("One.", 1, ["x"])
    assert "credit at X is used up" in entry["posts"][0]["reason"]
    assert bird.states() == {"One.": "refused", "Two.": "posted"}

    assert bird.installation.run("tweets", "resend", str(entry["post"])).returncode == 0
    assert bird.refused() == []
    assert "posted to x" in bird.resume()
    assert (bird.x.posts, bird.mastodon.texts) == (["Two.", "One."], ["One.", "Two."])
    assert bird.states() == {"One.": "posted", "Two.": "posted"}
    assert bird.installation.run("tweets", "resend", str(entry["post"])).returncode == 2
    bird.resume()
    assert (bird.x.posts, bird.mastodon.texts) == (["Two.", "One."], ["One.", "Two."])


def test_a_line_that_is_always_refused_steps_back(bird: Bird) -> None:
    bird.write("mastodon", "One.", "Two.", "Three.")
    bird.mastodon.faults.append(422)
    summary = bird.run_slot()
    assert "mastodon: not posted" in summary
    assert summary.endswith(": One.")
    assert [bird.run_slot(), bird.run_slot()] == ["posted to mastodon: Two.", "posted to mastodon: Three."]
    bird.mastodon.faults.append(422)
    assert "line 1 on mastodon" in bird.run_slot()
    assert bird.mastodon.faults == [422], "it is not sent again on its own"
    assert bird.states() == {"One.": "refused", "Two.": "posted", "Three.": "posted"}


@pytest.mark.slow
def test_a_shuffled_round_ends_although_a_line_of_it_is_refused(bird: Bird) -> None:
    bird.write("mastodon", "One.", "Two.", order="shuffle")
    bird.mastodon.faults.append(422)
    refused = bird.run_slot().rpartition(": ")[2]
    other = ({"One.", "Two."} - {refused}).pop()
    assert bird.run_slot() == f"posted to mastodon: {other}"
    assert bird.run_slot() == f"posted to mastodon: {refused}", "a new round"
    assert bird.refused() == [], "it was posted since"


@pytest.mark.slow
def test_the_order_stays_while_the_account_cannot_post(bird: Bird) -> None:
    bird.write("mastodon", "One.", "Two.")
    bird.mastodon.faults += [401, 403]
    assert [bird.run_slot().endswith("One."), bird.run_slot().endswith("One.")] == [True, True]
    (entry,) = bird.refused()
    assert (entry["text"], entry["posts"][0]["state"]) == ("One.", "blocked")
    assert bird.run_slot() == "posted to mastodon: One."
    assert bird.refused() == []


@pytest.mark.slow
def test_a_post_that_is_sent_again_is_not_chosen_as_well(bird: Bird) -> None:
    bird.write("mastodon", "One.", "Two.")
    bird.mastodon.faults.append(401)
    bird.run_slot()
    assert bird.installation.run("tweets", "resend", str(bird.refused()[0]["post"])).returncode == 0
    assert bird.run_slot() == "posted to mastodon: Two."
    assert sorted(bird.mastodon.texts) == ["One.", "Two."]


@pytest.mark.slow
def test_a_refused_post_is_sent_again_with_its_picture(bird: Bird) -> None:
    bird.write("mastodon", "The sky ![red clouds](sky.png) today")
    (bird.installation.folder / "sky.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    bird.mastodon.faults.append(422)
    bird.run_slot()
    bird.installation.run("tweets", "resend", str(bird.refused()[0]["post"]))
    bird.resume()
    assert [len(each["media_attachments"]) for each in bird.mastodon.statuses] == [1]


@pytest.mark.slow
def test_a_new_text_goes_to_the_networks_that_refused_the_old_one(bird: Bird) -> None:
    bird.write("x, mastodon", "# mine", "One {hostname}.", "Two.")
    bird.mastodon.faults.append(422)
    bird.run_slot()
    number = str(bird.refused()[0]["post"])
    long = bird.installation.run("tweets", "resend", number, "--text", "x" * 501)
    assert (long.returncode, "501 of 500 on mastodon" in long.stderr) == (1, True)
    assert bird.installation.run("tweets", "resend", number, "--text", "Uno.").returncode == 0
    assert (bird.installation.folder / "tweets.txt").read_text("utf-8") == "# mine\nUno.\nTwo.\n"
    assert bird.refused() == []
    assert "posted to mastodon" in bird.resume()
    assert (len(bird.x.posts), bird.mastodon.texts) == (1, ["Uno."])
    assert bird.run_slot() == "posted to mastodon and x: Two."
    assert "every line of" in bird.run_slot()
    assert bird.states() == {"Uno.": "posted", "Two.": "posted"}


@pytest.mark.slow
def test_a_dropped_post_does_not_come_again(bird: Bird) -> None:
    bird.write("x, mastodon", "One.")
    bird.x.faults.append(400)
    bird.run_slot()
    number = str(bird.refused()[0]["post"])
    assert bird.installation.run("tweets", "drop", number).returncode == 0
    assert (bird.refused(), bird.states()) == ([], {"One.": "posted"})
    assert bird.installation.run("tweets", "drop", number).returncode == 2
    bird.resume()
    assert "line 1 on x" not in bird.run_slot()
    assert (bird.x.posts, bird.mastodon.texts) == ([], ["One."])


@pytest.mark.slow
def test_the_rest_of_a_refused_thread_follows(bird: Bird) -> None:
    bird.write("mastodon", "Part. " * 150, more=", too-long: thread")
    bird.mastodon.faults += ["odd-header", 422]  # the first part is accepted
    bird.run_slot()
    assert len(bird.mastodon.texts) == 1
    (entry,) = bird.refused()
    assert [each["part"] for each in entry["posts"]] == [2]
    bird.installation.run("tweets", "resend", str(entry["post"]))
    bird.resume()
    assert len(bird.mastodon.texts) == 2
    assert len(set(bird.mastodon.texts)) == 2
