"""No secret appears in runs, the daemon, reports, the history or a support file."""

import base64
import gzip
import json
import re
import subprocess
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, quote_plus

import pytest

from tests.fakes.bluesky_account import HANDLE, PASSWORD
from tests.fakes.bluesky_server import fake_bluesky
from tests.fakes.mastodon_server import TOKEN, fake_mastodon
from tests.fakes.x_server import SECRETS, fake_x
from tests.installation import ROOT, Installation, wait_until
from tests.warm_program import IS_COLD

KINDS = ROOT / "tests" / "fakes" / "plugins"
ALL_THERE_IS = {"PYTHONPATH": f"{KINDS}:{ROOT}", "LOG_ALL": "1"}
if IS_COLD:  # a process that is forked reads these too late
    ALL_THERE_IS |= {"PYTHONWARNINGS": "always", "PYTHONDEVMODE": "1"}
ODD = {name: f"{value}+/=&%é '\"#" for name, value in SECRETS.items()}
JOBS = """
tweets: {kind: tweet, with: {network: [NETWORKS], lines: tweets.txt}}
env: {kind: command, with: {run: [env]}}
"""


def encodings(value: str) -> Iterator[str]:
    """Yield `value` plain, URL encoded once and twice, in JSON, and in base64 at any offset."""
    yield from (value, quote(value, safe=""), quote_plus(value), quote(quote(value, safe=""), safe=""))
    yield from (json.dumps(value)[1:-1], repr(value)[1:-1])
    for before in range(3):
        yield base64.b64encode(bytes(before) + value.encode()).decode()[before + 1 if before else 0 : -4]


class OutputLog:
    """All output by its source."""

    def __init__(self, installation: Installation) -> None:
        self.installation, self.by = installation, dict[str, bytes]()

    def run(self, *words: str, input_: str = "") -> subprocess.CompletedProcess[str]:
        """Run `pi-appliance` with `words` and all logging, and store its output."""
        done = subprocess.run(
            [*self.installation.program, *words, "--config", str(self.installation.config)],
            env=self.installation.environment(ALL_THERE_IS),
            input=input_,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.by[" ".join(words[:3])] = (done.stdout + done.stderr).encode()
        return done

    def gather(self) -> None:
        """Add the state, the logs and the content of a support file."""
        bundle = self.installation.folder / "out.tar.gz"
        self.run("doctor", "--bundle", str(bundle))
        self.by["bundle"] = gzip.decompress(bundle.read_bytes())
        for words in (("jobs", "history", "--json"), ("networks", "list"), ("networks", "list", "--json")):
            self.run(*words)
        for path in self.installation.state.rglob("*"):
            if path.is_file():
                self.by[str(path)] = path.read_bytes()

    def find_secrets(self, values: dict[str, str]) -> list[str]:
        """Return the places where one of `values` occurs."""
        return [
            f"{name} in {where}: …{text[max(0, at - 60) : at + 60]!r}…"
            for name, value in values.items()
            for spelled in encodings(value)
            for where, text in self.by.items()
            if (at := text.find(spelled.encode())) >= 0
        ]


@pytest.fixture
def output_log(installation: Installation) -> OutputLog:
    return OutputLog(installation)


def bird(address: str) -> dict[str, str]:
    return {"bird": f"kind: x, with: {{server: '{address}'}}"}


def write(installation: Installation, networks: Mapping[str, str], secrets: dict[str, str]) -> None:
    """Write a configuration with `networks` by name, and `secrets` next to it."""
    lines = "".join(f"  {name}: {{{network}}}\n" for name, network in networks.items())
    installation.write(JOBS.replace("NETWORKS", ", ".join(networks)), f"networks:\n{lines}web: {{port: 0}}")
    (installation.folder / "tweets.txt").write_text("".join(f"line {number}\n" for number in range(30)), "utf-8")
    path = installation.folder / "secrets.env"
    path.write_text("".join(f"{name}={value}\n" for name, value in secrets.items()), "utf-8")
    path.chmod(0o600)


@pytest.mark.slow
@pytest.mark.parametrize(
    "faults",
    [(401, "cut-after"), pytest.param((402, 403, 500, "cut-in-answer", "not-an-object", 429), marks=pytest.mark.slow)],
    ids=str,
)
def test_no_outcome_of_a_post_shows_a_key(output_log: OutputLog, faults: tuple[int | str, ...]) -> None:
    secrets = {**SECRETS, "MASTODON_TOKEN": TOKEN, "BLUESKY_APP_PASSWORD": PASSWORD}
    with fake_x() as x, fake_mastodon() as mastodon, fake_bluesky() as bluesky:
        networks = {
            "bird": f"kind: x, with: {{server: '{x.address}'}}",
            "toot": f"kind: mastodon, with: {{server: '{mastodon.address}', timeout: 5s}}",
            "sky": f"kind: bluesky, with: {{handle: {HANDLE}, server: '{bluesky.address}', timeout: 5s}}",
        }
        write(output_log.installation, networks, secrets)
        output_log.run("jobs", "run", "tweets", "--json")
        for fault in faults:
            x.faults, mastodon.faults, bluesky.faults["putRecord"] = [fault], [fault], [fault]
            output_log.run("jobs", "run", "tweets", "--json")
        output_log.run("jobs", "run", "env")
        assert output_log.run("networks", "test").returncode == 0
        assert "line" in x.posts[0] + mastodon.texts[0] + bluesky.texts[0]
    output_log.gather()
    assert output_log.find_secrets(secrets) == []


@pytest.mark.slow
def test_unknown_keys_are_not_shown(output_log: OutputLog) -> None:
    with fake_x() as server:
        write(output_log.installation, bird(server.address), ODD)
        assert output_log.run("jobs", "run", "tweets").returncode == 1
        assert output_log.run("networks", "test").returncode == 1
    output_log.gather()
    assert output_log.find_secrets(ODD) == []


@contextmanager
def echo() -> Iterator[str]:
    """Run a server that answers 403 with the whole request, and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.do_GET()

        def do_GET(self) -> None:
            answer = f"not allowed with {dict(self.headers)} and {ODD}"
            raw = json.dumps(
                {"title": answer, "detail": answer, "errors": [{"message": answer}], "status": 403}
            ).encode()
            self.send_response(403)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.slow
def test_a_server_that_echoes_the_request_is_not_repeated(output_log: OutputLog) -> None:
    with echo() as address:
        write(output_log.installation, bird(address), ODD)
        assert output_log.run("jobs", "run", "tweets").returncode == 1
        assert output_log.run("networks", "test").returncode == 1
        assert "not allowed with" in output_log.run("jobs", "history").stdout
    output_log.gather()
    assert output_log.find_secrets(ODD) == []


def test_the_daemon_and_its_page_show_no_secret(output_log: OutputLog) -> None:
    installation, secret_values = (
        output_log.installation,
        {**ODD, "WEB_PASSWORD": "open sesame+%", "MPD_PASSWORD": "hush/hush=hush"},
    )
    with echo() as address:
        write(installation, bird(address), secret_values)
        text = installation.config.read_text("utf-8").replace("tweets: {", "tweets: {schedule: '@reboot', ")
        installation.config.write_text(text, "utf-8")
        with installation.start("up", "--verbose", environment=ALL_THERE_IS) as daemon:
            try:
                assert daemon.stdout is not None
                lines = iter(daemon.stdout.readline, "")
                journal = list(_until_it_matches(lines, r"http://127\.0\.0\.1:\d+"))
                page = re.search(r"http://127\.0\.0\.1:\d+", journal[-1])[0]
                wait_until(lambda: any(installation.outcomes("tweets")), seconds=30)
                output_log.by["page"] = _get(page)
            finally:
                daemon.terminate()
            output_log.by["journal"] = "".join([*journal, *lines]).encode()
    output_log.gather()
    assert output_log.find_secrets(secret_values) == []


def _until_it_matches(lines: Iterator[str], pattern: str) -> Iterator[str]:
    for line in lines:
        yield line
        if re.search(pattern, line):
            return


def _get(address: str) -> bytes:
    with urllib.request.urlopen(address) as answer:
        return bytes(answer.read())
