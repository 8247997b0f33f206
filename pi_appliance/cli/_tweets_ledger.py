"""pi-appliance tweets list and settle: what became of every post, and what only the owner can tell."""

import json
from pathlib import Path

import click

from pi_appliance.cli._options import Number, config_option, json_option
from pi_appliance.core import amounts
from pi_appliance.engine.assemble import Appliance
from pi_appliance.model.post import ANSWERS, Intent, State
from pi_appliance.reports import as_json as json_of
from pi_appliance.reports import as_text
from pi_appliance.store.posts import Posts
from pi_appliance.system import clock

_WIDTH = 60  # characters of a post that a table shows


@click.command("list", short_help="What became of the posts.")
@click.option("--state", type=click.Choice([str(each) for each in State]), help="Only those in this state.")
@click.option("--count", default=20, show_default=True, type=Number(1, 10_000), help="How many, newest first.")
@json_option
@config_option
def list_(state: str | None, count: int, as_json: bool, config: Path) -> None:
    """List the posts, the newest first: where they were to go, what became of them, and what this month has cost.

    \b
    Exit status:
      0  none waits for the owner
      1  one is uncertain: only its account shows whether it is there
    """
    with Appliance.open(config) as appliance:
        posts = Posts(appliance.store)
        found = posts.newest(limit=count, state=State(state) if state else None)
        spent, uncertain = posts.spent(clock.now()), posts.counts().get(State.UNCERTAIN, 0)
        zone = appliance.config.time_zone
    if as_json:
        money = {network: str(amount) for network, amount in spent.items()}
        click.echo(json.dumps({"posts": [json_of.post(each) for each in found], "spent": money}))
    elif not found:
        click.echo("there is no such post" if state else "nothing was posted yet")
    else:
        rows = [
            (str(each.id), as_text.instant(each.made, zone), each.job, each.network, str(each.state), _cut(each))
            for each in found
        ]
        click.echo(as_text.table(("POST", "MADE", "JOB", "NETWORK", "STATE", "TEXT, OR WHY NOT"), rows))
        for network, amount in spent.items():
            click.echo(f"{network}: {amounts.render_money(amount)} this month")
    if uncertain:
        click.echo("look at the account, then say: pi-appliance tweets settle POST there|post|drop", err=True)
        raise SystemExit(1)


def _cut(intent: Intent) -> str:
    text = " ".join(intent.text.split())
    part = f" ({intent.part + 1}/{intent.parts})" if intent.parts > 1 and f"{intent.part + 1}/" not in text else ""
    shown = (text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…") + part
    return shown if intent.state is State.SENT else f"{shown}: {intent.why}" if intent.why else shown


@click.command("settle", short_help="Say what became of an uncertain post.")
@click.argument("post", type=int)
@click.argument("what", type=click.Choice(list(ANSWERS)))
@click.option("--link", default="", metavar="URL", help="Where it stands, if it is there.")
@config_option
def settle(post: int, what: str, link: str, config: Path) -> None:
    """Say of the uncertain POST, by its number in `tweets list`, what you saw on the account.

    \b
    there  it is there
    post   it is not there, and is to be posted now
    drop   it is not there, and is not wanted any more

    \b
    Exit status:
      0  noted
      2  there is no uncertain post of that number
    """
    state, why = ANSWERS[what]
    with Appliance.open(config) as appliance:
        intent = Posts(appliance.store).settle(post, state, why, link=link, now=clock.now())
    if state is State.WAITING:
        click.echo(f"the daemon posts it within a minute; without it: pi-appliance jobs run {intent.job} --left")
    else:
        click.echo(f"post {post} is {intent.state}")
