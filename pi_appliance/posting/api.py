"""Handlers of the operations on posts and networks, and the schemas of their results."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from pi_appliance.config.model import Config
from pi_appliance.config.secrets import of_network
from pi_appliance.errors import Refused
from pi_appliance.json_schema import (
    ANY,
    FLAG,
    INSTANT,
    TEXT,
    WHOLE,
    Schema,
    describe,
    list_of,
    nullable,
    object_of,
    reference,
)
from pi_appliance.operations import Values
from pi_appliance.posting import connect, line_file, tweet_lines
from pi_appliance.posting.connect import load_secrets
from pi_appliance.posting.model import OWNER_DECISIONS, PostLimits, PostState, record_json
from pi_appliance.posting.network_login import NetworkLogin
from pi_appliance.posting.preview import MonthlyForecast, PostPreview, UpcomingPost, month_json, month_spends
from pi_appliance.posting.store import PostDatabase
from pi_appliance.posting.tweet_job import TWEET_KIND
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.scheduling.child_runs import run_module
from pi_appliance.scheduling.interface import Services
from pi_appliance.storage.backup import open_history
from pi_appliance.storage.model import iso_time

_CENT = Decimal("0.01")
_POST: Mapping[str, Schema] = {
    **dict.fromkeys(("id", "part", "parts", "attempts"), WHOLE),
    **dict.fromkeys(("job", "slot", "network", "text", "state", "cost"), TEXT),
}
_NETWORK_TEST: Mapping[str, Schema] = {
    "network": TEXT,
    "account": nullable(TEXT),
    "error": nullable(TEXT),
    "exit_status": describe(WHOLE, "0: accepted, 75: not reached, else: rejected"),
    "needs_secrets": FLAG,
}
_NETWORK_LOGIN: Mapping[str, Schema] = {
    "network": TEXT,
    "messages": describe(list_of(TEXT), "what to do before the answer, with the address to open"),
    "question": nullable(TEXT),
    "secret": describe(FLAG, "whether the answer is to be hidden while it is typed"),
    "step": describe(WHOLE, "the number of the question, for the answer"),
    "account": describe(nullable(TEXT), "the account, after the secrets were checked and stored"),
    "error": nullable(TEXT),
}
_COUNTS: Mapping[str, Schema] = {
    "networks": list_of(object_of({"network": TEXT, "length": WHOLE, "max_length": WHOLE})),
    "cost": describe(TEXT, "US dollars, without pictures"),
    "problems": list_of(
        object_of({"severity": TEXT, "network": nullable(TEXT), "message": TEXT, "parts": nullable(WHOLE)})
    ),
}
_LINE_POST: Mapping[str, Schema] = {
    **dict.fromkeys(("network", "state"), TEXT),
    "at": INSTANT,
    **dict.fromkeys(("link", "reason"), nullable(TEXT)),
}
_TWEET_LINE: Mapping[str, Schema] = {
    "number": WHOLE,
    "text": TEXT,
    "state": describe(TEXT, "ready, posted, sending, uncertain, refused, dropped or invalid"),
    "next": FLAG,
    "posts": list_of(object_of(_LINE_POST)),
    **_COUNTS,
}
_NEXT_POST: Mapping[str, Schema] = {
    "number": WHOLE,
    "text": TEXT,
    "at": INSTANT,
    "networks": list_of(TEXT),
    "cost": TEXT,
}
_MONTH: Mapping[str, Schema] = {
    **dict.fromkeys(("network", "spent", "price", "price_with_link"), TEXT),
    **dict.fromkeys(("monthly_cap", "left"), nullable(TEXT)),
}
_TWEET_LINES: Mapping[str, Schema] = {
    **dict.fromkeys(("job", "file", "version"), TEXT),
    "lines": list_of(object_of(_TWEET_LINE)),
    "posted": describe(WHOLE, "lines that do not come again in this round"),
    "problems": list_of(TEXT),
    "next": nullable(object_of(_NEXT_POST)),
    "next_chance": nullable(object_of({"at": INSTANT, "chance": TEXT, "why_not": nullable(TEXT)})),
    "costs": list_of(object_of(_MONTH)),
}
_REFUSED: Mapping[str, Schema] = {
    "post": describe(WHOLE, "the number for `resend` and `drop`"),
    **dict.fromkeys(("job", "slot", "text"), TEXT),
    "line": nullable(WHOLE),
    "posts": list_of(reference("Post")),
}
SCHEMAS: Mapping[str, Schema] = {
    "Post": object_of(_POST, more=True),
    "Posts": object_of({"posts": list_of(reference("Post")), "counts": ANY, "months": list_of(object_of(_MONTH))}),
    "RefusedPosts": object_of({"refused": list_of(object_of(_REFUSED))}),
    "SentPosts": object_of({"posts": list_of(reference("Post"))}),
    "PostPreview": object_of({"slots": list_of(ANY), "cost": TEXT, "month": ANY}),
    "TweetLines": object_of(_TWEET_LINES),
    "LineChange": object_of({"file": TEXT, "version": TEXT, "lines": WHOLE}),
    "TextCheck": object_of({"text": TEXT, "good": FLAG, **_COUNTS}),
    "Networks": list_of(object_of({"network": TEXT, "kind": TEXT, "secrets": ANY})),
    "NetworkLogin": object_of(_NETWORK_LOGIN),
    "NetworkTests": list_of(object_of(_NETWORK_TEST)),
}


async def list_posts(services: Services, values: Values) -> object:
    """Return posts, their number by state, and the spending of the month in US dollars."""
    database = PostDatabase(services.appliance.store)
    state = PostState(values["state"]) if values["state"] else None
    records = database.newest_posts(limit=values["count"], before=values["before"], state=state)
    return {
        "posts": [record_json(each) for each in records],
        "counts": database.count_by_state(),
        "months": [month_json(each) for each in month_spends(services.appliance, services.now())],
    }


async def resolve_post(services: Services, values: Values) -> object:
    """Record the owner's decision about an uncertain post. Raises UnknownName."""
    state, reason = OWNER_DECISIONS[values["answer"]]
    database = PostDatabase(services.appliance.store)
    record = database.resolve_post(values["post"], state, reason, link=values["link"], now=services.now())
    services.daemon.wake()
    return record_json(record)


async def list_refused(services: Services, values: Values) -> object:
    """Return what networks did not take."""
    return {"refused": tweet_lines.describe_refused(services.appliance, values["job"])}


async def resend_post(services: Services, values: Values) -> object:
    """Send a refused post again."""
    records = tweet_lines.resend(
        services.appliance, values["post"], values["text"], values["version"], now=services.now()
    )
    services.daemon.wake()
    return {"posts": [record_json(each) for each in records]}


async def drop_post(services: Services, values: Values) -> object:
    """Record that a refused post is not wanted."""
    return {"posts": [record_json(each) for each in tweet_lines.drop(services.appliance, values["post"])]}


async def preview_posts(services: Services, values: Values) -> object:
    """Return the next slots of one or of all tweet jobs, their cost, and an average month."""
    return await asyncio.to_thread(_preview, services.appliance, values["job"], values["count"], services.now())


def _preview(shared: Appliance, job: str | None, count: int, now: datetime) -> Mapping[str, Any]:
    # This is another thread than the daemon's, so it needs its own connection to the database.
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


def _upcoming_json(appliance: Appliance, upcoming: UpcomingPost, limits: Mapping[str, PostLimits]) -> dict[str, Any]:
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


async def list_lines(services: Services, values: Values) -> Mapping[str, Any]:
    """Return the lines of a job."""
    return await asyncio.to_thread(tweet_lines.describe_lines, services.appliance, values["job"], services.now())


async def add_line(services: Services, values: Values) -> object:
    """Add a line at the end of the file."""
    return await _change_lines(services, values, lambda text: line_file.add_line(text, values["text"]))


async def edit_line(services: Services, values: Values) -> object:
    """Change one line of the file."""
    return await _change_lines(
        services, values, lambda text: line_file.replace_line(text, values["number"], values["text"])
    )


async def delete_line(services: Services, values: Values) -> object:
    """Delete one line of the file."""
    return await _change_lines(services, values, lambda text: line_file.delete_line(text, values["number"]))


async def move_line(services: Services, values: Values) -> object:
    """Move one line of the file."""
    return await _change_lines(services, values, lambda text: line_file.move_line(text, values["number"], values["to"]))


async def _change_lines(services: Services, values: Values, edit: Callable[[str], str]) -> object:
    config = services.appliance.config
    file = tweet_lines.line_file(config, tweet_lines.tweet_job(config, values["job"]))
    content = await asyncio.to_thread(file.change, edit, values["version"])
    return {"file": str(file.path), "version": content.version, "lines": len(content.lines())}


async def check_text(services: Services, values: Values) -> object:
    """Return length, cost and problems of a text."""
    return await asyncio.to_thread(tweet_lines.check_text, services.appliance.config, values["job"], values["text"])


async def post_now(services: Services, values: Values) -> object:
    """Request a run that posts a text or a line."""
    request = tweet_lines.request_post(
        services.appliance,
        now=services.now(),
        name=values["job"],
        text=values["text"],
        line=values["line"],
        version=values["version"],
    )
    services.daemon.start_request(request)
    return {"request": request.id, "job": request.job, "run_at": iso_time(request.run_at)}


async def list_networks(services: Services, _: Values) -> Sequence[Mapping[str, Any]]:
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


async def log_in(services: Services, values: Values) -> object:
    """Begin a login, or answer its question, and return the next question or the result."""
    config, name = services.appliance.config, values["network"]
    part = connect.network_config(config, name)
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


async def test_networks(services: Services, values: Values) -> object:
    """Return the account of each network, or the error."""
    config = services.appliance.config
    names: Sequence[str] = values["networks"] or tuple(config.networks)
    for name in names:
        connect.network_config(config, name)
    # The daemon does not import the networks' libraries, which take up to 19 MB.
    results: Sequence[Mapping[str, Any]] = await run_module("pi_appliance.posting.connect", str(config.path), *names)
    _TESTS.update({(config.path, each["network"]): {**each, "at": services.now()} for each in results})
    return results
