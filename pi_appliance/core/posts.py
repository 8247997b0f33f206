"""Posts: how long X says a text is, whether there is a link in it, and what X never takes.

X's rule, version 3 of its public configuration (twitter-text, config/v3.json): after NFC, a character of the ranges
below weighs 1, any other 2, every web address 23, every emoji 2, however many characters it is; 280 is the most.
"""

import re
import unicodedata

from pi_appliance.core import links
from pi_appliance.core.emoji import sequences

X_LIMIT = 280
_ADDRESS = 23
_EMOJI = 2
_HEAVY = re.compile("[^\u0000-\u10ff\u2000-\u200d\u2010-\u201f\u2032-\u2037]")  # weighs 2
_NEVER = re.compile("[\ufffe\uffff\ufeff\ud800-\udfff]")  # no characters, a mark for the order of bytes, halves of some


def weigh(text: str) -> int:
    """Return the length of TEXT as X counts it."""
    text = unicodedata.normalize("NFC", text)
    weight = at = 0
    for start, end in links.find(text):
        weight += _weigh_plain(text[at:start]) + _ADDRESS
        at = end
    return weight + _weigh_plain(text[at:])


def has_link(text: str) -> bool:
    """Say whether X takes something in TEXT for a web address: such a post costs more."""
    return any(links.find(unicodedata.normalize("NFC", text)))


def refuses(text: str) -> str:
    """Return why X takes no text like TEXT, however short; '' if it does."""
    never = _NEVER.search(unicodedata.normalize("NFC", text))
    return f"a character that X never takes: U+{ord(never[0]):04X}" if never else ""


def _weigh_plain(text: str) -> int:
    if not _HEAVY.search(text):  # most texts; and every emoji of several characters has a heavy one
        return len(text)
    rest, emoji = sequences().subn("", text)
    return emoji * _EMOJI + len(rest) + len(_HEAVY.findall(rest))
