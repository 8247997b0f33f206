"""`pi-appliance networks login` with the real program and fakes of the three networks."""

import contextlib
import subprocess
from collections.abc import Iterator, Sequence

import pytest

from pi_appliance.config import secrets
from tests.fakes.bluesky_account import DID, HANDLE, PASSWORD
from tests.fakes.bluesky_server import fake_bluesky
from tests.fakes.mastodon_server import fake_mastodon
from tests.fakes.x_server import SECRETS, fake_x
from tests.installation import Installation
from tests.warm_program import Process

JOB = "it: {kind: command, with: {run: ['true']}}"


class Conversation:
    """The program and a user who reads before answering."""

    def __init__(self, process: Process) -> None:
        assert process.stderr is not None
        assert process.stdin is not None
        self.process, self.seen, self._stderr, self._stdin = process, "", process.stderr, process.stdin

    def until(self, question: str) -> str:
        """Read until `question` is asked, and return the last word before it."""
        while not self.seen.endswith(f"{question}: "):
            message = self._stderr.read(1)
            assert message, self.seen
            self.seen += message
        return self.seen.removesuffix(f"{question}: ").split()[-1]

    def answer(self, question: str, answer: str) -> None:
        self.until(question)
        self._stdin.write(f"{answer}\n")
        self._stdin.flush()

    def end(self) -> tuple[int, str]:
        """Return the exit status and the output."""
        self._stdin.close()
        assert self.process.stdout is not None
        output = self.process.stdout.read()
        self.seen += self._stderr.read()
        assert "Traceback" not in self.seen
        return self.process.wait(60), output


@contextlib.contextmanager
def logging_in(installation: Installation, name: str) -> Iterator[Conversation]:
    process = Process(
        [*installation.program, "networks", "login", name, "--config", str(installation.config)],
        env=installation.environment({"PYTHONUNBUFFERED": "1"}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with process:
            yield Conversation(process)
    finally:
        process.kill()


def stored(installation: Installation) -> dict[str, str]:
    path = installation.folder / "secrets.env"
    return secrets.parse(path.read_bytes(), path)


def told_who(installation: Installation, name: str) -> Sequence[str]:
    return installation.run("networks", "test", name).stdout.splitlines()


def test_login_to_x_by_pin(installation):
    with fake_x() as server:
        installation.write(JOB, f"networks:\n  bird: {{kind: x, with: {{server: '{server.address}'}}}}")
        with logging_in(installation, "bird") as owner:
            owner.answer("API key (or consumer key)", SECRETS["X_CONSUMER_KEY"])
            owner.answer("API key secret", SECRETS["X_CONSUMER_SECRET"])
            owner.answer("else Enter, for a PIN", "")
            owner.answer("The PIN that X shows then", server.keys.consent(owner.until("The PIN that X shows then")))
            status, output = owner.end()
        assert status == 0, owner.seen
        assert output.startswith("bird: @shelf_bot")
        assert f"(the secrets are right); they are in {installation.folder}/secrets.env" in output
        assert stored(installation) == SECRETS
        assert told_who(installation, "bird")[0].startswith("bird: @shelf_bot")
        assert server.posts == []
        assert not [value for value in SECRETS.values() if value in owner.seen + output]


def test_login_to_x_with_wrong_console_tokens(installation):
    with fake_x() as server:
        installation.write(JOB, f"networks:\n  bird: {{kind: x, with: {{server: '{server.address}'}}}}")
        with logging_in(installation, "bird") as owner:
            owner.answer("API key (or consumer key)", SECRETS["X_CONSUMER_KEY"])
            owner.answer("API key secret", SECRETS["X_CONSUMER_SECRET"])
            owner.answer("else Enter, for a PIN", SECRETS["X_ACCESS_TOKEN"])
            owner.answer("Access token secret", "mistyped-hush")
            assert owner.end()[0] == 1
    assert owner.seen.splitlines()[-1].startswith("pi-appliance: X does not know the keys (401")
    assert owner.seen.endswith("; nothing was stored\n")
    assert "hush" not in owner.seen
    assert not (installation.folder / "secrets.env").exists()


def test_login_to_mastodon_by_code(installation):
    with fake_mastodon() as server:
        installation.write(
            JOB, f"networks:\n  toot: {{kind: mastodon, with: {{server: '{server.address}', secrets-prefix: CAT}}}}"
        )
        with logging_in(installation, "toot") as owner:
            question = "The code that is shown then"
            owner.answer(question, server.approve(owner.until(question)))
            status, output = owner.end()
        assert status == 0, owner.seen
        assert set(stored(installation)) == {"CAT_TOKEN"}
        assert stored(installation)["CAT_TOKEN"] in server.tokens
        assert output.startswith("toot: @")
        assert told_who(installation, "toot")[0].startswith("toot: @")
        assert server.statuses == []
        assert stored(installation)["CAT_TOKEN"] not in owner.seen + output


def test_login_to_bluesky_by_app_password(installation):
    with fake_bluesky() as server:
        installation.write(
            JOB, f"networks:\n  sky: {{kind: bluesky, with: {{handle: {HANDLE}, server: '{server.address}'}}}}"
        )
        for password, good in (("wrng-wrng-wrng-wrng", False), (PASSWORD, True)):
            with logging_in(installation, "sky") as owner:
                owner.answer("App password", password)
                status, output = owner.end()
            assert status == (0 if good else 1), owner.seen
            assert owner.seen.endswith("; nothing was stored\n") is not good
            assert password not in owner.seen + output
        assert DID in owner.seen
        assert stored(installation) == {"BLUESKY_APP_PASSWORD": PASSWORD}
        assert told_who(installation, "sky")[0].startswith("sky: ")
        assert server.records == {}


@pytest.mark.parametrize("network", ["kind: x", "kind: mastodon", f"kind: bluesky, with: {{handle: {HANDLE}}}"])
def test_an_aborted_login_stores_nothing(installation, network):
    with fake_mastodon() as server:
        network = network if "mastodon" not in network else f"kind: mastodon, with: {{server: '{server.address}'}}"
        installation.write(JOB, f"networks:\n  it: {{{network}}}")
        with logging_in(installation, "it") as owner:
            status, output = owner.end()
    assert (status, output, owner.seen.splitlines()[-1]) == (1, "", "pi-appliance: stopped; nothing was stored")
    assert not (installation.folder / "secrets.env").exists()


def test_a_one_letter_answer_is_not_redacted_from_messages(installation):
    installation.write(
        JOB, f"networks:\n  sky: {{kind: bluesky, with: {{handle: {HANDLE}, server: 'http://127.0.0.1:9'}}}}"
    )
    with logging_in(installation, "sky") as owner:
        owner.answer("App password", "s")
        status, _ = owner.end()
    assert (status, "[redacted]" in owner.seen, "is this Pi online?" in owner.seen) == (75, False, True)
