"""Cores and memory limits on machines that report them in different ways."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pi_appliance.errors import Refused
from pi_appliance.puzzles.runtime import local
from tests.installation import ROOT

MB = 1_000_000
RAISE = "let job cube have `memory: {}`"


class Box(local.SysPaths):
    """A machine made of files."""

    def put(self, name: str, text: str) -> None:
        path = self.proc.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def box(tmp_path: Path) -> Box:
    new_box = Box(tmp_path / "proc", tmp_path / "cgroup")
    new_box.put("proc/self/cgroup", "0::/pi.service/run-7-1\n")
    new_box.put("proc/self/status", "Name:\tpython\nVmData:\t20000 kB\nRssShmem:\t10000 kB\n")
    new_box.put("proc/meminfo", "MemTotal: 4000000 kB\nMemAvailable: 1000000 kB\n")
    return new_box


def core_count() -> int:
    return len(os.sched_getaffinity(0))


@pytest.mark.parametrize(("share", "most"), [(None, 1_024), (50, 1), (100, 1), (101, 2), (9900, 99)])
def test_a_share_of_the_processors_is_cores(box: Box, share: int | None, most: int) -> None:
    assert local.available_cores(share, box) == min(most, core_count())


def test_a_container_with_less_than_all_processors_has_fewer_cores(box: Box) -> None:
    box.put("cgroup/pi.service/cpu.max", "80000 100000\n")
    box.put("cgroup/cpu.max", "max 100000\n")
    assert local.available_cores(None, box) == 1
    assert local.available_cores(None, local.SysPaths(box.proc.parent / "nowhere", box.cgroups)) == core_count()


def test_a_refusal_names_the_limit_and_the_free_memory(box: Box) -> None:
    local.require_memory(1_000 * MB, "the table of corners", local.memory_budgets(RAISE, box))
    with pytest.raises(Refused) as refused:
        local.require_memory(1_100 * MB, "the table of corners", local.memory_budgets(RAISE, box))
    assert str(refused.value) == (
        "the table of corners needs 1.1GB of memory, but this machine leaves 1GB; "
        "end other programs or use a machine with more memory"
    )


def test_a_process_with_32_bits_cannot_use_all_memory_of_a_large_machine(box: Box) -> None:
    box.put("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n")
    box.put("proc/self/status", "Name:\tpython\nVmSize:\t100000 kB\n")
    local.require_memory(5_000 * MB, "the book", local.memory_budgets(RAISE, box, None))
    budgets = local.memory_budgets(RAISE, box, 3 * 2**30)
    local.require_memory(3_100 * MB, "the book", budgets)
    with pytest.raises(Refused) as refused:
        local.require_memory(5_000 * MB, "the book", budgets)
    assert str(refused.value) == (
        "the book needs 5GB of memory, but a process with 32 bits leaves 3.1GB; use a system with 64 bits"
    )


def test_the_limit_of_the_job_is_reported_with_the_key_that_raises_it(box: Box) -> None:
    box.put("cgroup/pi.service/run-7-1/memory.max", f"{200 * MB}\n")
    box.put("cgroup/pi.service/run-7-1/memory.current", f"{70 * MB}\n")
    box.put("cgroup/pi.service/run-7-1/memory.stat", f"anon {50 * MB}\ninactive_file {20 * MB}\n")
    box.put("cgroup/pi.service/memory.max", f"{400 * MB}\n")
    box.put("cgroup/pi.service/memory.current", f"{70 * MB}\n")
    local.require_memory(150 * MB, "the book", local.memory_budgets(RAISE, box))
    with pytest.raises(Refused) as refused:
        local.require_memory(160 * MB, "the book", local.memory_budgets(RAISE, box))
    assert str(refused.value) == (
        "the book needs 160MB of memory, but the limit of the job leaves 150MB; let job cube have `memory: 240MB`"
    )
    box.put("cgroup/pi.service/memory.current", f"{390 * MB}\n")
    with pytest.raises(Refused, match=r"the limit of pi\.service leaves 10MB; raise that limit to"):
        local.require_memory(160 * MB, "the book", local.memory_budgets(RAISE, box))


@pytest.mark.parametrize(
    ("raise_it", "reported"),
    [
        (RAISE, "the limit of the job leaves"),
        ("", r"a limit of this shell \(ulimit -d\) leaves .*; raise that limit to"),
    ],
)
def test_an_rlimit_counts_without_a_cgroup(raise_it: str, reported: str) -> None:
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_DATA, (200 << 20,) * 2)\n"
        "from pathlib import Path; from pi_appliance.puzzles.runtime import local\n"
        "with local.open_runtime(Path('.'), memory_advice=sys.argv[1]) as runtime:\n"
        "    runtime.require_memory(100 << 20, 'half'); shared = runtime.shared_buffer(100 << 20)\n"
        "    for i in range(0, len(shared), 4096): shared[i] = 1\n"
        "    runtime.require_memory(100 << 20, 'the other half')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, raise_it],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Refused: the other half needs 104.9MB of memory, but " in done.stderr
    assert re.search(reported, done.stderr)
