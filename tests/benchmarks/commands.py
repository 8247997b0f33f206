"""Compare the processor time of commands with bare Python: `python -m tests.benchmarks.commands`.

Processor time of the whole process and its children, the median of several runs. The commands and
bare Python take turns, so that other load on the machine affects both.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pi_appliance.system.runtime_socket import cron_arguments
from tests.fakes.mpd_server import running_mpd
from tests.installation import Installation
from tests.test_daemon import running_daemon

_JOBS = """
hello: {kind: command, started-by: cron, schedule: '* * * * *', chance: 1/1000000, with: {run: ['true']}}
pegs: {kind: puzzle, schedule: '30 2 * * *', with: {puzzle: peg-solitaire, boards: [cross]}}
"""
_PROGRAM = (sys.executable, "-m", "pi_appliance")
_COMMANDS: Mapping[str, Sequence[str]] = {
    "`--help`": ("--help",),
    "`jobs list`": ("jobs", "list"),
    "`music pause`": ("music", "pause"),
}


def measure(installation: Installation, rounds: int) -> dict[str, float]:
    """Return the milliseconds of each command, and of bare Python under ''."""
    words = {
        "": (sys.executable, "-c", "pass"),
        **{name: (*_PROGRAM, *command) for name, command in _COMMANDS.items()},
        "`jobs run` by cron, which the chance skips": (*_PROGRAM, *cron_arguments("hello", str(installation.config))),
    }
    samples: dict[str, list[float]] = {name: [] for name in words}
    for _ in range(rounds):
        for name, command in words.items():
            samples[name].append(_measure_command(command, installation))
    return {name: statistics.median(times) * 1000 for name, times in samples.items()}


def _measure_command(command: Sequence[str], installation: Installation) -> float:
    environment = {**installation.environment(), "PI_APPLIANCE_CONFIG": str(installation.config)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.stderr is not None
    with process.stderr:
        assert process.returncode == 0, process.stderr.read()
    return usage.ru_utime + usage.ru_stime


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table of docs/benchmarks.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder, running_mpd(Path(folder) / "mpd") as server:
        installation = Installation(Path(folder))
        player = f"{{kind: mpd, with: {{address: '{server.address}'}}}}"
        installation.write(_JOBS, f"web: {{port: 0}}\nplayer: {player}")
        with running_daemon(installation):
            costs = measure(installation, options.rounds)
    print("| with a running daemon | CPU ms | ratio to bare Python |\n| --- | --: | --: |")
    for name, cost in costs.items():
        print(f"| {name or '`python -c pass`'} | {cost:.0f} | {cost / costs['']:.1f} |")


if __name__ == "__main__":
    main()
