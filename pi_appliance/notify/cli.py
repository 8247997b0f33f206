"""pi-appliance notices: who is told when a job fails, whether that works, and what waits to be told."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pi_appliance.cli import text as as_text
from pi_appliance.cli.options import config_option, json_option
from pi_appliance.config.model import Config
from pi_appliance.config.notifications import Message, NotifierConfig, OutboxMessage
from pi_appliance.errors import ApplianceError, Refused, UnknownName
from pi_appliance.notify import messages, worker
from pi_appliance.notify.addresses import notifier_addresses
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage import serializers as json_of
from pi_appliance.storage.outbox import Outbox
from pi_appliance.system import clock

_LONGEST = 100_000  # characters of standard input


@click.group("notices", short_help="Who is told when a job fails.")
def command() -> None:
    """List and try out the notices, who are told when a job begins to fail or works again; send one by hand."""


@command.command("list", short_help="List the notices, and what waits to be sent.")
@json_option
@config_option
def list_(as_json: bool, config: Path) -> None:
    """List the notices with what they are used for, and what waits to be sent. Addresses are not shown.

    \b
    Exit status:
      0  always, unless the configuration is wrong (2)
    """
    with Appliance.open(config) as appliance:
        told, waiting = appliance.config, Outbox(appliance.store).waiting()
    if as_json:
        notices = [_notice_values(told, name) for name in told.notices]
        click.echo(json.dumps({"notices": notices, "waiting": [_letter_values(letter) for letter in waiting]}))
        return
    rows = [(name, part.kind, str(part.with_), _uses(told, name)) for name, part in told.notices.items()]
    head = ("NOTICE", "KIND", "ADDRESS", "TOLD OF")
    click.echo(as_text.table(head, rows) if rows else "there is no notice; how to write one: docs/notices.md")
    if waiting:
        lines = [
            (
                letter.notice or "ping",
                str(letter.event),
                f"{letter.job} run {letter.run}" if letter.job else letter.message.title,
                str(letter.tries),
                as_text.instant(letter.next, told.time_zone),
                letter.why,
            )
            for letter in waiting
        ]
        click.echo("\n" + as_text.table(("WAITS FOR", "WHAT", "OF", "TRIES", "NEXT TRY", "WHY"), lines))


def _uses(config: Config, name: str) -> str:
    """Return which jobs the notice NAME is told of."""
    by_file = name in (*config.on_failure, *config.on_recovery)
    jobs = [job.name for job in config.jobs.values() if name in (*(job.on_failure or ()), *(job.on_recovery or ()))]
    return ", ".join([*(["every job"] if by_file else []), *jobs]) or "nothing"


def _notice_values(config: Config, name: str) -> dict[str, Any]:
    part = config.notices[name]
    return {"notice": name, "kind": part.kind, "address": str(part.with_), "told-of": _uses(config, name)}


def _letter_values(letter: OutboxMessage) -> dict[str, Any]:
    return {
        "notice": letter.notice or None,
        "event": letter.event,
        "job": letter.job or None,
        "run": letter.run or None,
        "made": json_of.instant(letter.made),
        "tries": letter.tries,
        "next": json_of.instant(letter.next),
        "why": letter.why,
    }


@command.command("test", short_help="Send a test now, and say what came back.")
@click.argument("name", required=False)
@config_option
def test(name: str | None, config: Path) -> None:
    """Send a test to notice NAME, or to all, and say what came back.

    \b
    Exit status:
      0   all of them took it
      1   one did not want it
      2   NAME or the configuration is wrong
      75  one could not be reached; try again later
    """
    with Appliance.open(config) as appliance:
        zone = appliance.config.time_zone
    to = notifier_addresses(config)
    names = [name] if name else list(to.notices)
    if not names:
        click.echo("there is no notice; how to write one: docs/notices.md")
    text = messages.test_message(host=os.uname().nodename, now=clock.now(), zone=zone)
    trouble = _sent(to, names, text)
    if trouble:
        sys.exit(max(error.exit_status for error in trouble.values()))


def _sent(to: NotifierConfig, names: Sequence[str], message: Message) -> dict[str, ApplianceError]:
    """Send MESSAGE to each of NAMES, say what came back, and return what went wrong. Raises UnknownName."""
    for name in names:
        if name not in to.notices:
            raise UnknownName("notice", name, tuple(to.notices))
    trouble: dict[str, ApplianceError] = {}
    known = worker.secrets_of(to)
    for name in names:
        try:
            worker.deliver_now(to, name, message, known)
        except ApplianceError as error:
            trouble[name] = error
            click.echo(f"{name}: not sent: {error}", err=True)
        else:
            click.echo(f"{name}: sent")
    return trouble


@command.command("send", short_help="Send a text of your own.")
@click.argument("title")
@click.option("--to", "names", multiple=True, metavar="NAME", help="Whom; else those under `on-failure` of the file.")
@config_option
def send(title: str, names: tuple[str, ...], config: Path) -> None:
    """Send TITLE, and what comes on standard input. What cannot be sent now waits for the daemon or the next run.

    It works as far as it can when other parts of the configuration are wrong: the service uses it to say just that.

    \b
    Exit status:
      0   it is sent, or waits to be sent
      1   nobody is to be told
      2   NAME or the configuration is wrong
      75  it is not sent, and nothing can wait in the state folder
    """
    to = notifier_addresses(config)
    whom = names or tuple(to.on_failure)
    if not whom:
        raise Refused("nobody is to be told; write on-failure: [NAME] into the file, or name one with --to")
    body = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read(_LONGEST)
    message = messages.words(title, body)
    for name in _sent(to, whom, message):
        worker.enqueue(to, name, message)
        click.echo(f"{name}: it waits; see: pi-appliance notices list", err=True)
