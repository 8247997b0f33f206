"""Changes of a text file of posts: one line is changed, and all other bytes stay."""

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.config.config_file import content_version, replace_file
from pi_appliance.errors import InvalidOption, Refused, Unavailable, UnknownName
from pi_appliance.posting.lines import (
    LINE_END,
    PostLine,
    decode_text,
    escape_line,
    line_fingerprint,
    parse_line,
    parse_lines,
    unescape_line,
)
from pi_appliance.system import files

_LOCK_TIMEOUT = 5.0  # seconds to wait for another writer
_MARK = "\ufeff"  # byte order mark
# all control characters except tab: a terminal would obey some of them
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of the file, and a version that changes with its bytes."""

    text: str
    version: str

    def lines(self) -> list[tuple[PostLine, str]]:
        """Return the lines that can be posted, each with its text for `replace_line`."""
        rows = _split(self.text)[0]
        return [(line, unescape_line(rows[line.number - 1].strip())) for line in parse_lines(self.text)]

    def line(self, number: int) -> str:
        """Return the text of line `number`. Raises UnknownName if it is blank or a comment."""
        return _split(self.text)[0][_place(self.text, number)].strip()


class LineFile:
    """A text file of posts that several programs may change.

    They hold the lock file `lock` meanwhile.
    """

    def __init__(self, path: Path, lock: Path) -> None:
        self.path, self._lock_path = path, lock

    def read(self) -> FileText:
        """Read the file. Raises Refused if that is not possible."""
        try:
            data = self.path.read_bytes()
            return FileText(decode_text(data), content_version(data))
        except FileNotFoundError:
            return FileText("", content_version(b""))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise Refused(f"{self.path} cannot be read: {reason}") from None

    def change(self, edit: Callable[[str], str], version: str | None) -> FileText:
        """Write the text that `edit` returns, if the file still has the `version` that was read.

        Raises:
            InvalidOption: The new text is not valid.
            UnknownName: The line does not exist.
            Refused: Another program has changed the file, or it may not be written.
            Unavailable: The file cannot be written.
        """
        with self._lock():
            before = self.read()
            if version not in (None, before.version):
                raise Refused(f"{self.path.name} was changed in the meantime; look at it again, then change it")
            text = edit(before.text)
            content = text.encode()
            if text != before.text:
                if not self.path.exists():
                    files.write_file(self.path, b"")
                replace_file(self.path.resolve(), content)
            return FileText(text, content_version(content))

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        with files.acquire_lock(self._lock_path, patience=_LOCK_TIMEOUT) as lock:
            if lock is None:
                raise Unavailable(f"another program is changing {self.path.name}; try again")
            yield


def add_line(text: str, line: str) -> str:
    r"""Return `text` with `line` at its end, with the line ends that it has.

    A line that would be a comment gets a backslash: \# is a # at the beginning of a post.

    Raises:
        InvalidOption: The line is not valid, or it is there already.
    """
    line = _valid_line(text, line)
    ends = LINE_END.findall(text)
    end = ends[-1] if ends else "\n"
    has_end = not text.removeprefix(_MARK) or text.endswith(("\r", "\n"))
    return f"{text}{line}{end}" if has_end else f"{text}{end}{line}"


def replace_line(text: str, number: int, line: str) -> str:
    """Return `text` with `line` in place of line `number`. Raises as `add_line`.

    The spaces before and after the old line stay.
    """
    rows, ends = _split(text)
    place = _place(text, number)
    row = rows[place]
    start = len(row) - len(row.lstrip())
    rows[place] = row[:start] + _valid_line(text, line, number) + row[len(row.rstrip()) :]
    return _join(text, rows, ends)


def delete_line(text: str, number: int) -> str:
    """Return `text` without line `number`. Raises UnknownName."""
    rows, ends = _split(text)
    place = _place(text, number)
    del rows[place], ends[place]
    return _join(text, rows, ends)


def move_line(text: str, number: int, to: int) -> str:
    """Return `text` with line `number` moved to the place of line `to`.

    The lines between them move by one place. Comments and blank lines stay. Raises UnknownName.
    """
    rows, ends = _split(text)
    first, last = _place(text, number), _place(text, to)
    places = [line.number - 1 for line in parse_lines(text)]
    order = [each for each in places if each != first]
    order.insert(places.index(last), first)
    moved = [rows[each] for each in order]
    for place, row in zip(places, moved, strict=True):
        rows[place] = row
    return _join(text, rows, ends)


def _split(text: str) -> tuple[list[str], list[str]]:
    """Return the rows of `text` without a byte order mark, and the end of each."""
    return LINE_END.split(text.removeprefix(_MARK)), [*LINE_END.findall(text), ""]


def _join(text: str, rows: list[str], ends: list[str]) -> str:
    mark = _MARK if text.startswith(_MARK) else ""
    return mark + "".join(row + end for row, end in zip(rows, ends, strict=True))


def _place(text: str, number: int) -> int:
    """Return the index of the row of line `number`."""
    numbers = [line.number for line in parse_lines(text)]
    if number not in numbers:
        raise UnknownName("line", str(number), [str(each) for each in numbers])
    return number - 1


def _valid_line(text: str, line: str, number: int = 0) -> str:
    line = escape_line(line.replace(_MARK, "").strip())
    if not line or LINE_END.search(line):
        raise InvalidOption("a line to post is not empty, and has no line break")
    if found := _CONTROL.search(line):
        raise InvalidOption(
            f"the line has the control character U+{ord(found[0]):04X}, which cannot be posted; remove it"
        )
    fingerprint = line_fingerprint(parse_line(number, line))
    for other in parse_lines(text):
        if other.number != number and line_fingerprint(other) == fingerprint:
            raise InvalidOption(f"line {other.number} is the same; a text counts only once")
    return line
