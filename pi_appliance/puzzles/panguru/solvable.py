"""Whether pebbles can be brought onto their plates at all, on any table of moves: known before any search.

With one hole, a graph of moves falls apart at its cut places into blocks, and no pebble ever changes its block. What
can be done within a block is known since R. M. Wilson, "Graph puzzles, homotopy, and the alternating group" (1974):
every arrangement; only the even ones if the block is bipartite; on a circle only to turn; and one block of seven
places is an exception. Blocks of up to seven places are simply looked through.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pi_appliance.puzzles.panguru.board import HOLE, Board, reach

SMALL = 7  # places: at most 5,040 positions, and the only exception to the theorem has as many

_Edges = frozenset[tuple[int, int]]


def why_not(board: Board) -> str:
    """Return why no moves ever solve BOARD, in words; empty if some do."""
    far = reach(board)
    way = _way(far, board.hole, board.home)
    if not way:
        return f"the hole at {board.hole} cannot reach the plate W at {board.home}"
    lies = list(board.pebbles)
    for hole, start in pairwise(way):
        lies[hole], lies[start] = lies[start], HOLE
    met = {board.home}
    for root, edges in _blocks(far, board.home):
        inner = {place for edge in edges for place in edge} - {root}
        met |= inner
        if wrong := _block(board, lies, root, inner, edges):
            return wrong
    for place, plate in enumerate(board.plates):
        if place not in met and lies[place] != plate:
            return f"the hole never comes to {place}, where pebble {lies[place]} lies on a plate {plate}"
    return ""


def _way(far: Sequence[Sequence[int]], start: int, end: int) -> list[int]:
    """Return the places on a shortest way from START to END; none if there is no way."""
    before = {start: start}
    queue = [start]
    for place in queue:
        for after in far[place]:
            if after not in before:
                before[after] = place
                queue.append(after)
    if end not in before:
        return []
    way = [end]
    while way[-1] != start:
        way.append(before[way[-1]])
    return way[::-1]


def _blocks(far: Sequence[Sequence[int]], root: int) -> list[tuple[int, _Edges]]:
    """Return the blocks that can be reached from ROOT, each with the place where a way from there enters it."""
    found: list[tuple[int, _Edges]] = []
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[tuple[int, int]] = []

    def visit(place: int, parent: int) -> None:
        number[place] = low[place] = len(number)
        for after in far[place]:
            if after not in number:
                at = len(stack)
                stack.append((place, after))
                visit(after, place)
                low[place] = min(low[place], low[after])
                if low[after] >= number[place]:
                    found.append((place, frozenset(stack[at:])))
                    del stack[at:]
            elif after != parent and number[after] < number[place]:
                stack.append((place, after))
                low[place] = min(low[place], number[after])

    visit(root, root)
    return found


def _block(board: Board, lies: Sequence[str], root: int, inner: set[int], edges: _Edges) -> str:
    """Return why the pebbles on the places INNER of one block, with the hole at ROOT, do not come to their plates."""
    places = sorted(inner)
    have, want = [lies[place] for place in places], [board.plates[place] for place in places]
    where = f"the places {', '.join(map(str, sorted(inner | {root})))}"
    if sorted(have) != sorted(want):
        return f"no pebble leaves {where} for good, and the colours there do not match"
    if len(inner) + 1 <= SMALL:
        return "" if _looked_through(lies, board.plates, root, inner, edges) else f"on {where} every position was tried"
    if len(edges) == len(inner) + 1:
        ring = _ring(root, edges)
        have, want = [lies[place] for place in ring], [board.plates[place] for place in ring]
        turns = any(have[at:] + have[:at] == want for at in range(len(ring)))
        return "" if turns else f"on the circle of {where} the pebbles keep their order"
    if _bipartite(root, edges) and len(set(have)) == len(have) and _odd([want.index(pebble) for pebble in have]):
        return f"on {where} the hole comes back only after an even number of moves, and an odd one is needed"
    return ""


def _looked_through(lies: Sequence[str], plates: str, root: int, inner: set[int], edges: _Edges) -> bool:
    goal = "".join(HOLE if place == root else plates[place] if place in inner else "" for place in range(len(plates)))
    names = sorted(inner | {root})
    begin = "".join(HOLE if place == root else lies[place] for place in names)
    seats = {place: seat for seat, place in enumerate(names)}
    pairs = [(seats[start], seats[end]) for start, end in edges]
    met, queue = {begin}, [begin]
    for position in queue:
        for one, other in pairs:
            if HOLE in (position[one], position[other]):
                after = list(position)
                after[one], after[other] = after[other], after[one]
                key = "".join(after)
                if key not in met:
                    met.add(key)
                    queue.append(key)
    return goal in met


def _around(place: int, edges: _Edges) -> Iterator[int]:
    for one, other in edges:
        if place in (one, other):
            yield other if place == one else one


def _ring(root: int, edges: _Edges) -> list[int]:
    """Return the places of a circle in their order, without ROOT."""
    ring = [root]
    while after := [place for place in _around(ring[-1], edges) if place not in ring]:
        ring.append(after[0])
    return ring[1:]


def _bipartite(root: int, edges: _Edges) -> bool:
    side = {root: False}
    queue = [root]
    for place in queue:
        for after in _around(place, edges):
            if after not in side:
                side[after] = not side[place]
                queue.append(after)
    return all(side[one] != side[other] for one, other in edges)


def _odd(order: Sequence[int]) -> bool:
    return sum(a > b for at, a in enumerate(order) for b in order[at + 1 :]) % 2 == 1
