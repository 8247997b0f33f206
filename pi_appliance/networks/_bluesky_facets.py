"""Facets: which bytes of a text are a link, a tag or a mention. Bluesky itself looks for none: unmarked, all is plain.

What counts is what Bluesky's own app marks, or very nearly.
"""

import re
import string
import unicodedata
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

_TYPE = "app.bsky.richtext.facet"
_TAG_LIMIT = 64

# A bare name is a link only if it ends as the name of a site does; the app knows every ending there is, this the usual.
_COUNTRIES = (
    "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc cd "
    "cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gd ge "
    "gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh "
    "ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw "
    "mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb "
    "sc sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk "
    "us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw"
)
_OTHERS = (
    "com org net info biz edu gov mil int name pro aero coop museum arpa cat jobs mobi tel travel asia app dev page "
    "blog social online site website web store shop club live news world today email network cloud tech wiki xyz art "
    "design studio media photo photos pics video music games game space earth land house garden cafe bar beer pizza "
    "berlin hamburg koeln london paris wien swiss scot wales amsterdam brussels madrid tokyo nyc fun zone life city "
    "community foundation science academy school university education engineering electronics software systems tools "
    "computer host hosting support help guide how link click radio show events team group company ltd gmbh agency "
    "digital global international one top win vip ink red blue green black pink gold"
)
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_FOUND = re.compile(
    r"(?<![^\s(])(?:"  # at the beginning, after a space or after a bracket
    r"(?P<link>(?i:https?)://[^\W_]\S*)"
    rf"|@(?P<handle>(?:{_LABEL}\.)+[A-Za-z](?:[A-Za-z0-9-]{{0,61}}[A-Za-z0-9])?)(?![\w@-])"
    r"|[#＃](?P<tag>(?![\ufe0f\u20e3])[^\s\u00ad\u200a-\u200d\u2060\u20e2\ufeff]+)"  # noqa: RUF001 - a # of East Asia
    rf"|(?P<name>(?=[A-Za-z])(?:{_LABEL}\.)+(?:{'|'.join(f'{_COUNTRIES} {_OTHERS}'.split())})"
    r"(?![\w@-]|\.[\w-])(?:[/?#:]\S*)?)"
    r")"
)
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_ENDS = ".,;:!?'\"…’”»"  # noqa: RUF001 - quotes as they are printed


def facets(text: str, resolve: Callable[[str], str | None]) -> list[dict[str, Any]]:
    """Return the facets of TEXT, from its beginning on. RESOLVE gives the did of a handle, or None: it stays plain."""
    found = []
    for match in _FOUND.finditer(text):
        shown, feature = _feature(match, resolve)
        if feature:
            start = len(text[: match.start()].encode())
            index = {"byteStart": start, "byteEnd": start + len(shown.encode())}
            found.append({"$type": _TYPE, "index": index, "features": [feature]})
    return found


def _feature(match: re.Match[str], resolve: Callable[[str], str | None]) -> tuple[str, dict[str, str] | None]:
    """Return what of MATCH is marked, and as what; None: nothing is."""
    whole = match[0]
    if match["handle"]:
        did = resolve(match["handle"].lower())
        return whole, {"$type": f"{_TYPE}#mention", "did": did} if did else None
    if match["tag"]:
        tag = _tag(match["tag"])
        return whole[0] + tag, {"$type": f"{_TYPE}#tag", "tag": tag} if tag else None
    link = _without_end(whole)
    uri = link if match["link"] else f"https://{link}"
    # What is not ASCII would make it no address in the eyes of stricter servers; a % that is there stays.
    return link, {"$type": f"{_TYPE}#link", "uri": quote(uri, safe=string.punctuation)}


def _tag(text: str) -> str:
    """Return the tag that TEXT begins with: no punctuation at its end, not only numbers, not too long; '' if none."""
    end = len(text)
    while end and _is_punctuation(text[end - 1]):
        end -= 1
    tag = text[:end]
    says = any(letter not in string.digits and not _is_punctuation(letter) for letter in tag)
    return tag if says and len(tag.encode("utf-16-le")) // 2 <= _TAG_LIMIT else ""


def _is_punctuation(letter: str) -> bool:
    return unicodedata.category(letter).startswith("P")


def _without_end(link: str) -> str:
    """Return LINK without what belongs to the sentence around it: full stops, quotes, brackets opened before it."""
    while link[-1] in _ENDS or link.count(link[-1]) > link.count(_BRACKETS.get(link[-1], link[-1])):
        link = link[:-1]
    return link
