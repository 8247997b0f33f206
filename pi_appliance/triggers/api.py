"""Handlers of the operations on triggers."""

import asyncio
import os
import re
from secrets import token_urlsafe
from typing import Annotated, TypedDict

from pi_appliance.config.secret_writer import store_own_secret
from pi_appliance.jobs import editor
from pi_appliance.operations import Values
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.storage.model import Trigger

_SECRET_BYTES = 24


class TriggerJson(TypedDict):
    """A trigger: an event that starts a job besides its schedule."""

    job: Annotated[str, "empty for those of Home Assistant"]
    trigger: str
    event: Annotated[str, "in words"]
    problem: Annotated[str, "why it does not work, or empty"]


class WebhookJson(TypedDict):
    """The secret address that starts a job."""

    job: str
    path: Annotated[str, "with the secret, which is shown only this once"]


async def list_triggers(services: Services, _: Values) -> list[TriggerJson]:
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


async def create_webhook(services: Services, values: Values) -> WebhookJson:
    """Create the secret address of a job, and return its path."""
    appliance, name = services.appliance, values["name"]
    key = appliance.job(name).triggers.webhook
    new_key = key or f"HOOK_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"
    secret = token_urlsafe(_SECRET_BYTES)

    def write() -> None:
        store_own_secret(appliance.config.path, new_key, secret, os.environ)
        if not key:
            editor.edit_job(services.config_file, name, {("triggers", "webhook"): new_key})

    await asyncio.to_thread(write)
    await services.daemon.apply_configuration()  # from now on, the log hides the new secret
    return {"job": name, "path": f"/hooks/{name}/{secret}"}
