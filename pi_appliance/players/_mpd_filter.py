"""What is wanted from the library, as one of MPD's filter expressions."""

import re

from pi_appliance.model.music import Wanted


def quoted(text: str) -> str:
    """Return TEXT as a value within an expression. The expression as a whole is quoted once more, as any word is."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def within(folder: str) -> str:
    """Return the expression for all that is in FOLDER, '' for the whole library."""
    return f"(base {quoted(folder.strip('/'))})"


def songs(wanted: Wanted) -> tuple[str, str]:
    """Return how to look for the songs that are WANTED: which of `find` and `search`, and the expression.

    MPD knows no `find` in which only a part forgets the capitals, so where there is a text, they count nowhere.
    """
    words = [f"(any contains {quoted(word)})" for word in wanted.text.split()]
    return ("search" if words else "find"), _all([*_tags(wanted), *words])


def lists(wanted: Wanted, version: tuple[int, int]) -> str:
    """Return the expression for `list`, '' for everything; `list` minds capitals, so a text is a pattern that does not.

    VERSION is that of MPD: from 0.24 on it has an operator for this.
    """
    parts = _tags(wanted)
    for word in wanted.text.split():
        parts.append(
            f"(any contains_ci {quoted(word)})" if version >= (0, 24) else f"(any =~ {quoted(_pattern(word))})"
        )
    return _all(parts) if parts else ""


def _pattern(word: str) -> str:
    return f"(?i){re.escape(word)}"


def _tags(wanted: Wanted) -> list[str]:
    parts = []
    if wanted.artist:
        # His on the album or on the track. MPD has no OR; but not (neither the one nor the other) is the same.
        name = quoted(wanted.artist)
        parts.append(f"(!((artist != {name}) AND (albumartist != {name})))")
    if wanted.album:
        parts.append(f"(album == {quoted(wanted.album)})")
    if wanted.genre:
        parts.append(f"(genre == {quoted(wanted.genre)})")
    return parts


def _all(parts: list[str]) -> str:
    match parts:
        case []:
            return within("")
        case [part]:
            return part
    return f"({' AND '.join(parts)})"
