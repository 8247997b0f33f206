"""What an idle appliance costs, beside others: `python -m tests.benchmarks.idle [--minutes 10] [--only NAME]`."""

import argparse
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.benchmarks import process_cost
from tests.installation import PROGRAM, ROOT

SETTLE = 30.0  # seconds from the start until the count begins
_FEW = 3.0  # seconds within which a program that cannot start ends
_MOPIDY = """
[core]
cache_dir = {folder}/cache
config_dir = {folder}/config
data_dir = {folder}/data
[audio]
output = fakesink
[http]
port = {http}
[mpd]
port = {mpd}
"""
_SCHEDULER = """
from apscheduler.schedulers.blocking import BlockingScheduler
scheduler = BlockingScheduler(timezone="UTC")
scheduler.add_job(print, "cron", hour=4)
scheduler.start()
"""
# The tables of cron are the machine's. In a name space of its own it sees only the file "$1", and moves nothing.
_CRON = """
mount -t tmpfs none /var/spool/cron && mount -t tmpfs none /run && mount -t tmpfs none /etc/cron.d &&
mkdir -m 1730 /var/spool/cron/crontabs && crontab "$1" && exec cron -f
"""


class Missing(Exception):
    """A program to compare with is not there; the message says which."""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def appliance(folder: Path, player: str = "") -> Sequence[str]:
    """Return how to start our daemon with the example configuration in `folder`, and `player` in it."""
    shutil.copytree(ROOT / "config", folder, dirs_exist_ok=True)
    (folder / "secrets.env").unlink(missing_ok=True)
    file = folder / "appliance.yaml"
    text = file.read_text("utf-8").replace("state-dir: ~/.local/state/pi-appliance", f"state-dir: {folder}/state")
    text = text.replace("port: 8080", f"port: {free_port()}")
    far = (time.localtime().tm_hour + 12) % 24  # a slot is work; none is to come while we look
    text = re.sub(r"^( +schedule:).*$", rf'\1 ["{far:02}:30"]', text, flags=re.MULTILINE)
    before, _, rest = text.partition("player:\n")
    rest = rest.partition("\n\n")[2]
    # As on a machine whose clock is set: one that is not is looked at more often, for its first ten minutes.
    file.write_text(f"{before}{player}\nclock: {{max-wait-for-sync: 0s}}\n\n{rest}", "utf-8")
    return [*PROGRAM, "up", "--config", str(file)]


def appliance_with_mpd(folder: Path) -> Sequence[str]:
    """Return the same with an MPD, which is started here. Raises Missing."""
    _needed("mpd")
    port = free_port()
    (folder / "music").mkdir()
    (folder / "mpd.conf").write_text(
        f'bind_to_address "127.0.0.1"\nport "{port}"\nmusic_directory "{folder}/music"\n'
        f'db_file "{folder}/db"\naudio_output {{\ntype "null"\nname "none"\n}}\n',
        "utf-8",
    )
    mpd = subprocess.Popen(["mpd", "--no-daemon", str(folder / "mpd.conf")], stderr=subprocess.DEVNULL)
    _NEIGHBOURS.append(mpd)
    time.sleep(_FEW)
    return appliance(folder, f"player: {{kind: mpd, with: {{address: 'localhost:{port}', fallback-mpd: false}}}}")


def bare_scheduler(folder: Path) -> Sequence[str]:
    """Return a process with APScheduler and one job, installed into `folder`. Raises Missing."""
    python = folder / "venv" / "bin" / "python"
    made = subprocess.run([sys.executable, "-m", "venv", folder / "venv"], capture_output=True, check=False)
    got = subprocess.run([python, "-m", "pip", "install", "-q", "apscheduler<4"], capture_output=True, check=False)
    if made.returncode or got.returncode:
        raise Missing("APScheduler cannot be installed here")
    return [str(python), "-c", _SCHEDULER]


def debian_cron(folder: Path, table: str = "0 4 * * * true\n") -> Sequence[str]:
    """Return cron with one crontab in a name space of its own. Raises Missing."""
    for each in ("cron", "crontab", "unshare"):
        _needed(each)
    if os.geteuid() != 0:
        raise Missing("cron needs root")
    crontab = folder / "crontab"
    crontab.write_text(table, "utf-8")
    return ["unshare", "--mount", "sh", "-c", _CRON, "sh", str(crontab)]


def mopidy(folder: Path) -> Sequence[str]:
    """Return Mopidy with its page and its MPD door. Raises Missing."""
    _needed("mopidy")
    file = folder / "mopidy.conf"
    file.write_text(_MOPIDY.format(folder=folder, http=free_port(), mpd=free_port()), "utf-8")
    return ["mopidy", "--config", str(file)]


def _needed(program: str) -> None:
    if shutil.which(program) is None:
        raise Missing(f"{program} is not installed")


_NEIGHBOURS: list[subprocess.Popen[bytes]] = []
ROWS: dict[str, Callable[[Path], Sequence[str]]] = {
    "pi-appliance, no player": appliance,
    "pi-appliance, with MPD": appliance_with_mpd,
    "APScheduler, one job": bare_scheduler,
    "Debian's cron, one job": debian_cron,
    "Mopidy, page and MPD": mopidy,
}


@contextlib.contextmanager
def running(name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Give the process of the row `name`, in a folder of its own, and end it. Raises Missing if it does not start."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        argv = ROWS[name](Path(folder))
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with (Path(folder) / "output").open("wb") as output:
            process = subprocess.Popen(argv, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_FEW)
                raise Missing(f"it ended: {(Path(folder) / 'output').read_text('utf-8', 'replace')[-200:]}")
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()


def measure(names: Sequence[str], seconds: float, settle: float) -> dict[str, process_cost.Cost | str]:
    """Let all of `names` run at the same time, and return what each cost in `seconds`, or why it could not be told."""
    result: dict[str, process_cost.Cost | str] = {}
    with contextlib.ExitStack() as held:
        started = {}
        for name in names:
            try:
                started[name] = held.enter_context(running(name))
            except Missing as why:
                result[name] = str(why)
        time.sleep(settle)
        before = {name: process_cost.look(process.pid) for name, process in started.items()}
        time.sleep(seconds)
        for name, process in started.items():
            alive = process.poll() is None
            result[name] = process_cost.look(process.pid) - before[name] if alive else "it ended before its time"
    for process in _NEIGHBOURS:
        process.terminate()
        process.wait()
    return {name: result[name] for name in names}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long each is looked at; all at the same time")
    parser.add_argument("--settle", type=float, default=SETTLE, help="seconds before that")
    parser.add_argument("--only", action="append", choices=list(ROWS), help="a row; may be given more than once")
    options = parser.parse_args(argv)
    names = options.only or list(ROWS)
    print(f"| {options.minutes:g} minutes | {' | '.join(process_cost.HEADS)} |")
    print("| --- |" + " --: |" * len(process_cost.HEADS))
    for name, cost in measure(names, options.minutes * 60, options.settle).items():
        print(f"| {name} | {cost if isinstance(cost, str) else ' | '.join(cost.cells())} |")


if __name__ == "__main__":
    main()
