"""Handlers of the operations on triggers, and the schemas of their results."""

import asyncio
import os
import re
from collections.abc import Mapping
from secrets import token_urlsafe

from pi_appliance.config.secret_writer import store_own_secret
from pi_appliance.jobs import api_editor, editor
from pi_appliance.json_schema import TEXT, Schema, list_of, object_of
from pi_appliance.operations import Values
from pi_appliance.scheduling.interface import Services
from pi_appliance.storage.model import Trigger

SCHEMAS: Mapping[str, Schema] = {
    "Webhook": object_of(dict.fromkeys(("job", "path"), TEXT)),
    "Triggers": list_of(object_of(dict.fromkeys(("job", "trigger", "event", "problem"), TEXT))),
}
_SECRET_BYTES = 24


async def list_triggers(services: Services, _: Values) -> object:
    """Return the triggers of all jobs with their problems."""
    problems = {(each.job, str(each.trigger)): each.text for each in services.daemon.triggers.problems}
    config = services.appliance.config
    events = [(job.name, *event) for job in config.jobs.values() for event in job.triggers.events().items()]
    if config.mqtt is not None and config.mqtt.discovery:
        events.append(("", str(Trigger.MQTT), "what Home Assistant asks for"))
    return [
        {
            "job": job,
            "trigger": trigger,
            "event": event,
            "problem": problems.get((job, trigger)) or problems.get(("", trigger), ""),
        }
        for job, trigger, event in events
    ]


async def create_webhook(services: Services, values: Values) -> dict[str, str]:
    """Create the secret address of a job, and return its path."""
    appliance, name = services.appliance, values["name"]
    key = appliance.job(name).triggers.webhook
    new_key = key or f"HOOK_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"
    secret = token_urlsafe(_SECRET_BYTES)

    def write() -> None:
        store_own_secret(appliance.config.path, new_key, secret, os.environ)
        if not key:
            editor.edit_job(api_editor.config_file(services), name, {("triggers", "webhook"): new_key})

    await asyncio.to_thread(write)
    await services.daemon.apply_configuration()  # its log hides the new secret from now on
    return {"job": name, "path": f"/hooks/{name}/{secret}"}
