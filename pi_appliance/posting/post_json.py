"""Posts as the page and the API show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from pi_appliance.errors import suggest
from pi_appliance.posting import preview
from pi_appliance.posting.model import PENDING_STATES, PostRecord, State
from pi_appliance.posting.preview import Month
from pi_appliance.posting.store import Posts
from pi_appliance.scheduling.appliance import Appliance
from pi_appliance.storage import serializers


@dataclass(frozen=True, slots=True)
class Digest:
    """All posts in one line."""

    uncertain: int
    left: int
    sent: int
    months: Sequence[Month]


def digest(appliance: Appliance, now: datetime) -> Digest | None:
    """Return the posts in one line; None where there is no network, and never was a post."""
    counts = Posts(appliance.store).counts()
    if not counts and not appliance.config.networks:
        return None
    left = sum(counts.get(each, 0) for each in PENDING_STATES)
    return Digest(counts.get(State.UNCERTAIN, 0), left, counts.get(State.SENT, 0), with_money(appliance, now))


def with_money(appliance: Appliance, now: datetime) -> list[Month]:
    """Return what the month has cost, of the networks that cost something or might."""
    return [each for each in preview.months(appliance, now) if each.spent or each.cap is not None]


def newest(appliance: Appliance, now: datetime, posts: Sequence[PostRecord]) -> dict[str, Any]:
    """Return POSTS for JSON, with how many there are of each state and what the month has cost."""
    return {
        "posts": [post_values(each) for each in posts],
        "counts": Posts(appliance.store).counts(),
        "months": [preview.values(each) for each in preview.months(appliance, now)],
    }


def link_of(post: PostRecord) -> str:
    """Return where a browser can see POST; '' if nowhere. What is no web address might be a script."""
    link = post.sent.link if post.sent else ""
    return link if link.startswith(("https://", "http://")) else ""


def state_of(request: Request) -> State | None:
    """Return the state that the query asks for. Raises HTTPException for one that is none."""
    text = request.query_params.get("state", "")
    if text and text not in list(State):
        raise HTTPException(400, f"no state is called {text!r}; {suggest(text, [str(each) for each in State])}")
    return State(text) if text else None


def post_values(intent: PostRecord) -> dict[str, Any]:
    """Return INTENT with what became of it; parts count from 1, dollars are text."""
    return {
        "post": intent.id,
        "job": intent.job,
        "slot": intent.slot,
        "network": intent.network,
        "part": intent.part + 1,
        "parts": intent.parts,
        "text": intent.text,
        "state": intent.state,
        "why": intent.why or None,
        "made": serializers.instant(intent.made),
        "until": serializers.instant(intent.until),
        "next": serializers.instant(intent.next) if intent.state in PENDING_STATES else None,
        "tries": intent.tries,
        "link": (intent.sent.link or None) if intent.sent else None,
        "sent": serializers.instant(intent.sent_at),
        "cost": str(intent.cost),
        "run": intent.run,
    }
