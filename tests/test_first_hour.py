"""The first hour of a new owner: from deploy/run.sh to an alarm that rings, all on the phone.

The appliance and the phone are in network namespaces of their own, connected like by a home network.
So the starter configuration is used as it is, with its ports, and with a real MPD.
"""

import contextlib
import ctypes
import html
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest

from tests.fakes.mpd_server import MpdServer, make_music, needs_mpd
from tests.installation import ROOT, wait_until
from tests.test_deploy_scripts import NOT_SOURCES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="network namespaces need root and iproute2"),
    needs_mpd,
]
ZONE = "Asia/Kolkata"
_CLONE_NEWNET = 0x40000000
_NETWORK = "198.51.100"  # reserved for documentation
# Answers the calls of run.sh to Python without packages from the internet: it runs the program of the tests.
PYTHON = f"""#!/bin/sh
case "$1 $2" in
    "-m venv")
        for folder in "$@"; do :; done # the last word
        mkdir -p "$folder/bin"
        cp "$0" "$folder/bin/python"
        program='#!/bin/sh\\nPYTHONPATH="%s" exec {sys.executable} -m pi_appliance "$@"\\n'
        printf "$program" "${{folder%/*}}" >"$folder/bin/pi-appliance"
        chmod 755 "$folder/bin/pi-appliance" ;;
    "- " | "-m pip") ;;
    *) exec {sys.executable} "$@" ;;
esac
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def home_network() -> Iterator[tuple[str, str]]:
    """Yield the names of two network namespaces: that of the appliance, and that of the phone."""
    names = pi, phone = f"pa-pi-{os.getpid()}", f"pa-phone-{os.getpid()}"
    with contextlib.ExitStack() as stack:
        try:
            for name in names:
                ip("netns", "add", name)
                stack.callback(ip, "netns", "delete", name)
            ip("link", "add", "eth0", "netns", pi, "type", "veth", "peer", "name", "eth0", "netns", phone)
            for number, name in enumerate(names, start=1):
                ip("-n", name, "link", "set", "lo", "up")
                ip("-n", name, "address", "add", f"{_NETWORK}.{number}/24", "dev", "eth0")
                ip("-n", name, "link", "set", "eth0", "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
        yield names


READ_AGAIN = "the configuration was read again"


class Phone:
    """A browser without scripts in the network namespace `namespace`."""

    def __init__(self, namespace: str) -> None:
        self._thread = ThreadPoolExecutor(1, initializer=self._enter, initargs=(namespace,))
        self._client = httpx.Client(timeout=30, trust_env=False)
        self.base = ""

    @staticmethod
    def _enter(namespace: str) -> None:
        with Path("/run/netns", namespace).open() as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")

    def open(self, address: str, *, follow: bool = True) -> httpx.Response:
        return self._thread.submit(self._client.get, self.base + address, follow_redirects=follow).result()

    def send(self, address: str, **fields: str) -> httpx.Response:
        """Send a form and follow the redirect."""
        sent: Callable[[], httpx.Response] = lambda: self._client.post(  # noqa: E731 - runs in the thread
            self.base + address, data=fields, headers={"Origin": self.base}, follow_redirects=True
        )
        return self._thread.submit(sent).result()

    def api(self, address: str) -> Any:
        return self.open(f"/api/v1{address}").raise_for_status().json()

    def close(self) -> None:
        self._client.close()
        self._thread.shutdown()


class RunningClone:
    """deploy/run.sh of a clone, in the foreground of the namespace `namespace`."""

    def __init__(self, clone: Path, namespace: str, environment: Mapping[str, str]) -> None:
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, "sh", clone / "deploy" / "run.sh"],
            cwd="/",
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                self.lines.append(line.rstrip("\n"))

    def wait_for_output(self, pattern: str) -> str:
        """Return the first group of `pattern` in a line, as soon as there is one."""
        matches: list[str] = []

        def look() -> bool:
            assert self._process.poll() is None, self.lines
            matches[:] = [match[1] for line in list(self.lines) if (match := re.search(pattern, line))]
            return bool(matches)

        wait_until(look)
        return matches[0]

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)
        self._reader.join(30)


@pytest.fixture
def mpd(home_network: tuple[str, str], tmp_path: Path) -> Iterator[MpdServer]:
    """Run a real MPD where the starter configuration expects it."""
    server = MpdServer(tmp_path / "mpd")
    make_music(server.music)
    conf = server.folder / "mpd.conf"
    conf.write_text(conf.read_text().replace(f'port "{server.port}"', 'port "6600"'))
    inside = ["ip", "netns", "exec", home_network[0]]
    with (server.folder / "log").open("ab") as log:
        process = subprocess.Popen([*inside, "mpd", "--no-daemon", "--stderr", str(conf)], stdout=log, stderr=log)

    def mpc_bytes(*words: str, port: int | None = None) -> bytes:
        del port
        return subprocess.run([*inside, "mpc", *words], check=True, capture_output=True, timeout=20).stdout

    server.mpc_bytes = mpc_bytes  # type: ignore[method-assign] # in the namespace
    try:
        wait_until(lambda: subprocess.run([*inside, "mpc"], check=False, capture_output=True).returncode == 0)
        server.mpc("update", "--wait")
        yield server
    finally:
        process.terminate()
        process.wait(20)


def test_the_first_hour(home_network: tuple[str, str], mpd: MpdServer, tmp_path: Path) -> None:
    clone = tmp_path / "my clone"
    shutil.copytree(ROOT, clone, symlinks=True, ignore=shutil.ignore_patterns(*NOT_SOURCES, "secrets.env"))
    config, python = clone / "config" / "appliance.yaml", tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    (tmp_path / "run").mkdir(mode=0o700)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
        "PYTHON": str(python),
        "PYTHONUNBUFFERED": "1",
    }
    phone = Phone(home_network[1])
    appliance = RunningClone(clone, home_network[0], environment)
    try:
        set_up(phone, appliance, mpd)
        let_an_alarm_ring(phone, mpd)
        edit_a_tweet(phone, clone)
        good = config.read_text()
        assert "name: Shelf" in good
        config.write_text(good.replace("jobs:\n", "jobs:\n  oops: {kind: tweeet}\n", 1))
        appliance.stop()
        appliance = RunningClone(clone, home_network[0], environment)
        appliance.wait_for_output("(page: http)")
        correct_the_file(phone)
        assert config.read_text() == good
    finally:
        appliance.stop()
        phone.close()


def set_up(phone: Phone, appliance: RunningClone, mpd: MpdServer) -> None:
    address = appliance.wait_for_output(r"Open (http://\S+)")
    phone.base = address.partition("/setup")[0]
    assert phone.base == f"http://{_NETWORK}.1:8080"
    assert phone.open("/jobs", follow=False).headers["location"] == "/setup"
    assert 'name="again"' in phone.open(address.removeprefix(phone.base)).text
    code = address.partition("code=")[2]
    assert (
        phone.send("/setup/password", code=code, password="open sesame", again="open sesame").url.path == "/setup/name"
    )
    assert phone.send("/setup/name", name="Shelf").url.path == "/setup/time-zone"
    reads = appliance.lines.count(READ_AGAIN)
    page = phone.send("/setup/time-zone", zone=ZONE)
    assert page.url.path == "/setup/music"
    assert "The player is ready" in page.text
    wait_until(lambda: appliance.lines.count(READ_AGAIN) > reads)  # a person takes longer than the page to restart
    assert "A chime plays now" in phone.send("/setup/sound", volume="20").text
    wait_until(lambda: "[playing]" in mpd.mpc("status"))
    assert mpd.mpc("-f", "%file%", "current").endswith("/announcement.wav")
    wait_until(lambda: "[playing]" not in mpd.mpc("status"))
    assert "volume: 20%" in mpd.mpc("volume")
    page = phone.send("/setup/done")
    assert page.url.path == "/"
    assert "<title>Shelf" in page.text


def let_an_alarm_ring(phone: Phone, mpd: MpdServer) -> None:
    at = datetime.now(ZoneInfo(ZONE)) + timedelta(seconds=65)  # in the next minute, or in the one after it
    fields = {"name": "early", "time": f"{at:%H:%M}", "days": "", "play": "one.wav", "volume": "25", "fade": "0s"}
    phone.send("/do/alarms", one_shot="true", return_to="/music/alarms", **fields).raise_for_status()
    wait_until(lambda: "[playing]" in mpd.mpc("status"), 150)
    assert mpd.mpc("-f", "%file%", "current") == "one.wav"
    wait_until(lambda: "volume: 25%" in mpd.mpc("volume"))
    assert "early" in phone.open("/").text
    phone.send("/do/alarms/stop", job="early", return_to="/music/alarms").raise_for_status()
    wait_until(lambda: "[playing]" not in mpd.mpc("status"))


def edit_a_tweet(phone: Phone, clone: Path) -> None:
    number = phone.api("/tweets/lines")["lines"][0]["number"]
    address = f"/do/tweets/lines/{number}"
    phone.send(address, text="Good morning from the shelf.", return_to="/tweets").raise_for_status()
    assert "Good morning from the shelf." in (clone / "config" / "tweets.txt").read_text()
    phone.send("/do/tweets/post", line=str(number), return_to="/tweets").raise_for_status()
    wait_until(lambda: any(run.get("outcome") == "succeeded" for run in phone.api("/runs?job=tweets")))
    assert "Good morning from the shelf." in phone.open("/posts").text


def correct_the_file(phone: Phone) -> None:
    page = html.unescape(phone.open("/jobs").text)
    assert "The configuration file is wrong" in page
    assert "did you mean 'tweet'?" in page
    file = phone.api("/config")
    text = file["text"].replace("  oops: {kind: tweeet}\n", "")
    phone.send("/settings/file", text=text, version=file["version"]).raise_for_status()
    assert "The configuration file is wrong" not in phone.open("/jobs").text
