"""Memory and processes of a running command: `python -m tests.benchmarks.running_command`.

The run is started as the daemon does. The look at five seconds is before its runner becomes small.
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

HEADS = ("after s", "processes", "proportional MB", "CPU ms")


def measure(moments: Sequence[float], nap: float) -> list[list[str]]:
    """Return a row for each moment of a run of `sleep`, in seconds, and one for its end."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        config = Path(name, "appliance.yaml")
        command = f"{{kind: command, with: {{run: [sleep, '{nap}']}}}}"
        config.write_text(f"state-dir: {name}/state\njobs:\n  nap: {command}\n", "utf-8")
        words = [*PROGRAM, "jobs", "run", "nap", "--config", str(config)]
        began = time.monotonic()
        with subprocess.Popen(words, env={**os.environ, NO_HANDOVER: "1"}, stdout=subprocess.DEVNULL) as run:
            for moment in moments:
                time.sleep(max(0.0, began + moment - time.monotonic()))
                cost, count = process_cost.look(run.pid), process_cost.count(run.pid)
                rows.append([f"{moment:g}", str(count), f"{cost.proportional / 1e6:.1f}", f"{cost.cpu * 1e3:.0f}"])
            _, status, usage = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        rows.append(["end", "", "", f"{(usage.ru_utime + usage.ru_stime) * 1e3:.0f}"])
    return rows


def main() -> None:
    """Print the table."""
    print(f"| {' | '.join(HEADS)} |")
    print(f"|{' --: |' * len(HEADS)}")
    for row in measure((5.0, 15.0), 20.0):
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
