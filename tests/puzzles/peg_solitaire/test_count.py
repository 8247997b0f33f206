"""Count peg solitaire: published numbers, all algorithms, and interrupted counts."""

import os
from collections.abc import Callable
from random import Random
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Answer, SolveMode
from pi_appliance.puzzles.peg_solitaire import Board, Hole, kernel, solve, with_rules
from pi_appliance.puzzles.peg_solitaire import count as count_module
from pi_appliance.puzzles.peg_solitaire.bitboard import PagodaFunction as Weights
from pi_appliance.puzzles.peg_solitaire.bitboard import (
    apply_symmetry,
    find_pagodas,
    find_parity_obstacle,
    is_valid_pagoda,
    to_bitboard,
    to_game,
)
from pi_appliance.puzzles.peg_solitaire.board import BOARDS
from pi_appliance.puzzles.peg_solitaire.count import (
    CountLimitReached,
    CountResult,
    Frontier,
    SolutionCounter,
    foretell_size,
)
from pi_appliance.puzzles.peg_solitaire.notation import parse
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime
from tests.examples import repetitions
from tests.puzzles.peg_solitaire.reference import InterruptedRuntime, jumps, known_board, levels, triangle

LONG = pytest.mark.skipif(
    "PI_APPLIANCE_PEG_PROOFS" not in os.environ, reason="minutes; PI_APPLIANCE_PEG_PROOFS=1 asks for it"
)
# Solutions, positions, jumps of all games, games, and where how many end.
KNOWN = [
    ("cross", 4, 24, 32, 21, {(3, 3): 2, (3, 0): 2}),
    ("plus", 32, 153, 580, 304, {(3, 3): 16, (3, 0): 4, (0, 3): 4, (6, 3): 4, (3, 6): 4}),
    ("fireplace", 8, 718, 15_827, 8_686, {(3, 3): 4, (0, 3): 2, (6, 3): 2}),
    (
        "pyramid",
        10_142_448,
        84_191,
        735_033_270,
        399_040_668,
        {(3, 3): 5_071_224, (3, 0): 2_365_622, (0, 3): 1_340_293, (6, 3): 1_340_293, (3, 6): 25_016},
    ),
    (
        "arrow",
        3_884_200,
        68_522,
        1_575_714_640,
        835_043_470,
        {(3, 3): 1_942_100, (3, 0): 1_059_508, (3, 6): 882_592},
    ),
]
# Rows from top to bottom; solutions, positions, jumps of all games, and the fewest pegs that can be left.
OTHERS = [
    ("  OOO  /  OXO  /OOXXOOO/OXXXOOO/OXXOOXX/  XXX  /  XOO  ", 374_500, 12_831, 13_181_071, 1),
    ("  OXX  /  OXO  /OXXXXOO/OXOOXOO/OXOOXXO/  OXO  /  OXO  ", 25_062, 5_969, 4_556_717, 1),
    ("  OOO  /  OOX  /OOOOXOO/OOOOOXO/OXXOOOO/  OOX  /  OXX  ", 54, 78, 540, 1),
    ("  OXO  /  OOX  /OOOXXXX/OXXXOXO/OOOOXXO/  XXO  /  OOO  ", 234_908, 11_635, 12_012_072, 1),
    ("  OOO  /  OOX  /OXOOXOX/OXXXXOX/OOXOOXX/  OOO  /  OOO  ", 7_781, 1_617, 181_982, 1),
    ("  OOO  /  OOO  /OXXXOOO/OOXXOXX/OOXOOOO/  OOO  /  OOO  ", 242, 210, 1_761, 1),
    ("  XOO  /  XOX  /OOXOOXO/XOOOOOX/OOXXXOO/  OOO  /  XXX  ", 0, 19, 32, 8),
    ("  OOO  /  OXO  /OXOXOOO/OOXOXXO/OOOXOXO/  OOO  /  XXX  ", 0, 60, 169, 5),
]
MET = [
    ("plus", ""),
    ("plus", "3,3"),
    ("fireplace", ""),
    ("fireplace", "0,3"),
    pytest.param("arrow", "", marks=pytest.mark.slow),
    pytest.param(OTHERS[0][0], "", marks=pytest.mark.slow),
    pytest.param(OTHERS[4][0], "", marks=pytest.mark.slow),
]


def count_solutions(board: Board, runtime: SearchRuntime | None = None, **how: int) -> CountResult:
    return SolutionCounter(to_bitboard(board), runtime or SearchRuntime(), **how).run()


def solve_count(board: Board) -> Answer:
    return solve(board, SolveMode.COUNT, SearchRuntime())


@pytest.mark.parametrize(("name", "count", "positions", "tried", "games", "ends"), KNOWN)
def test_a_known_board_is_counted_with_all_its_positions(
    name: str, count: int, positions: int, tried: int, games: int, ends: dict[tuple[int, int], int]
) -> None:
    result = solve_count(known_board(name))
    assert result.count == count
    assert result.details["positions"] == positions
    assert result.details["jumps_of_all_games"] == tried
    assert result.details["games"] == games
    assert dict(result.tables[-1].rows) == {f"{x},{y}": number for (x, y), number in ends.items()}
    assert list(result.solutions) == []
    assert all(solve_count(known_board(name, f"{x},{y}")).count == number for (x, y), number in list(ends.items())[:2])


@pytest.mark.parametrize(("rows", "count", "positions", "tried", "fewest"), OTHERS)
def test_other_boards_are_counted_or_proven_to_have_none(
    rows: str, count: int, positions: int, tried: int, fewest: int
) -> None:
    board = known_board(rows)
    result = count_solutions(board)
    assert (result.count, sum(row[1] for row in result.rows), result.fewest) == (count, positions, fewest)
    assert sum(row[2] for row in result.rows[1:]) == tried
    assert (solve_count(board).proof is None) == (fewest == 1)


@pytest.mark.parametrize("name", ["cross", "plus", "fireplace", OTHERS[4][0], OTHERS[6][0]])
def test_every_level_matches_a_search_with_sets(name: str) -> None:
    board = known_board(name)
    field, slow = to_bitboard(board), levels(board)
    turns = field.stabilizer(frozenset({field.start}))
    number = {hole: at for at, hole in enumerate(board.holes)}
    rows = []
    for level in slow:
        bits = [sum(1 << number[peg] for peg in pegs) for pegs in level]
        classes = {min(apply_symmetry(each, turn) for turn in turns) for each in bits}
        rows.append((len(classes), len(level), sum(level.values())))
    assert count_solutions(board).rows == rows


@pytest.mark.slow
@pytest.mark.parametrize(("name", "goal"), MET)
@pytest.mark.parametrize("small", [0, 20, 300])
def test_meeting_in_the_middle_counts_the_same(name: str, goal: str, small: int) -> None:
    board = known_board(name, goal)
    whole, met = count_solutions(board), count_solutions(board, small=small)
    assert met.count == whole.count
    assert met.all_positions == (whole.classes <= small)
    for holes, ways in met.ends.items():
        assert ways == sum(whole.ends.get((hole,), 0) for hole in holes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows",
    [
        "XXXX/XOXX/XXXX/XXXX",
        "XXXXXX/XXOXXX/XXXXXX",
        "XXXXX/XXXXX/XXOXX/ XXX ",
    ],
)
def test_a_time_reversed_board_matches_a_count_with_sets(rows: str) -> None:
    """The way back is not done there; with an odd and an even number of pegs, and from starts of several kinds."""
    board = known_board(rows)
    slow = levels(board)
    ends = {hole: ways for pegs, ways in slow[-1].items() for hole in pegs if len(pegs) == 1}
    for goal in (*ends, None):
        aimed = Board(board.holes, board.pegs, goal)
        for small in (0, 5, 40):
            met = count_solutions(aimed, small=small)
            assert met.count == (ends[goal] if goal else sum(ends.values()))


rows = st.lists(st.text("XXO ", min_size=5, max_size=5), min_size=3, max_size=4)


@settings(max_examples=8, deadline=None)
@given(rows=rows, triangular=st.booleans(), data=st.data())
def test_all_kinds_of_counts_agree_on_random_boards(rows: list[str], triangular: bool, data: st.DataObject) -> None:
    drawn = parse("\n".join(["XXO", *rows]), "random")
    pegs = frozenset(sorted(drawn.pegs, key=lambda hole: (hole.x * 7 + hole.y * 5) % 11)[:9])
    goal = data.draw(st.sampled_from([None, *drawn.holes]))
    board = Board(drawn.holes, pegs, goal, triangular=triangular)
    slow = levels(board)
    last = slow[-1]
    expected = sum(ways for pegs in last for ways in [last[pegs]] if len(pegs) == 1 and (goal is None or goal in pegs))
    assert count_solutions(board).count == expected
    assert count_solutions(board, small=0).count == expected
    assert solve_count(board).count == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["arrow", "full"])
def test_pagoda_functions_never_discard_a_winning_position(name: str) -> None:
    """Check along random games, forward from the start and backward from the end."""
    board = known_board(name)
    field = to_bitboard(board)
    pairs = [pair for orbit in field.final_pairs() for pair in orbit]
    proofs = find_pagodas(field, [field.start], pairs, field.symmetries, SearchRuntime())
    assert proofs
    assert all(is_valid_pagoda(proof, field.moves, pairs) for proof in proofs)
    game = to_game(field, field.symmetries, proofs)
    random = Random(5)
    lost = 0
    for _ in range(repetitions(40)):
        position = random.choice(pairs)
        while undone := [move for move in field.moves if position & move.triple == 1 << move.end]:
            # A position heavier than the start is not reachable, and a field has no space for it.
            position ^= random.choice(undone).triple
            if all(
                proof.apply_symmetry(turn).weight(position) <= proof.least + 100
                for proof in proofs
                for turn in field.symmetries
            ):
                assert game.alive(position)
    for _ in range(repetitions(40)):
        position = field.start
        while opened := [move for move in field.moves if position & move.triple == move.pair]:
            position ^= random.choice(opened).triple
            reported = any(
                proof.apply_symmetry(turn).weight(position) < proof.least
                for proof in proofs
                for turn in field.symmetries
            )
            assert game.alive(position) != reported
            lost += reported
    assert lost


def test_weights_that_a_move_increases_are_not_valid() -> None:
    field = to_bitboard(known_board("cross"))
    assert is_valid_pagoda(Weights((0,) * 33, 0), field.moves, [field.full])
    assert not is_valid_pagoda(Weights((0,) * 32 + (1,), 0), field.moves, [field.full])
    assert not is_valid_pagoda(Weights((0,) * 33, 1), field.moves, [field.full])


def test_ways_beyond_64_bits_are_counted_exactly() -> None:
    board, many = known_board("plus"), 3**60
    field = to_bitboard(board)
    front = Frontier(to_game(field, field.symmetries), {field.start: many}, SearchRuntime())
    while front.level < 8:
        front.advance("plus")
    assert front.ways == 32 * many
    assert [row[2] for row in front.rows] == [many * row[2] for row in count_solutions(board).rows[:8]]


def test_a_count_that_meets_beyond_64_bits_is_exact() -> None:
    field = to_bitboard(known_board("plus"))
    game, many = to_game(field, field.symmetries), 2**64 - 3
    table = kernel.Table(10)
    after = next(
        field.full ^ field.start ^ move.triple for move in field.moves if field.start & move.triple == move.pair
    )
    table.add(game.canonical(after), many >> 60, many)
    table.add(game.canonical(after), 0, many)
    level = Frontier(game, {field.start: 1}, SearchRuntime()).cells
    sums = level[:2]
    kernel.count_meetings(game, level, 0, 1, table, field.full, sums)
    game.canonical(after)
    opened = sum(field.start & move.triple == move.pair for move in field.moves)
    leading = sum(
        game.canonical(field.full ^ field.start ^ move.triple) == game.canonical(after)
        for move in field.moves
        if field.start & move.triple == move.pair
    )
    game.canonical(after)
    assert 0 < leading <= opened
    assert (sums[0] << 64) + sums[1] == leading * game.stabilizer * ((many >> 60 << 64) + 2 * many)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "levels", "size"),
    [
        ((2_757, 9_751, 31_312), 6, 2_598_215),  # the full board, from level 9 to 15
        ((51, 51, 51), 3, 51),
        ((19_323, 69_727, 219_438), 5, 6_810_941),  # back from the end of the game with the hole at 3,2
    ],
)
def test_the_size_of_a_later_level_is_foretold(sizes: tuple[int, int, int], levels: int, size: int) -> None:
    assert foretell_size(sizes, levels) == pytest.approx(size, rel=0.2)


@pytest.mark.slow
def test_a_count_that_will_not_fit_into_memory_is_refused_before_it_takes_it() -> None:
    class Pi(SearchRuntime):
        def require_memory(self, size: int, purpose: str) -> None:
            if size > 1_000_000_000:
                raise Refused(f"{purpose} needs {size}")

    board = BOARDS["full"].replace("XXXOXXX", "XXXXXXX").replace("\nXXXXXXX", "\nXXXOXXX", 1)  # the hole at 3,2
    counter = SolutionCounter(to_bitboard(parse(board)), Pi())
    with pytest.raises(Refused, match=r"this count needs 2[0-9]{9}$"):
        counter.run()
    assert counter.forward.classes_seen < 500_000


@pytest.mark.slow_variants
@pytest.mark.parametrize("small", [100_000, 0])
def test_an_interrupted_count_resumes(small: int) -> None:
    board = known_board(OTHERS[0][0])
    whole = count_solutions(board, small=small)
    random = Random(small)
    cuts = 0
    for _ in range(1 if small == 0 else 3):
        runtime = SearchRuntime()
        while True:
            try:
                result = count_solutions(
                    board,
                    InterruptedRuntime(runtime, random.randint(1 if small else 20, 9 if small else 120)),
                    small=small,
                )
                break
            except Interrupted as error:
                partial_result = error.partial_result
            cuts += 1
            assert "counted" in partial_result
            assert "\n" not in partial_result
            assert list(runtime.cache.names())
        assert result == whole
        assert list(runtime.cache.names()) == []
    assert cuts


class AtEachLevel(SearchRuntime):
    """A runtime that is interrupted once per level, and once where both searches meet."""

    def __init__(self) -> None:
        super().__init__()
        self.met: set[str] = set()

    def report_progress(self, part: float | None, note: str) -> None:  # noqa: ARG002 - as in the base class
        if "jump" in note or "meet" in note:
            what = note.partition(",")[0]
            if what not in self.met:
                self.met.add(what)
                raise Interrupted("the test has no time")


class AfterEachPart(SearchRuntime):
    """A runtime that is interrupted after each part of the positions where both searches meet."""

    def __init__(self) -> None:
        super().__init__()
        self.met: list[int] = []

    def report_progress(self, part: float | None, note: str) -> None:  # noqa: ARG002 - as in the base class
        done, meets, _ = note.partition(" positions meet ")
        if meets:
            self.met.append(int(done.partition(" ")[0].replace(",", "")))
            raise Interrupted("the test has no time")


@pytest.mark.slow
def test_a_count_goes_on_with_the_next_part_of_the_positions_that_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_module, "ITEM_SIZE", 192)  # as of plain Python; compiled, all positions are one part
    runtime, board = AfterEachPart(), known_board("arrow")
    for _ in range(100):
        try:
            result = count_solutions(board, runtime, small=0)
            break
        except Interrupted:
            pass
    assert result == count_solutions(board, small=0)
    assert runtime.met == sorted(set(runtime.met))
    assert len(runtime.met) > 10


SEVERAL = [
    (known_board("XXXXXO /OOX OOO/OXOOXX / XXXXOO"), 20),
    (triangle(Hole(0, 0)), 0),  # for one of its last pairs, the way back is the way there
]


@pytest.mark.slow
@pytest.mark.parametrize(("board", "small"), SEVERAL, ids=["many", "triangle"])
def test_a_count_with_several_last_pairs_resumes_at_every_level(board: Board, small: int) -> None:
    runtime = AtEachLevel()
    whole = count_solutions(board, small=small)
    for _ in range(200):
        try:
            result = count_solutions(board, runtime, small=small)
            break
        except Interrupted:
            pass
    assert result == whole
    assert whole.count == count_solutions(board).count
    assert len(runtime.met) > 12
    assert list(runtime.cache.names()) == []
    assert len(to_bitboard(board).final_pairs()) > 1
    assert max(len(whole.rows), len(whole.back)) < len(board.pegs), "a row for each level"


def test_symmetric_end_holes_are_reported_together() -> None:
    """The triangle looks different from its corners, once one of them is empty; they end alike only together."""
    whole, met = count_solutions(triangle(Hole(0, 0))), count_solutions(triangle(Hole(0, 0)), small=0)
    corners = (Hole(0, 0), Hole(0, 4), Hole(4, 4))
    assert met.ends[corners] == sum(whole.ends.get((hole,), 0) for hole in corners) > 0
    assert sum(met.ends.values()) == whole.count


def test_a_damaged_checkpoint_is_ignored() -> None:
    board = known_board(OTHERS[0][0])
    runtime = SearchRuntime()
    with pytest.raises(Interrupted):
        count_solutions(board, InterruptedRuntime(runtime, 9))
    (name,) = runtime.cache.names()
    data = bytes(runtime.cache.load(name) or b"")
    assert len(data) > 16
    for changed in (b"", b"nothing", data[:-8], data[:20], b"\0" * len(data), data[:16] + b"{" + data[17:]):
        runtime.cache.save(name, [changed])
        assert count_solutions(board, runtime).count == OTHERS[0][1]


def test_a_checkpoint_is_saved_now_and_then_without_an_end() -> None:
    clock, saved = iter(range(0, 10**6, 30)), []
    runtime = SearchRuntime(lambda: float(next(clock)))
    keep = runtime.cache.save
    runtime.cache.save = lambda name, parts: (saved.append(name), keep(name, parts))[1]  # type: ignore[method-assign]
    assert count_solutions(known_board("plus"), runtime).count == 32
    assert 0 < len(saved) < 9
    assert list(runtime.cache.names()) == []


def test_solutions_are_listed_if_counting_takes_too_long() -> None:
    assert issubclass(CountLimitReached, Refused), "one line, also where nobody expects it"
    with pytest.raises(CountLimitReached, match="more than 5,000 positions"):
        count_solutions(known_board("arrow"), most=5_000)

    class Small(SearchRuntime):
        def require_memory(self, size: int, purpose: str) -> None:
            raise Refused(f"{purpose} takes {size} bytes")

    result = solve(known_board("full"), SolveMode.ALL, Small())
    assert result.count is None
    assert "not counted along with the solutions" in str(result.details["count"])
    assert next(result.solutions)
    with pytest.raises(Refused):
        solve(known_board("full"), SolveMode.COUNT, Small())


def test_the_rule_positions_all_counts_all_positions() -> None:
    board = with_rules(parse("XXXX\nXOXX\nXXXX\nXXXX", "square"), {"positions": "all"})
    assert count_solutions(board, small=0).all_positions
    assert not count_solutions(with_rules(board, {"positions": "needed"}), small=0).all_positions


@pytest.mark.slow_variants
@pytest.mark.parametrize("empty", [Hole(0, 0), Hole(0, 1), Hole(0, 2), Hole(1, 2)])
def test_the_triangle_of_fifteen_is_counted_as_by_trying_everything(empty: Hole) -> None:
    board = triangle(empty)
    slow = levels(board)
    singles = {hole: ways for pegs, ways in slow[-1].items() for hole in pegs if len(pegs) == 1}
    for small in (100_000, 0):
        result = count_solutions(board, small=small)
        assert result.count == sum(singles.values())
        assert all(ways == sum(singles.get(hole, 0) for hole in holes) for holes, ways in result.ends.items())
        assert sum(result.ends.values()) == result.count
    assert count_solutions(board).count == {(0, 0): 29_760, (0, 1): 14_880, (0, 2): 85_258, (1, 2): 1_550}[empty]


def test_plain_and_compiled_kernels_agree(plain_and_compiled: Callable[[str], tuple[ModuleType, ModuleType]]) -> None:
    field = to_bitboard(known_board("fireplace"))
    pairs = [pair for orbit in field.final_pairs() for pair in orbit]
    proofs = find_pagodas(field, [field.start], pairs, field.symmetries, SearchRuntime())
    results = []
    for way in plain_and_compiled("peg_solitaire/kernel"):
        game = to_game(field, field.stabilizer(frozenset({field.start})), proofs, way)
        cells, seen = Frontier(game, {field.start: 2**63 + 5}, SearchRuntime()).cells, []
        while cells:
            table, moved = way.Table(12), way.Table(14)
            assert way.expand(game, cells, 0, len(cells) // 3, table)
            game.unjumpable, game.goals = 0b111, field.goals
            assert way.expand_chains(game, cells, 0, len(cells) // 3, moved, 2)
            sums = cells[: 2 * (len(cells) // 3)]
            way.count_meetings(game, cells, 0, len(cells) // 3, table, 0, sums)
            seen.append([list(sums), sorted(zip(*[iter(list(moved.cells))] * 3, strict=True))])
            level = cells[:0]
            level.frombytes(bytes(24 * table.size))
            assert way.compact(table.cells, 0, 1 << table.bits, level, 0) == table.size
            seen.append([list(level), table.positions, table.tried, table.stuck_high, table.stuck_low])
            cells = level
        results.append(seen)
    assert results[0] == results[1]


TOP_EMPTY = "  XOX  /  XXX  /XXXXXXX/XXXXXXX/XXXXXXX/  XXX  /  XXX  "


def test_the_only_jump_of_the_full_board_with_its_hole_at_the_top_leads_to_the_central_game() -> None:
    (after,) = (pegs for _, pegs in jumps(known_board(TOP_EMPTY), known_board(TOP_EMPTY).pegs))
    assert after in {pegs for _, pegs in jumps(known_board("full"), known_board("full").pegs)}


def test_six_known_boards_may_end_at_five_holes_and_the_diamond_at_none() -> None:
    for name in ("full", "cross", "plus", "fireplace", "pyramid", "arrow", "diamond"):
        may = {str(hole) for hole in known_board(name).holes if not find_parity_obstacle(known_board(name, str(hole)))}
        assert may == (set() if name == "diamond" else {"3,3", "3,0", "0,3", "6,3", "3,6"})


@LONG
@pytest.mark.parametrize("name", ["pyramid", "arrow"])
def test_every_solution_is_walked_once_more(name: str) -> None:
    """Millions of lines one after the other, which are counted without a search."""
    result = solve(known_board(name), SolveMode.ALL, SearchRuntime())
    assert sum(1 for _ in result.solutions) == result.count


@LONG
def test_the_full_board_is_counted() -> None:
    result = solve_count(known_board("full"))
    assert result.count == 81_723_294_080_159_936
    assert dict(result.tables[-1].rows) == {
        "3,3": 40_861_647_040_079_968,
        **dict.fromkeys(("3,0", "0,3", "6,3", "3,6"), 10_215_411_760_019_992),
    }
    assert solve_count(known_board("full", "3,3")).count == 40_861_647_040_079_968
    result = solve_count(known_board(TOP_EMPTY))
    assert result.count == 20_430_823_520_039_984
    assert dict(result.tables[-1].rows) == {
        "3,3": 10_215_411_760_019_992,
        "3,0 or 0,3 or 6,3 or 3,6": 10_215_411_760_019_992,
    }


@LONG
def test_the_diamond_is_proven_unsolvable_by_searching_every_position() -> None:
    result = count_solutions(known_board("diamond", positions="all"))
    assert result.count == 0
    assert (result.fewest, result.rows[-1]) == (2, (9, 46, 9_236_579_202_687_568))
    assert sum(row[1] for row in result.rows) == 14_128_821
    assert result.classes == 1_772_250
    assert sum(row[2] for row in result.rows[1:]) == 92_382_799_307_143_584
    assert result.games == 48_970_223_972_853_136
    assert [row[0] for row in result.rows] == [
        *(1, 1, 9, 38, 202, 901, 3550, 11701, 32219, 73658, 139568, 219443, 286048, 310037, 278554, 205151),
        *(122021, 58204, 22002, 6835, 1720, 330, 48, 9),
    ]


@LONG
def test_every_position_of_the_full_board_is_counted() -> None:
    result = solve_count(known_board("full", positions="all"))
    assert result.count == 81_723_294_080_159_936
    assert result.details["positions"] == 187_636_299
    assert result.details["positions_up_to_symmetry"] == 23_475_688
    assert result.details["jumps_of_all_games"] == 1_192_305_835_925_385_277_580
    assert result.details["games"] == 577_116_156_815_309_849_672
    assert [row[1] for row in result.tables[0].rows] == [
        *(1, 1, 2, 8, 39, 171, 719, 2757, 9751, 31312, 89927, 229614, 517854, 1022224, 1753737, 2598215, 3312423),
        *(3626632, 3413313, 2765623, 1930324, 1160977, 600372, 265865, 100565, 32250, 8688, 1917, 348, 50, 7, 2),
    ]
    assert [row[2] for row in result.tables[0].rows] == [
        *(1, 4, 12, 60, 296, 1338, 5648, 21842, 77559, 249690, 717788, 1834379, 4138302, 8171208, 14020166, 20773236),
        *(26482824, 28994876, 27286330, 22106348, 15425572, 9274496, 4792664, 2120101, 800152, 255544, 68236, 14727),
        *(2529, 334, 32, 5),
    ]
