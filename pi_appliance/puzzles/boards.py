"""Find puzzles and boards by name, by file, or from a drawing."""

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, cast

from pi_appliance import plugins
from pi_appliance.config.units import format_size
from pi_appliance.errors import ConfigError, UnknownName
from pi_appliance.puzzles import Puzzle
from pi_appliance.puzzles.text_format import BOARD_HEADER, SOLUTION_END, SOLUTION_START, parse_error
from pi_appliance.system.files import display_path

_MAX_NAME_LENGTH = 24  # characters; a longer word is a drawing
_NAME = re.compile(r"[a-z][a-z-]*|.*\w\.[a-z]\w*", re.IGNORECASE)  # a board, or a file with a suffix
_MAX_NAME_BYTES = 120  # bytes; the name is a prefix of file names
MAX_BYTES = 256_000_000  # bytes; a million sudokus with their solutions are 164 MB
MAX_BYTES_OF_ONE_BOARD = 100_000  # bytes; a larger text is not a board
_LARGE_FILE = 100_000  # bytes; 1,200 sudokus, a twentieth of a second
_READ_SIZE = 1_000_000  # bytes that are read at a time
_LONGEST_LINE = 100_000  # characters: longer than any row of a puzzle


def load_puzzle(name: str) -> Puzzle:
    """Import a puzzle by name. Raises UnknownName."""
    return cast(Puzzle, plugins.load("puzzles", name))


def size_limit(puzzle: Puzzle) -> int:
    """Return the largest size of a text with boards of `puzzle`, in bytes."""
    return MAX_BYTES if getattr(puzzle, "MANY_BOARDS", False) else MAX_BYTES_OF_ONE_BOARD


def read_board(puzzle: Puzzle, where: Path, rules: Mapping[str, str]) -> object:
    """Return a known board (a path without suffix), or the board of a file.

    Raises UnknownName, ConfigError.
    """
    if not where.suffix and where.name in puzzle.BOARDS:
        return puzzle.with_rules(puzzle.parse(puzzle.BOARDS[where.name], where.name), rules)
    if not where.suffix and not where.is_file():
        raise UnknownName("board", where.name, tuple(puzzle.BOARDS))
    if where.exists() and not where.is_file() and not where.is_dir():  # reading a pipe or a device may never end
        raise parse_error(display_path(where), 1, 1, "this is not a regular file", "name a text file")
    return puzzle.with_rules(puzzle.parse(read_text(where, size_limit(puzzle)), display_path(where)), rules)


def find_board(puzzle: Puzzle, words: str, rules: Mapping[str, str]) -> object:
    """Return the board that `words` name, draw or locate. Raises UnknownName, ConfigError."""
    where = Path(words)
    if words in puzzle.BOARDS or is_file(where):
        return read_board(puzzle, where, rules)
    try:
        board = puzzle.parse(words, "board")
    except ConfigError:
        exists = False
        with contextlib.suppress(OSError, ValueError):
            exists = where.exists()
        if words and exists:
            raise parse_error(words, 1, 1, "this is not a regular file", "name a text file") from None
        if not _looks_like_name(words):
            raise
        return read_board(puzzle, where, rules)  # raises an error that lists the known names
    return puzzle.with_rules(board, rules)


def _looks_like_name(words: str) -> bool:
    """Return whether text that is not a board looks like a name or a file, not like a drawing."""
    if len(words) > _MAX_NAME_LENGTH or any(mark.isspace() for mark in words):
        return False
    return not words or _NAME.fullmatch(words) is not None or ("/" in words and Path(words).parent.is_dir())


def is_file(where: Path) -> bool:
    """Return whether `where` is a file, also for strings that cannot be a path."""
    with contextlib.suppress(OSError, ValueError):  # the text is too long for a path, or has a zero byte
        return where.is_file()
    return False


def is_large(where: Path) -> bool:
    """Return whether `where` is too large for commands that only check the configuration."""
    return is_file(where) and where.stat().st_size > _LARGE_FILE


def board_name(where: Path) -> str:
    """Return the name of the board in reports and file names: one line of printable characters."""
    plain = "".join(mark if mark.isprintable() else "?" for mark in where.stem)
    if plain in (BOARD_HEADER, SOLUTION_START, SOLUTION_END):  # would be read as a header of the listing
        plain += "?"
    return plain.encode()[:_MAX_NAME_BYTES].decode(errors="ignore")


def read_text(path: Path, most: int = MAX_BYTES) -> str:
    """Read a text file of at most `most` bytes. Raises ConfigError."""
    try:
        with path.open("rb") as file:
            if path.stat().st_size > most:  # checked before it fills the memory
                raise _too_large(display_path(path), most)
            content = read_limited(file, most)
    except OSError as error:
        raise parse_error(
            display_path(path), 1, 1, f"cannot be read: {error.strerror}", "check its name and rights"
        ) from None
    return decode_text(content, display_path(path), most)


def read_limited(file: IO[bytes], most: int) -> bytes:
    """Read at most one byte more than `most`, without reserving memory for the limit."""
    content, remaining = bytearray(), most + 1
    while remaining and (piece := file.read(min(remaining, _READ_SIZE))):
        content += piece
        remaining -= len(piece)
    return bytes(content)


def decode_text(content: bytes, file: str, most: int = MAX_BYTES) -> str:
    """Decode UTF-8 of at most `most` bytes and normalize its line ends. Raises ConfigError."""
    if len(content) > most:
        raise _too_large(file, most)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise parse_error(file, 1, 1, "this is not a text file", "save it as UTF-8")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lengths = list(map(len, text.split("\n")))
    if max(lengths) > _LONGEST_LINE:
        number = next(number for number, length in enumerate(lengths, 1) if length > _LONGEST_LINE)
        raise parse_error(file, number, 1, f"this line has more than {_LONGEST_LINE:,} characters", "split it")
    return text


def _too_large(file: str, most: int) -> ConfigError:
    right = "split it into several files" if most == MAX_BYTES else "use one board per file"
    return parse_error(file, 1, 1, f"it has more than {format_size(most)}", right)
