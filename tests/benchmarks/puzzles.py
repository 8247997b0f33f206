"""Benchmark of the puzzles against the original methods and the best peers: `python -m tests.benchmarks.puzzles`.

Each file _puzzle_<name>.py here has `rows()`, which yields (measure, ours, peer, ratio), both measured in the same run.
`--only NAME` runs one of them. With PI_APPLIANCE_PLAIN=1 the kernels run as plain Python.
"""

import argparse
import importlib
import os
import pkgutil
import platform
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pi_appliance.puzzles import kernels
from pi_appliance.puzzles.runtime import local

Rows = Callable[[], Iterator[tuple[str, str, str, str]]]
_PREFIX = "_puzzle_"


def benchmarks() -> Mapping[str, Rows]:
    """Return the benchmark of each puzzle by name."""
    package = "tests.benchmarks"
    result = [each.name for each in pkgutil.iter_modules([str(Path(__file__).parent)]) if each.name.startswith(_PREFIX)]

    def of(name: str) -> Rows:
        return lambda: importlib.import_module(f"{package}.{name}").rows()

    return {name.removeprefix(_PREFIX).replace("_", "-"): of(name) for name in sorted(result)}


def conditions(states: Mapping[str, str], processor: str) -> str:
    """Describe the machine and its load."""
    counts = Counter(states.values())
    kernels = ", ".join(f"{number} {state}" for state, number in counts.items()) or "none"
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{processor}, {local.available_cores()} cores · {python} · kernels: {kernels} · load before: {load}"


def processor() -> str:
    """Return the model name of the processor or the board."""
    for path, name in (("/proc/device-tree/model", ""), ("/proc/cpuinfo", "model name")):
        try:
            text = Path(path).read_text("utf-8", "replace")
        except OSError:
            continue
        names = [line.partition(":")[2].strip() for line in text.splitlines() if name and line.startswith(name)]
        if names or not name:
            return (names[0] if names else text).strip("\0 \n")
    return platform.machine()


def main(argv: Sequence[str] | None = None, result: Mapping[str, Rows] | None = None) -> None:
    """Print the table, each row as it is measured."""
    result = benchmarks() if result is None else result
    parser = argparse.ArgumentParser(description="How fast the puzzles are.")
    parser.add_argument("--only", metavar="NAME", choices=result, help=f"one of {', '.join(result) or 'none yet'}")
    only = parser.parse_args(argv).only
    states = dict(kernels.kernel_states())
    if os.environ.get("PI_APPLIANCE_PLAIN") == "1":
        kernels.prefer_plain()
        states = dict.fromkeys(states, "plain")
    print(conditions(states, processor()), end="\n\n", flush=True)
    print("| what | ours | peer | ratio |\n|---|--:|--:|--:|")
    for name, rows in result.items():
        if only in (None, name):
            for what, ours, peer, ratio in rows():
                print(f"| {name}: {what} | {ours} | {peer} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
