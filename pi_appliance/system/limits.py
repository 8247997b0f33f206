"""A cgroup for each run, below the one that systemd has given us to rule over (Delegate=; cgroup v2 only).

    pi-appliance.service        delegated: ours. Processes may be in its leaves only, once it hands controllers on.
    ├── main                    everything that is no run: the daemon, the runners, the private MPD
    └── run-301-7-1             one attempt of one run, with its limits; gone when that ends (301 is its runner)

A runner that was started elsewhere (by cron, by hand) asks systemd for such a place, and moves there.
"""

import contextlib
import json
import os
import resource
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from pi_appliance.errors import Unavailable

MAIN = "main"
_SCOPE = "pi-appliance-{}.scope"
PERIOD = 100_000  # microseconds in which a share of a processor is counted
_WAIT = 2.0  # seconds for systemd to move us, and for the last process of a leaf to be gone
_TRIES = 20  # what is moved may start another one meanwhile
_DBUS = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One cgroup that a process may enter."""

    folder: Path

    def set(self, name: str, value: str) -> bool:
        """Write a limit; say whether it holds. It does not where its controller is not handed to us."""
        try:
            (self.folder / name).write_text(value, "ascii")
        except OSError:
            return False
        return True

    def out_of_memory(self) -> bool:
        """Say whether the kernel killed something here because the memory was used up."""
        with contextlib.suppress(OSError, ValueError):
            lines = (self.folder / "memory.events").read_text("ascii").splitlines()
            return int(dict(line.split() for line in lines).get("oom_kill", 0)) > 0
        return False

    def remove(self) -> None:
        """Kill whatever is left in it, and take it away. One that cannot be emptied stays for the next to remove."""
        self.set("cgroup.kill", "1")
        _until(lambda: _removed(self.folder))


def own_cgroup(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> Path | None:
    """Return the cgroup that was given to us, with everything but runs put into its leaf `main`; None if none was."""
    here = _here(root, membership)
    for folder in (here, here.parent) if here is not None and here.name == MAIN else (here,):
        if folder is not None and _is_ours(folder):
            _sweep(folder)
            return folder
    return None


def leaf(ours: Path, name: str) -> Leaf | None:
    """Make a cgroup for the attempt NAME of a run of this process, below OURS; None if it cannot be made."""
    try:
        (ours / MAIN).mkdir(exist_ok=True)
        _delegate_controllers(ours)
        folder = ours / f"run-{os.getpid()}-{name}"
        folder.mkdir()
    except OSError:
        return None
    return Leaf(folder)


def enter_cgroup(folder: Path) -> None:
    """Move this process into the cgroup FOLDER; what it starts from now on is in it, too. Raises OSError."""
    (folder / "cgroup.procs").write_text("0", "ascii")


def request_scope() -> bool:
    """Have systemd move this process into a scope that is ours; say whether it did."""
    scope = _SCOPE.format(os.getpid())
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.geteuid()}"))
    if os.geteuid() == 0:
        which, there = "--system", Path("/run/systemd/system").is_dir()
    else:
        which, there = "--user", (runtime / "systemd/private").exists()
    if not there:
        return False
    properties = (
        "PIDs",
        "au",
        "1",
        str(os.getpid()),
        "Delegate",
        "b",
        "true",
        "CollectMode",
        "s",
        "inactive-or-failed",
    )
    call = ("busctl", which, "--timeout=5", "call", *_DBUS, "StartTransientUnit", "ssa(sv)a(sa(sv))")
    bus = {"XDG_RUNTIME_DIR": str(runtime), "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus"}
    try:
        asked = subprocess.run(
            [*call, scope, "fail", "3", *properties, "0"],
            env={**os.environ, **bus},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0 and _until(lambda: f"/{scope}" in Path("/proc/self/cgroup").read_text("ascii"))


def _here(root: Path, membership: Path) -> Path | None:
    """Return the folder of our cgroup; None where the machine has not cgroup v2 alone."""
    with contextlib.suppress(OSError):
        for line in membership.read_text("utf-8").splitlines():
            if line.startswith("0::/") and (root / "cgroup.controllers").exists():
                return root / line.removeprefix("0::/")
    return None


def _is_ours(folder: Path) -> bool:
    """Say whether it was delegated. That root, or its user, could write there does not make it ours.

    systemd marks what it delegates. One that runs for a user (systemd --user) does not: our scope is known by its name.
    """
    if not os.access(folder / "cgroup.subtree_control", os.W_OK):
        return False
    try:
        return fnmatch(folder.name, _SCOPE.format("*")) or os.getxattr(folder, "user.delegate") == b"1"
    except OSError:
        return False


def _sweep(ours: Path) -> None:
    """Take away what runners have left that were killed."""
    for folder in ours.glob("run-*"):
        if not Path("/proc", folder.name.split("-")[1]).exists():
            _removed(folder)


def _delegate_controllers(ours: Path) -> None:
    """Hand the controllers of OURS on to its leaves, which the kernel allows when no process is in OURS itself."""
    there = (ours / "cgroup.controllers").read_text("ascii").split()
    for name in ("memory", "cpu"):
        for _ in range(_TRIES):
            if name not in there or name in (ours / "cgroup.subtree_control").read_text("ascii").split():
                break
            for pid in (ours / "cgroup.procs").read_text("ascii").split():
                with contextlib.suppress(OSError):  # ended meanwhile
                    (ours / MAIN / "cgroup.procs").write_text(pid, "ascii")
            with contextlib.suppress(OSError):  # one more was started meanwhile
                (ours / "cgroup.subtree_control").write_text(f"+{name}", "ascii")


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _until(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + _WAIT
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)  # the kernel tells nobody
    return True


LOW_PRIORITY = 10  # the nice value of one whose share of the processor cannot be held


@dataclass(frozen=True, slots=True)
class Limits:
    """What a job may take. None: as much as it likes."""

    nice: int = 0
    memory: int | None = None  # bytes
    cpu: int | None = None  # hundredths of one processor


@dataclass(frozen=True, slots=True)
class LimitedRun:
    """How the limits of one attempt are held."""

    plan: str
    """To be given to `enter` by the process that is to be held."""
    details: Mapping[str, str]
    """For the history: which limit is held by what."""
    warning: str
    """For the log: what cannot be held here; or ''."""
    out_of_memory: Callable[[], bool]
    """Says whether something was killed for its memory. Always False where that cannot be known."""


@contextlib.contextmanager
def apply_limits(limits: Limits, name: str, *, given: Callable[[], Path | None] = own_cgroup) -> Iterator[LimitedRun]:
    """Have LIMITS held for the block, in a cgroup called NAME if one may be made below the one GIVEN to us."""
    leaf = _leaf(name, given) if limits.memory or limits.cpu else None
    try:
        yield _held(limits, leaf)
    finally:
        if leaf is not None:
            leaf.remove()


def enter_limits(plan: str) -> None:
    """Put this process, and all that it starts from now on, under the limits of PLAN. Raises Unavailable."""
    wanted = json.loads(plan)
    try:
        if "cgroup" in wanted:
            enter_cgroup(Path(wanted["cgroup"]))
        if "nice" in wanted:
            _step_back(wanted["nice"])
        if "data" in wanted:
            _limit_data(wanted["data"])
    except (OSError, ValueError) as error:
        raise Unavailable(f"its limits cannot be set: {error}") from None


def _leaf(name: str, given: Callable[[], Path | None]) -> Leaf | None:
    ours = given()
    if ours is None and request_scope():
        ours = given()
    return leaf(ours, name) if ours is not None else None


def _held(limits: Limits, leaf: Leaf | None) -> LimitedRun:
    plan: dict[str, str | int] = {"cgroup": str(leaf.folder)} if leaf is not None else {}
    facts, note, nice = {}, "", limits.nice
    if limits.memory is not None:
        if leaf is not None and leaf.set("memory.max", str(limits.memory)):
            leaf.set("memory.swap.max", "0")  # not on the card instead
            leaf.set("memory.oom.group", "1")  # a half of a run is of no use
            facts["memory-limit"] = "cgroup"
        else:
            plan["data"] = limits.memory
            facts["memory-limit"] = "rlimit"
    if limits.cpu is not None:
        if leaf is not None and leaf.set("cpu.max", f"{limits.cpu * PERIOD // 100} {PERIOD}"):
            facts["cpu-limit"] = "cgroup"
        else:
            nice = max(nice, LOW_PRIORITY)
            facts["cpu-limit"] = "nice"
            note = f"a share of {limits.cpu}% cannot be held here; it runs with nice {nice} instead"
    if nice:
        plan["nice"] = nice
        if leaf is not None:
            leaf.set("cpu.weight.nice", str(nice))  # nice itself counts within one cgroup only
    return LimitedRun(json.dumps(plan), facts, note, leaf.out_of_memory if leaf is not None else lambda: False)


def _limit_data(size: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    size = size if most == resource.RLIM_INFINITY else min(size, most)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def _step_back(nice: int) -> None:
    os.setpriority(os.PRIO_PROCESS, 0, max(nice, os.getpriority(os.PRIO_PROCESS, 0)))
    # Where the kernel shares the processor out among sessions first (autogroup), nice counts within ours only.
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(nice), "ascii")
