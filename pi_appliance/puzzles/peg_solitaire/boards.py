"""The boards that peg solitaire knows by name: seven starts on the English board of 33 holes."""

from collections.abc import Mapping
from types import MappingProxyType


def _english(*rows: str) -> str:
    """Return the drawing of an English board; rows of three are its arms, two places in from either side."""
    return "".join(f"{row:^7}\n" for row in rows)


BOARDS: Mapping[str, str] = MappingProxyType(
    {
        "full": _english("XXX", "XXX", "XXXXXXX", "XXXOXXX", "XXXXXXX", "XXX", "XXX"),
        "cross": _english("OOO", "OXO", "OOXXXOO", "OOOXOOO", "OOOXOOO", "OOO", "OOO"),
        "plus": _english("OOO", "OXO", "OOOXOOO", "OXXXXXO", "OOOXOOO", "OXO", "OOO"),
        "fireplace": _english("XXX", "XXX", "OOXXXOO", "OOXOXOO", "OOOOOOO", "OOO", "OOO"),
        "pyramid": _english("OOO", "OXO", "OOXXXOO", "OXXXXXO", "XXXXXXX", "OOO", "OOO"),
        "arrow": _english("OXO", "XXX", "OXXXXXO", "OOOXOOO", "OOOXOOO", "XXX", "XXX"),
        "diamond": _english("OXO", "XXX", "OXXXXXO", "XXXXXXX", "OXXXXXO", "XXX", "OXO"),
    }
)
