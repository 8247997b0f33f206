"""The keys of a job as fields of a form, derived from the schema of its kind.

A new kind of job, or a new key, needs no code here: the schema has its type, its choices, its
limits and its description. A value that no field can show is edited as YAML.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from textwrap import dedent
from typing import Any

from pi_appliance import plugins
from pi_appliance.config import editing
from pi_appliance.config.options import Config
from pi_appliance.config.schema import job_schema
from pi_appliance.config.yaml_tree import parse_yaml
from pi_appliance.errors import ConfigError, InvalidOption

COMMAND = "command"
"""The kind of job, and the key of a condition, that names a program. It is hidden here."""
OPTIONS = "with"
_OWN_CONTROLS = ("kind", "schedule", "chance")
_MAX_COMMON = 4  # optional options of a kind that are shown without opening "More options"


class Control(StrEnum):
    """The way in which a field is edited."""

    TEXT = "text"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    LINES = "lines"
    YAML = "yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobField:
    """One key of a job. `default` and `example` are written as in YAML."""

    path: tuple[str, ...]
    help: str
    control: Control
    choices: Sequence[str] = ()
    required: bool = False
    default: str = ""
    example: str = ""
    minimum: int | None = None
    maximum: int | None = None
    accepts_text: bool = False
    """Whether a list of one item may be written as that item."""
    known: Sequence[str] = ()
    """Names in the configuration that fit."""
    common: bool = False
    """Whether it is shown without opening "More options"."""

    @property
    def name(self) -> str:
        """The path with dots, such as with.lines."""
        return ".".join(self.path)

    @property
    def label(self) -> str:
        """The key as words, such as Max retries."""
        is_grouped = self.path[0] in (OPTIONS, "triggers")
        words = " ".join(self.path[1:] if is_grouped else self.path).replace("-", " ").replace("mqtt", "MQTT")
        return words[:1].upper() + words[1:]

    def text_of(self, entry: Mapping[str, Any]) -> str:
        """Return the value in `entry` as the text of this field."""
        value = value_at(entry, self.path)
        if value is None:
            return ""
        if self.control is Control.YAML or isinstance(value, bool):
            return yaml_text(value)
        return "\n".join(map(str, value)) if isinstance(value, list) else str(value)

    def for_value(self, entry: Mapping[str, Any]) -> "JobField":
        """Return the field that can show the value in `entry`."""
        value = value_at(entry, self.path)
        is_list = isinstance(value, list)
        if value is None or self.control is Control.YAML:
            return self
        if isinstance(value, Mapping) or (is_list and not all(_is_line(each) for each in value)):
            return replace(self, control=Control.YAML)
        can_show = self.control is Control.LINES if is_list else _is_line(value)
        if self.control is Control.CHOICE and value not in self.choices:
            can_show = False
        return self if can_show else replace(self, control=Control.YAML)

    def parse(self, text: str, before: object = None) -> object:
        """Return the value of `text`, or None if it is blank.

        `before` is the value in the file.

        Raises:
            InvalidOption: It is not YAML.
        """
        text = text.strip()
        if not text:
            return None
        if self.control in (Control.TEXT, Control.CHOICE):
            return text
        if self.control is Control.LINES and not (text.startswith("[") and text.endswith("]")):
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            is_single = len(lines) == 1 and self.accepts_text and not isinstance(before, list)
            return lines[0] if is_single else lines
        try:
            return parse_yaml(text, self.name).data
        except ConfigError as error:
            raise InvalidOption(f"{self.name}: {error.problems[0].message}; {error.problems[0].hint}") from None


def kinds() -> dict[str, str]:
    """Return the description of each kind of job that can be added on the page."""
    texts = {kind: plugins.load("jobs", kind).__doc__ or "" for kind in plugins.names("jobs") if kind != COMMAND}
    return {kind: text.partition("\n")[0].partition(": ")[2].rstrip(".") for kind, text in texts.items()}


def fields_of(kind: str, config: Config) -> list[JobField]:
    """Return the fields of a job of `kind`, beginning with the options of the kind.

    Raises UnknownName.
    """
    schema = job_schema(kind)
    options = schema["properties"].pop(OPTIONS)
    known = {
        "network": tuple(config.networks),
        "report-from": tuple(config.jobs),
        "depends-on": tuple(config.jobs),
        "on-failure": tuple(config.notifiers),
        "on-recovery": tuple(config.notifiers),
        "puzzle": plugins.names("puzzles"),
    }
    own = [] if kind == COMMAND else _fields(options, (OPTIONS,), known)
    common = [each.path for each in own if not each.required][:_MAX_COMMON]
    own = [replace(each, common=each.required or each.path in common) for each in own]
    return [*own, *(each for each in _fields(schema, (), known) if each.path[0] not in _OWN_CONTROLS)]


def _fields(schema: Mapping[str, Any], path: tuple[str, ...], known: Mapping[str, Sequence[str]]) -> list[JobField]:
    result = []
    for key, part in schema["properties"].items():
        where = (*path, key)
        if where == ("conditions", COMMAND):
            continue
        if "properties" in part and "anyOf" not in part:
            result += _fields(part, where, known)
            continue
        kinds = [each.get("type") for each in part.get("anyOf", [part])]
        control, choices = _control(part, kinds), [str(each) for each in part.get("enum", ())]
        if control is Control.TEXT and key in known and key in schema["required"]:
            control, choices = Control.CHOICE, list(known[key])
        result.append(
            JobField(
                path=where,
                help=part["description"],
                control=control,
                choices=choices,
                required=key in schema["required"],
                default=_as_text(part.get("default")),
                example=_as_text(next(iter(part.get("examples", ())), None)),
                minimum=part.get("minimum"),
                maximum=part.get("maximum"),
                accepts_text="string" in kinds,
                known=known.get(key, ()),
            )
        )
    return result


def _control(part: Mapping[str, Any], kinds: Sequence[str | None]) -> Control:
    if "enum" in part:
        return Control.CHOICE
    if "array" in kinds:
        items = next(each.get("items", {}) for each in part.get("anyOf", [part]) if each.get("type") == "array")
        return Control.LINES if items.get("type") == "string" else Control.YAML
    if kinds == ["boolean"]:
        return Control.SWITCH
    if kinds in (["integer"], ["number"]):
        return Control.NUMBER
    return Control.TEXT if kinds == ["string"] else Control.YAML


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None or isinstance(value, (list, dict)) else str(value)


def _is_line(value: object) -> bool:
    return not isinstance(value, (Mapping, list)) and "\n" not in str(value)


def yaml_text(value: object) -> str:
    """Return `value` as YAML."""
    return dedent(editing.rewrite("", {"value": value}).removeprefix("value:").lstrip(" ")).strip()


def value_at(data: object, path: Sequence[str | int]) -> Any:
    """Return the value at `path` of plain data, or None."""
    for step in path:
        if not isinstance(data, Mapping) or step not in data:
            return None
        data = data[step]
    return data
