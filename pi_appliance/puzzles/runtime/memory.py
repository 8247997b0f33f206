"""The cores and the memory that this process may use, by all limits of the machine."""

import contextlib
import math
import os
import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.errors import Refused

_HEADROOM = 1.1  # factor for the recommended limit: the rest of the process grows, too
_ROUND_TO = 10**7  # bytes, for recommended limits
_MAX_CORES = 1_024


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """One limit on the memory of this process, in bytes."""

    limit: int
    used: int
    owner: str
    """Who sets the limit, in words: "the limit of the job"."""
    advice: str
    """How to raise it, with {} for the new limit; "" if it cannot be raised."""


@dataclass(frozen=True, slots=True)
class SysPaths:
    """Where Linux reports limits and usage."""

    proc: Path = Path("/proc")
    cgroups: Path = Path("/sys/fs/cgroup")


SYS_PATHS = SysPaths()


def available_cores(cpu_percent: int | None = None, paths: SysPaths = SYS_PATHS) -> int:
    """Return how many processes can run at the same time.

    Args:
        cpu_percent: a further limit, in hundredths of one processor.
        paths: where the machine reports its limits.

    """
    limits = [cpu_percent / 100] if cpu_percent else []
    for folder in _cgroup_folders(paths):
        quota, period = _read_words(folder / "cpu.max", "max 100000")[:2]
        if quota != "max":
            limits.append(int(quota) / int(period))
    return max(1, min(len(os.sched_getaffinity(0)), *(math.ceil(limit) for limit in limits), _MAX_CORES))


def require_memory(size: int, purpose: str, budgets: Sequence[MemoryBudget]) -> None:
    """Check that `size` bytes more fit into all `budgets`.

    Raises:
        Refused: they do not; the message names the tightest limit and how to raise it.

    """
    exceeded = [budget for budget in budgets if size > budget.limit - budget.used]
    if not exceeded:
        return
    tightest = min(exceeded, key=lambda budget: budget.limit - budget.used)
    needed = math.ceil((tightest.used + size) * _HEADROOM / _ROUND_TO) * _ROUND_TO
    free = format_bytes(max(0, tightest.limit - tightest.used))
    advice = tightest.advice.format(format_bytes(needed)) or "end other programs or use a machine with more memory"
    raise Refused(f"{purpose} needs {format_bytes(size)} of memory, but {tightest.owner} leaves {free}; {advice}")


def memory_budgets(advice: str, paths: SysPaths = SYS_PATHS) -> list[MemoryBudget]:
    """Return all limits on the memory of this process; `advice` is how to raise the limit of its job."""
    owner = "the limit of the job" if advice else "a limit of this shell (ulimit -d)"
    budgets = list(_cgroup_budgets(paths, advice))
    data_limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    status = _read_table(paths.proc / "self" / "status")
    if data_limit != resource.RLIM_INFINITY:
        # The kernel does not count memory shared with workers as data.
        used = status.get("VmData", 0) + status.get("RssShmem", 0)
        budgets.append(MemoryBudget(data_limit, used, owner, advice or "raise that limit to {}"))
    memory = _read_table(paths.proc / "meminfo")
    if "MemAvailable" in memory:
        total, free = memory.get("MemTotal", 0), memory["MemAvailable"]
        budgets.append(MemoryBudget(total, total - free, "this machine", ""))
    return budgets


def format_bytes(size: int) -> str:
    """Return `size` in the largest decimal unit, such as 1.1GB."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f}".removesuffix(".0") + unit
    return f"{size}B"


def _cgroup_budgets(paths: SysPaths, advice: str) -> Iterator[MemoryBudget]:
    for folder in _cgroup_folders(paths):
        limit = _read_words(folder / "memory.max", "max")[0]
        if limit == "max":
            continue
        # The kernel drops cached file pages when the memory is needed.
        file_cache = int(_read_pairs(folder / "memory.stat").get("inactive_file", 0))
        used = max(0, int(_read_words(folder / "memory.current", "0")[0]) - file_cache)
        if folder.name.startswith("run-") and advice:
            yield MemoryBudget(int(limit), used, "the limit of the job", advice)
        else:
            owner = f"the limit of {folder.name or 'this container'}"
            yield MemoryBudget(int(limit), used, owner, "raise that limit to {}")


def _cgroup_folders(paths: SysPaths) -> list[Path]:
    """Return the cgroup of this process and its visible ancestors."""
    with contextlib.suppress(OSError):
        for line in (paths.proc / "self" / "cgroup").read_text("utf-8").splitlines():
            if line.startswith("0::/"):
                path = Path(line.removeprefix("0::/"))
                return [paths.cgroups / each for each in (path, *path.parents)]
    return []


def _read_words(path: Path, default: str) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text("ascii").split()
    return default.split()


def _read_pairs(path: Path) -> dict[str, str]:
    words = _read_words(path, "")
    return dict(zip(words[::2], words[1::2], strict=False))


def _read_table(path: Path) -> dict[str, int]:
    """Return the lines "Name: 12 kB" of a file, in bytes."""
    table: dict[str, int] = {}
    with contextlib.suppress(OSError):
        for line in path.read_text("utf-8", "replace").splitlines():
            name, _, rest = line.partition(":")
            match rest.split():
                case [number, "kB"]:
                    table[name] = int(number) * 1024
    return table
