"""The routes of operations for the API and for forms, and the arguments in a request.

A form sends every value as text, JSON sends typed values; `Argument.parse` accepts both.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pi_appliance.errors import ApplianceError, ConfigError, InvalidOption
from pi_appliance.operations import MAX_BODY, Argument, Operation, parse_arguments, to_json
from pi_appliance.roles import Role
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.system.runtime_socket import ZONE_HEADER
from pi_appliance.system.shown_time import use_time_zone
from pi_appliance.web.security import HIDDEN, RoleRoute, local_target, owner_text, require_roles

_MAX_FIELDS = 60  # fields of a form
_BODY_TIMEOUT = 30.0  # seconds for the whole body, so that a slow client does not occupy its connection


async def form(request: Request, max_bytes: int = MAX_BODY, max_fields: int = _MAX_FIELDS) -> dict[str, str]:
    """Return the fields of a form. Raises HTTPException if the body is not a form."""
    return dict(await form_fields(request, max_bytes, max_fields))


async def form_fields(
    request: Request, max_bytes: int = MAX_BODY, max_fields: int = _MAX_FIELDS
) -> list[tuple[str, str]]:
    """Return the fields of a form, in order. Raises HTTPException if the body is not a form."""
    body = await _read_body(request, max_bytes)
    strict = bool(body)
    try:
        return parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=strict, max_num_fields=max_fields)
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
FORMS = "/do"


@dataclass(frozen=True, slots=True)
class Call:
    """One request: the variable parts of its path, and every argument."""

    request: Request
    path: Mapping[str, Any]
    arguments: Mapping[str, Any]


def api_routes(operations: Iterable[Operation], services: Services) -> list[Route]:
    """Return a route for each path of `operations`.

    A handler named by text is called with `services`, another with the call.
    """
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    return [_api_route(path, by_method, services) for path, by_method in by_path.items()]


def _api_route(path: str, by_method: Mapping[str, Operation], services: Services) -> Route:
    async def answer(request: Request) -> Response:
        operation = by_method["GET" if request.method == "HEAD" else request.method]
        values = operation.parse(await _api_arguments(operation, request))
        require_roles(operation, values)
        try:
            if isinstance(operation.handler, str):
                result = await operation.load_handler()(services, values)
            else:
                result = await operation.handler(Call(request, request.path_params, values))
        except ConfigError as error:  # the values are valid one by one, but not together or not in a configuration
            names_files = not isinstance(error, InvalidOption)
            raise HTTPException(422, owner_text(str(error), HIDDEN) if names_files else str(error)) from None
        zone = {ZONE_HEADER: str(services.daemon.appliance.config.time_zone)}
        return result if isinstance(result, Response) else JSONResponse(to_json(result), operation.status, zone)

    roles = {method: operation.role for method, operation in by_method.items()}
    return RoleRoute(f"{BASE}{path}", answer, roles, by_method)


def form_routes(operations: Iterable[Operation], services: Services) -> list[Route]:
    """Return the routes of the forms of `operations`: POST to FORMS and the path of an operation.

    The fields are the arguments of the operation. They may also be in the query, so that each
    button of a form can have its own. The field `method` chooses among the operations of a path.
    The field `return_to` is the next page, by default the one with the form; `{name}` in it stands
    for the field `name`. The field `form_page` is the address of the page with the form: after an
    error, it is shown again with the fields and the `error` in its query.

    A script gets JSON in place of the redirect: the `next_page`, and the line of the answer.
    """
    choices: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        if operation.method != "GET" and isinstance(operation.handler, str):
            choices.setdefault(operation.path, {})[operation.method] = operation
    return [_form_route(path, by_method, services) for path, by_method in choices.items()]


def _form_route(path: str, by_method: Mapping[str, Operation], services: Services) -> Route:
    async def answer(request: Request) -> Response:
        pairs = [*request.query_params.multi_items(), *await form_fields(request)]
        fields = dict(pairs)
        form_page = fields.pop("form_page", None)
        target = _fill_in(fields.pop("return_to", None), fields)
        method = fields.pop("method", "POST" if "POST" in by_method else next(iter(by_method)))
        if method not in by_method:
            raise InvalidOption(f"'method' must be one of {', '.join(by_method)}")
        operation = by_method[method]
        lists = {argument.name for argument in operation.arguments if argument.many}
        try:
            given = {name: _values_of(name, pairs) if name in lists else value for name, value in fields.items()}
            values = operation.parse(_with_path(operation, request, _without_blanks(operation, given)))
            require_roles(operation, values)
            result = to_json(await operation.load_handler()(services, values))
        except ApplianceError as error:
            if form_page is None:
                raise
            again = [*((name, value) for name, value in pairs if name in fields), ("error", str(error))]
            return RedirectResponse(f"{local_target(form_page)}?{urlencode(again)}", 303)
        next_page = local_target(_referring_page(request) if target is None else target)
        if request.headers.get("accept") == "application/json":  # the request is from a script
            use_time_zone(str(services.daemon.appliance.config.time_zone))
            return JSONResponse({"answer": operation.answer_to(result, values), "next_page": next_page})
        return RedirectResponse(next_page, 303)

    # The method is a field of the form, so the route needs the highest role of all its methods.
    role = max((operation.role for operation in by_method.values()), key=list(Role).index)
    return RoleRoute(f"{FORMS}{path}", answer, role, ["POST"])


def _fill_in(target: str | None, fields: Mapping[str, str]) -> str | None:
    return target and re.sub(r"\{(\w+)\}", lambda match: quote(fields.get(match[1], ""), safe=""), target)


def _values_of(name: str, pairs: Iterable[tuple[str, str]]) -> list[str] | str:
    """Return the values of the field `name`; "" if all are blank."""
    values = [value for key, value in pairs if key == name]
    return values if any(values) else ""


def _without_blanks(operation: Operation, fields: Mapping[str, object]) -> dict[str, object]:
    """Return `fields` without the empty ones, except those whose argument accepts an empty text."""
    blanks = {each.name for each in operation.arguments if not each.required and not _takes_blank(each)}
    return {name: value for name, value in fields.items() if value or name not in blanks}


def _takes_blank(argument: Argument) -> bool:
    try:
        argument.parse("")
    except ValueError:
        return False
    return True


def _referring_page(request: Request) -> str:
    try:
        address = urlsplit(request.headers.get("referer", ""))
    except ValueError:
        return "/"
    return address.path + (f"?{address.query}" if address.query else "")


async def _api_arguments(operation: Operation, request: Request) -> dict[str, object]:
    """Return the arguments in the query, the body and the path of `request`, not parsed yet."""
    lists = {argument.name for argument in operation.query if argument.many}
    query = request.query_params
    arguments: dict[str, object] = {name: query.getlist(name) if name in lists else query[name] for name in query}
    if operation.method != "GET":
        if operation.method != "DELETE":
            parse_arguments(operation.name, (), arguments)  # refuses a query: a POST has a body
        arguments |= await json_object(request, operation.max_body)
    return _with_path(operation, request, arguments)


def _with_path(operation: Operation, request: Request, arguments: Mapping[str, object]) -> dict[str, object]:
    """Return `arguments`, with the arguments in the path added.

    Raises InvalidOption for duplicates.
    """
    from_path = {}
    for name in operation.path_arguments:
        if name in arguments:
            raise InvalidOption(f"{operation.name} takes {name!r} in its address, and nowhere else")
        if any(argument.name == name for argument in operation.arguments):
            value = request.path_params[name]
            from_path[name] = value.replace(_SLASH, "/") if isinstance(value, str) else value
    return {**arguments, **from_path}


_SLASH = "\0"  # stands for a slash in an argument of a path


def keep_encoded_slashes(app: ASGIApp) -> ASGIApp:
    """Return `app` with paths in which an encoded slash (%2F) may be part of a name."""

    async def keep_slashes(scope: Scope, receive: Receive, send: Send) -> None:
        raw = scope.get("raw_path", b"")
        if b"%2f" in raw.lower():
            path = unquote(re.sub("%2f", quote(_SLASH), raw.decode("latin-1"), flags=re.IGNORECASE))
            scope = {**scope, "path": path}
        await app(scope, receive, send)

    return keep_slashes


class _IdConvertor(Convertor[int]):
    regex = "[0-9]{1,18}"  # at most 18 digits, which fit into 64 bits

    def convert(self, value: str) -> int:
        """Return the number in a path."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Return `value` as part of a path."""
        return str(value)


register_url_convertor("run", _IdConvertor())
NUMBER = "{number:run}"
"""The number of a run or a post in the path of a route."""


def query_number(request: Request, key: str) -> int | None:
    """Return the number at `key` of the query; None if there is none."""
    text = request.query_params.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
