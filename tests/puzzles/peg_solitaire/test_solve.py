"""Solving peg solitaire: published counts, brute force, and proofs."""

from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.puzzles import Answer, Proof, SolveMode
from pi_appliance.puzzles.peg_solitaire import Board, Hole, Jump, check, solve, with_rules
from pi_appliance.puzzles.peg_solitaire.board import BOARDS
from pi_appliance.puzzles.peg_solitaire.notation import parse
from pi_appliance.puzzles.peg_solitaire.search import DepthFirstSearch, beam_search
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from tests.examples import examples

EXAMPLES = Path(__file__).parents[3] / "config" / "boards"
# Pairs that can jump once each and never meet: every subset of them is a separate position.
PAIRS = "\n\n".join(["XXO XXO XXO XXO"] * 4)


def solve_board(board: Board, mode: SolveMode = SolveMode.ALL) -> Answer:
    return solve(board, mode, SearchRuntime())


def aimed(board: Board, goal: str) -> Board:
    return with_rules(board, {"goal": goal})


def parse_board(name: str, goal: str = "") -> Board:
    board = parse(BOARDS[name], name)
    return aimed(board, goal) if goal else board


@pytest.mark.parametrize(
    ("name", "count"),
    [("cross", 4), ("plus", 32), ("fireplace", 8), ("pyramid", 10_142_448), ("arrow", 3_884_200), ("diamond", 0)],
)
def test_solutions_are_counted_exactly(name: str, count: int) -> None:
    assert solve_board(parse_board(name)).count == count


@pytest.mark.parametrize(
    ("name", "goal", "count"),
    [
        ("cross", "3,3", 2),
        ("cross", "3,0", 2),
        ("plus", "3,3", 16),
        ("plus", "0,3", 4),
        ("fireplace", "3,3", 4),
        ("fireplace", "6,3", 2),
        ("pyramid", "3,6", 25_016),
        ("arrow", "3,0", 1_059_508),
    ],
)
def test_solutions_that_end_at_a_goal_are_counted_exactly(name: str, goal: str, count: int) -> None:
    board = parse_board(name, goal)
    result = solve_board(board)
    assert result.count == count
    assert check(board, next(result.solutions))


@pytest.mark.parametrize("name", ["cross", "plus", "fireplace"])
def test_every_solution_of_a_small_board_is_listed_once_and_is_right(name: str) -> None:
    board, result = parse_board(name), solve_board(parse_board(name))
    lines = list(result.solutions)
    assert len(lines) == len(set(lines)) == result.count
    assert all(check(board, line) for line in lines)


@pytest.mark.parametrize("name", ["full", "pyramid", "arrow"])
def test_solutions_are_computed_lazily(name: str) -> None:
    board = parse_board(name)
    lines = list(islice(solve_board(board, SolveMode.FIRST).solutions, 2_000))
    assert len(set(lines)) == 2_000
    assert all(check(board, line) for line in lines)


def test_the_listing_continues_beyond_the_limit_of_the_first_search() -> None:
    english = parse_board("full")
    board = Board(english.holes, frozenset(english.holes) - {Hole(1, 4)}, Hole(4, 1))
    lines = list(islice(solve_board(board, SolveMode.FIRST).solutions, 3_000))
    assert len(set(lines)) == 3_000
    assert all(check(board, line) for line in lines[::100])


def test_the_full_board_is_solved_with_few_jumps_tried() -> None:
    result = solve_board(parse_board("full"), SolveMode.FIRST)
    assert result.count is None
    assert result.proof is None
    assert result.nodes_searched() < 10_000


def test_the_diamond_is_proven_by_parity_before_any_jump_is_tried() -> None:
    result = solve_board(parse_board("diamond"))
    assert result.proof is Proof.PARITY
    assert "rule of three" in result.reason
    assert result.nodes_searched() == 0
    assert list(result.solutions) == []


def test_either_direction_of_the_diagonals_can_forbid_every_end() -> None:
    for rows in ("XXX\nXXO\nXOO", "XXX\nOXX\nOOX"):
        assert solve_board(parse(rows, "corner")).proof is Proof.PARITY


def test_a_goal_of_the_wrong_class_is_proven_by_parity() -> None:
    result = solve_board(parse_board("full", "2,2"))
    assert result.proof is Proof.PARITY
    assert "at 2,2" in result.reason


def test_a_goal_of_the_right_class_that_is_never_reached_is_proven_by_exhaustion() -> None:
    result = solve_board(parse_board("fireplace", "3,6"))
    assert result.proof is Proof.EXHAUSTION
    assert result.reason == "all positions were searched (718): the last peg never stands at 3,6"


def test_a_small_board_without_a_solution_is_proven_with_the_fewest_pegs_left() -> None:
    result = solve_board(parse("XXO   XXO   XXO", "three pairs"))
    assert result.proof is Proof.EXHAUSTION
    assert result.reason == "all positions were searched (8): at best 3 pegs are left"


@pytest.mark.parametrize(("name", "size"), [("european", 36), ("swallow", 8), ("triangle", 14)])
def test_the_example_boards_of_the_configuration_are_solved(name: str, size: int) -> None:
    board = parse((EXAMPLES / f"{name}.txt").read_text("utf-8"), name)
    assert len(board.pegs) == size
    lines = list(islice(solve_board(board, SolveMode.FIRST).solutions, 200))
    assert len(set(lines)) == 200
    assert all(check(board, line) for line in lines)


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "rows",
    ["O" + "X" * 35, "X" * 7 + "O" + "X" * 28, "X" * 21 + "O" + "X" * 14],
    ids=["in the corner", "near the corner", "in the middle"],
)
def test_a_square_of_36_holes_is_solved_wherever_its_empty_hole_is(rows: str) -> None:
    board = parse("\n".join(rows[at : at + 6] for at in range(0, 36, 6)), "square")
    assert check(board, next(solve_board(board, SolveMode.FIRST).solutions))


@pytest.mark.slow
def test_a_large_cross_is_solved_by_beam_search() -> None:
    arm, middle = "   XXX\n" * 3, "XXXXXXXXX\n"
    board = parse(arm + middle + "XXXXOXXXX\n" + middle + arm, "cross of 45")
    lines = list(islice(solve_board(board, SolveMode.FIRST).solutions, 50))
    assert len(set(lines)) == 50
    assert all(check(board, line) for line in lines)


@pytest.mark.slow
def test_a_large_unsolvable_board_is_proven_by_exhaustion() -> None:
    notes: list[str] = []
    result = solve(parse(PAIRS, "pairs"), SolveMode.FIRST, Listening(notes.append))
    assert result.proof is Proof.EXHAUSTION
    assert "all positions" in result.reason
    assert result.nodes_searched() > 16 * 2**15  # each of 16 jumps in half of the positions, and the tries before
    assert len(notes) > 10
    assert all(note.endswith(" jumps tried") for note in notes)


@pytest.mark.slow
def test_a_wide_search_reports_progress_several_times_a_level() -> None:
    """A level may be a second of a small Pi."""
    board = parse("\n".join(["XXXXXXX"] * 3 + ["XXXOXXX"] + ["XXXXXXX"] * 3), "49")
    start, moves = to_bits(board)
    reported: list[int] = []
    line, tried = beam_search(start, moves, 0, [0] * 49, 5_000, reported.append)
    assert line is None
    assert max(after - before for before, after in pairwise(reported)) < tried / 48 * 1.5


@pytest.mark.parametrize("mode", SolveMode)
def test_a_search_that_is_stopped_has_no_answer(mode: SolveMode) -> None:
    def stop(_: str) -> None:
        raise Interrupted("enough")

    with pytest.raises(Interrupted):
        solve(parse(PAIRS, "pairs"), mode, Listening(stop))


class Listening(SearchRuntime):
    """A runtime that forwards the notes of progress."""

    def __init__(self, reported: Callable[[str], None]) -> None:
        super().__init__()
        self.reported = reported

    def report_progress(self, part: float | None, note: str) -> None:  # noqa: ARG002 - as in the base class
        self.reported(note)


def test_a_board_that_begins_with_one_peg_is_solved_by_no_jump() -> None:
    result = solve_board(parse("XOO", "one"))
    assert result.count == 1
    assert list(result.solutions) == [()]


def test_a_board_without_an_empty_hole_has_no_move() -> None:
    result = solve_board(parse("XXX\nXXX\nXXX\nXXX", "filled"))
    assert result.proof is not None
    assert list(result.solutions) == []


@pytest.mark.parametrize("remember", [1, 7, 100])
def test_a_limited_table_gives_the_same_solutions(remember: int) -> None:
    start, moves = to_bits(parse_board("fireplace"))
    wide = DepthFirstSearch(moves, (1 << 33) - 1, lambda *_: None)
    narrow = DepthFirstSearch(moves, (1 << 33) - 1, lambda *_: None, remember=remember)
    assert list(narrow.solutions(start)) == list(wide.solutions(start))
    assert narrow.nodes > wide.nodes


def test_a_search_that_starts_with_a_known_solution_finds_all_others() -> None:
    start, moves = to_bits(parse_board("plus"))
    lines = list(DepthFirstSearch(moves, (1 << 33) - 1, lambda *_: None).solutions(start))
    for line in lines[:: len(lines) // 4]:
        from_there = list(DepthFirstSearch(moves, (1 << 33) - 1, lambda *_: None).solutions(start, line))
        assert from_there[0] == line
        assert sorted(from_there) == sorted(lines)


def test_the_listing_has_the_order_of_a_plain_search_in_reading_order() -> None:
    for name in ("cross", "plus"):
        board = parse_board(name)
        assert list(solve_board(board).solutions) == [tuple(line) for line in plain(board, board.pegs, [])]


marks = st.text("XXO ", min_size=5, max_size=5)


@settings(max_examples=examples(60), deadline=None)
@given(rows=st.lists(marks, min_size=3, max_size=4), data=st.data())
def test_a_random_board_has_exactly_the_solutions_that_brute_force_finds(rows: list[str], data: st.DataObject) -> None:
    rows = rows if any("X" in row for row in rows) else ["XXO", *rows]
    board = parse("\n".join(rows), "random")
    keep = sorted(board.pegs)[:8]  # brute force grows fast
    goal = data.draw(st.sampled_from([None, *board.holes]))
    board = Board(board.holes, frozenset(keep), goal)
    expected = [tuple(line) for line in plain(board, board.pegs, [])]
    result = solve_board(board)
    assert result.count == len(expected)
    assert list(result.solutions) == expected
    assert (result.proof is None) == bool(expected)


def plain(board: Board, pegs: frozenset[Hole], path: list[Jump]) -> Iterator[list[Jump]]:
    """Yield every line by trying everything, in reading order: to the right, left, down, up."""
    if len(pegs) == 1:
        if board.goal is None or board.goal in pegs:
            yield path
        return
    for start in board.holes:
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            over, end = Hole(start.x + dx, start.y + dy), Hole(start.x + 2 * dx, start.y + 2 * dy)
            if start in pegs and over in pegs and end in board.holes and end not in pegs:
                yield from plain(board, pegs - {start, over} | {end}, [*path, Jump(start, end)])


def to_bits(board: Board) -> tuple[int, list[tuple[int, int]]]:
    """Return the position of `board` for the kernel, and all moves in reading order."""
    bit = {hole: 1 << number for number, hole in enumerate(board.holes)}
    moves = []
    for start in board.holes:
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            over, end = Hole(start.x + dx, start.y + dy), Hole(start.x + 2 * dx, start.y + 2 * dy)
            if over in bit and end in bit:
                moves.append((bit[start] | bit[over] | bit[end], bit[start] | bit[over]))
    return sum(bit[peg] for peg in board.pegs), moves
