"""Solitaire chess: all solutions and how many, against facts, python-chess and a plain search."""

from collections.abc import Iterator
from functools import cache
from types import ModuleType

import chess as python_chess
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Proof, SolveMode
from pi_appliance.puzzles import solitaire_chess as chess
from pi_appliance.puzzles.runtime.interface import Interrupted, SerialRuntime
from pi_appliance.puzzles.solitaire_chess import Board, Square
from pi_appliance.puzzles.solitaire_chess.levels import Levels
from pi_appliance.puzzles.solitaire_chess.seats import position_of

# Rows, solutions: pawns down; up; up, and the king is never captured.
KNOWN = """
..../.B../RP../...N 1 1 1
..RP/.RN./BN../PB.. 33 4 4
Q..N/.P.B/R.../..K. 1 1 0
NP../.B.R/Q..P/..N. 347 347 347
P.../...P/NB../RKRN 218 218 0
RBK./.N.B/.NQR/.... 68917 68917 6657
..../B..R/..N./.K.. 1 1 0
N.BB/.RRP/P.../Q..K 31252 81750 0
.PR./Q.N./N.KP/...B 12777 12173 2063
P.../B.../.NB./R... 12 12 12
..../B.../...B/.RP. 8 8 8
...K/NNB./.RR./.B.. 2356 2356 849
"""
WAYS = ({}, {"pawns": "up"}, {"pawns": "up", "king": "last"})


@pytest.mark.parametrize("row", KNOWN.strip().splitlines())
def test_the_known_boards(row: str) -> None:
    drawing, *counts = row.split()
    for rules, count in zip(WAYS, map(int, counts), strict=True):
        board = chess.with_rules(chess.parse(drawing, "known"), rules)
        answer = chess.solve(board, SolveMode.COUNT, SerialRuntime())
        assert answer.count == count
        assert (answer.proof is Proof.EXHAUSTION) == (count == 0) == bool(answer.reason)
        if 0 < count < 5_000:
            lines = list(chess.solve(board, SolveMode.ALL, SerialRuntime()).solutions)
            assert len(lines) == len(set(lines)) == count
            assert all(chess.check(board, line) for line in lines)
        if count:
            assert sum(row[2] for row in answer.tables[1].rows) == count


@pytest.mark.parametrize(
    ("name", "count", "king_last"),
    [
        ("first-steps", 1, 1),
        ("seven", 1, 0),
        ("crowd", 68_917, 6_657),
        ("stuck", 0, 0),
        ("wide", 1, 0),
        ("full-size", 1, 1),
        ("QRNB/RBNP/NK../B...", 49_698_886, None),
    ],
)
def test_the_boards_of_the_docs(name: str, count: int, king_last: int | None) -> None:
    board = chess.parse(chess.BOARDS.get(name, name), name)
    assert chess.solve(board, SolveMode.COUNT, SerialRuntime()).count == count
    if king_last is not None:
        assert (
            chess.solve(chess.with_rules(board, {"king": "last"}), SolveMode.COUNT, SerialRuntime()).count == king_last
        )


def test_millions_of_solutions_are_counted_and_listed_as_they_are_asked_for() -> None:
    board = chess.parse("QRNB/RBNP/NQ../B...", "mine")
    answer = chess.solve(board, SolveMode.ALL, SerialRuntime())
    assert answer.count == chess.solve(board, SolveMode.COUNT, SerialRuntime()).count
    assert answer.count is not None
    assert answer.count > 1_000_000
    assert len({next(answer.solutions) for _ in range(1000)}) == 1000


@st.composite
def boards(draw: st.DrawFn, most: int = 8, side: int = 4) -> Board:
    """Draw boards of any size up to SIDE by SIDE, with up to MOST pieces, and any rules."""
    wide, high = draw(st.integers(1, side)), draw(st.integers(1, side))
    places = draw(st.lists(st.integers(0, wide * high - 1), min_size=1, max_size=most, unique=True))
    marks = ["."] * (wide * high)
    for place in places:
        marks[place] = draw(st.sampled_from("KQRBNP"))
    rows = tuple("".join(marks[at : at + wide]) for at in range(0, wide * high, wide))
    rules = {
        "pawns": draw(st.sampled_from(["down", "up", "both"])),
        "king": draw(st.sampled_from(["free", "last"])),
        "captures-each": draw(st.sampled_from(["0", "0", "1", "2", "3"])),
    }
    return chess.with_rules(Board(rows), rules)


@settings(max_examples=80, deadline=None)
@given(boards(side=8, most=6))
def test_depth_first_and_breadth_first_find_the_same(board: Board) -> None:
    deep, broad = (chess.with_rules(board, {"search": name}) for name in ("depth", "breadth"))
    found = list(chess.solve(deep, SolveMode.ALL, SerialRuntime()).solutions)
    assert found == list(chess.solve(broad, SolveMode.ALL, SerialRuntime()).solutions)
    assert len(set(found)) == len(found)
    counts = {
        chess.solve(each, mode, SerialRuntime()).count
        for each in (deep, broad)
        for mode in (SolveMode.ALL, SolveMode.COUNT)
    }
    assert counts == {len(found)}
    for each in (deep, broad):
        assert list(chess.solve(each, SolveMode.FIRST, SerialRuntime()).solutions) == found[:1]
    assert set(found) == set(searched(board))


def searched(board: Board) -> Iterator[tuple[tuple[Square, Square], ...]]:
    """Yield every solution, by python-chess' attacks and nothing remembered."""
    if board.king == "last" and len([man for man in board.men.values() if man == "K"]) > 1:
        return
    yield from on(board, dict(board.men), dict.fromkeys(board.men, 0), ())


def on(board: Board, men: dict[Square, str], made: dict[Square, int], line: tuple) -> Iterator[tuple]:
    if len(men) == 1:
        yield line
    for start, end in attacks(men, board.pawns):
        free = not board.captures_each or made[start] < board.captures_each
        if free and (men[end] != "K" or board.king == "free"):
            after = {at: man for at, man in men.items() if at != start} | {end: men[start]}
            yield from on(board, after, made | {end: made[start] + 1}, (*line, (start, end)))


def attacks(men: dict[Square, str], pawns: str) -> set[tuple[Square, Square]]:
    """Return every capture of MEN as python-chess sees it. Its white pawns go up, its black ones down."""
    found = set()
    for white in {"up": [True], "down": [False], "both": [True, False]}[pawns]:
        board = python_chess.Board(None)
        for square, man in men.items():
            piece = python_chess.Piece.from_symbol(man if white else man.lower())
            board.set_piece_at(python_chess.square(square.file, square.rank), piece)
        for square in men:
            for end in board.attacks(python_chess.square(square.file, square.rank)) & board.occupied:
                found.add((square, Square(python_chess.square_file(end), python_chess.square_rank(end))))
    return found


@settings(max_examples=200, deadline=None)
@given(boards(side=8, most=30))
def test_the_captures_are_those_of_python_chess(board: Board) -> None:
    board = chess.with_rules(board, {"king": "free", "captures-each": "0"})
    assert set(chess.captures(board)) == attacks(board.men, board.pawns)


@settings(max_examples=40, deadline=None)
@given(boards(side=4, most=9))
def test_the_count_is_what_a_search_with_a_memory_counts(board: Board) -> None:
    board = chess.with_rules(board, {"captures-each": "0"})

    @cache
    def count(men: frozenset[tuple[Square, str]]) -> int:
        if len(men) == 1:
            return 1
        on_board, total = dict(men), 0
        for start, end in attacks(on_board, board.pawns):
            if on_board[end] != "K" or board.king == "free":
                after = {at: man for at, man in men if at != start} | {end: on_board[start]}
                total += count(frozenset(after.items()))
        return total

    assert chess.solve(board, SolveMode.COUNT, SerialRuntime()).count == count(frozenset(board.men.items()))


def test_two_kings_that_may_not_be_captured_are_a_contradiction() -> None:
    board = chess.with_rules(chess.parse("KRK", "mine"), {"king": "last"})
    answer = chess.solve(board, SolveMode.ALL, SerialRuntime())
    assert (answer.count, answer.proof, list(answer.solutions)) == (0, Proof.CONTRADICTION, [])
    assert answer.reason == "there are 2 kings, and none of them may be captured"


def test_one_piece_is_solved() -> None:
    board = chess.parse("..\n.K", "mine")
    for search in ("depth", "breadth"):
        answer = chess.solve(chess.with_rules(board, {"search": search}), SolveMode.ALL, SerialRuntime())
        assert (list(answer.solutions), answer.count) == ([()], 1)
    assert chess.hint(board, SerialRuntime()) == "it is solved"


def test_a_hint_is_the_first_capture_of_a_solution() -> None:
    board = chess.parse(chess.BOARDS["first-steps"], "first")
    assert chess.hint(board, SerialRuntime()) == "capture the knight on a3 with the rook from a2; then 2 captures more"
    stuck = chess.parse(chess.BOARDS["stuck"], "stuck")
    assert chess.hint(stuck, SerialRuntime()).startswith("it cannot be solved: every position was looked at")
    assert chess.solve(stuck, SolveMode.COUNT, SerialRuntime()).reason.endswith("at best 2 pieces are left")


@pytest.mark.parametrize(
    "rules",
    [
        {"pieces": "6", "size": "4x4"},
        {"pieces": "7", "size": "5x3", "pawns": "up", "king": "last"},
        {"pieces": "7", "size": "8x8", "captures-each": "2"},
    ],
)
def test_boards_that_are_made_have_one_solution(rules: dict[str, str]) -> None:
    like = chess.with_rules(chess.parse("R", "mine"), rules)
    seen = set()
    for seed in range(3):
        made = chess.generate(seed, like, SerialRuntime())
        board = made.board
        assert (len(board.men), f"{len(board.rows[0])}x{len(board.rows)}") == (int(rules["pieces"]), rules["size"])
        assert len(list(searched(board))) == 1
        assert made.details["solutions"] == 1
        assert chess.generate(seed, like, SerialRuntime()) == made
        seen.add(board)
    assert len(seen) == 3


def test_what_cannot_be_made_is_refused() -> None:
    like = chess.parse("R", "mine")
    with pytest.raises(Refused, match="5 pieces have no room on 2x2 squares"):
        chess.generate(1, chess.with_rules(like, {"pieces": "5", "size": "2x2"}), SerialRuntime())
    with pytest.raises(Refused, match="no board with 4 pieces on 2x2 squares and one solution was found"):
        chess.generate(1, chess.with_rules(like, {"pieces": "4", "size": "2x2"}), SerialRuntime())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(board=boards(side=8, most=8))
def test_both_ways_of_the_kernel_do_the_same(both_ways, board: Board) -> None:
    """The same positions, ways and walks, capture for capture; also where a seat has the last bit of a word."""
    plain, compiled = (told_by(kernel, board) for kernel in both_ways("solitaire_chess/kernel"))
    assert plain == compiled


def test_both_ways_of_the_kernel_do_the_same_on_a_full_board(both_ways) -> None:
    board = chess.parse("RNBQKBNR/" + "PPPPPPPP/" * 3 + "QQQQQQQQ/NNNNNNNN/BBBBBBBB/RNBQKBNR", "mine")
    plain, compiled = (told_by(kernel, board) for kernel in both_ways("solitaire_chess/kernel"))
    assert plain == compiled


def told_by(kernel: ModuleType, board: Board) -> list[object]:
    """Return what KERNEL says of BOARD: three levels, forwards and back, and a walk."""
    position = position_of(board)
    seats = kernel.Seats(*position.tables)
    levels: list[dict[bytes, int]] = [{position.start: 2**70}]
    for _ in range(2):
        after: dict[bytes, int] = {}
        made = seats.grow(list(levels[-1]), 0, len(levels[-1]), levels[-1], after)
        assert made >= len(after)
        levels.append(after)
    back: dict[bytes, int] = {}
    seats.weigh(list(levels[1]), 0, len(levels[1]), levels[2], back)
    told: list[object] = [*levels, back, seats.children(position.start)]
    walk = kernel.Walk(seats, position.start, max(1, len(position.start) - 1))
    for _ in range(20):
        said = walk.run(500)
        told.append((said, walk.tried, walk.dead, walk.line()))
        if said == kernel.OVER:
            break
    return told


class Cut(SerialRuntime):
    """Work that ends at a given sign of progress."""

    def __init__(self, patience: int) -> None:
        super().__init__()
        self.patience = patience
        self.notes: list[str] = []

    def report_progress(self, part: float | None, note: str) -> None:  # noqa: ARG002
        self.notes.append(note)
        self.patience -= 1
        if self.patience < 0:
            raise Interrupted("the deadline")


@pytest.mark.parametrize("patience", [1, 3, 6])
def test_a_count_that_is_cut_off_goes_on_from_its_level(patience: int) -> None:
    board, runtime = chess.parse("QRNB/RBNP/N.../B...", "mine"), Cut(patience)
    whole = chess.solve(board, SolveMode.COUNT, SerialRuntime())
    with pytest.raises(Interrupted) as caught:
        chess.solve(board, SolveMode.COUNT, runtime)
    assert (
        "captures of 9 lead to" in caught.value.partial_result or "1 capture of 9 leads" in caught.value.partial_result
    )
    (name,) = runtime.cache.names()
    kept = runtime.cache.load(name)
    assert kept is not None
    kept = bytes(kept)
    for damaged in (b"", b"{}\n", b"nothing", kept[:-1], kept.replace(b'"wide"', b'"wild"')):
        other = SerialRuntime()
        other.cache.save(name, [damaged])
        assert chess.solve(board, SolveMode.COUNT, other).count == whole.count
    runtime.patience, runtime.notes = 1_000_000, runtime.notes[-1:]
    rest = chess.solve(board, SolveMode.COUNT, runtime)
    assert (rest.count, rest.tables) == (whole.count, whole.tables)
    before, after = (note.partition(":")[0] for note in runtime.notes[:2])
    assert before == after, "the level where it was cut off is the first one"
    assert not list(runtime.cache.names())


@pytest.mark.parametrize(
    ("search", "said"), [("breadth", "captures of 63 lead to"), ("depth", "positions without a solution")]
)
def test_a_search_for_lines_that_is_cut_off_says_what_is_known(search: str, said: str) -> None:
    board = chess.with_rules(Board(("P" * 8,) * 8), {"search": search})
    with pytest.raises(Interrupted) as caught:
        chess.solve(board, SolveMode.ALL, Cut(12))
    assert said in caught.value.partial_result


def test_a_call_of_the_kernel_is_short_where_there_are_many_pieces() -> None:
    """The more pieces, the more captures a position has: the fewer positions are looked at before a sign of life."""
    few, many = (
        Levels(Board(rows), position_of(Board(rows)), SerialRuntime()).run for rows in (("QQ",), ("Q" * 8,) * 8)
    )
    assert many < few / 30
    assert many > 100


def test_memory_is_asked_for_where_all_levels_are_kept() -> None:
    asked: list[int] = []
    runtime = SerialRuntime()
    runtime.require_memory = lambda size, purpose: asked.append(size)  # type: ignore[method-assign]  # noqa: ARG005
    board = chess.parse("QRNB/RBNP/NQ../B...", "mine")
    position = position_of(board)
    levels = Levels(board, position, runtime, many=2_000)
    levels.alive()
    assert max(levels.sizes) < levels.positions / 2
    assert len(asked) == sum(sum(levels.sizes[:at]) > 2_000 for at in range(1, len(levels.sizes)))
    asked.clear()
    ended = Cut(20)
    ended.cache = runtime.cache
    with pytest.raises(Interrupted):
        Levels(board, position, ended).last()
    Levels(board, position, runtime, many=200).last()
    assert len(asked) > 1, "also for what is read from the shelf"
