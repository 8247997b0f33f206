"""Hide the programs that a configuration starts, and put them back.

A page that can add a program would let everybody with its password run anything on the machine. So
programs are neither shown nor changed there, only in the file itself.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from difflib import SequenceMatcher, unified_diff

from pi_appliance.config import editing
from pi_appliance.config.binding import yaml_key
from pi_appliance.config.options import Config
from pi_appliance.config.yaml_tree import YamlPath, parse_yaml
from pi_appliance.errors import ConfigError, Refused

PLACEHOLDER = "(hidden: change it on the machine)"
_KIND = "command"
_SECTIONS = ("jobs", "notifiers")
_TOP_KEY = re.compile(r"([\w-]+)\s*:(?=\s|$)")
_SHOWN_KIND = re.compile(r"^\s+kind\s*:\s*(?!command\b)[\w-]+\s*(#.*)?$", re.MULTILINE)
_SUSPECT = re.compile(r"command|\brun\b|<<|(^|[\s:\[{,])[&*]\w", re.MULTILINE)
_HIDDEN_LINE = re.compile(r"^ *# (\d+) hidden lines?: change (?:it|them) on the machine$")


def hide_programs(text: str) -> str:
    """Return the YAML `text` with a placeholder for the options of each program.

    Raises:
        ConfigError: `text` is not YAML.
        Refused: A program is written in a way that cannot be hidden.
    """
    spans = editing.value_spans(text, (path for path, _ in _programs(parse_yaml(text, "").data)))
    return editing.replace_parts(text, ((*span, f' "{PLACEHOLDER}"') for span in spans.values()))


def hide_lines(text: str) -> str:
    """Return `text`, which need not be YAML, with one line in place of what may name a program.

    Without a tree, programs are known by their looks only. A job or notifier is shown if it has a
    kind on a line of its own, another section if its key is known, and each of them only if nothing
    in it looks like a program or an anchor.
    """
    return "\n".join(line for lines, shown in _parts(text) for line in ([_cover(lines)] if not shown else lines))


def _cover(lines: list[str]) -> str:
    return f"{' ' * (len(lines[0]) - len(lines[0].lstrip()))}# {len(lines)} hidden lines: change them on the machine"


def _restore_lines(text: str, before: str) -> str:
    """Return `text` with the lines of `before` in place of those of `hide_lines`.

    Raises:
        Refused: A program was added, or hidden lines were copied or moved.
    """
    hidden = [lines for lines, shown in _parts(before) if not shown]
    result: list[str] = []
    spans, length = [], 0
    for line in text.split("\n"):
        lines = [line]
        if _HIDDEN_LINE.match(line):
            while hidden and _cover(hidden[0]) != line:
                hidden.pop(0)  # it was removed
            if not hidden:
                raise Refused("hidden lines were copied or moved; that can be done on the machine only")
            lines = hidden.pop(0)
            spans.append((length, length + len("\n".join(lines)) + 1))
        result += lines
        length += len("\n".join(lines)) + 1
    restored = "\n".join(result)
    try:
        data = parse_yaml(restored, "").data
    except ConfigError:
        return restored  # a file that cannot be read starts no program
    programs = editing.value_spans(restored, [path for path, _ in _programs(data)])
    for path, (start, end) in programs.items():
        if not any(first <= start and end <= last for first, last in spans):
            raise Refused(f"{'.'.join(map(str, path))} would start a program; programs are added on the machine only")
    return restored


def _parts(text: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the lines of each section, job and notifier, and whether they are shown."""
    known = {yaml_key(each) for each in fields(Config)}
    sections: list[list[str]] = [[]]
    for line in text.split("\n"):
        if _TOP_KEY.match(line):
            sections.append([])
        sections[-1].append(line)
    for lines in sections:
        key = _TOP_KEY.match(lines[0]) if lines else None
        if key is None:  # only comments may stand before the first section
            yield from ([([line], not line.strip() or line.startswith("#")) for line in lines])
        elif key[1] in _SECTIONS:
            yield from _entries(lines)
        else:
            yield lines, key[1] in known and not _SUSPECT.search("\n".join(lines))


def _entries(lines: list[str]) -> Iterator[tuple[list[str], bool]]:
    yield [lines[0]], lines[0].partition(":")[2].strip()[:1] in ("", "#")
    indents = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip() and line.lstrip()[:1] != "#"]
    start = re.compile(rf"^ {{{indents[0]}}}[\w-]+\s*:(?=\s|$)") if indents else None
    entries: list[list[str]] = [[]]
    for line in lines[1:]:
        if start and start.match(line):
            entries.append([])
        entries[-1].append(line)
    for entry in filter(None, entries):
        text = "\n".join(entry)
        is_comment = all(not line.strip() or line.lstrip().startswith("#") for line in entry)
        yield entry, is_comment or bool(_SHOWN_KIND.search(text) and not _SUSPECT.search(text))


def restore_programs(text: str, before: str) -> str:
    """Return the edited `text` with the programs of `before` in place of the placeholders.

    Raises:
        ConfigError: One of the texts is not YAML.
        Refused: A program was added, changed or copied.
    """
    try:
        known = parse_yaml(before, "").data
    except ConfigError:
        return _restore_lines(text, before)
    data = parse_yaml(text, "").data
    wanted = data
    programs = dict(_programs(known))
    hidden = [path for path, value in _programs(data) if value == PLACEHOLDER and path in programs]
    old, new = editing.value_spans(before, hidden), editing.value_spans(text, hidden)
    for path in hidden:
        wanted = editing.set_value(wanted, path, programs[path])
    require_same_programs(wanted, known)
    restored = editing.replace_parts(text, ((*new[path], before[slice(*old[path])]) for path in hidden))
    try:
        is_same = editing.same(parse_yaml(restored, "").data, wanted)
    except ConfigError:
        is_same = False
    # If the indentation of a job was changed, its hidden program has the old one.
    return restored if is_same else editing.rewrite(text, wanted)


def shown_text(text: str) -> str:
    """Return the text of a file for the page and the API, whether it is YAML or not."""
    try:
        return hide_programs(text)
    except (ConfigError, Refused):
        return hide_lines(text)


def shown_line(line: int, text: str, restored: str) -> int:
    """Return the line of the shown `text` that belongs to a line of the `restored` one."""
    lines, restored_lines = text.splitlines(), restored.splitlines()
    for _, start, end, restored_start, restored_end in SequenceMatcher(
        None, lines, restored_lines, autojunk=False
    ).get_opcodes():
        if restored_start < line <= restored_end:
            return min(start + line - restored_start, max(end, 1))
    return line


def difference(before: str, after: str) -> str:
    """Return the lines that differ, as `diff -u` prints them, with all programs hidden."""
    if before == after:
        return ""
    try:
        old, new = (hide_programs(text).splitlines() for text in (before, after))
    except (ConfigError, Refused):
        return "the text before it was not valid, so its lines are not shown"
    return "\n".join(unified_diff(old, new, "before", "after", lineterm="")) or "a hidden program changed"


def require_same_programs(data: object, before: object) -> None:
    """Raise Refused if `data` names a program that `before` does not name in the same place."""
    known = dict(_programs(before))
    for path, value in _programs(data):
        if path not in known or not editing.same(known[path], value):
            where = ".".join(map(str, path))
            raise Refused(f"{where} would start a program; programs are added and changed on the machine only")


def _programs(data: object) -> Iterator[tuple[YamlPath, object]]:
    """Yield the path and the value of every part that names a program."""
    for family in ("jobs", "notifiers"):
        section = data.get(family) if isinstance(data, Mapping) else None
        for name, entry in section.items() if isinstance(section, Mapping) else ():
            if not isinstance(entry, Mapping):
                continue
            if entry.get("kind") == _KIND and "with" in entry:
                yield (family, name, "with"), entry["with"]
            conditions = entry.get("conditions")
            if isinstance(conditions, Mapping) and "command" in conditions:
                yield (family, name, "conditions", "command"), conditions["command"]
