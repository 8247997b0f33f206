"""Shortest solutions of the 3x3x3, all of them, and the proof that there are no shorter ones: depth after depth."""

import json
import zlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.rubiks_cube import cubies, pruning_tables
from pi_appliance.puzzles.rubiks_cube.board import FACES
from pi_appliance.puzzles.rubiks_cube.coordinates import ORDERS, Coordinates, to_coordinates
from pi_appliance.puzzles.rubiks_cube.cubies import CORNERS, SOLVED, State, turn_states
from pi_appliance.puzzles.rubiks_cube.kernel import DONE, FOUND, MAX_LENGTH, DepthSearch, SearchTables
from pi_appliance.puzzles.rubiks_cube.two_phase import NO_FACE, axis_rotations, turn_prefixes
from pi_appliance.puzzles.runtime.interface import Interrupted, SearchRuntime, save_checkpoint

_NODE_BUDGET = 5_000  # positions between two looks around
# Ways of fewer turns are one piece of work; longer ones are shared out by their first two turns, then by three.
_SPLIT_BY_TWO, _SPLIT_BY_THREE = 12, 16
_SAVE_INTERVAL = 60  # seconds between two checkpoints

_Turns = tuple[int, ...]


@dataclass(slots=True)
class OptimalState:
    """How far a search is: nothing is shorter than LENGTH, DONE pieces of that length are through, with these LINES."""

    length: int
    done: int = 0
    nodes: int = 0
    lines: list[_Turns] = field(default_factory=list)


class OptimalSearch:
    """The search for the shortest solutions of one cube; it goes on where it was cut off."""

    def __init__(self, state: cubies.State, tables: SearchTables, runtime: SearchRuntime) -> None:
        self._state, self._tables, self._runtime = state, tables, runtime
        self._axes = axis_rotations()
        self._name = f"rubiks-cube/shortest-2-{zlib.crc32(bytes(state)):08x}"
        self._home = to_coordinates([cubies.SOLVED])[0]
        self.proven = self._load() or OptimalState(self._least())

    def run(self, most: int = MAX_LENGTH) -> bool:
        """Look until the shortest are found, or nothing has MOST turns; say whether they are. Raises Interrupted."""
        proven = self.proven
        saved = self._runtime.monotonic()
        try:
            while not (proven.lines and not proven.done) and proven.length <= most:
                for lines, nodes in self._pieces():
                    proven.lines += lines
                    proven.nodes += nodes
                    proven.done += 1
                    if self._runtime.monotonic() - saved > _SAVE_INTERVAL:
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
        search.begin(self._starts(self._state), self._home, length, NO_FACE)
        while (said := search.run(_NODE_BUDGET)) != DONE:
            if said == FOUND:
                self.proven.lines.append(tuple(search.path[:length]))
                return
            yield search.nodes

    def _least(self) -> int:
        far = [self._tables.distance(start[0], start[1], start[2] // ORDERS) for start in self._starts(self._state)]
        return max(*far, min(far) + 1)

    def _pieces(self) -> Iterator[tuple[list[_Turns], int]]:
        """Yield what comes of each piece of work that is left of this length."""
        length = self.proven.length
        pieces: Sequence[_Turns] = list(turn_prefixes((length >= _SPLIT_BY_TWO) * 2 + (length >= _SPLIT_BY_THREE)))
        note = f"no solution of fewer than {length} moves"

        def look(piece: _Turns) -> tuple[list[_Turns], int]:
            state = self._state
            for turn in piece:
                state = cubies.compose(state, cubies.turn_states()[turn])
            search = self._search()
            last = piece[-1] // 3 if piece else NO_FACE
            search.begin(self._starts(state), self._home, length - len(piece), last)
            lines: list[_Turns] = []
            while (said := search.run(_NODE_BUDGET)) != DONE:
                if said == FOUND:
                    lines.append(piece + tuple(search.path[: length - len(piece)]))
                self._runtime.report_progress(None, note)
            return lines, search.nodes

        for came in self._runtime.executor.map(look, pieces[self.proven.done :]):
            self._runtime.report_progress(self.proven.done / len(pieces) if len(pieces) > 1 else None, note)
            yield came

    def _search(self) -> DepthSearch:
        room = [array("i", bytes(12 * (MAX_LENGTH + 1))) for _ in range(6)]
        renamed = array("i")
        for faces in self._axes:
            renamed.extend(FACES.index(faces[FACES[turn // 3]]) * 3 + turn % 3 for turn in range(18))
        return DepthSearch(self._tables, room, renamed)

    def _starts(self, state: cubies.State) -> list[Coordinates]:
        return to_coordinates(cubies.conjugate(state, faces) for faces in self._axes)

    def _load(self) -> OptimalState | None:
        found = pruning_tables.load_checksummed(self._runtime.cache, self._name)
        if found is None:
            return None
        told = json.loads(bytes(found))
        if told["state"] != list(self._state):
            return None
        return OptimalState(told["length"], told["done"], told["nodes"], [tuple(line) for line in told["lines"]])

    def _save(self) -> str:
        proven = self.proven
        told = {
            "state": self._state,
            "length": proven.length,
            "done": proven.done,
            "nodes": proven.nodes,
            "lines": proven.lines,
        }
        return save_checkpoint(
            pruning_tables.save_checksummed, self._runtime.cache, self._name, [json.dumps(told).encode()]
        )


MAX_NEAR_MOVES = 6  # moves: three from each end, some thousand positions
_CORNER_STICKERS = 3 * len(CORNERS)

Turns = tuple[int, ...]
_Level = dict[bytes, list[Turns]]


def find_near_solutions(state: State, side: int) -> list[Turns]:
    """Return all shortest solutions of STATE, of a cube of SIDE, if they have at most FEW turns; else none.

    Opposite faces turn in one order only, so that the same turning is not told twice. A 2x2x2 turns at U, R and F.
    """
    size = len(SOLVED) if side == 3 else _CORNER_STICKERS
    actions = [bytes(action[:size]).ljust(256, b"\0") for action in turn_states()[: 18 if side == 3 else 9]]
    ahead: _Level = {bytes(state[:size]): [()]}
    behind: _Level = {bytes(SOLVED[:size]): [()]}
    for length in range(MAX_NEAR_MOVES + 1):
        if length % 2:
            ahead = _expand_level(ahead, actions, back=False)
        elif length:
            behind = _expand_level(behind, actions, back=True)
        found = [
            first + rest
            for position in ahead.keys() & behind.keys()
            for first in ahead[position]
            for rest in behind[position]
            if not first or not rest or _may_follow(first[-1], rest[0])
        ]
        if found:
            return sorted(found)
    return []


def _expand_level(level: _Level, actions: Sequence[bytes], *, back: bool) -> _Level:
    """Return what one more turn makes of LEVEL: a last one, or, BACK from home, a first one."""
    grown: _Level = {}
    for position, ways in level.items():
        for turn in range(len(actions)):
            if back:
                more = [(turn, *way) for way in ways if not way or _may_follow(turn, way[0])]
            else:
                more = [(*way, turn) for way in ways if not way or _may_follow(way[-1], turn)]
            if more:
                action = actions[turn - turn % 3 + 2 - turn % 3 if back else turn]
                grown.setdefault(position.translate(action), []).extend(more)
    return grown


def _may_follow(turn: int, other: int) -> bool:
    """Say whether OTHER may come after TURN: another face, and of opposite faces the first one first."""
    return turn // 3 not in {other // 3, other // 3 + 3}
