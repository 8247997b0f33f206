"""YAML text to plain data with the position of each part.

Surprises of YAML 1.1 are disabled: 12:30, on, no and 017 stay text, and duplicate keys are errors.
The events of the parser are used instead of its loader, so no Python objects are created.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from pi_appliance.errors import ConfigError, Problem

YamlPath = tuple[str | int, ...]
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser is not there on every 32-bit Pi
INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
MAX_DIGITS = 18  # of a whole number, with its sign
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?:\.[0-9]*)?[eE][-+]?[0-9]+)")
_INVALID = re.compile("[\0\ud800-\udfff]")
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "True": True, "false": False, "False": False}


@dataclass(slots=True)
class Tree:
    """Plain data of a YAML file, with the line and column of each key and value.

    A path is a tuple of keys and list indexes.
    """

    file: str
    data: object = None
    values: dict[YamlPath, tuple[int, int]] = field(default_factory=dict)
    keys: dict[YamlPath, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def problem(self, path: YamlPath, wrong: str, right: str = "", *, at_key: bool = False) -> Problem:
        """Return a problem at `path`, or at its nearest ancestor with a known position."""
        place = self.keys.get(path) if at_key else None
        while place is None:
            place = self.values.get(path, (1, 1) if not path else None)
            path = path[:-1]
        return Problem(self.file, *place, wrong, right)


_TOO_DEEP = ("not YAML: too many brackets", "close each of them")


def parse_yaml(text: str, file: str) -> Tree:
    """Parse `text` and collect duplicate keys in `Tree.problems`. Raises ConfigError."""
    tree = Tree(file)
    try:
        events = yaml.parse(text, Loader=LOADER)
        tree.data = _Composer(tree, events).document()
    except _InvalidYaml as invalid:
        raise ConfigError([Problem(file, *_place(invalid.mark), invalid.wrong, invalid.right)]) from None
    except RecursionError:
        raise ConfigError([Problem(file, 1, 1, *_TOO_DEEP)]) from None
    except yaml.MarkedYAMLError as error:
        reason = (error.problem or "this is not YAML").strip()
        # libyaml has a limit of its own from 0.2.6 on.
        line, column = _place(error.problem_mark)
        found = text.splitlines()[line - 1][column - 1 : column] if line <= len(text.splitlines()) else ""
        words = _TOO_DEEP if "nesting depth" in reason else (f"not YAML: {reason}", _advice(reason, found))
        raise ConfigError([Problem(file, line, column, *words)]) from None
    except yaml.reader.ReaderError as error:
        line, column = _line_and_column(text, error.position)
        point = (
            ord(error.character) if isinstance(error.character, str) else error.character
        )  # Python's, or the C parser's
        wrong = f"not YAML: the character U+{point:04X} is not allowed"
        raise ConfigError([Problem(file, line, column, wrong, "remove it")]) from None
    return tree


def decode_text(raw: bytes, file: str) -> str:
    """Return `raw` as text. Raises ConfigError with the position of a byte that is not UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8", "replace")
        line, column = _line_and_column(before, len(before))
        wrong = f"byte 0x{raw[error.start]:02X} is not UTF-8"
        raise ConfigError([Problem(file, line, column, wrong, "save the file as UTF-8")]) from None


class _InvalidYaml(Exception):
    def __init__(self, mark: object, wrong: str, right: str = "") -> None:
        self.mark, self.wrong, self.right = mark, wrong, right
        super().__init__(wrong)


class _Composer:
    def __init__(self, tree: Tree, events: Iterator[Any]) -> None:
        self.tree = tree
        self.events = events
        self.anchors: dict[str, object] = {}
        self.open: list[str] = []  # anchors whose value is still being read

    def document(self) -> object:
        """Return the only document of the stream, or None if it is empty."""
        data = None
        documents = 0
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _InvalidYaml(event.start_mark, "a second document begins here", "keep one, without ---")
                data = self._node(next(self.events), ())
        return data

    def _node(self, event: Any, path: YamlPath) -> object:
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

    def _value(self, event: Any, path: YamlPath) -> object:
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        if event.tag not in (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            raise _InvalidYaml(event.start_mark, f"the tag {event.tag} is not known here", "leave it out")
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path)
        return self._mapping(path)

    def _alias(self, event: yaml.AliasEvent) -> object:
        if event.anchor in self.open:
            raise _InvalidYaml(event.start_mark, f"*{event.anchor} stands inside itself", "write the value out")
        if event.anchor not in self.anchors:
            raise _InvalidYaml(event.start_mark, f"no anchor &{event.anchor} stands above", "write the value out")
        return self.anchors[event.anchor]

    def _sequence(self, path: YamlPath) -> list[object]:
        items: list[object] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self._node(event, (*path, len(items))))
        return items

    def _mapping(self, path: YamlPath) -> dict[str, object]:
        items: dict[str, object] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise _InvalidYaml(
                    event.start_mark, "a key must be a plain word", 'write it as `name: value`, or put it in "quotes"'
                )
            key = _scalar_text(event)
            line, column = self.tree.keys.get((*path, key), (0, 0))
            place = _place(event.start_mark)
            if key in items:
                wrong = f"{key!r} was given before, at {line}:{column}"
                self.tree.problems.append(Problem(self.tree.file, *place, wrong, "keep one of the two"))
            self.tree.keys[(*path, key)] = place
            items[key] = self._node(next(self.events), (*path, key))
        return items


def _scalar_text(event: yaml.ScalarEvent) -> str:
    text: str = event.value
    if match := _INVALID.search(text):
        wrong = f"the character U+{ord(match[0]):04X} is not allowed"
        raise _InvalidYaml(event.start_mark, wrong, "remove it; no file, program or address has it in its name")
    return text


def _scalar(event: yaml.ScalarEvent) -> object:
    text = _scalar_text(event)
    if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
        raise _InvalidYaml(event.start_mark, f"the tag {event.tag} is not known here", "leave it out")
    if event.tag is not None or event.style:  # quoted, a block, or !!str; a plain one has None or ''
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if INTEGER.fullmatch(text) and len(text) <= MAX_DIGITS:
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _place(mark: object) -> tuple[int, int]:
    return (getattr(mark, "line", 0) + 1, getattr(mark, "column", 0) + 1)


def _line_and_column(text: str, position: int) -> tuple[int, int]:
    before = text[:position]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _advice(problem: str, found: str) -> str:
    """Return how to correct a `problem` of the parser at the character `found`."""
    if found == "\t" or "tab" in problem:
        return "indent with spaces, never with tabs"
    if found in {"%", "@", "`"}:
        return f'put a text that begins with {found} in "quotes"'
    if "mapping values are not allowed" in problem:
        return 'put the text in "quotes", or check the indentation of this line and the one above'
    return "check the indentation, the quotes and the brackets up to here"
