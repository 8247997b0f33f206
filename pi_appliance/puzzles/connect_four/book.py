"""The opening book: exact scores of all early positions, built over many runs.

A stage solves all positions of one ply, without mirror images. The scores of earlier plies follow
from these.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pi_appliance.puzzles import Answer, Details, Table, kernel_mode, pluralize
from pi_appliance.puzzles.connect_four import kernel
from pi_appliance.puzzles.connect_four.board import SQUARES
from pi_appliance.puzzles.connect_four.search import EMPTY_POSITION, Position, Search, max_score
from pi_appliance.puzzles.runtime import Cache, Interrupted, SearchRuntime, load_entry, save_entry

CACHE_NAME = "connect-four/book-3"
STAGES = (6, 8)  # plies: 8,231 and 91,295 positions, about a day on one fast core
BOOK_BYTES = 1_000_000  # bytes of the complete book: 8 per position
BOOK_MEMORY = 60_000_000  # bytes of all positions while it is built, measured
_SAVE_INTERVAL = 10.0  # seconds between two saves of an unfinished stage
_EXTRA_SAVE_INTERVAL = 0.003  # seconds more per position, to spare the SD card
_CHUNKS_PER_PLY = 10_000  # chunks per ply; each has several positions, so that hard ones are spread over the cores
_TIME_TO_SAVE = 2.0  # seconds that are kept at the end to save
_PROGRESS_INTERVAL = 1_000  # positions between two progress reports
UNKNOWN = -99  # score of an unknown position, as in the kernel

Level = Mapping[int, Position]  # the undecided positions of one ply by their keys


class Book:
    """Scores by the key of a position.

    `entries` are sorted numbers `key * 64 + score + 32`. `plies` is -1 for an empty book.
    """

    def __init__(self, entries: Sequence[int] = (), complete: int = -1, plies: int = -1) -> None:
        self._entries = entries  # sorted numbers: key * 64 + score + 32
        self.complete, self.plies = complete, plies

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return ((entry >> 6, (entry & 63) - 32) for entry in self._entries)

    def score(self, key: int) -> int:
        """Return the score of a position, or `UNKNOWN`."""
        at = bisect_left(self._entries, key << 6)
        if at < len(self._entries) and self._entries[at] >> 6 == key:
            return (self._entries[at] & 63) - 32
        return UNKNOWN

    def __str__(self) -> str:
        if not len(self):
            return "none yet"
        complete = f"complete up to {pluralize(self.complete, 'disc')}" if self.complete >= 0 else "no ply complete yet"
        return f"{pluralize(len(self), 'position')}, {complete}"


def load_book(cache: Cache, start: Position = EMPTY_POSITION) -> Book:
    """Load the book of games from `start`. If it is missing or invalid, return an empty one."""
    saved = load_entry(cache, CACHE_NAME)
    if saved is None or saved.values["start"] != start.key:
        return Book()
    return Book(saved.buffers[0], saved.values["complete"], saved.values["plies"])


def save_book(cache: Cache, start: Position, scores: Mapping[int, int], complete: int, plies: int) -> None:
    """Save a book for `load_book`. Raises Unavailable."""
    entries = array("Q", sorted(key << 6 | score + 32 for key, score in scores.items()))
    save_entry(cache, CACHE_NAME, {"start": start.key, "complete": complete, "plies": plies}, [entries])


def precompute(runtime: SearchRuntime) -> Answer[object]:
    """Build the opening book, or continue building it. Raises Interrupted."""
    return build_book(runtime, EMPTY_POSITION, STAGES)


def build_book(runtime: SearchRuntime, start: Position, stages: Sequence[int]) -> Answer[object]:
    """Build the book of games from `start` for each ply of `stages`. Raises Interrupted."""
    builder = _BookBuilder(runtime, start)
    try:
        for plies in stages:
            if plies > builder.complete:
                builder.solve_stage(plies)
    except Interrupted as end:
        builder.save()
        end.partial_result = builder.describe_progress()
        raise
    return builder.build_result()


class _BookBuilder:
    def __init__(self, runtime: SearchRuntime, start: Position) -> None:
        self.runtime, self.start = runtime, start
        book = load_book(runtime.cache, start)
        self.scores = dict(book)
        self.complete, self.plies = book.complete, max(book.plies, 0)
        self.levels: list[Level] = [{start.key: start}]
        self.longest = self.saved = 0.0
        self.nodes = 0

    def solve_stage(self, plies: int) -> None:
        """Solve all positions `plies` moves after the start, then all earlier ones."""
        self._generate_levels(plies)
        level = self.levels[plies]
        missing = [position for key, position in level.items() if key not in self.scores]
        self.plies, self.saved = plies, self.runtime.monotonic()
        done, whole = len(level) - len(missing), pluralize(len(level), "position")
        chunks = self._chunks_in_time(missing, 1 + len(level) // _CHUNKS_PER_PLY)
        for scores, tried, seconds in self.runtime.map(_chunk_solver, self.start.discs, chunks):
            self.scores |= scores
            self.nodes += tried
            self.longest = max(self.longest, seconds)
            done += len(scores)
            self.runtime.report_progress(done / len(level), f"ply {plies}: {done:,} of {whole}")
            if self.runtime.monotonic() - self.saved > _SAVE_INTERVAL + _EXTRA_SAVE_INTERVAL * len(self.scores):
                self.save()
        if done < len(level):
            raise Interrupted("the time is too short to continue the opening book")
        self._score_earlier_plies(plies)
        self.complete = plies
        self.save()

    def _chunks_in_time(self, positions: Sequence[Position], size: int) -> Iterator[Sequence[Position]]:
        """Yield chunks of positions as long as the time seems to suffice for one more."""
        for at in range(0, len(positions), size):
            seconds_left = self.runtime.seconds_left()
            if seconds_left is not None and seconds_left < _TIME_TO_SAVE + 2 * self.longest:
                return
            yield positions[at : at + size]

    def _generate_levels(self, plies: int) -> None:
        while len(self.levels) <= plies:
            level: dict[int, Position] = {}
            for done, after in enumerate(child_positions(self.levels[-1].values())):
                if not done % _PROGRESS_INTERVAL:
                    self.runtime.report_progress(None, f"opening book: the positions of ply {len(self.levels)}")
                level[after.key] = after
            self.levels.append(dict(sorted(level.items())))

    def _score_earlier_plies(self, plies: int) -> None:
        """Score the plies before `plies` backwards: a position is worth its best move."""
        for level in reversed(self.levels[:plies]):
            for done, (key, position) in enumerate(level.items()):
                if not done % _PROGRESS_INTERVAL:
                    self.runtime.report_progress(None, f"opening book: the plies before ply {plies}")
                self.scores[key] = max(self._worth(position, square) for _, square in position.moves())

    def _worth(self, position: Position, square: int) -> int:
        if position.wins(square):
            return max_score(position.discs)
        after = position.play(square)
        return -self.scores[after.key] if after.discs < SQUARES else 0

    def save(self) -> None:
        save_book(self.runtime.cache, self.start, self.scores, self.complete, self.plies)
        self.saved = self.runtime.monotonic()

    def describe_progress(self) -> str:
        complete = f"all up to ply {self.complete}" if self.complete >= 0 else "no ply is complete yet"
        return f"the opening book has {pluralize(len(self.scores), 'position')}; {complete}"

    def build_result(self) -> Answer[object]:
        rows = [(ply, len(level), sum(key in self.scores for key in level)) for ply, level in enumerate(self.levels)]
        facts: Details = {"positions": len(self.scores), "complete_plies": self.complete, "kernel": kernel_mode(kernel)}
        table = Table("The opening book", ("Ply", "Undecided positions, without mirror images", "Solved"), rows)
        # If the book was complete, no levels were generated.
        tables = (table,) if len(rows) > self.complete else ()
        return Answer(nodes_searched=lambda: self.nodes, details=facts, tables=tables)


def _chunk_solver(
    discs: int, runtime: SearchRuntime
) -> Callable[[Sequence[Position]], tuple[dict[int, int], int, float]]:
    search = Search(runtime, discs, note="opening book")

    def solve_chunk(chunk: Sequence[Position]) -> tuple[dict[int, int], int, float]:
        began, tried = runtime.monotonic(), search.nodes
        scores = {position.key: search.exact_score(position) for position in chunk}
        return scores, search.nodes - tried, runtime.monotonic() - began

    return solve_chunk


def child_positions(positions: Iterable[Position], *, ended: bool = False) -> Iterator[Position]:
    """Yield the positions after one move, with duplicates; finished games only with `ended`."""
    for position in positions:
        for _, square in position.moves():
            if ended or not position.wins(square):
                yield position.play(square)
