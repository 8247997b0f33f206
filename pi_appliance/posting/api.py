"""Handlers of the operations on posts and networks."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypedDict

from pi_appliance.config.options import Config
from pi_appliance.config.secrets import of_network
from pi_appliance.errors import Refused
from pi_appliance.json_schema import Instant
from pi_appliance.operations import Values
from pi_appliance.posting import line_file, line_states
from pi_appliance.posting.exactly_once import network_config
from pi_appliance.posting.forecast import (
    MonthlyForecast,
    MonthSpendJson,
    PostPreview,
    UpcomingPost,
    month_json,
    month_spends,
)
from pi_appliance.posting.line_states import RefusedLineJson, TextCheckJson, TweetLinesJson
from pi_appliance.posting.model import OWNER_DECISIONS, PostJson, PostLimits, PostState, post_price, record_json
from pi_appliance.posting.network_login import NetworkLogin, NetworkTestJson, load_secrets
from pi_appliance.posting.store import PostDatabase
from pi_appliance.posting.tweet_job import TWEET_KIND
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import run_module
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.storage.history import open_history
from pi_appliance.storage.model import iso_time

_CENT = Decimal("0.01")


class PostsJson(TypedDict):
    """Posts, the newest first."""

    posts: list[PostJson]
    counts: Annotated[dict[PostState, int], "all posts by their states"]
    months: list[MonthSpendJson]


class SentPostsJson(TypedDict):
    """Posts that were changed."""

    posts: list[PostJson]


class RefusedPostsJson(TypedDict):
    """The posts that networks did not accept."""

    refused: list[RefusedLineJson]


class PostPartJson(TypedDict):
    """A part of a future post."""

    text: str
    length: int
    max_length: int
    pictures: int
    cost: str


class UpcomingPostJson(TypedDict):
    """A future slot, and what will be posted then."""

    job: str
    slot: Instant
    starts_at: Annotated[Instant, "with the random delay"]
    local: Annotated[Instant, "when it posts, in the time zone of the job"]
    selected: Annotated[bool, "by the chance"]
    why_not: Annotated[str | None, "why it will not post"]
    line: Annotated[int | None, "the number of the line"]
    posts: Annotated[dict[str, list[PostPartJson]], "by network; several are a thread"]
    attached: Annotated[str | None, "which report is attached"]
    cost: str


class MonthForecastJson(TypedDict):
    """The posts and the cost of an average month on a network."""

    posts: float
    cost: str
    monthly_cap: str | None


class PostPreviewJson(TypedDict):
    """The next slots, and an average month. Amounts are in US dollars."""

    slots: list[UpcomingPostJson]
    cost: str
    month: Annotated[dict[str, dict[str, MonthForecastJson]], "by job and network"]


class LineChangeJson(TypedDict):
    """The file after one of its lines was changed."""

    file: str
    version: str
    lines: Annotated[int, "that can be posted"]
    problems: Annotated[list[str], "why the text that was added or changed cannot be posted"]


class RequestedPostJson(TypedDict):
    """A run that was requested in order to post."""

    request: int
    job: str
    run_at: Instant


class NetworkJson(TypedDict):
    """A configured network, and which of its secrets are missing."""

    network: str
    kind: str
    secrets: Annotated[dict[str, str | None], "where each is stored; null if it is missing"]


class NetworkLoginJson(TypedDict):
    """The next question of a login, or its result."""

    network: str
    messages: Annotated[list[str], "what to do before the answer, with the address to open"]
    question: str | None
    secret: Annotated[bool, "the answer is to be hidden while it is typed"]
    step: Annotated[int, "the number of the question, for the answer"]
    account: Annotated[str | None, "the account, after the secrets were checked and stored"]
    error: str | None


async def list_posts(services: Services, values: Values) -> PostsJson:
    """Return posts, their number by state, and the spending of the month in US dollars."""
    database = PostDatabase(services.appliance.store)
    state = PostState(values["state"]) if values["state"] else None
    records = database.newest_posts(limit=values["count"], before=values["before"], state=state)
    return {
        "posts": [record_json(each) for each in records],
        "counts": database.count_by_state(),
        "months": [month_json(each) for each in month_spends(services.appliance, services.now())],
    }


async def resolve_post(services: Services, values: Values) -> PostJson:
    """Record the owner's decision about an uncertain post. Raises UnknownName."""
    state, reason = OWNER_DECISIONS[values["answer"]]
    database = PostDatabase(services.appliance.store)
    record = database.resolve_post(values["post"], state, reason, link=values["link"], now=services.now())
    services.daemon.wake()
    return record_json(record)


async def list_refused(services: Services, values: Values) -> RefusedPostsJson:
    """Return the posts that networks did not accept."""
    return {"refused": line_states.describe_refused(services.appliance, values["job"])}


async def resend_post(services: Services, values: Values) -> SentPostsJson:
    """Send a refused post again."""
    records = line_states.resend(
        services.appliance, values["post"], values["text"], values["version"], now=services.now()
    )
    services.daemon.wake()
    return {"posts": [record_json(each) for each in records]}


async def drop_post(services: Services, values: Values) -> SentPostsJson:
    """Record that a refused post is not wanted."""
    return {"posts": [record_json(each) for each in line_states.drop(services.appliance, values["post"])]}


async def preview_posts(services: Services, values: Values) -> PostPreviewJson:
    """Return the next slots of one or of all tweet jobs, their cost, and an average month."""
    return await asyncio.to_thread(_preview, services.appliance, values["job"], values["count"], services.now())


def _preview(shared: Appliance, job: str | None, count: int, now: datetime) -> PostPreviewJson:
    # A thread other than the daemon's needs its own connection to the database.
    with replace(shared, store=open_history(shared.config.state_dir)) as appliance:
        names = [job] if job else [name for name, each in appliance.config.jobs.items() if each.kind == TWEET_KIND]
        previews = {name: PostPreview(appliance, name, now) for name in names}
        slots = sorted(
            (slot for each in previews.values() for slot in each.slots(count)), key=lambda each: each.slot.at
        )
        upcoming = sorted(slots[:count], key=lambda each: each.starts_at)
        forecasts = {name: each.monthly_forecast() for name, each in previews.items()}
        rows = [_upcoming_json(appliance, each, previews[each.slot.job].limits) for each in upcoming]
    return {
        "slots": rows,
        "cost": str(sum((each.cost for each in upcoming), Decimal(0))),
        "month": {
            name: {network: _forecast_json(each) for network, each in by_network.items()}
            for name, by_network in forecasts.items()
        },
    }


def _upcoming_json(appliance: Appliance, upcoming: UpcomingPost, limits: Mapping[str, PostLimits]) -> UpcomingPostJson:
    slot = upcoming.slot
    zone = appliance.config.zone_of(appliance.config.jobs[slot.job])
    return {
        "job": slot.job,
        "slot": iso_time(slot.at),
        "starts_at": iso_time(slot.starts_at),
        "local": upcoming.starts_at.astimezone(zone).isoformat(timespec="seconds"),
        "selected": slot.selected,
        "why_not": upcoming.why_not or None,
        "line": upcoming.line.number if upcoming.line else None,
        "posts": {
            name: [
                {
                    "text": post.text,
                    "length": limits[name].text_length(post.text),
                    "max_length": limits[name].max_length,
                    "pictures": len(post.pictures),
                    "cost": str(post_price(limits[name], post)),
                }
                for post in parts
            ]
            for name, parts in upcoming.posts.items()
        },
        "attached": upcoming.attached or None,
        "cost": str(upcoming.cost),
    }


def _forecast_json(forecast: MonthlyForecast) -> MonthForecastJson:
    cap = None if forecast.monthly_cap is None else str(forecast.monthly_cap)
    return {"posts": round(forecast.posts, 2), "cost": str(forecast.cost.quantize(_CENT)), "monthly_cap": cap}


async def list_lines(services: Services, values: Values) -> TweetLinesJson:
    """Return the lines of a job."""
    return await asyncio.to_thread(line_states.describe_lines, services.appliance, values["job"], services.now())


async def add_line(services: Services, values: Values) -> LineChangeJson:
    """Add a line at the end of the file."""
    return await _change_lines(services, values, lambda text: line_file.add_line(text, values["text"]))


async def edit_line(services: Services, values: Values) -> LineChangeJson:
    """Change one line of the file."""
    return await _change_lines(
        services, values, lambda text: line_file.replace_line(text, values["number"], values["text"])
    )


async def delete_line(services: Services, values: Values) -> LineChangeJson:
    """Delete one line of the file."""
    return await _change_lines(services, values, lambda text: line_file.delete_line(text, values["number"]))


async def move_line(services: Services, values: Values) -> LineChangeJson:
    """Move one line of the file."""
    return await _change_lines(services, values, lambda text: line_file.move_line(text, values["number"], values["to"]))


async def _change_lines(services: Services, values: Values, edit: Callable[[str], str]) -> LineChangeJson:
    config = services.appliance.config
    file = line_states.line_file(config, line_states.tweet_job(config, values["job"]))
    content = await asyncio.to_thread(file.change, edit, values["version"])
    problems = list[str]()
    if text := values.get("text"):
        check = await asyncio.to_thread(line_states.check_text, config, values["job"], text)
        problems = [each["message"] for each in check["problems"] if each["severity"] == "refused"]
    return {"file": str(file.path), "version": content.version, "lines": len(content.lines()), "problems": problems}


async def check_text(services: Services, values: Values) -> TextCheckJson:
    """Return length, cost and problems of a text."""
    return await asyncio.to_thread(line_states.check_text, services.appliance.config, values["job"], values["text"])


async def post_now(services: Services, values: Values) -> RequestedPostJson:
    """Request a run that posts `text`, or a line of the file, at once."""
    request = line_states.request_post(
        services.appliance,
        now=services.now(),
        name=values["job"],
        text=values["text"],
        line=values["line"],
        version=values["version"],
    )
    services.daemon.start_request(request)
    return {"request": request.id, "job": request.job, "run_at": iso_time(request.run_at)}


async def list_networks(services: Services, _: Values) -> list[NetworkJson]:
    """Return the networks, with the origin of each secret, or null if it is missing."""
    config = services.appliance.config
    secrets = load_secrets(config)
    return [
        {
            "network": name,
            "kind": part.kind,
            "secrets": {each: secrets.origin(each) or None for each in of_network(part)},
        }
        for name, part in config.networks.items()
    ]


_LOGINS: dict[tuple[Path, str], NetworkLogin] = {}
"""The newest login to each network since the start, by configuration file and name."""
_TESTS: dict[tuple[Path, str], Mapping[str, Any]] = {}
"""The newest result of `test_networks` in the same way, with its time under `at`."""


def last_login(config: Config, network: str) -> NetworkLogin | None:
    """Return the newest login to `network` on the page."""
    return _LOGINS.get((config.path, network))


def last_test(config: Config, network: str) -> Mapping[str, Any] | None:
    """Return the newest check of the secrets of `network` since the start of the daemon."""
    return _TESTS.get((config.path, network))


async def log_in(services: Services, values: Values) -> NetworkLoginJson:
    """Begin a login, or answer its question, and return the next question or the result."""
    config, name = services.appliance.config, values["network"]
    part = network_config(config, name)
    if not of_network(part):
        raise Refused(f"{name} needs no secrets: its kind is {part.kind}")
    login = last_login(config, name)
    if values["answer"] is None:
        if login is not None:
            login.close()
        login = _LOGINS[config.path, name] = NetworkLogin()
        await login.start(config.path, name)
    elif login is None:
        raise Refused("no login has begun; begin with Connect")
    else:
        await login.answer(values["answer"], values["step"] or 0)
    if login.account:
        test = {"network": name, "account": login.account, "error": None, "exit_status": 0, "needs_secrets": True}
        _TESTS[config.path, name] = {**test, "at": services.now()}
    return {
        "network": name,
        "messages": login.messages,
        "question": login.question or None,
        "secret": login.is_secret,
        "step": login.step,
        "account": login.account or None,
        "error": login.error or None,
    }


async def test_networks(services: Services, values: Values) -> list[NetworkTestJson]:
    """Return the account of each network, or the error."""
    config = services.appliance.config
    names: Sequence[str] = values["networks"] or tuple(config.networks)
    for name in names:
        network_config(config, name)
    # In a process of its own, so that the daemon does not import the networks' libraries (up to 19
    # MB).
    results: list[NetworkTestJson] = await run_module(
        "pi_appliance.posting.network_login", "test", str(config.path), *names
    )
    _TESTS.update({(config.path, each["network"]): {**each, "at": services.now()} for each in results})
    return results
