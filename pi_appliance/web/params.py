"""Keys of a query or of a body: what each may hold, how it is read, and how it is told in a schema.

A form brings every value as text, JSON as what it is; both are read by the same rules.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pi_appliance.errors import WrongArgument
from pi_appliance.operations import Operation, integer, parse_arguments

Given = Mapping[str, object]


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
START = integer("start", "the first item, counted from 0", 0, 10_000_000, default=0, example=0)
COUNT = integer("count", "how many items at the most", 1, 500, default=100, example=50)


@dataclass(frozen=True, slots=True)
class Call:
    """One request: what stands in its path, and every key of its query and its body."""

    request: Request
    path: Mapping[str, Any]
    given: Mapping[str, Any]


def route(operation: Operation, services: object = None) -> Route:
    """Return the route of `operation`. A handler named by text is called with `services`, another with the call."""

    async def answer(request: Request) -> Response:
        values = operation.parse(await _given(operation, request))
        if isinstance(operation.handler, str):
            result = await operation.load_handler()(services, values)
        else:
            result = await operation.handler(Call(request, request.path_params, values))
        return result if isinstance(result, Response) else JSONResponse(result, operation.status)

    return Route(f"{BASE}{operation.path}", answer, methods=[operation.method])


async def _given(operation: Operation, request: Request) -> dict[str, object]:
    """Return the arguments in the query, the body and the path of `request`, not parsed yet."""
    lists = {argument.name for argument in operation.query if argument.many}
    query = request.query_params
    given: dict[str, object] = {name: query.getlist(name) if name in lists else query[name] for name in query}
    if operation.method != "GET":
        if operation.method != "DELETE":
            parse_arguments(operation.name, (), given)  # the arguments of a POST come in its body
        given |= await json_object(request, operation.max_body)
    for name in operation.path_arguments:
        if name in given:
            raise WrongArgument(f"{operation.name} takes {name!r} in its address, and nowhere else")
        if any(argument.name == name for argument in operation.arguments):
            given[name] = request.path_params[name]
    return given


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
