"""The command `notifiers send`, and the results of the operations as text for a terminal.

The function of the command imports the modules that it needs, so that other commands start faster.
"""

import sys
from pathlib import Path
from typing import Any, TypedDict

import click

from pi_appliance.cli.client import config_option, format_table, json_option, print_json, visible
from pi_appliance.errors import Refused
from pi_appliance.operations import Values
from pi_appliance.system.shown_time import format_local_time

_MAX_STDIN = 100_000  # characters that are read from standard input
_NO_NOTIFIERS = "no notifiers are configured; see docs/notifications.md"


@click.group("notifiers", short_help="Notify you when a job fails.")
def command() -> None:
    """List and test the notifiers, which tell you when a job begins to fail or works again.

    Send a text of your own.
    """


class SentMessageJson(TypedDict):
    """A message to a notifier. `error` is null if it was sent; if not, it will be sent later."""

    notifier: str
    error: str | None


@command.command("send", short_help="Send a text of your own.")
@click.argument("title")
@click.option(
    "--to", "names", multiple=True, metavar="NAME", help="A notifier; else those of `notify: on-failure` in the file."
)
@json_option
@config_option
def send(title: str, names: tuple[str, ...], as_json: bool, config: Path) -> None:
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
    from pi_appliance.notify import delivery, messages

    settings = delivery.load_notifiers(config)
    recipients = names or tuple(settings.on_failure)
    if not recipients:
        raise Refused("no notifier is named; write notify: {on-failure: [NAME]} into the file, or name one with --to")
    body = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read(_MAX_STDIN)
    message = messages.custom_message(title, body)
    results = list[SentMessageJson]()

    def say(text: str, *, err: bool) -> None:
        if not as_json:
            click.echo(text, err=err)

    errors = delivery.deliver_now(settings, recipients, message)
    try:
        for name, error in errors.items():
            results.append({"notifier": name, "error": None if error is None else str(error)})
            if error is None:
                say(f"{name}: sent", err=False)
                continue
            say(visible(f"{name}: not sent: {error}"), err=True)
            delivery.enqueue(settings, name, message)
            say(f"{name}: it will be sent later; see: pi-appliance notifiers list", err=True)
    finally:  # a message that cannot be stored does not hide which ones were sent
        if as_json:
            print_json(results)


# Texts for a terminal


def show_notifiers(result: Any, _: Values) -> str:
    """Return a table of the notifiers, and a table of the messages still to be sent."""
    rows = [(each["notifier"], each["kind"], each["address"], each["used_for"]) for each in result["notifiers"]]
    text = format_table(("NOTIFIER", "KIND", "ADDRESS", "USED FOR"), rows) if rows else _NO_NOTIFIERS
    if not result["pending"]:
        return text
    pending = [
        (
            each["notifier"] or "ping",
            each["event"],
            f"{each['job']} run {each['run']}" if each["job"] else each["title"],
            str(each["attempts"]),
            format_local_time(each["next_attempt_at"]),
            each["last_error"],
        )
        for each in result["pending"]
    ]
    return f"{text}\n\n{format_table(('PENDING FOR', 'EVENT', 'OF', 'ATTEMPTS', 'NEXT', 'LAST ERROR'), pending)}"


def show_tests(result: Any, _: Values) -> str:
    """Return the notifiers whose test was sent; print the failed ones to stderr."""
    for each in result:
        if each["error"]:
            click.echo(f"{each['notifier']}: not sent: {each['error']}", err=True)
    return "\n".join(f"{each['notifier']}: sent" for each in result if not each["error"]) if result else _NO_NOTIFIERS


def tests_exit_status(result: Any) -> int:
    """Return the highest exit status of all tests; 0 if all were sent."""
    return max((each["exit_status"] for each in result), default=0)
