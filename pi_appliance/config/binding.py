"""Plain data to data classes, by a hook of cattrs for each type.

Keys are in kebab case. All problems are reported together, each with its line and column.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import time, timedelta
from enum import StrEnum
from functools import cache
from itertools import starmap
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from cattrs import Converter
from cattrs.cols import is_mapping, is_sequence

from pi_appliance.config import units
from pi_appliance.config.units import Days, Limits, Money, Names, Percent, Size
from pi_appliance.config.yaml_tree import INTEGER, MAX_DIGITS, Tree, YamlPath
from pi_appliance.errors import Problem, suggest
from pi_appliance.scheduling import schedule
from pi_appliance.scheduling.chance import Chance, parse_chance
from pi_appliance.scheduling.schedule import Schedule
from pi_appliance.system.files import expand_user

T = TypeVar("T")


def yaml_key(field: Field[Any]) -> str:
    """Return the YAML key of `field`: its name with `-` for `_`, or the one in its metadata.

    A field with the metadata `key: None` is not in the YAML.
    """
    return str(field.metadata.get("key", field.name.rstrip("_").replace("_", "-")))


def is_in_yaml(field: Field[Any]) -> bool:
    """Return whether `field` is a key in the YAML."""
    return field.metadata.get("key", "") is not None


def is_required(field: Field[Any]) -> bool:
    """Return whether `field` has no default."""
    return field.default is MISSING and field.default_factory is MISSING


_BASE: ContextVar[Path] = ContextVar("base")  # the directory of relative file names


class _Issue(NamedTuple):
    """A problem of a value in a section or list."""

    path: YamlPath
    wrong: str
    right: str = ""
    at_key: bool = False

    def concerns(self, keys: Container[object]) -> bool:
        """Return whether it is about one of `keys`, or its text has one, such as `fade:`."""
        named = re.findall(r"([\w-]+)(?:`|:)", f"{self.wrong} {self.right}")
        return any(key in keys for key in (*self.path[:1], *named))


class _InvalidPart(Exception):
    """A section or list with problems. `usable` is the part of it that can be used, or None."""

    def __init__(self, issues: Sequence[_Issue], usable: Any = None) -> None:
        super().__init__()
        self.issues, self.usable = issues, usable


def structure(tree: Tree, path: YamlPath, data: object, cls: type[T], base: Path) -> tuple[T | None, list[Problem]]:
    """Convert `data`, found at `path` of `tree`, to a `cls`, and check its values by `cls.check`.

    Args:
        tree: Supplies the line and column of each problem.
        path: Keys and list positions from the root of `tree`.
        data: Plain data; None counts as an empty section.
        cls: A data class.
        base: Directory of relative file names.

    Returns:
        The object and no problems, or None and every problem.
    """
    section, problems = structure_usable(tree, path, data, cls, base)
    return (None if problems else section), problems


def structure_usable(
    tree: Tree, path: YamlPath, data: object, cls: type[T], base: Path
) -> tuple[T | None, list[Problem]]:
    """Convert as `structure`, but return what can be used of `data` beside its problems.

    Keys whose value cannot be converted have their default, or an empty value. The object is None
    if `data` is not a section.
    """
    token = _BASE.set(base)
    try:
        return _converter().structure({} if data is None else data, cls), []
    except _InvalidPart as error:
        return error.usable, [
            tree.problem((*path, *each.path), each.wrong, each.right, at_key=each.at_key) for each in error.issues
        ]
    finally:
        _BASE.reset(token)


@cache
def _converter() -> Converter:
    converter = Converter()

    def parsed_by(parse: Callable[[Any], object]) -> Callable[[object, Any], Any]:
        return lambda value, _: parse(value)

    def by_text(parse: Callable[[str], object], right: str) -> Callable[[object, Any], Any]:
        return lambda value, _: parse(_text(value, right))

    for kind, name in ((int, "a whole number"), (bool, "true or false"), (float, "a number"), (str, "a text")):
        converter.register_structure_hook(kind, _exactly(kind, name))
    converter.register_structure_hook(StrEnum, _one_of)  # nearer to each of them than the hook for str
    converter.register_structure_hook(timedelta, by_text(units.parse_duration, "a duration such as 15m"))
    converter.register_structure_hook(Size, by_text(units.parse_size, "an amount such as 500MB"))
    converter.register_structure_hook(Percent, by_text(units.parse_percent, "a share of a processor such as 50%"))
    converter.register_structure_hook(time, by_text(schedule.parse_time, 'a time of day such as "22:00"'))
    converter.register_structure_hook(Days, parsed_by(schedule.parse_days))
    converter.register_structure_hook(Money, parsed_by(units.parse_money))
    converter.register_structure_hook(Names, parsed_by(_names))
    converter.register_structure_hook(ZoneInfo, by_text(_zone, "a time zone such as Europe/London"))
    converter.register_structure_hook(Path, by_text(lambda text: _BASE.get() / expand_user(text), "a file name"))
    converter.register_structure_hook(Chance, parsed_by(parse_chance))
    converter.register_structure_hook_func(lambda cls: cls == Schedule, parsed_by(schedule.parse_schedule))
    optional = Union[Schedule, None]  # noqa: UP007 - X | None of a union of classes is flattened, and must be found as such
    converter.register_structure_hook_func(
        lambda cls: cls == optional, lambda value, _: None if value is None else schedule.parse_schedule(value)
    )
    converter.register_structure_hook_factory(is_sequence, lambda cls: _list(cls, converter))
    converter.register_structure_hook_factory(is_mapping, lambda cls: _mapping(cls, converter))
    converter.register_structure_hook_factory(is_dataclass, lambda cls: _Section(cls, converter))
    return converter


def _list(cls: Any, converter: Converter) -> Callable[[object, Any], Any]:
    (kind,) = get_args(cls)

    def convert(value: object, _: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError(f"{_format_value(value)} is not a list; write it with [brackets], or one - item a line")
        items, issues = _convert_parts(converter, enumerate(value), lambda _: kind)
        if issues:
            raise _InvalidPart(issues)
        return list(items.values())

    return convert


def _mapping(cls: Any, converter: Converter) -> Callable[[object, Any], Any]:
    _, kind = get_args(cls)

    def convert(value: object, _: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError(f"{_format_value(value)} is not a section; write keys under it")
        entries, issues = _convert_parts(converter, value.items(), lambda _: kind)
        if issues:
            raise _InvalidPart(issues, entries)
        return entries

    return convert


class _Section:
    """Converts the mapping of a section to its data class, and collects the problems."""

    def __init__(self, cls: Any, converter: Converter) -> None:
        hints = get_type_hints(cls, include_extras=True)
        self._cls, self._converter = cls, converter
        self._names = {yaml_key(each): each.name for each in fields(cls) if is_in_yaml(each)}
        self._kinds = {key: hints[name] for key, name in self._names.items()}
        self._required = [yaml_key(each) for each in fields(cls) if is_required(each)]
        self._limits = {
            key: each for key, kind in self._kinds.items() for each in get_args(kind) if isinstance(each, Limits)
        }

    def __call__(self, value: object, _: Any) -> Any:
        if value is None and not self._required:
            value = {}
        if not isinstance(value, Mapping):
            wrong = f"{_format_value(value)} is not a section"
            raise _InvalidPart([_Issue((), wrong, f"write keys under it: {', '.join(self._kinds)}")])
        known = ((key, each) for key, each in value.items() if key in self._kinds)
        parts, issues = _convert_parts(self._converter, known, self._kinds.__getitem__)
        issues += [*self._wrong_keys(value), *self._out_of_limits(parts)]
        empty = {key: _empty_value(self._kinds[key]) for key in self._required if key not in parts}
        section = self._cls(**{self._names[key]: part for key, part in {**empty, **parts}.items()})
        if callable(getattr(section, "check", None)) and None not in empty.values():  # `updates` has a key `check`
            wrong_keys = {*empty, *(each.path[0] for each in issues if each.path)}
            issues += (each for each in starmap(_Issue, section.check()) if not each.concerns(wrong_keys))
        if issues:
            raise _InvalidPart(issues, section)
        return section

    def _wrong_keys(self, data: Mapping[str, object]) -> Iterator[_Issue]:
        for key in data:
            if key not in self._kinds:
                yield _Issue((key,), f"unknown key {key!r}", suggest(key, list(self._kinds)), at_key=True)
        for key in self._required:
            if key not in data:
                yield _Issue((), f"{key!r} is missing", f"add {key}: {_example(self._kinds[key])}")

    def _out_of_limits(self, parts: Mapping[str, Any]) -> Iterator[_Issue]:
        for key, limits in self._limits.items():
            if parts.get(key) is not None and (problem := limits.find_problem(parts[key])):
                yield _Issue((key,), *problem)


def _convert_parts(
    converter: Converter, data: Iterable[tuple[Any, object]], kind_of: Callable[[Any], Any]
) -> tuple[dict[Any, Any], list[_Issue]]:
    """Return the parts of `data` that can be used by their keys or places, and all problems."""
    parts: dict[Any, Any] = {}
    issues: list[_Issue] = []
    for step, value in data:
        try:
            parts[step] = converter.structure(value, kind_of(step))
        except _InvalidPart as error:
            issues += (each._replace(path=(step, *each.path)) for each in error.issues)
            if error.usable is not None:
                parts[step] = error.usable
        except ValueError as error:
            item = (error.item,) if isinstance(error, schedule.ScheduleError) else ()
            wrong, _, right = str(error).partition("; ")
            issues.append(_Issue((step, *item), wrong, right))
    return parts, issues


def _empty_value(kind: Any) -> Any:
    """Return an empty value of the type for a missing or wrong one, or None if the type has none.

    `check` can judge the other values of the section then.
    """
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    try:
        return (get_origin(plain) or plain)()
    except TypeError:
        return None


def _exactly(kind: type, name: str) -> Callable[[object, Any], Any]:
    def convert(value: object, _: Any) -> Any:
        if kind is int and isinstance(value, str) and INTEGER.fullmatch(value) and len(value) > MAX_DIGITS:
            raise ValueError(f"{value} is too large; write at most {MAX_DIGITS} digits")
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            hint = '; put it in "quotes"' if kind is str and isinstance(value, (int, float, bool)) else ""
            if kind is int and isinstance(value, str) and INTEGER.fullmatch(value):
                hint = "; write it without quotes"
            raise ValueError(f"{_format_value(value)} is not {name}{hint}")
        return value

    return convert


def _text(value: object, right: str) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{_format_value(value)} is not {right}")
    return value


def _names(value: object) -> Names:
    names = [value] if isinstance(value, str) else value
    if names == []:
        raise ValueError("the list is empty; write at least one name")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"{_format_value(value)} is not a name or a list of names")
    return Names(dict.fromkeys(names))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not found, a path, or a folder such as "Europe"
        raise ValueError(f"no time zone is called {name!r}; write an IANA name such as Europe/London") from None


def _one_of(value: object, kind: type[StrEnum]) -> StrEnum:
    known = [member.value for member in kind]
    if value in known:
        return kind(value)
    raise ValueError(f"{_format_value(value)} is not known here; {suggest(str(value), known)}")


def _format_value(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case Mapping():
            return "a section"
        case list():
            return "a list"
        case str():
            return repr(value if len(value) <= 60 else value[:57] + "...")
    return str(value)


def _example(kind: Any) -> str:
    return f"… ({get_args(kind)[1]})" if get_origin(kind) is Annotated else "…"
