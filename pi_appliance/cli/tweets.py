"""pi-appliance tweets: what jobs will post, and what became of what they have posted."""

import click

from pi_appliance.cli import _tweets_check, _tweets_ledger, _tweets_preview


@click.group("tweets", short_help="Check, preview and account for posts.")
def command() -> None:
    """Check the lines that jobs post, preview when which one comes and what it costs, and see what became of them."""


for _each in (_tweets_check.check, _tweets_preview.preview, _tweets_ledger.list_, _tweets_ledger.settle):
    command.add_command(_each)
