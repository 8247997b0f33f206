"""Solitaire chess solutions and counts, against known results, python-chess and a plain search."""

from collections.abc import Iterator
from functools import cache
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Proof, SolveMode
from pi_appliance.puzzles import solitaire_chess as chess
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from pi_appliance.puzzles.solitaire_chess import Board, Square
from pi_appliance.puzzles.solitaire_chess.solve import LevelSearch, pack_position
from tests.examples import examples

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
        answer = chess.solve(board, SolveMode.COUNT, SearchRuntime())
        assert answer.count == count
        assert (answer.proof is Proof.EXHAUSTION) == (count == 0) == bool(answer.reason)
        if 0 < count < 5_000:
            lines = list(chess.solve(board, SolveMode.ALL, SearchRuntime()).solutions)
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
    assert chess.solve(board, SolveMode.COUNT, SearchRuntime()).count == count
    if king_last is not None:
        assert (
            chess.solve(chess.with_rules(board, {"king": "last"}), SolveMode.COUNT, SearchRuntime()).count == king_last
        )


def test_millions_of_solutions_are_counted_and_listed_lazily() -> None:
    board = chess.parse("QRNB/RBNP/NQ../B...", "mine")
    answer = chess.solve(board, SolveMode.ALL, SearchRuntime())
    assert answer.count == chess.solve(board, SolveMode.COUNT, SearchRuntime()).count
    assert answer.count is not None
    assert answer.count > 1_000_000
    assert len({next(answer.solutions) for _ in range(1000)}) == 1000


@st.composite
def boards(draw: st.DrawFn, most: int = 8, side: int = 4) -> Board:
    """Draw boards of up to `side` by `side` squares and up to `most` pieces, with any rules."""
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


@settings(max_examples=examples(50), deadline=None)
@given(boards(side=8, most=6))
def test_depth_first_and_breadth_first_agree(board: Board) -> None:
    deep, broad = (chess.with_rules(board, {"search": name}) for name in ("depth", "breadth"))
    result = list(chess.solve(deep, SolveMode.ALL, SearchRuntime()).solutions)
    assert result == list(chess.solve(broad, SolveMode.ALL, SearchRuntime()).solutions)
    assert len(set(result)) == len(result)
    counts = {
        chess.solve(each, mode, SearchRuntime()).count
        for each in (deep, broad)
        for mode in (SolveMode.ALL, SolveMode.COUNT)
    }
    assert counts == {len(result)}
    for each in (deep, broad):
        assert list(chess.solve(each, SolveMode.FIRST, SearchRuntime()).solutions) == result[:1]
    assert set(result) == set(brute_force(board))


def brute_force(board: Board) -> Iterator[tuple[tuple[Square, Square], ...]]:
    """Yield every solution, with the attacks of python-chess and no memory."""
    if board.king == "last" and len([man for man in board.pieces.values() if man == "K"]) > 1:
        return
    yield from continue_search(board, dict(board.pieces), dict.fromkeys(board.pieces, 0), ())


def continue_search(
    board: Board, pieces: dict[Square, str], move_counts: dict[Square, int], line: tuple
) -> Iterator[tuple]:
    if len(pieces) == 1:
        yield line
    for start, end in list_attacks(pieces, board.pawns):
        free = not board.capture_limit or move_counts[start] < board.capture_limit
        if free and (pieces[end] != "K" or board.king == "free"):
            after = {at: man for at, man in pieces.items() if at != start} | {end: pieces[start]}
            yield from continue_search(board, after, move_counts | {end: move_counts[start] + 1}, (*line, (start, end)))


def list_attacks(pieces: dict[Square, str], pawns: str) -> set[tuple[Square, Square]]:
    """Return every capture of `pieces` by python-chess. Its white pawns go up, its black ones down."""
    import chess as python_chess  # noqa: PLC0415 - a quarter of a second, for this test alone

    result = set()
    for white in {"up": [True], "down": [False], "both": [True, False]}[pawns]:
        board = python_chess.Board(None)
        for square, man in pieces.items():
            piece = python_chess.Piece.from_symbol(man if white else man.lower())
            board.set_piece_at(python_chess.square(square.file, square.rank), piece)
        for square in pieces:
            for end in board.attacks(python_chess.square(square.file, square.rank)) & board.occupied:
                result.add((square, Square(python_chess.square_file(end), python_chess.square_rank(end))))
    return result


@settings(max_examples=examples(80), deadline=None)
@given(boards(side=8, most=30))
def test_legal_captures_match_python_chess(board: Board) -> None:
    board = chess.with_rules(board, {"king": "free", "captures-each": "0"})
    assert set(chess.legal_captures(board)) == list_attacks(board.pieces, board.pawns)


@settings(max_examples=examples(20), deadline=None)
@given(boards(side=4, most=9))
def test_counts_match_a_memoised_search(board: Board) -> None:
    board = chess.with_rules(board, {"captures-each": "0"})

    @cache
    def count(pieces: frozenset[tuple[Square, str]]) -> int:
        if len(pieces) == 1:
            return 1
        on_board, total = dict(pieces), 0
        for start, end in list_attacks(on_board, board.pawns):
            if on_board[end] != "K" or board.king == "free":
                after = {at: man for at, man in pieces if at != start} | {end: on_board[start]}
                total += count(frozenset(after.items()))
        return total

    assert chess.solve(board, SolveMode.COUNT, SearchRuntime()).count == count(frozenset(board.pieces.items()))


def test_two_kings_that_may_not_be_captured_are_a_contradiction() -> None:
    board = chess.with_rules(chess.parse("KRK", "mine"), {"king": "last"})
    answer = chess.solve(board, SolveMode.ALL, SearchRuntime())
    assert (answer.count, answer.proof, list(answer.solutions)) == (0, Proof.CONTRADICTION, [])
    assert answer.reason == "there are 2 kings, and none of them may be captured"


def test_a_single_piece_is_solved() -> None:
    board = chess.parse("..\n.K", "mine")
    for search in ("depth", "breadth"):
        answer = chess.solve(chess.with_rules(board, {"search": search}), SolveMode.ALL, SearchRuntime())
        assert (list(answer.solutions), answer.count) == ([()], 1)
    assert chess.hint(board, SearchRuntime()) == "it is solved"


def test_a_hint_is_the_first_capture_of_a_solution() -> None:
    board = chess.parse(chess.BOARDS["first-steps"], "first")
    assert chess.hint(board, SearchRuntime()) == "capture the knight on a3 with the rook from a2; then 2 captures more"
    stuck = chess.parse(chess.BOARDS["stuck"], "stuck")
    assert chess.hint(stuck, SearchRuntime()).startswith("it cannot be solved: every position was searched")
    assert chess.solve(stuck, SolveMode.COUNT, SearchRuntime()).reason.endswith("at best 2 pieces are left")


@pytest.mark.parametrize(
    "rules",
    [
        {"pieces": "6", "size": "4x4"},
        {"pieces": "7", "size": "5x3", "pawns": "up", "king": "last"},
        {"pieces": "7", "size": "8x8", "captures-each": "2"},
    ],
)
def test_generated_boards_have_one_solution(rules: dict[str, str]) -> None:
    like = chess.with_rules(chess.parse("R", "mine"), rules)
    visited = set()
    for seed in range(3):
        generated = chess.generate(seed, like, SearchRuntime())
        board = generated.board
        assert (len(board.pieces), f"{len(board.rows[0])}x{len(board.rows)}") == (int(rules["pieces"]), rules["size"])
        assert len(list(brute_force(board))) == 1
        assert generated.details["solutions"] == 1
        assert chess.generate(seed, like, SearchRuntime()) == generated
        visited.add(board)
    assert len(visited) == 3


def test_impossible_generation_is_refused() -> None:
    like = chess.parse("R", "mine")
    with pytest.raises(Refused, match="5 pieces do not fit on 2x2 squares"):
        chess.generate(1, chess.with_rules(like, {"pieces": "5", "size": "2x2"}), SearchRuntime())


@pytest.mark.slow
def test_generation_gives_up_after_enough_tries() -> None:
    like = chess.parse("R", "mine")
    with pytest.raises(Refused, match="no board with 4 pieces on 2x2 squares and one solution was found"):
        chess.generate(1, chess.with_rules(like, {"pieces": "4", "size": "2x2"}), SearchRuntime())


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(board=boards(side=8, most=8))
def test_plain_and_compiled_kernels_agree(plain_and_compiled, board: Board) -> None:
    """The same positions, counts and searches, also if a square uses the last bit of a word."""
    plain, compiled = (trace_kernel(kernel, board) for kernel in plain_and_compiled("solitaire_chess/kernel"))
    assert plain == compiled


def test_plain_and_compiled_kernels_agree_on_a_full_board(plain_and_compiled) -> None:
    board = chess.parse("RNBQKBNR/" + "PPPPPPPP/" * 3 + "QQQQQQQQ/NNNNNNNN/BBBBBBBB/RNBQKBNR", "mine")
    plain, compiled = (trace_kernel(kernel, board) for kernel in plain_and_compiled("solitaire_chess/kernel"))
    assert plain == compiled


def trace_kernel(kernel: ModuleType, board: Board) -> list[object]:
    """Return the results of `kernel`: three levels, forwards and backwards, and a depth-first search."""
    position = pack_position(board)
    tables = kernel.CaptureTables(*position.table_arguments)
    levels: list[dict[bytes, int]] = [{position.start: 2**70}]
    for _ in range(2):
        after: dict[bytes, int] = {}
        expanded = tables.expand(list(levels[-1]), 0, len(levels[-1]), levels[-1], after)
        assert expanded >= len(after)
        levels.append(after)
    back: dict[bytes, int] = {}
    tables.count_paths(list(levels[1]), 0, len(levels[1]), levels[2], back)
    trace: list[object] = [*levels, back, tables.children(position.start)]
    search = kernel.DepthFirstSearch(tables, position.start, max(1, len(position.start) - 1))
    for _ in range(20):
        outcome = search.run(500)
        trace.append((outcome, search.nodes, search.dead, search.captures()))
        if outcome == kernel.EXHAUSTED:
            break
    return trace


class InterruptedRuntime(SearchRuntime):
    """A runtime that stops after `reports` progress reports."""

    def __init__(self, reports: int) -> None:
        super().__init__()
        self.reports = reports
        self.notes: list[str] = []

    def report_progress(self, part: float | None, note: str) -> None:  # noqa: ARG002 - as in the base class
        self.notes.append(note)
        self.reports -= 1
        if self.reports < 0:
            raise Interrupted("the deadline")


@pytest.mark.parametrize("reports", [1, 3, 6])
def test_an_interrupted_count_resumes_at_its_level(reports: int) -> None:
    board, runtime = chess.parse("QRNB/RBNP/N.../B...", "mine"), InterruptedRuntime(reports)
    whole = chess.solve(board, SolveMode.COUNT, SearchRuntime())
    with pytest.raises(Interrupted) as caught:
        chess.solve(board, SolveMode.COUNT, runtime)
    assert (
        "captures of 9 lead to" in caught.value.partial_result or "1 capture of 9 leads" in caught.value.partial_result
    )
    (name,) = runtime.cache.names()
    saved = runtime.cache.load(name)
    assert saved is not None
    saved = bytes(saved)
    for damaged in (b"", b"{}\n", b"nothing", saved[:-1], saved.replace(b'"count_bytes"', b'"count_bits"')):
        other = SearchRuntime()
        other.cache.save(name, [damaged])
        assert chess.solve(board, SolveMode.COUNT, other).count == whole.count
    runtime.reports, runtime.notes = 1_000_000, runtime.notes[-1:]
    rest = chess.solve(board, SolveMode.COUNT, runtime)
    assert (rest.count, rest.tables) == (whole.count, whole.tables)
    before, after = (note.partition(":")[0] for note in runtime.notes[:2])
    assert before == after, "the interrupted level is the first one"
    assert not list(runtime.cache.names())


@pytest.mark.parametrize(
    ("search", "message"), [("breadth", "captures of 63 lead to"), ("depth", "positions without a solution")]
)
def test_an_interrupted_search_reports_its_partial_result(search: str, message: str) -> None:
    board = chess.with_rules(Board(("P" * 8,) * 8), {"search": search})
    with pytest.raises(Interrupted) as caught:
        chess.solve(board, SolveMode.ALL, InterruptedRuntime(12))
    assert message in caught.value.partial_result


def test_kernel_calls_are_short_with_many_pieces() -> None:
    """Positions with many pieces have many captures, so a call handles fewer of them."""
    few, many = (
        LevelSearch(Board(rows), pack_position(Board(rows)), SearchRuntime()).positions_per_call
        for rows in (("QQ",), ("Q" * 8,) * 8)
    )
    assert many < few / 30
    assert many > 100


def test_memory_is_checked_when_all_levels_are_stored() -> None:
    asked: list[int] = []
    runtime = SearchRuntime()
    runtime.require_memory = lambda size, purpose: asked.append(size)  # type: ignore[method-assign]  # noqa: ARG005
    board = chess.parse("QRNB/RBNP/NQ../B...", "mine")
    position = pack_position(board)
    levels = LevelSearch(board, position, runtime, checked_positions=2_000)
    levels.count_levels()
    assert max(levels.sizes) < levels.positions / 2
    assert len(asked) == sum(sum(levels.sizes[:at]) > 2_000 for at in range(1, len(levels.sizes)))
    asked.clear()
    ended = InterruptedRuntime(20)
    ended.cache = runtime.cache
    with pytest.raises(Interrupted):
        LevelSearch(board, position, ended).find_last_level()
    LevelSearch(board, position, runtime, checked_positions=200).find_last_level()
    assert len(asked) > 1, "also for a loaded checkpoint"
