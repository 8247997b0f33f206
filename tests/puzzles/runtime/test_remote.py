"""Searches by standard executors: the same answers from threads, processes and the workers of Dask."""

import multiprocessing
import os
import pickle
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Any
from weakref import WeakSet

import pytest

from pi_appliance.errors import ConfigError, Refused
from pi_appliance.puzzles import Answer, SolveMode, connect_four, peg_solitaire, rubiks_cube, sudoku
from pi_appliance.puzzles.connect_four import book
from pi_appliance.puzzles.connect_four.search import position_of
from pi_appliance.puzzles.rubiks_cube.coordinates import facelets_of
from pi_appliance.puzzles.rubiks_cube.solve import random_state
from pi_appliance.puzzles.runtime import Cache, FileCache, Interrupted, SearchRuntime
from pi_appliance.puzzles.runtime.local import open_runtime
from pi_appliance.puzzles.sudoku.count import count_parallel
from pi_appliance.puzzles.sudoku.solve import solve_batch
from tests.puzzles.runtime import remote_calls
from tests.puzzles.sudoku.grids import NONE, SEVERAL, UNIQUE, permute_grid

Search = Callable[[SearchRuntime], object]


def processes() -> Executor:
    """Return two processes that see nothing of this one."""
    return ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor]:
    with processes() as executor:
        yield executor


@pytest.fixture(scope="module")
def dask_client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(
    params=["threads", "processes", pytest.param("dask", marks=pytest.mark.slow)],
)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    if request.param == "threads":
        with ThreadPoolExecutor(2) as threads:
            yield threads
    elif request.param == "processes":
        yield request.getfixturevalue("pool")
    else:
        yield request.getfixturevalue("dask_client").get_executor()


def summary(answer: Answer[Any]) -> object:
    """Return the values that must be equal."""
    details = {name: value for name, value in answer.details.items() if name != "grids_per_second"}
    return answer.count, list(answer.solutions), answer.nodes_searched(), details, list(answer.tables)


def many_grids(number: int) -> list[str]:
    chance, known = random.Random(7), [*UNIQUE, *SEVERAL, *NONE]
    return [permute_grid(known[at % len(known)], chance) for at in range(number)]


def solve_file(runtime: SearchRuntime) -> object:
    return summary(sudoku.solve("\n".join(many_grids(100)), SolveMode.COUNT, runtime))


def solve_large_file(runtime: SearchRuntime) -> object:
    return summary(sudoku.solve("\n".join(many_grids(6_000)), SolveMode.ALL, runtime))


def solve_large_grids(runtime: SearchRuntime) -> object:
    return summary(sudoku.solve("\n".join(["1...............", "12..34.........."] * 10), SolveMode.ALL, runtime))


def count_grid(runtime: SearchRuntime) -> object:
    return count_parallel("872.39...6....5....9.....7...89..21" + "." * 46, 20_000, runtime, branch_budget=1_000)


def build_book(runtime: SearchRuntime) -> object:
    start = position_of(connect_four.parse("333115733355541712672671", "mine"))
    book.build_book(runtime, start, (1, 2, 3))
    return bytes(runtime.cache.load(book.CACHE_NAME) or b"")


def solve_deep_cube(runtime: SearchRuntime) -> object:
    return summary(rubiks_cube.solve("R U2 F' D L B2 U R2 D' F L2 B", SolveMode.FEWEST, runtime))


def solve_many_cubes(runtime: SearchRuntime) -> object:
    chance = random.Random(3)
    states = [(side, random_state(chance, side)) for side in (3, 2, 3, 3, 2, 3)]
    boards = [rubiks_cube.Board(side, facelets_of(state, side), seconds=0) for side, state in states]
    return list(rubiks_cube.solve_many([*boards, "R U", rubiks_cube.BOARDS["checkers"]], runtime))


def count_pegs(runtime: SearchRuntime) -> object:
    rows = ("XXX", "XXX", "OXXXXXX", "OXXOXXX", "OXXXXXX", "OOO", "OOO")  # levels of some 100,000 positions
    return summary(peg_solitaire.solve("\n".join(row.center(7) for row in rows), SolveMode.COUNT, runtime))


def fewest_moves(runtime: SearchRuntime) -> object:
    return summary(peg_solitaire.solve(peg_solitaire.BOARDS["arrow"], SolveMode.FEWEST, runtime))


QUICK = [solve_file, solve_large_grids, count_grid, build_book, fewest_moves]
SEARCHES = [*QUICK, solve_large_file, solve_deep_cube, solve_many_cubes, count_pegs]
DAILY = {
    ("threads", solve_file),
    *(("processes", search) for search in QUICK),
}  # threads have the same results as processes
WAYS = [
    pytest.param(by, search, marks=() if (by, search) in DAILY else pytest.mark.slow)
    for by in ("threads", "processes", "dask")
    for search in SEARCHES
]


@cache
def answer_alone(search: Search) -> tuple[object, SearchRuntime]:
    """Return the answer of one process, and its runtime."""
    runtime = SearchRuntime()
    return search(runtime), runtime


@pytest.mark.slow_variants
@pytest.mark.parametrize(("executor", "search"), WAYS, indirect=["executor"])
def test_each_search_gives_the_same_answer_by_any_executor(executor: Executor, search: Search, tmp_path: Path) -> None:
    right, alone = answer_alone(search)
    runtime = SearchRuntime(executor=executor)
    for name in alone.cache.names():  # tables take seconds to build; checkpoints are gone
        if name.startswith("rubiks-cube/"):
            runtime.cache.save(name, [alone.cache.load(name) or b""])
    assert search(runtime) == right
    with open_runtime(tmp_path, cores=2) as forking:
        forking.cache = runtime.cache if search in (solve_deep_cube, solve_many_cubes) else FileCache(tmp_path)
        assert search(forking) == right


def test_results_come_in_the_order_of_the_items(executor: Executor) -> None:
    runtime = SearchRuntime(executor=executor)
    assert list(runtime.map(remote_calls.multiplier, 3, range(2_000))) == [3 * item for item in range(2_000)]
    assert list(runtime.map(remote_calls.multiplier, 4, iter([1, 2]))) == [4, 8]
    assert list(runtime.map(remote_calls.multiplier, 5, [])) == []


def test_items_are_taken_a_few_ahead(executor: Executor) -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    results = SearchRuntime(executor=executor).map(remote_calls.multiplier, 1, items())
    assert next(results) == 1
    assert taken < 100
    results.close()  # type: ignore[attr-defined]


class Immediate(Executor):
    """Makes each call when it is submitted, and keeps how many items each one had."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Make the call."""
        future, reply = Future[Any](), fn(*args, **kwargs)
        self.sizes.append(len(reply.results))
        future.set_result(reply)
        return future


def test_calls_get_smaller_towards_the_end_of_items_without_a_length() -> None:
    executor = Immediate()
    results = SearchRuntime(executor=executor).map(remote_calls.multiplier, 2, iter(range(3_000)))
    assert sum(1 for _ in results) == sum(executor.sizes) == 3_000
    assert max(executor.sizes) > 20
    remaining = 3_000
    for size in executor.sizes:  # two workers are taken for granted, and each should get two more
        assert size <= max(1, remaining // 4)
        remaining -= size


class Weighing(Executor):
    """Passes calls on, and adds up the bytes that go with them."""

    def __init__(self, executor: Executor) -> None:
        self._executor, self.sent = executor, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Submit the call."""
        self.sent += len(pickle.dumps(args))
        return self._executor.submit(fn, *args, **kwargs)


def test_a_table_goes_to_each_worker_once(executor: Executor, tmp_path: Path) -> None:
    weighing = Weighing(executor)
    table = bytes(range(250)) * (remote_calls.TABLE_SIZE // 250)
    runtime, shared = SearchRuntime(executor=weighing), (tmp_path, table)
    for _ in range(3):
        results = list(runtime.map(remote_calls.table_reader, shared, range(100)))
        assert [value for value, _ in results] == list(range(100))
    prepared = Counter(path.name.partition("-")[0] for path in tmp_path.iterdir())
    workers = {str(pid) for _, pid in results}
    assert workers <= prepared.keys()
    threads = 2 if prepared.keys() == {str(os.getpid())} else 1  # each thread of a process prepares its function
    assert max(prepared.values()) <= threads
    # The executor may give a table to a worker that has it: it is sent again then.
    assert weighing.sent < 6 * len(prepared) * threads * len(table), "of 300 calls"


def test_a_view_of_numbers_arrives(executor: Executor) -> None:
    view = memoryview(bytes(80_000)).cast("Q")
    assert (
        list(SearchRuntime(executor=executor).map(remote_calls.view_reader, view, range(0, 10_000, 1_000))) == [0] * 10
    )


def test_the_workers_of_one_machine_share_memory(executor: Executor) -> None:
    results = list(SearchRuntime(executor=executor).map(remote_calls.note_taker, token_hex(), range(200)))
    assert results[0][0] == 0
    assert len(results[-1]) > 150, "the notes of all workers, but what the other one has not done yet"


def test_one_item_is_not_sent(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        weighing = Weighing(threads)
        runtime = SearchRuntime(executor=weighing)
        [(value, pid)] = runtime.map(remote_calls.table_reader, (tmp_path, bytes(range(9))), [7])
    assert (value, pid, weighing.sent) == (7, os.getpid(), 0)


def test_maps_in_a_row_use_the_same_function(tmp_path: Path) -> None:
    runtime, shared = SearchRuntime(), (tmp_path, bytes(range(9)))
    for _ in range(2):
        assert [value for value, _ in runtime.map(remote_calls.table_reader, shared, range(3))] == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_thread_does_not_use_the_function_of_another_one(tmp_path: Path) -> None:
    runtime, shared = SearchRuntime(), (tmp_path, bytes(range(9)))
    list(runtime.map(remote_calls.table_reader, shared, [1, 2]))
    with ThreadPoolExecutor(1) as threads:
        results = threads.submit(lambda: list(runtime.map(remote_calls.table_reader, shared, [1, 2]))).result()
    assert [value for value, _ in results] == [1, 2]
    assert len(list(tmp_path.iterdir())) == 2


def test_the_table_of_a_map_is_freed_before_the_next_one_is_built() -> None:
    alive: WeakSet[Cache] = WeakSet()
    runtime, seen = SearchRuntime(), list[int]()

    def prepare(_: int, __: SearchRuntime) -> Callable[[int], int]:
        seen.append(len(alive))
        table = Cache()
        alive.add(table)
        return lambda item: item * len(list(table.names()))

    for shared in (1, 2):
        assert list(runtime.map(prepare, shared, [1, 2])) == [0, 0]
    assert seen == [0, 0]


def test_an_exception_of_a_call_comes_out_as_it_was_raised(executor: Executor) -> None:
    results = SearchRuntime(executor=executor).map(remote_calls.failing, None, range(50))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ConfigError, match="the third is wrong") as caught:
        list(results)
    assert caught.value.problems[0].hint == "take another one"


class Stopping(SearchRuntime):
    """Is interrupted as soon as a file is there."""

    def __init__(self, executor: Executor, folder: Path) -> None:
        super().__init__(executor=executor)
        self._folder = folder

    def check_stop(self) -> None:
        """Raise Interrupted when a call has begun."""
        if any(self._folder.iterdir()):
            raise Interrupted("the time is over")


def test_an_interruption_waits_for_no_call_and_cancels_the_others(executor: Executor, tmp_path: Path) -> None:
    runtime = Stopping(executor, tmp_path)
    try:
        with pytest.raises(Interrupted):  # while all workers wait for a file
            list(runtime.map(remote_calls.slow_search, tmp_path, range(1_000)))
    finally:
        (tmp_path / "go").touch()
    assert list(SearchRuntime(executor=executor).map(remote_calls.multiplier, 2, range(5))) == [0, 2, 4, 6, 8]
    assert len(list(tmp_path.glob("begun-*"))) < 7, "those that had begun or were handed out, of 1,000"


@pytest.mark.slow
def test_a_call_on_a_cluster_ends_with_its_search(dask_client: Any, tmp_path: Path) -> None:
    executor = dask_client.get_executor()
    with pytest.raises(Interrupted):
        list(Stopping(executor, tmp_path).map(remote_calls.slow_search, tmp_path, range(1_000)))
    # Both workers are free again, although their calls were not released.
    assert list(SearchRuntime(executor=executor).map(remote_calls.multiplier, 2, range(5))) == [0, 2, 4, 6, 8]
    assert not (tmp_path / "go").exists()


@pytest.mark.slow
def test_an_interrupted_search_continues_with_another_executor(pool: Executor, tmp_path: Path) -> None:
    board = sudoku.parse("\n".join(many_grids(4_000)))
    reports = 0

    class Cut(SearchRuntime):
        def report_progress(self, part: float | None, note: str) -> None:
            assert note
            nonlocal reports
            reports += part is not None
            if reports > 1:
                raise Interrupted("the time is over")

    first = Cut(executor=pool)
    with pytest.raises(Interrupted) as caught:
        solve_batch(board, SolveMode.ALL, first, 100)
    assert "of 4,000 grids were searched" in caught.value.partial_result
    progress: list[float] = []

    class Reporting(SearchRuntime):
        def report_progress(self, part: float | None, note: str) -> None:
            assert note
            progress.extend([] if part is None else [part])

    second = Reporting()
    second.cache = first.cache
    answer = solve_batch(board, SolveMode.ALL, second, 100)
    assert summary(answer) == summary(solve_batch(board, SolveMode.ALL, SearchRuntime(), 100))
    assert progress[0] >= 300 / 4_000, "two chunks had come before"


def test_the_work_of_a_killed_process_is_made_again(tmp_path: Path) -> None:
    runtime = SearchRuntime(executor=processes)
    marker = tmp_path / "killed"
    assert list(runtime.map(remote_calls.mortal, marker, range(300))) == [item * item for item in range(300)]
    assert marker.exists()
    assert runtime.remote is not None
    runtime.remote.close()


def test_a_pool_that_cannot_be_made_again_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with processes() as executor:
        runtime = SearchRuntime(executor=executor)
        with pytest.raises(Refused, match="give a function that makes the executor"):
            list(runtime.map(remote_calls.mortal, tmp_path / "killed", range(300)))


def test_workers_that_always_die_end_the_search() -> None:
    runtime = SearchRuntime(executor=processes)
    with pytest.raises(Refused, match="failed 5 times in a row: BrokenProcessPool"):
        list(runtime.map(remote_calls.suicidal, None, range(3)))
    assert runtime.remote is not None
    runtime.remote.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["processes", "dask"])
@pytest.mark.parametrize("search", [solve_large_file])
def test_a_worker_that_is_killed_in_the_middle_changes_no_answer(
    kind: str, search: Search, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    right, killed = search(SearchRuntime()), list[int]()
    client = request.getfixturevalue("dask_client") if kind == "dask" else None
    others = {each.pid for each in multiprocessing.active_children()}  # of other tests

    def kill_one(_: float | None, note: str) -> None:
        if not killed and "of 6,000 grids" in note:
            children = {each.pid for each in multiprocessing.active_children()} - others
            pids = client.run(os.getpid).values() if client else children
            killed.extend([pid for pid in pids if pid][:1])
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    source = client.get_executor() if client else processes
    with open_runtime(tmp_path, kill_one, executor=source) as runtime:
        assert search(runtime) == right
    assert killed


def test_a_deadline_ends_the_wait_for_calls(executor: Executor, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    begun.mkdir()
    try:
        with (
            open_runtime(tmp_path, seconds=0.5, executor=executor) as runtime,
            pytest.raises(Interrupted, match="its time is over"),
        ):
            list(runtime.map(remote_calls.slow_search, begun, range(1_000)))
    finally:
        (begun / "go").touch()
