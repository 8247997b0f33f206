"""Invalid boards and files: `pi-appliance puzzle` and the job kind report each in one line."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pi_appliance.cli.program import cli
from pi_appliance.config.loader import load_config
from pi_appliance.errors import ApplianceError, ConfigError
from pi_appliance.puzzles import boards, rubiks_cube
from tests.installation import Installation

PUZZLES = (
    "battleship",
    "bimaru",
    "connect-four",
    "panguru",
    "peg-solitaire",
    "rubiks-cube",
    "solitaire-chess",
    "sudoku",
)


def refusal(*arguments: str | Path, piped: bytes | None = None) -> str:
    """Return the single line that `puzzle` prints for `arguments`, without a traceback."""
    error = CliRunner().invoke(cli, ["puzzle", *map(str, arguments)], input=piped).exception
    assert isinstance(error, ApplianceError), error
    assert len(str(error)) < 1_000
    return str(error)


@pytest.mark.parametrize("name", PUZZLES)
def test_binary_files_and_endless_lines_are_rejected(name: str, tmp_path: Path) -> None:
    file = tmp_path / "board.txt"
    file.write_bytes(bytes(50_000))
    assert "this is not a text file; save it as UTF-8" in refusal("show", name, "--board", file)
    for content in (b"# a comment\n" + b"X" * 5_000_000, b"no board\n" * 20_000)[: 1 if name == "sudoku" else 2]:
        file.write_bytes(content)
        wrong = "1:1: it has more than 100kB; use one board per file"
        if name == "sudoku":
            wrong = "2:1: this line has more than 100,000 characters"
        assert f"board.txt:{wrong}" in refusal("show", name, "--board", file)
        assert f"stdin:{wrong}" in refusal("show", name, "--board", "-", piped=content)
    file.write_bytes(b"Z" * 100_000)
    refusal("show", name, "--board", file)


def test_only_the_first_fifty_problems_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "board.txt"
    file.write_text("hello\n" * 5_000, "utf-8")
    error = CliRunner().invoke(cli, ["puzzle", "show", "peg-solitaire", "--board", str(file)]).exception
    reported = str(error).splitlines()
    assert (len(reported), reported[-1].rpartition(": ")[2]) == (51, "and 4,950 more")


def test_a_folder_or_a_device_is_not_a_board_name(tmp_path: Path) -> None:
    for place in (tmp_path, Path("/dev/null")):
        assert f"{place}:1:1: this is not a regular file" in refusal("show", "sudoku", "--board", place)


def test_a_closed_stdin_has_no_board(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pi_appliance", "puzzle", "show", "sudoku", "--board", "-"]
    script = f"{shlex.join(words)} <&-"
    done = subprocess.run(
        ["sh", "-c", script],
        env=Installation(tmp_path).environment(),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr.partition(";")[0]) == (2, "stdin:1:1: no grid is drawn here")


def test_an_output_is_put_in_the_place_of_files_only(tmp_path: Path) -> None:
    pipe, existing, link = tmp_path / "pipe", tmp_path / "kept.txt", tmp_path / "link.txt"
    os.mkfifo(pipe)
    existing.touch()
    link.symlink_to(existing)
    (tmp_path / "to-pipe").symlink_to(pipe)
    assert "to-pipe is not a regular file" in refusal("solve", "panguru", "--output", tmp_path / "to-pipe")
    wrong = refusal("solve", "panguru", "--output", pipe)
    assert f"{pipe} is not a regular file; choose another name" in wrong
    assert pipe.is_fifo()
    assert CliRunner().invoke(cli, ["puzzle", "solve", "panguru", "--output", str(link)]).exit_code == 0
    assert link.is_symlink()
    assert existing.read_text("utf-8").startswith("Starting Board")


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "board.txt"
    with file.open("wb") as hole:
        hole.truncate(boards.MAX_BYTES + 1)
    assert "it has more than 256MB" in refusal("show", "sudoku", "--board", file)


def test_a_pipe_is_rejected_as_a_board_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "board.txt")
    config = tmp_path / "appliance.yaml"
    config.write_text(
        "state-dir: state\njobs:\n  night: {kind: puzzle, with: {puzzle: sudoku, boards: [board.txt]}}\n", "utf-8"
    )
    with pytest.raises(ConfigError, match=r"this is not a regular file; name a text file"):
        load_config(config)


def test_lines_may_end_as_on_other_systems_and_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "board.txt"
    for content in (b"\xef\xbb\xbfXXO\r\nXXO\r\n", b"XXO\rXXO\r"):
        file.write_bytes(content)
        assert CliRunner().invoke(cli, ["puzzle", "show", "peg-solitaire", "--board", str(file)]).stdout == "XXO\nXXO\n"


@pytest.mark.parametrize("name", ["new\nline", "half \udcff a mark", "long" * 50, "ä" * 90])
def test_a_file_of_an_odd_name_is_solved_and_called_so_that_it_can_be_written(name: str, tmp_path: Path) -> None:
    board, page = tmp_path / f"{name}.txt", tmp_path / "page.html"
    board.write_text("XXO\n", "utf-8")
    installation = Installation(tmp_path)
    done = installation.run("puzzle", "solve", "peg-solitaire", "--board", str(board), "--output", str(page))
    assert done.returncode == 0, done.stderr
    assert "<h2>" in page.read_text("utf-8")
    called = boards.board_name(board)
    assert called.isprintable()
    assert len(f".{called}-probability.svg.12345678.new".encode()) < 256


def test_a_number_of_thousands_of_digits_is_not_a_target() -> None:
    board = rubiks_cube.parse("R U", "here")
    with pytest.raises(ConfigError, match="is not a number from 0 to 30"):
        rubiks_cube.with_rules(board, {"target": "1" * (sys.get_int_max_str_digits() + 1)})


def test_an_empty_output_name_is_a_usage_error() -> None:
    result = CliRunner().invoke(cli, ["puzzle", "solve", "peg-solitaire", "--output", ""])
    assert result.exit_code == 2
    assert "--output needs a file name" in result.stderr
