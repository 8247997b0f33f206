"""How much of the machine this process may have: its cores, and the memory that is left to it, by whom."""

import contextlib
import math
import os
import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.config.units import render_size
from pi_appliance.errors import Refused

_SPARE = 1.1  # what is advised, over what is needed: the rest of a process grows a little, too
_ROUND = 10**7  # bytes; advice is a round number


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Memory that somebody lets us have."""

    limit: int
    used: int
    whose: str
    """Whose limit it is, in words: "the job's limit"."""
    raise_it: str
    """What to do for more, with {} for how much; "" if nothing can be done about it by itself."""


@dataclass(frozen=True, slots=True)
class SysPaths:
    """Where the machine tells of itself; tests put it elsewhere."""

    proc: Path = Path("/proc")
    cgroups: Path = Path("/sys/fs/cgroup")


HERE = SysPaths()


def cores(share: int | None = None, machine: SysPaths = HERE) -> int:
    """Return how many processes may work at the same time: 1 or more. SHARE are hundredths of one processor."""
    shares = [share / 100] if share else []
    for folder in _our_cgroups(machine):
        quota, period = _words(folder / "cpu.max", "max 100000")[:2]
        if quota != "max":
            shares.append(int(quota) / int(period))
    return max(1, min(len(os.sched_getaffinity(0)), *(math.ceil(each) for each in shares), 1_024))


def require(size: int, what: str, rooms: Sequence[MemoryBudget]) -> None:
    """Raise Refused, with what to do, if WHAT, which takes SIZE bytes more, does not fit into one of ROOMS."""
    tight = [room for room in rooms if size > room.limit - room.used]
    if not tight:
        return
    room = min(tight, key=lambda room: room.limit - room.used)
    advised = math.ceil((room.used + size) * _SPARE / _ROUND) * _ROUND
    left = render_size(max(0, room.limit - room.used))
    advice = room.raise_it.format(render_size(advised)) or "end what else runs, or use a machine with more"
    raise Refused(f"{what} takes {render_size(size)} of memory, and {room.whose} leaves {left}; {advice}")


def memory_budgets(raise_it: str, machine: SysPaths = HERE) -> list[MemoryBudget]:
    """Return all that limits the memory of this process. RAISE_IT says what to do about a limit that is a job's."""
    ours = "the limit of the job" if raise_it else "a limit of this shell (ulimit -d)"
    found = list(_of_cgroups(machine, raise_it))
    data, _ = resource.getrlimit(resource.RLIMIT_DATA)
    status = _table(machine.proc / "self" / "status")
    if data != resource.RLIM_INFINITY:
        # What is shared with workers is no data to the kernel, but memory all the same.
        used = status.get("VmData", 0) + status.get("RssShmem", 0)
        found.append(MemoryBudget(data, used, ours, raise_it or "raise that limit to {}"))
    memory = _table(machine.proc / "meminfo")
    if "MemAvailable" in memory:
        total, left = memory.get("MemTotal", 0), memory["MemAvailable"]
        found.append(MemoryBudget(total, total - left, "this machine", ""))
    return found


def _of_cgroups(machine: SysPaths, raise_it: str) -> Iterator[MemoryBudget]:
    for folder in _our_cgroups(machine):
        limit = _words(folder / "memory.max", "max")[0]
        if limit == "max":
            continue
        # Pages of files are given back when the memory is wanted.
        files = int(_pairs(folder / "memory.stat").get("inactive_file", 0))
        used = max(0, int(_words(folder / "memory.current", "0")[0]) - files)
        if folder.name.startswith("run-") and raise_it:
            yield MemoryBudget(int(limit), used, "the limit of the job", raise_it)
        else:
            yield MemoryBudget(
                int(limit), used, f"the limit of {folder.name or 'this container'}", "raise that limit to {}"
            )


def _our_cgroups(machine: SysPaths) -> list[Path]:
    """Return the cgroup of this process and those above it, as far as they can be seen."""
    with contextlib.suppress(OSError):
        for line in (machine.proc / "self" / "cgroup").read_text("utf-8").splitlines():
            if line.startswith("0::/"):
                here = Path(line.removeprefix("0::/"))
                return [machine.cgroups / each for each in (here, *here.parents)]
    return []


def _words(path: Path, without: str) -> list[str]:
    """Return the words in the file PATH, or of WITHOUT where there is none."""
    with contextlib.suppress(OSError):
        return path.read_text("ascii").split()
    return without.split()


def _pairs(path: Path) -> dict[str, str]:
    words = _words(path, "")
    return dict(zip(words[::2], words[1::2], strict=False))


def _table(path: Path) -> dict[str, int]:
    """Return the lines "Name: 12 kB" of the file PATH, in bytes."""
    found: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for line in path.read_text("utf-8", "replace").splitlines():
            name, _, rest = line.partition(":")
            match rest.split():
                case [number, "kB"]:
                    found[name] = int(number) * 1024
    return found
