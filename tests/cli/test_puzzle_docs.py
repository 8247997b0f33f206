"""docs/puzzles.md does what it says: its commands run, its configuration loads, its tables agree with the code."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from pi_appliance.cli._program import cli
from pi_appliance.config.load import load
from pi_appliance.puzzles.peg_solitaire import BOARDS, parse, solve

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "puzzles.md").read_text("utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table whose first column is called HEADING."""
    table = PAGE.partition(f"\n| {heading} |")[2].partition("\n\n")[0]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_the_commands_of_the_page_run_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in block("sh").splitlines():
        result = CliRunner().invoke(cli, shlex.split(line)[1:])
        assert result.exit_code == 0, line
    assert result.stdout == "result.txt: 2 solutions, all right\n"


def test_the_configuration_of_the_page_loads_beside_the_example_boards(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "config" / "boards", tmp_path / "boards")
    (tmp_path / "appliance.yaml").write_text("state: state\n" + block("yaml"), "utf-8")
    assert load(tmp_path / "appliance.yaml").jobs["nightly-puzzles"].with_.limit == 1000


def test_the_table_of_boards_has_their_pegs_and_solutions() -> None:
    told = {name: (pegs, count) for name, pegs, count, *_ in rows("board")}
    assert list(told) == list(BOARDS)
    for name, drawing in BOARDS.items():
        board = parse(drawing, name)
        count = solve(board, lambda *_: None).count
        said = {None: "too many to count here", 0: "none"}.get(count, f"{count:,}" if count else "")
        assert told[name] == (str(len(board.pegs)), said)


def test_the_drawing_of_the_page_is_the_example_board() -> None:
    assert block("text") == (ROOT / "config" / "boards" / "swallow.txt").read_text("utf-8")
