"""The commands of `pi-appliance puzzle`."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pi_appliance import plugins
from pi_appliance.cli.program import cli
from pi_appliance.errors import ApplianceError, ConfigError, DeadlineExceeded, Unavailable
from pi_appliance.puzzles import SolveMode, battleship, peg_solitaire
from pi_appliance.puzzles.peg_solitaire.board import BOARDS
from pi_appliance.puzzles.peg_solitaire.notation import parse_listing

# Twenty pairs that can jump once each: a million positions, which take long enough to be interrupted.
LONG = "\n\n".join(["XXO XXO XXO XXO"] * 5) + "\n"


def puzzle(*arguments: str | Path, piped: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, ["puzzle", *map(str, arguments)], input=piped)


def refused(*arguments: str | Path) -> ApplianceError:
    error = puzzle(*arguments).exception
    assert isinstance(error, ApplianceError)
    return error


def test_the_first_solution_is_listed_by_default() -> None:
    result = puzzle("solve", "peg-solitaire", "--board", "cross")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert "Solutions: at least 1; not counted\n" in result.stdout
    assert result.stdout.count("Start Solution") == 1


def test_the_first_known_board_is_the_default() -> None:
    assert puzzle("show", "peg-solitaire").stdout == BOARDS["full"]
    assert "Board: 32 pegs in 33 holes\n" in puzzle("solve", "peg-solitaire").stdout


def test_a_count_lists_no_board() -> None:
    counted = puzzle("solve", "sudoku", "--solutions", "count").stdout
    assert counted.startswith("Board: 24 clues in 9x9 cells\nSolutions: 1\n")
    assert "Starting Board" not in counted


def test_a_board_that_is_solved_already_has_one_solution() -> None:
    assert "Solutions: 1\n" in puzzle("solve", "peg-solitaire", "--board", "X.").stdout


@pytest.mark.parametrize("clues", ["5", "99"])
def test_impossible_numbers_of_clues_are_wrong_use(clues: str) -> None:
    error = refused("generate", "sudoku", "--rule", f"clues={clues}")
    assert (error.exit_status, str(error).startswith("clues: ")) == (2, True)


@pytest.mark.parametrize(("more", "listed"), [((), 32), (("--max-solutions", "5"), 5), (("--rule", "goal=3,3"), 16)])
def test_all_solutions_are_listed_up_to_the_limit(more: tuple[str, ...], listed: int) -> None:
    result = puzzle("solve", "peg-solitaire", "--board", "plus", "--solutions", "all", *more)
    ((_, lines),) = parse_listing(result.stdout, "stdout", lambda *_: None)
    assert len(lines) == listed


def test_a_board_proven_to_have_no_solution_is_an_answer() -> None:
    result = puzzle("solve", "peg-solitaire", "--board", "diamond")
    assert result.exit_code == 0
    assert "Solutions: none, proven by parity" in result.stdout


def test_json_output_has_the_same_results() -> None:
    result = puzzle("solve", "peg-solitaire", "--board", "cross", "--solutions", "all", "--json")
    reported = json.loads(result.stdout)
    assert reported["solved"] is True
    assert reported["count"] == len(reported["solutions"]) == 4
    assert reported["solutions"][0].startswith("3,2-5,2")
    assert (reported["puzzle"], reported["name"], reported["mode"]) == ("peg-solitaire", "cross", "all")
    none = json.loads(puzzle("solve", "peg-solitaire", "--board", "diamond", "--json").stdout)
    assert (none["solved"], none["proof"], none["solutions"]) == (False, "parity", [])


def test_a_board_a_new_board_and_a_hint_are_json_with_the_names_of_a_result() -> None:
    shown = json.loads(puzzle("show", "peg-solitaire", "--board", "cross", "--json").stdout)
    assert shown == {
        "puzzle": "peg-solitaire",
        "name": "cross",
        "board": puzzle("show", "peg-solitaire", "--board", "cross").stdout,
        "size": "6 pegs in 33 holes",
    }
    solved = json.loads(puzzle("solve", "peg-solitaire", "--board", "cross", "--json").stdout)
    assert shown.items() <= solved.items()

    hint = json.loads(puzzle("hint", "sudoku", "--json").stdout)
    assert (hint["puzzle"], hint["size"]) == ("sudoku", "24 clues in 9x9 cells")
    assert f"{hint['text']}\n" == puzzle("hint", "sudoku").stdout

    drawn = puzzle("generate", "sudoku", "--seed", "7")
    ended = puzzle("generate", "sudoku", "--seed", "7", "--json")
    generated = json.loads(ended.stdout)
    assert (generated["puzzle"], generated["board"], ended.stderr) == ("sudoku", drawn.stdout, "")
    assert (generated["generator"].pop("seed"), generated["generator"]["difficulty"]) == ("7", "easy")
    assert f"Board: {generated['size']}\n" in drawn.stderr
    for command in ("show", "generate"):
        refusal = puzzle(command, "sudoku", "--svg", "--json")
        assert (refusal.exit_code, "leave out --svg" in refusal.stderr) == (2, True)


def test_the_result_of_a_check_is_json_also_for_a_wrong_solution(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    puzzle("solve", "peg-solitaire", "--board", "cross", "--solutions", "all", "--output", file)
    right = puzzle("check", "peg-solitaire", file, "--json")
    expected = {"puzzle": "peg-solitaire", "file": str(file), "right": True, "solutions": 4, "error": ""}
    assert (right.exit_code, json.loads(right.stdout)) == (0, expected)

    wrong = puzzle("check", "peg-solitaire", file, "--rule", "goal=3,3", "--json")
    result = json.loads(wrong.stdout)
    assert (wrong.exit_code, wrong.stderr) == (1, "")
    assert (result["right"], result["solutions"]) == (False, 1)
    assert result["error"] == str(refused("check", "peg-solitaire", file, "--rule", "goal=3,3"))

    one = puzzle("check", "peg-solitaire", "--board", "XXO", "--solution", "0,0-2,0", "--json")
    expected = {"puzzle": "peg-solitaire", "file": None, "right": True, "solutions": 1, "error": ""}
    assert json.loads(one.stdout) == expected
    file.write_text("Starting Board\nXXO\n\n", "utf-8")
    assert "has no solutions" in str(refused("check", "peg-solitaire", file, "--json"))


def test_a_solution_written_to_a_file_passes_the_check(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    solved = puzzle("solve", "peg-solitaire", "--board", "fireplace", "--solutions", "all", "--output", file)
    assert (solved.exit_code, solved.stdout) == (0, f"solved; wrote {file}\n")
    checked = puzzle("check", "peg-solitaire", file)
    assert checked.stdout == f"{file}: 8 solutions, all right\n"


def test_json_and_a_proof_can_be_written_to_a_file_too(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    result = puzzle("solve", "peg-solitaire", "--board", "diamond", "--json", "--output", file)
    assert result.stdout == f"proven to have no solution; wrote {file}\n"
    assert json.loads(file.read_text("utf-8"))["proof"] == "parity"


def test_the_check_refuses_solutions_that_miss_the_goal(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    puzzle("solve", "peg-solitaire", "--board", "cross", "--solutions", "all", "--output", file)
    error = refused("check", "peg-solitaire", file, "--rule", "goal=3,3")
    assert error.exit_status == 1
    assert "solution 2 of the board (6 pegs in 33 holes" in str(error)


def test_the_check_refuses_a_solution_cut_short_and_a_file_that_lists_none(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    file.write_text("Starting Board\nXXO\n  X\n  O\n\nStart Solution\n\nOOX\n  X\n  O\n\nEnd Solution\n", "utf-8")
    assert "2 pegs are left after 1 jump" in str(refused("check", "peg-solitaire", file))
    file.write_text("Starting Board\nXXO\n\n", "utf-8")
    assert "has no solutions" in str(refused("check", "peg-solitaire", file))
    assert refused("check", "peg-solitaire", tmp_path / "gone.txt").exit_status == 2


def test_a_wrong_solution_has_status_1_and_a_damaged_listing_status_2(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    text = "Starting Board\nXXO\nOOX\nOOO\n\nStart Solution\n\nOOX\nOOX\nOOO\n\nOOO\nOOO\nOOX\n\nEnd Solution\n"
    for number in range(len(text.splitlines())):
        lines = text.splitlines(keepends=True)
        del lines[number]
        file.write_text("".join(lines), "utf-8")
        error = puzzle("check", "peg-solitaire", file).exception
        read = number == 6  # the blank line below Start Solution, which may be missing
        assert (error is None) if read else isinstance(error, ConfigError), f"without line {number + 1}"
    file.write_text(text.replace("OOO\nOOO\nOOX", "XOO\nOOO\nOOO"), "utf-8")
    assert refused("check", "peg-solitaire", file).exit_status == 1


@pytest.mark.slow
def test_thousands_of_solutions_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "result.txt"
    puzzle(
        "solve",
        "peg-solitaire",
        "--board",
        "pyramid",
        "--solutions",
        "all",
        "--max-solutions",
        "600",
        "--output",
        file,
    )
    assert puzzle("check", "peg-solitaire", file).stdout == f"{file}: 600 solutions, all right\n"


def test_a_board_is_drawn_as_text_and_as_a_picture(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("##X\nX.X\n", "utf-8")
    assert puzzle("show", "peg-solitaire", "--board", file).stdout == "  X\nXOX\n"
    assert puzzle("show", "peg-solitaire", "--board", file, "--svg").stdout.startswith("<svg ")


@pytest.mark.parametrize("drawn", ["XXO", "XXO\n"])
def test_a_board_may_be_drawn_in_place_of_its_name(drawn: str) -> None:
    assert puzzle("show", "peg-solitaire", "--board", drawn).stdout == "XXO\n"
    assert puzzle("show", "peg-solitaire", "--board", "-", piped=drawn).stdout == "XXO\n"


def test_a_wrong_drawing_is_reported_with_its_place_and_a_wrong_name_with_the_nearest_name() -> None:
    assert str(refused("show", "peg-solitaire", "--board", "XX Q")).startswith("board:1:4: 'Q' is not part of a board")
    assert "did you mean 'plus'?" in str(refused("show", "peg-solitaire", "--board", "pluss"))
    error = puzzle("show", "peg-solitaire", "--board", "-", piped=b"\xff\xfe\x00").exception
    assert str(error) == "stdin:1:1: this is not a text file; save it as UTF-8"
    puzzle("show", "peg-solitaire", "--board", "X\0")
    assert isinstance(puzzle("show", "peg-solitaire", "--board", "X" * 5_000).exception, ConfigError)


def test_one_solution_is_checked_by_its_notation() -> None:
    assert puzzle("check", "peg-solitaire", "--board", "XXO", "--solution", "0,0-2,0").stdout == "right\n"
    error = refused("check", "peg-solitaire", "--board", "XXO", "--solution", "2,0-0,0")
    assert (error.exit_status, "this is not a solution of the board (2 pegs" in str(error)) == (1, True)
    assert refused("check", "peg-solitaire", "--solution", "over the moon").exit_status == 2
    for more in ((), ("result.txt", "--solution", "0,0-2,0"), ("result.txt", "--board", "full")):
        assert "name a FILE, or a --board and a --solution" in puzzle("check", "peg-solitaire", *more).stderr


def test_a_listing_may_be_piped_in() -> None:
    listing = puzzle("solve", "peg-solitaire", "--board", "cross", "--solutions", "all").stdout
    assert puzzle("check", "peg-solitaire", "-", piped=listing).stdout == "stdin: 4 solutions, all right\n"


@pytest.mark.parametrize("suffix", ["html", "HTML", "htm"])
def test_a_page_that_plays_the_solution_is_written_where_the_file_is_called_so(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"cross.{suffix}"
    assert puzzle("solve", "peg-solitaire", "--board", "cross", "--output", file).stdout == f"solved; wrote {file}\n"
    assert file.read_text("utf-8").count('<figure class="frame"') == 6


def test_a_picture_of_the_solution_is_written_where_the_file_is_called_so(tmp_path: Path) -> None:
    file = tmp_path / "cross.svg"
    assert puzzle("solve", "peg-solitaire", "--board", "cross", "--output", file).stdout == f"solved; wrote {file}\n"
    board = peg_solitaire.parse(BOARDS["cross"])
    *_, last = peg_solitaire.steps(board, next(peg_solitaire.solve(board).solutions))
    assert file.read_text("utf-8") == last.svg


def test_a_result_without_a_listed_solution_is_a_picture_of_the_result(tmp_path: Path) -> None:
    file = tmp_path / "map.SVG"
    done = puzzle("solve", "battleship", "--solutions", "count", "--output", file)
    assert (done.exit_code, file.read_text("utf-8")) == (
        0,
        battleship.solve("midgame", SolveMode.COUNT).pictures["probability"],
    )
    assert puzzle("solve", "peg-solitaire", "--board", "diamond", "--output", file).exit_code == 0
    assert file.read_text("utf-8") == peg_solitaire.render_svg(peg_solitaire.parse(BOARDS["diamond"]))


@pytest.mark.parametrize(
    ("more", "reported"),
    [
        (("--output", "cross.png"), "--output cannot write .png; write .svg, a picture, or .html, a page"),
        (("--output", "cross.svg", "--json"), "--json does not go into a picture"),
    ],
)
def test_what_a_file_cannot_be_is_refused_before_the_search(
    more: tuple[str, ...], reported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = puzzle("solve", "peg-solitaire", "--board", "cross", *more)
    assert (done.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert reported in done.stderr


def test_a_missing_folder_of_the_output_is_named(tmp_path: Path) -> None:
    done = puzzle("solve", "peg-solitaire", "--board", "cross", "--output", tmp_path / "new" / "cross.html")
    assert isinstance(done.exception, Unavailable)
    assert str(done.exception).endswith(f"; create the folder {tmp_path / 'new'}")


def test_the_puzzles_are_listed_and_their_rules() -> None:
    lines = puzzle("list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(plugins.names("puzzles"))
    assert any(line.startswith("peg-solitaire   Peg solitaire: jump peg over peg") for line in lines)
    reported = json.loads(puzzle("list", "--json").stdout)
    assert {"full", "cross"} <= set(next(each["boards"] for each in reported if each["puzzle"] == "peg-solitaire"))
    assert [each["name"] for each in json.loads(puzzle("boards", "peg-solitaire", "--json").stdout)] == list(BOARDS)
    assert puzzle("rules", "peg-solitaire").stdout.startswith("goal: the hole where the last peg must end")
    assert json.loads(puzzle("rules", "peg-solitaire", "--json").stdout)[0]["rule"] == "goal"


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("generate", "peg-solitaire"), "does not generate boards"),
        (("precompute", "peg-solitaire"), "has no tables to build"),
        (("solve", "peg-solitaire", "--rule", "goal"), "write name=value, see"),
        (("solve", "peg-solitaire", "--for", "soon"), "write a duration such as 90s"),
        (("solve", "peg-solitaire", "--cores", "0"), "0 is not in the range"),
    ],
)
def test_an_unsupported_command_has_status_2(arguments: tuple[str, ...], reported: str) -> None:
    result = puzzle(*arguments)
    assert result.exit_code == 2
    assert reported in result.stderr


def test_the_time_limit_ends_a_search_with_status_1(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(LONG, "utf-8")
    file = tmp_path / "result.txt"
    error = refused("solve", "peg-solitaire", "--board", tmp_path / "long.txt", "--for", "1s", "--output", file)
    assert (error.exit_status, str(error)) == (1, "The time limit of 1s is over. Result so far: nothing is known yet")
    assert not file.exists()


def test_a_puzzle_is_solved_without_loading_what_reads_a_configuration_or_asks_the_network(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "pi_appliance", "puzzle", "solve", "sudoku"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert "pi_appliance.puzzles.sudoku.kernel" in loaded
    assert not loaded & {"cattrs", "http.client", "importlib.metadata", "ssl", "pi_appliance.puzzles.puzzle_job"}


def test_the_help_names_every_puzzle_and_commands_to_begin_with_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = puzzle("--help").stdout
    assert all(name in " ".join(reported.split()).replace("- ", "-") for name in plugins.names("puzzles"))
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^ +pi-appliance puzzle (.*)$", reported, re.MULTILINE)
    assert len(lines) == 5
    for line in lines:
        words, _, file = line.partition(" > ")
        result = puzzle(*words.split())
        assert result.exit_code == 0, line
        if file:
            Path(file).write_text(result.stdout, "utf-8")
    assert Path("mine.html").is_file()


def test_the_known_boards_are_listed_with_their_sizes() -> None:
    lines = puzzle("boards", "peg-solitaire").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(BOARDS)
    assert lines[0].endswith("32 pegs in 33 holes")


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("solve", "peg-solitare"), "no puzzle is called 'peg-solitare'; did you mean 'peg-solitaire'?"),
        (("boards", "chess"), "no puzzle is called 'chess'"),
        (("solve", "peg-solitaire", "--board", "crss"), "no board is called 'crss'; did you mean 'cross'?"),
        (("show", "peg-solitaire", "--board", "gone.txt"), "gone.txt:1:1: cannot be read"),
        (("show", "sudoku", "--board", "./Everest"), "no board is called 'Everest'; did you mean 'everest'?"),
        (("solve", "peg-solitaire", "--rule", "goal=9,9"), "no hole of this board is called '9,9'"),
        (
            ("show", "peg-solitaire", "--rule", "gaol=3,3"),
            "no rule of peg solitaire is called 'gaol'; did you mean 'goal'?",
        ),
        (("rules", "peg-solitare"), "did you mean 'peg-solitaire'?"),
    ],
)
def test_a_wrong_name_is_reported_in_one_line_with_status_2(arguments: tuple[str, ...], reported: str) -> None:
    error = refused(*arguments)
    assert reported in str(error)
    assert "\n" not in str(error)
    assert error.exit_status == 2


def test_a_wrong_drawing_is_reported_with_line_and_column(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("XXO\nXYO\n", "utf-8")
    assert str(refused("solve", "peg-solitaire", "--board", file)).startswith(f"{file}:2:2: 'Y' is not part of a board")


@pytest.mark.parametrize(
    ("name", "drawing", "reported"),
    [
        ("connect-four", "4444444", "board:1:7: "),
        ("connect-four", "H_Yellow", "board:1:1: "),
        ("solitaire-chess", "..RP/.RX./BN../PB..", "board:1:8: 'X'"),
        ("peg-solitaire", "XXO/OXO", "board:1:4: '/' is not part of a board"),
        ("sudoku", "12..", "board:1:1: "),
    ],
)
def test_a_short_wrong_drawing_is_not_mistaken_for_a_name(name: str, drawing: str, reported: str) -> None:
    assert str(refused("show", name, "--board", drawing)).startswith(reported)


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_an_error_only_for_precompute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".local").write_text("in the way", "utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    result = puzzle("hint", "connect-four", "--board", "empty", "--for", "4s")
    assert result.stderr.count("nothing is saved for the next run: ") == 1
    assert isinstance(result.exception, DeadlineExceeded), "it was looked for all the same"
    assert refused("precompute", "connect-four", "--for", "1s").exit_status == 75


def test_a_limit_of_zero_solutions_is_rejected() -> None:
    assert puzzle("solve", "peg-solitaire", "--max-solutions", "0").exit_code == 2


@pytest.mark.parametrize("more", [(), ("--solutions", "first")])
def test_a_limit_where_only_the_first_solution_is_listed_is_refused(more: tuple[str, ...]) -> None:
    result = puzzle("solve", "peg-solitaire", "--board", "cross", "--max-solutions", "5", *more)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--max-solutions needs --solutions all or fewest-moves, not first" in result.stderr


def test_an_output_file_that_cannot_be_written_has_status_75(tmp_path: Path) -> None:
    error = refused("solve", "peg-solitaire", "--output", tmp_path / "gone" / "result.txt")
    assert error.exit_status == 75


@pytest.mark.parametrize(
    "name", ["list", "boards", "rules", "show", "solve", "count", "check", "generate", "hint", "precompute", "score"]
)
def test_the_help_ends_with_its_exit_statuses_before_the_options(name: str) -> None:
    assert "Exit status:\n    0  " in puzzle(name, "--help").stdout


def test_ctrl_c_ends_the_search_with_status_130_and_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(LONG, "utf-8")
    command = ["solve", "peg-solitaire", "--board", "long.txt", "--output", "result.txt"]
    stop_on_terminal(
        command, tmp_path, b"jumps tried", b"\r\x1b[Kpi-appliance: stopped. Result so far: nothing is known yet\r\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["long.txt"]


def test_ctrl_c_ends_the_check_with_status_130_and_one_line(tmp_path: Path) -> None:
    solution = "Start Solution\n\nOOX\n\nEnd Solution\n\n"
    (tmp_path / "result.txt").write_text("Starting Board\nXXO\n\n" + solution * 500_000, "utf-8")
    command = ["check", "peg-solitaire", "result.txt"]
    output = stop_on_terminal(command, tmp_path, b"solutions read", b" solutions read\r\n")
    assert b"\r\x1b[Kpi-appliance: stopped. Result so far: " in output


def test_reading_a_long_file_shows_progress_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "many.txt").write_text(f"{'.' * 80}1\n" * 100_000, "utf-8")
    stop_on_terminal(
        ["show", "sudoku", "--board", "many.txt"], tmp_path, b"reading many.txt", b"pi-appliance: stopped\r\n"
    )


def stop_on_terminal(command: list[str], folder: Path, when: bytes, reported: bytes) -> bytes:
    """Run `command` on a terminal, press Ctrl-C once `when` is shown, and expect `reported` and status 130.

    Return all that the terminal saw.
    """
    terminal, side = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    whole = [sys.executable, "-m", "pi_appliance", "puzzle", *command]
    with subprocess.Popen(whole, cwd=folder, stdout=side, stderr=side, env=environment) as process:
        os.close(side)
        output = read_until(terminal, when)
        process.send_signal(signal.SIGINT)
        output += read_until(terminal, reported)
        assert process.wait(20) == 130
    os.close(terminal)
    assert b"Traceback" not in output
    assert output.endswith(reported)
    return output


def read_until(terminal: int, pattern: bytes) -> bytes:
    output, deadline = b"", time.monotonic() + 20
    while pattern not in output:
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"nothing like {pattern!r} came, only {output!r}"
        output += os.read(terminal, 4096)
    return output
