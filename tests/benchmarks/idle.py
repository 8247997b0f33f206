"""Compare an idle appliance with other programs: `python -m tests.benchmarks.idle [--minutes 10] [--only NAME]`."""

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

SETTLE = 30.0  # seconds from the start to the first measurement
_START_TIME = 3.0  # seconds after which a program counts as started
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
# cron reads the tables of the machine. In its own mount namespace it has only the file "$1".
_CRON = """
mount -t tmpfs none /var/spool/cron && mount -t tmpfs none /run && mount -t tmpfs none /etc/cron.d &&
mkdir -m 1730 /var/spool/cron/crontabs && crontab "$1" && exec cron -f
"""


class MissingProgram(Exception):
    """A program to compare with is missing. The message names it."""


def free_port() -> int:
    """Return an unused port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def appliance_command(folder: Path, player: str = "") -> Sequence[str]:
    """Return the command of our daemon with the example configuration in `folder` and `player`."""
    shutil.copytree(ROOT / "config", folder, dirs_exist_ok=True)
    (folder / "secrets.env").unlink(missing_ok=True)
    file = folder / "appliance.yaml"
    text = file.read_text("utf-8").replace("state-dir: ~/.local/state/pi-appliance", f"state-dir: {folder}/state")
    text = text.replace("port: 8080", f"port: {free_port()}")
    distant_hour = (time.localtime().tm_hour + 12) % 24  # no job may be due during the measurement
    text = re.sub(r"^( +schedule:).*$", rf'\1 ["{distant_hour:02}:30"]', text, flags=re.MULTILINE)
    before, _, rest = text.partition("player:\n")
    rest = rest.partition("\n\n")[2]
    # An unsynchronized clock is checked more often during the first ten minutes.
    file.write_text(f"{before}{player}\nclock: {{max-wait-for-sync: 0s}}\n\n{rest}", "utf-8")
    return [*PROGRAM, "up", "--config", str(file)]


def appliance_with_mpd_command(folder: Path) -> Sequence[str]:
    """Start an MPD, and return the command of our daemon with it. Raises `MissingProgram`."""
    _require_program("mpd")
    port = free_port()
    (folder / "music").mkdir()
    (folder / "mpd.conf").write_text(
        f'bind_to_address "127.0.0.1"\nport "{port}"\nmusic_directory "{folder}/music"\n'
        f'db_file "{folder}/db"\naudio_output {{\ntype "null"\nname "none"\n}}\n',
        "utf-8",
    )
    mpd = subprocess.Popen(["mpd", "--no-daemon", str(folder / "mpd.conf")], stderr=subprocess.DEVNULL)
    _HELPERS.append(mpd)
    time.sleep(_START_TIME)
    return appliance_command(
        folder, f"player: {{kind: mpd, with: {{address: 'localhost:{port}', fallback-mpd: false}}}}"
    )


def scheduler_command(folder: Path) -> Sequence[str]:
    """Install APScheduler into `folder`, and return a command with one job. Raises `MissingProgram`."""
    python = folder / "venv" / "bin" / "python"
    environment = subprocess.run([sys.executable, "-m", "venv", folder / "venv"], capture_output=True, check=False)
    package = subprocess.run([python, "-m", "pip", "install", "-q", "apscheduler<4"], capture_output=True, check=False)
    if environment.returncode or package.returncode:
        raise MissingProgram("APScheduler cannot be installed here")
    return [str(python), "-c", _SCHEDULER]


def cron_command(folder: Path, table: str = "0 4 * * * true\n") -> Sequence[str]:
    """Return the command of cron with one crontab, in its own mount namespace. Raises `MissingProgram`."""
    for program in ("cron", "crontab", "unshare"):
        _require_program(program)
    if os.geteuid() != 0:
        raise MissingProgram("cron needs root")
    crontab = folder / "crontab"
    crontab.write_text(table, "utf-8")
    return ["unshare", "--mount", "sh", "-c", _CRON, "sh", str(crontab)]


def mopidy_command(folder: Path) -> Sequence[str]:
    """Return the command of Mopidy with its page and its MPD server. Raises `MissingProgram`."""
    _require_program("mopidy")
    file = folder / "mopidy.conf"
    file.write_text(_MOPIDY.format(folder=folder, http=free_port(), mpd=free_port()), "utf-8")
    return ["mopidy", "--config", str(file)]


def _require_program(program: str) -> None:
    if shutil.which(program) is None:
        raise MissingProgram(f"{program} is not installed")


_HELPERS: list[subprocess.Popen[bytes]] = []
ROWS: dict[str, Callable[[Path], Sequence[str]]] = {
    "pi-appliance, no player": appliance_command,
    "pi-appliance, with MPD": appliance_with_mpd_command,
    "APScheduler, one job": scheduler_command,
    "Debian's cron, one job": cron_command,
    "Mopidy, page and MPD": mopidy_command,
}


@contextlib.contextmanager
def running_program(name: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the program of the row `name` in its own folder during the block. Raises `MissingProgram`."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        argv = ROWS[name](Path(folder))
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with (Path(folder) / "output").open("wb") as output:
            process = subprocess.Popen(argv, env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_START_TIME)
                raise MissingProgram(f"it ended: {(Path(folder) / 'output').read_text('utf-8', 'replace')[-200:]}")
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()


def measure(names: Sequence[str], seconds: float, settle: float) -> dict[str, process_cost.Cost | str]:
    """Run all of `names` at the same time. Return the cost of each in `seconds`, or the reason why there is none."""
    result: dict[str, process_cost.Cost | str] = {}
    with contextlib.ExitStack() as stack:
        started = {}
        for name in names:
            try:
                started[name] = stack.enter_context(running_program(name))
            except MissingProgram as error:
                result[name] = str(error)
        time.sleep(settle)
        before = {name: process_cost.measure_process(process.pid) for name, process in started.items()}
        time.sleep(seconds)
        for name, process in started.items():
            alive = process.poll() is None
            result[name] = (
                process_cost.measure_process(process.pid) - before[name] if alive else "it ended before its time"
            )
    for process in _HELPERS:
        process.terminate()
        process.wait()
    return {name: result[name] for name in names}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="duration of the measurement, the same for all")
    parser.add_argument("--settle", type=float, default=SETTLE, help="seconds before that")
    parser.add_argument("--only", action="append", choices=list(ROWS), help="a row; may be given more than once")
    options = parser.parse_args(argv)
    names = options.only or list(ROWS)
    print(f"| {options.minutes:g} minutes | {' | '.join(process_cost.HEADERS)} |")
    print("| --- |" + " --: |" * len(process_cost.HEADERS))
    for name, cost in measure(names, options.minutes * 60, options.settle).items():
        print(f"| {name} | {cost if isinstance(cost, str) else ' | '.join(cost.format_cells())} |")


if __name__ == "__main__":
    main()
