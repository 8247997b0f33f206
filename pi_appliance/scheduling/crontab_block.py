"""One marked block of ours in a text that belongs to others: put in, replaced, taken out, not a byte of theirs touched.

Each block names its owner, so that several can live side by side. The first line of a block also remembers what the
text was like before, where that could not be seen afterwards; so taking the block out gives back the same bytes.
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
    """Return TEXT (None if there is none) with the block of OWNER: where it was, else at the end. Raises Refused."""
    found = _find(text or b"", owner)
    if text is None:
        return _block(owner, lines, _NOTHING)
    if found is not None:
        return text[: found.start()] + _block(owner, lines, found["note"] or b"") + text[found.end() :]
    if text and not text.endswith(b"\n"):
        return text + b"\n" + _block(owner, lines, _NO_NEWLINE)
    return text + _block(owner, lines, b"")


def take_out(text: bytes | None, owner: bytes) -> bytes | None:
    """Return TEXT without the block of OWNER, None where there was no text before it. Raises Refused."""
    found = _find(text or b"", owner)
    if text is None or found is None:
        return text
    before, note, after = text[: found.start()], found["note"] or b"", text[found.end() :]
    if after.startswith(_BEGIN) and not after.startswith(_BEGIN + b"("):
        # What this block remembered, the block of the next owner now stands for.
        return before + _BEGIN + note + after.removeprefix(_BEGIN)
    if note == _NOTHING and not before + after:
        return None
    return (before.removesuffix(b"\n") if note == _NO_NEWLINE and not after else before) + after


def _block(owner: bytes, lines: Sequence[bytes], note: bytes) -> bytes:
    return b"".join(line + b"\n" for line in (_BEGIN + note + owner, *lines, _END + owner))


def _find(text: bytes, owner: bytes) -> re.Match[bytes] | None:
    """Find the one whole block of OWNER. Raises Refused when someone left half of it, or made two of it."""
    begin, end = _BEGIN + _NOTE + re.escape(owner) + b"\n", _END + re.escape(owner) + b"(?:\n|\\Z)"
    begins, ends = (len(re.findall(b"^" + mark, text, re.MULTILINE)) for mark in (begin, end))
    found = re.search(b"^" + begin + b"(?:.*\n)*?" + end, text, re.MULTILINE)
    if (begins, ends) != ((1, 1) if found else (0, 0)):
        name = owner.decode("utf-8", "backslashreplace")
        raise Refused(
            f"the marks around the block of {name} are damaged ({begins} BEGIN, {ends} END); "
            "nothing was changed: remove that block by hand, then try again"
        )
    return found
