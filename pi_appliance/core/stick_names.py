"""What a USB stick is called in the library: its label, made so that it can be nothing but the name of a folder."""

import unicodedata
from collections.abc import Collection, Mapping

_ALSO = " -_."  # beside letters and digits of any script
_LONGEST = 60  # bytes; a name of 255 would do, but it is to be read on a phone
_NAMELESS = "USB stick"


def clean(label: str) -> str:
    """Return LABEL as the name of a folder: no slash, no control character, no dot or hyphen in front.

    A label is written by whoever owned the stick last, so nothing in it is trusted. Where nothing is left of it, it is
    called "USB stick".
    """
    letters = (each if each.isalnum() or each in _ALSO else " " for each in unicodedata.normalize("NFC", label))
    words = " ".join("".join(letters).split()).lstrip("-. ")
    return words.encode()[:_LONGEST].decode("utf-8", "ignore").strip(" .") or _NAMELESS


def name_for(label: str, identity: str, known: Mapping[str, str], taken: Collection[str] = ()) -> str:
    """Return the name of the stick IDENTITY: the one it has in KNOWN (identity by name), else one that is free.

    A number tells it from another stick of the same label, and from a folder in TAKEN. Capitals do not count.
    """
    for name, bearer in known.items():
        if bearer == identity:
            return name
    used = {name.casefold() for name in (*known, *taken)}
    wanted = clean(label)
    number, name = 1, wanted
    while name.casefold() in used:
        number += 1
        name = f"{wanted} {number}"
    return name
