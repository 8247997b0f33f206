"""The weights of twitter-text-parser, a port of X's own library to Python."""

import functools
import importlib.resources
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest


@functools.cache
def _parser() -> Callable[[str], Any]:
    """Import the library, which takes a second, when a test needs it."""
    # It reads a file of its own through pkg_resources, which newer releases of setuptools no longer have. Other tests
    # must not see the replacement: pytest uses pkg_resources if it is loaded.
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
        parse: Callable[[str], Any] = importlib.import_module("twitter_text").parse_tweet
    return parse


def text_length(text: str) -> int:
    length: int = _parser()(text).weightedLength
    return length


def emoji() -> list[str]:
    """Return every emoji of Unicode 12 in its recommended form."""
    library = importlib.util.find_spec("twitter_text")
    assert library is not None
    assert library.origin is not None
    listed = Path(library.origin).with_name("regexp").joinpath("emoji-test.txt").read_text("utf-8")
    rows = re.findall(r"^([0-9A-F ]+?) *; fully-qualified", listed, re.MULTILINE)
    return ["".join(chr(int(point, 16)) for point in row.split()) for row in rows]
