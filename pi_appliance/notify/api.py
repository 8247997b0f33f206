"""Handlers of the operations on notifiers, and the process that sends test messages.

`python -m pi_appliance.notify.api CONFIG NAME...` prints the results of the tests as JSON.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from pi_appliance.config.options import Config
from pi_appliance.errors import UnknownName
from pi_appliance.json_schema import Instant
from pi_appliance.operations import Values
from pi_appliance.scheduling.child_runs import run_module
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.storage.model import Event, OutboxMessage, iso_time
from pi_appliance.storage.notification_rules import Outbox
from pi_appliance.system import clock, network


class NotifierJson(TypedDict):
    """A configured notifier, and the jobs that use it."""

    notifier: str
    kind: str
    address: Annotated[str, "without its secrets"]
    used_for: Annotated[str, "the jobs, in words"]


class PendingMessageJson(TypedDict):
    """A message still to be sent."""

    notifier: Annotated[str | None, "null for a ping"]
    event: Event
    job: str | None
    run: int | None
    title: str
    created_at: Instant
    attempts: int
    next_attempt_at: Instant
    last_error: str


class NotifiersJson(TypedDict):
    """The notifiers, and the messages still to be sent."""

    notifiers: list[NotifierJson]
    pending: list[PendingMessageJson]


class NotifierTestJson(TypedDict):
    """The result of a test message."""

    notifier: str
    error: Annotated[str | None, "null: it was sent"]
    exit_status: Annotated[int, "0: it was sent"]


async def list_notifiers(services: Services, _: Values) -> NotifiersJson:
    """Return the notifiers, and the messages still to be sent."""
    config, pending = services.appliance.config, Outbox(services.appliance.store).waiting()
    return {
        "notifiers": [
            {"notifier": name, "kind": part.kind, "address": str(part.options), "used_for": _used_for(config, name)}
            for name, part in config.notifiers.items()
        ],
        "pending": [_message_values(each) for each in pending],
    }


def _used_for(config: Config, name: str) -> str:
    def uses(notify: Any) -> bool:
        return name in (*(notify.on_failure or ()), *(notify.on_recovery or ()))

    jobs = [job.name for job in config.jobs.values() if uses(job.notify)]
    return ", ".join([*(["every job"] if uses(config.notify) else []), *jobs]) or "nothing"


def _message_values(message: OutboxMessage) -> PendingMessageJson:
    return {
        "notifier": message.notifier or None,
        "event": message.event,
        "job": message.job or None,
        "run": message.run or None,
        "title": message.message.title,
        "created_at": iso_time(message.created_at),
        "attempts": message.attempts,
        "next_attempt_at": iso_time(message.next_attempt_at),
        "last_error": message.last_error,
    }


async def test_notifiers(services: Services, values: Values) -> list[NotifierTestJson]:
    """Send a test message by each notifier, and return the results. Raises UnknownName."""
    config = services.appliance.config
    names: Sequence[str] = values["notifiers"] or tuple(config.notifiers)
    for name in names:
        if name not in config.notifiers:
            raise UnknownName("notifier", name, tuple(config.notifiers))
    # In a process of its own, so that the daemon does not import the libraries that send.
    results: list[NotifierTestJson] = []
    if names:
        results = await run_module("pi_appliance.notify.api", str(config.path), *names)
    return results


def main(path: str, names: list[str]) -> None:
    """Send a test message by each of `names`, and print the results as JSON."""
    from pi_appliance.notify import delivery, messages  # noqa: PLC0415 - the other functions send nothing

    settings = delivery.load_notifiers(Path(path))
    message = messages.test_message(host=settings.name or network.host_name(), now=clock.now(), zone=settings.time_zone)
    errors = delivery.deliver_now(settings, names, message)
    results: list[NotifierTestJson] = [
        {"notifier": name, "error": str(error) if error else None, "exit_status": error.exit_status if error else 0}
        for name, error in errors.items()
    ]
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
