"""Links: what X takes for a web address in a text, by the rules of its public library twitter-text, version 3.

An address with http:// or https:// may have a name in any script. A bare name becomes a link too, but only what is in
Latin letters of it. Both must end with a top-level name: neither http://raspberrypi.local nor v1.2 is a link.
"""

import re
from collections.abc import Iterator
from functools import cache

from pi_appliance.core.top_level_names import is_top_level

_LATIN = (
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0253\u0254\u0256\u0257\u0259\u025b\u0263\u0268\u026f\u0272\u0289\u028b"
    "\u02bb\u0300-\u036f\u1e00-\u1eff"
)
_SPACE = r"\t-\r \u0085\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_DIRECTION = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_NO_CHARACTER = "\ufffe\uffff\ufeff"
_LETTER = rf"[^!'#%&()*+,\\\-./:;<=>?@\[\]^_{{|}}~${_SPACE}{_DIRECTION}{_NO_CHARACTER}]"  # of a name, in any script
_LABEL = rf"(?>{_LETTER}+(?:[_-]+{_LETTER}+)*)"
_HOST = rf"(?:([^A-Za-z0-9@\uff20$#\uff03{_NO_CHARACTER}])|^)(https?://)?({_LABEL}(?:\.{_LABEL})+)"
_NOT_BEHIND = "-_./"  # a bare name
_WORD = f"{_LETTER}+"
_LATIN_LABELS = rf"(?:[-a-z0-9{_LATIN}]+\.)+"
_PUNYCODE = "xn--[-0-9a-z]+"
_GOES_ON = "[0-9a-z@+-]"  # what must not stand behind a top-level name

_IN_PATH = rf"[a-z0-9\u0400-\u04ff{_LATIN}!*';:=+,.$/%#\[\]\-\u2013_~@|&]"
_IN_BRACKETS = rf"\((?:{_IN_PATH}+|{_IN_PATH}*\({_IN_PATH}+\){_IN_PATH}*)\)"
_PATH_ENDS = rf"[a-z0-9\u0400-\u04ff{_LATIN}=+\-_#/]"  # or brackets, but only right behind one of these
_PATH = rf"/(?:(?:{_IN_PATH}|{_IN_BRACKETS})*{_PATH_ENDS}|{_IN_BRACKETS})*"
_QUERY = r"\?[a-z0-9!?*'@();:&=+$/%#\[\]\-_.,~|]*[a-z0-9\-_&=#/]"
_REST = rf"(?::[0-9]+)?({_PATH})?(?:{_QUERY})?"
_OWN = rf"https?://t\.co/([a-z0-9]+)(?:{_QUERY})?"
_LONGEST_OWN = 40  # what stands behind t.co/
_LONGEST = 4096
_LONGEST_LABEL = 63


@cache
def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)  # when first asked for: it takes a while


def find(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each address in TEXT begins and where it ends. TEXT is in NFC."""
    at = 0
    while "." in text[at:] and (host := _rule(_HOST).search(text, at)):
        before, protocol, _ = host.groups()
        end = _end_of_name(text, host.start(3), host.end())
        if not end:
            # An address may begin in the middle, where no space was left before its http, or behind a _.
            at = host.start() + 1 if text.startswith("://", host.end()) or "_" in host[0] else host.end()
            continue
        rest = _rule(_REST).match(text, end)
        assert rest  # it may be empty
        at = rest.end()
        name = text[host.start(3) : end]
        if not _has_address(name) or at - host.start(3) + len(protocol or "https://") > _LONGEST:
            continue
        if protocol:
            yield from _of_x_itself(text, host.start(2), at)
        elif (before or " ") not in _NOT_BEHIND:
            yield from _bare(name, host.start(3), at if rest[1] else end)


def _end_of_name(text: str, start: int, end: int) -> int:
    """Return where the longest name ends that begins at START and has a top-level name before END; 0: there is none."""
    dot = text.rfind(".", start, end)
    while dot >= 0:
        earlier = text.rfind(".", start, dot)
        found = 0 if "_" in text[max(start, earlier + 1) : dot] else _end_of_top_level(text, dot + 1)
        if found:
            return found
        dot = earlier
    return 0


def _end_of_top_level(text: str, start: int) -> int:
    """Return where the top-level name that begins at START ends; 0: it is none."""
    if punycode := _rule(_PUNYCODE).match(text, start):
        return punycode.end()
    word = _rule(_WORD).match(text, start)
    ends = range(word.end(), start, -1) if word else ()
    return next((end for end in ends if not _rule(_GOES_ON).match(text, end) and is_top_level(text[start:end])), 0)


def _bare(name: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield what is in Latin letters in NAME, which begins at START. What stands behind it, up to END, goes with it."""
    for labels in _rule(_LATIN_LABELS).finditer(name):
        dots = [index for index in range(labels.start(), labels.end()) if name[index] == "."]
        stop = next(filter(None, (_end_of_top_level(name, dot + 1) for dot in reversed(dots))), 0)
        if stop:
            yield start + labels.start(), end if stop == len(name) else start + stop


def _of_x_itself(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the address from START to END; of one that X has shortened already, only so much as X would write."""
    own = _rule(_OWN).match(text, start, end)
    if own is None:
        yield start, end
    elif len(own[1]) <= _LONGEST_OWN:
        yield start, own.end()


def _has_address(name: str) -> bool:
    """Say whether NAME can be looked up: no part of it is too long, also when it is written in Latin letters."""
    if name.isascii():
        return all(len(label) <= _LONGEST_LABEL for label in name.split("."))
    try:
        name.encode("idna")
    except UnicodeError:
        return False
    return True
