"""Measure many jobs in one minute: `python -m tests.benchmarks.many_jobs [--jobs 200] [--limits none,default,cron]`.

Meanwhile the page is read once a second, and a person starts one more job. Debian's cron, which has
no page, runs the same programs for comparison.
"""

import argparse
import contextlib
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pi_appliance.scheduling.appliance import Appliance
from tests.benchmarks import idle, process_cost
from tests.installation import PROGRAM, wait_until

HEADERS = ("limit", "all done s", "page ms", "worst page ms", "Run now s", "processes", "proportional MB", "in order")
_LEAD_TIME = 5.0  # seconds for the start of the daemon
_TIMEOUT = 900.0  # seconds
_NO_LIMIT = 100_000


@dataclass
class Load:
    """The measurements of the minute."""

    page_times: list[float] = field(default_factory=list)  # seconds
    run_now: float = 0.0  # seconds
    processes: int = 0
    memory: int = 0  # bytes


def write_configuration(folder: Path, jobs: int, limit: str, scheduled_for: datetime) -> Path:
    """Write a configuration with `jobs` that are all due at `scheduled_for`, half of them with a high priority."""
    limits = {"none": f"max-concurrent-runs: {_NO_LIMIT}\n", "default": ""}
    lines = [f"state-dir: {folder}/state\ntime-zone: UTC\nclock: {{max-wait-for-sync: 0s}}\nweb: {{port: 0}}"]
    lines += [limits.get(limit, f"max-concurrent-runs: {limit}\n") + "jobs:"]
    lines += ["  manual: {kind: command, with: {run: [echo, hello]}}"]
    for number in range(jobs):
        priority = "high" if number % 2 else "low"
        lines.append(
            f"  job-{number}: {{kind: command, schedule: '{scheduled_for:%M %H} * * *', misfire-grace: 1h,"
            f" priority: {priority}, with: {{run: [echo, hello]}}}}"
        )
    path = folder / "appliance.yaml"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@contextlib.contextmanager
def running_daemon(config: Path) -> Iterator[tuple[int, str]]:
    """Run the daemon for the block. Yield its process and the address of its page."""
    with (config.parent / "output").open("w+") as output:
        process = subprocess.Popen([*PROGRAM, "up", "--config", str(config)], stdout=output, stderr=output)
        try:
            address = wait_until(lambda: re.search(r"http://127\.0\.0\.1:\d+", Path(output.name).read_text("utf-8")))
            yield process.pid, address[0]
        finally:
            process.terminate()
            process.wait()


def request(address: str, body: bytes | None = None) -> Any:
    """Return the JSON or the text of `address`."""
    with urllib.request.urlopen(urllib.request.Request(address, body), timeout=_TIMEOUT) as response:
        text = response.read().decode()
        return json.loads(text) if "json" in response.headers["Content-Type"] else text


def watch_page(page: str, load: Load, end: threading.Event) -> None:
    """Read the page once a second until `end`."""
    while not end.wait(1.0):
        start = time.monotonic()
        request(f"{page}/jobs")
        load.page_times.append(time.monotonic() - start)


def measure_run_now(page: str, load: Load) -> None:
    """Start one job as a person does, and wait for its end."""
    start = time.monotonic()
    run = request(f"{page}/api/v1/jobs/manual/run", b"{}")["run"]
    wait_until(lambda: request(f"{page}/api/v1/runs/{run}")["outcome"], _TIMEOUT)
    load.run_now = time.monotonic() - start


def measure_cron(jobs: int) -> list[str]:
    """Return the row of Debian's cron with the same programs. Raises idle.Missing."""
    with tempfile.TemporaryDirectory() as name:
        marks = Path(name, "marks")
        scheduled_for = (datetime.now().astimezone() + timedelta(seconds=60 + _LEAD_TIME)).replace(
            second=0, microsecond=0
        )
        line = f"{scheduled_for:%M %H} * * * echo hello; echo >>{marks}\n"
        load, end = Load(), threading.Event()
        with subprocess.Popen(idle.cron_command(Path(name), jobs * line)) as cron:
            watcher = threading.Thread(target=watch_memory, args=(cron.pid, load, end, 0.02))
            try:
                time.sleep(max(0.0, (scheduled_for - datetime.now(UTC)).total_seconds()))
                watcher.start()
                wait_until(lambda: marks.exists() and marks.stat().st_size == jobs, _TIMEOUT)
                seconds = (datetime.now(UTC) - scheduled_for).total_seconds()
            finally:
                end.set()
                cron.terminate()
        watcher.join()
    return ["cron", f"{seconds:.0f}", "", "", "", str(load.processes), f"{load.memory / 1e6:.0f}", ""]


def watch_memory(pid: int, load: Load, end: threading.Event, interval: float = 2.0) -> None:
    """Count the processes and their memory every `interval` seconds. It is slow, so not more often."""
    while not end.wait(interval):
        with contextlib.suppress(OSError):  # one has just ended
            load.processes = max(load.processes, process_cost.count_processes(pid))
            load.memory = max(load.memory, process_cost.measure_process(pid).proportional)


def measure(jobs: int, limit: str) -> list[str]:
    """Return the row of one limit."""
    with tempfile.TemporaryDirectory() as name:
        scheduled_for = (datetime.now(UTC) + timedelta(seconds=60 + _LEAD_TIME)).replace(second=0, microsecond=0)
        config = write_configuration(Path(name), jobs, limit, scheduled_for)
        load, end = Load(), threading.Event()
        with running_daemon(config) as (pid, page), Appliance.open(config) as appliance:
            time.sleep(max(0.0, (scheduled_for - datetime.now(UTC)).total_seconds()))
            watchers = [
                threading.Thread(target=watch_page, args=(page, load, end)),
                threading.Thread(target=watch_memory, args=(pid, load, end)),
            ]
            for thread in watchers:
                thread.start()
            time.sleep(1.0)
            measure_run_now(page, load)

            def is_done() -> bool:
                finished = [run for run in appliance.store.history(limit=2 * jobs) if run.outcome is not None]
                time.sleep(0.5)  # so that reading the history is not part of the load
                return len(finished) > jobs

            wait_until(is_done, _TIMEOUT)
            end.set()
            for thread in watchers:
                thread.join()
            runs = [run for run in appliance.store.history(limit=2 * jobs) if run.scheduled_for]
        last = max(run.ended for run in runs if run.ended is not None)
        parity = [int(run.job.removeprefix("job-")) % 2 for run in sorted(runs, key=lambda run: run.id)]
        times = sorted(load.page_times)
        return [
            limit,
            f"{(last - scheduled_for).total_seconds():.0f}",
            f"{1000 * times[len(times) // 2]:.0f}",
            f"{1000 * times[-1]:.0f}",
            f"{load.run_now:.1f}",
            str(load.processes),
            f"{load.memory / 1e6:.0f}",
            "yes" if parity == sorted(parity, reverse=True) else "no",
        ]


def main(argv: Sequence[str]) -> None:
    """Print a table with a row for each limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument(
        "--limits", default="none,default,cron", help="numbers, none, default, or cron for Debian's cron"
    )
    options = parser.parse_args(argv)
    print(f"| {' | '.join(HEADERS)} |")
    print(f"| --- | {' | '.join(['--:'] * (len(HEADERS) - 1))} |")
    for limit in options.limits.split(","):
        try:
            row = measure_cron(options.jobs) if limit == "cron" else measure(options.jobs, limit)
        except idle.MissingProgram as error:
            row = [limit, str(error)]
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
