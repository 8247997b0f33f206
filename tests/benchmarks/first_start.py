"""Measure the first start on a slow machine: `python -m tests.benchmarks.first_start`.

A cgroup gives all cores together a share of their time. In it, `deploy/run.sh` of a fresh clone starts the
appliance, which uses a real MPD without sound and the network `preview`. `--revisions` names further versions
to compare with. It needs root, mpd and mpc, and a network for pip.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.fakes.mpd_server import MpdServer, free_port, running_mpd
from tests.installation import ROOT, wait_until

HEADERS = ("start", "page s", "CPU s until then", "sound s", "post s")
_TIMEOUT = 1800.0  # seconds
_PERIOD = 100_000  # microseconds; the kernel's default
_CGROUPS = Path("/sys/fs/cgroup")
_TRACK = {"one.wav": ("One", "Someone", "Something")}


def has_cgroups() -> bool:
    """Return whether a cgroup with a share of the processor can be made here."""
    folder = _CGROUPS if (_CGROUPS / "cgroup.controllers").exists() else _CGROUPS / "cpu"
    is_offered = folder != _CGROUPS or "cpu" in (folder / "cgroup.subtree_control").read_text("ascii").split()
    return os.geteuid() == 0 and is_offered and os.access(folder / "cgroup.procs", os.W_OK)


class SlowMachine:
    """A cgroup with a share of the processor time of all cores. It is deleted at the end of the block."""

    def __init__(self, share: float) -> None:
        self._quota = round(share * (os.cpu_count() or 1) * _PERIOD)
        name = f"pi-appliance-benchmark-{os.getpid()}"
        self._is_v2 = (_CGROUPS / "cgroup.controllers").exists()
        kinds = ("",) if self._is_v2 else ("cpu", "cpuacct")
        self._folders = [_CGROUPS / kind / name for kind in kinds]

    def __enter__(self) -> "SlowMachine":
        for folder in self._folders:
            folder.mkdir(exist_ok=True)  # "cpu" and "cpuacct" may be the same
        if self._is_v2:
            (self._folders[0] / "cpu.max").write_text(f"{self._quota} {_PERIOD}")
        else:
            (self._folders[0] / "cpu.cfs_period_us").write_text(str(_PERIOD))
            (self._folders[0] / "cpu.cfs_quota_us").write_text(str(self._quota))
            with contextlib.suppress(OSError):  # some kernels need it to accept MPD's real-time thread
                (self._folders[0] / "cpu.rt_runtime_us").write_text("100000")
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self._pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not self._pids())
        for folder in self._folders:
            with contextlib.suppress(FileNotFoundError):
                folder.rmdir()

    @property
    def cpu(self) -> float:
        """The processor time of all its processes so far, in seconds."""
        if self._is_v2:
            usage = re.search(r"usage_usec (\d+)", (self._folders[0] / "cpu.stat").read_text("ascii"))
            return int(usage[1]) / 1e6 if usage else 0.0
        return int((self._folders[-1] / "cpuacct.usage").read_text("ascii")) / 1e9

    def move(self, pid: int) -> None:
        """Move a process and its later children into the cgroup."""
        for folder in self._folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def run(self, *words: str) -> "subprocess.Popen[bytes]":
        """Start a program in it."""
        files = " ".join(f"{folder}/cgroup.procs" for folder in self._folders)
        script = f'for each in {files}; do echo $$ >$each; done; exec "$@"'
        return subprocess.Popen(["sh", "-c", script, "sh", *words], stdout=subprocess.DEVNULL, start_new_session=True)

    def _pids(self) -> list[int]:
        return [int(pid) for pid in (self._folders[0] / "cgroup.procs").read_text("ascii").split()]


def write_configuration(folder: Path, mpd: MpdServer) -> tuple[Path, str]:
    """Write a configuration that uses `mpd`, and return it and the address of its page."""
    port = free_port()
    (folder / "tweets.txt").write_text("A line.\n" + "".join(f"Line {number}.\n" for number in range(20)))
    path = folder / "appliance.yaml"
    path.write_text(
        f"state-dir: {folder}/state\ntime-zone: UTC\nclock: {{max-wait-for-sync: 0s}}\n"
        f"web: {{host: 127.0.0.1, port: {port}}}\n"
        f"player: {{kind: mpd, with: {{address: '{mpd.address}'}}}}\n"
        "networks: {preview: {kind: preview}}\n"
        "jobs: {tweets: {kind: tweet, with: {lines: tweets.txt, network: preview}}}\n",
        "utf-8",
    )
    return path, f"http://127.0.0.1:{port}"


def measure(name: str, words: Sequence[str], share: float) -> list[str]:
    """Return the row of one start by `words`. Sound and post are counted from the user's request."""
    with tempfile.TemporaryDirectory() as text, running_mpd(Path(text, "mpd"), music=_TRACK) as mpd:
        config, page = write_configuration(Path(text), mpd)
        mpd.mpc("add", "one.wav")
        with SlowMachine(share) as machine:
            machine.move(mpd.pid)
            start = time.monotonic()
            daemon = machine.run(*words, "--config", str(config))
            try:
                page_seconds = _seconds_until(lambda: _is_answered(page), start)
                cpu = machine.cpu
                sound = _measure_request(f"{page}/api/v1/player/play", lambda: _has_sound(mpd))
                post = _measure_request(
                    f"{page}/api/v1/jobs/tweets/run", lambda: list(Path(text, "state").rglob("posts.txt"))
                )
            finally:
                daemon.terminate()
                daemon.wait()
    return [name, f"{page_seconds:.1f}", f"{cpu:.1f}", f"{sound:.2f}", f"{post:.1f}"]


def _measure_request(address: str, is_done: Callable[[], object]) -> float:
    """Send a request until it is accepted, and return after how many seconds `done()` is true."""
    start = time.monotonic()
    wait_until(lambda: _is_answered(address, b"{}"), _TIMEOUT)  # the player may not be connected yet
    return _seconds_until(is_done, start)


def _seconds_until(is_done: Callable[[], object], start: float) -> float:
    wait_until(is_done, _TIMEOUT)
    return time.monotonic() - start


def _is_answered(address: str, body: bytes | None = None) -> bool:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, body), timeout=_TIMEOUT) as response:
            return bool(response.read())
    except (urllib.error.URLError, ConnectionError):
        return False


def _has_sound(mpd: MpdServer) -> bool:
    """Return whether MPD has sent samples to its output."""
    state = mpd.mpc("status", "%state% %audioformat%").split()
    return state[:1] == ["playing"] and len(state) > 1


@contextlib.contextmanager
def cloned_revision(revision: str) -> Iterator[Path]:
    """Yield a fresh clone of this repository at `revision`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "clone")
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", ROOT, folder], check=True)
        subprocess.run(["git", "-C", folder, "checkout", "--quiet", revision], check=True)
        yield folder


def rows(revision: str, share: float) -> Iterator[list[str]]:
    """Yield the rows of the first and of the next start of `revision`."""
    with cloned_revision(revision) as clone:
        for name in ("first", "next"):
            yield measure(f"{revision}: {name}", ["sh", str(clone / "deploy/run.sh")], share)


def main(argv: Sequence[str]) -> None:
    """Print a table with two rows for each revision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.25, help="of the processor time of each core")
    parser.add_argument("--revisions", default="HEAD", help="of this clone, with commas")
    options = parser.parse_args(argv)
    if not has_cgroups() or not shutil.which("mpc"):
        parser.error("it needs root, cgroups with the controller cpu, mpd and mpc")
    print(f"| {' | '.join(HEADERS)} |")
    print(f"| --- | {' | '.join(['--:'] * (len(HEADERS) - 1))} |")
    for revision in options.revisions.split(","):
        for row in rows(revision, options.share):
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
