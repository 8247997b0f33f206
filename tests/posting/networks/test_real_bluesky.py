"""The network `bluesky` against a real server (PDS), and its facets compared with those of the official client.

    PI_APPLIANCE_PDS=1 sh deploy/test.sh --all tests/posting/networks/test_real_bluesky.py

Both come from npm. The first time they are installed into ~/.cache/pi-appliance-pds (two minutes, 360 MB).
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from pi_appliance.config.options import NetworkDirs
from pi_appliance.errors import Refused, Unavailable
from pi_appliance.posting.model import Post
from pi_appliance.posting.networks import bluesky
from pi_appliance.storage.model import Picture
from tests.installation import Installation
from tests.posting.networks.bluesky_account import png

pytestmark = [
    pytest.mark.contract,
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("PI_APPLIANCE_PDS") != "1" or shutil.which("npm") is None,
        reason="needs npm, and takes minutes: set PI_APPLIANCE_PDS=1 to have it",
    ),
]
FOLDER = Path.home() / ".cache" / "pi-appliance-pds"
SCRIPT = Path(__file__).with_name("real_bluesky.mjs")
SEED, KILLS = 11, 12


@dataclass
class RealServer:
    """The server, its accounts, and the official client."""

    process: "subprocess.Popen[str]"
    address: str
    accounts: list[dict[str, str]]

    def connect(self, folder: Path, password: str = "", account: int = 0) -> bluesky.Bluesky:
        """Return the network of one account."""
        expected = self.accounts[account]
        options = bluesky.Options(handle=expected["handle"], server=self.address)
        place = NetworkDirs(folder / "state", folder / "reports")
        return bluesky.connect(options, {"BLUESKY_APP_PASSWORD": password or expected["password"]}, place)

    def records(self, account: int = 0) -> list[dict[str, Any]]:
        """Return the posts of an account, as anybody may read them."""
        query = {"repo": self.accounts[account]["did"], "collection": "app.bsky.feed.post", "limit": "100"}
        answer = httpx.get(f"{self.address}/xrpc/com.atproto.repo.listRecords", params=query)
        return [each["value"] for each in answer.raise_for_status().json()["records"]]

    def official_facets(self, text: str) -> list[dict[str, Any]]:
        """Return the facets that the official client finds in `text`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(text) + "\n")
        self.process.stdin.flush()
        return list(json.loads(self.process.stdout.readline()))


@pytest.fixture(scope="module")
def server() -> Iterator[RealServer]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not (FOLDER / "node_modules" / "@atproto" / "dev-env").exists():
        words = ["npm", "install", "--no-audit", "--no-fund", "--prefix", FOLDER, "@atproto/dev-env", "@atproto/api"]
        subprocess.run(words, check=True, cwd=FOLDER, timeout=600)
    with subprocess.Popen(
        ["node", SCRIPT], cwd=FOLDER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        started = json.loads(process.stdout.readline())
        yield RealServer(process, started["server"], started["accounts"])
        process.stdin.close()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for the session of all tests, because the server limits sign-ins."""
    return tmp_path_factory.mktemp("session")


def test_the_server_takes_all_that_a_post_may_have(server: RealServer, tmp_path: Path) -> None:
    network = server.connect(tmp_path)
    text = "🍓 https://münchen.example/ä #Möwe $AAPL @mia.test"
    first = network.post(Post(text, pictures=(Picture(png(4, 3), "image/png", "a grey field"),)), key="all 0")
    network.post(Post("and more"), key="all 1", thread=(first,))
    reply, post = sorted(server.records(), key=lambda record: "reply" not in record)
    assert reply["reply"]["parent"]["uri"] == reply["reply"]["root"]["uri"] == first.id.split()[0]
    assert (post["text"], post["embed"]["images"][0]["alt"]) == (text, "a grey field")
    features = [facet["features"][0] for facet in post["facets"]]
    assert [feature.get("uri") or feature.get("tag") or feature.get("did") for feature in features] == [
        "https://xn--mnchen-3ya.example/%C3%A4",
        "Möwe",
        "$AAPL",
        server.accounts[1]["did"],
    ]


def test_a_second_attempt_is_the_same_post(server: RealServer, tmp_path: Path) -> None:
    ids = {server.connect(tmp_path / str(number)).post(Post("only once"), key="once").id for number in range(3)}
    assert len(ids) == 1
    assert [record["text"] for record in server.records()].count("only once") == 1


def test_a_run_that_is_killed_at_any_time_posts_each_line_once(server: RealServer, installation: Installation) -> None:
    lines = [f"Thought {number} of the shelf" for number in range(KILLS)]
    installation.write(
        "bird: {kind: tweet, with: {lines: tweets.txt, order: in-order, network: sky, send-within: 1d}}",
        f"networks: {{sky: {{kind: bluesky, with: {{server: '{server.address}', handle: mia.test}}}}}}",
    )
    (installation.folder / "tweets.txt").write_text("\n".join(lines) + "\n")
    secrets, random, kills = {"BLUESKY_APP_PASSWORD": server.accounts[1]["password"]}, Random(SEED), 0
    while len(there := Counter(record["text"] for record in server.records(1))) < len(lines):
        assert max(there.values(), default=1) == 1
        process = installation.start("jobs", "run", "bird", environment=secrets)
        if kills < KILLS:
            time.sleep(random.uniform(0.2, 0.9))  # before, while and after it posts
            process.send_signal(signal.SIGKILL)
            kills += 1
            process.communicate(timeout=60)
        else:
            output, _ = process.communicate(timeout=60)
            assert process.returncode == 0, output
    assert there == Counter(lines)


def test_a_wrong_password_and_too_many_of_them_are_explained(server: RealServer, tmp_path: Path) -> None:
    for number in range(40):
        try:
            server.connect(tmp_path / str(number), password="wrong-password", account=2).post(
                Post("never"), key=str(number)
            )
        except Refused as error:
            assert "password" in str(error)  # noqa: PT017 - the server decides when it has had enough
        except Unavailable as error:
            assert error.retry_after is not None  # noqa: PT017
            assert 0 < error.retry_after <= 300  # noqa: PT017 - of 30 attempts in 5 minutes
            break
    else:
        pytest.fail("the server has no limit")


@pytest.mark.parametrize(
    "text",
    [
        "nothing to see",
        "🍓 https://example.org/a?b=c#d and (see http://example.org/x).",
        "https://en.wikipedia.org/wiki/Pi_(film)! bsky.app. me@example.org e.g.this z.B. 3.14 v1.2",
        "#pi, #pi's #1 #2026 #... # a#b #4pi #pi4",
        "Grüße #Möwe #日本 #🍓 #pi\n#shelf",
        "#" + "x" * 64 + " #" + "y" * 65,
        "$AAPL $aapl ($A) $BTC, $ABC12! no$SPACE $100 $ $ AAPL $123ABC $TOOLONG $AAPLです $A-B",
    ],
)
def test_facets_are_those_of_the_official_client(server: RealServer, session: Path, text: str) -> None:
    server.connect(session).post(Post(text), key=f"facets {text}")
    (record,) = [record for record in server.records() if record["text"] == text]
    assert _plain(record.get("facets", [])) == _plain(server.official_facets(text))


def test_more_is_marked_than_by_the_official_client_and_nothing_less(server: RealServer, session: Path) -> None:
    text = "HTTPS://Example.org my-pi.example.co.uk/x, example.org:8080/x #c++! (#shelf)"
    server.connect(session).post(Post(text), key="more facets")
    (record,) = [record for record in server.records() if record["text"] == text]
    assert set(_plain(server.official_facets(text))) < set(_plain(record["facets"]))


def _plain(facets: list[dict[str, Any]]) -> list[tuple[int, int, str]]:
    """Return the place of each facet, with its kind and its target."""
    result = []
    for facet in facets:
        feature = {name: value for name, value in facet["features"][0].items() if name != "$type"}
        result.append((facet["index"]["byteStart"], facet["index"]["byteEnd"], json.dumps(feature, sort_keys=True)))
    return sorted(result)
