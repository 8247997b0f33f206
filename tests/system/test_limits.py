"""Limits of a job: the history records how they are enforced and the result."""

import contextlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from pi_appliance.system import limits
from pi_appliance.system.limits import Limits
from tests.installation import ROOT, is_running, wait_until


def run_it(installation, keys: str, *words: str) -> dict:
    installation.write(f"it:\n  kind: command\n  {keys}\n  with: {{run: {json.dumps(words)}}}")
    installation.run("jobs", "run", "it")
    return installation.latest_run("it")


def test_a_job_gets_its_nice_value(installation):
    mine = os.getpriority(os.PRIO_PROCESS, 0)
    assert run_it(installation, "nice: 7", "nice")["summary"] == f"nice ended well: {max(7, mine)}"
    assert "nice 7" in run_it(installation, "nice: 7", "cat", "/proc/self/autogroup")["summary"] or mine > 7
    assert run_it(installation, "misfire-grace: 5m", "nice")["summary"] == f"nice ended well: {mine}"


def test_without_limits_the_history_does_not_mention_them(installation):
    assert run_it(installation, "nice: 7", "true")["details"] == {"status": 0}


def test_the_memory_limit_is_enforced_and_recorded(installation):
    limit = "f=/sys/fs/cgroup$(grep ^0:: /proc/self/cgroup | cut -c4-)/memory.max; [ -e $f ] && cat $f; ulimit -d"
    run = run_it(installation, "memory: 256MiB", "sh", "-c", f"echo $({limit})")
    by = run["details"]["memory_limit"]
    held = run["summary"].split(": ")[1].split()
    assert {"cgroup": held[0], "rlimit": held[-1]}[by] == {"cgroup": str(2**28), "rlimit": str(2**18)}[by]
    greedy = run_it(installation, "memory: 64MiB", sys.executable, "-c", "bytearray(200 << 20)")
    assert greedy["outcome"] == "failed"


def test_a_job_of_ours_over_its_limit_fails_with_a_reason(installation):
    (installation.folder / "lines.txt").write_text(
        "a line of a file that is far too long to be read at once\n" * 800_000, "ascii"
    )
    installation.write(
        "post:\n  kind: tweet\n  memory: 70MB\n  with: {lines: lines.txt, network: bird}",
        "networks: {bird: {kind: preview}}",
    )
    done = installation.run("jobs", "run", "post")
    assert done.returncode == 1
    run = installation.latest_run("post")
    assert (run["outcome"], run["summary"]) == ("failed", "over its memory of 70MB")
    assert run["details"]["memory_limit"] in {"cgroup", "rlimit"}


def test_an_unavailable_cpu_share_becomes_nice_and_is_logged(installation):
    run = run_it(installation, "cpu: 50%", "nice")
    if run["details"]["cpu_limit"] == "cgroup":
        pytest.skip("this machine gives us a cgroup: the share is held")
    assert run["details"] == {"status": 0, "cpu_limit": "nice"}
    nice = max(10, os.getpriority(os.PRIO_PROCESS, 0))
    assert run["summary"] == f"nice ended well: {nice}"
    log = installation.run("jobs", "log", "1").stdout
    assert "pi-appliance: the limit of 50% CPU cannot be applied here; the run has nice 10 instead\n" in log


def test_a_job_may_raise_the_limit_of_its_parent():
    """A run started by cron, where the owner has limited cron."""
    with limits.apply_limits(Limits(memory=2**40), "1-1", find_cgroup=lambda: None) as held:
        code = "import sys, resource as r; from pi_appliance.system import limits; limits.enter_limits(sys.argv[1]); "
        done = subprocess.run(
            [sys.executable, "-c", code + "print(r.getrlimit(r.RLIMIT_DATA)[0])", held.plan],
            env={"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (2**30, 2**30)),
        )
    assert done.stdout == f"{2**30}\n"


@pytest.fixture
def tree(tmp_path):
    """Create files that look like a cgroup tree with a delegated one. Returns its root."""
    given = tmp_path / "cgroup" / "system.slice" / "pi-appliance.service"
    (given / "main").mkdir(parents=True)
    for folder in (tmp_path / "cgroup", given):
        (folder / "cgroup.controllers").write_text("cpu memory pids\n", "ascii")
        (folder / "cgroup.subtree_control").write_text("", "ascii")
    try:
        os.setxattr(given, "user.delegate", b"1")
    except OSError:
        pytest.skip("the file system of the tests keeps no attributes")
    return tmp_path / "cgroup"


def own_cgroup(tree: Path, line: str) -> Path | None:
    (tree.parent / "membership").write_text(f"{line}\n", "ascii")
    return limits.own_cgroup(tree, tree.parent / "membership")


def test_only_a_delegated_cgroup_is_used(tree):
    given = tree / "system.slice" / "pi-appliance.service"
    assert own_cgroup(tree, "0::/system.slice/pi-appliance.service") == given
    assert own_cgroup(tree, "0::/system.slice/pi-appliance.service/main") == given
    assert own_cgroup(tree, "0::/system.slice") is None
    scope = tree / "user.slice" / "pi-appliance-301.scope"  # as systemd --user gives it: without a mark
    scope.mkdir(parents=True)
    assert own_cgroup(tree, "0::/user.slice/pi-appliance-301.scope") is None, "there is nothing to rule over"
    (scope / "cgroup.subtree_control").touch()
    assert own_cgroup(tree, "0::/user.slice/pi-appliance-301.scope") == scope
    assert own_cgroup(tree, "0::/") is None
    assert own_cgroup(tree, "4:memory:/system.slice/pi-appliance.service") is None
    (tree / "cgroup.controllers").unlink()  # cgroups v1, perhaps together with v2
    assert own_cgroup(tree, "0::/system.slice/pi-appliance.service") is None


def test_cgroups_of_a_killed_runner_are_removed(tree):
    given = tree / "system.slice" / "pi-appliance.service"
    with subprocess.Popen(["true"]) as gone:
        pass
    for name in (f"run-{gone.pid}-7-1", f"run-{os.getpid()}-8-1"):
        (given / name).mkdir()
    own_cgroup(tree, "0::/system.slice/pi-appliance.service")
    assert [path.name for path in given.glob("run-*")] == [f"run-{os.getpid()}-8-1"]


@pytest.fixture
def real():
    """Create a real delegated cgroup, with or without controllers."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
    root = next((Path(words[1]) for words in mounts if words[2] == "cgroup2"), None)
    folder = root / f"pi-appliance-test-{os.getpid()}" if root is not None else None
    try:
        assert folder is not None
        folder.mkdir()
        os.setxattr(folder, "user.delegate", b"1")
    except (AssertionError, OSError):
        pytest.skip("only root on a machine with cgroup v2 can make one")
    yield folder
    for inner in (*folder.iterdir(), folder):
        with contextlib.suppress(OSError):
            inner.rmdir()


def test_a_run_in_a_cgroup_ends_completely_and_its_cgroup_is_removed(real):
    with limits.apply_limits(Limits(memory=2**28, cpu=50, nice=3), "7-1", find_cgroup=lambda: real) as held:
        plan = json.loads(held.plan)
        folder = Path(plan["cgroup"])
        assert folder.name == f"run-{os.getpid()}-7-1"
        code = (
            "import sys, time; from pi_appliance.system import limits; "
            "limits.enter_limits(sys.argv[1]); print(1, flush=True)"
        )
        escaped = subprocess.Popen(
            [sys.executable, "-c", f"{code}; time.sleep(60)", held.plan],
            env={"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert escaped.stdout is not None
        escaped.stdout.read(1)
        assert (folder / "cgroup.procs").read_text("ascii").split() == [str(escaped.pid)]
        assert held.details == {
            "memory_limit": "rlimit" if "data" in plan else "cgroup",
            "cpu_limit": "nice" if held.warning else "cgroup",
        }
        assert not held.out_of_memory()
    wait_until(lambda: not is_running(escaped.pid))
    assert not folder.exists()
    escaped.communicate()
