"""YAML text to plain data, with the line and column of every value.

Surprises of YAML 1.1 are disabled: 12:30, on, no and 017 stay text. Duplicate keys are errors.

This uses the events of the parser, not the loader. It therefore creates no Python objects.
Deep nesting and nested aliases cannot exhaust the machine; the C loader crashes on
200,000 brackets.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from pi_appliance.errors import ConfigError, Problem

Path = tuple[str | int, ...]
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser is not there on every 32-bit Pi
_LARGEST = 1_000_000  # characters; a hundred times any sane configuration
_DEEPEST = 40
_MOST_NODES = 50_000
_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+)")
_UNFIT = re.compile("[\0\ud800-\udfff]")
_WORDS = {"": None, "~": None, "null": None, "true": True, "True": True, "false": False, "False": False}


@dataclass(slots=True)
class Tree:
    """Plain data with the position of each part. A path has keys and list positions."""

    file: str
    data: object = None
    values: dict[Path, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Path, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def problem(self, path: Path, wrong: str, right: str = "", *, at_key: bool = False) -> Problem:
        """Return a problem at `path`, or at its nearest ancestor with a known position."""
        place = self.keys.get(path) if at_key else None
        while place is None:
            place = self.values.get(path, (1, 1) if not path else None)
            path = path[:-1]
        return Problem(self.file, *place, wrong, right)


def parse(text: str, file: str) -> Tree:
    """Parse `text`. Duplicate keys are added to `problems` of the tree.

    Raises:
        ConfigError: `text` is not valid YAML.
    """
    tree = Tree(file)
    try:
        if len(text) > _LARGEST:
            raise _Bad(None, f"the file has {len(text):,} characters", f"at most {_LARGEST:,} are read")
        events = yaml.parse(text, Loader=_Loader)
        tree.data = _Composer(tree, events).document()
    except _Bad as bad:
        raise ConfigError([Problem(file, *_place(bad.mark), bad.wrong, bad.right)]) from None
    except yaml.MarkedYAMLError as error:
        what = (error.problem or "this is not YAML").strip()
        raise ConfigError([Problem(file, *_place(error.problem_mark), f"not YAML: {what}", _advice(what))]) from None
    except yaml.reader.ReaderError as error:
        line, column = _line_and_column(text, error.position)
        point = (
            ord(error.character) if isinstance(error.character, str) else error.character
        )  # Python's, or the C parser's
        wrong = f"not YAML: the character U+{point:04X} is not allowed"
        raise ConfigError([Problem(file, line, column, wrong, "remove it")]) from None
    return tree


def decode(raw: bytes, file: str) -> str:
    """Return `raw` as text.

    Raises:
        ConfigError: With the position of the first byte that is not UTF-8.
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        line, column = _line_and_column(before, len(before))
        wrong = f"byte 0x{raw[error.start]:02X} is not UTF-8"
        raise ConfigError([Problem(file, line, column, wrong, "save the file as UTF-8")]) from None


class _Bad(Exception):
    def __init__(self, mark: object, wrong: str, right: str = "") -> None:
        self.mark, self.wrong, self.right = mark, wrong, right
        super().__init__(wrong)


class _Composer:
    """Build data from parser events. Each use of an alias counts toward the node limit."""

    def __init__(self, tree: Tree, events: Iterator[Any]) -> None:
        self.tree = tree
        self.events = events
        self.anchors: dict[str, object] = {}
        self.open: list[str] = []  # anchors whose value is still being read
        self.nodes = 0

    def document(self) -> object:
        """Return the only document of the stream, or None if it is empty."""
        data = None
        documents = 0
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _Bad(event.start_mark, "a second document begins here", "keep one, without ---")
                data = self._node(next(self.events), ())
        return data

    def _node(self, event: Any, path: Path) -> object:
        self.nodes += 1
        if self.nodes > _MOST_NODES or len(path) > _DEEPEST:
            raise _Bad(event.start_mark, "too deep or too much for a configuration", "check the brackets and aliases")
        self.tree.values[path] = _place(event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if event.anchor:
            self.open.append(event.anchor)
        value = self._value(event, path)
        if event.anchor:
            self.open.pop()
            self.anchors[event.anchor] = value
        return value

    def _value(self, event: Any, path: Path) -> object:
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        if event.tag not in (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            raise _Bad(event.start_mark, f"the tag {event.tag} is not known here", "leave it out")
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path)
        return self._mapping(path)

    def _alias(self, event: yaml.AliasEvent) -> object:
        if event.anchor in self.open:
            raise _Bad(event.start_mark, f"*{event.anchor} stands inside itself", "write the value out")
        if event.anchor not in self.anchors:
            raise _Bad(event.start_mark, f"no anchor &{event.anchor} stands above", "write the value out")
        value = self.anchors[event.anchor]
        self.nodes += _size(value)
        return value

    def _sequence(self, path: Path) -> list[object]:
        items: list[object] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items))))
        return items

    def _mapping(self, path: Path) -> dict[str, object]:
        items: dict[str, object] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise _Bad(
                    event.start_mark, "a key must be a plain word", 'write it as `name: value`, or put it in "quotes"'
                )
            key = _text(event)
            line, column = self.tree.keys.get((*path, key), (0, 0))
            place = _place(event.start_mark)
            if key in items:
                wrong = f"{key!r} was given before, at {line}:{column}"
                self.tree.problems.append(Problem(self.tree.file, *place, wrong, "keep one of the two"))
            self.tree.keys[(*path, key)] = place
            items[key] = self._node(next(self.events), (*path, key))
        return items


def _text(event: yaml.ScalarEvent) -> str:
    text: str = event.value
    if found := _UNFIT.search(text):
        wrong = f"the character U+{ord(found[0]):04X} is not allowed"
        raise _Bad(event.start_mark, wrong, "remove it; no file, program or address has it in its name")
    return text


def _scalar(event: yaml.ScalarEvent) -> object:
    text = _text(event)
    if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
        raise _Bad(event.start_mark, f"the tag {event.tag} is not known here", "leave it out")
    if event.tag is not None or event.style:  # quoted, a block, or !!str; a plain one has None or ''
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text) and len(text) < 19:
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _size(value: object) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(_size(child) for child in children)


def _place(mark: object) -> tuple[int, int]:
    return (getattr(mark, "line", 0) + 1, getattr(mark, "column", 0) + 1)


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    before = text[:position]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _advice(problem: str) -> str:
    if "\\t" in problem or "tab" in problem:
        return "indent with spaces, never with tabs"
    if "mapping values are not allowed" in problem:
        return 'put the text in "quotes", or check the indentation of this line and the one above'
    return "check the indentation, the quotes and the brackets up to here"
