"""Commands `tweets check`, `preview`, `list` and `resolve`."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from pi_appliance.cli import terminal as as_text
from pi_appliance.cli.terminal import Number, config_option, json_option
from pi_appliance.config import units
from pi_appliance.config.loader import load_config
from pi_appliance.posting import lint
from pi_appliance.posting.interface import PostLimits
from pi_appliance.posting.lint import LintNote, LintResult, Severity
from pi_appliance.posting.model import OWNER_DECISIONS, Post, PostRecord, PostState, record_json
from pi_appliance.posting.preview import MonthlyForecast, PostPreview, UpcomingPost
from pi_appliance.posting.store import PostDatabase
from pi_appliance.posting.tweet_job import TWEET_KIND
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage import model
from pi_appliance.system import clock

_MIN_TEXT_WIDTH = 20  # characters, on a narrow terminal
_LIST_TEXT_WIDTH = 60  # characters of a post in `tweets list`
_CENT = Decimal("0.01")


@click.group("tweets", short_help="Check, preview and review posts.")
def command() -> None:
    """Check the lines that jobs post, preview the next posts and their cost, and see the result of past ones."""


@command.command(short_help="Show what the next slots will post, and the cost.")
@click.argument("job", required=False)
@click.option("--count", type=Number(1, 1000), default=8, show_default=True, help="Number of slots.")
@json_option
@config_option
def preview(job: str | None, count: int, as_json: bool, config: Path) -> None:
    """Show what the next slots of JOB, or of every tweet job, will post. Nothing is posted.

    For each slot: whether it is selected, the line, its length on each network, and the cost. The
    preview is exact unless the file is edited, or a manual run or a failure comes between.

    \b
    Exit status:
      0  shown, or there are no slots
      1  JOB does not post lines
      2  JOB or the configuration is wrong
    """
    with Appliance.open(config) as appliance:
        now, zone = clock.now(), appliance.config.time_zone
        names = [job] if job else [name for name, each in appliance.config.jobs.items() if each.kind == TWEET_KIND]
        previews = {name: PostPreview(appliance, name, now) for name in names}
        upcoming = [slot for each in previews.values() for slot in each.slots(count)]
        upcoming = sorted(sorted(upcoming, key=lambda each: each.slot.at)[:count], key=_start_time)
        forecasts = {name: each.monthly_forecast() for name, each in previews.items()}
    if as_json:
        rows = [_upcoming_json(each, previews[each.slot.job].limits) for each in upcoming]
        months = {
            name: {network: _forecast_json(each) for network, each in by_network.items()}
            for name, by_network in forecasts.items()
        }
        click.echo(json.dumps({"slots": rows, "cost": str(_total_cost(upcoming)), "month": months}))
    elif not upcoming:
        click.echo("no job that posts lines has a future slot")
    else:
        click.echo(_preview_table(upcoming, previews, zone, with_job=len(previews) > 1))
        posting = sum(each.line is not None for each in upcoming)
        cost = units.format_money(_total_cost(upcoming))
        click.echo(f"{posting} of {len(upcoming)} slots post, for {cost} in total")
        for name, by_network in forecasts.items():
            click.echo("\n".join(_forecast_line(name, network, each) for network, each in by_network.items()))


def _start_time(upcoming: UpcomingPost) -> datetime:
    return upcoming.slot.starts_at if upcoming.line else upcoming.slot.at


def _preview_table(
    upcoming: Sequence[UpcomingPost], previews: Mapping[str, PostPreview], zone: ZoneInfo, *, with_job: bool
) -> str:
    """Return one row per slot; the text is cut at the width of the terminal."""
    head = ("SLOT", *(["JOB"] if with_job else []), "LINE", "LENGTH", "COST", "TEXT, OR WHY NOT")
    rows = [
        (
            as_text.format_slot(_start_time(each), zone),
            *([each.slot.job] if with_job else []),
            str(each.line.number) if each.line else "-",
            _lengths(each.posts, previews[each.slot.job].limits) or "-",
            units.format_money(each.cost) if each.line else "-",
            "",
        )
        for each in upcoming
    ]
    lines = as_text.format_table(head, rows).splitlines()
    start = lines[0].index(head[-1])
    width = max(_MIN_TEXT_WIDTH, shutil.get_terminal_size((120, 24)).columns - start)
    texts = [each.why_not or _shorten(_describe_post(each), width) for each in upcoming]
    return "\n".join([lines[0], *(f"{line:{start}}{text}" for line, text in zip(lines[1:], texts, strict=True))])


def _lengths(posts: Mapping[str, Sequence[Post]], limits: Mapping[str, PostLimits]) -> str:
    return ", ".join(f"{name} {_length(parts, limits[name])}" for name, parts in posts.items())


def _length(parts: Sequence[Post], limits: PostLimits) -> str:
    if len(parts) > 1:
        return f"{len(parts)} parts"
    return f"{limits.text_length(parts[0].text)}/{limits.max_length}"


def _describe_post(upcoming: UpcomingPost) -> str:
    """Return the text of the post after its attachments in brackets."""
    first = next(iter(upcoming.posts.values()))[0]
    count = len(first.pictures)
    attachments = [f"{count} picture{'s' * (count > 1)}"] if count else []
    attachments += [upcoming.attached] if upcoming.attached else []
    return " ".join([*([f"[{', '.join(attachments)}]"] if attachments else []), *first.text.split()])


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _total_cost(upcoming: Sequence[UpcomingPost]) -> Decimal:
    return sum((each.cost for each in upcoming), Decimal(0))


def _forecast_line(job: str, network: str, forecast: MonthlyForecast) -> str:
    posts, cost = f"{forecast.posts:.1f}".removesuffix(".0"), forecast.cost.quantize(_CENT)
    cap = f"; monthly-cap {units.format_money(forecast.monthly_cap)}" if forecast.monthly_cap is not None else ""
    return f"average month: {posts} posts of {job} on {network}, for {units.format_money(cost)}{cap}"


def _upcoming_json(upcoming: UpcomingPost, limits: Mapping[str, PostLimits]) -> dict[str, Any]:
    return {
        "job": upcoming.slot.job,
        "slot": model.iso_time(upcoming.slot.at),
        "starts_at": model.iso_time(upcoming.slot.starts_at),
        "selected": upcoming.slot.selected,
        "why_not": upcoming.why_not or None,
        "line": upcoming.line.number if upcoming.line else None,
        "posts": {
            name: [
                {
                    "text": post.text,
                    "length": limits[name].text_length(post.text),
                    "max_length": limits[name].max_length,
                    "pictures": len(post.pictures),
                    "cost": str(limits[name].post_price(post)),
                }
                for post in parts
            ]
            for name, parts in upcoming.posts.items()
        },
        "attached": upcoming.attached or None,
        "cost": str(upcoming.cost),
    }


def _forecast_json(forecast: MonthlyForecast) -> dict[str, Any]:
    cap = None if forecast.monthly_cap is None else str(forecast.monthly_cap)
    return {"posts": round(forecast.posts, 2), "cost": str(forecast.cost.quantize(_CENT)), "monthly_cap": cap}


@command.command("list", short_help="List the posts and their states.")
@click.option("--state", type=click.Choice([str(each) for each in PostState]), help="Only posts in this state.")
@click.option("--count", default=20, show_default=True, type=Number(1, 10_000), help="How many, newest first.")
@json_option
@config_option
def list_(state: str | None, count: int, as_json: bool, config: Path) -> None:
    """List the posts, newest first, with their states and the spending of this month.

    \b
    Exit status:
      0  no post is uncertain
      1  a post is uncertain: check the account
    """
    with Appliance.open(config) as appliance:
        database = PostDatabase(appliance.store)
        records = database.newest_posts(limit=count, state=PostState(state) if state else None)
        spent = database.month_spend(clock.now())
        uncertain = database.count_by_state().get(PostState.UNCERTAIN, 0)
        zone = appliance.config.time_zone
    if as_json:
        amounts = {network: str(amount) for network, amount in spent.items()}
        click.echo(json.dumps({"posts": [record_json(each) for each in records], "spent": amounts}))
    elif not records:
        click.echo("no post is in this state" if state else "nothing was posted yet")
    else:
        rows = [
            (
                *(str(each.id), as_text.format_instant(each.created_at, zone), each.job, each.network, str(each.state)),
                _text_and_reason(each),
            )
            for each in records
        ]
        click.echo(as_text.format_table(("POST", "CREATED", "JOB", "NETWORK", "STATE", "TEXT, OR WHY NOT"), rows))
        for network, amount in spent.items():
            click.echo(f"{network}: {units.format_money(amount)} this month")
    if uncertain:
        click.echo("check the account, then run: pi-appliance tweets resolve POST there|post|drop", err=True)
        raise SystemExit(1)


def _text_and_reason(record: PostRecord) -> str:
    text = " ".join(record.text.split())
    has_number = record.parts == 1 or f"{record.part + 1}/" in text
    part = "" if has_number else f" ({record.part + 1}/{record.parts})"
    shown = _shorten(text, _LIST_TEXT_WIDTH) + part
    return shown if record.state is PostState.SENT or not record.reason else f"{shown}: {record.reason}"


@command.command(short_help="Record whether an uncertain post is on the account.")
@click.argument("post", type=int)
@click.argument("answer", type=click.Choice(list(OWNER_DECISIONS)))
@click.option("--link", default="", metavar="URL", help="Web address of the post, if it is there.")
@config_option
def resolve(post: int, answer: str, link: str, config: Path) -> None:
    """Record what you saw on the account for the uncertain POST, by its number in `tweets list`.

    \b
    there  it is on the account
    post   it is not on the account; send it now
    drop   it is not on the account; do not send it

    \b
    Exit status:
      0  recorded
      2  there is no uncertain post with this number
    """
    state, reason = OWNER_DECISIONS[answer]
    with Appliance.open(config) as appliance:
        database = PostDatabase(appliance.store)
        record = database.resolve_post(post, state, reason, link=link, now=clock.now())
    if state is PostState.WAITING:
        retry = f"pi-appliance jobs run {record.job} --resume"
        click.echo(f"the daemon sends it within a minute; to send it without the daemon: {retry}")
    else:
        click.echo(f"post {post} is {record.state}")


@command.command(short_help="Find lines that a network would reject, and repeated lines.")
@click.argument("job", required=False)
@click.option("--lines", "file", type=click.Path(path_type=Path), help="Check this file; no job has to use it.")
@click.option("--network", "networks", multiple=True, help="With --lines: check for this network only.")
@json_option
@config_option
def check(job: str | None, file: Path | None, networks: tuple[str, ...], as_json: bool, config: Path) -> None:
    """Check the lines that JOB, or every job, posts: length on each network, placeholders, pictures, repeats.

    Needs neither secrets nor a connection. Placeholders are counted with their longest value.

    \b
    Exit status:
      0  every line can be posted
      1  a line would be rejected, or there is none
      2  JOB, a network or the configuration is wrong
    """
    if networks and file is None:
        raise click.UsageError("--network needs --lines; a job has its own networks")
    if job and file:
        raise click.UsageError("give a JOB or --lines, not both")
    loaded = load_config(config)
    sources = [lint.file_source(loaded, file.absolute(), networks)] if file else lint.job_sources(loaded, job)
    results = [lint.check_source(source) for source in sources]
    if as_json:
        click.echo(json.dumps([_result_json(each) for each in results]))
    elif not results:
        click.echo("no job posts lines; to check a file: --lines FILE")
    else:
        click.echo("\n".join(line for each in results for line in _result_lines(each)))
    if not all(each.is_good for each in results):
        raise SystemExit(1)


def _result_lines(result: LintResult) -> Iterator[str]:
    """Yield a line for each note, in the format of compilers, and a summary."""
    name = _relative(result.path)
    for note in result.notes:
        where = name if note.line is None else f"{name}:{note.line}"
        yield f"{where}: {'warning: ' if note.severity is Severity.WARNING else ''}{note.message}"
    if result.lines:
        lines = "1 line" if result.lines == 1 else f"{result.lines} lines"
        yield f"{name}: {lines}, {_describe_fit(result)}"


def _describe_fit(result: LintResult) -> str:
    by_count: dict[int, list[str]] = {}
    for name, count in result.fit.items():
        by_count.setdefault(count, []).append(name)
    return ", ".join(f"{count} {'fits' if count == 1 else 'fit'} {_join(names)}" for count, names in by_count.items())


def _join(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), names[-1]])


def _relative(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _result_json(result: LintResult) -> dict[str, Any]:
    return {
        "file": str(result.path),
        "lines": result.lines,
        "fit": dict(result.fit),
        "notes": [_note_json(note) for note in result.notes],
    }


def _note_json(note: LintNote) -> dict[str, Any]:
    return {
        "line": note.line,
        "severity": note.severity,
        "message": note.message,
        "network": note.network,
        "length": note.length,
        "max_length": note.max_length,
        "parts": note.parts,
    }
