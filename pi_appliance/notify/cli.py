"""The command `notifiers send`; the others are in `notify/operations.py`."""

import sys
from pathlib import Path

import click

from pi_appliance.cli.client import visible
from pi_appliance.cli.terminal import config_option
from pi_appliance.errors import Refused
from pi_appliance.notify import messages, worker
from pi_appliance.notify.worker import load_notifiers

_MAX_STDIN = 100_000  # characters


@click.group("notifiers", short_help="Notify you when a job fails.")
def command() -> None:
    """List and test the notifiers, which tell you when a job begins to fail or works again.

    Send a text of your own.
    """


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
    for name, error in worker.deliver_now(settings, recipients, message).items():
        if error is None:
            click.echo(f"{name}: sent")
            continue
        click.echo(visible(f"{name}: not sent: {error}"), err=True)
        worker.enqueue(settings, name, message)
        click.echo(f"{name}: it will be sent later; see: pi-appliance notifiers list", err=True)
