"""Memory and writes of every kind of night, compared with the plan of `--dry-run`: `python -m tests.benchmarks.nights`.

Each job of `NIGHTS` runs with its own state folder. `--only NAME` measures one of them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice, permutations
from pathlib import Path

from tests.benchmarks import process_cost

PROGRAM = (sys.executable, "-m", "pi_appliance")
SAMPLE_INTERVAL = 0.02  # seconds
GRIDS = 50_000
SEVENTEEN = "000000010400000000020000000000050407008000300001090000300400200050100000000806000"
CORNER = "  XXX\n  XXX\nXXXOXXX\nXXXXXXX\nXXXXXXX\n  XXX\n  XXX\n"  # the hole is at (3, 2)
NIGHTS = {  # the keys under `with:`, and a time limit for jobs that take hours
    "peg-solitaire: the known boards, all": ({"solutions": "all", "max-solutions": 1000}, "4m"),
    "peg-solitaire: full, count": ({"boards": ["full"], "solutions": "count"}, ""),
    "peg-solitaire: full without (3, 2), count": ({"boards": ["corner.txt"], "solutions": "count"}, "3m"),
    "peg-solitaire: full, fewest-moves": ({"boards": ["full"], "solutions": "fewest-moves"}, "1m"),
    "panguru: the known boards": ({}, "2m"),
    "panguru: generate": ({"generate": 1}, ""),
    "solitaire-chess: the known boards, all": ({}, ""),
    "solitaire-chess: full-size, count": ({"boards": ["full-size"], "solutions": "count"}, ""),
    "solitaire-chess: generate": ({"generate": 1}, ""),
    "connect-four: the known boards": ({"boards": ["squeeze", "tightrope", "siege", "sprint", "game"]}, "2m"),
    "connect-four: empty": ({"boards": ["empty"]}, "1m"),
    "connect-four: precompute": ({"precompute": True}, "2m"),
    "sudoku: the known boards": ({}, "2m"),
    "sudoku: generate, medium": ({"generate": 1, "rules": {"difficulty": "medium"}}, ""),
    f"sudoku: {GRIDS:,} grids": ({"boards": ["grids.txt"]}, ""),
    "battleship: the known boards": ({}, "2m"),
    "battleship: open-sea, count": ({"boards": ["open-sea"], "solutions": "count"}, ""),
    "bimaru: the known boards": ({}, "2m"),
    "bimaru: generate": ({"generate": 1}, ""),
    "rubiks-cube: the known boards": ({}, ""),
    "rubiks-cube: superflip, fewest-moves": ({"boards": ["superflip"], "solutions": "fewest-moves"}, "2m"),
    "rubiks-cube: precompute": ({"precompute": True}, ""),
}
HEADERS = ("night", "ended", "s", "MB estimated", "MB measured", "ratio", "MB planned to write", "MB written")


def measure(name: str, folder: Path) -> tuple[str, ...]:
    """Return the table row of one night. Its files are written into `folder`."""
    options, timeout = NIGHTS[name]
    (folder / "corner.txt").write_text(CORNER, "ascii")
    if "grids.txt" in options.get("boards", ()):
        (folder / "grids.txt").write_text("".join(islice(_relabelled_grids(), GRIDS)), "ascii")
    job = {
        "kind": "puzzle",
        "with": {"puzzle": name.partition(":")[0], **options},
        **({"timeout": timeout} if timeout else {}),
    }
    config = folder / "appliance.yaml"
    config.write_text(json.dumps({"state-dir": str(folder / "state"), "jobs": {"night": job}}), "utf-8")
    command = [*PROGRAM, "jobs", "run", "night", "--json", "-c", str(config)]
    plan = json.loads(subprocess.run([*command, "--dry-run"], stdout=subprocess.PIPE, check=False).stdout)
    before, start, peak = process_cost.children_written(), time.perf_counter(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        while process.poll() is None:
            peak = max(peak, process_cost.descendants_memory(process.pid))
            time.sleep(SAMPLE_INTERVAL)
        assert process.stdout
        result = json.load(process.stdout)
    seconds, written = time.perf_counter() - start, process_cost.children_written() - before
    return (
        name,
        result["outcome"],
        f"{seconds:.0f}",
        f"{plan['memory'] / 1e6:.0f}{'+' if plan['memory_may_grow'] else ''}",
        f"{peak / 1e6:.0f}",
        f"{plan['memory'] / max(1, peak):.1f}",
        f"{(plan['checkpoints'] + plan['tables']) / 1e6:.0f}",
        f"{written / 1e6:.1f}",
    )


def _relabelled_grids() -> Iterator[str]:
    for digits in permutations("123456789"):
        yield SEVENTEEN.translate(str.maketrans("123456789", "".join(digits))) + "\n"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table, each row as it is measured."""
    parser = argparse.ArgumentParser(description="Measure the memory and writes of the nightly puzzles.")
    parser.add_argument("--only", metavar="NAME", choices=NIGHTS, help="one night")
    only = parser.parse_args(argv).only
    print(f"| {' | '.join(HEADERS)} |\n|---|---|{'--:|' * (len(HEADERS) - 2)}")
    for name in [only] if only else NIGHTS:
        with tempfile.TemporaryDirectory() as folder:
            print(f"| {' | '.join(measure(name, Path(folder)))} |", flush=True)


if __name__ == "__main__":
    main()
