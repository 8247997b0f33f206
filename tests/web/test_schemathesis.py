"""Random and malformed requests to every operation, held to the OpenAPI document by schemathesis.

It is not an extra of the project: `.venv-test/bin/pip install schemathesis`. Nothing restarts and no
Wi-Fi changes: the service is real, the machine is not. Another test sends them to a
running daemon with MPD and a password.
"""

import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.fakes.mpd_server import Tags, needs_mpd, running_mpd
from tests.installation import Installation
from tests.test_daemon import running_daemon
from tests.web.served_appliance import configuration, serving, set_password
from tests.web.test_openapi import JOBS, STATIONS, STREAM, prepare

PROGRAM = Path(sys.executable).with_name("st")
OPTIONS = Path(__file__).with_name("schemathesis.toml")
STRICT_OPTIONS = Path(__file__).with_name("schemathesis_daemon.toml")
SECONDS = 200  # of random requests
DAEMON_SECONDS = 60  # of those to the running daemon
PASSWORD = "/password"  # changes a precondition of every later request

# Requests that the running daemon must not get, and why.
UNSAFE = (
    STREAM,  # it does not end
    PASSWORD,
    "/config",  # could move the page to another port
    "/config/values",
    "/config/history/{name}",
    "/system/restart",  # ends the daemon
    "/system/reboot",  # these change the machine that runs the tests
    "/system/shutdown",
    "/system/update",
    "/system/wifi/join",
    "/system/wifi/forget",
    "/system/wifi/hotspot",
    "/sound/cards/{id}/use",
    "/cluster/start",  # opens a port to the network
    "/system/backups/{name}/restore",  # restarts the daemon
)
SECRET = "open sesame at once"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PROGRAM.exists(), reason="schemathesis is not installed: pip install schemathesis"),
]


@pytest.mark.parametrize(
    "selection",
    [("--exclude-path", STREAM, "--exclude-path", PASSWORD), ("--include-path", PASSWORD)],
    ids=["all", "password"],
)
def test_no_request_breaks_what_the_document_promises(tmp_path: Path, selection: tuple[str, ...]) -> None:
    with serving(configuration(tmp_path / "appliance", jobs=JOBS, stations=STATIONS)) as appliance:
        prepare(appliance)
        check(tmp_path, appliance.origin, OPTIONS, SECONDS, *selection)


@needs_mpd
def test_a_running_daemon_keeps_what_its_document_promises(tmp_path: Path) -> None:
    installation = Installation(tmp_path)
    tracks = {"one.wav": Tags("One", "Someone", "Something", "", "Pop", "2001", "1", b"")}
    with running_mpd(tmp_path / "mpd", music=tracks, databases=("playlists", "stickers")) as mpd:
        player = f"player: {{kind: mpd, with: {{address: '{mpd.address}'}}}}"
        notifiers = "notifiers: {screen: {kind: command, with: {run: [cat]}}}\nnotify: {on-failure: [screen]}"
        cluster = "cluster: {scheduler: 'tcp://127.0.0.1:9'}"
        (tmp_path / "tweets.txt").write_text("One.\nTwo.\n")
        (tmp_path / "stations.yaml").write_text(STATIONS)
        rest = ["web: {host: 127.0.0.1, port: 0}", "stations: stations.yaml", player, notifiers, cluster]
        jobs, networks = JOBS.split("networks:")
        installation.write(textwrap.dedent(jobs), "\n".join([*rest, f"networks:{networks}"]))
        set_password(installation.config, SECRET)
        with running_daemon(installation) as daemon:
            excluded = [word for path in UNSAFE for word in ("--exclude-path", path)]
            sign_in = ("--header", f"Authorization: Bearer {SECRET}")
            try:
                check(tmp_path, daemon.page, STRICT_OPTIONS, DAEMON_SECONDS, *sign_in, *excluded)
                assert "Traceback" not in daemon.output
            finally:
                daemon.send_signal(signal.SIGTERM)  # it then ends its runs; a kill leaves them
                daemon.status()


def check(folder: Path, origin: str, settings: Path, seconds: int, *options: str) -> None:
    """Send requests to the appliance at `origin` for some `seconds`, with every check."""
    limits = ("--max-time", str(seconds), "--generation-database", "none", "--no-color")
    done = subprocess.run(
        [
            PROGRAM,
            "--config-file",
            settings,
            "run",
            f"{origin}/api/v1/openapi.json",
            "--checks",
            "all",
            *limits,
            *options,
        ],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=3 * seconds,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    assert re.search(r"[1-9]\d* generated, [1-9]\d* passed", done.stdout)
