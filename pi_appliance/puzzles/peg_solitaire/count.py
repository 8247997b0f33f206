"""Counts the solutions of peg solitaire exactly, without walking them.

Level after level, every position is kept once, with the number of ways to it. A board of few positions is counted so
to its end. From a larger one, only positions are followed that may still become one of the last two pegs, and the same
is done from there backwards, where what a hole is becomes a peg; the two meet in the middle. Where the start is the
end turned round, like the full board with its empty centre, the way back is the way there, and is not done twice.
"""

from array import array
from itertools import zip_longest
from typing import Any

from pi_appliance.errors import Refused
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.board import Hole
from pi_appliance.puzzles.peg_solitaire.counted import Counted
from pi_appliance.puzzles.peg_solitaire.field import Bitboard, Proof, game_of, turned
from pi_appliance.puzzles.peg_solitaire.frontier import LARGE, Frontier, read, table_of, written
from pi_appliance.puzzles.peg_solitaire.proofs import find_proofs, is_proof
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime, save_checkpoint

SMALL = 100_000  # classes: a board with no more is counted to its end, for all its tables
MEETING = 220_000_000  # bytes: what the full board takes; a larger table asks once more
OFTEN = 120.0  # seconds between two checkpoints; where it is interrupted, there is one anyway


class TooMany(Refused):
    """There are more positions than were to be looked at, or more ways than are added up."""


class Count:
    """One count, which may be cut off and gone on with."""

    def __init__(
        self, field: Bitboard, runtime: SearchRuntime, *, most: float = float("inf"), small: int = SMALL
    ) -> None:
        """Count FIELD by at MOST so many classes; a board with more than SMALL is met in the middle."""
        self.field, self.runtime, self.most, self.small = field, runtime, most, small
        self.pegs = field.start.bit_count()
        self.turns = field.keeping(frozenset({field.start}))
        self.forward = Frontier(game_of(field, self.turns), {field.start: 1})
        self.proofs: tuple[Proof, ...] | None = None
        self.into: list[int] = []  # the ways into each kind of last pair that is done
        self.back: Frontier | None = None  # from the one that is not
        self.back_proofs: tuple[Proof, ...] = ()
        self.back_rows: list[tuple[int, int, int]] = []  # of the ways back that are done, level by level
        self.back_tried = 0
        self.name = field.name("all" if field.board.whole else "count")
        self.saved = runtime.monotonic()

    def run(self) -> Counted:
        """Return what there is. Raises Interrupted, TooMany, and Refused if memory is too small."""
        try:
            self._load()
        except Interrupted as error:
            error.partial_result = self.partial_result()
            raise
        try:
            while self.forward.cells and (
                self.field.board.whole or self.forward.looked <= self.small or self._is_late()
            ):
                self._advance(self.forward, self.pegs)
            came = self._met() if self.forward.cells or self.proofs is not None else self._ended()
        except Interrupted as error:
            error.partial_result = self.partial_result() + self._save()
            raise
        self.runtime.cache.remove(self.name)
        return came

    def partial_result(self) -> str:
        """Return what is certain by now."""
        front = self.forward
        what = f"all {front.looked:,} positions of up to {front.level} jumps" if front.level else "nothing"
        back = f", and {pluralize(self.back.level, 'jump')} back from the end" if self.back and self.back.level else ""
        ends = f"; {len(self.into)} of {len(self.field.last_pairs())} kinds of last pairs are done" if self.into else ""
        return f"{what} counted{back}{ends}"

    def _is_late(self) -> bool:
        """Say whether it is too late to meet anybody."""
        return self.proofs is None and self.forward.level > self.pegs - 4

    def _advance(self, front: Frontier, pegs: int) -> None:
        said = f"jump {front.level + 1} of {pegs - 1}{' back' if front is not self.forward else ''}: "

        def tell(part: float) -> None:
            self.runtime.report_progress(None, f"{said}{front.size:,} positions, {part:.0%}")

        front.advance(self.runtime, tell)
        if front.looked > self.most:
            raise TooMany(f"there are more than {self.most:,.0f} positions")
        # Everything that is added up later stays within 128 bits as long as this is true.
        if front.ways * len(self.field.moves) * len(self.field.turns) >> 128:
            raise TooMany("there are more than 2^128 ways")
        if self.runtime.monotonic() - self.saved > OFTEN:
            self._save()

    # A count that came to the end of all games

    def _ended(self) -> Counted:
        front = self.forward
        front.cells, front.level = front.before, front.level - 1
        left = self.pegs - front.level
        ends: dict[tuple[Hole, ...], int] = {}
        if left == 1:
            for key, ways in front.classes():
                members = {turned(key, turn) for turn in self.turns}
                for member in members:
                    if member & self.field.goals:
                        ends[self.field.board.holes[member.bit_length() - 1],] = ways // len(members)
        return Counted(
            count=sum(ends.values()),
            ends=dict(sorted(ends.items())),
            rows=front.rows,
            whole=True,
            tried=front.tried,
            fewest=left,
            last=(front.rows[-1],),
            games=front.stuck,
        )

    # A count that meets in the middle

    def _met(self) -> Counted:
        """Go on from both ends until one jump is between them."""
        field, front = self.field, self.forward
        self.runtime.require_memory(MEETING, "a count that meets in the middle")
        orbits = field.last_pairs()
        if self.proofs is None:
            targets = [pair for orbit in orbits for pair in orbit]
            proofs = find_proofs(field, [field.start], targets, field.turns, self.runtime)
            front.project(
                game_of(field, field.turns, proofs), lambda: self.runtime.report_progress(None, "the symmetries")
            )
            self.proofs = proofs
        for orbit in orbits[len(self.into) :]:
            ways = self._ways_into(orbit)
            self._leave_back()
            self.into.append(ways)
        totals = self._ends(orbits)
        return Counted(
            count=sum(totals.values()),
            ends=totals,
            rows=[*front.rows, (front.size, 0, front.ways)],
            back=self.back_rows,
            whole=False,
            tried=front.tried + self.back_tried,
        )

    def _ends(self, orbits: list[tuple[int, ...]]) -> dict[tuple[Hole, ...], int]:
        """Return the ways that end at each hole, or at its images together where the start does not look alike to all.

        All of an orbit are told by one number, which is theirs in equal parts only if the start has their symmetries.
        """
        field = self.field
        even = len(self.turns) == len(field.turns)
        ends: dict[tuple[Hole, ...], int] = {}
        for hole in range(len(field.board.holes)):
            images = sorted({turn[hole] for turn in field.turns})
            ways = sum(
                into * sum(end in images for end in self._ends_of(orbit[0]))
                for orbit, into in zip(orbits, self.into, strict=True)
            )
            together = [hole] if even else images
            if ways:
                ends[tuple(field.board.holes[each] for each in together)] = ways * len(together) // len(images)
        return ends

    def _ends_of(self, pair: int) -> list[int]:
        """Return the numbers of the holes where the last jump from the two pegs PAIR can end."""
        return [move.end for move in self.field.moves if move.pair == pair and 1 << move.end & self.field.goals]

    def _ways_into(self, orbit: tuple[int, ...]) -> int:
        """Return the number of ways to all of ORBIT together."""
        field, front = self.field, self.forward
        between = self.pegs - 3  # jumps but the one where they meet
        symmetries = len(field.turns)
        if self.back is None and 2 * front.level <= between + 1 and (first := self._mirrored(orbit)):
            while front.cells and 2 * front.level < between + 1:
                self._advance(front, self.pegs)
            cells = front.cells if 2 * front.level == between + 1 else front.before
            return self._joined(cells) * len(orbit) // (symmetries * first)
        if self.back is None:
            self.back = self._from_behind(orbit)
        back = self.back
        while front.level + back.level < between and front.cells and back.cells:
            self._advance(min(front, back, key=lambda each: each.size), self.pegs)
        return self._joined(back.cells) // symmetries

    def _leave_back(self) -> None:
        """Keep of the way back, which is done, what is told of it."""
        if self.back:
            rows = [*self.back.rows, (self.back.size, 0, self.back.ways)]
            both = zip_longest(self.back_rows, rows, fillvalue=(0, 0, 0))
            self.back_rows = [(one[0] + two[0], one[1] + two[1], one[2] + two[2]) for one, two in both]
            self.back_tried += self.back.tried
            self.back = None

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
            proofs = find_proofs(field, begin, self._starts(), field.turns, self.runtime)
        self.back_proofs = proofs
        game = game_of(field, field.turns, proofs)
        return Frontier(game, {game.canonical(begin[0]): len(orbit)})

    def _starts(self) -> list[int]:
        """Return what the way back has to come to."""
        return sorted({turned(self.field.full ^ self.field.start, turn) for turn in self.field.turns})

    def _joined(self, cells: "array[int]") -> int:
        """Return the ways from start to end, over all that one jump has between it and CELLS, for each symmetry."""
        front, runtime = self.forward, self.runtime

        def tell() -> None:
            runtime.report_progress(None, f"{front.size:,} positions meet {len(cells) // 3:,}")

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
        for part in front.map(runtime, joined, front.spans()):
            total += part
            tell()
        return total

    # Checkpoints

    def _save(self) -> str:
        parts, about = self.forward.save()
        more, behind = self.back.save() if self.back else ([], None)
        words = {
            "forward": about,
            "proofs": None if self.proofs is None else _plain(self.proofs),
            "into": self.into,
            "back": behind,
            "back_proofs": _plain(self.back_proofs),
            "back_rows": self.back_rows,
            "back_tried": self.back_tried,
        }
        lost = save_checkpoint(self.runtime.cache.save, self.name, written(words, [*parts, *more]))
        self.saved = self.runtime.monotonic()
        return lost

    def _load(self) -> None:
        """Go on from a checkpoint, if there is one that can be read and is sound."""
        came = read(self.runtime.cache.load(self.name))
        if came is None:
            return
        words, data = came
        behind = words["back"]
        size = sum(words["forward"]["sizes"])
        if len(data) != size + (sum(behind["sizes"]) if behind else 0):
            return
        orbits = self.field.last_pairs()
        if words["proofs"] is not None:
            proofs = _proofs(words["proofs"])
            targets = [pair for orbit in orbits for pair in orbit]
            if not all(is_proof(proof, self.field.moves, targets) for proof in proofs):
                return
            self.proofs = proofs
            self.forward.game = game_of(self.field, self.field.turns, proofs)

        def tell() -> None:
            self.runtime.report_progress(None, "what was counted before is read")

        if len(data) >= LARGE:
            self.runtime.require_memory(4 * len(data), "what was counted before")
        self.forward.load(data, words["forward"], tell)
        self.into = words["into"]
        self.back_rows = [(classes, positions, ways) for classes, positions, ways in words["back_rows"]]
        self.back_tried = words["back_tried"]
        if behind:
            self.back = self._from_behind(orbits[len(self.into)], _proofs(words["back_proofs"]))
            self.back.load(data[size:], behind, tell)


def _plain(proofs: tuple[Proof, ...]) -> list[Any]:
    return [[proof.weights, proof.least] for proof in proofs]


def _proofs(plain: list[Any]) -> tuple[Proof, ...]:
    return tuple(Proof(tuple(weights), least) for weights, least in plain)
