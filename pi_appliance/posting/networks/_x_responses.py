"""Meaning of the error responses of X, with the remedy.

A clear rejection is Refused, a rate limit is Unavailable. Everything else is Uncertain for a post,
because X has no idempotency key, and Unavailable for other requests.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeGuard

from pi_appliance.errors import ApplianceError, Duplicate, Refused, Unavailable, Uncertain
from pi_appliance.posting.networks import CHECK_ACCOUNT

if TYPE_CHECKING:
    import requests

CONSOLE = "X's developer console, https://console.x.com"
_LONGEST = 200  # characters of X's message that are shown
_DAY = 86_400.0  # seconds; X has no limit that lasts longer

# Patterns in a 403 response, and the remedy.
_REASONS = (
    ("spend ?cap", f"the spending limit at X is reached; raise it in {CONSOLE}, or wait for the next month"),
    ("not-enrolled|client-forbidden", f"this app belongs to no paid project at X; move it into one in {CONSOLE}"),
    ("oauth1", f"this app may not do that; give it the right to read and write in {CONSOLE}, then make new tokens"),
    ("to reply|reply to", "X does not take it as a reply; is the post that it follows still there?"),
    ("suspended", "X has suspended this account or its app; log in at https://x.com and see what it says"),
    ("temporarily locked", "X has locked this account; log in at https://x.com and see what it says"),
)


class Answers:
    """Convert responses to errors without `secrets`. `keys` is the prefix of the secrets' names."""

    def __init__(self, keys: str, secrets: Sequence[str]) -> None:
        self._keys, self._secrets = keys, secrets

    def error(self, response: "requests.Response", doing: str, *, posting: bool = False) -> ApplianceError:
        """Return the error for `response` to the action `doing` ("to post").

        With `posting`, an unclear response means that the post may have been sent.
        """
        status, body = response.status_code, parsed(response)
        words = "; ".join(dict.fromkeys(_messages(body)))
        message = self._hide_secrets(words or response.reason or "no reason given")
        detail = f"({status}: {message})"
        match status:
            case 401:
                return Refused(
                    f"X does not know the keys {detail}; check the four {self._keys}_ secrets, and the clock of this Pi"
                )
            case 402:
                return Refused(f"the credit at X is used up {detail}; add credit in {CONSOLE}")
            case 403 if posting and "duplicate" in words.lower():
                return Duplicate(f"X says that this was posted before {detail}")
            case 403:
                return Refused(f"{_find_remedy(json.dumps(body), doing)} {detail}")
            case 429:
                return Unavailable(f"X takes no more just now {detail}", after=_until_reset(response.headers))
            case _ if 400 <= status < 500 and status != 408:
                return Refused(f"X refused it {detail}")
        problem = "X had a fault of its own" if status >= 500 else "X gave an answer that is none"
        return Uncertain(f"{problem} {detail}; {CHECK_ACCOUNT}") if posting else Unavailable(f"{problem} {detail}")

    def _hide_secrets(self, text: str) -> str:
        """Return `text` as one line without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, "…")
        line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
        return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def parsed(response: "requests.Response") -> Any:
    """Return the JSON body of `response`, or None for other content, such as an error page."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def is_name(name: object) -> TypeGuard[str]:
    """Return whether `name` is a valid user name."""
    return isinstance(name, str) and re.fullmatch("[A-Za-z0-9_]{1,50}", name) is not None


def _messages(body: Any) -> Iterator[str]:
    """Yield the error texts of `body`, most specific first."""
    if not isinstance(body, dict):
        return
    errors = body.get("errors")
    for part in (*(errors if isinstance(errors, list) else ()), body):
        if isinstance(part, dict):
            words = (part.get(name) for name in ("message", "detail", "title", "error"))
            yield from [word for word in words if isinstance(word, str) and word][:1]


def _find_remedy(body: str, doing: str) -> str:
    """Return the cause of a 403 response and the remedy."""
    may_not = f"X does not allow this app {doing}; give it write permission in {CONSOLE}, then make new tokens"
    return next((why for sign, why in _REASONS if re.search(sign, body, re.IGNORECASE)), may_not)


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until every exhausted limit is reset, by the clock of X.

    Older apps also have 24-hour limits for the app and for the account.
    """
    used_up = [
        f"x-{who}-limit-24hour" for who in ("app", "user") if headers.get(f"x-{who}-limit-24hour-remaining") == "0"
    ]
    resets = (_answer_number(headers.get(f"{limit}-reset")) for limit in ("x-rate-limit", *used_up))
    known = [reset for reset in resets if reset is not None]
    try:
        now = parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, max(known) - now), _DAY) if known else None


def _answer_number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None
