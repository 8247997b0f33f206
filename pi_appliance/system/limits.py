"""Limits of memory and CPU: each attempt of a run gets a cgroup (only cgroup v2).

The cgroups are below the one that systemd made for the service:

    pi-appliance.service        delegated; processes may only be in its leaves
    ├── main                    everything else: the daemon, the runners, the silent MPD
    └── run-301-7-1             one attempt of one run, with its limits (301 is its runner)

A runner that was started elsewhere, by cron or by a person, asks systemd for a scope and moves
there.
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
from pi_appliance.system.process_tree import NO_LIMITS

MAIN = "main"
_SCOPE = "pi-appliance-{}.scope"
PERIOD = 100_000  # microseconds; the CPU quota is counted per period
_WAIT = 2.0  # seconds for systemd to move this process, and for the processes of a leaf to end
_MAX_TRIES = 20  # times that processes are moved: one may start another one meanwhile
_DBUS = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")


@dataclass(frozen=True, slots=True)
class Leaf:
    """The cgroup of one attempt."""

    folder: Path

    def set_limit(self, name: str, value: str) -> bool:
        """Write a limit, and return whether it applies.

        For that, systemd must have delegated its controller.
        """
        try:
            (self.folder / name).write_text(value, "ascii")
        except OSError:
            return False
        return True

    def out_of_memory(self) -> bool:
        """Return whether the kernel killed a process here for lack of memory."""
        with contextlib.suppress(OSError, ValueError):
            lines = (self.folder / "memory.events").read_text("ascii").splitlines()
            return int(dict(line.split() for line in lines).get("oom_kill", 0)) > 0
        return False

    def remove(self) -> None:
        """Kill the processes of the cgroup and remove it. If that fails, a later run removes it."""
        self.set_limit("cgroup.kill", "1")
        _wait_until(lambda: _remove_cgroup(self.folder))


def own_cgroup(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> Path | None:
    """Return the delegated cgroup, or None. Its processes are moved into the leaf `main`."""
    here = _current_cgroup(root, membership)
    for folder in (here, here.parent) if here is not None and here.name == MAIN else (here,):
        if folder is not None and _is_ours(folder):
            _remove_abandoned(folder)
            return folder
    return None


def create_leaf(ours: Path, name: str) -> Leaf | None:
    """Create the cgroup of the attempt `name` below `ours`; None if that is not possible."""
    try:
        (ours / MAIN).mkdir(exist_ok=True)
        _delegate_controllers(ours)
        folder = ours / f"run-{os.getpid()}-{name}"
        folder.mkdir()
    except OSError:
        return None
    return Leaf(folder)


def enter_cgroup(folder: Path) -> None:
    """Move this process into the cgroup `folder`, and with it all that it starts later.

    Raises OSError if the kernel refuses.
    """
    (folder / "cgroup.procs").write_text("0", "ascii")


def request_scope() -> bool:
    """Ask systemd to move this process into a delegated scope, and return whether it did."""
    scope = _SCOPE.format(os.getpid())
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.geteuid()}"))
    if os.geteuid() == 0:
        bus_option, is_there = "--system", Path("/run/systemd/system").is_dir()
    else:
        bus_option, is_there = "--user", (runtime / "systemd/private").exists()
    if not is_there:
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
    call = ("busctl", bus_option, "--timeout=5", "call", *_DBUS, "StartTransientUnit", "ssa(sv)a(sa(sv))")
    bus = {"XDG_RUNTIME_DIR": str(runtime), "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus"}
    try:
        reply = subprocess.run(
            [*call, scope, "fail", "3", *properties, "0"],
            env={**os.environ, **bus},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return reply.returncode == 0 and _wait_until(lambda: f"/{scope}" in Path("/proc/self/cgroup").read_text("ascii"))


def _current_cgroup(root: Path, membership: Path) -> Path | None:
    """Return the folder of our cgroup; None unless the machine uses cgroup v2 only."""
    with contextlib.suppress(OSError):
        for line in membership.read_text("utf-8").splitlines():
            if line.startswith("0::/") and (root / "cgroup.controllers").exists():
                return root / line.removeprefix("0::/")
    return None


def _is_ours(folder: Path) -> bool:
    """Return whether systemd delegated `folder` to us: it may be writable without that.

    systemd marks delegated cgroups with an attribute. In a user session, the name is checked.
    """
    if not os.access(folder / "cgroup.subtree_control", os.W_OK):
        return False
    try:
        return fnmatch(folder.name, _SCOPE.format("*")) or os.getxattr(folder, "user.delegate") == b"1"
    except OSError:
        return False


def _remove_abandoned(ours: Path) -> None:
    for folder in ours.glob("run-*"):
        if not Path("/proc", folder.name.split("-")[1]).exists():
            _remove_cgroup(folder)


def _delegate_controllers(ours: Path) -> None:
    """Enable the controllers for the leaves of `ours`, which must have no process itself."""
    there = (ours / "cgroup.controllers").read_text("ascii").split()
    for name in ("memory", "cpu"):
        for _ in range(_MAX_TRIES):
            if name not in there or name in (ours / "cgroup.subtree_control").read_text("ascii").split():
                break
            for pid in (ours / "cgroup.procs").read_text("ascii").split():
                with contextlib.suppress(OSError):  # the process has ended meanwhile
                    (ours / MAIN / "cgroup.procs").write_text(pid, "ascii")
            with contextlib.suppress(OSError):  # another process was started meanwhile
                (ours / "cgroup.subtree_control").write_text(f"+{name}", "ascii")


def _remove_cgroup(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + _WAIT
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)  # the kernel reports no event for this
    return True


LOW_PRIORITY = 10  # nice value if the CPU limit cannot be applied


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a job; None for no limit."""

    nice: int = 0
    memory: int | None = None  # bytes
    cpu: int | None = None  # hundredths of one processor


@dataclass(frozen=True, slots=True)
class LimitedRun:
    """How the limits of one attempt are applied."""

    plan: str
    """The argument of `enter_limits` for the process that is to be limited."""
    details: Mapping[str, str]
    """For the history: the mechanism of each limit."""
    warning: str
    """For the log: a limit that cannot be applied here, or ''."""
    out_of_memory: Callable[[], bool]
    """Returns whether a process was killed for lack of memory; False if that is not known."""


UNLIMITED = LimitedRun(NO_LIMITS, {}, "", out_of_memory=bool)  # bool() is False


@contextlib.contextmanager
def apply_limits(
    limits: Limits, name: str, *, find_cgroup: Callable[[], Path | None] = own_cgroup
) -> Iterator[LimitedRun]:
    """Apply `limits` for the block, in a cgroup `name` below the delegated one if there is one."""
    leaf = _create_leaf(name, find_cgroup) if limits.memory or limits.cpu else None
    try:
        yield _plan_limits(limits, leaf)
    finally:
        if leaf is not None:
            leaf.remove()


@contextlib.contextmanager
def keep_limits(plan: str) -> Iterator[LimitedRun]:
    """Keep limits for the block that this process applied before it executed another program."""
    folder = json.loads(plan).get("cgroup")
    leaf = Leaf(Path(folder)) if folder else None
    try:
        yield LimitedRun(plan, {}, "", leaf.out_of_memory if leaf is not None else lambda: False)
    finally:
        if leaf is not None:
            leaf.remove()


def enter_limits(plan: str) -> None:
    """Apply the limits of `plan` to this process and all it starts later. Raises Unavailable."""
    limits = json.loads(plan)
    try:
        if "cgroup" in limits:
            enter_cgroup(Path(limits["cgroup"]))
        if "nice" in limits:
            _lower_priority(limits["nice"])
        if "data" in limits:
            _limit_data(limits["data"])
    except (OSError, ValueError) as error:
        raise Unavailable(f"its limits cannot be set: {error}") from None


def _create_leaf(name: str, find_cgroup: Callable[[], Path | None]) -> Leaf | None:
    ours = find_cgroup()
    if ours is None and request_scope():
        ours = find_cgroup()
    return create_leaf(ours, name) if ours is not None else None


def _plan_limits(limits: Limits, leaf: Leaf | None) -> LimitedRun:
    plan: dict[str, str | int] = {"cgroup": str(leaf.folder)} if leaf is not None else {}
    details, warning, nice = {}, "", limits.nice
    if limits.memory is not None:
        if leaf is not None and leaf.set_limit("memory.max", str(limits.memory)):
            leaf.set_limit("memory.swap.max", "0")  # no swapping to the SD card
            leaf.set_limit("memory.oom.group", "1")  # the kernel kills all processes of the run together
            details["memory_limit"] = "cgroup"
        else:
            plan["data"] = limits.memory
            details["memory_limit"] = "rlimit"
    if limits.cpu is not None:
        if leaf is not None and leaf.set_limit("cpu.max", f"{limits.cpu * PERIOD // 100} {PERIOD}"):
            details["cpu_limit"] = "cgroup"
        else:
            nice = max(nice, LOW_PRIORITY)
            details["cpu_limit"] = "nice"
            warning = f"the limit of {limits.cpu}% CPU cannot be applied here; the run has nice {nice} instead"
    if nice:
        plan["nice"] = nice
        if leaf is not None:
            leaf.set_limit("cpu.weight.nice", str(nice))  # `nice` itself only applies within one cgroup
    return LimitedRun(json.dumps(plan), details, warning, leaf.out_of_memory if leaf is not None else lambda: False)


def _limit_data(size: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    size = size if most == resource.RLIM_INFINITY else min(size, most)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def _lower_priority(nice: int) -> None:
    os.setpriority(os.PRIO_PROCESS, 0, max(nice, os.getpriority(os.PRIO_PROCESS, 0)))
    # If the kernel groups processes by session (autogroup), `nice` only applies within a session.
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(nice), "ascii")
