"""Counts the solutions of peg solitaire exactly, without walking them.

Level after level, every position is kept once, with the number of ways to it. A board of few positions is counted so
to its end. From a larger one, only positions are followed that may still become one of the last two pegs, and the same
is done from there backwards, where what a hole is becomes a peg; the two meet in the middle. Where the start is the
end turned round, like the full board with its empty centre, the way back is the way there, and is not done twice.
"""

import dataclasses
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pi_appliance.errors import Refused
from pi_appliance.puzzles import Interrupted, Work
from pi_appliance.puzzles._keep import keep
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.board import Hole
from pi_appliance.puzzles.peg_solitaire.field import Field, Proof, game_of, turned
from pi_appliance.puzzles.peg_solitaire.frontier import Frontier, read, table_of, written
from pi_appliance.puzzles.peg_solitaire.proofs import find_proofs, is_proof

SMALL = 100_000  # classes: a board with no more is counted to its end, for all its tables
MEETING = 220_000_000  # bytes: what the full board takes; a larger table asks once more
OFTEN = 120.0  # seconds between two checkpoints; where it is interrupted, there is one anyway


class TooMany(Refused):
    """There are more positions than were to be looked at, or more ways than are added up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What a count came to."""

    count: int
    """The number of solutions."""
    ends: Mapping[Hole, int] | None
    """How many end at each hole; None where images of the holes were not told apart."""
    rows: list[tuple[int, int, int]]
    """For each level: classes, positions, ways to them."""
    back: list[tuple[int, int, int]] = dataclasses.field(default_factory=list)
    """The same from the other end, if that was looked at."""
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


class Count:
    """One count, which may be cut off and gone on with."""

    def __init__(self, field: Field, work: Work, *, most: float = float("inf"), small: int = SMALL) -> None:
        """Count FIELD by at MOST so many classes; a board with more than SMALL is met in the middle."""
        self.field, self.work, self.most, self.small = field, work, most, small
        self.pegs = field.start.bit_count()
        self.turns = field.keeping(frozenset({field.start}))
        self.forward = Frontier(game_of(field, self.turns), {field.start: 1})
        self.back: list[Frontier] = []
        self.back_proofs: list[tuple[Proof, ...]] = []
        self.proofs: tuple[Proof, ...] | None = None
        self.name = field.name("all" if field.board.whole else "count")
        self.saved = work.seconds()

    def run(self) -> Counted:
        """Return what there is. Raises Interrupted, TooMany, and Refused if memory is too small."""
        self._load()
        try:
            while self.forward.cells and (
                self.field.board.whole or self.forward.looked <= self.small or self._is_late()
            ):
                self._advance(self.forward, self.pegs)
            counted = self._met() if self.forward.cells else self._ended()
        except Interrupted as error:
            error.so_far = self.so_far() + self._save()
            raise
        self.work.shelf.remove(self.name)
        return counted

    def so_far(self) -> str:
        """Return what is certain by now."""
        front = self.forward
        what = f"all {front.looked:,} positions of up to {front.level} jumps" if front.level else "nothing"
        back = sum(each.level for each in self.back)
        return f"{what} counted{f', and {back} jumps back from the end' if back else ''}"

    def _is_late(self) -> bool:
        """Say whether it is too late to meet anybody."""
        return self.proofs is None and self.forward.level > self.pegs - 4

    def _advance(self, front: Frontier, pegs: int) -> None:
        said = f"jump {front.level + 1} of {pegs - 1}{' back' if front is not self.forward else ''}: "

        def tell(part: float) -> None:
            self.work.progress(None, f"{said}{front.size:,} positions, {part:.0%}")

        front.advance(self.work, tell)
        if front.looked > self.most:
            raise TooMany(f"there are more than {self.most:,.0f} positions")
        # Everything that is added up later stays within 128 bits as long as this is true.
        if front.ways * len(self.field.moves) * len(self.field.turns) >> 128:
            raise TooMany("there are more than 2^128 ways")
        if self.work.seconds() - self.saved > OFTEN:
            self._save()

    # A count that came to the end of all games

    def _ended(self) -> Counted:
        front = self.forward
        front.cells, front.level = front.before, front.level - 1
        left = self.pegs - front.level
        ends: dict[Hole, int] = {}
        if left == 1:
            for key, ways in front.classes():
                members = {turned(key, turn) for turn in self.turns}
                for member in members:
                    if member & self.field.goals:
                        ends[self.field.board.holes[member.bit_length() - 1]] = ways // len(members)
        return Counted(
            count=sum(ends.values()),
            ends=dict(sorted(ends.items())),
            rows=front.rows,
            whole=self.proofs is None,
            tried=front.tried,
            fewest=left,
            last=(front.rows[-1],),
            games=front.stuck,
        )

    # A count that meets in the middle

    def _met(self) -> Counted:
        """Go on from both ends until one jump is between them."""
        field, front = self.field, self.forward
        self.work.require_memory(MEETING, "a count that meets in the middle")
        orbits = self.field.last_pairs()
        if self.proofs is None:
            targets = [pair for orbit in orbits for pair in orbit]
            self.proofs = find_proofs(field, [field.start], targets, field.turns, self.work)
            front.project(game_of(field, field.turns, self.proofs))
        total, ends = 0, dict.fromkeys(field.board.holes, 0)
        for number, orbit in enumerate(orbits):
            ways = self._ways_into(orbit, number)
            total += ways * len(self._ends_of(orbit[0]))
            for hole in (hole for pair in orbit for hole in self._ends_of(pair)):
                ends[hole] += ways // len(orbit)
        return Counted(
            count=total,
            ends={hole: ways for hole, ways in ends.items() if ways} if self._is_even() else None,
            rows=[*front.rows, (front.size, 0, front.ways)],
            back=[row for back in self.back for row in (*back.rows, (back.size, 0, back.ways))],
            whole=False,
            tried=front.tried + sum(back.tried for back in self.back),
        )

    def _is_even(self) -> bool:
        """Say whether the start looks the same to all symmetries of the shape, so that images have equal ways."""
        return len(self.turns) == len(self.field.turns)

    def _ends_of(self, pair: int) -> list[Hole]:
        """Return where the last jump from the two pegs PAIR can end."""
        field = self.field
        return [
            field.board.holes[move.end] for move in field.moves if move.pair == pair and 1 << move.end & field.goals
        ]

    def _ways_into(self, orbit: tuple[int, ...], number: int) -> int:
        """Return the number of ways to all of ORBIT together."""
        field, front = self.field, self.forward
        between = self.pegs - 3  # jumps but the one where they meet
        symmetries = len(field.turns)
        if number >= len(self.back) and 2 * front.level <= between + 1 and (first := self._mirrored(orbit)):
            while front.cells and 2 * front.level < between + 1:
                self._advance(front, self.pegs)
            cells = front.cells if 2 * front.level == between + 1 else front.before
            return self._joined(cells) * len(orbit) // (symmetries * first)
        while len(self.back) <= number:
            self.back.append(self._from_behind(orbit))
        back = self.back[number]
        while front.level + back.level < between and front.cells and back.cells:
            self._advance(min(front, back, key=lambda each: each.size), self.pegs)
        return self._joined(back.cells) // symmetries

    def _mirrored(self, orbit: tuple[int, ...]) -> int:
        """Return how many first jumps there are, if all of them lead to ORBIT with pegs for holes; otherwise 0."""
        field = self.field
        first = [field.start ^ move.triple for move in field.moves if field.start & move.triple == move.pair]
        return len(first) if all(field.full ^ position in orbit for position in first) else 0

    def _from_behind(self, orbit: tuple[int, ...], proofs: tuple[Proof, ...] | None = None) -> Frontier:
        """Return the beginning of the way back from ORBIT."""
        field = self.field
        begin = [field.full ^ pair for pair in orbit]
        if proofs is None:
            proofs = find_proofs(field, begin, self._starts(), field.turns, self.work)
        self.back_proofs.append(proofs)
        game = game_of(field, field.turns, proofs)
        return Frontier(game, {game.canonical(begin[0]): len(orbit)})

    def _starts(self) -> list[int]:
        """Return what the way back has to come to."""
        return sorted({turned(self.field.full ^ self.field.start, turn) for turn in self.field.turns})

    def _joined(self, cells: "array[int]") -> int:
        """Return the ways from start to end, over all that one jump has between it and CELLS, for each symmetry."""
        front, work = self.forward, self.work

        def tell() -> None:
            work.progress(None, f"{front.size:,} positions meet {len(cells) // 3:,}")

        table = table_of(cells, tell)

        def joined(span: tuple[int, int]) -> int:
            first, last = span
            sums = array("Q", bytes(16 * (last - first)))
            kernel.meet(front.game, front.cells, first, last, table, self.field.full, sums)
            here = front.cells[3 * first : 3 * last]
            return sum(
                ((here[3 * at + 1] << 64) + here[3 * at + 2]) * ((sums[2 * at] << 64) + sums[2 * at + 1])
                for at in range(last - first)
                if sums[2 * at] or sums[2 * at + 1]
            )

        total = 0
        for part in front.map(work, joined, front.spans()):
            total += part
            tell()
        return total

    # Checkpoints

    def _save(self) -> str:
        parts, about = self.forward.save()
        backs = [back.save() for back in self.back]
        words = {
            "forward": about,
            "proofs": None if self.proofs is None else _plain(self.proofs),
            "back": [about for _, about in backs],
            "back-proofs": [_plain(proofs) for proofs in self.back_proofs],
        }
        every = written(words, [*parts, *(part for parts, _ in backs for part in parts)])
        lost = keep(self.work.shelf.save, self.name, every)
        self.saved = self.work.seconds()
        return lost

    def _load(self) -> None:
        """Go on from a checkpoint, if there is one that can be read and is sound."""
        came = read(self.work.shelf.load(self.name))
        if came is None:
            return
        words, data = came
        sizes = [words["forward"]["sizes"], *(about["sizes"] for about in words["back"])]
        if len(data) != sum(map(sum, sizes)):
            return
        orbits = self.field.last_pairs()
        if words["proofs"] is not None:
            self.proofs = _proofs(words["proofs"])
            targets = [pair for orbit in orbits for pair in orbit]
            if not all(is_proof(proof, self.field.moves, targets) for proof in self.proofs):
                self.proofs = None
                return
            self.forward.game = game_of(self.field, self.field.turns, self.proofs)
        self.forward.load(data, words["forward"])
        at = sum(sizes[0])
        for orbit, about, proofs in zip(orbits, words["back"], words["back-proofs"], strict=False):
            back = self._from_behind(orbit, _proofs(proofs))
            back.load(data[at:], about)
            at += sum(about["sizes"])
            self.back.append(back)


def _plain(proofs: tuple[Proof, ...]) -> list[Any]:
    return [[proof.weights, proof.least] for proof in proofs]


def _proofs(plain: list[Any]) -> tuple[Proof, ...]:
    return tuple(Proof(tuple(weights), least) for weights, least in plain)
