"""The Panguru boards that are known by name."""

from collections.abc import Mapping
from types import MappingProxyType


def _drawn(*rows: str) -> str:
    """Return the drawing of two triangles: each of ROWS has plates, then as many pebbles."""
    wide = 2 * len(rows) - 1
    halves = ((row[: len(row) // 2], row[len(row) // 2 :]) for row in rows)
    return "".join(f"{' '.join(left):^{wide}}    {' '.join(right):^{wide}}".rstrip() + "\n" for left, right in halves)


BOARDS: Mapping[str, str] = MappingProxyType(
    {
        # The one that the original shows: 16 moves, 12 lines.
        "original": _drawn("W-", "CBPC", "RBOBRY", "GYGPOGYG", "CORPYBCORP"),
        # As hard as random boards get, three in a thousand: 21 moves, 1,694 lines.
        "twenty-one": _drawn("OY", "BGGO", "RRGPC-", "OYYCPRBB", "BWCPPCRYGO"),
        # Every pebble one place too far along: 8 moves, one line.
        "slide": _drawn("RG", "RRGR", "RWBRRR", "BBBY-BBB", "YYYGGBYYYY"),
        # Fourteen colours: 19 moves, 26 lines.
        "rainbow": _drawn("AC", "JINJ", "EKBFE-", "CGHDGKLI", "WNLFMAMDBH"),
        # Four rows: 11 moves, 2 lines.
        "small": _drawn("RY", "YBGY", "PGGR-B", "BWYRRBGP"),
    }
)
