"""Results of the operations on posts and networks as text for a terminal."""

import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import click

from pi_appliance.cli.client import format_local_time, format_table
from pi_appliance.config import units
from pi_appliance.operations import Values

Result = Mapping[str, Any]
_MIN_TEXT_WIDTH = 20  # characters, on a narrow terminal
_LIST_TEXT_WIDTH = 60  # characters of a post in the list
_NO_NETWORK = "no network is configured; how to add one: docs/tweets.md"


def posts(result: Any, values: Values) -> str:
    """Return the posts as a table, then the spending of the month."""
    if posts_exit_status(result):
        click.echo("check the account, then run: pi-appliance tweets resolve POST there|post|drop", err=True)
    if not result["posts"]:
        return "no post is in this state" if values["state"] else "nothing was posted yet"
    head = ("POST", "CREATED", "JOB", "NETWORK", "STATE", "TEXT, OR WHY NOT")
    rows = [
        (
            *(str(post["id"]), format_local_time(post["created_at"]), post["job"], post["network"], post["state"]),
            _text_and_reason(post),
        )
        for post in result["posts"]
    ]
    spent = [(month["network"], Decimal(month["spent"])) for month in result["months"]]
    spending = (f"{network}: {units.format_money(amount)} this month" for network, amount in spent if amount)
    return "\n".join([format_table(head, rows), *spending])


def posts_exit_status(result: Any) -> int:
    """Return 1 if a post is uncertain."""
    return 1 if result["counts"].get("uncertain") else 0


def _text_and_reason(post: Result) -> str:
    text = " ".join(post["text"].split())
    has_number = post["parts"] == 1 or f"{post['part']}/" in text
    cell = _shorten(text, _LIST_TEXT_WIDTH) + ("" if has_number else f" ({post['part']}/{post['parts']})")
    return cell if post["state"] == "sent" or not post["reason"] else f"{cell}: {post['reason']}"


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def resolved(result: Any, _: Values) -> str:
    """Return the new state of a post."""
    if result["state"] == "waiting":
        retry = f"pi-appliance jobs run {result['job']} --resume"
        return f"the daemon sends it within a minute; to send it without the daemon: {retry}"
    return f"post {result['id']} is {result['state']}"


def refused_posts(result: Any, _: Values) -> str:
    """Return one row per line and network, and how to send it again."""
    rows = [
        (
            *(str(entry["post"]), entry["job"], str(entry["line"] or "-"), post["network"], post["state"]),
            f"{_shorten(' '.join(entry['text'].split()), _LIST_TEXT_WIDTH)}: {post['reason']}",
        )
        for entry in result["refused"]
        for post in entry["posts"]
    ]
    if not rows:
        return "every post is on its networks, on its way, or dropped"
    click.echo("send one again: pi-appliance tweets resend POST; or: pi-appliance tweets drop POST", err=True)
    return format_table(("POST", "JOB", "LINE", "NETWORK", "STATE", "TEXT, AND WHY NOT"), rows)


def resent(result: Any, _: Values) -> str:
    """Return where the posts are sent again."""
    names = " and ".join(dict.fromkeys(each["network"] for each in result["posts"]))
    job = result["posts"][0]["job"]
    return f"sent again to {names} within a minute; to send it without the daemon: pi-appliance jobs run {job} --resume"


def preview(result: Any, _: Values) -> str:
    """Return one row per slot, the total cost, and the cost of an average month."""
    slots = result["slots"]
    if not slots:
        return "no job that posts lines has a future slot"
    count = sum(slot["line"] is not None for slot in slots)
    cost = units.format_money(Decimal(result["cost"]))
    return "\n".join(
        [
            _preview_table(slots, with_job=len(result["month"]) > 1),
            f"{count} of {len(slots)} slots post, for {cost} in total",
            *(
                _forecast_line(job, network, month)
                for job, networks in result["month"].items()
                for network, month in networks.items()
            ),
        ]
    )


def _preview_table(slots: Sequence[Result], *, with_job: bool) -> str:
    """Return one row per slot; the text is cut at the width of the terminal."""
    head = ("SLOT", *(["JOB"] if with_job else []), "LINE", "LENGTH", "COST", "TEXT, OR WHY NOT")
    rows = [
        (
            datetime.fromisoformat(slot["local"]).strftime("%a %Y-%m-%d %H:%M:%S").removesuffix(":00"),
            *([slot["job"]] if with_job else []),
            str(slot["line"] or "-"),
            ", ".join(f"{name} {_length(parts)}" for name, parts in slot["posts"].items()) or "-",
            units.format_money(Decimal(slot["cost"])) if slot["line"] else "-",
            "",
        )
        for slot in slots
    ]
    lines = format_table(head, rows).splitlines()
    start = lines[0].index(head[-1])
    width = max(_MIN_TEXT_WIDTH, shutil.get_terminal_size((120, 24)).columns - start)
    texts = [slot["why_not"] or _shorten(_describe_post(slot), width) for slot in slots]
    return "\n".join([lines[0], *(f"{line:{start}}{text}" for line, text in zip(lines[1:], texts, strict=True))])


def _length(parts: Sequence[Result]) -> str:
    return f"{len(parts)} parts" if len(parts) > 1 else f"{parts[0]['length']}/{parts[0]['max_length']}"


def _describe_post(slot: Result) -> str:
    """Return the text of the post after its attachments in brackets."""
    first = next(iter(slot["posts"].values()))[0]
    count = first["pictures"]
    attachments = [f"{count} picture{'s' * (count > 1)}"] if count else []
    attachments += [slot["attached"]] if slot["attached"] else []
    return " ".join([*([f"[{', '.join(attachments)}]"] if attachments else []), *first["text"].split()])


def _forecast_line(job: str, network: str, month: Result) -> str:
    count = f"{month['posts']:.1f}".removesuffix(".0")
    cap = f"; monthly-cap {units.format_money(Decimal(month['monthly_cap']))}" if month["monthly_cap"] else ""
    cost = units.format_money(Decimal(month["cost"]))
    return f"average month: {count} posts of {job} on {network}, for {cost}{cap}"


def tweet_lines(result: Any, _: Values) -> str:
    """Return one row per line, and the next post."""
    rows = [
        (
            str(line["number"]),
            "next" if line["next"] else line["state"],
            ", ".join(f"{each['network']} {each['length']}/{each['max_length']}" for each in line["networks"]),
            _shorten(line["text"], _LIST_TEXT_WIDTH) + "".join(f"; {each}" for each in line_problems(line)),
        )
        for line in result["lines"]
    ]
    upcoming = result["next"]
    last = "no slot posts a line"
    if upcoming:
        cost = units.format_money(Decimal(upcoming["cost"]))
        last = f"next: line {upcoming['number']} at {format_local_time(upcoming['at'])}, for {cost}"
    return "\n".join([format_table(("LINE", "STATE", "LENGTH", "TEXT, OR WHY NOT"), rows), *result["problems"], last])


def line_problems(line: Result) -> list[str]:
    """Return why a line cannot be posted, or was refused."""
    states = ("refused", "blocked", "abandoned")
    refused = [f"{each['network']}: {each['reason']}" for each in line["posts"] if each["state"] in states]
    problems = [each["message"] for each in line["problems"] if each["severity"] == "refused"]
    return problems or (refused if line["state"] == "refused" else [])


def changed_line(result: Any, _: Values) -> str:
    """Return how many lines there are now."""
    return f"{result['file']} has {result['lines']} line{'s' * (result['lines'] != 1)} to post now"


def text_check(result: Any, _: Values) -> str:
    """Return the length on each network, the problems and the cost."""
    rows = [f"{each['network']}: {each['length']} of {each['max_length']}" for each in result["networks"]]
    cost = f"cost: {units.format_money(Decimal(result['cost']))}"
    return "\n".join([*rows, cost, *(each["message"] for each in result["problems"])])


def text_check_exit_status(result: Any) -> int:
    """Return 1 if the text cannot be posted."""
    return 0 if result["good"] else 1


def networks(result: Any, _: Values) -> str:
    """Return the networks as a table."""
    rows = [(each["network"], each["kind"], *_describe_secrets(each["secrets"])) for each in result]
    return format_table(("NETWORK", "KIND", "SECRETS", "FROM"), rows) if rows else _NO_NETWORK


def _describe_secrets(origins: Mapping[str, str | None]) -> tuple[str, str]:
    """Return the cells SECRETS and FROM."""
    if not origins:
        return "needs none", ""
    missing = [name for name, origin in origins.items() if origin is None]
    stored = sorted({origin for origin in origins.values() if origin})
    return f"no {', '.join(missing)}" if missing else "all there", ", ".join(stored)


def network_tests(result: Any, _: Values) -> str:
    """Return the account of each network; the errors go to stderr."""
    accounts = []
    for test in result:
        if test["error"] is not None:
            click.echo(f"{test['network']}: {test['error']}", err=True)
        else:
            remark = "the secrets are right" if test["needs_secrets"] else "needs no secrets"
            accounts.append(f"{test['network']}: {test['account']} ({remark})")
    return "\n".join(accounts) if result else _NO_NETWORK


def network_tests_exit_status(result: Any) -> int:
    """Return 0 if every network accepts its secrets, 75 if one was not reached, else 1."""
    return max((each["exit_status"] for each in result), default=0)
