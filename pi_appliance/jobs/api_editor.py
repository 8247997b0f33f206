"""Handlers of the operations that add, change, copy and remove jobs."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

from pi_appliance.config.yaml_tree import YamlPath
from pi_appliance.jobs import api, editor
from pi_appliance.jobs.api import JobPauseJson
from pi_appliance.jobs.job_fields import COMMAND, JobField, fields_of, yaml_text
from pi_appliance.operations import Values
from pi_appliance.scheduling import explanation
from pi_appliance.scheduling.daemon_interface import Services


class JobEntryJson(TypedDict):
    """A job in the configuration file."""

    job: str
    kind: str
    when: Annotated[str, "the schedule and the chance in words"]
    paused: bool
    values: Annotated[dict[str, str], "the keys that can be changed"]
    version: Annotated[str, "changes with the entry"]


class RemovedJobJson(TypedDict):
    """A job that was removed."""

    job: str


async def get_job(services: Services, values: Values) -> JobEntryJson:
    """Return the keys of a job in the file, without its programs."""
    appliance, name = services.appliance, values["name"]
    job = appliance.job(name)
    entry = editor.entry_of(appliance.config, name)
    pause = appliance.store.slots.pauses().get(name)
    fields = fields_of(job.kind, appliance.config)
    shown = {field.name: field.for_value(entry).text_of(entry) for field in fields}
    own = {key: _as_text(entry[key]) for key in ("schedule", "chance") if entry.get(key) is not None}
    return {
        "job": name,
        "kind": job.kind,
        "when": explanation.describe_job_times(job),
        "paused": pause is not None and pause.is_active(services.now()),
        "values": own | {key: text for key, text in shown.items() if text},
        "version": editor.version_of(job),
    }


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else yaml_text(value)


async def add(services: Services, values: Values) -> JobEntryJson:
    """Add a job to the configuration."""

    def write() -> str:
        changes = {} if values["kind"] == COMMAND else _changes(services, values, values["kind"], {})
        return editor.add_job(services.config_file, values["name"], values["kind"], changes)

    return await apply_new(services, await asyncio.to_thread(write))


async def edit(services: Services, values: Values) -> JobEntryJson:
    """Change keys of a job in the configuration."""
    config, name = services.appliance.config, values["name"]

    def write() -> None:
        entry = editor.entry_of(config, name)
        changes = _changes(services, values, config.jobs[name].kind, entry)
        editor.edit_job(services.config_file, name, changes, values["version"])

    await asyncio.to_thread(write)
    await services.daemon.apply_configuration()
    return await get_job(services, values)


def _changes(services: Services, values: Values, kind: str, entry: Mapping[str, Any]) -> dict[YamlPath, object]:
    fields: list[JobField] = fields_of(kind, services.appliance.config)
    changes = editor.parse_assignments(fields, values["set"] or (), entry)
    for key in ("schedule", "chance"):
        if values[key] is not None:
            changes[key,] = editor.parse_yaml_text(values[key]) if values[key] else None
    return changes


async def copy(services: Services, values: Values) -> JobEntryJson:
    """Add a copy of a job to the configuration."""
    name = await asyncio.to_thread(editor.copy_job, services.config_file, values["name"], values["new_name"])
    return await apply_new(services, name)


async def apply_new(services: Services, name: str) -> JobEntryJson:
    """Use the configuration with the new job `name`, and return the job."""
    editor.forget(services.appliance, name)  # an earlier job of that name may have been removed in an editor
    await services.daemon.apply_configuration()
    return await get_job(services, {"name": name})


async def remove(services: Services, values: Values) -> RemovedJobJson:
    """Remove a job from the configuration."""
    name = values["name"]
    editor.require_idle(services.appliance, name)
    await asyncio.to_thread(editor.remove_job, services.config_file, name)
    editor.forget(services.appliance, name)
    await services.daemon.apply_configuration()
    return {"job": name}


async def switch_on(services: Services, values: Values) -> JobPauseJson:
    """Let a job run at its slots again."""
    pause = services.appliance.store.slots.pauses().get(services.appliance.job(values["name"]).name)
    if pause is not None and pause.is_active(services.now()):
        return await api.resume_job(services, values)
    return api.pause_changed(services, values["name"], None)


async def switch_off(services: Services, values: Values) -> JobPauseJson:
    """Pause a job until someone switches it on."""
    return await api.pause_job(services, {**values, "for": None})
