"""Battleship: published counts, impossible boards, shots, maps and generated boards."""

import os
import time
from itertools import islice

import pytest

from pi_appliance.errors import InvalidOption, Refused, UnknownName
from pi_appliance.puzzles import Proof, SolveMode, battleship
from pi_appliance.puzzles.battleship.notation import SHADES
from pi_appliance.puzzles.runtime import SearchRuntime

# Ten rows (an empty one is water), the solutions with the default fleet, and those without touching ships.
GRIDS = [
    ("#........./###.....#./##......#./##......../##......#./##..###.../#.......#./........../........../", 106, 0),
    ("####....../.......###/#.#......./#.#....##./#........./......#.../#...#.#.../........../#.#......./", 1, 1),
    (
        "........../#........./....#...../.....##.../####.###../..#...##../..###.#.../........../........../..##......",
        7,
        0,
    ),
    ("..#......./........../##...##.../..##.#.#../#.##...#../...#..##../........../....####../........../", 2, 0),
    (".##...#.../######..../......#.../###.#.#.../......#.../..##..#.../#........./........../........../", 14, 0),
    (".#####..../...#....../##.###..../.#.###..../.#.#.#..../.#.#....../........../........../........../", 612, 0),
    ("...#....../.##......./..####..../.......#../..###..#../##...####./#........./........../.......#../", 12, 0),
    ("..#......./...#.##.../#....##.../###......./#..##...../#.##.##.../.#.#....../........../........../", 0, 0),
    (".#..##..../#####...../.#.#.#..../##......../###.#...../.##..#..../........../........../........../", 0, 0),
    ("#.....#.../###.#.#.../.##...#.../##.....#../.#....##../....#...../#.#......./...#....../........../", 0, 0),
]
PLACEMENTS = 30_093_975_536  # of the classic fleet; the two ships of length 3 are distinct
LONG = pytest.mark.skipif(
    os.environ.get("PI_APPLIANCE_BATTLESHIP") != "1", reason="takes minutes: PI_APPLIANCE_BATTLESHIP=1"
)


class SmallRuntime(SearchRuntime):
    """A runtime with 350 MB of memory."""

    def require_memory(self, size: int, purpose: str) -> None:
        if size > 350_000_000:
            raise Refused(f"{purpose} needs {size / 1e6:.0f} MB")


def make_board(drawing: str = "", **rules: str) -> battleship.Board:
    return battleship.with_rules(battleship.parse(drawing or "size: 10x10", "mine"), rules)


def expand_grid(drawn: str) -> str:
    return "\n".join(row or "." * 10 for row in drawn.split("/"))


def count_solutions(board: battleship.Board) -> int:
    result = battleship.solve(board, SolveMode.COUNT, SmallRuntime()).count
    assert result is not None
    return result


@pytest.mark.slow_variants
@pytest.mark.parametrize(("drawn", "ways", "apart"), GRIDS)
def test_finished_grids_have_the_known_number_of_solutions(drawn: str, ways: int, apart: int) -> None:
    for drawing in (expand_grid(drawn), expand_grid(drawn).replace("#", "X")):
        board = make_board(drawing)
        answer = battleship.solve(board, SolveMode.ALL, SearchRuntime())
        assert answer.count == ways == len(set(answer.solutions))
        assert (answer.proof is None) == bool(ways)
        assert count_solutions(make_board(drawing, touching="never")) == apart


def test_lists_of_lists_are_read() -> None:
    lists = "field = " + str([[int(mark == "#") for mark in row] for row in expand_grid(GRIDS[0][0]).split()])
    assert count_solutions(make_board(lists)) == 106


@pytest.mark.slow  # counts are compared with brute force daily
def test_count_without_touching_matches_the_published_number() -> None:
    assert count_solutions(make_board(fleet="classic", touching="never", ships="identical")) == 1_925_751_392


@pytest.mark.slow
def test_count_matches_the_published_number() -> None:
    answer = battleship.solve(make_board(fleet="5 4 3 3 2"), SolveMode.COUNT, SmallRuntime())
    assert answer.count == PLACEMENTS // 2 == 15_046_987_768
    assert answer.details["placements_distinct_ships"] == PLACEMENTS


def test_a_map_too_large_for_memory_is_reported() -> None:
    board = battleship.with_rules(battleship.parse("size: 9x9", "mine"), {"fleet": "5,4,3"})
    answer = battleship.solve(board, SolveMode.COUNT, SmallRuntime())
    assert answer.count == answer.details["placements_distinct_ships"] == 767_888
    assert str(answer.details["map"]).startswith("left out: a map of all squares needs")
    assert not answer.tables


@LONG
@pytest.mark.parametrize(
    ("fleet", "touching", "ways"),
    [
        ("5,4,3,3,2", "allowed", PLACEMENTS // 2),
        ("5,4,3,3,2", "corners", 2_898_771_376),
        ("ten", "never", 1_855_545_978_831_780),
        ("ten", "corners", 17_012_294_240_149_696),
        ("ten", "allowed", 1_328_786_533_779_290_712),
    ],
)
def test_maps_of_the_empty_sea_are_symmetric_and_complete(fleet: str, touching: str, ways: int) -> None:
    board = make_board(fleet=fleet.replace("ten", "4,3,3,2,2,2,1,1,1,1"), touching=touching)
    answer = battleship.solve(board, SolveMode.COUNT, SearchRuntime())
    assert answer.count == ways
    numbers = [list(row[1:]) for row in answer.tables[1].rows]
    assert numbers == numbers[::-1] == [row[::-1] for row in numbers] == list(map(list, zip(*numbers, strict=True)))
    assert sum(map(sum, numbers)) == ways * sum(board.fleet)


def test_distinct_ships_count_and_list_every_permutation() -> None:
    board = make_board("????\n????\n????", fleet="2,2,1", ships="distinct")
    answer = battleship.solve(board, SolveMode.ALL, SearchRuntime())
    lines = list(answer.solutions)
    assert (
        answer.count
        == len(lines)
        == len(set(lines))
        == 2 * count_solutions(make_board("????\n????\n????", fleet="2,2,1"))
    )
    assert {frozenset(line) for line in lines} == {frozenset(line) for line in lines if line[0] < line[1]}


def test_permutations_of_many_equal_ships_are_lazy() -> None:
    board = make_board(fleet="1 " * 20, ships="distinct")
    lines = battleship.solve(board, SolveMode.FIRST, SearchRuntime()).solutions
    assert battleship.check(board, next(lines))


def test_the_solver_decides_in_milliseconds_whether_a_game_is_possible() -> None:
    names = [name for name in battleship.BOARDS if name != "open-sea"]
    boards = [battleship.parse(battleship.BOARDS[name], name) for name in names]
    generated = [battleship.generate(seed, boards[0], SearchRuntime()).board for seed in range(20)]
    generated += [battleship.generate(seed, make_board(), SearchRuntime()).board for seed in range(20)]
    taken = []
    for board in boards + generated:
        begun = time.perf_counter()
        answer = battleship.solve(board, SolveMode.FIRST, SearchRuntime())
        taken.append(time.perf_counter() - begun)
        assert (next(answer.solutions, None) is None) == (answer.proof is not None) == (board == boards[-1])
    assert sorted(taken)[len(taken) // 2] < 0.1, "a few milliseconds, and some patience for a busy machine"


def test_an_impossible_board_names_the_contradicting_marks() -> None:
    answer = battleship.solve(battleship.parse(battleship.BOARDS["quarrel"], "quarrel"), SolveMode.ALL, SearchRuntime())
    assert (answer.count, answer.proof, answer.details["possible"]) == (0, Proof.CONTRADICTION, "no")
    assert answer.details["contradiction"] == "B4 miss, E4 miss, C4 hit, D4 hit"
    assert answer.details["one_wrong_mark"] == "B4 miss, E4 miss, C4 hit"
    assert answer.reason.startswith("C4 is hit, and no ship of the fleet can lie there; ")
    assert answer.reason.endswith("if one mark is wrong, it is B4 miss or E4 miss or C4 hit")


@pytest.mark.parametrize(
    ("drawing", "rules", "why"),
    [
        ("XX\nXX", {"fleet": "2,1"}, "4 squares hold a ship, and the whole fleet has 3"),
        ("..\n?.", {"fleet": "2"}, "the fleet needs 2 squares, and only 1 can hold a ship"),
        ("?.?\n.?.\n?.?", {"fleet": "2"}, "there is no room for a ship of 2"),
        ("??.\n...\n?.?", {"fleet": "2,2"}, "there is room for 1 of 2 ships of 2"),
        ("A1-A2 sunk\nC1-C2 sunk", {"fleet": "3,2"}, "A1-A2 is sunk, and the fleet has no more ships of 2"),
        ("X.\n.?", {"fleet": "2"}, "A1 is hit, and no ship of the fleet can lie there"),
        ("#?\n??", {"fleet": "2"}, "A1 is sunk, and no ship of the fleet can lie there"),
        ("XX\n..", {"fleet": "2", "sinking": "announced"}, "A1 is hit, and no ship of the fleet can lie there"),
    ],
)
def test_obvious_contradictions_are_found_without_a_search(drawing: str, rules: dict[str, str], why: str) -> None:
    answer = battleship.solve(make_board(drawing, **rules), SolveMode.FIRST, SearchRuntime())
    assert answer.proof is Proof.CONTRADICTION
    assert answer.reason.startswith(why)


def test_other_contradictions_are_proven_by_exhaustion() -> None:
    answer = battleship.solve(
        make_board("?X?\nX?X\n?X?", fleet="3,2,2", touching="corners"), SolveMode.FIRST, SearchRuntime()
    )
    assert answer.proof in (Proof.EXHAUSTION, Proof.CONTRADICTION)
    packed = battleship.solve(
        make_board("????\n????\n????", fleet="2,2,2,2", touching="never"), SolveMode.FIRST, SearchRuntime()
    )
    assert packed.proof is Proof.EXHAUSTION
    assert packed.reason.endswith("this fleet does not fit on a sea of this size at all")


def test_a_long_search_is_decided_by_the_count() -> None:
    board = make_board("\n".join(["?" * 8] * 8), fleet=" ".join(["2"] * 14), touching="never")
    answer = battleship.solve(board, SolveMode.FIRST, SearchRuntime())
    assert answer.proof is Proof.EXHAUSTION
    assert answer.reason.startswith("all ways to place the fleet were counted: there is none")


def test_the_best_shot_is_reported_mapped_and_drawn() -> None:
    board = battleship.parse(battleship.BOARDS["midgame"], "midgame")
    answer = battleship.solve(board, SolveMode.COUNT, SearchRuntime())
    assert (answer.count, answer.details["best_shot"], answer.details["best_shot_per_cent"]) == (17_783, "C4", 78.83)
    assert battleship.hint(board, SearchRuntime()) == "shoot at C4: a ship is there in 78.83 % of the 17,783 placements"
    per_cent, numbers = answer.tables
    assert per_cent.rows[3][:6] == (4, 26.22, 54.0, 78.83, 100.0, 100.0)
    assert sum(sum(row[1:]) for row in numbers.rows) == 17_783 * 17, "every placement has 17 squares"
    picture = answer.pictures["probability"]
    assert "the best shot is C4, 78.8" in picture
    assert picture.count('class="bs-chance') == len(board.find_marks("?"))
    assert f"bs-h{SHADES - 1}" in picture


def test_a_hint_explains_why_there_is_no_shot() -> None:
    hints = {
        name: battleship.hint(battleship.parse(battleship.BOARDS[name], name), SearchRuntime())
        for name in ("tidy", "quarrel")
    }
    assert hints["tidy"] == "there is no shot: no square is unknown"
    assert hints["quarrel"].startswith("there is no shot: this board is impossible, because C4 is hit")


def test_a_generated_board_has_the_size_and_rules_of_its_template() -> None:
    like = make_board("\n".join(["?" * 8] * 6), fleet="3,2,1", touching="corners", sinking="announced")
    generated = [battleship.generate(seed, like, SearchRuntime()) for seed in (1, 1, 2)]
    assert generated[0] == generated[1] != generated[2]
    for each in generated:
        board = each.board
        assert (board.width, board.height, board.fleet, board.touching, board.sinking) == (
            8,
            6,
            (3, 2, 1),
            "corners",
            "announced",
        )
        assert each.details["shots"] == len(board.find_marks(".X#")) == 17
        assert len(board.sunk_ships) == each.details["sunk_ships"]
        assert next(battleship.solve(board, SolveMode.FIRST, SearchRuntime()).solutions, None)
    with pytest.raises(Refused, match="the fleet 3 could not be placed"):
        battleship.generate(1, make_board("??\n??", fleet="3"), SearchRuntime())


def test_invalid_rules_are_rejected_with_a_suggestion() -> None:
    assert battleship.with_rules(make_board(), {"fleet": "2, 5 3"}).fleet == (5, 3, 2)
    with pytest.raises(UnknownName, match="did you mean 'touching'"):
        make_board(touchin="never")
    with pytest.raises(UnknownName, match="did you mean 'never'"):
        make_board(touching="neve")
    for fleet in ("", "0", "16", "two", "1 " * 41):
        with pytest.raises(InvalidOption, match="the fleet"):
            make_board(fleet=fleet)


def test_solutions_are_lazy() -> None:
    lines = battleship.solve(
        battleship.parse(battleship.BOARDS["midgame"], "midgame"), SolveMode.ALL, SearchRuntime()
    ).solutions
    assert len(set(islice(lines, 500))) == 500


def test_steps_place_one_ship_at_a_time() -> None:
    board = battleship.parse(battleship.BOARDS["tidy"], "tidy")
    steps = list(battleship.steps(board, next(battleship.solve(board, SolveMode.FIRST, SearchRuntime()).solutions)))
    assert [step.caption for step in steps[:3]] == ["The marks", "A1-D1, 4 squares", "A3-A5, 3 squares"]
    assert [step.svg.count('class="bs-ship"') for step in steps] == list(range(11))
