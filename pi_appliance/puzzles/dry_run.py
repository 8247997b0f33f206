"""The plan of a run that `--dry-run` shows: what it searches, its memory and its writes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Footprint, Puzzle, SolveMode
from pi_appliance.puzzles.runtime import SearchRuntime, format_bytes
from pi_appliance.puzzles.runtime.deadline import format_seconds
from pi_appliance.puzzles.runtime.local import MemoryBudget, require_memory

PROCESS_MEMORY = 52_000_000  # bytes of the program with a puzzle and its report, measured
WORKER_MEMORY = 8_000_000  # bytes of a worker process that it does not share


class Task(NamedTuple):
    """A part of a run: `board` is None for the tables of a puzzle."""

    name: str
    board: object | None
    mode: SolveMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of a run: a description of each part, and the resources that the run needs."""

    work: Mapping[str, str]
    cores: int
    memory: int  # bytes at the peak, of all processes together
    memory_may_grow: bool
    checkpoints: int  # bytes at most
    tables: int  # bytes of saved tables; the boards of a puzzle share them
    seconds: float | None  # seconds until the deadline
    folders: Mapping[str, str]
    refused: str = ""  # why there is not enough memory

    def rows(self) -> dict[str, str]:
        """Return the plan for a person."""
        more = "; more is asked for as the search grows, and refused if there is none" if self.memory_may_grow else ""
        sizes = {"checkpoints": self.checkpoints, "tables": self.tables}
        writes = " and ".join(f"{format_bytes(size)} of {name}" for name, size in sizes.items() if size)
        besides = ", besides the reports" if "Reports" in self.folders else ""
        return {
            **self.work,
            "Cores": str(self.cores),
            "Memory": f"about {format_bytes(self.memory)} in all processes{more}",
            "Writes": f"at most {writes}{besides}" if writes else f"no checkpoints or tables{besides}",
            "Time limit": "none" if self.seconds is None else format_seconds(round(self.seconds)),
            **self.folders,
            **({"Refused": self.refused} if self.refused else {}),
        }

    def to_json(self) -> dict[str, object]:
        """Return the plan for a program, in bytes and seconds."""
        return asdict(self)


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
    workers = WORKER_MEMORY * runtime.cores if runtime.cores > 1 else 0
    peaks = (each.memory + workers * each.is_parallel for each in footprints)
    tables = {name: size for each in footprints for name, size in each.tables.items()}
    plan = Plan(
        work=work,
        cores=runtime.cores if any(each.is_parallel for each in footprints) else 1,
        memory=PROCESS_MEMORY + max(peaks, default=0),
        memory_may_grow=any(each.is_open for each in footprints),
        checkpoints=int(runtime.checkpoint_writes) if any(each.saves for each in footprints) else 0,
        tables=sum(tables.values()),
        seconds=seconds,
        folders=folders,
    )
    try:
        runtime.require_memory(plan.memory, "this run")
        require_memory(plan.memory, "this run", budgets)
    except Refused as error:
        return replace(plan, refused=str(error))
    return plan
