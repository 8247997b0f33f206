"""Handlers of the operations on triggers, and the schemas of their results."""

import asyncio
import os
import re
from collections.abc import Mapping
from secrets import token_urlsafe

from pi_appliance.config.secret_writer import store_own_secret
from pi_appliance.jobs import api_editor, editor
from pi_appliance.json_schema import TEXT, Schema, object_of
from pi_appliance.operations import Values
from pi_appliance.scheduling.interface import Services

SCHEMAS: Mapping[str, Schema] = {"Webhook": object_of(dict.fromkeys(("job", "path"), TEXT))}
_SECRET_BYTES = 24


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
