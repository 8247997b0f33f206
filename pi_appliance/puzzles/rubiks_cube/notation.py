"""Reads a cube: a scramble in turns, or its stickers in one row or as an unfolded net, by faces or by colours."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pi_appliance.errors import ConfigError, Problem
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.rubiks_cube.board import FACES, TURNS, Board, Solution
from pi_appliance.puzzles.rubiks_cube.legal import faults
from pi_appliance.puzzles.rubiks_cube.turns import WORD, read_turn, turned

COLOURS = "WRGYOB"  # of the faces URFDLB, as most cubes have them
_BY_FACE: Mapping[str, str] = {face: face for face in FACES}
_BY_COLOUR: Mapping[str, str] = dict(zip(COLOURS, FACES, strict=True))
_SIZES = {54: 3, 24: 2}
_HEAD = re.compile(r"\s*([23])x\1(?:x\1)?\s*:?(?=\s|$)|\s*([23])x\2(?:x\2)?\s*:", re.IGNORECASE)
_PRIMES = "'`\u00b4\u02b9\u02bc\u2018\u2019\u2032"  # as keyboards, telephones and books have them
_TURNED = re.compile(rf"[{_PRIMES}0-9()]|\b(?:[URFDLB]w|[xzMES])\b")  # what only moves are written with
_JOINED = re.compile(r"(?:([URFDLBurfdlbxyz])(?!\1)){1,12}")  # RUF: too few for a drawing, and none twice on end
_MARKS = frozenset(FACES + COLOURS)
_RIGHT_MOVE = "a move is one of U R F D L B, with 2 for a half turn and ' for a quarter back, such as U R2 F'"
_RIGHT_STICKERS = "a cube has 54 stickers, a 2x2x2 24: the faces U R F D L B in turn, or an unfolded net"
_MOST_MOVES = 2_000
_FEW_LETTERS = 12  # too few for a drawing, even of half a 2x2x2


class _Letter(NamedTuple):
    mark: str
    line: int
    column: int


def parse(text: str, file: str) -> Board:
    """Return the cube that TEXT tells, with the default rules. Raises ConfigError.

    A scramble is applied to a solved cube; "2x2x2" before it makes that one of side 2. Stickers are told apart from
    moves by standing together in rows.
    """
    head = _HEAD.match(text)
    side = int(head[1] or head[2]) if head else None
    body = " " * head.end() + text[head.end() :] if head and "\n" not in head[0] else text
    if head and "\n" in head[0]:
        body = "".join(mark if mark.isspace() else " " for mark in head[0]) + text[head.end() :]
    if not body.strip():
        raise ConfigError([Problem(file, 1, 1, "no cube is told here", f"{_RIGHT_MOVE}; or {_RIGHT_STICKERS}")])
    if _are_stickers(body):
        return _read_stickers(body, side, file)
    return _read_scramble(body, side or 3, file)


def parse_solution(board: Board, text: str, file: str) -> Solution:
    """Return the moves that TEXT notates, turns of faces only. Raises ConfigError."""
    return tuple(_read_moves(text, board.side, file, faces_only=True))


def _are_stickers(text: str) -> bool:
    """Tell a drawing from moves: no sign that only moves have, and letters that stand together or fill a net."""
    words = text.split()
    if _TURNED.search(text) or ("y" in words and not text.islower()) or (_JOINED.fullmatch(text.strip())):
        return False
    if any(len(word) > 1 and sum(mark in _MARKS for mark in word.upper()) >= 0.8 * len(word) for word in words):
        return True
    letters = [word.upper() for word in words if len(word) == 1]
    rows = [row for row in text.splitlines() if row.strip()]
    alike = len(letters) in _SIZES and len({letters.count(letter) for letter in set(letters)}) == 1
    # A small y is a turn of the whole cube, too; of those there are few.
    colours = "WYGO" if "Y" in words or len(letters) > _FEW_LETTERS else "WGO"
    return alike or bool(set(colours) & set(letters)) or (len(rows) in {6, 9} and len(letters) in _SIZES)


def _read_stickers(text: str, side: int | None, file: str) -> Board:
    letters = [
        _Letter(mark, line, column)
        for line, row in enumerate(text.splitlines(), 1)
        for column, mark in enumerate(row, 1)
        if not mark.isspace()
    ]
    marks = {letter.mark.upper() for letter in letters}
    by = _BY_COLOUR if marks & set("WYGO") and not marks & set("UFDL") else _BY_FACE
    problems = [_strange(letter, by, file) for letter in letters if letter.mark.upper() not in by]
    if problems:
        raise ConfigError(problems)
    if _SIZES.get(len(letters)) is None or side not in {None, _SIZES[len(letters)]}:
        last = letters[-1]
        wrong = f"there are {pluralize(len(letters), 'sticker')}"
        right = f"a {side}x{side}x{side} has {6 * side * side}" if side else _RIGHT_STICKERS
        raise ConfigError([Problem(file, last.line, last.column, wrong, right)])
    side = _SIZES[len(letters)]
    ordered = _net_order(letters, side) or letters
    facelets = "".join(by[letter.mark.upper()] for letter in ordered)
    shown = {face: mark for mark, face in by.items()}
    if found := faults(facelets, side, shown):
        raise ConfigError(
            Problem(file, ordered[at].line, ordered[at].column, wrong, right) for at, wrong, right in found
        )
    return Board(side, facelets)


def _strange(letter: _Letter, by: Mapping[str, str], file: str) -> Problem:
    wrong = f"{letter.mark!r} is no {'colour' if by is _BY_COLOUR else 'face'}"
    return Problem(
        file, letter.line, letter.column, wrong, f"stickers are {' '.join(by)}; see that all are of one kind"
    )


def _net_order(letters: Sequence[_Letter], side: int) -> list[_Letter] | None:
    """Return LETTERS face by face if they are drawn as a net: U above, then L F R B beside each other, D below."""
    rows: dict[int, list[_Letter]] = {}
    for letter in letters:
        rows.setdefault(letter.line, []).append(letter)
    drawn = list(rows.values())
    if [len(row) for row in drawn] != [side] * side + [4 * side] * side + [side] * side:
        return None
    middle = drawn[side : 2 * side]
    belt = {face: [x for row in middle for x in row[at * side : at * side + side]] for at, face in enumerate("LFRB")}
    belt["U"] = [letter for row in drawn[:side] for letter in row]
    belt["D"] = [letter for row in drawn[2 * side :] for letter in row]
    return [letter for face in FACES for letter in belt[face]]


def _read_scramble(text: str, side: int, file: str) -> Board:
    facelets = "".join(face * (side * side) for face in FACES)
    for word in _read_moves(text, side, file, faces_only=False):
        turn = read_turn(word, side)
        assert turn is not None
        facelets = turned(facelets, side, turn)
    return Board(side, facelets)


def _read_moves(text: str, side: int, file: str, *, faces_only: bool) -> Iterator[str]:
    """Yield the moves in TEXT. Raises ConfigError with every word that is none, before the first."""
    problems: list[Problem] = []
    words: list[str] = []
    for line, row in enumerate(text.splitlines(), 1):
        plain = re.sub(f"[{_PRIMES}]", "'", row)
        plain = re.sub(r"[(),]", " ", plain) if not faces_only else plain
        for match in re.finditer(r"\S+", plain):
            parts = list(_joined(match[0]))
            words += parts
            known = [read_turn(part, side) is not None and (part in TURNS or not faces_only) for part in parts]
            if not all(known):
                problems.append(_no_move(match[0], side, Problem(file, line, match.start() + 1, "")))
    if len(words) > _MOST_MOVES:
        problems.append(Problem(file, 1, 1, f"there are {len(words):,} moves", f"at most {_MOST_MOVES:,} are read"))
    if problems:
        raise ConfigError(problems)
    yield from words


def _joined(word: str) -> Iterator[str]:
    """Yield the moves of a WORD that is many, written together, such as RUR'U'; else WORD."""
    parts = [match[0] for match in WORD.finditer(word)]
    if "".join(parts) == word:
        yield from parts
    else:
        yield word


def _no_move(word: str, side: int, where: Problem) -> Problem:
    if side == 2 and re.fullmatch(r"([URFDLB]w|[urfdlbMES]).*", word):
        return Problem(
            where.file, where.line, where.column, f"{word!r} is no move of a 2x2x2", "it has no middle layer"
        )
    return Problem(where.file, where.line, where.column, f"{word!r} is no move", _RIGHT_MOVE)
