"""Completion in the text of the configuration file: the keys and values that fit at a place.

The text is read line by line instead of parsed, because it is rarely valid while one types.
Candidates come from the JSON Schema only, so no value of the file and no secret is offered.
Programs are left out: they are added on the machine only.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from pi_appliance.config.editing import flow_text
from pi_appliance.config.yaml_tree import YamlPath

_PROGRAM = "command"
"""The kind, and the condition, that start a program."""
_KEY = re.compile(r"""("[^"]*"|'[^']*'|[^\s#,\[\]{}"'][^#,\[\]{}"']*?)\s*:(?=\s|$)""")
_TOKEN = re.compile(r"""("(?:[^"\\]|\\.)*"?|'[^']*'?|[\[\]{},]|:(?=\s|$)|(?<!\S)\#.*|[^\s"'\[\]{},:]+|\s+|.)""")
_BLOCK_TEXT = re.compile(r"[|>][-+\d]*\s*(#.*)?$")
_INDENT = 2


class CandidateJson(TypedDict):
    """A key or value that fits."""

    text: Annotated[str, "as it is shown"]
    insert: Annotated[str, "the text to insert"]
    help: Annotated[str, "one line about it"]


class ConfigCompletionJson(TypedDict):
    """The words that can be written at a position in the text."""

    column: Annotated[int, "where the word begins"]
    help: Annotated[str, "about the key before it"]
    candidates: list[CandidateJson]


@dataclass(slots=True)
class _Frame:
    """A key or list item with content below it: indented deeper than `indent`, or in brackets."""

    indent: int
    path: YamlPath
    bracket: str = ""
    count: int = 0  # items so far
    key: str | None = None  # the key whose value is read, within braces


@dataclass(slots=True)
class _Outline:
    """The keys and values of a text that was read line by line, and where the text ends."""

    frames: list[_Frame] = field(default_factory=lambda: [_Frame(-1, ())])
    values: dict[YamlPath, str] = field(default_factory=dict)
    text_indent: int | None = None  # indentation of the key of a text with several lines
    word: str = ""  # the text after the last key, colon, comma, dash or bracket
    at_value: bool = False
    in_comment: bool = False

    @property
    def path(self) -> YamlPath:
        """The path of the part that the last line is in."""
        frame = self.frames[-1]
        return (*frame.path, frame.key) if frame.key is not None else frame.path

    def read(self, line: str, *, is_last: bool = False) -> None:
        """Read the next line of the text."""
        self.word, self.in_comment = "", False
        if self.frames[-1].bracket:
            self._flow(line)
            return
        content = line.lstrip(" ")
        indent = len(line) - len(content)
        if self.text_indent is not None and (not content or indent > self.text_indent):
            self.in_comment = bool(content)  # within a text with several lines, nothing is completed
            return
        if not is_last and (not content.strip() or content.startswith("#")):
            return
        self.text_indent = None
        self.at_value = False
        is_item = content == "-" or content.startswith("- ")
        while self.frames[-1].indent > indent or (
            self.frames[-1].indent == indent and not (is_item and isinstance(self.frames[-1].path[-1], str))
        ):
            self.frames.pop()
        while content == "-" or content.startswith("- "):
            parent = self.frames[-1]
            self.frames.append(_Frame(indent, (*parent.path, parent.count)))
            parent.count += 1
            rest = content[1:].lstrip(" ")
            indent, content = indent + len(content) - len(rest), rest
        if key := _KEY.match(content):
            frame = _Frame(indent, (*self.frames[-1].path, key[1].strip("\"'")))
            self.frames.append(frame)
            content = content[key.end() :]
            self.values[frame.path] = content.partition(" #")[0].strip().strip("\"'")
            self.at_value = True
            if _BLOCK_TEXT.match(content.strip()):
                self.text_indent, self.in_comment = indent, True
        self._flow(content)

    def _flow(self, text: str) -> None:
        for match in _TOKEN.finditer(text):
            sign, frame = match[0], self.frames[-1]
            if sign.startswith("#"):
                self.in_comment = True
            elif sign in "[{":
                path = (*self.path, frame.count) if frame.bracket == "[" else self.path
                self.frames.append(_Frame(frame.indent, path, sign))
                self.word, self.at_value = "", sign == "["
            elif sign in "]}" and frame.bracket:
                self.frames.pop()
                self.word, self.at_value = "", True
            elif sign == "," and frame.bracket:
                frame.count += 1
                frame.key, self.word, self.at_value = None, "", frame.bracket == "["
            elif sign == ":" and frame.bracket == "{" and frame.key is None:
                frame.key = self.word.strip().strip("\"'")
                self.values[self.path] = self.word = ""
                self.at_value = True
            else:
                self.word = (self.word + sign).lstrip()
                if frame.key is not None:
                    self.values[self.path] = self.word.strip().strip("\"'")


def complete(schema: Mapping[str, Any], text: str, line: int, column: int) -> ConfigCompletionJson:
    """Return the words that can be written at a position in the text.

    Args:
        schema: The JSON Schema of the file.
        text: The text, which need not be valid.
        line: The line of the cursor, from 1.
        column: The column of the cursor, from 1.
    """
    lines = text.split("\n")
    whole, here = _Outline(), _Outline()
    for each in lines:
        whole.read(each)
    for each in lines[: line - 1]:
        here.read(each)
    last = (lines[line - 1] if line <= len(lines) else "")[: column - 1]
    here.read(last, is_last=True)
    place = schema_at(schema, here.path, whole.values)
    if here.in_comment or not place:
        return {"column": column, "help": "", "candidates": []}
    if here.at_value and here.frames[-1].bracket == "[" and "items" in place:
        place = place["items"]
    in_block = not here.frames[-1].bracket
    if here.at_value or "properties" not in place:
        candidates = list(_value_candidates(place, is_kind=here.path[-1:] == ("kind",)))
    else:
        known = {path[-1] for path in whole.values if path[:-1] == here.path}
        indent = column - 1 - len(here.word) if in_block else None
        candidates = [each for each in _key_candidates(place, indent) if each["text"] not in known]
    matching = _matching(candidates, here.word)
    space = " " if in_block and here.at_value and last.endswith(":") else ""
    return {
        "column": column - len(here.word),
        "help": str(place.get("description", "")) if here.at_value else "",
        "candidates": [{**each, "insert": space + each["insert"]} for each in matching],
    }


def schema_at(schema: Mapping[str, Any], path: YamlPath, values: Mapping[YamlPath, str]) -> Mapping[str, Any]:
    """Return the schema of the value at `path`, or {}."""
    for place, step in enumerate(path):
        schema = _with_kind(schema, values.get((*path[:place], "kind"), ""))
        if isinstance(step, int):
            schema = schema.get("items") or {}
        else:
            extra = schema.get("additionalProperties")
            schema = schema.get("properties", {}).get(step) or (extra if isinstance(extra, Mapping) else {})
        schema = _as_section(schema)
    return _with_kind(schema, values.get((*path, "kind"), ""))


def _with_kind(schema: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Return `schema` with the options of a plug-in of `kind`."""
    for rule in schema.get("allOf", ()):
        if rule["if"]["properties"]["kind"]["const"] == kind != _PROGRAM:
            properties = {
                key: {**each, **rule["then"]["properties"].get(key, {})} for key, each in schema["properties"].items()
            }
            return {**schema, "properties": properties}
    return schema


def _as_section(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the alternative of `schema` that has keys, merged with the keywords beside `anyOf`."""
    section: Mapping[str, Any] = next((each for each in schema.get("anyOf", ()) if "properties" in each), {})
    return {**schema, **section, "description": schema.get("description", "")} if section else schema


def _key_candidates(schema: Mapping[str, Any], indent: int | None) -> Iterator[CandidateJson]:
    for key, each in schema["properties"].items():
        if key == _PROGRAM:
            continue
        is_section = each.get("type") == "object" or ("properties" in each)
        after = f"\n{' ' * (indent + _INDENT)}" if is_section and indent is not None else " "
        yield {"text": key, "insert": f"{key}:{after}", "help": str(each.get("description", ""))}


def _value_candidates(schema: Mapping[str, Any], *, is_kind: bool) -> Iterator[CandidateJson]:
    default = schema.get("default")
    values = list(schema.get("enum", ()))
    for each in (schema, *schema.get("anyOf", ())):
        values += [True, False] if each.get("type") == "boolean" else []
    examples = [each for one in (schema, *schema.get("anyOf", ())) for each in one.get("examples", ())]
    texts: dict[str, str] = {}
    for value in [*values, *([] if default is None else [default]), *examples]:
        if not (is_kind and value == _PROGRAM):
            help_text = "default" if value == default else "for example" if value in examples else ""
            texts.setdefault(flow_text(value), help_text)
    for text, help_text in texts.items():
        yield {"text": text, "insert": text, "help": help_text}


def _matching(candidates: Sequence[CandidateJson], word: str) -> list[CandidateJson]:
    """Return the candidates that begin with `word`, then those that contain it."""
    word = word.strip().lower()
    texts = {each["text"]: each["text"].strip('"').lower() for each in candidates}
    if any(each == word for each in texts.values()):
        return []
    first = [each for each in candidates if texts[each["text"]].startswith(word.strip("\"'"))]
    return first + [each for each in candidates if word in texts[each["text"]] and each not in first]
