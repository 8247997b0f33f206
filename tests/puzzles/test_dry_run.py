"""The plan of `--dry-run`: memory, writes and folders of a run, by the numbers that refuse it."""

import json
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pi_appliance import plugins
from pi_appliance.cli.program import cli
from pi_appliance.config import loader
from pi_appliance.errors import InvalidOption, Refused
from pi_appliance.jobs.run_options import plan_run
from pi_appliance.puzzles import (
    Footprint,
    Puzzle,
    SolveMode,
    battleship,
    connect_four,
    peg_solitaire,
    rubiks_cube,
    sudoku,
)
from pi_appliance.puzzles.boards import load_puzzle
from pi_appliance.puzzles.dry_run import Task, plan_tasks
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime

CORNER = "  XXX\n  XXX\nXXXOXXX\nXXXXXXX\nXXXXXXX\n  XXX\n  XXX\n"
GRID = sudoku.BOARDS["seventeen"]


class LimitedRuntime(SearchRuntime):
    """A runtime with `memory` bytes that remembers what was required."""

    def __init__(self, memory: float) -> None:
        super().__init__()
        self.memory, self.required = memory, list[int]()

    def require_memory(self, size: int, purpose: str) -> None:
        self.required.append(size)
        if size > self.memory:
            raise Refused(f"{purpose} needs {size}")


def command(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def job(folder: Path, keys: str, more: str = "") -> str:
    file = folder / "appliance.yaml"
    text = f"state-dir: state\njobs:\n  night:\n    kind: puzzle\n    timeout: 2h\n{more}    with: {{{keys}}}\n"
    file.write_text(text, "utf-8")
    return str(file)


@pytest.mark.parametrize("name", plugins.names("puzzles"))
def test_every_puzzle_foretells_its_known_boards(name: str) -> None:
    puzzle = load_puzzle(name)
    for drawing in list(puzzle.BOARDS.values())[:3]:
        footprint = puzzle.foretell(puzzle.parse(drawing, "board"), SolveMode.FIRST, SearchRuntime())
        assert 0 < footprint.memory < 100_000_000
    if hasattr(puzzle, "precompute"):
        assert puzzle.foretell(None, SolveMode.FIRST, SearchRuntime()).tables


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("puzzle", "board", "mode"),
    [
        (battleship, "fleet: 5,4,3,3,2\n" + "??????????\n" * 10, SolveMode.COUNT),
        (connect_four, connect_four.BOARDS["squeeze"], SolveMode.FIRST),
        (rubiks_cube, rubiks_cube.BOARDS["superflip"], SolveMode.FEWEST),
        (sudoku, "\n".join([GRID] * 3_000), SolveMode.COUNT),
    ],
)
def test_a_search_is_refused_by_the_memory_that_the_plan_shows(puzzle: Puzzle, board: str, mode: SolveMode) -> None:
    parsed = puzzle.parse(board, "board")
    foretold = puzzle.foretell(parsed, mode, SearchRuntime()).memory
    runtime = LimitedRuntime(0)
    with pytest.raises(Refused):
        puzzle.solve(parsed, mode, runtime)
    assert runtime.required[0] == foretold


@pytest.mark.slow
def test_a_count_foretells_its_memory_from_the_first_levels() -> None:
    board = peg_solitaire.parse(CORNER)
    assert peg_solitaire.foretell(board, SolveMode.COUNT).memory == pytest.approx(2_700_000_000, rel=0.2)
    runtime = LimitedRuntime(1_000_000_000)
    assert peg_solitaire.foretell(board, SolveMode.ALL, runtime).memory < 100_000_000, "listed without a count"


def test_a_plan_leaves_the_checkpoint_of_a_search_alone() -> None:
    class Stopped(SearchRuntime):
        def report_progress(self, part: float | None, note: str) -> None:  # noqa: ARG002 - as in the base class
            if "jump 5" in note:
                raise Interrupted("stop")

    runtime, board = Stopped(), peg_solitaire.parse(peg_solitaire.BOARDS["plus"])
    with pytest.raises(Interrupted):
        peg_solitaire.solve(board, SolveMode.COUNT, runtime)
    saved = list(runtime.cache.names())
    resumed = SearchRuntime()
    resumed.cache = runtime.cache
    peg_solitaire.foretell(board, SolveMode.COUNT, resumed)
    assert saved
    assert list(runtime.cache.names()) == saved


def test_the_plan_has_the_largest_part_of_a_run() -> None:
    class Model:
        def describe(self, board: object) -> str:
            return f"size {board}"

        def foretell(self, board: object, _: SolveMode, __: SearchRuntime) -> Footprint:
            return Footprint(
                memory=int(str(board)) * 100_000_000, tables={"a": 5}, saves=board == "2", is_open=board == "2"
            )

    tasks = [Task(name, board, SolveMode.ALL) for name, board in (("small", "1"), ("large", "2"))]
    runtime = LimitedRuntime(150_000_000)
    runtime.checkpoint_writes = 7_000_000
    small, both = (plan_tasks(Model(), parts, runtime, 60, {"Reports": "/r"}) for parts in (tasks[:1], tasks))  # type: ignore[arg-type]
    assert 100_000_000 < small.memory < 200_000_000 < both.memory
    assert (small.tables, small.checkpoints, both.checkpoints) == (5, 0, 7_000_000)
    assert "this run needs" in both.refused
    rows = both.rows()
    assert (rows["small"], rows["Time limit"], rows["Reports"]) == ("all, size 1", "1m", "/r")
    assert rows["Writes"] == "at most 7MB of checkpoints and 5B of tables, besides the reports"
    assert "more is asked for" in rows["Memory"]
    assert "more is asked for" not in small.rows()["Memory"]


@pytest.mark.parametrize(
    ("arguments", "work"),
    [
        (("solve", "sudoku"), {"sample": "all, 24 clues in 9x9 cells"}),
        (("count", "battleship", "--board", "open-sea"), {"open-sea": "count, 10×10 squares, 100 of them unknown"}),
        (("precompute", "rubiks-cube"), {"precompute": "tables of the puzzle"}),
    ],
)
def test_dry_run_of_a_command_shows_the_plan_and_searches_nothing(
    tmp_path: Path, arguments: tuple[str, ...], work: dict[str, str]
) -> None:
    config = job(tmp_path, "puzzle: sudoku")
    limits = ("--for", "30s", "--cores", "1", "--checkpoint-writes", "5MB", "--config", config)
    result = command("puzzle", *arguments, *limits, "--dry-run", "--json")
    assert result.exit_code == 0, result.output
    plan = json.loads(result.stdout)
    assert all(plan["work"][name].startswith(text) for name, text in work.items())
    assert (plan["cores"], plan["seconds"], plan["checkpoints"]) == (1, 30, 5_000_000)
    assert plan["folders"] == {"Tables and checkpoints": str(tmp_path / "state" / "puzzles")}
    assert not (tmp_path / "state").exists()


def test_dry_run_of_generate_and_hint_needs_no_seed_and_moves_nothing() -> None:
    assert "new" not in command("puzzle", "generate", "sudoku", "--dry-run").stdout
    assert "Memory: about " in command("puzzle", "generate", "sudoku", "--dry-run").stdout
    assert "Memory: about " in command("puzzle", "hint", "panguru", "--dry-run").stdout


def test_dry_run_of_a_job_shows_its_boards_and_reports(tmp_path: Path) -> None:
    config = job(tmp_path, "puzzle: sudoku, boards: [sample, seventeen], generate: 2, checkpoint-writes: 1MB")
    result = command("jobs", "run", "night", "--dry-run", "--with", "generate=3", "--config", config)
    assert result.exit_code == 0, result.output
    lines = dict(line.split(": ", 1) for line in result.stdout.splitlines())
    assert list(lines)[:3] == ["sample", "seventeen", "3 new boards"]
    assert lines["Time limit"] == "2h"
    assert lines["Writes"] == "at most 1MB of checkpoints, besides the reports"
    assert lines["Reports"] == str(tmp_path / "state" / "reports" / "night")
    assert not (tmp_path / "state" / "reports").exists()


def test_dry_run_refuses_a_job_whose_memory_is_too_small(tmp_path: Path) -> None:
    config = job(tmp_path, "puzzle: connect-four, boards: [empty]", "    memory: 60MB\n")
    result = command("jobs", "run", "night", "--dry-run", "--config", config)
    assert result.exit_code == 1
    assert "the limit of the job leaves 60MB; let job night have `memory: 1" in result.stdout


def test_ctrl_c_ends_the_plan_of_a_job(tmp_path: Path) -> None:
    config = loader.load_config(Path(job(tmp_path, "puzzle: sudoku, boards: [sample, seventeen]")))
    with pytest.raises(KeyboardInterrupt):
        plan_run(config, config.jobs["night"], {}, lambda *_: signal.raise_signal(signal.SIGINT))


def test_a_job_of_a_kind_without_a_plan_says_so(tmp_path: Path) -> None:
    file = tmp_path / "appliance.yaml"
    file.write_text("state-dir: state\njobs:\n  night: {kind: command, with: {run: [echo, hello]}}\n", "utf-8")
    error = command("jobs", "run", "night", "--dry-run", "--config", str(file)).exception
    assert isinstance(error, InvalidOption)
    assert "its kind, command, has no plan" in str(error)
