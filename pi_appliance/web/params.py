"""HTTP requests: routes of operations, and the arguments in the query, the JSON body or the form of a request.

A form brings every value as text, JSON as its own type; `Argument.parse` accepts both.
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

from pi_appliance.errors import InvalidOption
from pi_appliance.operations import MAX_BODY, Operation, integer, parse_arguments

Given = Mapping[str, object]


_BODY_TIMEOUT = 30.0  # seconds for all of it, so that a slow client does not keep its connection


async def form(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises HTTPException if the body is not a form."""
    body = await _read_body(request, MAX_BODY)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=20))
    except ValueError:
        raise HTTPException(400, "the body is not a form; send fields as name=value&name=value") from None


async def json_object(request: Request, max_bytes: int = MAX_BODY) -> Mapping[str, object]:
    """Return the JSON object in the body; an empty body counts as an empty object.

    Raises:
        HTTPException: the body is not a JSON object, or it is longer than `max_bytes`.

    """
    body = await _read_body(request, max_bytes)
    if not body:
        return {}
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, 'the body is not JSON; send an object such as {"volume": 40}') from None
    if not isinstance(content, dict):
        raise HTTPException(400, 'the body is not a JSON object; send an object such as {"volume": 40}')
    return content


async def _read_body(request: Request, max_bytes: int) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_TIMEOUT):
            async for chunk in request.stream():
                body += chunk
                if len(body) > max_bytes:
                    raise HTTPException(413, f"the body is too long; at most {max_bytes} bytes are read")
    except TimeoutError:
        raise HTTPException(408, "the body came too slowly; send it again") from None
    except ClientDisconnect:
        raise HTTPException(400, "the body ended too early; send it again") from None
    return bytes(body)


BASE = "/api/v1"
START = integer("start", "the first item, counted from 0", 0, 10_000_000, default=0, example=0)
COUNT = integer("count", "how many items at most", 1, 500, default=100, example=50)


@dataclass(frozen=True, slots=True)
class Call:
    """One request: the variable parts of its path, and every argument."""

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
            raise InvalidOption(f"{operation.name} takes {name!r} in its address, and nowhere else")
        if any(argument.name == name for argument in operation.arguments):
            given[name] = request.path_params[name]
    return given


class _IdConvertor(Convertor[int]):
    regex = "[0-9]{1,18}"  # fits into a 64-bit column

    def convert(self, value: str) -> int:
        """Return the number in a path."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return `value` as part of a path."""
        return str(value)


register_url_convertor("run", _IdConvertor())
NUMBER = "{number:run}"
"""The number of a run or a post in the path of a route."""
ID = "{id:run}"
"""The id of something that the player numbers."""


def query_number(request: Request, key: str) -> int | None:
    """Return the number at `key` of the query; None if there is none."""
    text = request.query_params.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
