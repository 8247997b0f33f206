"""Commands about posts and networks, and the results of their operations as text for a terminal.

Most commands are in `posting/operations.py`. Two are click commands: `tweets check` reads a file of
this machine, and needs neither a daemon nor its state. `networks login` asks at the terminal, and
writes a secret file. Their functions import the modules that only they need, so that other commands
start faster.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pi_appliance.cli import client
from pi_appliance.cli.client import config_option, format_table, json_option, visible
from pi_appliance.config import units
from pi_appliance.operations import Values
from pi_appliance.system.shown_time import format_local_time

if TYPE_CHECKING:
    from pi_appliance.config.secret_writer import SecretFile
    from pi_appliance.posting.lint import LintResult

Result = Mapping[str, Any]
_MIN_TEXT_WIDTH = 20  # characters, on a narrow terminal
_LIST_TEXT_WIDTH = 60  # characters of a post in the list
_NO_NETWORK = "no network is configured; how to add one: docs/tweets.md"


@click.group("tweets", short_help="Check, preview and review posts.")
def tweets() -> None:
    """Check the lines that jobs post, preview the next posts and their cost, and review posts."""


@click.group("networks", short_help="List, check and log in to social networks.")
def networks() -> None:
    """List the networks, log in to one, and check the secrets. No command shows a secret."""


@tweets.command(short_help="Find lines that a network would reject, and repeated lines.")
@click.argument("job", required=False)
@click.option("--lines", "file", type=click.Path(path_type=Path), help="Check this file; no job has to use it.")
@click.option("--network", "networks", multiple=True, help="With --lines: check for this network only.")
@json_option
@config_option
def check(job: str | None, file: Path | None, networks: tuple[str, ...], as_json: bool, config: Path) -> None:
    """Check the lines of JOB, or of every job: length, placeholders, pictures, repeats.

    Needs neither secrets nor a connection. Placeholders are counted with their longest value.

    \b
    Exit status:
      0  every line can be posted
      1  a line would be rejected, or there is none
      2  JOB, a network or the configuration is wrong
    """
    from pi_appliance.config.loader import load_config
    from pi_appliance.posting import lint

    if networks and file is None:
        raise click.UsageError("--network needs --lines; a job has its own networks")
    if job and file:
        raise click.UsageError("give a JOB or --lines, not both")
    loaded = load_config(config)
    sources = [lint.file_source(loaded, file.absolute(), networks)] if file else lint.job_sources(loaded, job)
    results = [lint.check_source(source) for source in sources]
    if as_json:
        click.echo(json.dumps([{**asdict(each), "file": str(each.file)} for each in results]))
    elif not results:
        click.echo("no job posts lines; to check a file: --lines FILE")
    else:
        click.echo(visible("\n".join(line for each in results for line in _result_lines(each))))
    if not all(each.is_good for each in results):
        raise SystemExit(1)


def _result_lines(result: "LintResult") -> Iterator[str]:
    """Yield a line for each note, in the format of compilers, and a summary."""
    name = _relative(result.file)
    for note in result.notes:
        where = name if note.line is None else f"{name}:{note.line}"
        yield f"{where}: {'warning: ' if note.severity == 'warning' else ''}{note.message}"
    if result.lines:
        yield f"{name}: {units.pluralize(result.lines, 'line')}, {_describe_fit(result)}"


def _describe_fit(result: "LintResult") -> str:
    by_count: dict[int, list[str]] = {}
    for name, count in result.fit.items():
        by_count.setdefault(count, []).append(name)
    return ", ".join(f"{count} {'fits' if count == 1 else 'fit'} {_join(names)}" for count, names in by_count.items())


def _join(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), names[-1]])


def _relative(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


class TerminalPrompt:
    """Asks the owner at the terminal. Raises EOFError at the end of the input.

    `on_secret` receives each secret answer, to hide it in later output.
    """

    def __init__(self, on_secret: Callable[[str], None]) -> None:
        self._on_secret = on_secret

    def show(self, text: str) -> None:
        """Show `text` on standard error."""
        click.echo(text, err=True)

    def ask(self, question: str, *, secret: bool = False) -> str:
        """Return the answer, stripped. A `secret` answer is not shown while it is typed."""
        prompt = f"{question} " if question.endswith("?") else f"{question.rstrip(': ')}: "
        try:
            answer = (client.read_secret(prompt) if secret else client.read_line(prompt)).strip()
        except (KeyboardInterrupt, EOFError):
            click.echo(err=True)  # the message of the error follows in a new line
            raise
        if secret:
            self._on_secret(answer)
        return answer


@networks.command(short_help="Get the secrets of a network, and store them.")
@click.argument("name")
@config_option
def login(name: str, config: Path) -> None:
    """Log in to the network NAME step by step, check the secrets, and store them.

    Answers come from the keyboard, or from standard input, one per line. Only the service can read
    the stored secrets. Wrong secrets are not stored.

    \b
    Exit status:
      0   the secrets are right, and stored
      1   they are wrong, or you stopped; nothing was stored
      2   NAME or the configuration is wrong
      75  the network could not be reached; nothing was stored
    """
    from pi_appliance.config.loader import load_config
    from pi_appliance.config.secrets import of_network
    from pi_appliance.posting.exactly_once import network_config
    from pi_appliance.posting.network_login import log_in

    loaded = load_config(config)
    part = network_config(loaded, name)
    required = of_network(part)
    if not required:
        click.echo(f"{name}: {part.kind} needs no secrets")
        return
    account, file = log_in(loaded, name, TerminalPrompt)
    click.echo(visible(f"{name}: {account} (the secrets are right); {_describe_storage(file)}"))
    for each in required:
        if os.environ.get(each):
            click.echo(f"{each} is also set in the environment and takes precedence there", err=True)


def _describe_storage(file: "SecretFile") -> str:
    if file.credential:
        return f"they are in {file.path}; now run: sudo systemctl restart pi-appliance"
    from pi_appliance.system import files

    user = files.user_name(file.path.stat().st_uid)
    return f"they are in {file.path}, which only {user} can read, and the next run uses them"


# Texts for a terminal


def show_posts(result: Any, values: Values) -> str:
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


def show_resolved(result: Any, _: Values) -> str:
    """Return how the post goes on after the owner's decision."""
    if result["state"] == "waiting":
        retry = f"pi-appliance jobs run {result['job']} --resume"
        return f"the daemon sends it within a minute; to send it without the daemon: {retry}"
    return f"post {result['id']} is {result['state']}"


def show_refused(result: Any, _: Values) -> str:
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


def show_resent(result: Any, _: Values) -> str:
    """Return to which networks the posts are sent again, and when."""
    names = " and ".join(dict.fromkeys(each["network"] for each in result["posts"]))
    job = result["posts"][0]["job"]
    return f"sent again to {names} within a minute; to send it without the daemon: pi-appliance jobs run {job} --resume"


def show_preview(result: Any, _: Values) -> str:
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
    cap = f"monthly-cap {units.format_money(Decimal(month['monthly_cap']))}" if month["monthly_cap"] else ""
    cost = units.format_money(Decimal(month["cost"]))
    return units.join_clauses(f"average month: {count} posts of {job} on {network}, for {cost}", cap)


def show_lines(result: Any, _: Values) -> str:
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


def show_change(result: Any, _: Values) -> str:
    """Return how many lines can be posted now, and why the added line cannot be."""
    lines = f"{result['file']} has {result['lines']} line{'s' * (result['lines'] != 1)} to post now"
    return "\n".join([lines, *(f"this line cannot be posted: {each}" for each in result["problems"])])


def show_check(result: Any, _: Values) -> str:
    """Return the length on each network, the problems and the cost."""
    rows = [f"{each['network']}: {each['length']} of {each['max_length']}" for each in result["networks"]]
    cost = f"cost: {units.format_money(Decimal(result['cost']))}"
    return "\n".join([*rows, cost, *(each["message"] for each in result["problems"])])


def check_exit_status(result: Any) -> int:
    """Return 1 if the text cannot be posted."""
    return 0 if result["good"] else 1


def show_networks(result: Any, _: Values) -> str:
    """Return the networks as a table."""
    rows = [(each["network"], each["kind"], *_describe_secrets(each["secrets"])) for each in result]
    return format_table(("NETWORK", "KIND", "SECRETS", "FROM"), rows) if rows else _NO_NETWORK


def _describe_secrets(origins: Mapping[str, str | None]) -> tuple[str, str]:
    """Return the text of the columns SECRETS and FROM."""
    if not origins:
        return "needs none", ""
    missing = [name for name, origin in origins.items() if origin is None]
    stored = sorted({origin for origin in origins.values() if origin})
    return f"no {', '.join(missing)}" if missing else "all there", ", ".join(stored)


def show_tests(result: Any, _: Values) -> str:
    """Return the account of each network; print errors to stderr."""
    accounts = []
    for test in result:
        if test["error"] is not None:
            click.echo(f"{test['network']}: {test['error']}", err=True)
        else:
            remark = "the secrets are right" if test["needs_secrets"] else "needs no secrets"
            accounts.append(f"{test['network']}: {test['account']} ({remark})")
    return "\n".join(accounts) if result else _NO_NETWORK


def tests_exit_status(result: Any) -> int:
    """Return 0 if every network accepts its secrets, 75 if one was not reached, else 1."""
    return max((each["exit_status"] for each in result), default=0)
