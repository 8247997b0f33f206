"""Count the solutions of peg solitaire exactly, without enumerating them.

A small board is counted level by level. On a larger one, a search from the start and one back from
the last two pegs, with lost positions discarded, meet in the middle: see
docs/puzzles/peg-solitaire.md.
"""

import dataclasses
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from pi_appliance.errors import Refused
from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.bitboard import (
    Bitboard,
    PagodaFunction,
    apply_symmetry,
    find_pagodas,
    is_valid_pagoda,
    to_game,
)
from pi_appliance.puzzles.peg_solitaire.board import Hole
from pi_appliance.puzzles.peg_solitaire.frontier import (
    LARGE_TABLE,
    Frontier,
    build_table,
    decode_checkpoint,
    encode_checkpoint,
)
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime, save_checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class CountResult:
    """The result of a count."""

    count: int  # the number of solutions
    ends: Mapping[tuple[Hole, ...], int]
    """The number of solutions by final hole, or by a group of symmetric holes."""
    rows: list[tuple[int, int, int]]  # for each level: classes, positions, ways
    back: list[tuple[int, int, int]] = dataclasses.field(default_factory=list)
    """The same for the backward search, summed over all last pairs."""
    all_positions: bool  # whether all reachable positions were visited; otherwise lost ones were discarded
    fewest: int = 1  # the fewest pegs that can be left, if all positions were visited
    last: tuple[tuple[int, int, int], ...] = ()
    """The last level, if all positions were visited: classes, positions, ways."""
    tried: int = 0  # the number of jumps tried
    games: int = 0  # the number of games that end without a move, if all positions were visited

    @property
    def classes(self) -> int:
        """The number of positions visited, up to symmetry."""
        return sum(row[0] for row in self.rows) + sum(row[0] for row in self.back)


FULL_COUNT_LIMIT = 100_000  # classes: smaller boards are counted completely, for their tables
MEETING_MEMORY = 220_000_000  # bytes that the full English board needs
CHECKPOINT_INTERVAL = 120.0  # seconds; an interruption saves one, too


class CountLimitReached(Refused):
    """There are more positions than allowed, or more ways than fit into 128 bits."""


class SolutionCounter:
    """A count that can be interrupted and resumed."""

    def __init__(
        self, field: Bitboard, runtime: SearchRuntime, *, most: float = float("inf"), small: int = FULL_COUNT_LIMIT
    ) -> None:
        """Count at most `most` classes; with more than `small`, by meeting in the middle."""
        self.field, self.runtime, self.most, self.small = field, runtime, most, small
        self.pegs = field.start.bit_count()
        self.symmetries = field.stabilizer(frozenset({field.start}))
        self.forward = Frontier(to_game(field, self.symmetries), {field.start: 1})
        self.proofs: tuple[PagodaFunction, ...] | None = None
        self.into: list[int] = []  # ways into each finished orbit of final pairs
        self.back: Frontier | None = None  # the backward search of the next orbit
        self.back_proofs: tuple[PagodaFunction, ...] = ()
        self.back_rows: list[tuple[int, int, int]] = []  # of finished backward searches, by level
        self.back_tried = 0
        self.name = field.checkpoint_name("all" if field.board.all_positions else "count")
        self.saved = runtime.monotonic()

    def run(self) -> CountResult:
        """Count the solutions. Raises Interrupted, CountLimitReached, Refused."""
        try:
            self._load()
        except Interrupted as error:
            error.partial_result = self.describe_progress()
            raise
        try:
            while self.forward.cells and (
                self.field.board.all_positions
                or self.forward.classes_seen <= self.small
                or (self.proofs is None and self.forward.level > self.pegs - 4)  # too late to meet
            ):
                self._advance(self.forward, self.pegs)
            result = (
                self._meet_in_middle() if self.forward.cells or self.proofs is not None else self._finish_full_count()
            )
        except Interrupted as error:
            error.partial_result = self.describe_progress() + self._save()
            raise
        self.runtime.cache.remove(self.name)
        return result

    def describe_progress(self) -> str:
        """Return the partial result."""
        front = self.forward
        counted = f"all {front.classes_seen:,} positions of up to {front.level} jumps" if front.level else "nothing"
        back = f", and {pluralize(self.back.level, 'jump')} back from the end" if self.back and self.back.level else ""
        ends = (
            f"; {len(self.into)} of {len(self.field.final_pairs())} kinds of final pairs are done" if self.into else ""
        )
        return f"{counted} counted{back}{ends}"

    def _advance(self, front: Frontier, pegs: int) -> None:
        note = f"jump {front.level + 1} of {pegs - 1}{' back' if front is not self.forward else ''}: "

        def report(part: float) -> None:
            self.runtime.report_progress(None, f"{note}{front.size:,} positions, {part:.0%}")

        front.advance(self.runtime, report)
        if front.classes_seen > self.most:
            raise CountLimitReached(f"there are more than {self.most:,.0f} positions")
        # Keeps all later sums within 128 bits.
        if front.ways * len(self.field.moves) * len(self.field.symmetries) >> 128:
            raise CountLimitReached("there are more than 2^128 ways")
        if self.runtime.monotonic() - self.saved > CHECKPOINT_INTERVAL:
            self._save()

    # A count to the end of all games

    def _finish_full_count(self) -> CountResult:
        front = self.forward
        front.cells, front.level = front.before, front.level - 1
        pegs_left = self.pegs - front.level
        ends: dict[tuple[Hole, ...], int] = {}
        if pegs_left == 1:
            for key, ways in front.classes():
                members = {apply_symmetry(key, turn) for turn in self.symmetries}
                for member in members:
                    if member & self.field.goals:
                        ends[self.field.board.holes[member.bit_length() - 1],] = ways // len(members)
        return CountResult(
            count=sum(ends.values()),
            ends=dict(sorted(ends.items())),
            rows=front.rows,
            all_positions=True,
            tried=front.tried,
            fewest=pegs_left,
            last=(front.rows[-1],),
            games=front.stuck,
        )

    # A count that meets in the middle

    def _meet_in_middle(self) -> CountResult:
        """Advance both searches until one jump is between them."""
        field, front = self.field, self.forward
        self.runtime.require_memory(MEETING_MEMORY, "a count that meets in the middle")
        orbits = field.final_pairs()
        if self.proofs is None:
            targets = [pair for orbit in orbits for pair in orbit]
            proofs = find_pagodas(field, [field.start], targets, field.symmetries, self.runtime)
            front.project(
                to_game(field, field.symmetries, proofs), lambda: self.runtime.report_progress(None, "the symmetries")
            )
            self.proofs = proofs
        for orbit in orbits[len(self.into) :]:
            ways = self._count_ways_into(orbit)
            self._finish_backward()
            self.into.append(ways)
        totals = self._count_ends(orbits)
        return CountResult(
            count=sum(totals.values()),
            ends=totals,
            rows=[*front.rows, (front.size, 0, front.ways)],
            back=self.back_rows,
            all_positions=False,
            tried=front.tried + self.back_tried,
        )

    def _count_ends(self, orbits: list[tuple[int, ...]]) -> dict[tuple[Hole, ...], int]:
        """Return the solutions by final hole, or by groups of symmetric holes."""
        field = self.field
        even = len(self.symmetries) == len(field.symmetries)
        ends: dict[tuple[Hole, ...], int] = {}
        for hole in range(len(field.board.holes)):
            images = sorted({turn[hole] for turn in field.symmetries})
            last = [move for move in field.moves if move.end in images and 1 << move.end & field.goals]
            ways = sum(
                into * sum(move.pair == orbit[0] for move in last)
                for orbit, into in zip(orbits, self.into, strict=True)
            )
            together = [hole] if even else images
            if ways:
                ends[tuple(field.board.holes[each] for each in together)] = ways * len(together) // len(images)
        return ends

    def _count_ways_into(self, orbit: tuple[int, ...]) -> int:
        field, front = self.field, self.forward
        between = self.pegs - 3  # jumps except the one between the searches
        symmetries = len(field.symmetries)
        if self.back is None and 2 * front.level <= between + 1 and (first := self._mirror_first_jumps(orbit)):
            while front.cells and 2 * front.level < between + 1:
                self._advance(front, self.pegs)
            cells = front.cells if 2 * front.level == between + 1 else front.before
            return self._join(cells) * len(orbit) // (symmetries * first)
        if self.back is None:
            self.back = self._start_backward(orbit)
        back = self.back
        while front.level + back.level < between and front.cells and back.cells:
            self._advance(min(front, back, key=lambda each: each.size), self.pegs)
        return self._join(back.cells) // symmetries

    def _finish_backward(self) -> None:
        if self.back:
            rows = [*self.back.rows, (self.back.size, 0, self.back.ways)]
            both = zip_longest(self.back_rows, rows, fillvalue=(0, 0, 0))
            self.back_rows = [(one[0] + two[0], one[1] + two[1], one[2] + two[2]) for one, two in both]
            self.back_tried += self.back.tried
            self.back = None

    def _mirror_first_jumps(self, orbit: tuple[int, ...]) -> int:
        """Return the number of first jumps if all lead to complements of `orbit`; otherwise 0."""
        field = self.field
        first = [field.start ^ move.triple for move in field.moves if field.start & move.triple == move.pair]
        return len(first) if all(field.full ^ position in orbit for position in first) else 0

    def _start_backward(self, orbit: tuple[int, ...], proofs: tuple[PagodaFunction, ...] | None = None) -> Frontier:
        field = self.field
        begin = [field.full ^ pair for pair in orbit]
        if proofs is None:
            targets = sorted({apply_symmetry(field.full ^ field.start, turn) for turn in field.symmetries})
            proofs = find_pagodas(field, begin, targets, field.symmetries, self.runtime)
        self.back_proofs = proofs
        game = to_game(field, field.symmetries, proofs)
        return Frontier(game, {game.canonical(begin[0]): len(orbit)})

    def _join(self, cells: "array[int]") -> int:
        """Return the ways through all pairs one jump apart, times the number of symmetries."""
        front, runtime = self.forward, self.runtime

        def report() -> None:
            runtime.report_progress(None, f"{front.size:,} positions meet {len(cells) // 3:,}")

        table = build_table(cells, report)

        def join_span(span: tuple[int, int]) -> int:
            first, last = span
            sums = array("Q", bytes(16 * (last - first)))
            kernel.count_meetings(front.game, front.cells, first, last, table, self.field.full, sums)
            here = front.cells[3 * first : 3 * last]
            return sum(
                ((here[3 * at + 1] << 64) + here[3 * at + 2]) * ((sums[2 * at] << 64) + sums[2 * at + 1])
                for at in range(last - first)
                if sums[2 * at] or sums[2 * at + 1]
            )

        total = 0
        for part in front.map_spans(runtime, join_span, front.spans()):
            total += part
            report()
        return total

    # Checkpoints

    def _save(self) -> str:
        parts, header = self.forward.save()
        more, back_header = self.back.save() if self.back else ([], None)
        proofs = None if self.proofs is None else _pagodas_to_json(self.proofs)
        words: dict[str, Any] = {"forward": header, "proofs": proofs, "into": self.into, "back": back_header}
        words |= {"back_rows": self.back_rows, "back_tried": self.back_tried}
        words |= {"back_proofs": _pagodas_to_json(self.back_proofs)}
        lost = save_checkpoint(self.runtime.cache.save, self.name, encode_checkpoint(words, [*parts, *more]))
        self.saved = self.runtime.monotonic()
        return lost

    def _load(self) -> None:
        result = decode_checkpoint(self.runtime.cache.load(self.name))
        if result is None:
            return
        words, data = result
        back_header = words["back"]
        size = sum(words["forward"]["sizes"])
        if len(data) != size + (sum(back_header["sizes"]) if back_header else 0):
            return
        orbits = self.field.final_pairs()
        if words["proofs"] is not None:
            proofs = _pagodas_from_json(words["proofs"])
            targets = [pair for orbit in orbits for pair in orbit]
            if not all(is_valid_pagoda(proof, self.field.moves, targets) for proof in proofs):
                return
            self.proofs = proofs
            self.forward.game = to_game(self.field, self.field.symmetries, proofs)

        def report() -> None:
            self.runtime.report_progress(None, "loading the checkpoint")

        if len(data) >= LARGE_TABLE:
            self.runtime.require_memory(4 * len(data), "the checkpoint")
        self.forward.load(data, words["forward"], report)
        self.into = words["into"]
        self.back_rows = [(classes, positions, ways) for classes, positions, ways in words["back_rows"]]
        self.back_tried = words["back_tried"]
        if back_header:
            self.back = self._start_backward(orbits[len(self.into)], _pagodas_from_json(words["back_proofs"]))
            self.back.load(data[size:], back_header, report)


def _pagodas_to_json(proofs: tuple[PagodaFunction, ...]) -> list[Any]:
    return [[proof.weights, proof.least] for proof in proofs]


def _pagodas_from_json(plain: list[Any]) -> tuple[PagodaFunction, ...]:
    return tuple(PagodaFunction(tuple(weights), least) for weights, least in plain)
