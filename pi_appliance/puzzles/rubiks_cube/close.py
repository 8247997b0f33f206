"""Cubes that are a few moves from home, solved without any table: from both ends at once, until they meet."""

from collections.abc import Sequence

from pi_appliance.puzzles.rubiks_cube.cubies import CORNERS, SOLVED, State, turn_states

FEW = 6  # moves: three from each end, some thousand positions
_CORNER_STICKERS = 3 * len(CORNERS)

Turns = tuple[int, ...]
_Level = dict[bytes, list[Turns]]


def close(state: State, side: int) -> list[Turns]:
    """Return all shortest solutions of STATE, of a cube of SIDE, if they have at most FEW turns; else none.

    Opposite faces turn in one order only, so that the same turning is not told twice. A 2x2x2 turns at U, R and F.
    """
    size = len(SOLVED) if side == 3 else _CORNER_STICKERS
    actions = [bytes(action[:size]).ljust(256, b"\0") for action in turn_states()[: 18 if side == 3 else 9]]
    ahead: _Level = {bytes(state[:size]): [()]}
    behind: _Level = {bytes(SOLVED[:size]): [()]}
    for length in range(FEW + 1):
        if length % 2:
            ahead = _grown(ahead, actions, back=False)
        elif length:
            behind = _grown(behind, actions, back=True)
        found = [
            first + rest
            for position in ahead.keys() & behind.keys()
            for first in ahead[position]
            for rest in behind[position]
            if not first or not rest or _follows(first[-1], rest[0])
        ]
        if found:
            return sorted(found)
    return []


def _grown(level: _Level, actions: Sequence[bytes], *, back: bool) -> _Level:
    """Return what one more turn makes of LEVEL: a last one, or, BACK from home, a first one."""
    grown: _Level = {}
    for position, ways in level.items():
        for turn in range(len(actions)):
            if back:
                more = [(turn, *way) for way in ways if not way or _follows(turn, way[0])]
            else:
                more = [(*way, turn) for way in ways if not way or _follows(way[-1], turn)]
            if more:
                action = actions[turn - turn % 3 + 2 - turn % 3 if back else turn]
                grown.setdefault(position.translate(action), []).extend(more)
    return grown


def _follows(turn: int, other: int) -> bool:
    """Say whether OTHER may come after TURN: another face, and of opposite faces the first one first."""
    return turn // 3 not in {other // 3, other // 3 + 3}
