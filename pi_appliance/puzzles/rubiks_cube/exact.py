"""Shortest solutions of the 3x3x3, all of them, and the proof that there are no shorter ones: depth after depth."""

import json
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.rubiks_cube import cubies, kept
from pi_appliance.puzzles.rubiks_cube.board import FACES
from pi_appliance.puzzles.rubiks_cube.coordinates import ORDERS, Coordinates, coordinates
from pi_appliance.puzzles.rubiks_cube.kernel import DONE, FOUND, LONGEST, Exact, Tables
from pi_appliance.puzzles.rubiks_cube.two_phase import NONE, axes, first_turns
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime
from pi_appliance.puzzles.runtime.serial import save_checkpoint

BUDGET = 5_000  # positions between two looks around
# Ways of fewer turns are one piece of work; longer ones are shared out by their first two turns, then by three.
_SHARED, _FINELY = 12, 16
_DUE = 60  # seconds between two checkpoints

Turns = tuple[int, ...]


@dataclass(slots=True)
class Proven:
    """How far a search is: nothing is shorter than LENGTH, DONE pieces of that length are through, with these LINES."""

    length: int
    done: int = 0
    nodes: int = 0
    lines: list[Turns] = field(default_factory=list)


class Shortest:
    """The search for the shortest solutions of one cube; it goes on where it was cut off."""

    def __init__(self, state: cubies.State, tables: Tables, runtime: SearchRuntime) -> None:
        self._state, self._tables, self._runtime = state, tables, runtime
        self._axes = axes()
        self._name = f"rubiks-cube/shortest-2-{zlib.crc32(bytes(state)):08x}"
        self._home = coordinates([cubies.SOLVED])[0]
        self.proven = self._load() or Proven(self._least())

    def run(self, most: int = LONGEST) -> bool:
        """Look until the shortest are found, or nothing has MOST turns; say whether they are. Raises Interrupted."""
        proven = self.proven
        saved = self._runtime.monotonic()
        try:
            while not (proven.lines and not proven.done) and proven.length <= most:
                for lines, nodes in self._pieces():
                    proven.lines += lines
                    proven.nodes += nodes
                    proven.done += 1
                    if self._runtime.monotonic() - saved > _DUE:
                        self._save()
                        saved = self._runtime.monotonic()
                proven.done = 0
                if not proven.lines:
                    proven.length += 1
        except Interrupted as end:
            end.partial_result = f"no solution has fewer than {pluralize(proven.length, 'move')}"
            end.partial_result += self._save() or "; the next run goes on from there"
            raise
        if proven.lines:
            self._runtime.cache.remove(self._name)
        return bool(proven.lines)

    def steps(self, length: int) -> Iterator[int]:
        """Look through all ways of LENGTH turns here and now; yield the number of positions now and then."""
        search = self._search()
        search.begin(self._starts(self._state), self._home, length, NONE)
        while (said := search.run(BUDGET)) != DONE:
            if said == FOUND:
                self.proven.lines.append(tuple(search.path[:length]))
                return
            yield search.nodes

    def _least(self) -> int:
        far = [self._tables.distance(start[0], start[1], start[2] // ORDERS) for start in self._starts(self._state)]
        return max(*far, min(far) + 1)

    def _pieces(self) -> Iterator[tuple[list[Turns], int]]:
        """Yield what comes of each piece of work that is left of this length."""
        length = self.proven.length
        pieces: Sequence[Turns] = list(first_turns((length >= _SHARED) * 2 + (length >= _FINELY)))
        note = f"no solution of fewer than {length} moves"

        def look(piece: Turns) -> tuple[list[Turns], int]:
            state = self._state
            for turn in piece:
                state = cubies.compose(state, cubies.turn_states()[turn])
            search = self._search()
            last = piece[-1] // 3 if piece else NONE
            search.begin(self._starts(state), self._home, length - len(piece), last)
            lines: list[Turns] = []
            while (said := search.run(BUDGET)) != DONE:
                if said == FOUND:
                    lines.append(piece + tuple(search.path[: length - len(piece)]))
                self._runtime.report_progress(None, note)
            return lines, search.nodes

        for came in self._runtime.map(look, pieces[self.proven.done :]):
            self._runtime.report_progress(self.proven.done / len(pieces) if len(pieces) > 1 else None, note)
            yield came

    def _search(self) -> Exact:
        room = [array("i", bytes(12 * (LONGEST + 1))) for _ in range(6)]
        renamed = array("i")
        for faces in self._axes:
            renamed.extend(FACES.index(faces[FACES[turn // 3]]) * 3 + turn % 3 for turn in range(18))
        return Exact(self._tables, room, renamed)

    def _starts(self, state: cubies.State) -> list[Coordinates]:
        return coordinates(cubies.seen_after(state, faces) for faces in self._axes)

    def _load(self) -> Proven | None:
        found = kept.load(self._runtime.cache, self._name)
        if found is None:
            return None
        told = json.loads(bytes(found))
        if told["state"] != list(self._state):
            return None
        return Proven(told["length"], told["done"], told["nodes"], [tuple(line) for line in told["lines"]])

    def _save(self) -> str:
        proven = self.proven
        told = {
            "state": self._state,
            "length": proven.length,
            "done": proven.done,
            "nodes": proven.nodes,
            "lines": proven.lines,
        }
        return save_checkpoint(kept.save, self._runtime.cache, self._name, [json.dumps(told).encode()])
