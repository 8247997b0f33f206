"""Panguru: the fewest moves and all lines that take no more, against facts and breadth-first search."""

import os
import re
from array import array
from itertools import islice, pairwise
from random import Random
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.puzzles import Proof, SolveMode, kernel_mode, panguru
from pi_appliance.puzzles.panguru import Board, kernel
from pi_appliance.puzzles.panguru.ground import position_of
from pi_appliance.puzzles.panguru.solve import Search
from pi_appliance.puzzles.runtime.interface import Interrupted, SerialRuntime
from tests.house import ROOT
from tests.puzzles.panguru_plain import SMALL_TABLE, breadth_first, reached, replayed, scrambled

# Plates, pebbles, fewest moves, lines that take no more.
KNOWN = """
WCBRBOGYGPCORPY -PCBRYOGYGBCORP 16 12
AFGFEBGDACECBDW FFDAGBGEACEB-DC 9 22
AEGBBWEDDCFGACF A-GBGAEDDCEBFCF 6 2
WFCFEEADCDAGBGB AFEFDB-CEDAGCGB 8 3
WFCGAADCEEFGBDB FF-GAADCEEBCDGB 5 1
ABCWCFBDFGEAEDG BGCAGFDAD-CBEFE 16 100
ABCGFCWAEFDEGBD CAEGDBAFE-FDGCB 15 21
DECAWFFACGBBEDG FCGB-BEFDGADACE 17 246
DWFEBACFEGBDGAC DAB-EEFFBGGCACD 13 3
AGFAFCBECBEDDGW ACDE-FECFAGDGBB 16 76
"""


@pytest.mark.parametrize("row", KNOWN.strip().splitlines())
def test_the_known_boards(row: str) -> None:
    plates, pebbles, moves, count = row.split()
    board = Board(plates, pebbles)
    answer = panguru.solve(board, SolveMode.FEWEST, SerialRuntime())
    lines = list(answer.solutions)
    assert answer.details["moves"] == int(moves)
    assert answer.count == len(lines) == len(set(lines)) == int(count)
    assert all(len(line) == int(moves) and panguru.check(board, line) for line in lines)
    assert sum(row[1] for row in answer.tables[0].rows) == int(count)


@pytest.mark.parametrize(
    ("name", "moves", "count"),
    [("original", 16, 12), ("twenty-one", 21, 1_694), ("slide", 8, 1), ("rainbow", 19, 26), ("small", 11, 2)],
)
def test_the_named_boards(name: str, moves: int, count: int) -> None:
    answer = panguru.solve(panguru.parse(panguru.BOARDS[name], name), SolveMode.COUNT, SerialRuntime())
    assert (answer.details["moves"], answer.count) == (moves, count)


def test_the_moves_of_the_original_are_63_edges_and_two_lead_from_anywhere_to_anywhere() -> None:
    far = panguru.reach(panguru.parse(panguru.BOARDS["original"], "original"))
    assert sum(map(len, far)) == 2 * 63
    for place in range(15):
        assert {place, *far[place], *(end for over in far[place] for end in far[over])} == set(range(15))


@pytest.mark.skipif(
    kernel_mode(kernel) == "plain" and os.environ.get("PI_APPLIANCE_LONG") != "1",
    reason="half a minute in plain Python: PI_APPLIANCE_LONG=1",
)
def test_a_thousand_random_boards_are_as_hard_as_the_docs_say() -> None:
    text = (ROOT / "docs" / "puzzles" / "panguru.md").read_text("utf-8")
    _, _, table = text.partition("| fewest moves | boards |")
    told = re.findall(r"^\| (\d+) \| (\d+) \| ([\d.,]+) \| ([\d,]+) \|$", table, re.MULTILINE)
    table = panguru.difficulty(range(1_000), SerialRuntime(), panguru.parse(panguru.BOARDS["original"], "original"))
    assert [
        (str(moves), str(boards), f"{middle:,g}", f"{most:,}") for moves, boards, middle, most, _ in table.rows
    ] == told


def test_a_board_beyond_the_twenty_moves_of_the_original() -> None:
    board = panguru.parse(panguru.BOARDS["twenty-one"], "twenty-one")
    answer = panguru.solve(board, SolveMode.COUNT, SerialRuntime())
    assert (answer.details["moves"], answer.count, next(answer.solutions, None)) == (21, 1694, None)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1_000_000), st.integers(0, 7))
def test_a_scramble_against_breadth_first_search(seed: int, moves: int) -> None:
    plates, pebbles = scrambled(seed, moves)
    lines = list(panguru.solve(Board(plates, pebbles), SolveMode.FEWEST, SerialRuntime()).solutions)
    assert set(lines) == breadth_first(plates, pebbles)
    assert len(lines) == len(set(lines))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1_000_000), st.sampled_from(["AABBCCDDE", "AAABBBCCC", "ABCDEEEEE", "AAAAAAAAB"]))
def test_a_small_board_against_breadth_first_search(seed: int, colours: str) -> None:
    plates, pebbles = scrambled(seed, 40, colours)
    answer = panguru.solve(Board(plates, pebbles), SolveMode.FEWEST, SerialRuntime())
    assert set(answer.solutions) == breadth_first(plates, pebbles, SMALL_TABLE)


def test_the_three_wishes_agree() -> None:
    board = panguru.parse(panguru.BOARDS["rainbow"], "rainbow")
    fewest, first, count = (
        panguru.solve(board, mode, SerialRuntime()) for mode in (SolveMode.FEWEST, SolveMode.FIRST, SolveMode.COUNT)
    )
    (line,) = first.solutions
    assert line in set(fewest.solutions)
    assert (first.count, count.count, fewest.count) == (None, 26, 26)
    assert not list(count.solutions)
    assert fewest.nodes_searched() > 0


def test_lines_are_found_as_they_are_asked_for() -> None:
    board = Board("DFHGIWECBA", "CB-AEFHDGI")
    answer = panguru.solve(board, SolveMode.FEWEST, SerialRuntime())
    assert (answer.details["moves"], answer.count) == (18, 56806)
    some = list(islice(answer.solutions, 100))
    assert len(set(some)) == 100
    assert all(panguru.check(board, line) for line in some)
    assert sum(1 for _ in answer.solutions) == 56806 - 100


def test_a_solved_board_takes_no_move() -> None:
    board = Board("WAB", "-AB")
    answer = panguru.solve(board, SolveMode.FEWEST, SerialRuntime())
    assert (list(answer.solutions), answer.count, answer.details["moves"]) == ([()], 1, 0)
    assert panguru.notate(board, ()) == "0"
    assert panguru.hint(board, SerialRuntime()) == "it is solved"


def test_following_the_hints_solves_the_board() -> None:
    board = panguru.parse(panguru.BOARDS["slide"], "slide")
    for left in range(7, -1, -1):
        told = panguru.hint(board, SerialRuntime())
        assert told.endswith("then 1 move is left" if left == 1 else f"then {left} moves are left")
        words = told.split()
        start, end = int(words[words.index("from") + 1]), int(words[words.index("to") + 1].strip(";"))
        assert (board.pebbles[start], end) == (words[3], board.hole)
        lies = list(board.pebbles)
        lies[start], lies[end] = lies[end], lies[start]
        board = Board(board.plates, "".join(lies))
    assert panguru.hint(board, SerialRuntime()) == "it is solved"


def table_of(board: Board) -> list[list[int]]:
    return [list(places) for places in panguru.reach(board)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whether_own_moves_solve_a_board_is_known(data: st.DataObject) -> None:
    """Any graph of six places, connected or not, against a look at everything that can be reached."""
    pairs = [(one, other) for one in range(6) for other in range(one)]
    lines = tuple(data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=9, unique=True)))
    colours = data.draw(st.sampled_from(["ABCDE", "AABBC", "AAABB"]))
    plates, pebbles = ("".join(data.draw(st.permutations(first + colours))) for first in "W-")
    board = Board(plates, pebbles, lines)
    answer = panguru.solve(board, SolveMode.FEWEST, SerialRuntime())
    if plates.replace("W", "-") in reached(pebbles, table_of(board)):
        assert set(answer.solutions) == breadth_first(plates, pebbles, table_of(board))
    else:
        assert (answer.count, answer.proof, list(answer.solutions)) == (0, Proof.PARITY, [])
        assert answer.reason
        assert panguru.hint(board, SerialRuntime()).startswith("no moves solve this board")


GRAPHS = {
    "a ladder, which is bipartite": "0-1-2-3 4-5-6-7 0-4 1-5 2-6 3-7",
    "a circle": "0-1 1-2 2-3 3-4 4-5 5-6 6-7 7-0",
    "a circle with an odd chord": "0-1 1-2 2-3 3-4 4-5 5-6 6-7 7-0 0-2",
    "two blocks that share a place": "0-1 1-2 2-3 3-0 3-4 4-5 5-6 6-7 7-3 3-5",
    "the exception of seven places, and a tail": "0-1 1-2 2-3 3-4 4-5 5-0 0-6 6-3 3-7",
    "a long theta": "0-1 1-2 2-3 3-4 4-5 5-0 0-6 6-7 7-3",
}


@pytest.mark.parametrize("name", GRAPHS)
def test_what_larger_graphs_can_do_is_known(name: str) -> None:
    """Eight of ten places hang together; the other two keep their pebbles."""
    own = tuple(tuple(map(int, line.split("-"))) for line in GRAPHS[name].split())
    begin = "-ABCDEFGHI"
    table = table_of(Board("WABCDEFGHI", begin, tuple(pair for line in own for pair in pairwise(line))))
    can = reached(begin, table)
    dice = Random(2)
    verdicts = set()
    for number in range(60):
        goal = "".join(dice.sample(begin[:8], 8)) + begin[8:] if number % 2 else dice.choice(sorted(can)[::97])
        board = Board(goal.replace("-", "W"), begin, tuple(pair for line in own for pair in pairwise(line)))
        solvable = not panguru.why_not(board)
        assert solvable == (goal in can), goal
        verdicts.add(solvable)
    assert verdicts == ({True} if name == "a circle with an odd chord" else {True, False})


def test_a_board_is_made_from_its_seed() -> None:
    board = panguru.parse(panguru.BOARDS["original"], "original")
    made = [panguru.generate(seed, board, SerialRuntime()).board for seed in (1, 2, 1)]
    assert made[0] == made[2] != made[1]
    assert sorted(made[0].plates) == sorted(board.plates)
    ladder = Board("WABCDEFGHI", "-ABCDEFGHI", ((0, 1), (1, 2), (2, 3), (3, 0)))
    for seed in range(20):
        assert not panguru.why_not(panguru.generate(seed, ladder, SerialRuntime()).board)


def test_how_hard_random_boards_are() -> None:
    board = panguru.with_rules(panguru.parse(panguru.BOARDS["original"], "original"), {"random": "40"})
    table = panguru.solve(board, SolveMode.COUNT, SerialRuntime()).tables[-1]
    assert table.title == "How hard 40 random boards are"
    assert sum(row[1] for row in table.rows) == 40
    for moves, _, _, _, seed in table.rows[:3]:
        made = panguru.generate(int(seed), board, SerialRuntime()).board
        assert (
            panguru.solve(Board(made.plates, made.pebbles), SolveMode.FIRST, SerialRuntime()).details["moves"] == moves
        )
    again = panguru.difficulty(range(40), SerialRuntime(), board)
    assert again == table


def test_both_ways_of_the_kernel_do_the_same(both_ways) -> None:
    """The same walks, the same levels and the same numbers, move for move."""
    rainbow = panguru.parse(panguru.BOARDS["rainbow"], "rainbow")
    boards = [panguru.parse(drawing, name) for name, drawing in panguru.BOARDS.items()]
    boards += [panguru.generate(seed, rainbow, SerialRuntime()).board for seed in range(5)]
    for board in boards:
        plain, compiled = (told_by(kernel, board) for kernel in both_ways("panguru/kernel"))
        assert plain == compiled
        assert plain[-1] == panguru.solve(board, SolveMode.COUNT, SerialRuntime()).count


def told_by(kernel: ModuleType, board: Board) -> tuple[list[object], int]:
    """Return what KERNEL says on the way to the number of shortest lines of BOARD."""
    position = position_of(board)
    ground = kernel.Ground(*position.tables)
    ground.unpack(position.start)
    bound, told = ground.estimate(), []
    while True:
        walk = kernel.Walk(ground, position.start, bound, 1 << 14)
        while (said := walk.run(777)) == kernel.MORE:
            told.append((walk.nodes, walk.depth))
        told.append((bound, said, walk.nodes, walk.line()))
        if said == kernel.FOUND:
            break
        bound = walk.beyond
    levels = [array("Q", [position.start])]
    for left in range(bound - 1, -1, -1):
        after: set[int] = set()
        ground.grow(levels[-1], 0, len(levels[-1]), left, after)
        levels.append(array("Q", sorted(after)))
    ways = {position.goal: 1}
    for level in levels[-2::-1]:
        before: dict[int, int] = {}
        ground.weigh(level, 0, len(level), ways, before)
        ways = before
    return [*told, *map(list, levels)], ways[position.start]


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


def test_a_search_that_is_cut_off_says_what_is_proven_and_goes_on_from_there() -> None:
    rainbow = panguru.parse(panguru.BOARDS["rainbow"], "rainbow")
    board, runtime = panguru.generate(5, rainbow, SerialRuntime()).board, Cut(5)
    whole = panguru.solve(board, SolveMode.FIRST, SerialRuntime())
    with pytest.raises(Interrupted) as caught:
        panguru.solve(board, SolveMode.FIRST, runtime)
    proven = int(caught.value.partial_result.removeprefix("it takes ").removesuffix(" moves or more"))
    assert 10 < proven <= whole.details["moves"]
    assert len(list(runtime.cache.names())) == 1
    runtime.patience = 1_000_000
    runtime.notes.clear()
    rest = panguru.solve(board, SolveMode.FIRST, runtime)
    assert rest.details["moves"] == whole.details["moves"]
    assert int(runtime.notes[0].split()[-3]) >= proven
    assert rest.nodes_searched() < whole.nodes_searched()
    assert not list(runtime.cache.names())
    assert replayed(board.plates, board.pebbles, next(rest.solutions))


def test_a_search_that_is_cut_off_while_its_lines_are_counted_says_how_many_moves_there_are() -> None:
    board, notes = panguru.parse(panguru.BOARDS["twenty-one"], "twenty-one"), Cut(1_000_000)
    panguru.solve(board, SolveMode.COUNT, notes)
    tried = sum("tried" in note for note in notes.notes)
    runtime = Cut(tried + 5)
    with pytest.raises(Interrupted) as caught:
        panguru.solve(board, SolveMode.COUNT, runtime)
    assert caught.value.partial_result == "it takes 21 moves; the lines are not counted"
    runtime.patience = 1_000_000
    runtime.notes.clear()
    assert panguru.solve(board, SolveMode.COUNT, runtime).count == 1694
    assert sum("tried" in note for note in runtime.notes) < max(tried, 2)
    assert not list(runtime.cache.names())


def test_many_short_rounds_are_heard_of() -> None:
    """On a circle with a chord, a line may take a hundred moves more than it seems to: a round for each of them."""
    circle = " ".join(f"{at}-{at + 1}" for at in range(14))
    like = panguru.with_rules(Board("WABCDEFGHIJKLMN", "-ABCDEFGHIJKLMN"), {"moves": f"{circle} 14-0 0-2"})
    runtime = Cut(20)
    with pytest.raises(Interrupted):
        panguru.solve(panguru.generate(3, like, SerialRuntime()).board, SolveMode.FIRST, runtime)
    tried = [int(note.split()[0].replace(",", "")) for note in runtime.notes]
    assert max(after - before for before, after in pairwise([0, *tried])) < 20_000


class CutAtTheTable(Cut):
    """Work that hears of a table only."""

    def report_progress(self, part: float | None, note: str) -> None:
        if part is not None:
            super().report_progress(part, note)


def test_a_table_that_is_cut_off_says_how_many_boards_are_solved() -> None:
    board = panguru.with_rules(panguru.parse(panguru.BOARDS["small"], "small"), {"random": "100"})
    with pytest.raises(Interrupted) as caught:
        panguru.solve(board, SolveMode.COUNT, CutAtTheTable(1))
    told = "it takes 11 moves; 40 of 100 random boards solved, none of which takes more than 1"
    assert caught.value.partial_result.startswith(told)


def test_a_table_ends_within_a_board_that_takes_long() -> None:
    board = panguru.with_rules(panguru.parse(panguru.BOARDS["small"], "small"), {"random": "100"})
    runtime = Cut(40)
    with pytest.raises(Interrupted) as caught:
        panguru.solve(board, SolveMode.COUNT, runtime)
    assert caught.value.partial_result == "it takes 11 moves; 0 of 100 random boards solved"
    assert not list(runtime.cache.names()), "nothing is kept of one of many boards"


def test_memory_is_asked_for_before_all_levels_take_it() -> None:
    asked: list[int] = []
    runtime = SerialRuntime()
    runtime.require_memory = lambda size, what: asked.append(size)  # type: ignore[method-assign]  # noqa: ARG005
    search = Search(Board("DFHGIWECBA", "CB-AEFHDGI"), runtime, many=5_000)
    search.first()
    positions = sum(map(len, search.levels()))
    assert asked[-1] > 100 * positions > 100 * 5_000
    assert len(asked) > 3
