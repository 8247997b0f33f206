"""What a count of peg solitaire came to."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from pi_appliance.puzzles.peg_solitaire.board import Hole


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a count came to."""

    count: int
    """The number of solutions."""
    ends: Mapping[tuple[Hole, ...], int]
    """How many end at each hole; or at several together, which are images of each other and were not told apart."""
    rows: list[tuple[int, int, int]]
    """For each level: classes, positions, ways to them."""
    back: list[tuple[int, int, int]] = dataclasses.field(default_factory=list)
    """The same from the other end, over all last jumps, if that was looked at."""
    whole: bool
    """Whether all positions were looked at that can be reached; if not, some that are lost were left out."""
    fewest: int = 1
    """The fewest pegs that can be left, if all positions were looked at."""
    last: tuple[tuple[int, int, int], ...] = ()
    """The last level, if so: classes, positions, ways."""
    tried: int = 0
    """The number of jumps that were tried."""
    games: int = 0
    """The number of games to where no jump is open, if so."""

    @property
    def classes(self) -> int:
        """The number of positions that were looked at, up to symmetry."""
        return sum(row[0] for row in self.rows) + sum(row[0] for row in self.back)
