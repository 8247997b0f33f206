"""Edit a YAML file in place: change values and keep comments, order and all other bytes.

The parser of PyYAML tells where each node begins and ends. Only the text of nodes whose value
changes is replaced; the result is parsed again and compared with the wanted data, so a file that is
written in an unusual way is refused and never damaged.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from pi_appliance.config.yaml_tree import LOADER, YamlPath, parse_yaml
from pi_appliance.errors import Refused

_INDENT = 2
_PLAIN = re.compile(r"[\w./@+-]|[\w./@+-][\w ,./@+()'&-]*[\w./@+)-]")
_ALIAS = re.compile(r"\s*\*[^\s,\]}]+")
_MAX_LINE = 100  # longer lists are written one item a line


def set_value(data: object, path: YamlPath, value: object) -> object:
    """Return a copy of `data` with `value` at `path`. Missing sections are created.

    Raises:
        Refused: A part of `path` is not a section, or is not in the list.
    """
    if not path:
        return value
    step, *rest = path
    if isinstance(step, int):
        if not isinstance(data, list) or not 0 <= step <= len(data):
            raise Refused(f"there is no item {step} to set")
        items = [*data, None] if step == len(data) else list(data)
        items[step] = set_value(items[step], tuple(rest), value)
        return items
    if data is not None and not isinstance(data, Mapping):
        raise Refused(f"{step!r} cannot be set, because it is not in a section")
    return {**(data or {}), step: set_value((data or {}).get(step), tuple(rest), value)}


def remove_value(data: object, path: YamlPath) -> object:
    """Return a copy of `data` without the key or item at `path`. Raises Refused if missing."""
    *steps, last = path
    parent: Any = data
    for step in steps:
        parent = parent[step] if _has(parent, step) else None
    if not _has(parent, last):
        raise Refused(f"{'.'.join(map(str, path))} is not in the file")
    if isinstance(parent, list):
        return set_value(data, tuple(steps), [each for place, each in enumerate(parent) if place != last])
    return set_value(data, tuple(steps), {key: each for key, each in parent.items() if key != last})


def _has(data: object, step: str | int) -> bool:
    if isinstance(data, Mapping):
        return step in data
    return isinstance(data, list) and isinstance(step, int) and 0 <= step < len(data)


def rewrite(text: str, data: object) -> str:
    """Return the YAML `text` changed so that it means `data`.

    Raises:
        ConfigError: `text` is not YAML.
        Refused: A changed part is shared by an alias, or is written in an unusual way.
    """
    before = parse_yaml(text, "").data
    if same(before, data):
        return text
    root = yaml.compose(text, Loader=LOADER)
    edit = _Edit(text)
    if root is None or before is None:
        edited = _append(text, data)
    else:
        edit.count_references(root)
        edit.change(root, before, data)
        edited = edit.result()
    try:
        after = parse_yaml(edited, "")
    except Exception as error:
        raise Refused(_CANNOT) from error
    if after.problems or not same(after.data, data):
        raise Refused(_CANNOT)
    return edited


def value_span(text: str, path: YamlPath) -> tuple[int, int]:
    """Return where the text of the value at `path` begins and ends, as `value_spans` does."""
    return value_spans(text, [path])[path]


def value_spans(text: str, paths: Iterable[YamlPath]) -> dict[YamlPath, tuple[int, int]]:
    """Return where the text of the value at each of `paths` begins and ends.

    The last step of a path is a key. The text begins after its colon. The file is parsed once,
    because that takes long.

    Raises:
        Refused: There is no such key, or an alias stands for a part of it.
    """
    paths = list(paths)
    edit, root = _Edit(text), yaml.compose(text, Loader=LOADER) if paths else None
    if root is not None:
        edit.count_references(root)
    return {path: edit.span(root, path) for path in paths}


_CANNOT = "this part of the file is written in a way that only a text editor can change"


def same(one: object, other: object) -> bool:
    """Return whether two plain values are equal and of the same types."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def replace_parts(text: str, splices: Iterable[tuple[int, int, str]]) -> str:
    """Return `text` with another text in place of each part: its start, its end, and the text.

    Raises:
        Refused: Two parts overlap.
    """
    pieces, done = [], 0
    for start, end, new in sorted(splices, key=lambda splice: splice[:2]):
        if start < done:
            raise Refused(_CANNOT)
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])


def _append(text: str, data: object) -> str:
    if not isinstance(data, Mapping):
        raise Refused(_CANNOT)
    newline = "\r\n" if "\r\n" in text else "\n"
    separator = "" if not text or text.endswith("\n") else newline
    return text + separator + newline.join(_block_lines(data, 0)) + newline


@dataclass(slots=True)
class _Edit:
    """The replacements that turn a text into the wanted one."""

    text: str
    splices: list[tuple[int, int, str]] = field(default_factory=list)
    references: dict[int, int] = field(default_factory=dict)
    pairs: dict[int, Mapping[Any, tuple[Any, Any]]] = field(default_factory=dict)

    def result(self) -> str:
        """Return the text with all replacements."""
        edited = replace_parts(self.text, self.splices)
        return edited.replace("\r\n", "\n").replace("\n", "\r\n") if "\r\n" in self.text else edited

    def span(self, node: Any, path: YamlPath) -> tuple[int, int]:
        """Return where the text of the value at `path` below `node` begins and ends."""
        key: Any = None
        for step in path:
            pair = self._pairs_of(node).get(step)
            if pair is None or self.references[id(pair[1])] > 1:
                raise Refused(_CANNOT)
            key, node = pair
        return (self.text.index(":", key.end_mark.index) + 1, self.pair_end(key, node)) if path else (0, 0)

    def _pairs_of(self, node: Any) -> Mapping[Any, tuple[Any, Any]]:
        if id(node) not in self.pairs:
            pairs = node.value if isinstance(node, yaml.MappingNode) else []
            self.pairs[id(node)] = {pair[0].value: pair for pair in reversed(pairs)}
        return self.pairs[id(node)]

    def count_references(self, node: Any) -> None:
        """Count how often each node is used: an anchor with aliases more than once."""
        self.references[id(node)] = self.references.get(id(node), 0) + 1
        if self.references[id(node)] == 1:
            for child in _children(node):
                self.count_references(child)

    def change(self, node: Any, before: object, after: object, key: Any = None, *, in_flow: bool = False) -> None:
        """Replace the parts of `node` that differ.

        Args:
            node: The node of the value.
            before: The value in the file.
            after: The wanted value.
            key: The node of the key, if `node` is the value of a block mapping.
            in_flow: Whether `node` stands inside brackets.
        """
        if same(before, after):
            return
        if self.references[id(node)] > 1:
            raise Refused("this value is shared with another by an alias (*name); change it in a text editor")
        if isinstance(before, Mapping) and isinstance(after, Mapping) and before and set(before) & set(after):
            self._change_mapping(node, before, after)
        elif isinstance(before, list) and isinstance(after, list) and before and after:
            self._change_sequence(node, before, after)
        elif key is None:
            start, column = node.start_mark.index, node.start_mark.column
            space = " " if self.text[max(start - 1, 0) : start] == "-" else ""  # an item without a value
            self.splices.append((start, self.end(node), space + _item_text(after, column + len(space), in_flow)))
        else:
            self._replace_value(node, after, key)

    def _change_mapping(self, node: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        pairs = [(key, value) for key, value in node.value]
        kept = [key.value in after for key, _ in pairs]
        for place, (key, value) in enumerate(pairs):
            if kept[place]:
                old, new = before[key.value], after[key.value]
                self.change(value, old, new, None if node.flow_style else key, in_flow=node.flow_style)
            elif not node.flow_style:
                self._delete_key(pairs, place)
        if node.flow_style:
            spans = [(key.start_mark.index, self.pair_end(key, value)) for key, value in pairs]
            self._delete_flow(spans, [place for place, keep in enumerate(kept) if not keep])
        added = {key: value for key, value in after.items() if key not in before}
        if not added:
            return
        last_key, last = [pair for pair, keep in zip(pairs, kept, strict=True) if keep][-1]
        end = self.pair_end(last_key, last)
        if node.flow_style:
            entries = "".join(f", {_scalar(key)}: {flow_text(value)}" for key, value in added.items())
            self.splices.append((end, end, entries))
        else:
            column = last_key.start_mark.column
            first = self._line_start(pairs[0][0].start_mark.index) if column else 0
            last_line = self._after_comments(self._line_end(end), column)
            for key, value in added.items():
                place = self._example_end(key, column, first, last_line) or last_line
                lines = "".join(f"\n{line}" for line in _block_lines({key: value}, column))
                self.splices.append((place, place, lines))

    def _change_sequence(self, node: Any, before: list[Any], after: list[Any]) -> None:
        head = 0
        while head < min(len(before), len(after)) and same(before[head], after[head]):
            head += 1
        tail = 0
        while tail < min(len(before), len(after)) - head and same(before[-1 - tail], after[-1 - tail]):
            tail += 1
        old, new = before[head : len(before) - tail], after[head : len(after) - tail]
        items = node.value
        common = min(len(old), len(new))
        for place in range(head, head + common):
            self.change(items[place], before[place], after[place], in_flow=node.flow_style)
        deleted = range(head + common, head + len(old))
        if node.flow_style:
            self._delete_flow([(each.start_mark.index, self.end(each)) for each in items], deleted)
        else:
            for place in deleted:
                self._delete_lines(self._dash(node, place), self.end(items[place]))
        if len(new) > common:
            self._insert_items(node, head + common, new[common:])

    def _insert_items(self, node: Any, place: int, values: list[Any]) -> None:
        items = node.value
        if node.flow_style:
            texts = [flow_text(value) for value in values]
            at = self.end(items[place - 1]) if place else items[0].start_mark.index
            new = "".join(f", {text}" for text in texts) if place else "".join(f"{text}, " for text in texts)
            self.splices.append((at, at, new))
            return
        dash = self._dash(node, 0)
        column = dash - self._line_start(dash)
        lines = [f"{' ' * column}- {_item_text(value, column + 2, flow=False)}" for value in values]
        if place:
            at = self._line_end(self.end(items[place - 1]))
            self.splices.append((at, at, "".join(f"\n{line}" for line in lines)))
        else:
            at = self._line_start(dash)
            if self.text[at:dash].strip():
                raise Refused(_CANNOT)
            self.splices.append((at, at, "".join(f"{line}\n" for line in lines)))

    def _replace_value(self, node: Any, value: object, key: Any) -> None:
        """Replace the value of the block mapping's key `key`."""
        colon = self.text.index(":", key.end_mark.index) + 1
        end = self.end(node)
        column = key.start_mark.column
        inline = _inline(value, len(key.value) + column, getattr(node, "style", None))
        if _is_block(node):
            start = self._line_start(self._first(node))
            self.splices.append((colon, colon, f" {inline}" if inline is not None else ""))
            if start <= colon:
                raise Refused(_CANNOT)
            lines = "" if inline is not None else "\n".join(_block_value(value, column))
            self.splices.append((start - (1 if inline is not None else 0), end, lines))
        elif inline is not None:
            start = node.start_mark.index if end > node.start_mark.index else colon
            self.splices.append((start, end, inline if start > colon else f" {inline}"))
        else:
            self.splices.append((colon, max(end, colon), ""))
            place = self._line_end(max(end, colon))
            self.splices.append((place, place, "\n" + "\n".join(_block_value(value, column))))

    def _delete_key(self, pairs: Sequence[tuple[Any, Any]], place: int) -> None:
        key, value = pairs[place]
        start, end = key.start_mark.index, self.pair_end(key, value)
        if not self.text[self._line_start(start) : start].strip():
            self._delete_lines(start, end)
            return
        following = pairs[place + 1][0].start_mark.index if place + 1 < len(pairs) else end
        blank = not self.text[end:following].strip()
        self.splices.append((start, following if blank else end, ""))

    def _delete_lines(self, start: int, end: int) -> None:
        """Delete the lines from that of `start` to that of `end`, with their comments."""
        first, last = self._line_start(start), self._line_end(end)
        if self.text[first:start].strip():
            raise Refused(_CANNOT)
        if last < len(self.text):
            self.splices.append((first, self.text.index("\n", last) + 1, ""))
        else:
            self.splices.append((max(first - 1, 0), last, ""))

    def _delete_flow(self, spans: Sequence[tuple[int, int]], places: Sequence[int]) -> None:
        """Delete the entries at `places` of a collection in brackets, of which one stays."""
        last_kept = max(place for place in range(len(spans)) if place not in places)
        for place in places:
            if place < last_kept:
                self.splices.append((spans[place][0], spans[place + 1][0], ""))
        if last_kept + 1 < len(spans):
            self.splices.append((spans[last_kept][1], spans[-1][1], ""))

    def end(self, node: Any) -> int:
        """Return where the text of `node` ends, without the comments and blank lines after it."""
        if isinstance(node, yaml.MappingNode) and not node.flow_style:
            return max(self.pair_end(key, value) for key, value in node.value)
        if _is_block(node):
            return max(self.end(child) for child in node.value)
        index: int = node.end_mark.index
        while index > node.start_mark.index and self.text[index - 1] in " \r\n":
            index -= 1
        return index

    def pair_end(self, key: Any, value: Any) -> int:
        """Return where the text of a key with its value ends."""
        colon: int = self.text.index(":", key.end_mark.index) + 1
        if value.start_mark.index < key.start_mark.index:  # an alias: the node is that of its anchor
            alias = _ALIAS.match(self.text, colon)
            return alias.end() if alias else colon
        return max(self.end(value), colon)

    def _first(self, node: Any) -> int:
        """Return where the first key or dash of a block is; an anchor may stand before it."""
        first = next(iter(_children(node)))
        return self._dash(node, 0) if isinstance(node, yaml.SequenceNode) else first.start_mark.index

    def _dash(self, node: Any, place: int) -> int:
        """Return where the dash of an item of a block sequence is."""
        at = self.end(node.value[place - 1]) if place else node.start_mark.index
        limit = node.value[place].start_mark.index
        if place == 0 and self.text[at] == "-":
            return int(at)
        at = self._line_end(at) + 1
        while at <= limit:
            line_end = self._line_end(at)
            dash = at + len(self.text[at:line_end]) - len(self.text[at:line_end].lstrip(" "))
            if self.text[dash : dash + 1] == "-":
                return int(dash)
            at = line_end + 1
        raise Refused(_CANNOT)

    def _line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1

    def _line_end(self, index: int) -> int:
        """Return where the line of `index` ends, before its line break."""
        end = self.text.find("\n", index)
        end = len(self.text) if end < 0 else end
        return end - 1 if end > index and self.text[end - 1] == "\r" else end

    def _after_comments(self, line_end: int, column: int) -> int:
        """Return the end of the comment lines below that are indented deeper than `column`."""
        start = self.text.find("\n", line_end) + 1
        while start:
            end = self._line_end(start)
            line = self.text[start:end]
            if line.strip():
                if not line.lstrip().startswith("#") or len(line) - len(line.lstrip()) <= column:
                    break
                line_end = end
            start = self.text.find("\n", end) + 1
        return line_end

    def _example_end(self, key: str, column: int, start: int, end: int) -> int:
        """Return the end of a commented `key` between `start` and `end`, or 0 if there is none."""
        comment = f" {{{column}}}#"
        example = rf"^{comment} ?{re.escape(key)}:.*(?:\n{comment}  .*)*"
        match = re.compile(example, re.MULTILINE).search(self.text, start, end)
        return len(self.text[: match.end()].rstrip("\r")) if match else 0


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _is_block(node: Any) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def _block_lines(data: Mapping[str, Any], column: int) -> list[str]:
    """Return the lines of a block mapping whose keys stand in `column`."""
    lines = []
    for key, value in data.items():
        start = f"{' ' * column}{_scalar(key)}:"
        inline = _inline(value, len(start))
        lines += [f"{start} {inline}"] if inline is not None else [start, *_block_value(value, column)]
    return lines


def _block_value(value: Any, column: int) -> list[str]:
    """Return the lines below a key in `column` whose value is a non-empty section or list."""
    if isinstance(value, Mapping):
        return _block_lines(value, column + _INDENT)
    start = column + _INDENT
    return [line for each in value for line in f"{' ' * start}- {_item_text(each, start + 2, flow=False)}".split("\n")]


def _item_text(value: Any, column: int, flow: bool) -> str:
    """Return the text of an item of a list; further lines of it stand in `column`."""
    if flow:
        return flow_text(value)
    if isinstance(value, Mapping) and value:
        return "\n".join(_block_lines(value, column))[column:]
    inline = _inline(value, column)
    return inline if inline is not None else flow_text(value)


def _inline(value: Any, column: int, style: str | None = None) -> str | None:
    """Return `value` on one line, or None if it is to be written as lines of its own."""
    if isinstance(value, Mapping):
        return None if value else "{}"
    if isinstance(value, list):
        plain = not any(isinstance(each, (Mapping, list)) for each in value)
        text = flow_text(value)
        return text if (plain and column + len(text) < _MAX_LINE) or not value else None
    return _scalar(value, style)


def flow_text(value: Any) -> str:
    """Return `value` as YAML on one line, with brackets and quotes where they are needed."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {flow_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow_text(each) for each in value) + "]"
    return _scalar(value)


def _scalar(value: object, style: str | None = None) -> str:
    if value is None:
        return "null"
    if not isinstance(value, str):
        return json.dumps(value)
    if style == "'" and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return value if style != '"' and _is_plain(value) else json.dumps(value, ensure_ascii=False)


def _is_plain(value: str) -> bool:
    """Return whether `value` needs no quotes, neither here nor for other readers of YAML 1.1."""
    if _PLAIN.fullmatch(value) is None:
        return False
    try:
        text = f"[{value}, {{{value}: {value}}}]"
        return bool(parse_yaml(text, "").data == [value, {value: value}] and yaml.safe_load(value) == value)
    except Exception:  # noqa: BLE001 - whatever a parser raises, quotes are needed
        return False
