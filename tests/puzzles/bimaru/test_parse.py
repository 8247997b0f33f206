"""Reading a puzzle: the notations, and the place and correction of each mistake."""

import pytest

from pi_appliance.errors import ApplianceError, ConfigError, InvalidOption
from pi_appliance.puzzles import bimaru

CANONICAL = """\
fleet: 2,1
  2 0 1
1 ? ? ?
1 v . ?
1 ? ? O
"""
SAME = {
    "totals at the right": "fleet: 2,1\n? ? ? 1\nv . ? 1\n? ? O 1\n2 0 1",
    "without blanks": "fleet: 2,1\n201\n1???\n1v.?\n1??O",
    "with lines": "fleet: 2,1\n2 | 0 | 1\n1: ?|?|?\n1: v|.|?\n1: ?|?|O",
    "other marks": "fleet: 2,1\n2 0 1\n1 ? ? ?\n1 B ~ ?\n1 ? ? s",
    "pieces as symbols": "fleet: 2,1\n2 0 1\n1 ? ? ?\n1 ▼ ≈ ?\n1 ? ? ●",
    "the fleet in groups": "Fleet: 1x2, 1x1\n2 0 1\n1 ? ? ?\n1 v . ?\n1 ? ? O",
    "the fleet below": "2 0 1\n1 ? ? ?\n1 v . ?\n1 ? ? O\nfleet: 1 2",
}


@pytest.mark.parametrize("name", SAME)
def test_notations_of_the_same_puzzle(name: str) -> None:
    assert bimaru.parse(SAME[name]) == bimaru.parse(CANONICAL)
    assert bimaru.render(bimaru.parse(SAME[name])) == CANONICAL


@pytest.mark.parametrize("unknown", ["-", "?"])
def test_totals_may_be_unknown(unknown: str) -> None:
    board = bimaru.parse(f"fleet: 2,1\n{unknown} 0 {unknown}\n{unknown} ? ? ?\n1 ? ? ?\n{unknown} ? ? ?")
    assert (board.row_totals, board.column_totals) == ((None, 1, None), (None, 0, None))
    board = bimaru.parse(f"fleet: 2,1\n? ? ? {unknown}\n. ? ? 2\n? ? ? {unknown}\n{unknown} ? ?")
    assert (board.row_totals, board.column_totals) == ((None, 2, None), (None, None, None))
    assert board.rows == ("???", ".??", "???")


def test_a_total_may_have_two_digits() -> None:
    board = bimaru.parse("fleet: 10\n- - - - - - - - - - 0\n10 ? ? ? ? ? ? ? ? ? ? ?")
    assert board.row_totals == (10,)
    assert bimaru.parse(bimaru.render(board)) == board


def test_a_usual_fleet_is_known_by_the_totals_or_the_size() -> None:
    for name in ("small", "magazine", "large"):
        drawing = bimaru.BOARDS[name]
        assert bimaru.parse(drawing.partition("\n")[2]) == bimaru.parse(drawing)
    assert bimaru.parse("- - - - - -\n" + "- ? ? ? ? ? ?\n" * 6).fleet == (3, 2, 2, 1, 1, 1)
    assert sum(bimaru.parse("- - - - - - - - -\n" + "- ? ? ? ? ? ? ? ? ?\n" * 9).fleet) == 20


G = "\n1 ? ? ?\n1 ? ? ?\n1 ? ? ?"
MISTAKES = {
    "": "1:1: no puzzle is drawn here; write the total of each column above the grid",
    "fleet: 2,1": "1:1: no puzzle is drawn here",
    "flet: 2,1\n2 0 1" + G: "1:1: unknown header 'flet'; did you mean 'fleet'?",
    "fleet: 2,1\nfleet: 2,1\n2 0 1" + G: "2:1: fleet is given twice; remove one of the two",
    "fleet: 2,x\n2 0 1" + G: "1:1: the fleet cannot have a ship of length 'x', only of 1 to 15 squares; name the",
    "fleet: 0x3\n2 0 1" + G: "1:1: the fleet cannot have a ship of length '0'",
    "fleet: 99x1\n2 0 1" + G: "1:1: the fleet has 99 ships, and may have 1 to 40",
    "fleet: 2,1" + G: "2:1: the totals of the columns are missing; write the total of each column above",
    "fleet: 2,1\n2 0 1" + G + "\n2 0 1": "6:1: these are column totals, and those in line 2, too; write them once",
    "fleet: 2,1\n1 ? ? ?\n2 0 1\n1 ? ? ?": "3:1: column totals within the grid; write them above or below it",
    "fleet: 2,1\n2 0 1\n1 ? ? ?\n1 ? ?\n1 ? ? ?": "4:5: this row has 2 squares, and there are 3 column totals; all",
    "fleet: 2,1\n2 0 1\n1 ? ? ?\n1 ? ? ? ?": "4:9: this row has 4 squares, and there are 3 column totals",
    "fleet: 2,1\n2 0 1\n1 ? ? ?\n? ? ?\n1 ? ? ?": "4:1: this row has no total; write the number of its ship squares",
    "fleet: 2,1\n2 0 1\n1 ? ? ?\n1 ? Z ?\n1 ? ? ?": "4:5: 'Z' is not a mark; a square is ? (unknown)",
    "fleet: 2,1\n2 0 1\n1 ? ? ?\n1 ? 4 ?\n1 ? ? ?": "4:1: these are column totals, and those in line 2, too",
    "fleet: 2,1\n2 0 1\n1 ? X ?\n1 v 4 ?\n1 ? ? ?": "4:5: '4' is not a mark",
    "fleet: 2,1\n2 0 1": "2:1: the grid has no rows",
    "fleet: 2,1\n4 0 1" + G: "2:1: column A cannot have 4 ship squares; it has 3 squares",
    "fleet: 2,1\n2 0 1\n1 ? ? ?\n1234567890123 ? ? ?\n1 ? ? ?": "4:1: row 2 cannot have 123456789 ship squares",
    "fleet: 2,1\n2 0 2" + G: "2:1: the columns add up to 4, the rows to 3; both are the number of ship squares",
    "fleet: 2,2\n2 0 1" + G: "1:1: the fleet 2,2 has 4 squares, the totals add up to 3; correct the fleet or a total",
    "fleet: 2,2\n- - -" + G: "1:1: the fleet 2,2 has 4 squares, the totals add up to 3",
    "2 0 1"
    + G: '1:1: the totals add up to 3, which no usual fleet has; write the fleet above the grid, such as "fleet',
    "fleet: 1\n- 2 -\n- ? ? ?\n- ? ? ?": "2:1: the known totals of the columns add up to 2, the fleet has 1 square",
    "fleet: 4\n- - -\n" + "- ? ? ?\n" * 3: "1:1: a ship of 4 does not fit in 3x3; its longest can have 3",
    "fleet: 2,2,2\n- - -\n" + "- ? ? ?\n" * 3: "1:1: the fleet 2,2,2 does not fit in 3x3 without touching; leave out",
    "fleet: 2,1\n2 0 1\n1 ? ? ?\n1 X ? X\n1 ? ? ?": "4:1: row 2 has the total 1, and 2 ship squares in it are given",
    "fleet: 2,1\n2 0 1\n1 . ? ?\n1 . ? ?\n1 ? ? ?": "2:1: column A has the total 2, and only 1 of its squares can hold",
    "fleet: 1,1\n- - -\n- X ? X\n- ? ? ?\n- X ? ?": "1:1: 3 ship squares are given, the fleet has 2; correct the fleet",
    "fleet: 2,1\n- - -\n- X ? ?\n- ? X ?\n- ? ? ?": "3:3: the ships on A1 and B2 touch at a corner; one of",
    "fleet: 2,1\n- - -\n- < . ?\n- ? ? ?\n- ? ? ?": "3:3: the ship on A1 goes on to the right, and B1 is water",
    "fleet: 2,1\n- - -\n- ? ? ^\n- ? ? .\n- ? ? ?": "3:7: the ship on C1 goes on downwards, and C2 is water; correct",
    "fleet: 2,1\n- - -\n- > ? ?\n- ? ? ?\n- ? ? ?": "3:3: the ship on A1 goes on to the left, and there is the edge",
    "fleet: 2,1\n- - -\n- ? ? ?\n- ? ? ?\n- ? O X": "5:5: the ship on B3 ends there, and C3 is a ship square",
    "fleet: 3\n- - -\n- # ? ?\n- ? ? ?\n- ? ? ?": "3:3: A1 is the middle of a ship, which cannot go on in both",
    "fleet: 2,1\n"
    + "- " * 16
    + "\n"
    + "- "
    + "? " * 16: "2:31: the grid is too large; it may have 15 columns and 15 rows",
    "fleet: 2,1\n- -\n" + "- ? ?\n" * 16: "18:1: the grid is too large",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_reported_with_its_place_and_correction(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        bimaru.parse(text, "mine.txt")
    assert str(caught.value).splitlines()[0].startswith(f"mine.txt:{MISTAKES[text]}")
    assert all(problem.hint for problem in caught.value.problems)


def test_all_wrong_rows_are_reported() -> None:
    with pytest.raises(ConfigError) as caught:
        bimaru.parse("fleet: 2,1\n2 0 1\n1 ? Z ?\n1 ? ?\n1 ? ? ?", "mine.txt")
    assert [problem.line for problem in caught.value.problems] == [3, 4]


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"size": "8"}, "the size cannot be '8'; write columns x rows"),
        ({"size": "16x16"}, "the size cannot be '16x16'"),
        ({"fleet": "4,zwei"}, "a ship of length 'zwei'"),
        ({"fleet": "11"}, "a ship of 11 does not fit in 10x10"),
        ({"size": "4x4", "fleet": "standard"}, "does not fit in 4x4 without touching; leave out ships"),
        ({"count-to": "0"}, "count-to: '0' is not a number from 1 on"),
        ({"unknown-totals": "few"}, "unknown-totals: 'few' is not a number from 0 on; write one"),
        ({"unknown-totals": "21"}, "unknown-totals: a puzzle of 10x10 has 20; write as many or less"),
        ({"difficulty": "mild"}, "no value of difficulty is called 'mild'"),
    ],
)
def test_a_wrong_rule_is_refused(rules: dict[str, str], message: str) -> None:
    with pytest.raises(ApplianceError) as caught:
        bimaru.with_rules(bimaru.parse(bimaru.BOARDS["magazine"]), rules)
    assert message in str(caught.value)


def test_rules_can_be_set_and_reset() -> None:
    board = bimaru.parse(bimaru.BOARDS["small"])
    changed = bimaru.with_rules(
        board, {"count-to": "1,000", "size": "8x6", "fleet": "1x3, 2x2", "unknown-totals": "3", "difficulty": "hard"}
    )
    assert bimaru.describe(changed) == (
        "6x6 squares, 1 of them given, fleet 3,2,2,1,1,1, counted to 1,000, new puzzles of 8x6 with 3,2,2,"
        " new puzzles with 3 unknown totals,"
        " new puzzles hard"
    )
    assert (
        bimaru.with_rules(changed, {"count-to": "all", "size": "", "fleet": "", "unknown-totals": "", "difficulty": ""})
        == board
    )
    with pytest.raises(InvalidOption):
        bimaru.with_rules(changed, {"size": "2x2"})
