"""ForkExecutor: real processes that see all memory, keep the order, and never outlive the search."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pi_appliance.errors import ConfigError, Problem, Refused, UnknownName
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from pi_appliance.puzzles.runtime.local import LocalRuntime, open_runtime
from pi_appliance.system.process import descendants
from tests.installation import ROOT, is_running, wait_until

# pytest-xdist has a thread, but the forked processes use none of its locks.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[LocalRuntime]:
    with open_runtime(tmp_path / "cache", cores=3) as local_runtime:
        yield local_runtime
    assert workers() == set(), "no worker is left"


def workers() -> set[int]:
    with contextlib.suppress(ChildProcessError):
        assert os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None, "a worker was not reaped"
    # A forked copy has the name of this process. Processes that other tests started have not.
    ours = Path("/proc/self/cmdline").read_bytes()
    return {each.pid for each in descendants(os.getpid()) if _command_line(each.pid) in (ours, b"")}


def _command_line(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b"gone"


def test_results_come_in_the_order_of_the_items(runtime):
    def slow_at_first(item: int) -> tuple[int, int]:
        time.sleep(0.2 if item == 0 else 0)
        return item, os.getpid()

    result = list(runtime.executor.map(slow_at_first, range(40)))
    assert [item for item, _ in result] == list(range(40))
    assert len({pid for _, pid in result}) > 1
    assert os.getpid() not in {pid for _, pid in result}


@pytest.mark.parametrize("cores", [1, 3])
def test_items_are_taken_lazily_and_memory_stays_flat(tmp_path, cores):
    taken = 0

    def items() -> Iterator[bytes]:
        nonlocal taken
        for taken in range(1, 10_001):  # noqa: B007 - the last result
            yield bytes(10_000)

    with open_runtime(tmp_path, cores=cores) as runtime:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number, result in enumerate(runtime.executor.map(lambda item: item, items()), 1):
            assert len(result) == 10_000
            assert taken - number < 5 * cores
        assert taken == 10_000
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000, "kB, of 100 MB that went through"


@pytest.mark.parametrize("cores", [1, 3])
def test_a_call_sees_all_memory_and_changes_only_shared_buffers(tmp_path, cores):
    with open_runtime(tmp_path, cores=cores) as runtime:
        table, shared, own = list(range(1000)), runtime.shared_buffer(1000), [0]

        def look(number: int) -> int:
            shared[number] = table[number] % 251
            own[0] += 1
            return table[-1]

        table.append(7)  # before the first next
        result = runtime.executor.map(look, memoryview(bytes(range(200))).toreadonly())
        assert set(result) == {7}
        assert bytes(shared[:201]) == bytes(range(200)) + b"\0"
        assert own == [0 if cores > 1 else 200]
        assert len(runtime.shared_buffer(0)) == 0
        with pytest.raises(MemoryError):
            runtime.shared_buffer(sys.maxsize + 1)


@pytest.mark.parametrize("size", [sys.maxsize // 2, sys.maxsize + 1])
def test_a_buffer_that_is_too_large_is_a_memory_error(size):
    with pytest.raises(MemoryError):
        SearchRuntime().shared_buffer(size)


def test_items_of_a_sequence_need_no_pickle_and_neither_do_functions(runtime):
    assert list(runtime.executor.map(lambda item: item(3), [lambda x: x + 1, lambda x: x * 2])) == [4, 6]
    assert list(runtime.executor.map(str, [])) == []


@pytest.mark.parametrize("cores", [1, 3])
@pytest.mark.parametrize(
    "error",
    [
        ConfigError([Problem("board.txt", 3, 7, "no hole", "use o")]),
        FileNotFoundError(2, "No such file", "board.txt"),
        UnknownName("board", "corss", ["cross"]),
        Refused("too large"),
        Interrupted("its time is over", "3 of 7 levels are counted"),
        MemoryError(),
        KeyError("x"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_exceptions_of_calls_are_raised_unchanged(tmp_path, error, cores):
    def fail(item: int) -> int:
        if item == 5:
            raise error
        return item

    with open_runtime(tmp_path, cores=cores) as runtime, pytest.raises(type(error)) as caught:
        list(runtime.executor.map(fail, range(50)))
    assert str(caught.value) == str(error)
    assert vars(caught.value).get("partial_result") == vars(error).get("partial_result")
    assert workers() == set()


def test_an_error_that_cannot_be_pickled_is_reported_as_text(runtime):
    class Local(Exception):
        pass

    def fail(_: int) -> None:
        raise Local("what happened")

    with pytest.raises(RuntimeError, match="Local: what happened"):
        list(runtime.executor.map(fail, range(3)))


def test_a_killed_worker_is_reported_with_a_remedy(runtime):
    def die(item: int) -> int:
        if item == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    with pytest.raises(Refused, match="killed by signal 9, most likely because memory ran out; raise its limit"):
        list(runtime.executor.map(die, range(10)))


def test_a_worker_that_cannot_be_started_is_reported_with_a_remedy(runtime):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, most[1]))
    try:
        with pytest.raises(Refused, match="no process can be started for the search: Too many open files; use fewer"):
            list(runtime.executor.map(lambda item: item, range(10)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)


def test_a_dropped_map_ends_its_workers(runtime):
    result = runtime.executor.map(lambda item: item, range(100))
    assert next(result) == 0
    assert len(workers()) == 3
    del result
    assert workers() == set()


def test_a_signal_interrupts_a_long_call(runtime):
    began = time.monotonic()
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Interrupted, match="asked to end"):
        list(runtime.executor.map(lambda _: time.sleep(60), range(9)))
    assert time.monotonic() - began < 1
    with pytest.raises(Interrupted):
        runtime.report_progress(0.5, "")


@pytest.mark.parametrize("cores", [1, 2])
def test_time_that_is_over_interrupts(tmp_path, cores):
    with open_runtime(tmp_path, seconds=0.3, cores=cores) as runtime:
        assert 0 < runtime.seconds_left() <= 0.3
        with pytest.raises(Interrupted, match="its time is over"):
            list(runtime.executor.map(lambda _: time.sleep(0.05), range(1000)))
        assert runtime.seconds_left() == 0
    with open_runtime(tmp_path) as runtime:
        assert runtime.seconds_left() is None


def test_progress_within_a_call_is_discarded(tmp_path):
    for cores in (1, 2):
        reported = []
        with open_runtime(tmp_path, lambda part, note: reported.append((part, note)), cores=cores) as runtime:  # noqa: B023

            def call(item: int) -> int:
                runtime.report_progress(1, "within")
                return sum(runtime.executor.map(int, "12")) + item

            assert list(runtime.executor.map(call, range(3))) == [3, 4, 5]
            runtime.report_progress(0.5, "after")
            runtime.report_progress(0.6, "too soon")
            runtime.report_progress(1, "the end is always reported")
        assert reported == [(0.5, "after"), (1, "the end is always reported")]


def test_signal_handlers_are_restored(tmp_path):
    kinds = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCONT)
    before = [signal.getsignal(kind) for kind in kinds]
    with open_runtime(tmp_path):
        assert signal.getsignal(signal.SIGTERM) is not before[1]
    assert [signal.getsignal(kind) for kind in kinds] == before


@contextlib.contextmanager
def start_python(folder: Path, code: str) -> Iterator[subprocess.Popen[str]]:
    """Run `code`, which has a `runtime`, for the duration of the block."""
    script = f"""
        import os, time
        from pathlib import Path
        from pi_appliance.puzzles.runtime.local import Interrupted, open_runtime
        with open_runtime(Path({str(folder)!r}), cores=2, seconds=30) as runtime:
            {textwrap.indent(textwrap.dedent(code).strip(), " " * 12).strip()}
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


SLEEPERS = """
    try:
        list(runtime.executor.map(lambda _: (os.write(1, b"%d\\n" % os.getpid()), time.sleep(60)), range(4)))
    except Interrupted as why:
        print(why)
"""


def reported(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(count)]


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (lambda process: os.killpg(process.pid, signal.SIGINT), "a person stopped it\n"),  # as a terminal does
        (lambda process: os.killpg(process.pid, signal.SIGTERM), "it was asked to end\n"),  # as a guard does
        (lambda process: process.kill(), ""),
    ],
    ids=["ctrl-c", "guard", "kill -9"],
)
def test_workers_end_with_the_search(tmp_path, end: Callable[..., None], says: str):
    with start_python(tmp_path, SLEEPERS) as process:
        pids = [int(line) for line in reported(process, 2)]
        began = time.monotonic()
        end(process)
        rest, trouble = process.communicate(timeout=5)
    assert time.monotonic() - began < 4
    assert rest == says
    assert trouble == ""
    wait_until(lambda: not any(map(is_running, pids)))


def test_a_second_ctrl_c_ends_a_search_that_ignores_the_first(tmp_path):
    with start_python(tmp_path, "print('begun')\nwhile True: time.sleep(60)") as process:
        reported(process, 1)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate(timeout=5)[1]


def test_suspended_time_does_not_count(tmp_path):
    loop = """
        before = time.monotonic()
        print(runtime.seconds_left())
        while time.monotonic() - before < 3: runtime.report_progress(None, "")
        print(runtime.seconds_left())
    """
    with start_python(tmp_path, loop) as process:
        first = float(reported(process, 1)[0])
        os.kill(process.pid, signal.SIGSTOP)
        wait_until(lambda: Path(f"/proc/{process.pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] == "T")
        time.sleep(1.5)
        os.kill(process.pid, signal.SIGCONT)
        assert first - float(process.communicate(timeout=10)[0]) < 2.9  # of three


@pytest.mark.parametrize("cores", [1, 3])
def test_a_map_takes_several_iterables(tmp_path, cores):
    with open_runtime(tmp_path, cores=cores) as runtime, runtime.executor as executor:
        assert list(executor.map(pow, [2, 3], [3, 2])) == [8, 9]
    assert workers() == set()
