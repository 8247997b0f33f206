"""The cubes that are known by name, as unfolded nets: two a few moves from home, patterns, and two that are far."""

from collections.abc import Mapping
from types import MappingProxyType

_BELT = "LFRB"


def _net(**faces: str) -> str:
    """Return the drawing of a cube whose FACES are given in reading order."""
    side = 3 if len(faces["U"]) == 9 else 2
    rows = {face: [stickers[at : at + side] for at in range(0, side * side, side)] for face, stickers in faces.items()}
    above, below = ([" " * (side + 1) + row for row in rows[face]] for face in "UD")
    belt = [" ".join(rows[face][row] for face in _BELT) for row in range(side)]
    return "".join(row + "\n" for row in (*above, *belt, *below))


BOARDS: Mapping[str, str] = MappingProxyType(
    {
        "checkers": _net(
            U="UDUDUDUDU",
            R="RLRLRLRLR",
            F="FBFBFBFBF",
            D="DUDUDUDUD",
            L="LRLRLRLRL",
            B="BFBFBFBFB",
        ),
        "pocket-near": _net(
            U="BULU",
            R="BLLD",
            F="BRRD",
            D="FFDR",
            L="DULU",
            B="FRFB",
        ),
        "superflip": _net(
            U="UBULURUFU",
            R="RURFRBRDR",
            F="FUFLFRFDF",
            D="DFDLDRDBD",
            L="LULBLFLDL",
            B="BUBRBLBDB",
        ),
        "cube-in-cube": _net(
            U="FFFFUUFUU",
            R="RRURRUUUU",
            F="RFFRFFRRR",
            D="BBBDDBDDB",
            L="DDDLLDLLD",
            B="LLLLBBLBB",
        ),
        "scrambled": _net(
            U="RRBLUBUFD",
            R="RUDFRURFB",
            F="FRBLFDBRU",
            D="RDFBDULDL",
            L="DULFLDDLU",
            B="LBFRBLUBF",
        ),
        "pocket-far": _net(
            U="DDLR",
            R="UBFL",
            F="FBUU",
            D="RLDU",
            L="FDLF",
            B="RRBB",
        ),
    }
)
