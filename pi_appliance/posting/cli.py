"""pi-appliance tweets preview: the slots to come, which line each will post, where, and what that costs."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from pi_appliance.cli import text as as_text
from pi_appliance.cli.options import Number, config_option, json_option
from pi_appliance.config import units
from pi_appliance.config.loader import load_config
from pi_appliance.posting import lint, post_json
from pi_appliance.posting.interface import PostLimits
from pi_appliance.posting.lint import KIND, Checked, Note, Weight
from pi_appliance.posting.model import OWNER_DECISIONS, Post, PostRecord, State
from pi_appliance.posting.preview import Expected, PostPreview, UpcomingPost
from pi_appliance.posting.store import Posts
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage import serializers as json_of
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
        ahead = {name: PostPreview(appliance, name, now) for name in names}
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


def _when(coming: UpcomingPost) -> datetime:
    return coming.slot.starts_at if coming.line else coming.slot.at


def _table(slots: Sequence[UpcomingPost], ahead: Mapping[str, PostPreview], zone: ZoneInfo, *, several: bool) -> str:
    """Return a line for each slot; the text takes what is left of the terminal's width."""
    head = ("SLOT", *(["JOB"] if several else []), "LINE", "LENGTH", "COST", "TEXT, OR WHY NOTHING")
    rows = [
        (
            as_text.slot(_when(each), zone),
            *([each.slot.job] if several else []),
            str(each.line.number) if each.line else "-",
            _lengths(each.posts, ahead[each.slot.job].rules) or "-",
            units.format_money(each.cost) if each.line else "-",
            "",
        )
        for each in slots
    ]
    lines = as_text.table(head, rows).splitlines()
    start = lines[0].index(head[-1])
    width = max(_SHORTEST, shutil.get_terminal_size((120, 24)).columns - start)
    texts = [each.why_not or _cut(_told(each), width) for each in slots]
    return "\n".join([lines[0], *(f"{line:{start}}{text}" for line, text in zip(lines[1:], texts, strict=True))])


def _lengths(posts: Mapping[str, Sequence[Post]], rules: Mapping[str, PostLimits]) -> str:
    return ", ".join(f"{name} {_length(parts, rules[name])}" for name, parts in posts.items())


def _length(parts: Sequence[Post], rules: PostLimits) -> str:
    return f"{rules.weigh(parts[0].text)}/{rules.limit}" if len(parts) == 1 else f"{len(parts)} parts"


def _told(coming: UpcomingPost) -> str:
    """Return the text of the post, with what goes with it in front."""
    first = next(iter(coming.posts.values()))[0]
    pictures = len(first.pictures)
    more = [*([f"{pictures} picture{'s' * (pictures > 1)}"] if pictures else []), *filter(None, [coming.attached])]
    return " ".join([*([f"[{', '.join(more)}]"] if more else []), *first.text.split()])


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _together(slots: Sequence[UpcomingPost]) -> str:
    count = sum(each.line is not None for each in slots)
    return f"together: {count} of {len(slots)} slots post, for {units.format_money(_sum(slots))}"


def _sum(slots: Sequence[UpcomingPost]) -> Decimal:
    return sum((each.cost for each in slots), Decimal(0))


def _month(job: str, network: str, expected: Expected) -> str:
    """Return in a line what NETWORK gets in a month from JOB, on the average."""
    posts, cost = f"{expected.posts:.1f}".removesuffix(".0"), expected.cost.quantize(_CENT)
    cap = f"; it stops at {units.format_money(expected.cap)}" if expected.cap is not None else ""
    return f"in a month, on the average: {posts} posts of {job} on {network}, for {units.format_money(cost)}{cap}"


def _values(coming: UpcomingPost, rules: Mapping[str, PostLimits]) -> dict[str, Any]:
    return {
        "job": coming.slot.job,
        "slot": json_of.instant(coming.slot.at),
        "begins": json_of.instant(coming.slot.starts_at),
        "picked": coming.slot.selected,
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
        click.echo(json.dumps({"posts": [post_json.post_values(each) for each in found], "spent": money}))
    elif not found:
        click.echo("there is no such post" if state else "nothing was posted yet")
    else:
        rows = [
            (str(each.id), as_text.instant(each.made, zone), each.job, each.network, str(each.state), _cut_text(each))
            for each in found
        ]
        click.echo(as_text.table(("POST", "MADE", "JOB", "NETWORK", "STATE", "TEXT, OR WHY NOT"), rows))
        for network, amount in spent.items():
            click.echo(f"{network}: {units.format_money(amount)} this month")
    if uncertain:
        click.echo("check the account, then say: pi-appliance tweets settle POST there|post|drop", err=True)
        raise SystemExit(1)


def _cut_text(intent: PostRecord) -> str:
    text = " ".join(intent.text.split())
    part = f" ({intent.part + 1}/{intent.parts})" if intent.parts > 1 and f"{intent.part + 1}/" not in text else ""
    shown = (text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…") + part
    return shown if intent.state is State.SENT else f"{shown}: {intent.why}" if intent.why else shown


@click.command("settle", short_help="Say what became of an uncertain post.")
@click.argument("post", type=int)
@click.argument("what", type=click.Choice(list(OWNER_DECISIONS)))
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
    state, why = OWNER_DECISIONS[what]
    with Appliance.open(config) as appliance:
        intent = Posts(appliance.store).settle(post, state, why, link=link, now=clock.now())
    if state is State.WAITING:
        click.echo(f"the daemon posts it within a minute; without it: pi-appliance jobs run {intent.job} --resume")
    else:
        click.echo(f"post {post} is {intent.state}")


@click.command("check", short_help="Say which lines a network would refuse, and which repeat themselves.")
@click.argument("job", required=False)
@click.option("--lines", "file", type=click.Path(path_type=Path), help="Check this file instead; no job need use it.")
@click.option("--network", "networks", multiple=True, help="With --lines: for this network. Without it, for all.")
@json_option
@config_option
def check(job: str | None, file: Path | None, networks: tuple[str, ...], as_json: bool, config: Path) -> None:
    """Check the lines that JOB, or every job, posts: their length as each network counts it, words, pictures, repeats.

    Needs no keys and no network. Words in {braces} are counted as long as they may become.

    \b
    Exit status:
      0  every line can be posted
      1  some line would be refused, or there is none
      2  JOB, a network or the configuration is wrong
    """
    if networks and file is None:
        raise click.UsageError("--network goes with --lines; jobs know their networks themselves")
    if job and file:
        raise click.UsageError("name a JOB or a file with --lines, not both")
    told = load_config(config)
    sources = [lint.source(told, file.absolute(), networks)] if file else lint.sources(told, job)
    checked = [lint.check(source) for source in sources]
    if as_json:
        click.echo(json.dumps([_check_values(each) for each in checked]))
    elif not checked:
        click.echo("no job posts lines; name a file: --lines FILE")
    for each in () if as_json else checked:
        click.echo("\n".join(_lines(each)))
    if not all(each.good for each in checked):
        raise SystemExit(1)


def _lines(checked: Checked) -> Iterator[str]:
    """Yield a line for each note, as compilers write them, and one of what is good."""
    name = _shown(checked.path)
    for note in checked.notes:
        where = name if note.line is None else f"{name}:{note.line}"
        yield f"{where}: {'warning: ' if note.weight is Weight.WARNING else ''}{note.what}"
    if checked.lines:
        yield f"{name}: {_count(checked.lines)}, {_fit(checked)}"


def _fit(checked: Checked) -> str:
    by_count: dict[int, list[str]] = {}
    for name, count in checked.fit.items():
        by_count.setdefault(count, []).append(name)
    return ", ".join(f"{count} {'fits' if count == 1 else 'fit'} {_listed(names)}" for count, names in by_count.items())


def _listed(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), names[-1]])


def _count(lines: int) -> str:
    return "1 line" if lines == 1 else f"{lines} lines"


def _shown(path: Path) -> str:
    """Return PATH as short as it can be named from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _check_values(checked: Checked) -> dict[str, Any]:
    return {
        "file": str(checked.path),
        "lines": checked.lines,
        "fit": dict(checked.fit),
        "notes": [_note(note) for note in checked.notes],
    }


def _note(note: Note) -> dict[str, Any]:
    return {
        "line": note.line,
        "weight": note.weight,
        "what": note.what,
        "network": note.network,
        "length": note.length,
        "limit": note.limit,
        "parts": note.parts,
    }


@click.group("tweets", short_help="Check, preview and account for posts.")
def command() -> None:
    """Check the lines that jobs post, preview when which one comes and what it costs, and see what became of them."""


for _each in (check, preview, list_, settle):
    command.add_command(_each)
