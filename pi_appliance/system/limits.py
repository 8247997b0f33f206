"""How much a run may take: a cgroup of its own holds it where we may have one, else the limits of each process.

Where there is no cgroup, RLIMIT_DATA stands in for the memory. It counts what a program has to itself to write on. The
nearest other, RLIMIT_AS, counts addresses: programs that reserve many and use few (Go, Java, Node, any with threads)
would not even start under a limit that they keep easily. It is a limit of each process, not of all together. A share
of a processor cannot be held that way; the run steps back for others instead.
"""

import contextlib
import json
import os
import resource
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.errors import Unavailable
from pi_appliance.system import cgroups

STEP_BACK = 10  # the nice value of one whose share of the processor cannot be held


@dataclass(frozen=True, slots=True)
class Limits:
    """What a job may take. None: as much as it likes."""

    nice: int = 0
    memory: int | None = None  # bytes
    cpu: int | None = None  # hundredths of one processor


@dataclass(frozen=True, slots=True)
class Held:
    """How the limits of one attempt are held."""

    plan: str
    """To be given to `enter` by the process that is to be held."""
    facts: Mapping[str, str]
    """For the history: which limit is held by what."""
    note: str
    """For the log: what cannot be held here; or ''."""
    out_of_memory: Callable[[], bool]
    """Says whether something was killed for its memory. Always False where that cannot be known."""


@contextlib.contextmanager
def held(limits: Limits, name: str, *, given: Callable[[], Path | None] = cgroups.own) -> Iterator[Held]:
    """Have LIMITS held for the block, in a cgroup called NAME if one may be made below the one GIVEN to us."""
    leaf = _leaf(name, given) if limits.memory or limits.cpu else None
    try:
        yield _held(limits, leaf)
    finally:
        if leaf is not None:
            leaf.remove()


def enter(plan: str) -> None:
    """Put this process, and all that it starts from now on, under the limits of PLAN. Raises Unavailable."""
    wanted = json.loads(plan)
    try:
        if "cgroup" in wanted:
            cgroups.enter(Path(wanted["cgroup"]))
        if "nice" in wanted:
            _step_back(wanted["nice"])
        if "data" in wanted:
            _limit_data(wanted["data"])
    except (OSError, ValueError) as error:
        raise Unavailable(f"its limits cannot be set: {error}") from None


def _leaf(name: str, given: Callable[[], Path | None]) -> cgroups.Leaf | None:
    ours = given()
    if ours is None and cgroups.ask_for_own():
        ours = given()
    return cgroups.leaf(ours, name) if ours is not None else None


def _held(limits: Limits, leaf: cgroups.Leaf | None) -> Held:
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
        if leaf is not None and leaf.set("cpu.max", f"{limits.cpu * cgroups.PERIOD // 100} {cgroups.PERIOD}"):
            facts["cpu-limit"] = "cgroup"
        else:
            nice = max(nice, STEP_BACK)
            facts["cpu-limit"] = "nice"
            note = f"a share of {limits.cpu}% cannot be held here; it runs with nice {nice} instead"
    if nice:
        plan["nice"] = nice
        if leaf is not None:
            leaf.set("cpu.weight.nice", str(nice))  # nice itself counts within one cgroup only
    return Held(json.dumps(plan), facts, note, leaf.out_of_memory if leaf is not None else lambda: False)


def _limit_data(size: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    size = size if most == resource.RLIM_INFINITY else min(size, most)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def _step_back(nice: int) -> None:
    os.setpriority(os.PRIO_PROCESS, 0, max(nice, os.getpriority(os.PRIO_PROCESS, 0)))
    # Where the kernel shares the processor out among sessions first (autogroup), nice counts within ours only.
    with contextlib.suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(nice), "ascii")
