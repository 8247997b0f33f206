"""pi-appliance tweets preview: the slots to come, which line each will post, where, and what that costs."""

import json
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from pi_appliance.cli._options import Number, config_option, json_option
from pi_appliance.core import amounts
from pi_appliance.engine.assemble import Appliance
from pi_appliance.engine.coming_posts import Ahead, Coming, Expected
from pi_appliance.engine.line_check import KIND
from pi_appliance.model.post import Post
from pi_appliance.ports import Rules
from pi_appliance.reports import as_json as json_of
from pi_appliance.reports import as_text
from pi_appliance.system import clock

_SHORTEST = 20  # characters of a text, however narrow the terminal is
_CENT = Decimal("0.01")


@click.command("preview", short_help="Say what the next slots will post, and what that costs.")
@click.argument("job", required=False)
@click.option("--count", type=Number(1, 1000), default=8, show_default=True, help="How many slots.")
@json_option
@config_option
def preview(job: str | None, count: int, as_json: bool, config: Path) -> None:
    """Say what the next slots of JOB, or of every job that posts lines, will post. Nothing is posted.

    When, whether the chance uses the slot, which line, how long it is on each network, and what it costs. That is what
    will be, unless the file is edited, or a run by hand or a failure comes between.

    \b
    Exit status:
      0  here they are, or there are none
      1  JOB posts no lines
      2  JOB or the configuration is wrong
    """
    with Appliance.open(config) as appliance:
        now, zone = clock.now(), appliance.config.time_zone
        names = [job] if job else [name for name, each in appliance.config.jobs.items() if each.kind == KIND]
        ahead = {name: Ahead(appliance, name, now) for name in names}
        slots = [slot for each in ahead.values() for slot in each.slots(count)]
        slots = sorted(sorted(slots, key=lambda each: each.slot.at)[:count], key=_when)
        expected = {name: each.expected() for name, each in ahead.items()}
    if as_json:
        rows = [_values(each, ahead[each.slot.job].rules) for each in slots]
        months = {name: {network: _month_values(each) for network, each in of.items()} for name, of in expected.items()}
        click.echo(json.dumps({"slots": rows, "cost": str(_sum(slots)), "month": months}))
    elif not slots:
        click.echo("no job that posts lines has a slot to come")
    else:
        click.echo(_table(slots, ahead, zone, several=len(ahead) > 1))
        click.echo(_together(slots))
        for name, of in expected.items():
            click.echo("\n".join(_month(name, network, each) for network, each in of.items()))


def _when(coming: Coming) -> datetime:
    return coming.slot.begins if coming.line else coming.slot.at


def _table(slots: Sequence[Coming], ahead: Mapping[str, Ahead], zone: ZoneInfo, *, several: bool) -> str:
    """Return a line for each slot; the text takes what is left of the terminal's width."""
    head = ("SLOT", *(["JOB"] if several else []), "LINE", "LENGTH", "COST", "TEXT, OR WHY NOTHING")
    rows = [
        (
            as_text.slot(_when(each), zone),
            *([each.slot.job] if several else []),
            str(each.line.number) if each.line else "-",
            _lengths(each.posts, ahead[each.slot.job].rules) or "-",
            amounts.render_money(each.cost) if each.line else "-",
            "",
        )
        for each in slots
    ]
    lines = as_text.table(head, rows).splitlines()
    start = lines[0].index(head[-1])
    width = max(_SHORTEST, shutil.get_terminal_size((120, 24)).columns - start)
    texts = [each.why_not or _cut(_told(each), width) for each in slots]
    return "\n".join([lines[0], *(f"{line:{start}}{text}" for line, text in zip(lines[1:], texts, strict=True))])


def _lengths(posts: Mapping[str, Sequence[Post]], rules: Mapping[str, Rules]) -> str:
    return ", ".join(f"{name} {_length(parts, rules[name])}" for name, parts in posts.items())


def _length(parts: Sequence[Post], rules: Rules) -> str:
    return f"{rules.weigh(parts[0].text)}/{rules.limit}" if len(parts) == 1 else f"{len(parts)} parts"


def _told(coming: Coming) -> str:
    """Return the text of the post, with what goes with it in front."""
    first = next(iter(coming.posts.values()))[0]
    pictures = len(first.pictures)
    more = [*([f"{pictures} picture{'s' * (pictures > 1)}"] if pictures else []), *filter(None, [coming.attached])]
    return " ".join([*([f"[{', '.join(more)}]"] if more else []), *first.text.split()])


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _together(slots: Sequence[Coming]) -> str:
    count = sum(each.line is not None for each in slots)
    return f"together: {count} of {len(slots)} slots post, for {amounts.render_money(_sum(slots))}"


def _sum(slots: Sequence[Coming]) -> Decimal:
    return sum((each.cost for each in slots), Decimal(0))


def _month(job: str, network: str, expected: Expected) -> str:
    """Return in a line what NETWORK gets in a month from JOB, on the average."""
    posts, cost = f"{expected.posts:.1f}".removesuffix(".0"), expected.cost.quantize(_CENT)
    cap = f"; it stops at {amounts.render_money(expected.cap)}" if expected.cap is not None else ""
    return f"in a month, on the average: {posts} posts of {job} on {network}, for {amounts.render_money(cost)}{cap}"


def _values(coming: Coming, rules: Mapping[str, Rules]) -> dict[str, Any]:
    return {
        "job": coming.slot.job,
        "slot": json_of.instant(coming.slot.at),
        "begins": json_of.instant(coming.slot.begins),
        "picked": coming.slot.picked,
        "why-not": coming.why_not or None,
        "line": coming.line.number if coming.line else None,
        "posts": {
            name: [
                {
                    "text": post.text,
                    "length": rules[name].weigh(post.text),
                    "limit": rules[name].limit,
                    "pictures": len(post.pictures),
                    "cost": str(rules[name].price(post)),
                }
                for post in parts
            ]
            for name, parts in coming.posts.items()
        },
        "attached": coming.attached or None,
        "cost": str(coming.cost),
    }


def _month_values(expected: Expected) -> dict[str, Any]:
    cap = None if expected.cap is None else str(expected.cap)
    return {"posts": round(expected.posts, 2), "cost": str(expected.cost.quantize(_CENT)), "cap": cap}
