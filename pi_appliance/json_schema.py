"""Building blocks for the JSON Schemas of results; each feature has schemas of its own."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

Schema = Mapping[str, Any]
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
INSTANT: Schema = {"type": "string", "format": "date-time"}
ANY: Schema = {"type": "object"}
_SIMPLE: Mapping[object, Schema] = {str: TEXT, bool: FLAG, int: WHOLE, float: NUMBER, datetime: INSTANT}


def reference(name: str) -> Schema:
    """Return a reference to the schema `name` of the API."""
    return {"$ref": f"#/components/schemas/{name}"}


def list_of(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def nullable(schema: Schema, description: str = "") -> Schema:
    """Return the schema of a value that may be null."""
    return describe({"anyOf": [schema, {"type": "null"}]}, description)


def describe(schema: Schema, description: str) -> Schema:
    """Return `schema` with a description."""
    return {**schema, "description": description} if description else schema


def object_of(properties: Mapping[str, Schema], *, more: bool = False, description: str = "") -> Schema:
    """Return the schema of an object with all `properties`; `more` allows others."""
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": more}
    return describe(schema, description)


def page_of(items: Schema) -> Schema:
    """Return the schema of a page of a list."""
    length = nullable(WHOLE, "the length of the whole list; null if it is not known")
    more = describe(FLAG, "whether there are items after this page")
    return object_of({"start": WHOLE, "length": length, "more": more, "items": list_of(items)})


def properties_of(data: type, descriptions: Mapping[str, str] | None = None) -> dict[str, Schema]:
    """Return the schema of each field of the data class `data`, some with `descriptions`.

    A field that is itself a data class refers to the schema with its name.
    """
    hints, texts = typing.get_type_hints(data), descriptions or {}
    return {
        each.name: describe(_schema_of(hints[each.name]), texts.get(each.name, "")) for each in dataclasses.fields(data)
    }


def _schema_of(hint: Any) -> Schema:
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return {"type": "string", "enum": [str(each) for each in hint]}
    if dataclasses.is_dataclass(hint):
        return reference(hint.__name__)  # type: ignore[union-attr]
    arguments = typing.get_args(hint)
    if isinstance(hint, types.UnionType) and type(None) in arguments:
        return nullable(_schema_of(next(each for each in arguments if each is not type(None))))
    if arguments:
        return list_of(_schema_of(arguments[0]))
    raise TypeError(f"no JSON Schema for {hint}")
