"""Posts: which lines of a file are posts, and how long X says a text is.

X's rule, version 3 of its public configuration (twitter-text, config/v3.json): after NFC, a character of the ranges
below weighs 1, any other 2, every web address 23, every emoji sequence 2; 280 is the most.
"""

import re
import unicodedata
from collections.abc import Iterator

X_LIMIT = 280
_ADDRESS = 23
_LIGHT = ((0x0000, 0x10FF), (0x2000, 0x200D), (0x2010, 0x201F), (0x2032, 0x2037))
# X links bare names too. Every two-letter ending is taken for a country: at worst a text counts a little too long.
_ENDINGS = "com|org|net|info|biz|edu|gov|mil|app|dev|blog|shop|site|online|xyz|page|cloud|tech|wiki|museum|[a-z]{2}"
_URL = re.compile(
    rf"https?://[^\s<>\"]+[^\s<>\"'.,;:!?)\]}}]|(?<![\w@.#$/-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:{_ENDINGS})\b(?:/[^\s<>\"]*)?",
    re.IGNORECASE,
)
_PICTURE = (
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2300-\u23ff\u2b00-\u2bff\u2934\u2935\u203c\u2049\u3030\u303d\u3297\u3299]"
)
_ONE_EMOJI = f"(?:{_PICTURE}|[\\u0023-\\u3299](?=\ufe0f))\ufe0f?[\U0001f3fb-\U0001f3ff]?"
_EMOJI = re.compile(
    "[\U0001f1e6-\U0001f1ff]{2}"  # a flag
    "|[0-9#*]\ufe0f?\u20e3"  # a key
    f"|{_ONE_EMOJI}(?:[\U000e0020-\U000e007f]+|(?:\u200d{_ONE_EMOJI})*)"  # families, professions, flags of regions
)


def weigh(text: str) -> int:
    """Return the length of TEXT as X counts it."""
    text = unicodedata.normalize("NFC", text)
    addresses = len(_URL.findall(text))
    text = _URL.sub("", text)
    emoji = len(_EMOJI.findall(text))
    text = _EMOJI.sub("", text)
    return addresses * _ADDRESS + emoji * 2 + sum(_weight(ord(character)) for character in text)


def has_link(text: str) -> bool:
    """Say whether X takes something in TEXT for a web address: such a post costs more."""
    return _URL.search(unicodedata.normalize("NFC", text)) is not None


def _weight(point: int) -> int:
    return 1 if any(low <= point <= high for low, high in _LIGHT) else 2


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the posts of a file with their line numbers: a line each, but blank ones and those that begin with #."""
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        post = line.strip()
        if post and not post.startswith("#"):
            yield number, post
