"""Which of an account's posts, as X gives them back, is the one that was sent.

X writes an address of its own for every web address and every picture, and &amp; &lt; &gt; for three characters.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from pi_appliance.model.post import Post

_SHORT = re.compile(r"https?://t\.co/\w+")
_MARK = re.compile("\0([0-9]+)\0")


def find(timeline: Mapping[str, Any], post: Post, known: Collection[str]) -> str | None:
    """Return the id of what in TIMELINE is POST and not KNOWN; None: nothing is. Raises ValueError on nonsense."""
    try:
        if "data" not in timeline and timeline["meta"]["result_count"] == 0:
            return None
        newest = timeline["data"]
        if not isinstance(newest, list):
            raise TypeError("posts come as a list")
        for each in newest:
            if each["id"] not in known and _is_it(each["text"], _links(each), post):
                return str(int(each["id"]))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no list of posts: {error}") from None
    return None


def holds(timeline: Mapping[str, Any], known: Collection[str]) -> bool:
    """Say whether anything in TIMELINE, in which `find` found no nonsense, is KNOWN."""
    return any(each["id"] in known for each in timeline.get("data") or ())


def _links(entry: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {link["url"]: link for link in (entry.get("entities") or {}).get("urls") or ()}


def _is_it(text: str, links: Mapping[str, Mapping[str, Any]], post: Post) -> bool:
    """Say whether TEXT, where LINKS tell what X's own addresses stand for, is the text of POST."""
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
    parts = _MARK.split(_even(plain))  # text, number, text, number, …, text
    pattern = "".join(_spellings(written[int(each)]) if at % 2 else re.escape(each) for at, each in enumerate(parts))
    return bool(pictures) == bool(post.pictures) and re.fullmatch(pattern, _even(post.text)) is not None


def _is_picture(link: Mapping[str, Any]) -> bool:
    shown, whole = str(link.get("display_url", "")), str(link.get("expanded_url", ""))
    return shown.startswith(("pic.x.com/", "pic.twitter.com/")) or bool(re.search(r"/status/\d+/photo/\d+$", whole))


def _spellings(link: Mapping[str, Any]) -> str:
    """Return a pattern for the ways to write the address of LINK: X itself adds http:// to a bare one."""
    found: set[str] = set()
    for name in ("expanded_url", "unwound_url", "display_url", "url"):
        address = re.sub("^https?://", "", _even(str(link.get(name) or ""))).rstrip("/")
        found |= {address, unquote(address), _in_letters(address), _in_letters(unquote(address))}
    return f"(?:https?://)?(?i:{'|'.join(re.escape(each) for each in sorted(found - {''}, key=len, reverse=True))})/?"


def _in_letters(address: str) -> str:
    """Return ADDRESS with its host as people write it: münchen.example for xn--mnchen-3ya.example."""
    try:
        host = urlsplit(f"//{address}").netloc
        return host.encode("ascii").decode("idna") + address.removeprefix(host)
    except ValueError:
        return address


def _even(text: str) -> str:
    """Return TEXT composed as X composes it, with one space for each gap."""
    return " ".join(unicodedata.normalize("NFC", text).split())
