"""The positions that Connect Four knows by name: some to think about, and one where the game is over."""

from collections.abc import Mapping
from types import MappingProxyType


def _after(rows: str, moves: str) -> str:
    """Return the drawing of ROWS, which MOVES lead to."""
    return "\n".join((*rows.split(), f"Moves {moves}")) + "\n"


BOARDS: Mapping[str, str] = MappingProxyType(
    {
        # Red wins with the last disc but one, by one column alone
        "squeeze": _after(".....Y. Y....R. R....R. YY...Y. YRRY.Y. RYRRYRR", "32662532166161164471"),
        # one column draws, all others lose
        "tightrope": _after("...Y... ...R.Y. ...Y.RR ...RYYY ...YRRR YR.RYRY", "65214774556666477444"),
        # Red loses, and holds out for 20 moves more
        "siege": _after("R...Y.. Y...R.. R.Y.Y.. Y.R.Y.. Y.R.Y.. RRRYRRY", "57146535352131115513"),
        # Red wins soon
        "sprint": _after("....... ....... .R..R.. .R..RYY YYYRYYR RRYRYRY", "67467525165243232157"),
        # the beginning of every game: let the opening book grow first
        "empty": ".......\n" * 6,
        # Red has won, with two fours at once; Yellow moved first
        "game": _after("...Y... ...R.Y. ...R.R. ..RYRY. R.YRRRY YYRYYYR", "6743115446253464467365"),
    }
)
