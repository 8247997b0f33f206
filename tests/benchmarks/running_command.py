"""Memory and processes of a running command: `python -m tests.benchmarks.running_command`.

The run is started in the same way as by the daemon. The sample at five seconds is taken before the small runner
replaces the runner.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pi_appliance.system.runtime_socket import NO_HANDOVER
from tests.benchmarks import process_cost
from tests.installation import PROGRAM

HEADERS = ("after s", "processes", "proportional MB", "CPU ms")


def measure(sample_times: Sequence[float], duration: float) -> list[list[str]]:
    """Run `sleep` for `duration` seconds, and return a row for each of `sample_times` and one for the end."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        config = Path(name, "appliance.yaml")
        command = f"{{kind: command, with: {{run: [sleep, '{duration}']}}}}"
        config.write_text(f"state-dir: {name}/state\njobs:\n  sleep: {command}\n", "utf-8")
        words = [*PROGRAM, "jobs", "run", "sleep", "--config", str(config)]
        start = time.monotonic()
        with subprocess.Popen(words, env={**os.environ, NO_HANDOVER: "1"}, stdout=subprocess.DEVNULL) as run:
            for sample_time in sample_times:
                time.sleep(max(0.0, start + sample_time - time.monotonic()))
                cost, count = process_cost.measure_process(run.pid), process_cost.count_processes(run.pid)
                rows.append([f"{sample_time:g}", str(count), f"{cost.proportional / 1e6:.1f}", f"{cost.cpu * 1e3:.0f}"])
            _, status, usage = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        rows.append(["end", "", "", f"{(usage.ru_utime + usage.ru_stime) * 1e3:.0f}"])
    return rows


def main() -> None:
    """Print the table."""
    print(f"| {' | '.join(HEADERS)} |")
    print(f"|{' --: |' * len(HEADERS)}")
    for row in measure((5.0, 15.0), 20.0):
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
