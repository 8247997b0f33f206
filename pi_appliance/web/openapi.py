"""The OpenAPI document of the operations, and their table in docs/web.md."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

from pi_appliance import __version__
from pi_appliance.json_schema import Schema, SchemaCollection, result_hint
from pi_appliance.operations import Argument, Operation
from pi_appliance.web.params import BASE

VERSION = "3.1.0"
_VARIABLE = re.compile(r"\{(\w+)(?::(\w+))?\}")  # variable part of a path, as Starlette writes it
_ERROR_RESPONSES = {
    "400": "An argument is unknown, wrong or missing.",
    "401": "Sign in, or send the password.",
    "403": "The request came from another web site, or the role of the device does not allow it.",
    "404": "There is nothing with that name.",
    "408": "The body came too slowly.",
    "409": "The player or the job refuses it, the player does not have this capability, or it is not configured.",
    "413": "The body is too long.",
    "421": "The request names another machine.",
    "422": "The arguments do not fit together, or one names nothing that is possible.",
    "429": "There were too many wrong passwords, codes or links. Retry-After says how many seconds to wait.",
    "502": "The request was sent to a player or server that did not answer. Perhaps it was done.",
    "503": "The player cannot be reached, or a disk cannot be written. Nothing was done.",
    "504": "It took too long.",
}


class ErrorJson(TypedDict):
    """The answer to a request that failed."""

    error: Annotated[str, "why, in one sentence"]


def document(operations: Sequence[Operation], *, has_password: bool) -> dict[str, Any]:
    """Return the OpenAPI document of `operations`.

    Without a password, requests need no sign-in.
    """
    paths: dict[str, dict[str, Any]] = {}
    results = SchemaCollection()
    error = results.schema_of(ErrorJson)
    for operation in operations:
        described = _describe(operation, _result_schema(operation, results))
        paths.setdefault(plain_path(operation.path), {})[operation.method.lower()] = described
    return {
        "openapi": VERSION,
        "info": {
            "title": "pi-appliance",
            "version": __version__,
            "description": "Everything that the page shows and does, for other programs.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": BASE}],
        "security": [{"password": []}] if has_password else [{"password": []}, {}],
        "paths": paths,
        "components": {
            "schemas": results.named,
            "securitySchemes": {
                "password": {"type": "http", "scheme": "bearer", "description": "WEB_PASSWORD, if one is set"}
            },
            "responses": {
                f"Error{status}": {"description": text, "content": _content("application/json", error)}
                for status, text in _ERROR_RESPONSES.items()
            },
        },
    }


def table(operations: Sequence[Operation]) -> str:
    """Return the table of `operations` for docs/web.md, in Markdown."""
    rows = [
        f"| {each.method} | `{plain_path(each.path)}` | {_arguments(each)} | {each.summary} |" for each in operations
    ]
    return "\n".join(["| method | path | arguments | |", "|---|---|---|---|", *rows, ""])


def plain_path(path: str) -> str:
    """Return `path` with only the names of its variable parts, without their types."""
    return _VARIABLE.sub(r"{\1}", path)


def _arguments(operation: Operation) -> str:
    return ", ".join(
        f"**`{each.name}`**" if each.required else f"`{each.name}`" for each in (*operation.query, *operation.body)
    )


def _result_schema(operation: Operation, results: SchemaCollection) -> Schema:
    hint = result_hint(operation.load_handler()) if operation.media == "application/json" else str
    return results.schema_of(hint)


def _describe(operation: Operation, result: Schema) -> dict[str, Any]:
    in_path = [_path_parameter(name, kind, operation) for name, kind in _VARIABLE.findall(operation.path)]
    description: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": "-".join([operation.method.lower(), *re.findall(r"\w+", plain_path(operation.path))]),
        "parameters": [*in_path, *(_query_parameter(each) for each in operation.query)],
        "responses": {
            str(operation.status): {
                "description": "Done.",
                "content": _content(operation.media, result),
            },
            **{status: {"$ref": f"#/components/responses/Error{status}"} for status in _ERROR_RESPONSES},
        },
    }
    if operation.body:
        description["requestBody"] = _body(operation)
    return description


def _path_parameter(name: str, kind: str, operation: Operation) -> dict[str, Any]:
    argument = next((each for each in operation.arguments if each.name == name), None)
    schema = argument.schema if argument else {"type": "integer" if kind else "string"}
    return {"name": name, "in": "path", "required": True, "schema": schema, "example": operation.example[name]}


def _query_parameter(argument: Argument) -> dict[str, Any]:
    parameter = {
        "name": argument.name,
        "in": "query",
        "required": argument.required,
        "description": argument.help,
        "schema": _schema(argument),
    }
    if argument.example is None:
        return parameter
    return {**parameter, "example": [argument.example] if argument.many else argument.example}


def _body(operation: Operation) -> dict[str, Any]:
    required = [each.name for each in operation.body if each.required]
    schema = {
        "type": "object",
        "properties": {each.name: {**_schema(each), "description": each.help} for each in operation.body},
        "required": required,
        "additionalProperties": False,
    }
    if operation.groups:
        schema["allOf"] = [group.schema for group in operation.groups]
    example = {each.name: operation.example[each.name] for each in operation.body if each.name in operation.example}
    content = {"application/json": {"schema": schema, "example": example}}
    return {"required": bool(required) or any(group.required for group in operation.groups), "content": content}


def _schema(argument: Argument) -> dict[str, Any]:
    return dict(argument.schema) if argument.default is None else {**argument.schema, "default": argument.default}


def _content(media: str, schema: Schema) -> dict[str, Any]:
    return {media: {"schema": schema}}
