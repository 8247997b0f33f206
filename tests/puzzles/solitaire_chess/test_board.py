"""Solitaire chess boards and solutions are parsed, rendered and checked."""

from collections.abc import Sequence
from itertools import islice
from random import Random
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_appliance.errors import ConfigError, InvalidOption, UnknownName
from pi_appliance.puzzles import SolveMode
from pi_appliance.puzzles import solitaire_chess as chess
from pi_appliance.puzzles.runtime import SearchRuntime
from pi_appliance.puzzles.solitaire_chess import Board, Capture, Square
from tests.examples import repetitions

SMALL = Board(("..RP", ".RN.", "BN..", "PB.."))


def parse_captures(text: str) -> tuple[Capture, ...]:
    """Read captures written as "c1b1 b1a2"."""
    at = {f"{file}{rank + 1}": Square("abcdefgh".index(file), rank) for file in "abcdefgh" for rank in range(8)}
    return tuple(Capture(at[word[:2]], at[word[2:]]) for word in text.split())


@pytest.mark.parametrize(
    "text",
    [
        "..RP\n.RN.\nBN..\nPB..\n",
        "\n\n  ..RP\n  .RN.\n  BN..\n  PB..\n\n",
        "..RP/.RN./BN../PB..",
        "2RP/1RN1/BN2/PB2",
        "2rp/1rn1/bn2/pb2 w - - 0 1",
        "2♖♙/1♖♘1/♗♘2/♙♗2",
        "2♜♟/1♜♞1/♝♞2/♟♝2",
        ". . R P\n- R N -\nB N _ _\nP B · ·",
        "..♖︎♟︎/.RN./BN../PB..",
    ],
)
def test_every_notation_gives_the_same_board(text: str) -> None:
    assert chess.parse(text, "mine.txt") == SMALL


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.txt:1:1: there is no board here; a square is one of K Q R B N P"),
        ("R..\n.X.\n", "mine.txt:2:2: 'X' is not a piece"),
        ("R.../..A./9...", "mine.txt:1:8: 'A' is not a piece"),
        ("R.../..A./9...", "mine.txt:1:11: '9' is not a piece"),
        ("R..\n..\n", "mine.txt:2:1: this row has 2 squares, and the first one 3"),
        ("R8\n", "mine.txt:1:1: this row has 9 squares; a board has at most 8 by 8"),
        ("R\n" * 9, "mine.txt:9:1: the board has 9 rows"),
        ("...\n...\n", "mine.txt:1:1: the board has no piece"),
        ("R../..B//...", "mine.txt:1:9: a row without squares; draw empty squares as ."),
    ],
)
def test_an_error_has_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        chess.parse(text, "mine.txt")
    assert message in str(caught.value)


@given(st.one_of(st.text(), st.text("KQRBNPkqrbnp.-/12 8\n♔♟w")))
def test_any_text_is_a_board_or_an_error(text: str) -> None:
    try:
        board = chess.parse(text, "mine.txt")
    except ConfigError as error:
        assert str(error).startswith("mine.txt:")  # noqa: PT017
    else:
        assert chess.parse(chess.render(board), "again") == board


@given(st.one_of(st.text(), st.text("RBabcd1234x \n")))
def test_any_text_is_a_solution_or_an_error(text: str) -> None:
    try:
        line = chess.parse_solution(SMALL, text, "mine.txt")
    except ConfigError as error:
        assert str(error).startswith("mine.txt:")  # noqa: PT017
    else:
        assert line == () or not chess.check(SMALL, line) or len(line) == 7


@pytest.mark.parametrize("name", chess.BOARDS)
def test_built_in_boards_render_as_written(name: str) -> None:
    board = chess.parse(chess.BOARDS[name], name)
    assert chess.render(board) == chess.BOARDS[name]
    assert all(row.strip() for row in chess.render(board).splitlines())


def test_solutions_are_parsed_in_several_notations() -> None:
    line = next(chess.solve(SMALL, SolveMode.FIRST, SearchRuntime()).solutions)
    written = chess.notate(SMALL, line)
    assert chess.parse_solution(SMALL, written, "mine") == line
    assert chess.parse_solution(SMALL, written.replace("x", "\n"[:0] or "-"), "mine") == line
    assert chess.parse_solution(SMALL, "Rc4d4 ♗b1xc2", "mine") == parse_captures("c4d4 b1c2")
    with pytest.raises(ConfigError, match=r"mine:1:7: there is no B on b3, but R; .*"):
        chess.parse_solution(SMALL, "Rc4d4 Bb3xc3", "mine")
    with pytest.raises(ConfigError, match="mine:2:1: 'O-O' is not a valid capture"):
        chess.parse_solution(SMALL, "Rc4d4\nO-O", "mine")


def test_rules_are_described_and_invalid_ones_rejected() -> None:
    rules = {"pawns": "both", "king": "last", "captures-each": "2", "search": "breadth", "pieces": "5", "size": "5 x 6"}
    board = chess.with_rules(SMALL, rules)
    assert (board.generated_pieces, board.generated_size) == (5, (5, 6))
    description = "8 pieces on 4x4, pawns capture up and down, the king is never captured, at most 2 captures a piece"
    assert chess.describe(board) == description + ", breadth first"
    assert chess.describe(chess.with_rules(SMALL, {"pawns": "up"})) == "8 pieces on 4x4, pawns capture up"
    with pytest.raises(UnknownName, match="did you mean 'pawns'"):
        chess.with_rules(SMALL, {"pawn": "up"})
    with pytest.raises(UnknownName, match="no value of pawns is called 'sideways'; known: both, down, up"):
        chess.with_rules(SMALL, {"pawns": "sideways"})
    wrong = [("captures-each", "99"), ("captures-each", "1,2"), ("pieces", "many"), ("size", "9x9"), ("size", "large")]
    for rule, text in wrong:
        with pytest.raises(InvalidOption, match=rule):
            chess.with_rules(SMALL, {rule: text})


def test_an_invalid_board_is_rejected() -> None:
    for rows in ((), ("",), ("R..", ".."), ("...",), ("R" * 9,), ("x",)):
        with pytest.raises(ValueError, match=r"board|square"):
            Board(rows)


@pytest.mark.parametrize(
    ("board", "line", "message"),
    [
        ("R.P\n...\n..N", "a3c3 c3c1", ""),
        ("R.P\n...\n..N", "a3c3", "2 pieces are left after 1 capture"),
        ("RNP\n...\n...", "a3c3", "capture 1, a3xc3: b3 is in the way"),
        ("R.P\n...\n...", "a3b3", "capture 1, a3xb3: there is no piece on b3"),
        ("R.P\n...\n...", "c3a3", "capture 1, c3xa3: a pawn does not capture like that"),
        ("R.P\n...\n...", "a3a3", "capture 1, a3xa3: a rook does not capture like that"),
        ("..P\n.R.\n...", "c3b2", ""),
        ("..R\n.P.\n...", "b2c3", "capture 1, b2xc3: a pawn does not capture like that"),
        ("B..\n.P.\n..N", "a3c1", "capture 1, a3xc1: b2 is in the way"),
        ("QR.\n...\n...", "a3b3", ""),
        ("N..\n..R\n...", "a3c2", ""),
        ("K..\n..R\n...", "a3c2", "capture 1, a3xc2: a king does not capture like that"),
    ],
)
def test_check_names_the_wrong_capture(board: str, line: str, message: str) -> None:
    assert chess.check(chess.parse(board, "mine"), parse_captures(line)).error == message


def test_check_applies_the_rules() -> None:
    board = chess.parse("R.K\n...\nR.R", "mine")
    line = parse_captures("a3c3 c3c1 c1a1")
    assert chess.check(board, line)
    assert chess.check(chess.with_rules(board, {"king": "last"}), line).error.endswith("a king is never captured")
    wrong = chess.check(chess.with_rules(board, {"captures-each": "2"}), line).error
    assert wrong == "capture 3, c1xa1: the rook has already captured 2 times"


def test_check_agrees_with_a_plain_replay() -> None:
    """Ten thousand solutions with random edits."""
    random = Random(1)
    verdicts = {True: 0, False: 0}
    rules = [{}, {"pawns": "up"}, {"pawns": "both", "king": "last"}, {"captures-each": "2"}]
    for drawing in ("..RP/.RN./BN../PB..", "RBK./.N.B/.NQR/....", ".PR./Q.N./N.KP/...B", "P.P./PNK./.P../...."):
        for rule in rules:
            board = chess.with_rules(chess.parse(drawing, "mine"), rule)
            right = list(islice(chess.solve(board, SolveMode.ALL, SearchRuntime()).solutions, 500))
            some = tuple(chess.legal_captures(board)) or parse_captures("a1a2")
            places = sorted(board.pieces)
            for _ in range(repetitions(640)):
                line = list(random.choice(right or [some]))
                for _ in range(random.choice((0, 1, 1, 2))):
                    at = random.randrange(len(line)) if line else 0
                    match random.randrange(4):
                        case 0 if line:
                            line[at] = Capture(line[at].start, random.choice(places))
                        case 1 if line:
                            del line[at]
                        case 2:
                            line.insert(at, Capture(random.choice(places), random.choice(places)))
                        case _ if len(line) > 1:
                            line[at - 1], line[at] = line[at], line[at - 1]
                verdict = bool(chess.check(board, line))
                assert verdict == is_solution(board, line), (drawing, rule, line)
                verdicts[verdict] += 1
    assert sum(verdicts.values()) > repetitions(10_000)
    assert min(verdicts.values()) > repetitions(1_000)


def is_solution(board: Board, line: Sequence[Capture]) -> bool:
    """Replay `line` in the plainest way: one ray at a time, over a table of marks."""
    height = len(board.rows)
    marks = {(x, height - 1 - y): mark for y, row in enumerate(board.rows) for x, mark in enumerate(row)}
    captures_made = dict.fromkeys(marks, 0)
    for (x, y), (u, v) in line:
        piece, captured = marks.get((x, y), "."), marks.get((u, v), ".")
        if piece == "." or captured == "." or (captured == "K" and board.king == "last"):
            return False
        if board.capture_limit and captures_made[x, y] == board.capture_limit:
            return False
        if (u, v) not in attacked_squares(piece, x, y, marks, board.pawns):
            return False
        captures_made[u, v] = captures_made[x, y] + 1
        marks[u, v], marks[x, y] = piece, "."
    return sum(mark != "." for mark in marks.values()) == 1


def attacked_squares(piece: str, x: int, y: int, marks: dict[tuple[int, int], str], pawns: str) -> set[tuple[int, int]]:
    """Return the squares that `piece` on (x, y) attacks."""
    rook, bishop = [(1, 0), (-1, 0), (0, 1), (0, -1)], [(1, 1), (1, -1), (-1, 1), (-1, -1)]
    jumps = {
        "K": rook + bishop,
        "N": [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)],
        "P": [(dx, dy) for dx in (-1, 1) for dy in {"down": (-1,), "up": (1,), "both": (-1, 1)}[pawns]],
    }
    if piece in jumps:
        return {(x + dx, y + dy) for dx, dy in jumps[piece]}
    result = set()
    for dx, dy in {"R": rook, "B": bishop, "Q": rook + bishop}[piece]:
        u, v = x + dx, y + dy
        while marks.get((u, v)) == ".":
            u, v = u + dx, v + dy
        result.add((u, v))
    return result


def test_pictures_draw_pieces_without_a_font() -> None:
    board = chess.parse("KQRBNP", "mine")
    svg = chess.render_svg(board)
    letters = [each.text for each in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]  # noqa: S314
    assert letters == [*"abcdef", "1"]
    assert svg.count("sol-piece") == 1 + 6
    assert "king a1, queen b1, rook c1, bishop d1, knight e1, pawn f1" in svg


def test_steps_show_every_capture() -> None:
    board = chess.parse("R.P\n...\n..N", "mine")
    steps = list(chess.steps(board, parse_captures("a3c3 c3c1")))
    captions = ["The board", "1. Ra3xc3 captures the pawn", "2. Rc3xc1 captures the knight"]
    assert [step.caption for step in steps] == captions
    assert len({step.svg for step in steps}) == 3


def test_a_listing_is_parsed_back() -> None:
    lines = list(chess.solve(SMALL, SolveMode.ALL, SearchRuntime()).solutions)
    parts = [f"Starting Board\n{chess.render(SMALL)}\n"]
    parts += [f"Start Solution\n{chess.render_solution(SMALL, line)}\nEnd Solution\n" for line in lines]
    assert list(chess.parse_listing("".join(parts), "mine", lambda *_: None)) == [(SMALL, lines)]
