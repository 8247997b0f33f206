"""What an answer of X other than 2xx means, and what the owner must do about it.

A clear no is Refused, a limit is Unavailable until it is lifted. All else leaves open whether a post stands, for X has
no key that makes a second try harmless; where nothing was to be posted it is Unavailable.
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
_LONGEST = 200  # characters of X's own words
_DAY = 86_400.0  # seconds; X has no limit that lasts longer

# What a 403 says, and what to do about it.
_REASONS = (
    ("spend ?cap", f"the spending limit at X is reached; raise it in {CONSOLE}, or wait for the next month"),
    ("not-enrolled|client-forbidden", f"this app belongs to no paid project at X; move it into one in {CONSOLE}"),
    ("oauth1", f"this app may not do that; give it the right to read and write in {CONSOLE}, then make new tokens"),
    ("to reply|reply to", "X does not take it as a reply; is the post that it follows still there?"),
    ("suspended", "X has suspended this account or its app; log in at https://x.com and see what it says"),
    ("temporarily locked", "X has locked this account; log in at https://x.com and see what it says"),
)


class Answers:
    """Turns answers into errors. KEYS is what the names of the secrets begin with; SECRETS are never told."""

    def __init__(self, keys: str, secrets: Sequence[str]) -> None:
        self._keys, self._secrets = keys, secrets

    def error(self, response: "requests.Response", doing: str, *, posting: bool = False) -> ApplianceError:
        """Return what RESPONSE to DOING ('to post') means. POSTING: if it leaves it open, a post may stand."""
        status, body = response.status_code, parsed(response)
        words = "; ".join(dict.fromkeys(_messages(body)))
        said = self._plain(words or response.reason or "no reason given")
        told = f"({status}: {said})"
        match status:
            case 401:
                return Refused(
                    f"X does not know the keys {told}; check the four {self._keys}_ secrets, and the clock of this Pi"
                )
            case 402:
                return Refused(f"the credit at X is used up {told}; add credit in {CONSOLE}")
            case 403 if posting and "duplicate" in words.lower():
                return Duplicate(f"X says that this was posted before {told}")
            case 403:
                return Refused(f"{_reason(json.dumps(body), doing)} {told}")
            case 429:
                return Unavailable(f"X takes no more just now {told}", after=_until_reset(response.headers))
            case _ if 400 <= status < 500 and status != 408:
                return Refused(f"X refused it {told}")
        what = "X had a fault of its own" if status >= 500 else "X gave an answer that is none"
        return Uncertain(f"{what} {told}; {CHECK_ACCOUNT}") if posting else Unavailable(f"{what} {told}")

    def _plain(self, text: str) -> str:
        """Return TEXT as one line that holds no secret, whoever wrote it."""
        for secret in self._secrets:
            text = text.replace(secret, "…")
        line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
        return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def parsed(response: "requests.Response") -> Any:
    """Return the JSON in the body of RESPONSE; None if it is none, an error page for instance."""
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def is_name(name: object) -> TypeGuard[str]:
    """Say whether NAME can be that of an account."""
    return isinstance(name, str) and re.fullmatch("[A-Za-z0-9_]{1,50}", name) is not None


def _messages(body: Any) -> Iterator[str]:
    """Yield what BODY says in words, the most exact first."""
    if not isinstance(body, dict):
        return
    errors = body.get("errors")
    for part in (*(errors if isinstance(errors, list) else ()), body):
        if isinstance(part, dict):
            words = (part.get(name) for name in ("message", "detail", "title", "error"))
            yield from [word for word in words if isinstance(word, str) and word][:1]


def _reason(body: str, doing: str) -> str:
    """Return what a 403 with BODY is about."""
    may_not = f"X does not allow this app {doing}; give it write permission in {CONSOLE}, then make new tokens"
    return next((why for sign, why in _REASONS if re.search(sign, body, re.IGNORECASE)), may_not)


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until every limit that is used up is lifted, by X's own clock: that of a Pi may be wrong.

    Beside the limit of a quarter of an hour, older apps have limits of 24 hours for the app and for the account.
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
