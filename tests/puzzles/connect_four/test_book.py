"""Connect Four: the opening book and its interruptions."""

import random
from array import array
from itertools import count

import pytest

from pi_appliance.puzzles import SolveMode, connect_four
from pi_appliance.puzzles.connect_four import book
from pi_appliance.puzzles.connect_four.search import EMPTY_POSITION, Position, Search, position_of
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime

START = position_of(connect_four.parse("333115733355541712672671", "mine"))
STAGES = (1, 2, 3)


def test_the_positions_of_each_ply_are_as_many_as_are_published() -> None:
    level, counts = {EMPTY_POSITION}, [1]
    for _ in range(7):
        counts.append(len(set(book.child_positions(level, ended=True))))
        level = set(book.child_positions(level))
    assert counts == [1, 7, 49, 238, 1120, 4263, 16422, 54859]


def test_a_stage_has_the_documented_number_of_undecided_positions() -> None:
    level, counts = {EMPTY_POSITION.key: EMPTY_POSITION}, []
    for _ in range(6):
        level = {after.key: after for after in book.child_positions(level.values())}
        counts.append(len(level))
    assert counts[-1] == 8_231


class InterruptedRuntime(SearchRuntime):
    """A runtime with an existing cache, which is interrupted after some progress reports."""

    def __init__(self, signs: int, last: SearchRuntime) -> None:
        super().__init__()
        self.signs, self.cache = signs, last.cache

    def report_progress(self, part: float | None, note: str) -> None:
        assert note
        assert part is None or 0 <= part <= 1
        self.signs -= 1
        if self.signs < 0:
            raise Interrupted("the time is over")


def build_whole_book() -> tuple[SearchRuntime, bytes]:
    runtime = SearchRuntime()
    book.build_book(runtime, START, STAGES)
    stored_book = runtime.cache.load(book.CACHE_NAME)
    assert stored_book is not None
    return runtime, bytes(stored_book)


def test_a_book_interrupted_repeatedly_has_the_same_bytes() -> None:
    (_, right), runtime, chance = build_whole_book(), SearchRuntime(), random.Random(6)
    reported = []
    for _ in range(1000):
        try:
            book.build_book(InterruptedRuntime(chance.randrange(40) if reported else 2, runtime), START, STAGES)
            break
        except Interrupted as end:
            reported.append(end.partial_result)
    assert len(reported) > 5
    assert all(output.startswith("the opening book has ") for output in reported)
    assert reported[0].endswith("; no ply is complete yet")
    assert any(output.endswith("; all up to ply 1") for output in reported)
    assert bytes(runtime.cache.load(book.CACHE_NAME) or b"") == right


def test_a_book_holds_the_exact_score_of_every_undecided_position() -> None:
    runtime, _ = build_whole_book()
    stored_book = book.load_book(runtime.cache, START)
    search = Search(SearchRuntime(), START.discs, "test")
    level, seen = {START.key: START}, 0
    for _ in range(4):
        for key, position in level.items():
            assert stored_book.score(key) == search.exact_score(position)
        seen += len(level)
        level = {after.key: after for after in book.child_positions(level.values())}
    assert len(stored_book) == seen
    assert (stored_book.complete, stored_book.plies) == (3, 3)
    assert all(stored_book.score(key) == book.UNKNOWN for key in level)


def test_a_complete_book_returns_at_once_with_its_size() -> None:
    runtime, right = build_whole_book()
    answer = book.build_book(InterruptedRuntime(0, runtime), START, STAGES)
    assert answer.nodes_searched() == 0
    assert not answer.tables, "nobody has looked at the plies"
    assert answer.details["complete_plies"] == 3
    assert answer.details["positions"] == len(book.load_book(runtime.cache, START))
    assert bytes(runtime.cache.load(book.CACHE_NAME) or b"") == right


def test_listing_positions_can_be_interrupted() -> None:
    class Heard(SearchRuntime):
        signs = 0

        def report_progress(self, part: float | None, note: str) -> None:
            if part is not None or not note.startswith("opening book: the positions of ply "):
                raise Interrupted("so far it was only gone through")
            self.signs += 1

    runtime = Heard()
    with pytest.raises(Interrupted):
        book.build_book(runtime, EMPTY_POSITION, (6,))
    assert runtime.signs > 10


def test_a_killed_run_keeps_its_last_checkpoint() -> None:
    class Killed(BaseException):
        pass

    class Mortal(SearchRuntime):
        found = 0

        def report_progress(self, part: float | None, note: str) -> None:
            self.found += part is not None and "of" in note
            if self.found > 20:
                raise Killed

    runtime = Mortal(count(0, 3).__next__)
    with pytest.raises(Killed):
        book.build_book(runtime, START, (3,))
    assert 10 < len(book.load_book(runtime.cache, START)) <= 21


class Timed(SearchRuntime):
    """A runtime whose remaining time decreases by a second with each query."""

    def __init__(self, looks: float) -> None:
        super().__init__()
        self.looks = looks

    def seconds_left(self) -> float:  # type: ignore[override]
        self.looks -= 1
        return self.looks


def test_building_a_book_ends_before_the_deadline_and_reports_its_progress() -> None:
    runtime = Timed(30)
    with pytest.raises(Interrupted, match="too short to continue") as caught:
        book.build_book(runtime, START, STAGES)
    stored_book = book.load_book(runtime.cache, START)
    assert (
        caught.value.partial_result
        == f"the opening book has {len(stored_book)} positions; all up to ply {stored_book.complete}"
    )
    assert stored_book.plies > stored_book.complete > 0
    (table,) = book.build_book(InterruptedRuntime(1000, runtime), START, STAGES).tables
    assert [row[0] for row in table.rows] == [0, 1, 2, 3]
    assert all(level == solved for _, level, solved in table.rows)


@pytest.mark.parametrize("damage", ["short", "shuffled", "foreign", "other start", "empty"])
def test_an_invalid_book_is_ignored(damage: str) -> None:
    runtime, right = build_whole_book()
    numbers = array("Q", right)
    match damage:
        case "short":
            runtime.cache.save(book.CACHE_NAME, [right[:-3]])
        case "shuffled":
            numbers[5], numbers[6] = numbers[6], numbers[5]
            runtime.cache.save(book.CACHE_NAME, [numbers.tobytes()])
        case "foreign":
            numbers.byteswap()
            runtime.cache.save(book.CACHE_NAME, [numbers.tobytes()])
        case "empty":
            runtime.cache.save(book.CACHE_NAME, [b""])
    start = EMPTY_POSITION if damage == "other start" else START
    assert len(book.load_book(runtime.cache, start)) == 0


def test_the_empty_board_is_answered_from_the_book() -> None:
    """The scores of one ply suffice: those of the columns."""
    columns = (-2, -1, 0, 1, 0, -1, -2)
    scores = {EMPTY_POSITION.key: 1}
    scores |= {Position(0, 1 << 7 * column).key: -score for column, score in enumerate(columns)}
    runtime = InterruptedRuntime(0, SearchRuntime())
    book.save_book(runtime.cache, EMPTY_POSITION, scores, 1, 1)
    answer = connect_four.solve(connect_four.parse(connect_four.BOARDS["empty"], "empty"), SolveMode.FIRST, runtime)
    assert tuple(row[1] for row in answer.tables[0].rows) == columns
    assert answer.details["opening_book"] == "5 positions, complete up to 1 disc"
    assert answer.details["best_columns"] == "4 (D)"


def test_positions_outside_the_book_are_searched_with_it() -> None:
    """A wrong book leads to a wrong score, which proves that it is used."""
    board = connect_four.parse("333115733355541712672671", "mine")
    here = position_of(board)
    truth = Search(SearchRuntime(), board.discs, "test").exact_score(here)
    known = {after.key: 18 for after in book.child_positions([here])}
    lied = Search(
        SearchRuntime(), board.discs, "test", lambda key: known.get(key, book.UNKNOWN), board.discs + 1
    ).exact_score(here)
    assert lied != truth
    right = {
        after.key: Search(SearchRuntime(), 25, "test").exact_score(after) for after in book.child_positions([here])
    }
    used = Search(SearchRuntime(), board.discs, "test", lambda key: right.get(key, book.UNKNOWN), board.discs + 1)
    assert used.exact_score(here) == truth
    assert used.nodes < 40
