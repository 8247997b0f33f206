"""The solitaire chess boards that are known by name, made or drawn here."""

from collections.abc import Mapping
from types import MappingProxyType


def _drawn(rows: str) -> str:
    return "".join(row + "\n" for row in rows.split("/"))


BOARDS: Mapping[str, str] = MappingProxyType(
    {
        # One solution, in three captures.
        "first-steps": _drawn("..../N.../R.../B.N."),
        # One solution: the bishop begins, a knight ends it.
        "seven": _drawn("KNB./...N/PB../.P.."),
        # 68,917 solutions; 6,657 if the king may not be captured.
        "crowd": _drawn("RBK./.N.B/.NQR/...."),
        # No solution: two pieces are left at best.
        "stuck": _drawn("...K/.R../B.N./N.BP"),
        # One solution, on six by six squares.
        "wide": _drawn("..P..K/.....R/....../.N.B.P/.PN.../...NB."),
        # One solution, on a whole chess board.
        "full-size": _drawn("N....P../...B..../.P..B.../..B.B.P./......../P.R..N../N......./........"),
    }
)
