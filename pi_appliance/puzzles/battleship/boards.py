"""The boards that battleship knows by name: a game in progress, finished grids, empty seas, and one that cannot be."""

from collections.abc import Mapping
from types import MappingProxyType


def _sea(*rows: str, heads: str = "") -> str:
    return heads + "".join(f"{row}\n" for row in rows)


BOARDS: Mapping[str, str] = MappingProxyType(
    {
        "midgame": _sea(
            "?.??.??.??",
            ".??.??.??.",
            "??.?XX??.?",
            "?.??.?.???",
            ".??.??.??.",
            "??.??.??.?",
            "?.???.#.??",
            ".??.?.#??.",
            "??.??.#.??",
            "?.??.??.??",
            heads="fleet: 5,4,3,3,2\ntouching: never\nwhole: G7-G9\n",
        ),
    }
)
