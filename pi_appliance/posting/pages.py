"""The pages of posts and tweets: posts and their states, the lines of jobs, and the spending."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pi_appliance.errors import suggest
from pi_appliance.posting import api, forecast, line_states
from pi_appliance.posting.cli import line_problems
from pi_appliance.posting.exactly_once import network_config
from pi_appliance.posting.model import PostRecord, PostState
from pi_appliance.posting.store import PostDatabase
from pi_appliance.posting.tweet_job import TWEET_KIND
from pi_appliance.scheduling.daemon_interface import Services
from pi_appliance.web.pages import Pages
from pi_appliance.web.params import query_number

_PAGE_SIZE = 50  # posts
_LINES = 100  # lines of a tweet job on a page; the links of the pager use the same number
_MAX_QUESTIONS = 20  # uncertain posts shown at a time


class PostPages:
    """The endpoints that return a page about posts."""

    def __init__(self, services: Services, pages: Pages) -> None:
        self._services, self._pages = services, pages

    def routes(self) -> list[Route]:
        """Return the routes of this class."""
        return [
            Route("/networks", self.networks),
            Route("/networks/{network}", self.network),
            Route("/posts", self.posts),
            Route("/tweets", self.tweets),
            Route("/parts/posts", self.part),
        ]

    async def tweets(self, request: Request) -> Response:
        """Show the next post, the lines with their states, and forms to change them."""
        appliance = self._services.appliance
        jobs = [name for name, each in appliance.config.jobs.items() if each.kind == TWEET_KIND]
        job = request.query_params.get("job") or next(iter(jobs), "")
        if not job:
            return self._pages.page("posting/tweets.html", jobs=jobs, job=job)
        result = await api.list_lines(self._services, {"job": job})
        upcoming, chance = result["next"], result["next_chance"]
        networks = appliance.config.jobs[result["job"]].options.network
        rows = [_row(each) for each in result["lines"]]
        numbers = [each["number"] for each in rows]
        for place, row in enumerate(rows):
            row |= {
                "start": place - place % _LINES,
                "above": numbers[place - 1] if place else None,
                "below": numbers[place + 1] if place + 1 < len(rows) else None,
            }
        start = query_number(request, "start") or 0
        return self._pages.page(
            "posting/tweets.html",
            jobs=jobs,
            job=job,
            job_links=[(f"/tweets?job={quote(each, safe='')}", each) for each in jobs],
            file_version=result["version"],
            next=upcoming and {**upcoming, "at": _instant(upcoming["at"]), "cost": Decimal(upcoming["cost"])},
            next_start=next((each["start"] for each in rows if each["next"]), 0),
            problems=result["problems"],
            invalid=[each for each in rows if each["state"] == "invalid"][:_MAX_QUESTIONS],
            refused=line_states.describe_refused(appliance, job)[:_MAX_QUESTIONS],
            next_chance=chance and {**chance, "at": _instant(chance["at"])},
            months=[
                each for each in forecast.month_spends(appliance, self._services.now()) if each.network in networks
            ],
            lines=rows[start : start + _LINES],
            start=start,
            total=len(rows),
            posted=result["posted"],
            line_problems=line_problems,
        )

    async def networks(self, _: Request) -> Response:
        """Show each network with its account, what a post costs, and how to connect it."""
        return self._pages.page("posting/networks.html", networks=await self._describe_networks())

    async def network(self, request: Request) -> Response:
        """Show one network, and the question of its login."""
        name = request.path_params["network"]
        network_config(self._services.appliance.config, name)  # raises UnknownName for an unknown network
        (network,) = (each for each in await self._describe_networks() if each["network"] == name)
        login = api.last_login(self._services.appliance.config, name)
        return self._pages.page("posting/network.html", network=network, login=login)

    async def _describe_networks(self) -> list[Mapping[str, Any]]:
        services = self._services
        config = services.appliance.config
        months = {each.network: each for each in forecast.month_spends(services.appliance, services.now())}
        jobs = {name: getattr(each.options, "network", None) or () for name, each in config.jobs.items()}
        return [
            {
                **each,
                "cost": months[each["network"]],
                "test": api.last_test(config, each["network"]),
                "is_connected": None not in each["secrets"].values(),
                "jobs": [job for job, networks in jobs.items() if each["network"] in networks],
            }
            for each in await api.list_networks(services, {})
        ]

    async def posts(self, request: Request) -> Response:
        """Show the uncertain posts with buttons, the spending, and all posts, newest first."""
        appliance, state = self._services.appliance, _state_filter(request)
        newest = [view.last for view in appliance.jobs(self._services.now()) if view.last]
        database = PostDatabase(appliance.store)
        records = database.newest_posts(limit=_PAGE_SIZE + 1, before=query_number(request, "before"), state=state)
        counts = database.count_by_state()
        return self._pages.page(
            "posting/posts.html",
            uncertain=database.newest_posts(limit=_MAX_QUESTIONS, state=PostState.UNCERTAIN),
            ended={run.job: run.id if run.outcome else run.id - 1 for run in newest},
            months=forecast.paid_months(appliance, self._services.now()),
            counts={each: counts[each] for each in PostState if each in counts},
            selected_state=state,
            posts=records[:_PAGE_SIZE],
            next_before=records[_PAGE_SIZE - 1].id if len(records) > _PAGE_SIZE else None,
            web_link=_web_link,
            resendable={each.id for job in appliance.config.jobs for each in database.resendable_posts(job)},
        )

    async def part(self, _: Request) -> Response:
        """Return the summary line of the home page."""
        digest = forecast.post_digest(self._services.appliance, self._services.now())
        return self._pages.page("posting/_summary.html", digest=digest)


def _row(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return `line` with times as such, for the page."""
    posts = [{**each, "at": _instant(each["at"])} for each in line["posts"]]
    return {**line, "posts": posts, "next_at": line["next_at"] and _instant(line["next_at"])}


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _web_link(post: PostRecord) -> str:
    """Return the web address of `post`; empty for anything else, which could be a script."""
    link = post.remote.link if post.remote else ""
    return link if link.startswith(("https://", "http://")) else ""


def _state_filter(request: Request) -> PostState | None:
    name = request.query_params.get("state", "")
    if name and name not in list(PostState):
        raise HTTPException(
            400, f"{name!r} is not a state of posts; {suggest(name, [str(each) for each in PostState])}"
        )
    return PostState(name) if name else None
