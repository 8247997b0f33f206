"""The weights of twitter-text-parser, a port of X's own library to Python."""

import importlib.resources
import re
import sys
from types import SimpleNamespace

import pytest

# It reads a file of its own through pkg_resources, which newer releases of setuptools no longer have. Other tests must
# not see the replacement: pytest uses pkg_resources if it is loaded.
with pytest.MonkeyPatch.context() as patch:
    patch.setitem(
        sys.modules,
        "pkg_resources",
        SimpleNamespace(
            resource_string=lambda module, name: (
                importlib.resources.files(module.rpartition(".")[0]).joinpath(name).read_bytes()
            )
        ),
    )
    from twitter_text import parse_tweet


def weigh(text: str) -> int:
    return parse_tweet(text).weightedLength


def emoji() -> list[str]:
    """Return every emoji of Unicode 12 in its recommended form."""
    listed = importlib.resources.files("twitter_text.regexp").joinpath("emoji-test.txt").read_text("utf-8")
    rows = re.findall(r"^([0-9A-F ]+?) *; fully-qualified", listed, re.MULTILINE)
    return ["".join(chr(int(point, 16)) for point in row.split()) for row in rows]
