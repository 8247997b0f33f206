"""Network "x": options, prices and limits of X.

The client, which imports tweepy, is `_x_client.py`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Annotated

from pi_appliance.config.options import NetworkDirs
from pi_appliance.config.units import Money
from pi_appliance.errors import Issues, Refused
from pi_appliance.posting import x_text
from pi_appliance.posting.model import Network, Post, PostLimits, Prompt
from pi_appliance.storage.model import Picture

HOME = "https://api.twitter.com"  # the address that tweepy signs; also that of the PIN
API = "https://api.x.com"  # the address of everything else, by X's documentation
KEYS = ("CONSUMER_KEY", "CONSUMER_SECRET", "ACCESS_TOKEN", "ACCESS_TOKEN_SECRET")

# Prices: docs.x.com/x-api/getting-started, as of April 2026. X charges each post that a search
# returns, and each alt text as a separate request.
_POST, _POST_WITH_LINK = Money("0.015"), Money("0.200")
_ALT_TEXT, _SEARCHED_POST_PRICE = Decimal("0.005"), Decimal("0.001")
MIN_SEARCHED = 20  # newest posts that are searched if no known post limits the search

# docs.x.com/x-api/media/quickstart/best-practices
MIMES = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}
_PICTURES, _PICTURE_BYTES, _ALT_LETTERS = 4, 5_000_000, 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of this kind under `with:`. The four keys of the account are secrets."""

    timeout: Annotated[timedelta, "how long to wait for X to connect, and then to answer"] = timedelta(seconds=30)
    secrets_prefix: Annotated[str, "the prefix of its secrets' names; use another one for a second account"] = "X"
    price: Annotated[Money, "dollars that a post costs"] = _POST
    price_with_link: Annotated[Money, "dollars that a post with a web address in it costs"] = _POST_WITH_LINK
    monthly_cap: Annotated[
        Money | None, "dollars; when a post would cost more than is left of them, it is not sent"
    ] = None
    verify_uncertain: Annotated[bool, "after a lost response, search for the post; costs two cents at most"] = True
    search_lag: Annotated[timedelta, "how late X may show a new post; it is searched once more then"] = timedelta(
        minutes=5
    )
    server: Annotated[str, "where X's API is; another address to try things out"] = HOME

    def check(self) -> Issues:
        """Return the invalid values: key, problem and remedy."""
        problems: Issues = []
        if not self.server.startswith(("https://", "http://127.0.0.1:", "http://localhost:")):
            problems.append((("server",), f"{self.server!r} would send the keys unprotected", "begin it with https://"))
        if not re.fullmatch("[A-Z][A-Z0-9_]*", self.secrets_prefix):
            problems.append(
                (
                    ("secrets-prefix",),
                    f"{self.secrets_prefix!r} is not valid at the beginning of a name",
                    "write capitals and digits, such as X2",
                )
            )
        if not self.timeout:
            problems.append((("timeout",), "the timeout is zero", "write 30s"))
        if not self.search_lag:
            problems.append((("search-lag",), "X may show a new post late", "write 5m"))
        return problems


def required_secrets(options: Options) -> Mapping[str, str]:
    """Return the names of the required secrets and their meaning."""
    meanings = ("the app's key", "the app's secret", "the account's token", "the account's token secret")
    return {f"{options.secrets_prefix}_{name}": meaning for name, meaning in zip(KEYS, meanings, strict=True)}


def post_limits(options: Options, dirs: NetworkDirs) -> PostLimits:  # noqa: ARG001 - the shape of all networks
    """Return the limits and prices of X."""
    return XLimits(options)


def connect(options: Options, secrets: Mapping[str, str], dirs: NetworkDirs) -> Network:
    """Return the network; nothing is sent yet. Raises Refused if secrets are missing."""
    if missing := [name for name in required_secrets(options) if not secrets.get(name)]:
        raise Refused(f"missing secrets: {', '.join(missing)}; run: pi-appliance networks login")
    from pi_appliance.posting.networks._x_client import XAccount  # noqa: PLC0415 - loads tweepy: 0.2 s and 8 MB

    return XAccount(options, [secrets[name] for name in required_secrets(options)], dirs.private)


def login(options: Options, prompt: Prompt) -> Mapping[str, str]:
    """Guide the owner through the login and return the four keys.

    Raises:
        Refused: X rejected the login.
        Unavailable: X did not answer.
    """
    from pi_appliance.posting.networks._x_client import run_login  # noqa: PLC0415 - loads requests

    return dict(zip(required_secrets(options), run_login(options, prompt), strict=True))


class XLimits:
    """Limits of X."""

    max_length = x_text.X_LIMIT
    plays_animations = False  # X's upload takes still pictures only

    def __init__(self, options: Options) -> None:
        self.prices = XPrices(options)

    def text_length(self, text: str) -> int:
        """Return the length of `text` as X counts it."""
        return x_text.text_length(text)

    def rejection_reason(self, post: Post) -> str:
        """Return why X would reject `post`, or an empty string."""
        weight, pictures = self.text_length(post.text), len(post.pictures)
        if weight > self.max_length:
            return f"{weight} of {self.max_length}"
        if not (post.text.strip() or pictures):
            return "nothing to post"
        if forbidden := x_text.forbidden_characters(post.text):
            return forbidden
        if pictures > _PICTURES:
            return f"{pictures} of {_PICTURES} pictures"
        return next((wrong for picture in post.pictures if (wrong := _wrong_picture(picture))), "")


class XPrices:
    """Prices of X, in US dollars."""

    lookup_price = _SEARCHED_POST_PRICE * MIN_SEARCHED

    def __init__(self, options: Options) -> None:
        self.monthly_cap: Decimal | None = options.monthly_cap
        self._plain, self._with_link = options.price, options.price_with_link

    def post_price(self, post: Post) -> Decimal:
        """Return the price of `post`, with its descriptions of pictures."""
        alt = sum(_ALT_TEXT for picture in post.pictures if picture.alt)
        return alt + (self._with_link if x_text.has_link(post.text) else self._plain)


def _wrong_picture(picture: Picture) -> str:
    if picture.mime not in MIMES:
        return f"a picture of type {picture.mime or 'unknown'}; X accepts png, jpeg and webp"
    if len(picture.data) > _PICTURE_BYTES:
        return f"a picture of {len(picture.data):,} of {_PICTURE_BYTES:,} bytes"
    letters = len(picture.alt)
    return f"{letters} of {_ALT_LETTERS} characters about a picture" if letters > _ALT_LETTERS else ""
