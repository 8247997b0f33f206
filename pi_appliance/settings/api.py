"""Handlers of the operations on the configuration file."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypedDict

from pi_appliance.config import editing, hidden_programs
from pi_appliance.config.config_file import Change
from pi_appliance.config.loader import load_config
from pi_appliance.config.schema import json_schema
from pi_appliance.config.yaml_tree import YamlPath, parse_yaml
from pi_appliance.errors import ConfigError, InvalidOption, Refused
from pi_appliance.json_schema import Instant
from pi_appliance.operations import Values
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.settings.completion import ConfigCompletionJson, complete, schema_at
from pi_appliance.storage.model import iso_time

LAST_GOOD = "last-good"
"""The name of the text in use, for `restore_earlier`."""


class ConfigTextJson(TypedDict):
    """The text of the configuration file."""

    text: Annotated[str, "with a placeholder for each program"]
    version: str


class TextProblemJson(TypedDict):
    """A problem in a text of the configuration file."""

    line: int
    column: int
    message: str
    hint: str


class ConfigProblemsJson(TypedDict):
    """The problems of a text of the configuration file."""

    problems: list[TextProblemJson]


class ConfigChangeJson(TypedDict):
    """A change of the configuration file."""

    diff: Annotated[str, "the changed lines"]
    version: Annotated[str, "of the new text"]


class EarlierConfigJson(TypedDict):
    """An earlier text of the configuration file."""

    name: str
    replaced_at: Instant
    size: Annotated[int, "bytes"]


async def read_config(services: Services, _: Values) -> ConfigTextJson:
    """Return the text of the file, with a placeholder for each program, and its version."""
    text, version = await asyncio.to_thread(services.config_file.read)
    return {"text": hidden_programs.shown_text(text), "version": version}


async def check_text(services: Services, values: Values) -> ConfigProblemsJson:
    """Return the problems of an edited text of the file."""
    return {"problems": await asyncio.to_thread(find_text_problems, services.appliance.config.path, values["text"])}


async def complete_text(_: Services, values: Values) -> ConfigCompletionJson:
    """Return the keys or values that fit at a position in the text."""
    return await asyncio.to_thread(lambda: complete(json_schema(), values["text"], values["line"], values["column"]))


def find_text_problems(path: Path, text: str) -> list[TextProblemJson]:
    """Return the problems of the edited `text` of the file `path`, with their lines in `text`."""
    restored = text
    try:
        restored = hidden_programs.restore_programs(text, path.read_bytes().decode("utf-8-sig", "replace"))
        load_config(path, restored)
    except ConfigError as error:
        return [
            {
                "line": hidden_programs.shown_line(each.line, text, restored),
                "column": each.column,
                "message": each.message,
                "hint": each.hint,
            }
            for each in error.problems
        ] or [_problem_without_place(error)]
    except Refused as error:
        return [_problem_without_place(error)]
    return []


def _problem_without_place(error: Exception) -> TextProblemJson:
    return {"line": 1, "column": 1, "message": str(error), "hint": ""}


async def replace_config(services: Services, values: Values) -> ConfigChangeJson:
    """Replace the text of the file."""

    def write() -> Change:
        file = services.config_file
        before, version = file.read()
        text = hidden_programs.restore_programs(values["text"], before)
        return file.replace(text, expected=values["version"] or version, only_check=values["only_check"])

    return await apply_change(services, await asyncio.to_thread(write), only_check=values["only_check"])


async def set_value(services: Services, values: Values) -> ConfigChangeJson:
    """Change one value of the file."""
    key: str = values["key"]
    path = _existing_path(key)

    def change(data: object) -> object:
        wanted = (
            editing.remove_value(data, path)
            if values["value"] is None
            else editing.set_value(data, path, parse_value(data, path, values["value"]))
        )
        hidden_programs.require_same_programs(wanted, data)
        return wanted

    def write() -> Change:
        return services.config_file.edit(change, expected=values["version"], only_check=values["only_check"])

    return await apply_change(services, await asyncio.to_thread(write), only_check=values["only_check"])


async def list_history(services: Services, _: Values) -> list[EarlierConfigJson]:
    """Return the earlier texts of the file."""
    texts = await asyncio.to_thread(services.config_file.earlier_texts)
    return [{"name": each.name, "replaced_at": iso_time(each.replaced_at), "size": each.size} for each in texts]


async def restore_earlier(services: Services, values: Values) -> ConfigChangeJson:
    """Go back to an earlier text; or, while the file is wrong, to the text in use."""

    def write() -> Change:
        file = services.config_file
        is_last_good = values["name"] == LAST_GOOD
        text = services.appliance.config.text if is_last_good else file.earlier_text(values["name"])
        if is_last_good and not text:
            advice = "correct the file, or go back to an earlier text: pi-appliance config history"
            raise Refused(f"there is no last good copy of {services.appliance.config.path}; {advice}")
        return file.rescue(text, only_check=values["only_check"])

    return await apply_change(services, await asyncio.to_thread(write), only_check=values["only_check"])


async def apply_change(services: Services, change: Change, *, only_check: bool = False) -> ConfigChangeJson:
    """Let the daemon use the changed file, and return the change."""
    if change.before != change.after and not only_check:
        await services.daemon.apply_configuration()
    return {"diff": hidden_programs.difference(change.before, change.after), "version": change.version}


def _existing_path(key: str) -> YamlPath:
    path = tuple(key.split("."))
    if not all(path):
        raise InvalidOption(f"{key!r} is not a key; write one such as volume.maximum")
    return path


def parse_value(data: object, path: YamlPath, text: str) -> object:
    """Return `text` as a YAML value for `path`; it stays a string where the schema wants one."""
    kinds: dict[YamlPath, str] = {}
    for place, step in enumerate(path):
        if isinstance(data, Mapping):
            kinds[(*path[:place], "kind")] = str(data.get("kind", ""))
            data = data.get(step)
    if schema_at(json_schema(), path, kinds).get("type") == "string":
        return text
    try:
        return parse_yaml(text, "value").data
    except ConfigError:
        return text  # the check of the whole file will say what is expected
