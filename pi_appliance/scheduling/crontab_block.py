"""A marked block of ours in a crontab. All other bytes of the crontab stay unchanged.

Each block names its owner, so that several can exist. Its first line also records details of the
original text, so that removing the block restores the same bytes.
"""

import re
from collections.abc import Sequence

from pi_appliance.errors import Refused

_BEGIN = b"# BEGIN pi-appliance "
_END = b"# END pi-appliance "
_NOTHING = b"(there was nothing before) "
_NO_NEWLINE = b"(no newline before) "
_NOTE = b"(?P<note>" + re.escape(_NOTHING) + b"|" + re.escape(_NO_NEWLINE) + b")?"


def put(text: bytes | None, owner: bytes, lines: Sequence[bytes]) -> bytes:
    """Return `text` with the block of `owner` replaced or appended. None means there is no text.

    Raises:
        Refused: the marks of the block are damaged.

    """
    match = _find_block(text or b"", owner)
    if text is None:
        return _format_block(owner, lines, _NOTHING)
    if match is not None:
        return text[: match.start()] + _format_block(owner, lines, match["note"] or b"") + text[match.end() :]
    if text and not text.endswith(b"\n"):
        return text + b"\n" + _format_block(owner, lines, _NO_NEWLINE)
    return text + _format_block(owner, lines, b"")


def take_out(text: bytes | None, owner: bytes) -> bytes | None:
    """Return `text` without the block of `owner`, or None if there was no text before.

    Raises:
        Refused: the marks of the block are damaged.

    """
    match = _find_block(text or b"", owner)
    if text is None or match is None:
        return text
    before, note, after = text[: match.start()], match["note"] or b"", text[match.end() :]
    if after.startswith(_BEGIN) and not after.startswith(_BEGIN + b"("):
        # The next block takes over the note of this one.
        return before + _BEGIN + note + after.removeprefix(_BEGIN)
    if note == _NOTHING and not before + after:
        return None
    return (before.removesuffix(b"\n") if note == _NO_NEWLINE and not after else before) + after


def _format_block(owner: bytes, lines: Sequence[bytes], note: bytes) -> bytes:
    return b"".join(line + b"\n" for line in (_BEGIN + note + owner, *lines, _END + owner))


def _find_block(text: bytes, owner: bytes) -> re.Match[bytes] | None:
    """Find the complete block of `owner`. Raises Refused if it is incomplete or repeated."""
    begin, end = _BEGIN + _NOTE + re.escape(owner) + b"\n", _END + re.escape(owner) + b"(?:\n|\\Z)"
    begins, ends = (len(re.findall(b"^" + mark, text, re.MULTILINE)) for mark in (begin, end))
    match = re.search(b"^" + begin + b"(?:.*\n)*?" + end, text, re.MULTILINE)
    if (begins, ends) != ((1, 1) if match else (0, 0)):
        name = owner.decode("utf-8", "backslashreplace")
        raise Refused(
            f"the marks around the block of {name} are damaged ({begins} BEGIN, {ends} END); "
            "nothing was changed: remove that block by hand, then try again"
        )
    return match
