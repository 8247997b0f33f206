"""All positions of solitaire chess, level by level: a level is what so many captures make of the board, each once.

Two levels are in memory at a time where only a number is asked for, and that search goes on from the level where it was
cut off: a level is written down then.
"""

import hashlib
import json

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime, save_checkpoint
from pi_appliance.puzzles.solitaire_chess.board import Board
from pi_appliance.puzzles.solitaire_chess.seats import Position

A_RUN = 8_000  # pieces, of all positions in one call of the kernel: some tenths of a second of a slow Pi, plain
EACH = 250  # bytes of a position and its number in a dictionary
MANY_BOARDS = 200_000  # positions that may need much memory

Ways = dict[bytes, int]


class Levels:
    """The levels of one board, from the beginning on."""

    def __init__(self, board: Board, position: Position, runtime: SearchRuntime, *, many: int = MANY_BOARDS) -> None:
        """Begin with BOARD; after more than MANY positions, memory is asked for before each level."""
        self.position, self.runtime, self.many = position, runtime, many
        self.captures = len(position.start) - 1
        self.run = A_RUN // len(position.start)
        self.tried = 0
        self.sizes = [1]
        rules = f"{board.rows} {board.pawns} {board.king} {board.captures_each}"
        self.cache = f"solitaire-chess/level-1-{hashlib.sha256(rules.encode()).hexdigest()[:16]}"

    @property
    def positions(self) -> int:
        """How many positions were met."""
        return sum(self.sizes)

    def last(self, most: int | None = None) -> Ways | None:
        """Return the last level with the number of ways to each of its positions; None if there are over MOST in all.

        If no line leads to the end, that is the last level there is. Raises Interrupted, with what is known by then.
        """
        level = self._resumed()
        try:
            while len(self.sizes) <= self.captures:
                after = self._grown(level, most)
                if after is None:
                    return None
                if not after:
                    break
                level = after
                self.sizes.append(len(level))
        except Interrupted as stop:
            stop.partial_result = self._so_far() + self._keep(level)
            raise
        self.runtime.cache.remove(self.cache)
        return level

    def alive(self) -> list[Ways]:
        """Return the positions on lines to the end, level by level, with the number of lines that go on from each.

        Raises Interrupted, with what is known by then.
        """
        try:
            return self._alive()
        except Interrupted as stop:
            stop.partial_result = self._so_far()
            raise

    def _so_far(self) -> str:
        done = len(self.sizes) - 1
        verb = "leads" if done == 1 else "lead"
        return f"{pluralize(done, 'capture')} of {self.captures} {verb} to {pluralize(self.sizes[-1], 'position')}"

    def _alive(self) -> list[Ways]:
        levels: list[Ways] = [{self.position.start: 1}]
        while len(levels) <= self.captures and levels[-1]:
            levels.append(self._grown(levels[-1], None) or {})
            self.sizes.append(len(levels[-1]))
        if len(levels) <= self.captures:
            return [{} for _ in range(self.captures + 1)]
        ways: list[Ways] = [dict.fromkeys(levels.pop(), 1)]
        while levels:
            ways.append(self._weighed(list(levels.pop()), ways[-1]))
        return ways[::-1]

    def _grown(self, level: Ways, most: int | None) -> Ways | None:
        number = len(self.sizes)
        if (
            self.positions > self.many
        ):  # those before may be there, too; the largest levels of a board are not much larger than their neighbours
            self.runtime.require_memory(3 * EACH * len(level), f"the positions after {number} captures")
        after: Ways = {}
        keys = list(level)
        for at in range(0, len(keys), self.run):
            self.tried += self.position.seats.grow(keys, at, min(at + self.run, len(keys)), level, after)
            self._tell(number, len(after))
            if most is not None and self.positions + len(after) > most:
                return None
        return after

    def _weighed(self, keys: list[bytes], after: Ways) -> Ways:
        ways: Ways = {}
        for at in range(0, len(keys), self.run):
            self.position.seats.weigh(keys, at, min(at + self.run, len(keys)), after, ways)
            self._tell(self.captures, len(ways))
        return ways

    def _tell(self, number: int, found: int) -> None:
        self.runtime.report_progress(None, f"capture {number} of {self.captures}: {pluralize(found, 'position')}")

    def _keep(self, level: Ways) -> str:
        """Put LEVEL on the shelf: a line that says what it is, then each position and its number, of one length."""
        wide = max(number.bit_length() for number in level.values()) // 8 + 1
        head = {"sizes": self.sizes, "tried": self.tried, "wide": wide}
        body = (key + number.to_bytes(wide, "big") for key, number in level.items())
        return save_checkpoint(self.runtime.cache.save, self.cache, [json.dumps(head).encode() + b"\n", b"".join(body)])

    def _resumed(self) -> Ways:
        """Return the level that the shelf has, or the first one."""
        kept = self.runtime.cache.load(self.cache)
        head, _, body = bytes(kept or b"").partition(b"\n")
        try:
            said = json.loads(head)
            sizes, tried, wide = list(said["sizes"]), int(said["tried"]), int(said["wide"])
        except (ValueError, KeyError, TypeError):
            return {self.position.start: 1}
        each = len(self.position.start) + wide
        if not 1 <= len(sizes) <= self.captures + 1 or len(body) != sizes[-1] * each:
            return {self.position.start: 1}
        if sizes[-1] > self.many:
            self.runtime.require_memory(EACH * sizes[-1], "the positions that were met before")
        self.sizes, self.tried = sizes, tried
        records = (body[at : at + each] for at in range(0, len(body), each))
        return {record[:-wide]: int.from_bytes(record[-wide:], "big") for record in records}
