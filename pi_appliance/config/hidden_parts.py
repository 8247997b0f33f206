"""Hide the programs that a configuration starts, and put them back.

A page that can add a program would let everybody with its password run anything on the machine. So
programs are neither shown nor changed there, only in the file itself.
"""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher, unified_diff

from pi_appliance.config import editing
from pi_appliance.config.binding import YamlPath, parse_yaml
from pi_appliance.errors import ConfigError, Refused

PLACEHOLDER = "(hidden: change it on the machine)"
_KIND = "command"


def hide_programs(text: str) -> str:
    """Return the YAML `text` with a placeholder for the options of each program.

    Raises:
        ConfigError: `text` is not YAML.
        Refused: A program is written in a way that cannot be hidden.
    """
    spans = editing.value_spans(text, (path for path, _ in _programs(parse_yaml(text, "").data)))
    return _replace(text, dict.fromkeys(spans.values(), f' "{PLACEHOLDER}"'))


def restore_programs(text: str, before: str) -> str:
    """Return the edited `text` with the programs of `before` in place of the placeholders.

    Raises:
        ConfigError: One of the texts is not YAML.
        Refused: A program was added, changed or copied.
    """
    known, data = parse_yaml(before, "").data, parse_yaml(text, "").data
    wanted = data
    programs = dict(_programs(known))
    hidden = [path for path, value in _programs(data) if value == PLACEHOLDER and path in programs]
    old, new = editing.value_spans(before, hidden), editing.value_spans(text, hidden)
    texts = {new[path]: before[slice(*old[path])] for path in hidden}
    for path in hidden:
        wanted = editing.set_value(wanted, path, programs[path])
    require_same_programs(wanted, known)
    restored = _replace(text, texts)
    try:
        is_same = editing.same(parse_yaml(restored, "").data, wanted)
    except ConfigError:
        is_same = False
    # A program whose job was indented anew does not fit with its old indentation.
    return restored if is_same else editing.rewrite(text, wanted)


def shown_line(line: int, text: str, restored: str) -> int:
    """Return the line of the shown `text` that belongs to a line of the `restored` one."""
    lines, restored_lines = text.splitlines(), restored.splitlines()
    for _, start, end, restored_start, restored_end in SequenceMatcher(
        None, lines, restored_lines, autojunk=False
    ).get_opcodes():
        if restored_start < line <= restored_end:
            return min(start + line - restored_start, max(end, 1))
    return line


def _replace(text: str, texts: Mapping[tuple[int, int], str]) -> str:
    pieces, done = [], 0
    for (start, end), new in sorted(texts.items()):
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])


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
