"""Connect Four: the scores of many positions, by the library and by the command."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pi_appliance.cli.program import cli
from pi_appliance.errors import ConfigError, DeadlineExceeded
from pi_appliance.puzzles import connect_four
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from tests.examples import repetitions
from tests.puzzles.connect_four.test_solve import KNOWN, by_chance


def score(file: Path | str, *options: str, piped: str | None = None, name: str = "connect-four") -> Result:
    return CliRunner().invoke(cli, ["puzzle", "score", name, "--board", str(file), *options], input=piped)


def drawn_game() -> str:
    moves = "54246465571745757237"
    *columns, _ = next(connect_four.solve(moves).solutions)
    return moves + "".join(map(str, columns))


def test_many_positions_have_the_scores_that_each_has_alone() -> None:
    boards = [by_chance(seed, 24 + seed % 18) for seed in range(repetitions(120))]
    alone = [connect_four.solve(board).details["score"] for board in boards]
    assert list(connect_four.score_many(boards)) == alone
    assert list(connect_four.score_many(KNOWN)) == list(KNOWN.values())
    assert list(connect_four.score_many([])) == []


def test_a_finished_game_has_the_score_of_its_last_move_negated() -> None:
    won, before = "1212121", "121212"
    assert list(connect_four.score_many([won, drawn_game(), before])) == [-18, 0, 18]


def test_an_interruption_says_how_many_are_scored() -> None:
    class Ending(SearchRuntime):
        signs = 3

        def report_progress(self, part: float | None, note: str) -> None:
            assert note
            assert part is None or 0 <= part <= 1
            self.signs -= 1
            if not self.signs:
                raise Interrupted("the time is over")

    scores = connect_four.score_many(KNOWN, Ending())
    with pytest.raises(Interrupted) as caught:
        list(scores)
    assert caught.value.partial_result == "0 of 10 positions are scored"


def test_the_command_prints_a_row_for_each_position_and_names_scores_that_differ(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text(
        "# of my own\n65527256332533157427124672 8\n\n  1212121, -17 # won\r\n225257625346224411156336534367135144\n"
    )
    result = score(file)
    last = next(connect_four.score_many(["225257625346224411156336534367135144"]))
    rows = [
        "65527256332533157427124672 8",
        "1212121 -18 # the file says -17",
        f"225257625346224411156336534367135144 {last}",
    ]
    assert (result.exit_code, result.stdout.splitlines()) == (0, rows)
    assert score("-", piped=file.read_text()).stdout == result.stdout
    assert "scores: first, 3 positions" in score(file, "--dry-run").stdout
    assert json.loads(score(file, "--json").stdout) == {
        "puzzle": "connect-four",
        "scores": [
            {"position": "65527256332533157427124672", "score": 8, "remark": ""},
            {"position": "1212121", "score": -18, "remark": "the file says -17"},
            {"position": "225257625346224411156336534367135144", "score": last, "remark": ""},
        ],
    }


def test_all_wrong_lines_are_reported_with_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("44x3\n1111111\n44 draw\n 4453 1 2\n12121212\n4453 -3\n")
    error = score(file).exception
    assert isinstance(error, ConfigError)
    assert [str(problem).partition(";")[0] for problem in error.problems] == [
        f"{file}:1:3: there is no column 'x'",
        f"{file}:2:7: column A (1) is full",
        f"{file}:3:4: 'draw' is not a score",
        f"{file}:4:9: this comes after the score",
        f"{file}:5:8: this is played after the end, as Red had won with move 7: A1-A2-A3-A4",
    ]
    empty = score("-", piped="# nothing\n").exception
    assert isinstance(empty, ConfigError)
    assert str(empty).startswith("stdin:1:1: there is no position here; write a position in each line")


def test_scores_that_came_before_the_end_of_the_time_are_printed(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("1212121\n4\n")
    result = score(file, "--for", "1s")
    assert result.stdout == "1212121 -18\n"
    assert isinstance(result.exception, DeadlineExceeded)
    assert "1 of 2 positions are scored" in str(result.exception)
    scores = json.loads(score(file, "--for", "1s", "--json").stdout)["scores"]
    assert scores == [{"position": "1212121", "score": -18, "remark": ""}]


def test_a_puzzle_without_scores_says_so(tmp_path: Path) -> None:
    result = score(tmp_path / "gone.txt", name="sudoku")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "sudoku has no scores" in result.stderr
