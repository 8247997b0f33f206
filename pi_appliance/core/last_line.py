"""The last line that a program printed, fit to stand in a sentence."""

import re

KEEP = 4_096  # bytes of the end of an output that are enough to find it in
LONGEST = 200  # characters
_ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-_])")  # colours, titles, cursor


def last_line(output: bytes) -> str:
    """Return the last line of OUTPUT that says something: printable, on one line; '' if that is no text."""
    text = _ESCAPES.sub("", output.decode("utf-8", "replace"))
    for line in reversed(re.split(r"[\r\n]+", text)):
        words = " ".join(line.split())
        if words:
            # What is cut off at its start is all that was kept of a very long line.
            return _short(words) if all(map(str.isprintable, words)) and "\ufffd" not in words.lstrip("\ufffd") else ""
    return ""


def _short(words: str) -> str:
    words = words.lstrip("\ufffd")
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"
