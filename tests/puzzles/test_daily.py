"""The puzzle of the day: the choice of a board, hints, checks, and the pages and the API of it."""

import json
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

from pi_appliance.errors import DeadlineExceeded, Refused
from pi_appliance.puzzles import SolveMode, sudoku
from pi_appliance.puzzles.board_report import BoardReport
from pi_appliance.puzzles.daily import (
    DailyPuzzle,
    check_progress,
    choose_board,
    give_hint,
    read_daily,
)
from pi_appliance.puzzles.puzzle_job import Options, run
from pi_appliance.roles import Role
from pi_appliance.web.security import COOKIE
from tests.fakes.context import FakeContext
from tests.puzzles.test_job import CutOff
from tests.web.served_appliance import ServedAppliance, configuration, serving

JOBS = """  numbers:
    kind: puzzle
    with: {puzzle: sudoku, generate: 1}
  pegs:
    kind: puzzle
    with: {puzzle: peg-solitaire, boards: [cross]}
  chess:
    kind: puzzle
    with: {puzzle: solitaire-chess}
"""
EARLY, LATE = (datetime(2027, 3, 1, hour, tzinfo=UTC) for hour in (3, 4))


def write_sudoku(folder: Path, board: str = "sample", now: datetime = EARLY) -> DailyPuzzle:
    """Solve a known sudoku, and return it as the puzzle of the day."""
    run(Options(puzzle="sudoku", boards=[Path(board)]), FakeContext(folder, job="numbers", now=now))
    daily_puzzle = read_daily(folder / "result.json")
    assert daily_puzzle
    return daily_puzzle


def fill(daily_puzzle: DailyPuzzle, **changes: str) -> str:
    """Return the complete solution with other symbols in some cells, such as c12="."."""
    assert daily_puzzle.grid
    cells = list(daily_puzzle.grid.solution)
    for name, symbol in changes.items():
        cells[int(name[1:])] = symbol
    return "".join(cells)


def empty_cells(daily_puzzle: DailyPuzzle) -> list[int]:
    assert daily_puzzle.grid
    return [cell for cell, symbol in enumerate(daily_puzzle.grid.clues) if symbol == "."]


def test_a_report_has_the_puzzle_of_the_day(tmp_path: Path) -> None:
    daily_puzzle = write_sudoku(tmp_path)
    assert daily_puzzle.grid
    assert (daily_puzzle.job, daily_puzzle.puzzle, daily_puzzle.title, daily_puzzle.name, daily_puzzle.day) == (
        "numbers",
        "sudoku",
        "Sudoku",
        "sample",
        EARLY,
    )
    assert (daily_puzzle.grid.width, daily_puzzle.grid.block_height, daily_puzzle.grid.symbols) == (9, 3, "123456789")
    assert daily_puzzle.grid.clues.replace(".", "") == re.sub(r"\D", "", daily_puzzle.board)
    assert daily_puzzle.picture.read_text("utf-8").startswith("<svg")
    placed = {hint.cell: hint.symbol for hint in daily_puzzle.hints if hint.cell is not None}
    assert placed == {cell: daily_puzzle.grid.solution[cell] for cell in empty_cells(daily_puzzle)}


@pytest.mark.parametrize("day", [1, 2])
def test_a_generated_board_comes_first(tmp_path: Path, day: int) -> None:
    context = FakeContext(tmp_path, now=datetime(2027, 3, day, 6, tzinfo=UTC))
    run(Options(puzzle="sudoku", boards=[Path("sample")], generate=1), context)
    daily_puzzle = read_daily(tmp_path / "result.json")
    assert daily_puzzle
    assert daily_puzzle.name == f"2027-03-0{day}"


def test_known_boards_take_turns() -> None:
    reports = [BoardReport(puzzle=sudoku, name=name, board=name, mode=SolveMode.FIRST) for name in ("a", "b")]
    assert choose_board(reports, date(2027, 3, 1)) is None, "not solved"


@pytest.mark.slow_variants
@pytest.mark.parametrize("day", [1, 2, 3])
def test_each_day_has_another_board(tmp_path: Path, day: int) -> None:
    boards = ("cross", "plus")
    names = []
    for number in (day, day + 1, day + 2):
        folder = tmp_path / str(number)
        now = datetime(2027, 3, number, tzinfo=UTC)
        run(Options(puzzle="peg-solitaire", boards=[Path(each) for each in boards]), FakeContext(folder, now=now))
        daily_puzzle = read_daily(folder / "result.json")
        assert daily_puzzle
        names.append(daily_puzzle.name)
    assert names[0] == names[2] != names[1]
    assert set(names) == set(boards)


def test_an_interrupted_run_leaves_the_hints_out(tmp_path: Path) -> None:
    with pytest.raises(DeadlineExceeded):
        run(Options(puzzle="peg-solitaire", boards=[Path("cross"), Path("arrow")]), CutOff(tmp_path))
    daily_puzzle = read_daily(tmp_path / "result.json")
    assert daily_puzzle
    assert (daily_puzzle.name, daily_puzzle.hints) == ("cross", [])


def test_a_board_without_a_solution_is_no_puzzle(tmp_path: Path) -> None:
    run(Options(puzzle="peg-solitaire", boards=[Path("diamond")]), FakeContext(tmp_path))
    assert read_daily(tmp_path / "result.json") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"today": {"name": "x"}}', '{"today": null}'])
def test_a_damaged_report_is_no_puzzle(tmp_path: Path, text: str) -> None:
    (tmp_path / "result.json").write_text(text, "utf-8")
    assert read_daily(tmp_path / "result.json") is None
    assert read_daily(tmp_path / "away.json") is None


def test_the_hints_alone_solve_the_board(tmp_path: Path) -> None:
    daily_puzzle = write_sudoku(tmp_path, "uphill")
    assert daily_puzzle.grid
    filled, hint_count = daily_puzzle.grid.clues, 0
    for _ in range(len(daily_puzzle.hints)):
        hint = give_hint(daily_puzzle, filled, hint_count)
        assert hint.seen > hint_count
        hint_count = hint.seen
        if hint.cell is not None:
            filled = f"{filled[: hint.cell]}{daily_puzzle.hints[hint_count - 1].symbol}{filled[hint.cell + 1 :]}"
    assert filled == daily_puzzle.grid.solution
    assert give_hint(daily_puzzle, filled, hint_count).solved


def test_a_hint_is_about_a_cell_that_is_empty(tmp_path: Path) -> None:
    daily_puzzle = write_sudoku(tmp_path)
    last = empty_cells(daily_puzzle)[-1]
    hint = give_hint(daily_puzzle, fill(daily_puzzle, **{f"c{last}": "."}), 0)
    assert (hint.cell, hint.left, hint.wrong) == (last, 1, [])
    row, column = divmod(last, 9)
    assert f"r{row + 1}c{column + 1} is {daily_puzzle.hints[hint.seen - 1].symbol}" in hint.text


def write_bimaru(folder: Path) -> DailyPuzzle:
    run(Options(puzzle="bimaru", boards=[Path("small")]), FakeContext(folder, job="sea", now=EARLY))
    daily_puzzle = read_daily(folder / "result.json")
    assert daily_puzzle
    return daily_puzzle


def test_a_bimaru_needs_only_its_ships(tmp_path: Path) -> None:
    daily_puzzle = write_bimaru(tmp_path)
    grid = daily_puzzle.grid
    assert grid
    assert (grid.row_totals, grid.column_totals) == (list("142012"), list("403012"))
    assert (grid.note, grid.clues.count("●"), set(grid.solution)) == ("Ships: 1x3, 2x2, 3x1", 1, {"X", "~"})
    ships = grid.solution.replace("~", ".")
    assert check_progress(grid, ships).solved
    one_missing = ships.replace("X", ".", 1)
    assert check_progress(grid, one_missing).text == ("No mistake so far; 1 ship square is missing.")
    missed = one_missing[: (cell := ships.index("X"))] + "~" + ships[cell + 1 :]
    assert give_hint(daily_puzzle, missed, 0).text == f"The ~ in {grid.cell_name(cell)} is wrong."


def test_the_hints_of_a_bimaru_are_about_squares_that_are_empty(tmp_path: Path) -> None:
    daily_puzzle = write_bimaru(tmp_path)
    assert daily_puzzle.grid
    first = give_hint(daily_puzzle, "." * 36, 0)
    assert "C5 is a ship of 1" in first.text
    assert first.cell is not None
    for ship in (cell for cell, symbol in enumerate(daily_puzzle.grid.solution) if symbol == "X"):
        if daily_puzzle.grid.clues[ship] == ".":
            filled = f"{daily_puzzle.grid.solution[:ship]}.{daily_puzzle.grid.solution[ship + 1 :]}"
            assert give_hint(daily_puzzle, filled, 0).cell == ship


def test_the_size_of_a_generated_board_has_its_level(tmp_path: Path) -> None:
    context = FakeContext(tmp_path, now=EARLY)
    run(Options(puzzle="sudoku", generate=1, rules={"difficulty": "easy"}), context)
    daily_puzzle = read_daily(tmp_path / "result.json")
    assert daily_puzzle
    assert re.fullmatch(r"\d+ clues in 9x9 cells, easy", daily_puzzle.size)


def test_a_mistake_comes_before_a_hint(tmp_path: Path) -> None:
    daily_puzzle = write_sudoku(tmp_path)
    assert daily_puzzle.grid
    cell = empty_cells(daily_puzzle)[3]
    wrong = "1" if daily_puzzle.grid.solution[cell] != "1" else "2"
    hint = give_hint(daily_puzzle, fill(daily_puzzle, **{f"c{cell}": wrong}), 5)
    row, column = divmod(cell, 9)
    assert hint.text == f"The {wrong} in row {row + 1}, column {column + 1} is wrong."
    assert (hint.cell, hint.seen, hint.solved) == (cell, 5, False)


def test_a_check_counts_mistakes_and_empty_cells(tmp_path: Path) -> None:
    daily_puzzle = write_sudoku(tmp_path)
    assert daily_puzzle.grid
    first, second, *_ = empty_cells(daily_puzzle)
    wrong = "1" if daily_puzzle.grid.solution[first] != "1" else "2"
    state = check_progress(daily_puzzle.grid, fill(daily_puzzle, **{f"c{first}": wrong, f"c{second}": "."}))
    assert (state.wrong, state.left, state.solved) == ([first], 1, False)
    assert check_progress(daily_puzzle.grid, daily_puzzle.grid.solution).solved
    with pytest.raises(Refused, match="has 81 cells; these are 3"):
        check_progress(daily_puzzle.grid, "123")


def test_the_hints_of_other_puzzles_are_their_steps(tmp_path: Path) -> None:
    run(Options(puzzle="solitaire-chess", boards=[Path("seven")]), FakeContext(tmp_path))
    daily_puzzle = read_daily(tmp_path / "result.json")
    assert daily_puzzle
    texts = [give_hint(daily_puzzle, "", number).text for number in range(7)]
    assert texts[0].startswith("1. Bc4xa2 captures")
    assert texts[-1] == "There are no more hints."


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the reports of two puzzles; that of pegs is newer."""
    reports = tmp_path_factory.mktemp("solved")
    write_sudoku(reports / "numbers")
    context = FakeContext(reports / "pegs", job="pegs", now=LATE)
    run(Options(puzzle="peg-solitaire", boards=[Path("cross")]), context)
    return reports


@pytest.fixture
def appliance(tmp_path: Path, solved: Path) -> Iterator[ServedAppliance]:
    """Serve two puzzles of the day."""
    with serving(configuration(tmp_path, jobs=JOBS)) as result:
        shutil.copytree(solved, result.daemon.appliance.config.reports, symlinks=True)
        yield result


def ask_json(appliance: ServedAppliance, path: str, **values: object) -> tuple[int, dict[str, object]]:
    answer = appliance.request(f"/api/v1/puzzles/{path}?{urlencode(values)}")
    return answer.status, answer.json


def test_the_api_returns_the_newest_board_without_its_solution(appliance: ServedAppliance) -> None:
    status, newest = ask_json(appliance, "today")
    assert (status, newest["puzzle"], newest["grid"]) == (200, "peg-solitaire", None)
    _, numbers = ask_json(appliance, "today", puzzle="sudoku")
    daily_puzzle = read_daily(appliance.daemon.appliance.config.reports / "numbers" / "result.json")
    assert daily_puzzle
    assert daily_puzzle.grid
    assert daily_puzzle.grid.solution not in json.dumps(numbers)
    assert numbers["hints"] == len(daily_puzzle.hints)


def test_the_api_gives_hints_and_checks(appliance: ServedAppliance) -> None:
    _, numbers = ask_json(appliance, "today", puzzle="sudoku")
    clues = numbers["grid"]["clues"]  # type: ignore[index]
    status, hint = ask_json(appliance, "hint", puzzle="sudoku", filled=clues)
    assert (status, hint["seen"], hint["solved"], hint["id"]) == (200, 1, False, numbers["id"])
    assert (
        ask_json(appliance, "check", puzzle="sudoku", filled=clues)[1]["text"]
        == "No mistake so far; 57 cells are empty."
    )
    assert ask_json(appliance, "hint", puzzle="peg-solitaire")[1]["text"].startswith("Jump 1 of ")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("path", "values", "status", "says"),
    [
        ("today", {"puzzle": "sudoko"}, 404, "no puzzle of a job is called 'sudoko'; did you mean 'sudoku'?"),
        ("today", {"puzzle": "solitaire-chess"}, 409, "there is no puzzle of the day yet"),
        ("check", {"puzzle": "peg-solitaire", "filled": "1"}, 409, "Peg solitaire is not solved on the page"),
        ("hint", {"puzzle": "sudoku", "filled": "1"}, 409, "this board has 81 cells"),
    ],
)
def test_the_api_says_why_not(
    appliance: ServedAppliance, path: str, values: dict[str, str], status: int, says: str
) -> None:
    answered, content = ask_json(appliance, path, **values)
    assert answered == status
    assert says in str(content["error"])


def test_the_page_explains_the_names_in_the_hints(appliance: ServedAppliance) -> None:
    assert "r4c3 is the cell in row 4, column 3." in appliance.request("/puzzles/today/sudoku").text
    assert "3,1 is the hole in column 3 of row 1;" in appliance.request("/puzzles/today/peg-solitaire").text


def test_a_new_report_is_a_new_puzzle(appliance: ServedAppliance) -> None:
    first = ask_json(appliance, "today", puzzle="sudoku")[1]["name"]
    write_sudoku(appliance.daemon.appliance.config.reports / "numbers", "uphill", LATE)
    assert (first, ask_json(appliance, "today", puzzle="sudoku")[1]["name"]) == ("sample", "uphill")


def post(appliance: ServedAppliance, **fields: str) -> str:
    answer = appliance.request(
        "/puzzles/today/sudoku", urlencode(fields), Content_Type="application/x-www-form-urlencoded"
    )
    assert answer.status == 200
    return answer.text


def test_the_page_is_solved_without_scripts(appliance: ServedAppliance) -> None:
    page = appliance.request("/puzzles/today/sudoku").text
    fields = re.findall(r'<input name="cell-(\d+)" value=""', page)
    (board,) = re.findall(r'name="board" value="([^"]*)"', page)
    assert len(fields) == 57
    daily_puzzle = read_daily(appliance.daemon.appliance.config.reports / "numbers" / "result.json")
    assert daily_puzzle
    assert daily_puzzle.grid
    cells = {f"cell-{number}": daily_puzzle.grid.solution[int(number)] for number in fields}
    assert "Solved. Well done!" in post(appliance, board=unescape(board), do="check", **cells)
    wrong = {**cells, f"cell-{fields[0]}": "1" if cells[f"cell-{fields[0]}"] != "1" else "2"}
    shown = post(appliance, board=unescape(board), do="check", **wrong)
    assert "1 symbol is wrong; 0 cells are empty." in shown
    assert shown.count('aria-invalid="true"') == 1
    shown = post(appliance, board=unescape(board), do="hint", seen="0", **dict.fromkeys(cells, "?"))
    assert unescape(re.findall(r'id="said"[^>]*>([^<]*)<', shown)[0]) == daily_puzzle.hints[0].text
    assert 'name="seen" value="1"' in shown


def test_symbols_for_an_older_board_are_not_checked(appliance: ServedAppliance) -> None:
    shown = post(appliance, board="numbers/2020-01-01", do="check", **{"cell-0": "9"})
    assert "There is a new board." in shown
    assert "aria-invalid" not in shown


def test_hints_of_a_picture_are_listed_one_more_at_a_time(appliance: ServedAppliance) -> None:
    page = appliance.request("/puzzles/today").text
    assert "Peg solitaire" in page
    assert "Jump 1" not in page
    (board,) = re.findall(r'name="board" value="([^"]*)"', page)
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    for hint_count in (0, 1):
        body = urlencode({"board": unescape(board), "do": "hint", "seen": hint_count})
        page = appliance.request("/puzzles/today/peg-solitaire", body, **form).text
    assert [number for number in range(1, 6) if f"<li>Jump {number} of " in page] == [1, 2]


def test_the_page_links_to_the_other_puzzles_and_its_picture(appliance: ServedAppliance) -> None:
    page = appliance.request("/puzzles/today").text
    assert 'href="/puzzles/today/sudoku"' in page
    (picture,) = re.findall(r'<img class="board" src="([^"]+)"', page)
    answer = appliance.request(picture)
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert "sandbox" in answer.headers["content-security-policy"]


def test_without_a_board_the_address_says_what_is_missing(appliance: ServedAppliance) -> None:
    answer = appliance.request("/puzzles/today/solitaire-chess")
    assert (answer.status, "There is no puzzle of the day yet" in answer.text) == (200, True)
    assert appliance.request("/puzzles/today/chess").status == 404


def test_every_device_may_solve_it_and_see_nothing_else(appliance: ServedAppliance) -> None:
    guest = appliance.daemon.authenticator.devices.add("Tablet", Role.LISTEN)
    appliance.daemon.authenticator.has_password = True
    appliance.cookie = f"{COOKIE}={guest}"
    addresses = ("/puzzles/today", "/puzzles/today/sudoku", "/puzzles/boards/sudoku", "/reports/numbers/result.html")
    assert [appliance.request(each).status for each in addresses] == [200, 200, 200, 403]


def test_the_index_of_a_job_has_the_boards_by_month(appliance: ServedAppliance) -> None:
    page = appliance.request("/reports/numbers").text
    assert "March 2027 · 1" in page
    assert re.search(r'class="name">Mon 1, 03:00</span>\s*<span class="quiet">Sudoku: sample</span>', page)
    assert 'href="/reports/numbers/2027-03-01_0300"' in page
    assert "There is no report of 2020." in appliance.request("/reports/numbers?year=2020").text
    assert appliance.request("/reports/nothing").status == 404
