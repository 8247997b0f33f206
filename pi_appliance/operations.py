"""Operations: each thing that a person or a program can ask of the appliance, defined once.

An `Operation` is data: a name, typed arguments, a help text, and the handler, whose type names the
result. The JSON API, its OpenAPI document, the command line and the forms of the page derive from
it, so a new operation or argument is one edit. The lists stand in `<feature>/operations.py`. These
modules import little but this one: the command line reads them at every start, while a handler is
imported where it runs, which is the daemon.
"""

import importlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from typing import Any

from pi_appliance.errors import InvalidOption, suggest
from pi_appliance.roles import Role

MODULES = {
    "devices": ("pi_appliance.access.operations",),
    "config": ("pi_appliance.settings.operations",),
    "cluster": ("pi_appliance.cluster.operations",),
    "jobs": ("pi_appliance.jobs.operations", "pi_appliance.triggers.operations"),
    "tweets": ("pi_appliance.posting.operations",),
    "networks": ("pi_appliance.posting.operations",),
    "notifiers": ("pi_appliance.notify.operations",),
    "puzzle": ("pi_appliance.puzzles.operations",),
    "system": ("pi_appliance.maintenance.operations", "pi_appliance.wifi.operations"),
    "music": (
        "pi_appliance.music.operations",
        "pi_appliance.music.operations_library",
        "pi_appliance.music.alarms.operations",
    ),
}
"""The modules that define `OPERATIONS`, by the first word of their commands."""
DAEMON_MODULE = "pi_appliance.daemon_operations"
"""The operations on the daemon itself, whose commands have one word."""
MAX_BODY = 16_384  # bytes in the body of a request
PATH_ARGUMENT = re.compile(r"\{(\w+)(?::\w+)?\}")
"""A variable part of a path, as Starlette writes it."""
DAY_PATTERN = r"[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
TIME_PATTERN = r"([01]\d|2[0-3]):[0-5]\d"


Values = Mapping[str, Any]
"""The parsed arguments of one call by name, with defaults for missing ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """One argument of an operation.

    `parse` returns the value or raises ValueError; `expected` describes the accepted values;
    `schema` is the JSON Schema. On the command line an argument is an option `--name`, or a word in
    its place if it is `positional`. `role` is the least role that may give another value than the
    default. `complete` is `module:function` of the beginning of a word, which returns the values
    that a shell offers.
    """

    name: str
    help: str
    expected: str
    parse: Callable[[object], Any]
    schema: Mapping[str, Any]
    required: bool = False
    default: Any = None
    many: bool = False  # whether a query may have it more than once
    example: Any = None
    positional: bool = False
    role: Role = Role.LISTEN
    complete: str = ""

    def value_of(self, values: Mapping[str, object]) -> Any:
        """Return the argument's value in `values`, or its default. Raises InvalidOption."""
        if self.name not in values:
            if self.required:
                raise InvalidOption(f"{self.name!r} must be {self.expected}, and it is missing")
            return self.default
        try:
            return self.parse(values[self.name])
        except (ValueError, OverflowError):
            raise InvalidOption(f"{self.name!r} must be {self.expected}") from None


def number(name: str, help: str, low: float, high: float, **more: Any) -> Argument:  # noqa: A002 - as in argparse
    """Return an argument that takes a number from `low` to `high`."""

    def parse(value: object) -> float:
        parsed = float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else math.nan
        if not low <= parsed <= high:  # nan fails this comparison, too
            raise ValueError
        return parsed

    schema = {"type": "number", "minimum": low, "maximum": high}
    expected = f"a number from {low:.15g} to {high:.15g}"
    return Argument(name=name, help=help, expected=expected, parse=parse, schema=schema, **more)


def integer(name: str, help: str, low: int, high: int, **more: Any) -> Argument:  # noqa: A002
    """Return an argument that takes a whole number from `low` to `high`."""

    def parse(value: object) -> int:
        if isinstance(value, str) and value.isascii() and len(value) < 20 and value.removeprefix("-").isdigit():
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # 5.0 is an integer in JSON Schema
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError
        return value

    schema = {"type": "integer", "minimum": low, "maximum": high}
    expected = f"a whole number from {low} to {high}"
    return Argument(name=name, help=help, expected=expected, parse=parse, schema=schema, **more)


def text(name: str, help: str, max_length: int = 1000, *, may_be_empty: bool = True, **more: Any) -> Argument:  # noqa: A002
    """Return an argument that takes a line of text; a required one takes at least one character."""
    min_length = 0 if may_be_empty and not more.get("required") else 1

    def parse(value: object) -> str:
        if not isinstance(value, str) or not min_length <= len(value) <= max_length or set(value) & set("\0\n\r"):
            raise ValueError
        value.encode()  # raises for half of a surrogate pair (\ud800), which JSON may contain but no file can store
        return value

    expected = f"a line of {min_length or 'at most'} {'to ' * min_length}{max_length} characters"
    # The pattern forbids line breaks and NUL, which a length alone allows.
    schema = {"type": "string", "minLength": min_length, "maxLength": max_length, "pattern": r"^[^\x00\n\r]*$"}
    return Argument(name=name, help=help, expected=expected, parse=parse, schema=schema, **more)


def document(name: str, help: str, max_length: int, **more: Any) -> Argument:  # noqa: A002
    """Return an argument that takes a text of several lines."""

    def parse(value: object) -> str:
        if not isinstance(value, str) or len(value) > max_length or "\0" in value:
            raise ValueError
        value.encode()
        return value.replace("\r\n", "\n")  # forms send both characters at a line end

    schema = {"type": "string", "maxLength": max_length, "pattern": r"^[^\x00]*$"}
    return Argument(
        name=name, help=help, expected=f"a text of at most {max_length} characters", parse=parse, schema=schema, **more
    )


def matching(name: str, help: str, pattern: str, expected: str, **more: Any) -> Argument:  # noqa: A002
    """Return an argument that takes a text that `pattern` matches completely."""

    def parse(value: object) -> str:
        if not isinstance(value, str) or re.fullmatch(pattern, value, re.ASCII) is None:
            raise ValueError
        return value

    schema = {"type": "string", "pattern": f"^(?:{pattern})$"}
    return Argument(name=name, help=help, expected=expected, parse=parse, schema=schema, **more)


def duration(name: str, help: str, **more: Any) -> Argument:  # noqa: A002
    """Return an argument that takes a duration, as text for `config.units.parse_duration`."""
    pattern = r"(?=\d)" + "".join(rf"(\d{{1,8}}{unit} ?)?" for unit in "dhms")
    return matching(name, help, pattern, "a duration such as 90s, 15m, 1h30m or 2d", **more)


def date(name: str, help: str, **more: Any) -> Argument:  # noqa: A002
    """Return an argument that takes a day with or without a time, as text."""
    pattern, expected = rf" *{DAY_PATTERN}([T ]{TIME_PATTERN})? *", 'a date such as 2027-03-28 or "2027-03-28 02:30"'
    return matching(name, help, pattern, expected, **more)


def boolean(name: str, help: str, **more: Any) -> Argument:  # noqa: A002
    """Return an argument that takes true or false."""

    def parse(value: object) -> bool:
        if isinstance(value, bool):
            return value
        if value not in ("true", "false"):
            raise ValueError
        return value == "true"

    schema = {"type": "boolean"}
    return Argument(name=name, help=help, expected="true or false", parse=parse, schema=schema, **more)


def enum(name: str, help: str, kind: type[StrEnum], of: Sequence[StrEnum] = (), **more: Any) -> Argument:  # noqa: A002
    """Return an argument that takes one of the values of `kind`, or of those in `of`."""
    values = [str(each) for each in of or kind]

    def parse(value: object) -> StrEnum:
        if value not in values:
            raise ValueError
        return kind(str(value))

    schema = {"type": "string", "enum": values}
    return Argument(name=name, help=help, expected=f"one of {', '.join(values)}", parse=parse, schema=schema, **more)


def choice(name: str, help: str, choices: Sequence[str], **more: Any) -> Argument:  # noqa: A002
    """Return an argument that takes one of `choices`."""

    def parse(value: object) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    schema = {"type": "string", "enum": list(choices)}
    return Argument(name=name, help=help, expected=f"one of {', '.join(choices)}", parse=parse, schema=schema, **more)


def array(item: Argument, max_items: int) -> Argument:
    """Return an argument that takes a list of 1 to `max_items` values of `item`.

    A form sends one text.
    """

    def parse(value: object) -> list[Any]:
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, (list, tuple)) or not 0 < len(value) <= max_items:
            raise ValueError
        return [item.parse(each) for each in value]

    return Argument(
        name=item.name,
        help=item.help,
        expected=f"a list of 1 to {max_items}, each {item.expected}",
        parse=parse,
        schema={"type": "array", "items": item.schema, "minItems": 1, "maxItems": max_items},
        required=item.required,
        many=True,
        example=item.example,
        positional=item.positional,
    )


@dataclass(frozen=True, slots=True)
class Group:
    """Arguments of which at least one, at most one, or exactly one must be given."""

    names: Sequence[str]
    required: bool = True
    exclusive: bool = True
    message: str = ""

    def check(self, given: Mapping[str, object]) -> None:
        """Raise InvalidOption unless `given` has the right number of the arguments."""
        count = sum(given.get(name) is not None for name in self.names)
        *others, last = map(repr, self.names)
        if self.exclusive and count > 1:
            raise InvalidOption(f"give only one of {', '.join(others)} and {last}")
        if self.required and count == 0:
            raise InvalidOption(self.message or f"give {', '.join(others)} or {last}")

    @property
    def schema(self) -> dict[str, Any]:
        """The rule as a JSON Schema for the object of all arguments."""
        alone = [{"required": [name]} for name in self.names]
        if not self.exclusive:
            return {"anyOf": alone}
        return {"oneOf": alone if self.required else [*alone, {"not": {"anyOf": alone}}]}


def parse_arguments(operation: str, arguments: Sequence[Argument], values: Mapping[str, object]) -> dict[str, Any]:
    """Return the value of every argument of `operation`. Raises InvalidOption."""
    names = [argument.name for argument in arguments]
    for name in values:
        if name not in names:
            wrong = f"{name!r}; {suggest(name, names)}" if names else "arguments"
            raise InvalidOption(f"{operation} takes no {wrong}")
    return {argument.name: argument.value_of(values) for argument in arguments}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation.

    Attributes:
        command: The words after `pi-appliance`, such as "music pause"; "" without a command.
        method: The HTTP method. A GET reads only; its arguments come in the query.
        path: The path below /api/v1 with arguments in braces: `/jobs/{name}/run`.
        summary: One sentence.
        details: Further sentences, for `--help`.
        handler: `module:function`, a coroutine function of (services, values) or of a call.
        arguments: In the order of the command line.
        groups: Arguments that exclude each other, or of which one is needed.
        show: `module:function` of (result, values), which returns text; "" prints a table.
        done: The text in place of `show`, with arguments and fields of the result in braces.
        answer: The line with which the page answers a press: a text as in `done`, which is the
            default, or `module:function` of (result, values). "" if the page shows the effect.
        exit_status: `module:function` of the result, which returns a number; "" stands for 0.
        status: The HTTP status of a success.
        media: The media type of the answer, where it is not JSON.
        role: The least role that may call it.
        needs_state: Whether the state is opened to run it without a daemon.
        needs_daemon: Whether it makes sense only while the daemon runs.
        example: Values for the arguments, used in the documentation and by tests.
    """

    command: str = ""
    method: str = "POST"
    path: str
    summary: str
    details: str = ""
    handler: str | Callable[..., Any]
    arguments: Sequence[Argument] = ()
    groups: Sequence[Group] = ()
    show: str = ""
    done: str = ""
    answer: str = ""
    exit_status: str = ""
    status: int = 200
    media: str = "application/json"
    max_body: int = MAX_BODY
    role: Role = Role.OWNER
    needs_state: bool = True
    needs_daemon: bool = False
    example: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The last word of the path, for messages."""
        words = [part for part in self.path.split("/") if part and not part.startswith("{")]
        return words[-1]

    @property
    def path_arguments(self) -> list[str]:
        """The names of the arguments that are part of the path."""
        return PATH_ARGUMENT.findall(self.path)

    @property
    def query(self) -> list[Argument]:
        """The arguments in the query of a GET or DELETE: all that are not in the path."""
        return self._outside_of_path() if self.method in ("GET", "DELETE") else []

    @property
    def body(self) -> list[Argument]:
        """The arguments that come in the JSON body."""
        return [] if self.method in ("GET", "DELETE") else self._outside_of_path()

    def _outside_of_path(self) -> list[Argument]:
        in_path = self.path_arguments
        return [argument for argument in self.arguments if argument.name not in in_path]

    def parse(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Return the value of every argument. Raises InvalidOption."""
        values = parse_arguments(self.name, self.arguments, given)
        for group in self.groups:
            group.check(given)
        return values

    def answer_to(self, result: Any, values: Values) -> str:
        """Return the line with which the page answers a press, or ""."""
        text = self.answer or self.done
        if re.fullmatch(r"[\w.]+:\w+", text):
            text = str(load_function(text)(result, values))
        else:
            text = text.format_map({**values, **(result if isinstance(result, dict) else {})})
        return text[:1].upper() + text[1:]

    def load_handler(self) -> Callable[..., Any]:
        """Return the handler, which is imported if `handler` is its name."""
        return load_function(self.handler) if isinstance(self.handler, str) else self.handler


def to_json(value: Any) -> Any:
    """Return `value` in which each data class is replaced by a dictionary of its fields."""
    # checked first, because most values of a long list are of these types
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, dict):
        return {name: to_json(each) for name, each in value.items()}
    if is_dataclass(value):
        return {each.name: to_json(getattr(value, each.name)) for each in fields(value)}
    return [to_json(each) for each in value] if isinstance(value, (list, tuple)) else value


def load_function(reference: str) -> Callable[..., Any]:
    """Import the function that `module:function` names."""
    module, _, name = reference.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


def all_operations() -> Iterator[Operation]:
    """Yield every operation, feature by feature."""
    modules = [DAEMON_MODULE, *(name for names in MODULES.values() for name in names)]
    yield from operations_in(*dict.fromkeys(modules))


def operations_in(*modules: str) -> list[Operation]:
    """Return the operations that `modules` define."""
    return [operation for name in modules for operation in importlib.import_module(name).OPERATIONS]
