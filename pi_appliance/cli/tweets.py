"""pi-appliance tweets: the lines that jobs post, before they do."""

import click

from pi_appliance.cli import _tweets_check, _tweets_preview


@click.group("tweets", short_help="Check and preview what is posted.")
def command() -> None:
    """Check the lines that jobs post, and preview when which one comes and what it costs."""


for _each in (_tweets_check.check, _tweets_preview.preview):
    command.add_command(_each)
