"""Keys of a query or of a body: what each may hold, how it is read, and how it is told in a schema.

A form brings every value as text, JSON as what it is; both are read by the same rules.
"""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qsl

from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pi_appliance.errors import suggest

Given = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
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


def number(name: str, what: str, low: float, high: float, **more: Any) -> Param:
    """Return a key for a number from LOW to HIGH."""

    def read(value: object) -> float:
        found = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
        if not low <= found <= high:  # never true for nan
            raise ValueError
        return found

    schema = {"type": "number", "minimum": low, "maximum": high}
    return Param(
        name=name, what=what, must=f"a number from {low:.15g} to {high:.15g}", read=read, schema=schema, **more
    )


def integer(name: str, what: str, low: int, high: int, **more: Any) -> Param:
    """Return a key for a whole number from LOW to HIGH."""

    def read(value: object) -> int:
        if isinstance(value, str) and value.isascii() and len(value) < 20 and value.removeprefix("-").isdigit():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError
        return value

    schema = {"type": "integer", "minimum": low, "maximum": high}
    return Param(name=name, what=what, must=f"a whole number from {low} to {high}", read=read, schema=schema, **more)


def text(name: str, what: str, longest: int = 1000, **more: Any) -> Param:
    """Return a key for a text of at most LONGEST characters, one at least where it is needed."""
    shortest = 1 if more.get("needed") else 0

    def read(value: object) -> str:
        if not isinstance(value, str) or not shortest <= len(value) <= longest or set(value) & set("\0\n\r"):
            raise ValueError
        value.encode()  # half a letter (\ud800), which JSON may hold, can be neither sent to a player nor kept
        return value

    must = f"a line of at most {longest} characters"
    schema = {"type": "string", "minLength": shortest, "maxLength": longest}
    return Param(name=name, what=what, must=must, read=read, schema=schema, **more)


def boolean(name: str, what: str, **more: Any) -> Param:
    """Return a key for yes or no."""

    def read(value: object) -> bool:
        if isinstance(value, bool):
            return value
        if value not in ("true", "false"):
            raise ValueError
        return value == "true"

    return Param(name=name, what=what, must="true or false", read=read, schema={"type": "boolean"}, **more)


def enum(name: str, what: str, kind: type[StrEnum], of: Sequence[StrEnum] = (), **more: Any) -> Param:
    """Return a key for one of the values of KIND, or of those named in OF."""
    values = [str(each) for each in of or kind]

    def read(value: object) -> StrEnum:
        if value not in values:
            raise ValueError
        return kind(str(value))

    schema = {"type": "string", "enum": values}
    return Param(name=name, what=what, must=f"one of {', '.join(values)}", read=read, schema=schema, **more)


def array(key: Param, most: int) -> Param:
    """Return a key for a list of what KEY takes, one at least and MOST at most."""

    def read(value: object) -> list[Any]:
        if not isinstance(value, list) or not 0 < len(value) <= most:
            raise ValueError
        return [key.read(each) for each in value]

    return Param(
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

    all: Sequence[Param] = field(default_factory=tuple)

    def read(self, given: Given, unknown: Callable[[str, str], str]) -> dict[str, Any]:
        """Return every key with its value. Raises HTTPException 400; UNKNOWN(key, hint) says it of an unknown one."""
        names = [key.name for key in self.all]
        for name in given:
            if name not in names:
                raise HTTPException(400, unknown(name, suggest(name, names) if names else ""))
        return {key.name: key.of(given) for key in self.all}


LARGEST = 16_384  # bytes, of what is no list
_SLOWEST = 30.0  # seconds for all of it; who drips must not keep his place for ever


async def form(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises HTTPException if it is none."""
    body = await _read(request, LARGEST)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=20))
    except ValueError:
        raise HTTPException(400, "this is no form; send fields as name=value&name=value") from None


async def json_object(request: Request, largest: int = LARGEST) -> Mapping[str, object]:
    """Return the JSON object of the body; nothing where there is no body.

    Raises HTTPException if it is none, or longer than LARGEST bytes.
    """
    body = await _read(request, largest)
    if not body:
        return {}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, 'the body is not JSON; send an object such as {"volume": 40}') from None
    if not isinstance(found, dict):
        raise HTTPException(400, 'the body is no JSON object; send one such as {"volume": 40}')
    return found


async def _read(request: Request, largest: int) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(_SLOWEST):
            async for chunk in request.stream():
                body += chunk
                if len(body) > largest:
                    raise HTTPException(413, f"the body is too long; at most {largest} bytes are read")
    except TimeoutError:
        raise HTTPException(408, "the body came too slowly; send it again") from None
    except ClientDisconnect:
        raise HTTPException(400, "the body ended too early; send it again") from None
    return bytes(body)


BASE = "/api/v1"
START = integer("start", "the first item, counted from 0", 0, 10_000_000, otherwise=0, example=0)
COUNT = integer("count", "how many items at the most", 1, 500, otherwise=100, example=50)


@dataclass(frozen=True, slots=True)
class Call:
    """One request: what stands in its path, and every key of its query and its body."""

    request: Request
    path: Mapping[str, Any]
    given: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One row: METHOD and path, what it does in words, and what does it.

    `act` returns plain values, which are answered as JSON with `status`, or a whole answer of its own. `answer` names
    what these values are, in schemas.ANSWERS; `media` what another kind of answer is.
    """

    method: str
    path: str
    what: str
    act: Callable[[Call], Awaitable[object]]
    query: Sequence[Param] = ()
    body: Sequence[Param] = ()
    answer: str = "Music"
    status: int = 200
    media: str = "application/json"
    largest: int = LARGEST  # bytes of a body
    example: Mapping[str, Any] = field(default_factory=dict)  # of what stands in the path and in the body

    @property
    def name(self) -> str:
        """What to call it in a sentence: the last word of its path."""
        words = [part for part in self.path.split("/") if part and not part.startswith("{")]
        return words[-1]

    def route(self) -> Route:
        """Return the route to it."""
        return Route(f"{BASE}{self.path}", self._answer, methods=[self.method])

    async def _answer(self, request: Request) -> Response:
        found = await self.act(
            Call(request, request.path_params, {**self._asked(request), **await self._sent(request)})
        )
        return found if isinstance(found, Response) else JSONResponse(found, self.status)

    def _asked(self, request: Request) -> dict[str, Any]:
        lists = {key.name for key in self.query if key.many}
        asked = request.query_params
        given = {name: asked.getlist(name) if name in lists else asked[name] for name in asked}
        return Keys(self.query).read(
            given, lambda name, hint: f"nothing is known of {name!r}; {hint or 'there is nothing to choose here'}"
        )

    async def _sent(self, request: Request) -> dict[str, Any]:
        if self.method == "GET":
            return {}
        return read_body(self.name, self.body, await json_object(request, self.largest))


def read_body(name: str, keys: Sequence[Param], given: Mapping[str, object]) -> dict[str, Any]:
    """Return the values of KEYS in what was GIVEN to NAME. Raises HTTPException 400 in a sentence."""
    return Keys(keys).read(
        given, lambda key, hint: f"{name} takes no {key!r}; {hint}" if keys else f"{name} takes no keys"
    )


class _RunNumber(Convertor[int]):
    regex = "[0-9]{1,18}"  # below what a column of the history holds

    def convert(self, value: str) -> int:
        """Return the number in an address."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return VALUE as it stands in an address."""
        return str(value)


register_url_convertor("run", _RunNumber())
NUMBER = "{number:run}"
"""What stands for it in a route."""
ID = "{id:run}"
"""The same, for what others have numbered."""


def asked(request: Request, key: str) -> int | None:
    """Return the number that the query has at KEY; None where it has none."""
    text = request.query_params.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
