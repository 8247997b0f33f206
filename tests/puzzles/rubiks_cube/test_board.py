"""Reading, drawing, turning and checking Rubik's cubes."""

import random
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.errors import ConfigError, InvalidOption, Problem, UnknownName
from pi_appliance.puzzles import rubiks_cube as cube
from pi_appliance.puzzles.rubiks_cube.board import FACES, TURN_NAMES
from pi_appliance.puzzles.rubiks_cube.coordinates import CORNERS, SOLVED, compose, cube_state, facelets_of, turn_states
from pi_appliance.puzzles.rubiks_cube.notation import find_faults
from pi_appliance.puzzles.rubiks_cube.solve import random_state
from tests.puzzles.rubiks_cube import reference as cubes

LINES = st.lists(st.sampled_from(TURN_NAMES), max_size=30).map(tuple)
NAMES = {face: face for face in FACES}


def parse_errors(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        cube.parse(text, "mine.txt")
    return str(caught.value)


def cube_with(facelets: str, **at: str) -> str:
    """Return `facelets` with stickers replaced, such as f1="U"."""
    stickers = list(facelets)
    for place, colour in at.items():
        stickers[9 * FACES.index(place[0].upper()) + int(place[1:]) - 1] = colour
    return "".join(stickers)


@given(LINES)
def test_three_models_of_turning_agree(line: tuple[str, ...]) -> None:
    facelets = cubes.apply_moves(cubes.SOLVED, line)
    state = SOLVED
    for move in line:
        state = compose(state, turn_states()[TURN_NAMES.index(move)])
    assert cube.parse(" ".join(line) or "U U'", "mine").facelets == facelets == facelets_of(state, 3)
    assert cube_state(facelets, 3) == state
    assert find_faults(facelets, 3, NAMES) == []


@given(LINES)
def test_the_inverse_of_a_scramble_solves_it(line: tuple[str, ...]) -> None:
    board = cubes.scrambled_board(line)
    assert cube.check(board, cubes.invert_moves(line))
    pocket = cube.parse(f"2x2x2: {' '.join(line)}", "mine") if line else cube.parse("2x2x2: U U'", "mine")
    assert cube.check(pocket, cubes.invert_moves(line))


@given(LINES, st.sampled_from((2, 3)))
def test_nets_and_rows_of_stickers_are_read_back(line: tuple[str, ...], side: int) -> None:
    board = cube.parse(f"{side}x{side}x{side} {' '.join(line) or 'U U2 U'}", "mine")
    assert cube.parse(cube.render(board), "mine") == board
    assert cube.parse(board.facelets, "mine") == board
    assert cube.parse(" ".join(board.facelets), "mine") == board
    colours = board.facelets.translate(str.maketrans("URFDLB", "wrgyob"))
    assert cube.parse(colours, "mine") == board


@given(st.text(max_size=80) | st.text("URFDLBWYGO \n2'x:Mw", max_size=120))
def test_any_text_is_read_or_reported_with_line_and_column(text: str) -> None:
    for read in (cube.parse, lambda text, file: cube.parse_solution(cube.Board(3, cubes.SOLVED), text, file)):
        problems = problems_of(lambda read=read: read(text, "mine.txt"))
        assert problems is None or problems
        assert all(problem.line >= 1 <= problem.column for problem in problems or ())


def problems_of(read: Callable[[], object]) -> tuple[Problem, ...] | None:
    try:
        read()
    except ConfigError as error:
        return error.problems
    return None


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("RUR'U'", "R U R' U'"),
        ("R3 U2' F'2", "R' U2 F2"),
        ("R\u2032 U\u00b4 F\u2018 D`", "R' U' F' D'"),
        ("RUF", "R U F"),
        ("2x2: yR", "2x2: y R"),
        ("(R U) (R' U\u2019)", "R U R' U'"),
        ("3x3: R U", "R U"),
        ("Rw", "L x"),
        ("r2", "L2 x2"),
        ("M", "R L' x'"),
        ("S E'", "F' B z D U' y"),
        ("y R y'", "B"),
        ("x y z", "x y z"),
        ("y f r", "y Fw Rw"),
        ("d\ny", "Dw y"),
    ],
)
def test_equivalent_scrambles_give_the_same_cube(text: str, same: str) -> None:
    assert cube.parse(text, "mine") == cube.parse(same, "mine")


def test_a_rotated_cube_is_solved_in_its_orientation() -> None:
    turned = cube.parse("R U x y", "mine")
    assert turned.facelets[4] != "U"
    answer = cube.solve(turned, cube.MODES[0], cubes.runtime())
    assert cube.check(turned, next(answer.solutions))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R U Q F", "mine.txt:1:5: 'Q' is not a move"),
        ("R (U F", "mine.txt:1:3: '(' is not closed; write )"),
        ("(R U) F)", "mine.txt:1:8: ')' closes no bracket; write ("),
        ("R U\n  F7 L", "mine.txt:2:3: 'F7' is not a move"),
        ("2x2x2: R M U", "mine.txt:1:10: 'M' is not a move of a 2x2x2; it has no middle layer"),
        ("UUU RRR", "mine.txt:1:7: there are 6 stickers"),
        ("2x2x2\n" + cubes.SOLVED, "mine.txt:2:54: there are 54 stickers; a 2x2x2 has 24"),
        ("UUUUURRRRXFFFFDDDDLLLLBBBB", "mine.txt:1:10: 'X' is not a face"),
        ("WWWW RRRR GGGG YYYY OOOO BBBU", "'W' is not a face"),
    ],
)
def test_problems_are_reported_with_line_and_column(text: str, message: str) -> None:
    assert message in parse_errors(text)


def test_impossible_cubes_are_explained() -> None:
    solved = cubes.SOLVED
    assert "1:10: there are 10 U, but 8 R; each of the six colours comes 9 times" in parse_errors(
        cube_with(solved, r1="U")
    )
    assert "1:14: the centre of R is U, as that of U is" in parse_errors(cube_with(solved, r5="U", u1="R"))
    assert parse_errors(cube_with(solved, u8="D", d8="U")).startswith(
        "mine.txt:1:29: the edge D-F is twice: at UF and at DF"
    )
    assert "the edge F-R is twice: at UF and at FR; U-F is missing" in parse_errors(cube_with(solved, u8="R", r1="U"))
    assert "1:8: the edge UF is B-F: there is no such edge" in parse_errors(cube_with(solved, u8="B", b2="U"))
    assert "1:9: the corner URF is U-F-R: its colours go round the wrong way" in parse_errors(
        cube_with(solved, r1="F", f3="R")
    )
    twisted = cube_with(solved, u9="F", r1="U", f3="R")
    assert "impossible: the corners together are twisted by a third clockwise" in parse_errors(twisted)
    assert "1:8: impossible: 1 edge flipped" in parse_errors(cube_with(solved, u8="F", f2="U"))
    swapped = cube_with(solved, f2="R", r2="F")
    assert "impossible: two pieces are exchanged (parity)" in parse_errors(swapped)
    assert "(parity)" not in parse_errors(twisted)


def test_an_impossible_2x2x2_is_explained() -> None:
    board = cube.parse("2x2x2: R U F", "mine").facelets
    turned = list(board)
    turned[3], turned[4], turned[9] = turned[9], turned[3], turned[4]  # the corner URF
    assert "twisted by a third" in parse_errors("".join(turned))


def test_a_wrong_fixed_corner_of_a_2x2x2_is_the_only_problem() -> None:
    solved = "".join(face * 4 for face in FACES)
    mirrored = pocket_with(solved, d3="B", b4="D")
    assert parse_errors(mirrored).endswith(
        "the corner DBL is B-D-L: its colours go round the wrong way; two of its stickers are exchanged"
    )
    assert len(parse_errors(mirrored).splitlines()) == 1
    assert "the corner DBL is R-B-L: there is no such corner" in parse_errors(pocket_with(solved, d3="R", r1="D"))
    assert "the corner URF is U-F-R: its colours go round the wrong way" in parse_errors(
        pocket_with(solved, r1="F", f2="R")
    )


def pocket_with(facelets: str, **at: str) -> str:
    """Return the stickers of a 2x2x2 with some replaced."""
    stickers = list(facelets)
    for place, colour in at.items():
        stickers[4 * FACES.index(place[0].upper()) + int(place[1:]) - 1] = colour
    return "".join(stickers)


def test_rules_are_parsed_and_described() -> None:
    board = cube.Board(3, cubes.SOLVED)
    assert cube.with_rules(board, {"seconds": "all", "target": "20"}) == cube.Board(3, cubes.SOLVED, None, 20)
    assert cube.describe(cube.with_rules(board, {"seconds": "2.5"})) == "a cube of 3x3x3, 2.5 seconds"
    for rules in ({"seconds": "-1"}, {"seconds": "nan"}, {"target": "31"}, {"target": "x"}):
        with pytest.raises(InvalidOption):
            cube.with_rules(board, rules)
    with pytest.raises(UnknownName, match="did you mean 'target'"):
        cube.with_rules(board, {"targets": "20"})


@pytest.mark.slow
def test_mutated_solutions_are_judged_like_an_independent_model() -> None:
    """Compare ten thousand nearly correct solutions with a model of sticker strips."""
    rng = random.Random(20261121)
    passed = 0
    for _ in range(100):
        line = cubes.random_moves(rng, rng.randrange(1, 22))
        board = cubes.scrambled_board(line)
        right = cubes.invert_moves(line)
        assert cube.check(board, right)
        for _ in range(105):
            wrong = mutate(rng, right)
            verdict = bool(cube.check(board, wrong))
            assert verdict == cubes.is_solved(cubes.apply_moves(board.facelets, wrong)), (board, wrong)
            passed += verdict
    assert passed < 2_000, "most of them are wrong"


def mutate(rng: random.Random, line: tuple[str, ...]) -> tuple[str, ...]:
    moves = list(line)
    for _ in range(rng.randrange(1, 3)):
        at = rng.randrange(len(moves) + 1)
        match rng.randrange(4):
            case 0:
                moves.insert(at, rng.choice(TURN_NAMES))
            case 1:
                moves[at : at + 1] = [rng.choice(TURN_NAMES)]
            case 2:
                del moves[at : at + 1]
            case _:
                moves[at : at + 2] = reversed(moves[at : at + 2])
    return tuple(moves)


@pytest.mark.parametrize("line", [("Rw",), ("x",), ("",), ("R3",), ("M",)])
def test_the_check_accepts_face_turns_only(line: tuple[str, ...]) -> None:
    assert "it is not a turn of a face" in cube.check(cubes.scrambled_board(("R",)), line).error


def test_random_states_are_valid_and_evenly_distributed() -> None:
    rng = random.Random(6)
    counts = dict.fromkeys(CORNERS, 0)
    for number in range(400):
        side = 2 + number % 2
        state = random_state(rng, side)
        assert find_faults(facelets_of(state, side), side, NAMES) == []
        assert side == 3 or state[3 * CORNERS.index("DBL")] == 3 * CORNERS.index("DBL")
        if side == 3:
            counts[CORNERS[state[0] // 3]] += 1
    assert min(counts.values()) > 10, "the corner URF is anywhere"


def test_steps_mark_the_turned_face() -> None:
    board = cubes.scrambled_board(("R", "U", "F2"))
    steps = list(cube.steps(board, ("F2", "U'", "R'")))
    assert [step.caption for step in steps][1:] == [
        "1 of 3: F2: the front face by a half",
        "2 of 3: U': the upper face a quarter anticlockwise",
        "3 of 3: R': the right face a quarter anticlockwise",
    ]
    last = ElementTree.fromstring(steps[-1].svg)  # noqa: S314 - our own text
    marked = [part for part in last.iter() if part.get("class") == "cube-turns"]
    assert len(marked) == 2, "in the net, and in the view"
    letters = [part.text for part in last.iter() if (part.get("class") or "").startswith("cube-ink")]
    assert "".join(letters[:54]) == cubes.SOLVED
