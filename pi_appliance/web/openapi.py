"""The OpenAPI document and the table of the docs, both made of the rows that the routes are made of."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pi_appliance import __version__
from pi_appliance.web.endpoints import BASE, Endpoint
from pi_appliance.web.keys import Key
from pi_appliance.web.schemas import ANSWERS

VERSION = "3.1.0"
_WORD = re.compile(r"\{(\w+)(?::(\w+))?\}")  # as Starlette writes what varies in a path
_NOES = {
    "400": "A key or a value is wrong.",
    "401": "Sign in, or send the password.",
    "404": "There is nothing of that name.",
    "409": "The player or the job says no; what it cannot do is not among its `abilities`.",
    "503": "The player is away, or a disk takes nothing; nothing was done.",
}


def document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the OpenAPI document of ENDPOINTS."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(plain(endpoint.path), {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": VERSION,
        "info": {
            "title": "pi-appliance",
            "version": __version__,
            "description": "What the page on the phone shows and does, for other programs.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": BASE}],
        "security": [{"password": []}, {}],
        "paths": paths,
        "components": {
            "schemas": dict(ANSWERS),
            "securitySchemes": {
                "password": {"type": "http", "scheme": "bearer", "description": "WEB_PASSWORD, where one is set"}
            },
            "responses": {
                f"No{status}": {"description": what, "content": _content("application/json", _ref("Error"))}
                for status, what in _NOES.items()
            },
        },
    }


def table(endpoints: Sequence[Endpoint]) -> str:
    """Return the table of ENDPOINTS for docs/web.md, in Markdown."""
    rows = [f"| {each.method} | `{plain(each.path)}` | {_keys(each)} | {each.what} |" for each in endpoints]
    return "\n".join(["| | | keys | |", "|---|---|---|---|", *rows, ""])


def plain(path: str) -> str:
    """Return PATH without the kinds of what varies in it."""
    return _WORD.sub(r"{\1}", path)


def _keys(endpoint: Endpoint) -> str:
    return ", ".join(
        f"**`{key.name}`**" if key.needed else f"`{key.name}`" for key in (*endpoint.query, *endpoint.body)
    )


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    in_path = [_in_path(name, kind, endpoint.example) for name, kind in _WORD.findall(endpoint.path)]
    told: dict[str, Any] = {
        "summary": endpoint.what,
        "operationId": _name(endpoint),
        "parameters": [*in_path, *(_in_query(key) for key in endpoint.query)],
        "responses": {
            str(endpoint.status): {
                "description": "Done.",
                "content": _content(endpoint.media, _ref(endpoint.answer)),
            },
            **{status: {"$ref": f"#/components/responses/No{status}"} for status in _NOES},
        },
    }
    if endpoint.body:
        told["requestBody"] = _body(endpoint)
    return told


def _name(endpoint: Endpoint) -> str:
    words = re.findall(r"\w+", plain(endpoint.path))
    return "-".join([endpoint.method.lower(), *words])


def _in_path(name: str, kind: str, example: Mapping[str, Any]) -> dict[str, Any]:
    schema = {"type": "integer"} if kind else {"type": "string"}
    return {"name": name, "in": "path", "required": True, "schema": schema, "example": example[name]}


def _in_query(key: Key) -> dict[str, Any]:
    told = {"name": key.name, "in": "query", "required": key.needed, "description": key.what, "schema": _schema(key)}
    return told if key.example is None else {**told, "example": [key.example] if key.many else key.example}


def _body(endpoint: Endpoint) -> dict[str, Any]:
    needed = [key.name for key in endpoint.body if key.needed]
    schema = {
        "type": "object",
        "properties": {key.name: {**_schema(key), "description": key.what} for key in endpoint.body},
        "required": needed,
        "additionalProperties": False,
    }
    example = {key.name: endpoint.example[key.name] for key in endpoint.body if key.name in endpoint.example}
    content = {"application/json": {"schema": schema, "example": example}}
    return {"required": bool(needed), "content": content}


def _schema(key: Key) -> dict[str, Any]:
    return dict(key.schema) if key.otherwise is None else {**key.schema, "default": key.otherwise}


def _content(media: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {media: {"schema": schema}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
