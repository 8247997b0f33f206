"""Panguru's shortest solutions, against known results and breadth-first search."""

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
from pi_appliance.puzzles.panguru.solve import ShortestPathSearch, pack_board
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from tests.examples import examples
from tests.installation import ROOT
from tests.puzzles.panguru.brute_force import SMALL_TABLE, all_positions, breadth_first, is_solution, scramble

# Plates, pebbles, fewest moves, number of shortest solutions.
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
    answer = panguru.solve(board, SolveMode.FEWEST, SearchRuntime())
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
    answer = panguru.solve(panguru.parse(panguru.BOARDS[name], name), SolveMode.COUNT, SearchRuntime())
    assert (answer.details["moves"], answer.count) == (moves, count)


def test_the_original_has_63_edges_and_diameter_2() -> None:
    reachable = panguru.reachable_places(panguru.parse(panguru.BOARDS["original"], "original"))
    assert sum(map(len, reachable)) == 2 * 63
    for place in range(15):
        assert {place, *reachable[place], *(end for over in reachable[place] for end in reachable[over])} == set(
            range(15)
        )


@pytest.mark.slow  # a smaller table is compared daily
@pytest.mark.skipif(
    kernel_mode(kernel) == "plain" and os.environ.get("PI_APPLIANCE_LONG") != "1",
    reason="half a minute in plain Python: PI_APPLIANCE_LONG=1",
)
def test_the_difficulty_table_of_the_docs() -> None:
    text = (ROOT / "docs" / "puzzles" / "panguru.md").read_text("utf-8")
    _, _, table = text.partition("| fewest moves | boards |")
    documented = re.findall(r"^\| (\d+) \| (\d+) \| ([\d.,]+) \| ([\d,]+) \|$", table, re.MULTILINE)
    table = panguru.difficulty(panguru.parse(panguru.BOARDS["original"]), range(1_000))
    assert [
        (str(moves), str(boards), f"{middle:,g}", f"{most:,}") for moves, boards, middle, most, _ in table.rows
    ] == documented


def test_a_board_beyond_the_twenty_moves_of_the_original() -> None:
    board = panguru.parse(panguru.BOARDS["twenty-one"], "twenty-one")
    answer = panguru.solve(board, SolveMode.COUNT, SearchRuntime())
    assert (answer.details["moves"], answer.count, next(answer.solutions, None)) == (21, 1694, None)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 1_000_000), st.integers(0, 7))
def test_scrambled_boards_match_breadth_first_search(seed: int, moves: int) -> None:
    plates, pebbles = scramble(seed, moves)
    lines = list(panguru.solve(Board(plates, pebbles), SolveMode.FEWEST, SearchRuntime()).solutions)
    assert set(lines) == breadth_first(plates, pebbles)
    assert len(lines) == len(set(lines))


@settings(max_examples=examples(15), deadline=None)
@given(st.integers(0, 1_000_000), st.sampled_from(["AABBCCDDE", "AAABBBCCC", "ABCDEEEEE", "AAAAAAAAB"]))
def test_small_boards_match_breadth_first_search(seed: int, colours: str) -> None:
    plates, pebbles = scramble(seed, 40, colours)
    answer = panguru.solve(Board(plates, pebbles), SolveMode.FEWEST, SearchRuntime())
    assert set(answer.solutions) == breadth_first(plates, pebbles, SMALL_TABLE)


def test_all_modes_agree() -> None:
    board = panguru.parse(panguru.BOARDS["rainbow"], "rainbow")
    fewest, first, count = (
        panguru.solve(board, mode, SearchRuntime()) for mode in (SolveMode.FEWEST, SolveMode.FIRST, SolveMode.COUNT)
    )
    (line,) = first.solutions
    assert line in set(fewest.solutions)
    assert (first.count, count.count, fewest.count) == (None, 26, 26)
    assert not list(count.solutions)
    assert fewest.nodes_searched() > 0


@pytest.mark.parametrize("listed", [1_000, pytest.param(56806, marks=pytest.mark.slow)])
def test_solutions_are_lazy(listed: int) -> None:
    board = Board("DFHGIWECBA", "CB-AEFHDGI")
    answer = panguru.solve(board, SolveMode.FEWEST, SearchRuntime())
    assert (answer.details["moves"], answer.count) == (18, 56806)
    some = list(islice(answer.solutions, 100))
    assert len(set(some)) == 100
    assert all(panguru.check(board, line) for line in some)
    assert sum(1 for _ in islice(answer.solutions, listed - 100)) == listed - 100
    assert (next(answer.solutions, None) is None) == (listed == answer.count)


def test_a_solved_board_takes_no_move() -> None:
    board = Board("WAB", "-AB")
    answer = panguru.solve(board, SolveMode.FEWEST, SearchRuntime())
    assert (list(answer.solutions), answer.count, answer.details["moves"]) == ([()], 1, 0)
    assert panguru.notate(board, ()) == "0"
    assert panguru.hint(board, SearchRuntime()) == "it is solved"


def test_following_hints_solves_the_board() -> None:
    board = panguru.parse(panguru.BOARDS["slide"], "slide")
    for remaining in range(7, -1, -1):
        text = panguru.hint(board, SearchRuntime())
        assert text.endswith("then 1 move is left" if remaining == 1 else f"then {remaining} moves are left")
        words = text.split()
        start, end = int(words[words.index("from") + 1]), int(words[words.index("to") + 1].strip(";"))
        assert (board.pebbles[start], end) == (words[3], board.hole)
        lies = list(board.pebbles)
        lies[start], lies[end] = lies[end], lies[start]
        board = Board(board.plates, "".join(lies))
    assert panguru.hint(board, SearchRuntime()) == "it is solved"


def table_of(board: Board) -> list[list[int]]:
    return [list(places) for places in panguru.reachable_places(board)]


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_solvability_with_custom_moves_matches_an_exhaustive_search(data: st.DataObject) -> None:
    """Any graph of six places, connected or not."""
    pairs = [(one, other) for one in range(6) for other in range(one)]
    lines = tuple(data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=9, unique=True)))
    colours = data.draw(st.sampled_from(["ABCDE", "AABBC", "AAABB"]))
    plates, pebbles = ("".join(data.draw(st.permutations(first + colours))) for first in "W-")
    board = Board(plates, pebbles, lines)
    answer = panguru.solve(board, SolveMode.FEWEST, SearchRuntime())
    if plates.replace("W", "-") in all_positions(pebbles, table_of(board)):
        assert set(answer.solutions) == breadth_first(plates, pebbles, table_of(board))
    else:
        assert (answer.count, answer.proof, list(answer.solutions)) == (0, Proof.PARITY, [])
        assert answer.reason
        assert panguru.hint(board, SearchRuntime()).startswith("no moves solve this board")


GRAPHS = {
    "a ladder, which is bipartite": "0-1-2-3 4-5-6-7 0-4 1-5 2-6 3-7",
    "a cycle": "0-1 1-2 2-3 3-4 4-5 5-6 6-7 7-0",
    "a cycle with an odd chord": "0-1 1-2 2-3 3-4 4-5 5-6 6-7 7-0 0-2",
    "two blocks that share a place": "0-1 1-2 2-3 3-0 3-4 4-5 5-6 6-7 7-3 3-5",
    "the exception of seven places, and a tail": "0-1 1-2 2-3 3-4 4-5 5-0 0-6 6-3 3-7",
    "a long theta": "0-1 1-2 2-3 3-4 4-5 5-0 0-6 6-7 7-3",
}


@pytest.mark.slow_variants
@pytest.mark.parametrize("name", GRAPHS)
def test_solvability_on_larger_graphs(name: str) -> None:
    """Eight of ten places are connected; the other two keep their pebbles."""
    own = tuple(tuple(map(int, line.split("-"))) for line in GRAPHS[name].split())
    begin = "-ABCDEFGHI"
    table = table_of(Board("WABCDEFGHI", begin, tuple(pair for line in own for pair in pairwise(line))))
    can = all_positions(begin, table)
    random = Random(2)
    verdicts = set()
    for number in range(60):
        goal = "".join(random.sample(begin[:8], 8)) + begin[8:] if number % 2 else random.choice(sorted(can)[::97])
        board = Board(goal.replace("-", "W"), begin, tuple(pair for line in own for pair in pairwise(line)))
        solvable = not panguru.explain_unsolvable(board)
        assert solvable == (goal in can), goal
        verdicts.add(solvable)
    assert verdicts == ({True} if name == "a cycle with an odd chord" else {True, False})


def test_boards_are_generated_from_seeds() -> None:
    board = panguru.parse(panguru.BOARDS["original"], "original")
    generated = [panguru.generate(seed, board, SearchRuntime()).board for seed in (1, 2, 1)]
    assert generated[0] == generated[2] != generated[1]
    assert sorted(generated[0].plates) == sorted(board.plates)
    ladder = Board("WABCDEFGHI", "-ABCDEFGHI", ((0, 1), (1, 2), (2, 3), (3, 0)))
    for seed in range(20):
        assert not panguru.explain_unsolvable(panguru.generate(seed, ladder, SearchRuntime()).board)


def test_difficulty_of_random_boards() -> None:
    board = panguru.with_rules(panguru.parse(panguru.BOARDS["original"], "original"), {"random": "40"})
    table = panguru.solve(board, SolveMode.COUNT, SearchRuntime()).tables[-1]
    assert table.title == "Difficulty of 40 random boards"
    assert sum(row[1] for row in table.rows) == 40
    for moves, _, _, _, seed in table.rows[:3]:
        generated = panguru.generate(int(seed), board, SearchRuntime()).board
        assert (
            panguru.solve(Board(generated.plates, generated.pebbles), SolveMode.FIRST, SearchRuntime()).details["moves"]
            == moves
        )
    again = panguru.difficulty(board, range(40))
    assert again == table


def test_plain_and_compiled_kernels_agree(plain_and_compiled) -> None:
    """The same rounds, levels and counts, move for move."""
    rainbow = panguru.parse(panguru.BOARDS["rainbow"], "rainbow")
    boards = [panguru.parse(drawing, name) for name, drawing in panguru.BOARDS.items()]
    boards += [panguru.generate(seed, rainbow, SearchRuntime()).board for seed in range(5)]
    for board in boards:
        plain, compiled = (trace_kernel(kernel, board) for kernel in plain_and_compiled("panguru/kernel"))
        assert plain == compiled
        assert plain[-1] == panguru.solve(board, SolveMode.COUNT, SearchRuntime()).count


def trace_kernel(kernel: ModuleType, board: Board) -> tuple[list[object], int]:
    """Return the intermediate results of `kernel` and the number of shortest solutions of `board`."""
    packed = pack_board(board)
    tables = kernel.MoveTables(*packed.table_arguments)
    tables.unpack(packed.start)
    bound, trace = tables.heuristic(), []
    while True:
        ida_round = kernel.IdaRound(tables, packed.start, bound, 1 << 14)
        while (outcome := ida_round.run(777)) == kernel.BUDGET_SPENT:
            trace.append((ida_round.nodes, ida_round.depth))
        trace.append((bound, outcome, ida_round.nodes, ida_round.hole_path()))
        if outcome == kernel.FOUND:
            break
        bound = ida_round.next_bound
    levels = [array("Q", [packed.start])]
    for moves_left in range(bound - 1, -1, -1):
        after: set[int] = set()
        tables.expand(levels[-1], 0, len(levels[-1]), moves_left, after)
        levels.append(array("Q", sorted(after)))
    counts = {packed.goal: 1}
    for level in levels[-2::-1]:
        before: dict[int, int] = {}
        tables.count_paths(level, 0, len(level), counts, before)
        counts = before
    return [*trace, *map(list, levels)], counts[packed.start]


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


def test_an_interrupted_search_reports_its_bound_and_resumes() -> None:
    rainbow = panguru.parse(panguru.BOARDS["rainbow"], "rainbow")
    board, runtime = panguru.generate(5, rainbow, SearchRuntime()).board, InterruptedRuntime(5)
    whole = panguru.solve(board, SolveMode.FIRST, SearchRuntime())
    with pytest.raises(Interrupted) as caught:
        panguru.solve(board, SolveMode.FIRST, runtime)
    proven = int(caught.value.partial_result.removeprefix("it takes ").removesuffix(" moves or more"))
    assert 10 < proven <= whole.details["moves"]
    assert len(list(runtime.cache.names())) == 1
    runtime.reports = 1_000_000
    runtime.notes.clear()
    rest = panguru.solve(board, SolveMode.FIRST, runtime)
    assert rest.details["moves"] == whole.details["moves"]
    assert int(runtime.notes[0].split()[-3]) >= proven
    assert rest.nodes_searched() < whole.nodes_searched()
    assert not list(runtime.cache.names())
    assert is_solution(board.plates, board.pebbles, next(rest.solutions))


def test_a_search_interrupted_while_counting_reports_the_fewest_moves() -> None:
    board, notes = panguru.parse(panguru.BOARDS["twenty-one"], "twenty-one"), InterruptedRuntime(1_000_000)
    panguru.solve(board, SolveMode.COUNT, notes)
    tried = sum("tried" in note for note in notes.notes)
    runtime = InterruptedRuntime(tried + 5)
    with pytest.raises(Interrupted) as caught:
        panguru.solve(board, SolveMode.COUNT, runtime)
    assert caught.value.partial_result == "it takes 21 moves; the solutions are not counted"
    runtime.reports = 1_000_000
    runtime.notes.clear()
    assert panguru.solve(board, SolveMode.COUNT, runtime).count == 1694
    assert sum("tried" in note for note in runtime.notes) < max(tried, 2)
    assert not list(runtime.cache.names())


def test_short_rounds_report_progress() -> None:
    """On a cycle with a chord, a solution may need a hundred moves more than the bound, one round each."""
    cycle = " ".join(f"{at}-{at + 1}" for at in range(14))
    like = panguru.with_rules(Board("WABCDEFGHIJKLMN", "-ABCDEFGHIJKLMN"), {"moves": f"{cycle} 14-0 0-2"})
    runtime = InterruptedRuntime(20)
    with pytest.raises(Interrupted):
        panguru.solve(panguru.generate(3, like, SearchRuntime()).board, SolveMode.FIRST, runtime)
    tried = [int(note.split()[0].replace(",", "")) for note in runtime.notes]
    assert max(after - before for before, after in pairwise([0, *tried])) < 20_000


class InterruptedTableRuntime(InterruptedRuntime):
    """A runtime that counts the reports of a table only."""

    def report_progress(self, part: float | None, note: str) -> None:
        if part is not None:
            super().report_progress(part, note)


def test_an_interrupted_table_reports_the_solved_boards() -> None:
    board = panguru.with_rules(panguru.parse(panguru.BOARDS["small"], "small"), {"random": "100"})
    with pytest.raises(Interrupted) as caught:
        panguru.solve(board, SolveMode.COUNT, InterruptedTableRuntime(1))
    expected = "it takes 11 moves; 40 of 100 random boards solved, none of which takes more than 1"
    assert caught.value.partial_result.startswith(expected)


def test_a_table_can_be_interrupted_within_a_board() -> None:
    board = panguru.with_rules(panguru.parse(panguru.BOARDS["small"], "small"), {"random": "100"})
    runtime = InterruptedRuntime(40)
    with pytest.raises(Interrupted) as caught:
        panguru.solve(board, SolveMode.COUNT, runtime)
    assert caught.value.partial_result == "it takes 11 moves; 0 of 100 random boards solved"
    assert not list(runtime.cache.names()), "random boards save no checkpoints"


def test_memory_is_checked_before_large_levels() -> None:
    asked: list[int] = []
    runtime = SearchRuntime()
    runtime.require_memory = lambda size, what: asked.append(size)  # type: ignore[method-assign]  # noqa: ARG005
    search = ShortestPathSearch(Board("DFHGIWECBA", "CB-AEFHDGI"), runtime, checked_positions=5_000)
    search.find_first()
    positions = sum(map(len, search.count_levels()))
    assert asked[-1] > 100 * positions > 100 * 5_000
    assert len(asked) > 3
