"""What another program says a text weighs: twitter-text-parser, a port of X's own library to Python."""

import importlib.resources
import re
import sys
from types import SimpleNamespace

# It reads a file of its own through a part of setuptools that newer ones no longer have.
sys.modules.setdefault(
    "pkg_resources",
    SimpleNamespace(  # type: ignore[arg-type]
        resource_string=lambda module, name: (
            importlib.resources.files(module.rpartition(".")[0]).joinpath(name).read_bytes()
        )
    ),
)

from twitter_text import parse_tweet  # noqa: E402 - only now


def weigh(text: str) -> int:
    """Return what it says TEXT weighs."""
    return parse_tweet(text).weightedLength


def emoji() -> list[str]:
    """Return every emoji of Unicode 12, the version it knows, as Unicode recommends to write it."""
    listed = importlib.resources.files("twitter_text.regexp").joinpath("emoji-test.txt").read_text("utf-8")
    rows = re.findall(r"^([0-9A-F ]+?) *; fully-qualified", listed, re.MULTILINE)
    return ["".join(chr(int(point, 16)) for point in row.split()) for row in rows]
