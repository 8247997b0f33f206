"""The opening book: the scores of all early positions, built on the shelf night after night.

The book grows in stages. A stage solves every position of its ply, mirror images once, one by one on all cores; the
plies before it follow from the moves there are. What is solved is kept at once, so that a stage can be cut off at any
moment; what is kept depends on nothing but how far it is.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from pi_appliance.puzzles import SolveResult, Table, kernel_mode, pluralize
from pi_appliance.puzzles.connect_four import kernel
from pi_appliance.puzzles.connect_four.position import NOTHING, Position
from pi_appliance.puzzles.connect_four.search import Search
from pi_appliance.puzzles.runtime.interface import Cache, Interrupted, SearchRuntime

NAME = "connect-four/book-2"
STAGES = (6, 8)  # plies, of 8,231 and 91,295 positions: about a day of one good core; each is a matter of seconds
_MAGIC = 0x626F6F6B2D666F75  # another number on a machine that writes numbers the other way round
_HEAD = 4  # numbers before the entries: what it is, where it begins, its complete plies, and the ply in work
_SAVED = 10.0  # seconds between two times that an unfinished stage is written
_MORE = 0.003  # seconds that are added for each position there is: a card does not last forever
_CHUNKS = 10_000  # of a ply; several positions in one call, so that a hard one among them keeps no core waiting
_MARGIN = 2.0  # seconds that are left for writing at the end
_OFTEN = 1_000  # positions between two signs of life, where they are only gone through

Level = Mapping[int, Position]
"""The undecided positions of one ply, by their keys."""


class Book:
    """Scores by keys of positions. COMPLETE plies from the beginning are all there, more may be of the ply in work."""

    def __init__(self, entries: Sequence[int] = (), complete: int = -1, plies: int = -1) -> None:
        self._entries = entries  # sorted: key * 64 + score + 32
        self.complete, self.plies = complete, plies

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((entry >> 6, (entry & 63) - 32) for entry in self._entries)

    def score(self, key: int) -> int:
        """Return the score of the position of KEY, or UNKNOWN."""
        at = bisect_left(self._entries, key << 6)
        if at < len(self._entries) and self._entries[at] >> 6 == key:
            return (self._entries[at] & 63) - 32
        return UNKNOWN

    def __str__(self) -> str:
        if not len(self):
            return "none yet"
        return f"{pluralize(len(self), 'position')}, " + (
            f"complete up to {pluralize(self.complete, 'disc')}" if self.complete >= 0 else "no ply complete yet"
        )


UNKNOWN = -99  # as the kernel says it


def load(cache: Cache, start: Position = NOTHING) -> Book:
    """Return the book that begins at START; an empty one if there is none, or it is none of ours."""
    kept = cache.load(NAME)
    if kept is None or kept.nbytes % 8 or kept.nbytes < 8 * _HEAD:
        return Book()
    numbers = kept.cast("B").cast("Q")
    magic, begins, complete, plies = numbers[:_HEAD]
    entries = numbers[_HEAD:]
    if (magic, begins) != (_MAGIC, start.key) or any(a >= b for a, b in pairwise(entries)):
        return Book()
    return Book(entries, complete - 1, plies)


def _save(cache: Cache, start: Position, scores: Mapping[int, int], complete: int, plies: int) -> None:
    head = array("Q", (_MAGIC, start.key, complete + 1, plies))
    entries = array("Q", sorted(key << 6 | score + 32 for key, score in scores.items()))
    cache.save(NAME, (head.tobytes(), entries.tobytes()))


def precompute(runtime: SearchRuntime) -> SolveResult:
    """Build the opening book, or go on with it, until it is complete. Raises Interrupted, also when time runs short."""
    return deepen(runtime, NOTHING, STAGES)


def deepen(runtime: SearchRuntime, start: Position, stages: Sequence[int]) -> SolveResult:
    """Build the book of the games from START on, ply by ply of STAGES. Raises Interrupted, with what is kept told."""
    builder = _Builder(runtime, start)
    try:
        for plies in stages:
            if plies > builder.complete:
                builder.stage(plies)
    except Interrupted as end:
        builder.save()
        end.partial_result = builder.told()
        raise
    return builder.answer()


class _Builder:
    """What is known of the book, and how more comes to be known."""

    def __init__(self, runtime: SearchRuntime, start: Position) -> None:
        self.runtime, self.start = runtime, start
        book = load(runtime.cache, start)
        self.scores = dict(book)
        self.complete, self.plies = book.complete, max(book.plies, 0)
        self.levels: list[Level] = [{start.key: start}]
        self.longest = self.saved = 0.0
        self.tried = 0

    def stage(self, plies: int) -> None:
        """Solve all positions of the ply that is PLIES from the start, and work back from them. Raises Interrupted."""
        self._reach(plies)
        level = self.levels[plies]
        missing = [position for key, position in level.items() if key not in self.scores]
        self.plies = plies
        self.saved = self.runtime.monotonic()
        done = len(level) - len(missing)
        size = 1 + len(level) // _CHUNKS
        for scores, tried, seconds in self.runtime.executor.map(self._solver(), self._in_time(missing, size)):
            self.scores |= scores
            self.tried += tried
            self.longest = max(self.longest, seconds)
            done += len(scores)
            self.runtime.report_progress(
                done / len(level), f"ply {plies}: {done:,} of {pluralize(len(level), 'position')}"
            )
            if self.runtime.monotonic() - self.saved > _SAVED + _MORE * len(self.scores):
                self.save()
        if done < len(level):
            raise Interrupted("there is no time for more of the opening book")
        self._work_back(plies)
        self.complete = plies
        self.save()

    def _solver(self) -> Callable[[Sequence[Position]], tuple[dict[int, int], int, float]]:
        search = Search(self.runtime, self.start.discs, note="opening book")

        def solved(chunk: Sequence[Position]) -> tuple[dict[int, int], int, float]:
            began, tried = self.runtime.monotonic(), search.tried
            scores = {position.key: search.exact(position) for position in chunk}
            return scores, search.tried - tried, self.runtime.monotonic() - began

        return solved

    def _in_time(self, positions: Sequence[Position], size: int) -> Iterator[Sequence[Position]]:
        """Yield POSITIONS in chunks of SIZE, as long as there seems to be time for one more."""
        for at in range(0, len(positions), size):
            left = self.runtime.seconds_left()
            if left is not None and left < _MARGIN + 2 * self.longest:
                return
            yield positions[at : at + size]

    def _reach(self, plies: int) -> None:
        while len(self.levels) <= plies:
            found: dict[int, Position] = {}
            for done, after in enumerate(children(self.levels[-1].values())):
                if not done % _OFTEN:
                    self.runtime.report_progress(None, f"opening book: the positions of ply {len(self.levels)}")
                found[after.key] = after
            self.levels.append(dict(sorted(found.items())))

    def _work_back(self, plies: int) -> None:
        """Score the plies before PLIES, the last one first: a position is worth its best move."""
        for level in reversed(self.levels[:plies]):
            for done, (key, position) in enumerate(level.items()):
                if not done % _OFTEN:
                    self.runtime.report_progress(None, f"opening book: the plies before ply {plies}")
                self.scores[key] = max(self._worth(position, square) for _, square in position.moves())

    def _worth(self, position: Position, square: int) -> int:
        if position.wins(square):
            return (43 - position.discs) // 2
        after = position.played(square)
        return -self.scores[after.key] if after.discs < 42 else 0

    def save(self) -> None:
        """Keep what is known."""
        _save(self.runtime.cache, self.start, self.scores, self.complete, self.plies)
        self.saved = self.runtime.monotonic()

    def told(self) -> str:
        """Return how far the book is, in a sentence."""
        complete = f"all up to ply {self.complete}" if self.complete >= 0 else "no ply is complete yet"
        return f"the opening book has {pluralize(len(self.scores), 'position')}; {complete}"

    def answer(self) -> SolveResult:
        """Return how far the book is."""
        rows = [(ply, len(level), sum(key in self.scores for key in level)) for ply, level in enumerate(self.levels)]
        facts: dict[str, int | str] = {
            "positions": len(self.scores),
            "complete_plies": self.complete,
            "kernel": kernel_mode(kernel),
        }
        table = Table("The opening book", ("Ply", "Undecided positions, mirror images once", "Solved"), rows)
        # Where there was nothing left to do, nobody has looked at the plies.
        return SolveResult(
            nodes_searched=lambda: self.tried, details=facts, tables=(table,) if len(rows) > self.complete else ()
        )


def children(positions: Iterable[Position], *, ended: bool = False) -> Iterator[Position]:
    """Yield what POSITIONS come to by one move, those where a game has ENDED only if asked; one may come twice."""
    for position in positions:
        for _, square in position.moves():
            if ended or not position.wins(square):
                yield position.played(square)
