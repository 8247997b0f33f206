"""The plan of a run that `--dry-run` shows: what it searches, its memory and its writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Footprint, Puzzle, SolveMode
from pi_appliance.puzzles.runtime import SearchRuntime, format_bytes
from pi_appliance.puzzles.runtime.local import MemoryBudget, format_seconds, require_memory

PROCESS_MEMORY = 52_000_000  # bytes of the program with a puzzle and its report, measured
WORKER_MEMORY = 8_000_000  # bytes of a worker process besides what it shares


class Task(NamedTuple):
    """A part of a run: `board` is None for the tables of a puzzle."""

    name: str
    board: object | None
    mode: SolveMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The parts of a run by name, and their footprints."""

    work: Mapping[str, str]  # in words
    footprints: Sequence[Footprint]
    cores: int
    checkpoint_writes: float  # bytes
    seconds: float | None  # until the deadline
    folders: Mapping[str, str]
    refused: str = ""  # why there is not enough memory

    @property
    def is_parallel(self) -> bool:
        """Whether a part of the run uses all cores."""
        return any(each.is_parallel for each in self.footprints)

    @property
    def memory(self) -> int:
        """The bytes at the peak, of all processes together."""
        workers = WORKER_MEMORY * self.cores if self.cores > 1 else 0
        sizes = (each.memory + workers * each.is_parallel for each in self.footprints)
        return PROCESS_MEMORY + max(sizes, default=0)

    @property
    def tables(self) -> int:
        """The bytes of tables that are saved; the boards of a puzzle share theirs."""
        sizes: dict[str, int] = {}
        for footprint in self.footprints:
            sizes |= footprint.tables
        return sum(sizes.values())

    @property
    def checkpoints(self) -> int:
        """The bytes of checkpoints at most."""
        return int(self.checkpoint_writes) if any(each.saves for each in self.footprints) else 0

    def rows(self) -> dict[str, str]:
        """Return the plan for a person."""
        is_open = any(each.is_open for each in self.footprints)
        more = "; more is asked for as the search grows, and refused if there is none" if is_open else ""
        checkpoints = f"{format_bytes(self.checkpoints)} of checkpoints" if self.checkpoints else ""
        tables = f"{format_bytes(self.tables)} of tables" if self.tables else ""
        writes = " and ".join(filter(None, (checkpoints, tables)))
        besides = ", besides the reports" if "Reports" in self.folders else ""
        return {
            **self.work,
            "Cores": str(self.cores if self.is_parallel else 1),
            "Memory": f"about {format_bytes(self.memory)} in all processes{more}",
            "Writes": f"at most {writes}{besides}" if writes else f"no checkpoints or tables{besides}",
            "Time limit": "none" if self.seconds is None else format_seconds(round(self.seconds)),
            **self.folders,
            **({"Refused": self.refused} if self.refused else {}),
        }

    def to_json(self) -> dict[str, object]:
        """Return the plan for a program, in bytes and seconds."""
        return {
            "work": dict(self.work),
            "cores": self.cores if self.is_parallel else 1,
            "memory": self.memory,
            "memory_may_grow": any(each.is_open for each in self.footprints),
            "checkpoints": self.checkpoints,
            "tables": self.tables,
            "seconds": self.seconds,
            "folders": dict(self.folders),
            "refused": self.refused,
        }


def plan_tasks(
    puzzle: Puzzle,
    tasks: Sequence[Task],
    runtime: SearchRuntime,
    seconds: float | None,
    folders: Mapping[str, str],
    budgets: Sequence[MemoryBudget] = (),
) -> Plan:
    """Return the plan of `tasks`, within `budgets` and this machine. Raises Interrupted."""
    work, footprints = dict[str, str](), list[Footprint]()
    for name, board, mode in tasks:
        runtime.report_progress(None, f"{name}: foretelling the memory")
        work[name] = "tables of the puzzle" if board is None else f"{mode}, {puzzle.describe(board)}"
        footprints.append(puzzle.foretell(board, mode, runtime))
    plan = Plan(
        work=work,
        footprints=footprints,
        cores=runtime.cores,
        checkpoint_writes=runtime.checkpoint_writes,
        seconds=seconds,
        folders=folders,
    )
    try:
        runtime.require_memory(plan.memory, "this run")
        require_memory(plan.memory, "this run", budgets)
    except Refused as error:
        return replace(plan, refused=str(error))
    return plan
