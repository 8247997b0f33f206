"""Commands `pi-appliance notifiers`."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pi_appliance.cli import terminal as as_text
from pi_appliance.cli.terminal import config_option, json_option
from pi_appliance.config.model import Config, Message, NotifierConfig, OutboxMessage
from pi_appliance.errors import ApplianceError, Refused, UnknownName
from pi_appliance.notify import messages, worker
from pi_appliance.notify.worker import load_notifiers
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage import model
from pi_appliance.storage.queues import Outbox
from pi_appliance.system import clock

_MAX_STDIN = 100_000  # characters
_NO_NOTIFIERS = "no notifiers are configured; see docs/notifications.md"


@click.group("notifiers", short_help="Notify you when a job fails.")
def command() -> None:
    """List and test the notifiers, which tell you when a job begins to fail or works again.

    Send a text of your own.
    """


@command.command("list", short_help="List the notifiers and the messages still to be sent.")
@json_option
@config_option
def list_(as_json: bool, config: Path) -> None:
    """List the notifiers, what each is used for, and the messages still to be sent.

    Addresses are not shown.

    \b
    Exit status:
      0  always, unless the configuration is wrong (2)
    """
    with Appliance.open(config) as appliance:
        settings, pending = appliance.config, Outbox(appliance.store).waiting()
    if as_json:
        notifiers = [_notifier_values(settings, name) for name in settings.notifiers]
        click.echo(json.dumps({"notifiers": notifiers, "pending": [_message_values(each) for each in pending]}))
        return
    rows = [
        (name, part.kind, str(part.options), _used_for(settings, name)) for name, part in settings.notifiers.items()
    ]
    click.echo(as_text.format_table(("NOTIFIER", "KIND", "ADDRESS", "USED FOR"), rows) if rows else _NO_NOTIFIERS)
    if pending:
        lines = [
            (
                message.notifier or "ping",
                str(message.event),
                f"{message.job} run {message.run}" if message.job else message.message.title,
                str(message.attempts),
                as_text.format_instant(message.next_attempt_at, settings.time_zone),
                message.last_error,
            )
            for message in pending
        ]
        click.echo("\n" + as_text.format_table(("PENDING FOR", "EVENT", "OF", "ATTEMPTS", "NEXT", "LAST ERROR"), lines))


def _used_for(config: Config, name: str) -> str:
    def uses(notify: Any) -> bool:
        return name in (*(notify.on_failure or ()), *(notify.on_recovery or ()))

    jobs = [job.name for job in config.jobs.values() if uses(job.notify)]
    return ", ".join([*(["every job"] if uses(config.notify) else []), *jobs]) or "nothing"


def _notifier_values(config: Config, name: str) -> dict[str, Any]:
    part = config.notifiers[name]
    return {"name": name, "kind": part.kind, "address": str(part.options), "used_for": _used_for(config, name)}


def _message_values(message: OutboxMessage) -> dict[str, Any]:
    return {
        "notifier": message.notifier or None,
        "event": message.event,
        "job": message.job or None,
        "run": message.run or None,
        "created_at": model.iso_time(message.created_at),
        "attempts": message.attempts,
        "next_attempt_at": model.iso_time(message.next_attempt_at),
        "last_error": message.last_error,
    }


@command.command("test", short_help="Send a test message and report the result.")
@click.argument("name", required=False)
@config_option
def test(name: str | None, config: Path) -> None:
    """Send a test message by notifier NAME, or by all, and report the result.

    \b
    Exit status:
      0   all of them were sent
      1   one was refused
      2   NAME or the configuration is wrong
      75  one could not be reached; try again later
    """
    with Appliance.open(config) as appliance:
        zone = appliance.config.time_zone
    settings = load_notifiers(config)
    names = [name] if name else list(settings.notifiers)
    if not names:
        click.echo(_NO_NOTIFIERS)
    message = messages.test_message(host=os.uname().nodename, now=clock.now(), zone=zone)
    failures = _send_to(settings, names, message)
    if failures:
        sys.exit(max(error.exit_status for error in failures.values()))


def _send_to(settings: NotifierConfig, names: Sequence[str], message: Message) -> dict[str, ApplianceError]:
    """Send `message` by each of `names`, print and return the errors. Raises UnknownName."""
    for name in names:
        if name not in settings.notifiers:
            raise UnknownName("notifier", name, tuple(settings.notifiers))
    failures: dict[str, ApplianceError] = {}
    secrets = worker.load_secrets(settings)
    for name in names:
        try:
            worker.deliver_now(settings, name, message, secrets)
        except ApplianceError as error:
            failures[name] = error
            click.echo(f"{name}: not sent: {error}", err=True)
        else:
            click.echo(f"{name}: sent")
    return failures


@command.command("send", short_help="Send a text of your own.")
@click.argument("title")
@click.option(
    "--to", "names", multiple=True, metavar="NAME", help="A notifier; else those of `notify: on-failure` in the file."
)
@config_option
def send(title: str, names: tuple[str, ...], config: Path) -> None:
    """Send TITLE and the text on standard input.

    A message that cannot be sent now is sent later, by the daemon or at the end of the next run.
    It also works when other parts of the configuration are wrong: the systemd unit uses it to
    report that.

    \b
    Exit status:
      0   it was sent, or will be
      1   no notifier is named
      2   NAME or the configuration is wrong
      75  it was not sent, and the state folder cannot store it
    """
    settings = load_notifiers(config)
    recipients = names or tuple(settings.on_failure)
    if not recipients:
        raise Refused("no notifier is named; write notify: {on-failure: [NAME]} into the file, or name one with --to")
    body = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read(_MAX_STDIN)
    message = messages.custom_message(title, body)
    for name in _send_to(settings, recipients, message):
        worker.enqueue(settings, name, message)
        click.echo(f"{name}: it will be sent later; see: pi-appliance notifiers list", err=True)
