"""Two real appliances with Dask's own scheduler and workers, which speak TLS on loopback."""

import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pi_appliance.cluster import tasks
from pi_appliance.cluster.client import MemberFolder, connect_to_cluster, open_client
from pi_appliance.errors import Refused
from pi_appliance.puzzles import kernel_mode
from pi_appliance.puzzles.sudoku import kernel
from tests.installation import PROGRAM, Installation, wait_until
from tests.test_daemon import running_daemon

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="distributed is not installed"),
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # those of Dask and its event loop
]

PAGE = "web: {{host: 0.0.0.0, port: {port}}}\ndiscovery: false"
SUDOKUS = "puzzle:\n  kind: puzzle\n  with: {puzzle: sudoku}"


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def member(installation: Installation) -> Iterator["subprocess.Popen[str]"]:
    """Run the scheduler or the worker of a machine for the block."""
    words = [*PROGRAM, "cluster", "run", "--cores", "1", "--config", str(installation.config)]
    # Not a copy of a running Python: Dask starts workers that import the program again.
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.terminate()
        output, _ = process.communicate(timeout=300)  # it gets only the time that nothing else wants
        assert "Traceback" not in output, output


@dataclass
class Pair:
    """Two machines of a cluster."""

    first: Installation
    second: Installation
    scheduler: str

    def workers(self, at: Installation) -> list[dict[str, Any]]:
        """Return the workers that `at` sees."""
        workers: list[dict[str, Any]] = at.json("cluster", "status")["workers"]
        return workers


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Start a cluster on one machine, and join it from another one, with their commands."""
    machines = [Installation(tmp_path_factory.mktemp(name)) for name in ("first", "second")]
    first, second = machines
    page, port = free_port(), free_port()
    for each, own_page in zip(machines, (page, free_port()), strict=True):
        each.write(SUDOKUS, PAGE.format(port=own_page))
        secrets = each.folder / "secrets.env"
        secrets.write_text("WEB_PASSWORD=correct horse battery\n")
        secrets.chmod(0o600)
    with ExitStack() as stack:
        stack.enter_context(running_daemon(first))
        stack.enter_context(running_daemon(second))
        started = first.json("cluster", "start", "--port", str(port))
        joined = second.run("cluster", "join", started["code"], "--address", f"127.0.0.1:{page}")
        assert joined.stdout == f"joined: the scheduler is tls://127.0.0.1:{port}\n", joined.stderr
        stack.enter_context(member(first))
        stack.enter_context(member(second))
        result = Pair(first, second, f"tls://127.0.0.1:{port}")
        wait_until(lambda: len(result.workers(first)) == 2, 180)
        yield result


def test_the_status_names_scheduler_workers_cores_memory_and_work(pair):
    status = pair.second.json("cluster", "status")
    assert (status["scheduler"], status["is_first"], status["problem"]) == (pair.scheduler, False, "")
    assert [each["cores"] for each in status["workers"]] == [1, 1]
    assert len({each["name"] for each in status["workers"]}) == 2, "machines of the same name are told apart"
    assert all(each["memory_limit"] > each["memory"] > 0 and each["work"] == 0 for each in status["workers"])
    shown = pair.first.run("cluster", "status").stdout
    assert f"the scheduler: {pair.scheduler}, on this machine\n2 workers with 2 cores; 0 tasks wait\n" in shown


def test_the_section_is_written_into_both_files(pair):
    for each in (pair.first, pair.second):
        assert f'cluster:\n  scheduler: "{pair.scheduler}"' in each.config.read_text()


def test_the_scheduler_takes_no_connection_without_tls(pair):
    from distributed import Client  # noqa: PLC0415 - it is slow, and these tests do not run daily

    with pytest.raises(OSError, match=r"(?s).*"):
        Client(pair.scheduler.replace("tls:", "tcp:"), timeout=3, set_as_default=False)


def test_a_worker_with_a_certificate_of_another_cluster_is_refused(pair, tmp_path):
    library = importlib.util.find_spec("distributed")
    tasks.create(str(tmp_path), 1)  # a separate cluster
    foreign = MemberFolder(tmp_path)
    with pytest.raises(Refused, match="cannot be reached"):
        open_client(pair.scheduler, foreign, timeout=3)
    program = [
        *(Path(library.origin).parents[4] / "bin" / "dask", "worker", pair.scheduler),
        *("--tls-ca-file", MemberFolder(pair.first.state).authority),
        *("--tls-cert", foreign.certificate, "--tls-key", foreign.key),
        *("--no-nanny", "--no-dashboard", "--death-timeout", "4"),
    ]
    ended = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert "Registered to" not in ended.stderr
    assert len(pair.workers(pair.first)) == 2


def test_a_machine_without_its_certificate_is_told_so(pair, tmp_path):
    with pytest.raises(Refused, match=r"authority\.pem is missing, so the cluster does not let this machine in"):
        open_client(pair.scheduler, MemberFolder(tmp_path))


def test_a_worker_that_is_killed_comes_back(pair):
    with connect_to_cluster(_config(pair.second)) as cluster:
        assert cluster.executor is not None
        process = cluster.executor.submit(os.getpid).result(timeout=30)
        os.kill(process, 9)
        assert cluster.executor.submit(sum, [1, 2]).result(timeout=60) == 3
    wait_until(lambda: len(pair.workers(pair.first)) == 2, 180)


def test_a_job_over_the_cluster_gives_the_same_report(pair, tmp_path):
    alone = Installation(tmp_path)
    job = "puzzle:\n  kind: puzzle\n  with: {puzzle: sudoku, boards: [many.txt]}"
    alone.write(job)
    together = pair.second
    for each in (alone, together):
        (each.folder / "many.txt").write_text("\n".join(GRIDS * 4000) + "\n")
    text = together.config.read_text()
    together.config.write_text(text.replace("{puzzle: sudoku}", "{puzzle: sudoku, boards: [many.txt]}"))
    assert together.run("reload").returncode == 0
    for each in (alone, together):
        ended = each.run("jobs", "run", "puzzle")
        assert ended.returncode == 0, ended.stderr
    reports = [_report(each) for each in (alone, together)]
    assert reports[0]["boards"] == reports[1]["boards"]
    assert "Cluster" not in (together.state / "reports" / "puzzle" / "result.txt").read_text()
    with open_client(pair.scheduler, MemberFolder(together.state)) as client:
        calls = client.run_on_scheduler(_count_calls)
    assert calls > 0, "the workers answered nothing"


@pytest.mark.skipif(kernel_mode(kernel) != "compiled", reason="plain Python counts them for minutes")
def test_a_job_whose_worker_is_killed_in_the_middle_gives_the_same_report(pair, tmp_path):
    alone, together = Installation(tmp_path), pair.first
    alone.write(SUDOKUS)
    for each in (alone, together):
        text = each.config.read_text()
        each.config.write_text(
            text.replace("{puzzle: sudoku}", "{puzzle: sudoku, solutions: count, boards: [open.txt]}")
        )
        (each.folder / "open.txt").write_text(OPEN_GRID)
    assert together.run("reload").returncode == 0
    assert alone.run("jobs", "run", "puzzle").returncode == 0
    with open_client(pair.scheduler, MemberFolder(together.state)) as client:
        run = together.start("jobs", "run", "puzzle")
        wait_until(lambda: all(client.processing().values()))
        killed = client.run(os.getpid).popitem()[1]
        os.kill(killed, signal.SIGKILL)
        assert run.poll() is None, "it was killed in the middle"
        assert run.wait(timeout=120) == 0
    reports = [_report(each) for each in (alone, together)]
    assert reports[0]["boards"] == reports[1]["boards"]
    assert reports[0]["boards"][0]["count"] == 11_348_640
    assert "Cluster" not in (together.state / "reports" / "puzzle" / "result.txt").read_text()
    wait_until(lambda: len(pair.workers(pair.first)) == 2, 180)


OPEN_GRID = "5948317267834269152169758341425" + "." * 50
GRIDS = [
    "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79",
    "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......",
]


def _count_calls(dask_scheduler: Any) -> int:
    return sum("run_calls" in name for name in dask_scheduler.task_prefixes)


def _report(installation: Installation) -> Any:
    """Return the report as JSON, without the values that differ from run to run."""
    text = (installation.state / "reports" / "puzzle" / "result.json").read_text()
    return json.loads(re.sub(r'"(seconds|grids_per_second)": [\d.]+', r'"\1": 0', text))


def _config(machine: Installation) -> Any:
    from pi_appliance.config.loader import load_config  # noqa: PLC0415

    return load_config(machine.config)


def test_a_machine_leaves(tmp_path):
    machine = Installation(tmp_path)
    machine.write(SUDOKUS, PAGE.format(port=free_port()))
    (tmp_path / "secrets.env").write_text("WEB_PASSWORD=correct horse battery\n")
    (tmp_path / "secrets.env").chmod(0o600)
    with running_daemon(machine):
        machine.json("cluster", "start", "--port", str(free_port()))
        with member(machine) as process:
            wait_until(lambda: machine.json("cluster", "status")["workers"])
            assert machine.run("cluster", "leave").stdout == "this machine is in no cluster\n"
            assert process.wait(timeout=60) == 0
        assert "cluster:" not in machine.config.read_text()
        assert list((machine.state / "cluster").iterdir()) == []
        assert machine.json("cluster", "status")["scheduler"] == ""
    alone = machine.run("cluster", "run")
    assert (alone.returncode, alone.stderr) == (
        1,
        "pi-appliance: this machine is in no cluster; run: pi-appliance cluster start, or cluster join\n",
    )
