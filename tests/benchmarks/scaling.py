"""Compare long searches by one worker and by two: `python -m tests.benchmarks.scaling`.

`--size 0.1` does a tenth of the work, `--only NAME` one kind of it. Each measurement starts new workers.
"""

import argparse
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from pi_appliance.puzzles import SolveMode, connect_four, rubiks_cube, sudoku
from pi_appliance.puzzles.connect_four import book
from pi_appliance.puzzles.connect_four.search import position_of
from pi_appliance.puzzles.rubiks_cube.coordinates import facelets_of
from pi_appliance.puzzles.rubiks_cube.solve import random_state
from pi_appliance.puzzles.runtime import SearchRuntime
from pi_appliance.puzzles.runtime.local import open_runtime
from tests.puzzles.sudoku.grids import HARDEST, permute_grid

HEADERS = ("work", "by", "1 worker, s", "2 workers, s", "ratio")
Search = Callable[[SearchRuntime], object]
Work = Callable[[float], Search]  # makes the search of a size, with its input


def solve_sudokus(size: float) -> Search:
    """Solve a file of hard grids, from its text to the list of solutions."""
    chance = random.Random(7)
    text = "\n".join(permute_grid(HARDEST[at % len(HARDEST)], chance) for at in range(round(20_000 * size)))
    return lambda runtime: list(sudoku.solve(text, SolveMode.FIRST, runtime).solutions)


def build_book(size: float) -> Search:
    """Build the book of four plies after each of `size` positions of 10 discs, or of the first ply if it is small."""
    starts = [position_of(connect_four.parse(f"33311573{moves}", "scaling")) for moves in ("33", "44", "22", "66")]
    starts, stages = starts[: max(1, round(size))], (2, 4) if size >= 1 else (1,)
    return lambda runtime: [book.build_book(runtime, start, stages) for start in starts]


def solve_cubes(size: float) -> Search:
    """Find all shortest solutions of a cube that needs 14 turns, or fewer if `size` is small."""
    turns = ["R", "U2", "F'", "D", "L", "B2", "U", "R2", "D'", "F", "L2", "B", "U'", "F2"]
    cube = " ".join(turns[: 14 if size >= 1 else 8])
    return lambda runtime: list(rubiks_cube.solve(cube, SolveMode.FEWEST, runtime).solutions)


def solve_many_cubes(size: float) -> Search:
    """Solve random cubes within a tenth of a second each."""
    chance = random.Random(3)
    states = [random_state(chance, 3) for _ in range(round(200 * size))]
    cubes = [rubiks_cube.Board(3, facelets_of(each, 3), seconds=0.1) for each in states]
    return lambda runtime: list(rubiks_cube.solve_many(cubes, runtime))


WORK: dict[str, Work] = {
    "20,000 hard sudokus": solve_sudokus,
    "an opening book": build_book,
    "all shortest solutions of a cube": solve_cubes,
    "200 cubes, 0.1 s each": solve_many_cubes,
}


@contextmanager
def processes(workers: int, folder: Path) -> Iterator[SearchRuntime]:
    """Yield a runtime with `workers` processes of this machine."""
    with open_runtime(folder, cores=workers) as runtime:
        yield runtime


@contextmanager
def dask(workers: int, folder: Path) -> Iterator[SearchRuntime]:
    """Yield a runtime with `workers` workers of Dask."""
    from distributed import Client, LocalCluster  # noqa: PLC0415 - it is optional

    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
        open_runtime(folder, cores=1, executor=client.get_executor()) as runtime,
    ):
        client.run(import_module, __spec__.name)  # in a real cluster the workers have imported it before
        yield runtime


EXECUTORS = {"processes": processes, "Dask": dask}


def measure(work: Work, executor: str, workers: int, folder: Path, size: float) -> float:
    """Return the seconds of `work`. For cubes a small part of it runs before, which builds and sends the tables."""
    search = work(size)
    with EXECUTORS[executor](workers, folder) as runtime:
        if work is not build_book:  # its workers would know the positions
            work(size / 100)(runtime)
        start = time.perf_counter()
        search(runtime)
        runtime.cache.remove(book.CACHE_NAME)
        return time.perf_counter() - start


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table, each row as it is measured."""
    parser = argparse.ArgumentParser(description="How long searches scale from one worker to two.")
    parser.add_argument("--size", type=float, default=1.0, help="the part of the work")
    parser.add_argument("--only", metavar="NAME", choices=WORK, help="one kind of work")
    parser.add_argument("--by", choices=EXECUTORS, help="one kind of workers")
    options = parser.parse_args(argv)
    print(f"| {' | '.join(HEADERS)} |\n|---|---|{'--:|' * (len(HEADERS) - 2)}")
    with TemporaryDirectory() as folder:
        for name in [options.only] if options.only else WORK:
            for executor in [options.by] if options.by else EXECUTORS:
                one, two = (measure(WORK[name], executor, workers, Path(folder), options.size) for workers in (1, 2))
                print(f"| {name} | {executor} | {one:.1f} | {two:.1f} | {one / two:.2f} |", flush=True)


if __name__ == "__main__":
    main()
