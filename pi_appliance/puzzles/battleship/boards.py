"""The boards that battleship knows by name: a game under way, finished grids, one that cannot be, and the open sea."""

from collections.abc import Mapping
from types import MappingProxyType


def _sea(*rows: str, headers: str = "") -> str:
    return headers + "".join(f"{row}\n" for row in rows)


BOARDS: Mapping[str, str] = MappingProxyType(
    {
        # The classic fleet after 29 shots: one ship is sunk, another one is found.
        "midgame": _sea(
            "??.??.??.?",
            "?.??.???.?",
            ".??.?.??.?",
            "???XX???.?",
            "?.??.??.??",
            ".??.??.???",
            "??.??.?#??",
            "?.??.??#??",
            ".??.???#??",
            "?????.????",
            headers="fleet: 5,4,3,3,2\ntouching: never\nsinking: told\nwhole: H7-H9\n",
        ),
        # The original's example: its ten ships can lie in 106 ways.
        "crowded": _sea(
            "#.........",
            "###.....#.",
            "##......#.",
            "##........",
            "##......#.",
            "##..###...",
            "#.......#.",
            "..........",
            "..........",
            "..........",
        ),
        # The same fleet with room to spare: it can only be these ships, and none touches another.
        "tidy": _sea(
            "####......",
            ".......###",
            "#.#.......",
            "#.#....##.",
            "#.........",
            "......#...",
            "#.#...#...",
            "..........",
            "#.#.......",
            "..........",
        ),
        # Two players disagree: no ship of two is in this fleet.
        "quarrel": _sea(
            "?????.????",
            "??????????",
            "??.???????",
            "?.XX.?????",
            "??..??????",
            "??????.???",
            "?????X?X??",
            "??????????",
            ".????.?.??",
            "??????????",
            headers="fleet: 5,4,3,3\ntouching: never\n",
        ),
        # Nothing is known. 15,046,987,768 placements; the map of it is a long job on a small Pi.
        "open-sea": _sea(*["??????????"] * 10, headers="fleet: 5,4,3,3,2\n"),
    }
)
