"""The JSON Schema and the documentation tables, both generated from the data classes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import time, timedelta
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints
from zoneinfo import ZoneInfo

from pi_appliance import plugins
from pi_appliance.config import units
from pi_appliance.config.binding import is_in_yaml, is_required, yaml_key
from pi_appliance.config.options import Config, Job, PluginConfig
from pi_appliance.config.units import Days, Limits, Money, Names, Percent, Size
from pi_appliance.scheduling.chance import Chance
from pi_appliance.scheduling.schedule import AtBoot, Cron, Every

_DURATION = {
    "type": "string",
    "pattern": r"^\s*(\d+d)?\s*(\d+h)?\s*(\d+m)?\s*(\d+s)?\s*$",
    "examples": ["15m", "1h30m"],
}
_CHANCE = {"anyOf": [{"type": "string", "pattern": r"^\s*\d+\s*/\s*\d+\s*$"}, {"type": "number"}], "examples": ["1/4"]}
_TEXTS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
_SCHEDULE = {
    "anyOf": [
        {"type": "string", "examples": ["0 6 * * *", "@daily", "@reboot", "every 15m"]},
        _TEXTS,
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "every": _DURATION,
                "times": {"anyOf": [{"type": "string"}, _TEXTS]},
                "days": {"anyOf": [{"type": "string"}, _TEXTS]},
            },
        },
    ]
}
_PLAIN: Mapping[Any, Mapping[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    Path: {"type": "string"},
    ZoneInfo: {"type": "string", "examples": ["Europe/London"]},
    timedelta: _DURATION,
    Chance: _CHANCE,
    Size: {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*([kKmMgG]([iI]?[bB])?|[bB])?\s*$", "examples": ["500MB"]},
    Percent: {"type": "string", "pattern": r"^\s*\d+\s*%\s*$", "examples": ["50%"]},
    Money: {
        "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^\s*\$?\d+(\.\d+)?\s*$"}],
        "examples": [5, 0.015],
    },
    time: {"type": "string", "pattern": r"^\s*([01]?\d|2[0-3]):[0-5]\d\s*$", "examples": ["22:00"]},
    Days: {"anyOf": [{"type": "string"}, _TEXTS], "examples": [["mon-fri"]]},
    Names: {"anyOf": [{"type": "string"}, _TEXTS], "examples": ["x", ["x", "mastodon"]]},
    Any: {},
}


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of appliance.yaml with all plug-in options."""
    schema = _object(Config)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "pi-appliance"
    properties = schema["properties"]
    properties["jobs"]["additionalProperties"] = _with_kinds(Job, "jobs")
    for family in ("networks", "notifiers"):
        properties[family]["additionalProperties"] = _with_kinds(PluginConfig, family)
    properties["player"] = {**_with_kinds(PluginConfig, "players"), "description": properties["player"]["description"]}
    return schema


def job_schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a job of `kind`, with that of its options at `with`."""
    schema, module = _object(Job), plugins.load("jobs", kind)
    schema["properties"]["with"] = _object(module.Options)
    if hasattr(module, "TIMEOUT"):
        schema["properties"]["timeout"]["default"] = units.format_duration(module.TIMEOUT)
    return schema


def markdown_tables() -> str:
    """Return all keys as Markdown tables."""
    return "\n\n".join(_table(title, cls) for title, cls in all_sections()) + "\n"


def all_sections() -> list[tuple[str, type]]:
    """Return the title and the data class of each section: those of the file, then each plug-in."""
    sections = [("The file", Config), *_sections(Config, "", {PluginConfig})]
    families = (("jobs", "jobs"), ("networks", "networks"), ("notifiers", "notifiers"), ("players", "player"))
    for family, word in families:
        sections += [
            (f"{word}: with, kind {kind}", plugins.load(family, kind).Options) for kind in plugins.names(family)
        ]
    return sections


def _sections(cls: type, parent: str, known: set[type]) -> Iterator[tuple[str, type]]:
    """Yield the title and the data class of each section below `cls` that is not `known` yet."""
    hints = get_type_hints(cls)
    for each in _keys(cls):
        section = _data_class(hints[each.name])
        if section is not None and section not in known:
            known.add(section)
            title = f"{parent}{yaml_key(each)}" + (": NAME" if section is Job else "")
            yield title, section
            yield from _sections(section, f"{title}: ", known)


def _data_class(hint: Any) -> type | None:
    """Return the data class that `hint` is, may be, or contains; None for a plain value."""
    if hint in _PLAIN or _is_schedule(hint):
        return None
    if isinstance(hint, type) and is_dataclass(hint):
        return hint
    return next(filter(None, map(_data_class, get_args(hint))), None)


def _is_schedule(hint: Any) -> bool:
    return {Cron, Every, AtBoot} <= set(get_args(hint))


def _table(title: str, cls: type) -> str:
    lines = [f"### {title}", "", "| key | default | meaning |", "| --- | --- | --- |"]
    for key, default, text in option_rows(cls):
        shown = f"`{default}`" if default not in (None, "-") else default or "**needed**"
        lines.append(f"| `{key}` | {shown} | {text} |")
    return "\n".join(lines)


def option_rows(cls: type) -> list[tuple[str, str | None, str]]:
    """Return the key, the default and the description of each field of `cls`.

    The default is written as in YAML, "-" if there is none to show, and None if the key is
    required.
    """
    hints = get_type_hints(cls, include_extras=True)
    return [(yaml_key(each), _default(each), _description(hints[each.name])) for each in _keys(cls)]


def _with_kinds(cls: type, family: str) -> dict[str, Any]:
    """Return the schema of `cls`, where the schema of `with` depends on `kind`."""
    schema = _object(cls)
    kinds = plugins.names(family)
    schema["properties"]["kind"]["enum"] = list(kinds)
    schema["allOf"] = [
        {
            "if": {"properties": {"kind": {"const": kind}}},
            "then": {"properties": {"with": _object(plugins.load(family, kind).Options)}},
        }
        for kind in kinds
    ]
    return schema


def _object(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls, include_extras=True)
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            yaml_key(each): {
                **_schema(hints[each.name]),
                **_json_default(each),
                "description": _description(hints[each.name]),
            }
            for each in _keys(cls)
        },
        "required": [yaml_key(each) for each in _keys(cls) if is_required(each)],
    }


def _schema(hint: Any) -> dict[str, Any]:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        limits = [each.schema for each in inner[2:] if isinstance(each, Limits)]
        return {**_schema(inner[0]), **(limits[0] if limits else {})}
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    if origin in (Union, UnionType):
        if _is_schedule(hint):
            return dict(_SCHEDULE)
        members = [member for member in inner if member is not NoneType]
        return _schema(members[0]) if len(members) == 1 else {"anyOf": [_schema(member) for member in members]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(inner[1])}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return {"type": "array", "items": _schema(inner[0])}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"enum": [member.value for member in hint]}
    assert is_dataclass(hint), f"no schema is known for {hint}"
    return _object(hint) if isinstance(hint, type) else {}


def _keys(cls: type) -> list[Field[Any]]:
    return [each for each in fields(cls) if is_in_yaml(each)]


def _description(hint: Any) -> str:
    return str(get_args(hint)[1]) if get_origin(hint) is Annotated else ""


def _json_default(field: Field[Any]) -> dict[str, Any]:
    """Return the default as a keyword of JSON Schema, if it is a plain value."""
    value = _default(field) if isinstance(field.default, timedelta) else field.default
    return {"default": value} if isinstance(value, (str, int, float)) and value != "" else {}


def _default(field: Field[Any]) -> str | None:
    if is_required(field):
        return None
    match field.default:
        case None | "" | Days():
            return "-"
        case bool():
            return str(field.default).lower()
        case timedelta():
            return units.format_duration(field.default)
    return "-" if field.default is MISSING else str(field.default)
