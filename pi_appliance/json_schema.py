"""The JSON Schemas of results, derived from the type hints of the functions that make them.

The JSON object that an operation returns is a `TypedDict` named after it, such as `PauseJson`. A
field with a description is `Annotated` with it:

    class ReportJson(TypedDict):
        file: str
        written: Instant
        bytes: Annotated[int, "of the file"]

A data class stands for the object of its fields. `operations.to_json` makes that object.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, NotRequired, Required

Schema = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Keyword:
    """A keyword of JSON Schema that an `Annotated` type hint can contain."""

    name: str
    value: Any


Instant = Annotated[str, Keyword("format", "date-time")]
"""A moment in UTC as text, as `storage.model.iso_time` writes it."""
_TYPE_NAMES: Mapping[object, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def result_hint(function: Callable[..., Any]) -> Any:
    """Return the type of the value that `function` returns."""
    plain = function.func if isinstance(function, functools.partial) else function
    hint = plain.__annotations__["return"]
    return typing.get_type_hints(plain, include_extras=True)["return"] if isinstance(hint, str) else hint


class SchemaCollection:
    """Derives schemas from type hints. `named` collects the schemas of objects by their names."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}
        self._owners: dict[str, type] = {}

    def schema_of(self, hint: Any) -> Schema:
        """Return the schema of the values of the type `hint`. Raises TypeError if it has none."""
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated:
            return self._annotated(self.schema_of(arguments[0]), arguments[1:])
        if hint in _TYPE_NAMES:
            return {"type": _TYPE_NAMES[hint]}
        if hint in (Any, object):
            return {}
        if origin in (types.UnionType, typing.Union):
            return {"anyOf": [self.schema_of(each) for each in arguments]}
        if origin is typing.Literal:
            return {"enum": list(arguments)}
        if isinstance(origin or hint, type):
            return self._schema_of_class(hint, origin or hint, arguments)
        raise TypeError(f"no JSON Schema for {hint}")

    def _schema_of_class(self, hint: Any, kind: type, arguments: Sequence[Any]) -> Schema:
        if typing.is_typeddict(kind) or dataclasses.is_dataclass(kind):
            if arguments:  # a generic class gets a name from its arguments
                return self._object(kind, dict(zip(kind.__parameters__, arguments, strict=True)))  # type: ignore[attr-defined]
            return self._named(kind)
        if issubclass(kind, StrEnum):
            return {"type": "string", "enum": [str(each) for each in kind]}
        if issubclass(kind, Mapping):
            return {"type": "object", "additionalProperties": self.schema_of(arguments[1])} if arguments else {}
        if issubclass(kind, Sequence) and arguments:
            return {"type": "array", "items": self.schema_of(arguments[0])}
        raise TypeError(f"no JSON Schema for {hint}")

    def _annotated(self, schema: Schema, extras: Sequence[Any]) -> Schema:
        for extra in extras:
            keyword = extra if isinstance(extra, Keyword) else Keyword("description", extra)
            schema = {**schema, keyword.name: keyword.value}
        return schema

    def _named(self, kind: type) -> Schema:
        name = kind.__name__.removesuffix("Json")
        if self._owners.setdefault(name, kind) is not kind:
            raise TypeError(f"{kind} and {self._owners[name]} have the same name")
        if name not in self.named:
            self.named[name] = {}  # a placeholder, because an object may contain objects of its own class
            self.named[name] = self._object(kind, {})
        return {"$ref": f"#/components/schemas/{name}"}

    def _object(self, kind: type, variables: Mapping[Any, Any]) -> Schema:
        """Return the schema of a TypedDict or data class, with types for its type variables."""
        properties, required = {}, []
        optional = getattr(kind, "__optional_keys__", ())
        for name, hint in typing.get_type_hints(kind, include_extras=True).items():
            qualifier = typing.get_origin(hint)
            plain = typing.get_args(hint)[0] if qualifier in (Required, NotRequired) else hint
            properties[name] = self.schema_of(_substitute(plain, variables))
            if name not in optional:
                required.append(name)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _substitute(hint: Any, variables: Mapping[Any, Any]) -> Any:
    if hint in variables:
        return variables[hint]
    if parameters := getattr(hint, "__parameters__", ()):
        return hint[tuple(variables[each] for each in parameters)]
    return hint
