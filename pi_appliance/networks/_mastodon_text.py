"""Texts as Mastodon counts them, and as it shows them.

The rule is that of the server's own check (StatusLengthValidator of Mastodon 4): every grapheme is one character, a web
address counts as many as the server says, 23 everywhere so far, and of @name@server only @name counts. What a web
address is stands in its twitter_regex: it begins with http:// or https://, and its name ends in that of a real domain.
"""

import re
import unicodedata
from html.parser import HTMLParser

from pi_appliance.core import graphemes

# A domain may have any character but punctuation, spaces and what turns the direction of writing.
_IN_NAME = r"[^\s\x00-/:-@\[-`{-\x7f\u061c\u180e\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
# The server has a list of all endings there are. These are the ones that makers write and that are none.
_NO_ENDING = "corp|example|home|internal|intranet|invalid|lan|local|localdomain|localhost|private|test"
_ENDING = rf"(?!(?:{_NO_ENDING})(?![a-z0-9-]))(?:xn--[a-z0-9-]+|[a-z]{{2,}}|[^\W\d_a-z]{{2,}})(?![a-z0-9@+-])"
_DOMAIN = rf"(?:{_IN_NAME}(?:[_-]*{_IN_NAME})*\.)*{_IN_NAME}(?:-*{_IN_NAME})*\.{_ENDING}"
_IN_PATH = r"[^\s<>()?]"
_BRACKETS = rf"\((?:{_IN_PATH}+(?:\({_IN_PATH}+\){_IN_PATH}*)?|\({_IN_PATH}+\){_IN_PATH}*)\)"
_PATH_END = r"[^\s()?!*\"'「」<>;:=,.$%\[\]~&|@]"
_PATH = rf"/(?:(?:{_IN_PATH}|{_BRACKETS})*(?:{_PATH_END}|{_BRACKETS}))?"
_QUERY = r"\?[a-z0-9!?*'();:&=+$/%#\[\]_.,~|@^\xa0-\U0010ffff-]*[a-z0-9_&=#/\xa0-\U0010ffff-]"
_ADDRESS = re.compile(
    rf"(?<![A-Za-z0-9@\uff20$#\uff03\ufeff\ufffe\uffff])https?://{_DOMAIN}(?::[0-9]+)?(?:{_PATH})?(?:{_QUERY})?",
    re.IGNORECASE,
)
_MENTION = re.compile(r"(?<![=/\w])@([a-z0-9_]+(?:[.-]+[a-z0-9_]+)*)(?:@\w+(?:[.-]+\w+)*)?", re.IGNORECASE)


def weigh(text: str, address: int) -> int:
    """Return the length of TEXT as Mastodon counts it, where each web address counts ADDRESS."""
    text, addresses = _ADDRESS.subn("x", text)
    return graphemes.count(_MENTION.sub(r"@\1", text)) + addresses * (address - 1)


def same(text: str, content: str) -> bool:
    """Say whether CONTENT, the HTML of a post, is what a server makes of TEXT.

    It shortens mentions and writes them as their owner does, and it may set spaces and line ends anew.
    """
    return _bare(text) == _bare(plain(content))


def plain(content: str) -> str:
    """Return the text of CONTENT, the HTML of a post: web addresses in full, though a browser shows them shortened."""
    reader = _Reader()
    reader.feed(content)
    reader.close()
    return "".join(reader.parts).strip()


def _bare(text: str) -> str:
    text = _MENTION.sub(lambda mention: f"@{mention[1].lower()}", unicodedata.normalize("NFC", text))
    return " ".join(text.split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the base class's
        if tag == "br":
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "p":
            self.parts.append("\n\n")
