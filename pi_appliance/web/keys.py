"""Keys of a query or of a body: what each may hold, how it is read, and how it is told in a schema.

A form brings every value as text, JSON as what it is; both are read by the same rules.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from starlette.exceptions import HTTPException

from pi_appliance.errors import nearest

Given = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key. `read` returns the value, or raises ValueError; `must` says in words what it takes."""

    name: str
    what: str
    must: str
    read: Callable[[object], Any]
    schema: Mapping[str, Any]
    needed: bool = False
    otherwise: Any = None  # the value where none is given
    many: bool = False  # in a query: may be given more than once
    example: Any = None

    def of(self, given: Given) -> Any:
        """Return the value in GIVEN. Raises HTTPException 400 if it is wrong, or missing though needed."""
        if self.name not in given:
            if self.needed:
                raise HTTPException(400, f"{self.name!r} must be {self.must}, and it is missing")
            return self.otherwise
        try:
            return self.read(given[self.name])
        except (ValueError, OverflowError):
            raise HTTPException(400, f"{self.name!r} must be {self.must}") from None


def number(name: str, what: str, low: float, high: float, **more: Any) -> Key:
    """Return a key for a number from LOW to HIGH."""

    def read(value: object) -> float:
        found = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
        if not low <= found <= high:  # never true for nan
            raise ValueError
        return found

    schema = {"type": "number", "minimum": low, "maximum": high}
    return Key(name=name, what=what, must=f"a number from {low:.15g} to {high:.15g}", read=read, schema=schema, **more)


def whole(name: str, what: str, low: int, high: int, **more: Any) -> Key:
    """Return a key for a whole number from LOW to HIGH."""

    def read(value: object) -> int:
        if isinstance(value, str) and value.isascii() and len(value) < 20 and value.removeprefix("-").isdigit():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError
        return value

    schema = {"type": "integer", "minimum": low, "maximum": high}
    return Key(name=name, what=what, must=f"a whole number from {low} to {high}", read=read, schema=schema, **more)


def text(name: str, what: str, longest: int = 1000, **more: Any) -> Key:
    """Return a key for a text of at most LONGEST characters, one at least where it is needed."""
    shortest = 1 if more.get("needed") else 0

    def read(value: object) -> str:
        if not isinstance(value, str) or not shortest <= len(value) <= longest or set(value) & set("\0\n\r"):
            raise ValueError
        value.encode()  # half a letter (\ud800), which JSON may hold, can be neither sent to a player nor kept
        return value

    must = f"a line of at most {longest} characters"
    schema = {"type": "string", "minLength": shortest, "maxLength": longest}
    return Key(name=name, what=what, must=must, read=read, schema=schema, **more)


def flag(name: str, what: str, **more: Any) -> Key:
    """Return a key for yes or no."""

    def read(value: object) -> bool:
        if isinstance(value, bool):
            return value
        if value not in ("true", "false"):
            raise ValueError
        return value == "true"

    return Key(name=name, what=what, must="true or false", read=read, schema={"type": "boolean"}, **more)


def choice(name: str, what: str, kind: type[StrEnum], of: Sequence[StrEnum] = (), **more: Any) -> Key:
    """Return a key for one of the values of KIND, or of those named in OF."""
    values = [str(each) for each in of or kind]

    def read(value: object) -> StrEnum:
        if value not in values:
            raise ValueError
        return kind(str(value))

    schema = {"type": "string", "enum": values}
    return Key(name=name, what=what, must=f"one of {', '.join(values)}", read=read, schema=schema, **more)


def several(key: Key, most: int) -> Key:
    """Return a key for a list of what KEY takes, one at least and MOST at most."""

    def read(value: object) -> list[Any]:
        if not isinstance(value, list) or not 0 < len(value) <= most:
            raise ValueError
        return [key.read(each) for each in value]

    return Key(
        name=key.name,
        what=key.what,
        must=f"a list of 1 to {most}, each {key.must}",
        read=read,
        schema={"type": "array", "items": key.schema, "minItems": 1, "maxItems": most},
        needed=key.needed,
        many=True,
        example=key.example,
    )


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys that something takes."""

    all: Sequence[Key] = field(default_factory=tuple)

    def read(self, given: Given, unknown: Callable[[str, str], str]) -> dict[str, Any]:
        """Return every key with its value. Raises HTTPException 400; UNKNOWN(key, hint) says it of an unknown one."""
        names = [key.name for key in self.all]
        for name in given:
            if name not in names:
                raise HTTPException(400, unknown(name, nearest(name, names) if names else ""))
        return {key.name: key.of(given) for key in self.all}
