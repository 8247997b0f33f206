"""Connect Four: the perfect player, against scores that are known and a plain search of everything."""

import os
import random
from collections.abc import Callable, Iterable
from itertools import count
from types import ModuleType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pi_appliance.puzzles import SolveMode, connect_four
from pi_appliance.puzzles.connect_four import kernel
from pi_appliance.puzzles.connect_four import search as search_module
from pi_appliance.puzzles.connect_four.board import Board, Colour, End, check, game_end
from pi_appliance.puzzles.connect_four.book import UNKNOWN
from pi_appliance.puzzles.connect_four.search import Search
from pi_appliance.puzzles.connect_four.solve import BOUNDS_NAME
from pi_appliance.puzzles.runtime import Cache, Interrupted, SearchRuntime
from tests.examples import examples, repetitions

# Positions and their scores, as a public solver that we share no line with gives them.
KNOWN = {
    "7652622721735376": -10,
    "461134515661427544": -2,
    "5737136112523133": 13,
    "717137772363155434": 12,
    "54246465571745757237": 0,
    "65527256332533157427124672": 8,
    "2267352154735653": 13,
    "7625325324343455564453": -3,
    "124674431577774236": 9,
    "463112535236616677622435": 7,
}


def scored(board: Board) -> dict[int, int]:
    """Return the scores of the columns, as the table of an answer has them."""
    (table,) = connect_four.solve(board, SolveMode.FIRST, SearchRuntime()).tables
    return {int(str(name)[0]): int(score) for name, score, _ in table.rows if score != "-"}


@pytest.mark.parametrize(("moves", "score"), KNOWN.items())
def test_the_scores_are_those_of_a_public_solver(moves: str, score: int) -> None:
    board = connect_four.parse(moves, "mine")
    answer = connect_four.solve(board, SolveMode.ALL, SearchRuntime())
    assert answer.details["score"] == score == max(scored(board).values())
    lines = list(answer.solutions)
    assert answer.count == len(lines) == list(scored(board).values()).count(score)
    for line in lines:
        assert check(board, line)
        assert len(moves) + len(line) - 1 == search_module.last_move_number(score, len(moves))
    assert str(search_module.last_move_number(score, len(moves))) in str(answer.details["result"]) or score == 0


def plain(board: Board, known: dict[Board, int]) -> int:
    """Return the score of `board` by searching every game on the drawn grid."""
    if board in known:
        return known[board]
    best = -99
    for column in range(1, 8):
        if board.height(column) < 6:
            after = board.play(column)
            match game_end(after):
                case None:
                    score = -plain(after, known)
                case End.DRAW:
                    score = 0
                case _:  # half of the discs that the winner would hold, with the last one
                    score = 21 - (board.discs // 2)
            best = max(best, score)
    known[board] = best
    return best


def by_chance(seed: int, discs: int) -> Board:
    """Return an undecided position that chance played to."""
    chance = random.Random(seed)
    while True:
        board = connect_four.parse(".......\n" * 6, "mine")
        while board.discs < discs and not game_end(board):
            board = board.play(chance.choice([column for column in range(1, 8) if board.height(column) < 6]))
        if not game_end(board):
            return board


@settings(max_examples=repetitions(25), deadline=None)
@given(st.integers(0, 10**9), st.integers(35, 41))
def test_column_scores_near_the_end_match_a_plain_search(seed: int, discs: int) -> None:
    board, known = by_chance(seed, discs), dict[Board, int]()
    scores = scored(board)
    assert max(scores.values()) == plain(board, known)
    for column, score in scores.items():
        after = board.play(column)
        if game_end(after):
            assert score == (0 if game_end(after) is End.DRAW else 21 - discs // 2)
        else:
            assert score == -plain(after, known)


@settings(max_examples=repetitions(20), deadline=None)
@given(st.integers(0, 10**9), st.integers(35, 41))
def test_a_perfect_game_keeps_the_score(seed: int, discs: int) -> None:
    board, known = by_chance(seed, discs), dict[Board, int]()
    answer = connect_four.solve(board, SolveMode.ALL, SearchRuntime())
    for line in answer.solutions:
        at, score = board, int(answer.details["score"])
        for column in line[:-1]:
            assert plain(at, known) == score
            at, score = at.play(int(column)), -score
        assert check(board, line)


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 10**9), st.integers(33, 41))
@example(14, 36)  # an even square that can be played now is not the opponent's
@example(29, 33)  # with an odd number of discs, the opponent has no such strategy
def test_what_the_opponent_holds_by_an_easy_strategy_is_an_upper_bound(seed: int, discs: int) -> None:
    board = by_chance(seed, discs)
    position = search_module.position_of(board)
    if not any(position.wins(square) for _, square in position.moves()):
        bound = kernel.upper_bound(*position, discs)
        assert bound in (UNKNOWN, -1, 0)
        assert bound == UNKNOWN or plain(board, {}) <= bound


@given(st.integers(0, 10**9), st.integers(0, 41))
def test_a_threat_is_an_empty_square_that_makes_four(seed: int, discs: int) -> None:
    board = by_chance(seed, min(discs, 30))
    own, mask = search_module.position_of(board)
    marked = set()
    for column in range(1, 8):
        for row in range(1, 7):
            if board.rows[6 - row][column - 1] == ".":
                line = board.rows[6 - row]
                line = line[: column - 1] + board.turn.mark + line[column:]
                filled = Board((*board.rows[: 6 - row], line, *board.rows[7 - row :]), board.turn)
                if game_end(filled):
                    marked.add((column, row))
    result = kernel.find_threats(own, mask)
    assert {tuple(search_module.square_of(1 << bit)) for bit in range(49) if result >> bit & 1} == marked


@given(st.integers(0, 10**9), st.integers(0, 41))
def test_a_mirror_image_has_the_same_key_and_twice_mirrored_is_as_before(seed: int, discs: int) -> None:
    board = by_chance(seed, min(discs, 30))
    turned = Board(tuple(row[::-1] for row in board.rows), board.turn)
    here, there = search_module.position_of(board), search_module.position_of(turned)
    assert here.key == there.key
    assert kernel.mirror(here.mask) == there.mask
    assert kernel.mirror(kernel.mirror(here.own)) == here.own


@pytest.mark.parametrize("discs", range(42))
def test_the_number_of_the_last_move_follows_from_the_score(discs: int) -> None:
    for score in range(search_module.min_score(discs), search_module.max_score(discs) + 1):
        last = search_module.last_move_number(score, discs)
        if score:
            assert discs < last <= 42
            assert (last - discs) % 2 == (score > 0)
            assert search_module.max_score(last - 1) == abs(score)


class InterruptedRuntime(SearchRuntime):
    """A runtime with an existing cache, which is interrupted after some checks."""

    def __init__(self, signs: int, last: SearchRuntime) -> None:
        super().__init__()
        self.signs, self.cache = signs, last.cache

    def report_progress(self, part: float | None, note: str) -> None:
        assert part is None
        assert note
        self.signs -= 1
        if self.signs < 0:
            raise Interrupted("the time is over")


def bounds(board: Board, runtime: SearchRuntime) -> tuple[int, int]:
    """Return the bounds of the score from an interrupted search."""
    with pytest.raises(Interrupted) as caught:
        connect_four.solve(board, SolveMode.FIRST, runtime)
    low, _, high = caught.value.partial_result.partition("is from ")[2].partition(" to ")
    return int(low), int(high)


def test_an_interrupted_search_reports_bounds_and_resumes() -> None:
    board, other = (connect_four.parse(moves, "mine") for moves in ("25777131474464", "25523546515174"))
    room = SearchRuntime()
    early = bounds(connect_four.parse("527376", "mine"), InterruptedRuntime(0, SearchRuntime()))
    assert early == (search_module.min_score(6), search_module.max_score(6)), "nothing is known yet"
    results = [bounds(board, InterruptedRuntime(signs, SearchRuntime())) for signs in (0, 1, 20, 60)]
    assert results == sorted(results, key=lambda each: each[0] - each[1]), "the longer, the narrower"
    assert results[0] != results[-1]
    assert results[-1] == bounds(board, InterruptedRuntime(60, room))
    assert bounds(other, InterruptedRuntime(0, room)) == bounds(other, InterruptedRuntime(0, SearchRuntime())), (
        "nothing is taken from another board"
    )
    assert bounds(board, InterruptedRuntime(0, room)) == results[-1], "it begins where it ended before"
    rest = SearchRuntime()
    rest.cache = room.cache
    assert connect_four.solve(board, SolveMode.FIRST, rest).details["score"] == -4
    assert len(list(room.cache.names())) == 1, "what is left is of the other board"
    assert connect_four.solve(other, SolveMode.FIRST, rest).details["score"] == scored_alone(other)
    assert not list(room.cache.names())


def scored_alone(board: Board) -> int:
    return int(connect_four.solve(board, SolveMode.FIRST, SearchRuntime()).details["score"])


def test_damaged_bounds_and_those_of_another_position_are_ignored() -> None:
    board = connect_four.parse("25523546515174", "mine")
    right, cut = scored_alone(board), SearchRuntime()
    bounds(board, InterruptedRuntime(2, cut))
    (name,) = cut.cache.names()
    assert name.startswith(BOUNDS_NAME)
    bounds(connect_four.parse("25777131474464", "mine"), InterruptedRuntime(2, cut))
    (other,) = (each for each in cut.cache.names() if each != name)
    foreign = bytes(cut.cache.load(other) or b"")
    for junk in (b"", b"x" * 31, b"x" * 32, bytes(32), b"\xff" * 32, foreign):
        runtime = SearchRuntime()
        runtime.cache.save(name, [junk])
        assert connect_four.solve(board, SolveMode.FIRST, runtime).details["score"] == right


def test_long_searches_save_checkpoints_regularly() -> None:
    board, saved = connect_four.parse("25523546515174", "mine"), []

    class Noted(Cache):
        def save(self, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
            saved.append((name, *parts))

    quick, slow = SearchRuntime(), SearchRuntime(count(0, 100).__next__)
    quick.cache = slow.cache = Noted()
    connect_four.solve(board, SolveMode.FIRST, quick)
    assert not saved, "a card does not last forever"
    connect_four.solve(board, SolveMode.FIRST, slow)
    assert saved


# Positions of which the second once took the place of the first in the table, and its score.
ALIKE = [
    ("Y...... R...... YR..... RY.R... RRRYY.Y RYRYYYR", "Y...YY. R...YY. YR..RRY RY.RYYY RRRYRRY RYRYYRR"),
    ("....... R....Y. Y.Y..R. R.Y..YY RRR.RYR RYY.YRY", "....YR. R...YR. Y.Y.RYY R.Y.RYR RRR.YRR RYY.YYY"),
    ("R...... R...... Y...RY. R...RR. Y.Y.YYR RYYYRYR", "R...RY. R...YR. Y...YRY R...YRY Y.Y.RYR RYYYRRR"),
    ("..R...Y ..Y.Y.R ..R.R.Y YYY.R.R RYR.YYR RYR.YYR", "..R.RYR ..Y.RYY ..R.YRY YYY.YRY RYR.RYR RYR.YRR"),
]


@pytest.mark.parametrize("drawings", ALIKE)
def test_checkpoints_of_positions_are_separate(drawings: tuple[str, str]) -> None:
    here, there = (
        search_module.position_of(Board(tuple(drawing.split()), Colour.RED, first_known=False)) for drawing in drawings
    )
    search = Search(SearchRuntime(), 20, "both")
    right = Search(SearchRuntime(), 20, "here").exact_score(here)
    assert search.exact_score(there) != right
    assert search.exact_score(here) == right


class FourCoreRuntime(SearchRuntime):
    """Work with four cores, one after the other."""

    cores = 4


def test_an_early_position_has_the_same_result_on_all_cores() -> None:
    board = connect_four.parse("25523546515174", "mine")
    alone, together = (
        connect_four.solve(board, SolveMode.ALL, runtime) for runtime in (SearchRuntime(), FourCoreRuntime())
    )
    assert alone.tables == together.tables
    assert dict(alone.details) == dict(together.details)


def test_a_small_table_gives_the_same_scores() -> None:
    """Forgotten entries are searched again: a table has only reported values."""
    for moves in ("461134515661427544", "54246465571745757237"):
        here = search_module.position_of(connect_four.parse(moves, "mine"))
        for bits in (6, 10, 16):
            table = memoryview(bytearray(8 << bits)).cast("Q")
            search = kernel.Search(table, bits, lambda _: None, lambda _: kernel.UNKNOWN, -1)
            score = KNOWN[moves]
            assert search.bound(here.own, here.mask, len(moves), score) >= score
            assert search.bound(here.own, here.mask, len(moves), score + 1) <= score


@pytest.mark.parametrize("seed", range(3))
def test_a_generated_position_has_one_best_column_and_no_immediate_win(seed: int) -> None:
    like = connect_four.parse(connect_four.BOARDS["squeeze"], "squeeze")
    generated = connect_four.generate(seed, like, SearchRuntime())
    scores = scored(generated.board)
    assert generated.board.discs == like.discs
    assert list(scores.values()).count(max(scores.values())) == 1
    assert generated.details["score"] == max(scores.values()) < search_module.max_score(generated.board.discs)
    assert connect_four.generate(seed, like, SearchRuntime()) == generated


def test_random_games_can_be_interrupted() -> None:
    like = Board(("......R", *("RYRYRYY",) * 5), Colour.RED)
    with pytest.raises(Interrupted):
        connect_four.generate(1, like, InterruptedRuntime(0, SearchRuntime()))


def test_a_hint_names_the_best_column() -> None:
    board = connect_four.parse(connect_four.BOARDS["squeeze"], "squeeze")
    assert connect_four.hint(board, SearchRuntime()) == "Red plays column 3, to C3: Red wins with move 41"
    assert connect_four.hint(connect_four.parse("1212121", "mine"), SearchRuntime()) == "the game is over: Red wins"


@pytest.mark.skipif(os.environ.get("PI_APPLIANCE_CONNECT_FOUR") != "1", reason="takes minutes compiled, hours plain")
def test_beginning_in_the_middle_wins_with_the_last_disc_but_one() -> None:
    board = connect_four.parse(connect_four.BOARDS["empty"], "empty")
    assert scored(board) == {1: -2, 2: -1, 3: 0, 4: 1, 5: 0, 6: -1, 7: -2}
    here = search_module.position_of(board)
    assert Search(SearchRuntime(), 0, "empty").exact_score(here) == 1


@pytest.mark.slow
def test_plain_and_compiled_kernels_search_the_same_positions(
    plain_and_compiled: Callable[[str], tuple[ModuleType, ModuleType]],
) -> None:
    ways = plain_and_compiled("connect_four/kernel")
    asked = [("25523546515174", 14), ("461134515661427544", 18), ("54246465571745757237", 20), ("3331157333555417", 16)]
    for moves, plies in asked:
        here = search_module.position_of(connect_four.parse(moves, "mine"))
        results = []
        for way in ways:
            ticks: list[int] = []
            # A table that is soon full, a mirrored book, and a score that is not even known from above.
            table = memoryview(bytearray(8 << 12)).cast("Q")
            search = way.Search(table, 12, ticks.append, lambda key: -3 if key % 50 == 7 else -99, plies + 3)
            bounds = [search.bound(*here, plies, goal) for goal in (-9, 9, -4, 4, -1, 2, 1, 0)]
            results.append((bounds, search.nodes, ticks, bytes(table)))
        assert results[0] == results[1]


@given(st.integers(0, 10**9), st.integers(0, 30))
def test_plain_and_compiled_kernels_find_the_same_threats(
    plain_and_compiled: Callable[[str], tuple[ModuleType, ModuleType]], seed: int, discs: int
) -> None:
    own, mask = search_module.position_of(by_chance(seed, discs))
    plain_way, compiled = plain_and_compiled("connect_four/kernel")
    assert plain_way.find_threats(own, mask) == compiled.find_threats(own, mask)
    assert plain_way.mirror(own) == compiled.mirror(own)


@pytest.mark.parametrize("tick", ["known", "tick"])
def test_an_exception_ends_a_search_and_the_table_stays_valid(
    plain_and_compiled: Callable[[str], tuple[ModuleType, ModuleType]], tick: str
) -> None:
    here = search_module.position_of(connect_four.parse("461134515661427544", "mine"))

    def ends(_: int) -> int:
        raise Interrupted("the time is over")

    for way in plain_and_compiled("connect_four/kernel"):
        table = memoryview(bytearray(8 << 14)).cast("Q")
        search = way.Search(
            table, 14, ends if tick == "tick" else print, ends if tick == "known" else lambda _: -99, 19
        )
        with pytest.raises(Interrupted):
            search.bound(*here, 18, -2)
        again = way.Search(table, 14, lambda _: None, lambda _: -99, -1)
        assert again.bound(*here, 18, -2) >= -2
        assert again.bound(*here, 18, -1) <= -2
