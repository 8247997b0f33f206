"""Puzzles and boards by what a person calls them: a known name, a file, or the drawing itself."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, cast

from pi_appliance import plugins
from pi_appliance.config.loader import display_path
from pi_appliance.config.units import format_size
from pi_appliance.errors import ConfigError, Problem, UnknownName
from pi_appliance.puzzles import Puzzle
from pi_appliance.puzzles.rendering import BOARD_HEADER, SOLUTION_END, SOLUTION_START

_MAX_NAME_LENGTH = 24  # characters; what is longer, and no file, is a drawing
_NAME = re.compile(r"[a-z][a-z-]*|.*\w\.[a-z]\w*", re.IGNORECASE)  # of a board, or of a file with its suffix
_MAX_NAME_BYTES = 120  # bytes: it names files of the report, with something behind it
MAX_BYTES = 256_000_000  # bytes; a million sudokus with their solutions are 164 MB
MAX_BYTES_OF_ONE_BOARD = (
    100_000  # bytes of a text with one board; a larger one is something else, and would be complained of long
)
_LARGE_FILE = 100_000  # bytes; 1,200 sudokus, a twentieth of a second
_READ_SIZE = 1_000_000  # bytes
_LONG_LINE = re.compile(r"[^\n]{100001}")  # no puzzle has rows as long, and none could be shown


def load_puzzle(name: str) -> Puzzle:
    """Return the puzzle NAME. Raises UnknownName."""
    return cast(Puzzle, plugins.load("puzzles", name))


def size_limit(puzzle: Puzzle) -> int:
    """Return how many bytes a text with a board of PUZZLE may have."""
    return MAX_BYTES if getattr(puzzle, "MANY_BOARDS", False) else MAX_BYTES_OF_ONE_BOARD


def read_board(puzzle: Puzzle, where: Path, rules: Mapping[str, str]) -> Any:
    """Return the board that WHERE names, else the one in that file, with RULES. Raises UnknownName or ConfigError.

    The configuration makes a path of every entry, so a name is one without a suffix, whatever its folder.
    """
    if not where.suffix and where.name in puzzle.BOARDS:
        return puzzle.with_rules(puzzle.parse(puzzle.BOARDS[where.name], where.name), rules)
    if not where.suffix and not where.is_file():
        raise UnknownName("board", where.name, tuple(puzzle.BOARDS))
    if where.exists() and not where.is_file() and not where.is_dir():  # a pipe, or a device without an end
        raise ConfigError([Problem(display_path(where), 1, 1, "this is no file with a board", "name a text file")])
    return puzzle.with_rules(puzzle.parse(read_text(where, size_limit(puzzle)), display_path(where)), rules)


def find_board(puzzle: Puzzle, words: str, rules: Mapping[str, str]) -> Any:
    """Return the board that WORDS name, or that lies in a file of that name, or is drawn in them, with RULES.

    Raises UnknownName or ConfigError.
    """
    where = Path(words)
    if words in puzzle.BOARDS or is_file(where):
        return read_board(puzzle, where, rules)
    try:
        board = puzzle.parse(words, "board")
    except ConfigError:
        if words and _exists(where):
            raise ConfigError([Problem(words, 1, 1, "this is no file with a board", "name a text file")]) from None
        if not _looks_like_name(words):
            raise
        return read_board(puzzle, where, rules)  # which says what there is in place of it
    return puzzle.with_rules(board, rules)


def _looks_like_name(words: str) -> bool:
    """Say whether WORDS, which cannot be read, look like the name of a board or a file, not like a drawing."""
    if len(words) > _MAX_NAME_LENGTH or any(mark.isspace() for mark in words):
        return False
    return not words or _NAME.fullmatch(words) is not None or ("/" in words and Path(words).parent.is_dir())


def is_file(where: Path) -> bool:
    """Say whether WHERE is a file; what is no name of one is none."""
    try:
        return where.is_file()
    except (OSError, ValueError):  # too long for a name, or with a zero byte
        return False


def is_large(where: Path) -> bool:
    """Say whether reading the board WHERE takes so long that only its own run should, and not every command."""
    return is_file(where) and where.stat().st_size > _LARGE_FILE


def _exists(where: Path) -> bool:
    try:
        return where.exists()
    except (OSError, ValueError):
        return False


def board_name(where: Path) -> str:
    """Return what the board WHERE is called in a report, and its files there: one line, of marks that can be shown."""
    plain = "".join(mark if mark.isprintable() else "?" for mark in where.stem)
    if plain in (
        BOARD_HEADER,
        SOLUTION_START,
        SOLUTION_END,
    ):  # a row of that name would be read as one of the listing's own
        plain += "?"
    return plain.encode()[:_MAX_NAME_BYTES].decode(errors="ignore")


def read_text(path: Path, most: int = MAX_BYTES) -> str:
    """Return what stands in the file PATH. Raises ConfigError if it cannot be read, is no text, or above MOST bytes."""
    try:
        with path.open("rb") as file:
            if path.stat().st_size > most:  # said before it fills the memory
                raise _too_large(display_path(path), most)
            content = read_limited(file, most)
    except OSError as error:
        raise ConfigError(
            [Problem(display_path(path), 1, 1, f"cannot be read: {error.strerror}", "check its name and rights")]
        ) from None
    return decode_text(content, display_path(path), most)


def read_limited(file: IO[bytes], most: int) -> bytes:
    """Return what FILE holds, MOST bytes and one. Reading all at once would take room for the most."""
    found, left = bytearray(), most + 1
    while left and (piece := file.read(min(left, _READ_SIZE))):
        found += piece
        left -= len(piece)
    return bytes(found)


def decode_text(content: bytes, file: str, most: int = MAX_BYTES) -> str:
    """Return CONTENT of FILE as a text whose lines end with a line feed. Raises ConfigError if it cannot be one.

    MOST is how many bytes it may have.
    """
    if len(content) > most:
        raise _too_large(file, most)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ConfigError([Problem(file, 1, 1, "this is not a text file", "save it as UTF-8")])
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if endless := _LONG_LINE.search(text):
        number, characters = text.count("\n", 0, endless.start()) + 1, len(endless[0]) - 1
        raise ConfigError([Problem(file, number, 1, f"this line has more than {characters:,} characters", "cut it up")])
    return text


def _too_large(file: str, most: int) -> ConfigError:
    right = "take it apart" if most == MAX_BYTES else "draw one board, and nothing else"
    return ConfigError([Problem(file, 1, 1, f"there are more than {format_size(most)} of it", right)])
