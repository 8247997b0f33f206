"""Login to X by console keys or PIN (OAuth 1.0a), and search of a post in a timeline."""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from requests_oauthlib import OAuth1

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.posting.interface import Prompt
from pi_appliance.posting.model import Post
from pi_appliance.posting.networks._http import HTTPStatusError, Session, TransportError
from pi_appliance.posting.networks._x_responses import CONSOLE, Answers, is_name

_AGAIN = "nothing was changed; try again later"


def run_login(prompt: Prompt, session: Session, *, home: str, shown: str, keys: str) -> Sequence[str]:
    """Return key and secret of the app, and token and secret of the account.

    Args:
        prompt: asks the owner.
        session: sends the requests.
        home: base URL of the requests.
        shown: base of the address that the owner opens.
        keys: prefix of the names of the secrets.

    Raises:
        Refused: X rejected the login, or an entry is missing.
        Unavailable: X did not answer.

    """
    prompt.show(f"{CONSOLE}, shows the keys of an app under 'Keys and tokens'. It needs the right to read and write.")
    app = (_ask_required(prompt, "API key (or consumer key)"), _ask_required(prompt, "API key secret"))
    token = prompt.ask("Access token, if the console made one for this account; else Enter, for a PIN", secret=True)
    if token:
        return (*app, token, _ask_required(prompt, "Access token secret"))
    return (*app, *_Pin(prompt, session, home, keys, app).walk(shown))


def _ask_required(prompt: Prompt, label: str) -> str:
    answer = prompt.ask(label, secret=True)
    if not answer:
        raise Refused(f"no {label} was given; nothing was changed")
    return answer


class _Pin:
    """PIN login: get a request token, let the owner allow the app, exchange the PIN for the account's token."""

    def __init__(self, prompt: Prompt, session: Session, home: str, keys: str, app: tuple[str, str]) -> None:
        self._prompt, self._session, self._home, self._app = prompt, session, home, app
        self._answers = Answers(keys, app)

    def walk(self, shown: str) -> tuple[str, str]:
        """Return the account's token and its secret."""
        token, secret = self._request_token()
        self._prompt.show(
            f"Open this address on any device, logged in as the account that is to post, and allow the app:\n"
            f"{shown}/oauth/authorize?{urlencode({'oauth_token': token})}"
        )
        pin = "".join(self._prompt.ask("The PIN that X shows then").split())
        if not pin:
            raise Refused("no PIN was given; nothing was changed")
        return self._exchange_pin(token, secret, pin)

    def _request_token(self) -> tuple[str, str]:
        refused = {
            401: "X does not know this API key and secret; check both, and the clock of this Pi",
            403: "X lets nobody log in to this app by a PIN; set up its 'User authentication settings' in "
            f"{CONSOLE}, or make the access token there",
        }
        fields = self._call_step("request_token", OAuth1(*self._app, callback_uri="oob"), refused)
        return fields["oauth_token"], fields["oauth_token_secret"]

    def _exchange_pin(self, token: str, secret: str, pin: str) -> tuple[str, str]:
        wrong = "X does not take this PIN; begin again for a new one"
        fields = self._call_step(
            "access_token", OAuth1(*self._app, token, secret, verifier=pin), {401: wrong, 403: wrong}
        )
        if is_name(fields.get("screen_name")):
            self._prompt.show(f"These are the keys of @{fields['screen_name']}.")
        return fields["oauth_token"], fields["oauth_token_secret"]

    def _call_step(self, step: str, sign: OAuth1, refused: dict[int, str]) -> dict[str, str]:
        """Return the fields of the response at `step`.

        `refused` has the messages for rejected requests.
        """
        try:
            response = self._session.request("POST", f"{self._home}/oauth/{step}", auth=sign)
        except TransportError as cut:
            raise Unavailable(f"{cut}; {_AGAIN}") from None
        except HTTPStatusError as answered:
            if words := refused.get(answered.response.status_code):
                raise Refused(f"{words} ({answered.response.status_code})") from None
            raise self._answers.error(answered.response, "to log anybody in") from None
        fields = {name: values[0] for name, values in parse_qs(response.content.decode("utf-8", "replace")).items()}
        if not (fields.get("oauth_token") and fields.get("oauth_token_secret")):
            raise Unavailable(f"X sent an invalid response; {_AGAIN}")
        return fields


_SHORT = re.compile(r"https?://t\.co/\w+")
_MARK = re.compile("\0([0-9]+)\0")


def find_in_timeline(timeline: Mapping[str, Any], post: Post, known_ids: Collection[str]) -> str | None:
    """Return the id of the post in `timeline` that equals `post` and is not known.

    Raises ValueError if the timeline is not valid.
    """
    try:
        if "data" not in timeline and timeline["meta"]["result_count"] == 0:
            return None
        newest = timeline["data"]
        if not isinstance(newest, list):
            raise TypeError("posts come as a list")
        for each in newest:
            if each["id"] not in known_ids and _is_same_text(each["text"], _index_links(each), post):
                return str(int(each["id"]))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no list of posts: {error}") from None
    return None


def contains_known(timeline: Mapping[str, Any], known_ids: Collection[str]) -> bool:
    """Return whether `timeline` contains a known post."""
    return any(each["id"] in known_ids for each in timeline.get("data") or ())


def _index_links(entry: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {link["url"]: link for link in (entry.get("entities") or {}).get("urls") or ()}


def _is_same_text(text: str, links: Mapping[str, Mapping[str, Any]], post: Post) -> bool:
    """Return whether `text` is the text of `post`. `links` are the targets of t.co addresses."""
    written: list[Mapping[str, Any]] = []
    pictures = 0

    def mark(match: re.Match[str]) -> str:
        nonlocal pictures
        link = links.get(match[0])
        at_end = not text[match.end() :].strip()
        if _is_picture(link) if link else post.pictures and at_end:
            pictures += 1
            return ""
        written.append(link or {"expanded_url": match[0]})
        return f"\0{len(written) - 1}\0"

    marked = _SHORT.sub(mark, text.replace("\0", ""))
    plain = marked.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    parts = _MARK.split(_normalize_text(plain))  # text, number, text, number, …, text
    pattern = "".join(_link_pattern(written[int(each)]) if at % 2 else re.escape(each) for at, each in enumerate(parts))
    return bool(pictures) == bool(post.pictures) and re.fullmatch(pattern, _normalize_text(post.text)) is not None


def _is_picture(link: Mapping[str, Any]) -> bool:
    shown, whole = str(link.get("display_url", "")), str(link.get("expanded_url", ""))
    return shown.startswith(("pic.x.com/", "pic.twitter.com/")) or bool(re.search(r"/status/\d+/photo/\d+$", whole))


def _link_pattern(link: Mapping[str, Any]) -> str:
    """Return a pattern for the possible spellings of `link`: X adds http:// to bare names."""
    addresses: set[str] = set()
    for name in ("expanded_url", "unwound_url", "display_url", "url"):
        address = re.sub("^https?://", "", _normalize_text(str(link.get(name) or ""))).rstrip("/")
        addresses |= {address, unquote(address), _in_letters(address), _in_letters(unquote(address))}
    return (
        f"(?:https?://)?(?i:{'|'.join(re.escape(each) for each in sorted(addresses - {''}, key=len, reverse=True))})/?"
    )


def _in_letters(address: str) -> str:
    """Return `address` with its host in Unicode: münchen.example for xn--mnchen-3ya.example."""
    try:
        host = urlsplit(f"//{address}").netloc
        return host.encode("ascii").decode("idna") + address.removeprefix(host)
    except ValueError:
        return address


def _normalize_text(text: str) -> str:
    """Return `text` in NFC, with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).split())
