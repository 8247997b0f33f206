"""Battleship's check against a plain reading of the rules, on mutated solutions."""

from collections import Counter
from itertools import combinations, islice
from random import Random

import pytest

from pi_appliance.puzzles import SolveMode, battleship
from pi_appliance.puzzles.battleship import Board, Ship, Solution, Square
from pi_appliance.puzzles.runtime import SearchRuntime
from tests.examples import repetitions
from tests.puzzles.battleship.brute_force import marks_agree, ships_touch

MUTATIONS = repetitions(12_000)


def is_legal(board: Board, line: Solution) -> bool:
    """Check `line` in the plainest way."""
    fleet = []
    for ship in line:
        columns = range(ship.start.x, ship.end.x + 1)
        rows = range(ship.start.y, ship.end.y + 1)
        cells = frozenset((x, y) for x in columns for y in rows)
        if not cells or min(len(columns), len(rows)) != 1:
            return False
        if not all(0 <= x < board.width and 0 <= y < board.height for x, y in cells):
            return False
        fleet.append(cells)
    return (
        Counter(map(len, fleet)) == Counter(board.fleet)
        and not any(ships_touch(one, other, board.touching) for one, other in combinations(fleet, 2))
        and marks_agree(fleet, board.rows, board.sinking)
        and all(frozenset(ship.squares) in fleet for ship in board.sunk_ships)
    )


def boards() -> list[Board]:
    known = [battleship.parse(battleship.BOARDS[name], name) for name in ("midgame", "crowded", "tidy")]
    open_sea = battleship.parse("size: 8x6\nfleet: 3,2,2,1", "open")
    rules = [
        {"touching": touching, "sinking": sinking}
        for touching in ("allowed", "corners", "never")
        for sinking in ("silent", "announced")
    ]
    return known + [
        battleship.generate(7, battleship.with_rules(open_sea, rule), SearchRuntime()).board for rule in rules
    ]


def mutate(line: Solution, other: Solution, random: Random) -> Solution:
    """Return `line` after one to three random changes."""
    ships = list(line)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at = random.randrange(len(ships))
        right, down = random.choice(((1, 0), (-1, 0), (0, 1), (0, -1)))
        (x, y), (last_x, last_y) = ships[at]
        changes = [
            [Ship(Square(x + right, y + down), Square(last_x + right, last_y + down))],  # moved
            [Ship(Square(x, y), Square(last_x + right, last_y + down))],  # longer, shorter or bent
            [Ship(Square(x, y), Square(x + last_y - y, y + last_x - x))],  # turned
            [Ship(Square(last_x, last_y), Square(x, y))],  # start and end swapped
            [],
            [ships[at], ships[at]],
            [random.choice(other)],
        ]
        ships[at : at + 1] = random.choice(changes) or (ships[at : at + 1] if len(ships) == 1 else [])
        random.shuffle(ships)  # the order does not matter
    return tuple(ships)


def test_mutated_solutions_pass_only_if_they_keep_the_rules() -> None:
    random = Random(20261121)
    lines = {
        board: list(islice(battleship.solve(board, SolveMode.ALL, SearchRuntime()).solutions, 60)) for board in boards()
    }
    verdicts: Counter[bool] = Counter()
    for _ in range(MUTATIONS):
        board = random.choice(list(lines))
        line = mutate(random.choice(lines[board]), random.choice(lines[board]), random)
        checked = battleship.check(board, line)
        assert bool(checked) == is_legal(board, line), (
            f"{battleship.render(board)}{battleship.notate(board, line)}: {checked}"
        )
        assert "\n" not in checked.error
        verdicts[bool(checked)] += 1
    assert verdicts[False] > repetitions(9_000)
    assert verdicts[True] > repetitions(500), "some mutations are still solutions"


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("C1-C3 A1 A3", "C1-C3: C3 is a miss"),
        ("A2-A4 D1 A1", "A2-A4: A4 is outside the sea"),
        ("B1-D1 C1 A1", "C1: B1-D1 already lies on C1"),
        ("B1-D1 A1", "the fleet has another ship of 1"),
        ("B1-D1 A1 A2 A3", "the fleet has no more ships of 1"),
        ("B1-D1 A2 A3", "A2 touches A3"),
        ("B1-D1 A2 D3", "D2 is hit, but no ship lies there"),
        ("B2-D2 A1 A3", "B2-D2: only some of its squares are sunk"),
        ("B1-D1 D2-D3 A2", "the fleet has no more ships of 2"),
    ],
)
def test_an_error_names_the_wrong_ship(line: str, wrong: str) -> None:
    sunk = "#" if "D2" in line + wrong or "sunk" in wrong else "?"
    drawing = f"????\nX??{sunk}\n??.{sunk}\n"
    board = battleship.with_rules(battleship.parse(drawing, "mine"), {"fleet": "3,1,1", "touching": "corners"})
    assert battleship.check(board, [_make_ship(word) for word in line.split()]).error == wrong


def _make_ship(word: str) -> Ship:
    ends = [Square(ord(each[0]) - ord("A"), int(each[1:]) - 1) for each in word.split("-")]
    return Ship(ends[0], ends[-1])


def test_known_sunk_ships_must_be_in_the_solution() -> None:
    board = battleship.parse("fleet: 2,2\nwhole: A1-B1\n##??\n##??\n", "mine")
    across = battleship.parse_solution(board, "A2-B2 A1-B1", "mine")
    down = battleship.parse_solution(board, "B1-B2 A1-A2", "mine")
    assert battleship.check(board, across)
    assert battleship.check(board, down).error == "the sunk ship A1-B1 is missing"
