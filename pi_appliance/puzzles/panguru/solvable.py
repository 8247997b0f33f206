"""Decide before any search whether a Panguru board is solvable; generate solvable boards.

No pebble leaves its biconnected block. A block allows all arrangements, or the even ones if it is
bipartite, or rotations if it is a cycle (Wilson, 1974). Blocks of up to seven places are searched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from random import Random

from pi_appliance.puzzles import GeneratedBoard, load_board
from pi_appliance.puzzles.panguru.board import HOLE, HOME, Board, reachable_places
from pi_appliance.puzzles.runtime import SERIAL, SearchRuntime

MAX_SEARCHED_PLACES = 7  # at most 5,040 positions; the only exception to the theorem has this size

_Edges = frozenset[tuple[int, int]]
_Graph = Mapping[int, Sequence[int]] | Sequence[Sequence[int]]  # for each place, the places one move away


def explain_unsolvable(board: Board | str) -> str:
    """Return why no moves solve `board`; empty if it is solvable."""
    board = load_board(board, Board)
    reachable = reachable_places(board)
    path = find_paths(reachable, board.hole).get(board.home)
    if path is None:
        return f"the hole at {board.hole} cannot reach the plate W at {board.home}"
    pebbles = list(board.pebbles)
    for hole, start in pairwise(path):
        pebbles[hole], pebbles[start] = pebbles[start], HOLE
    visited = {board.home}
    for root, edges in _find_blocks(reachable, board.home):
        inner = {place for edge in edges for place in edge} - {root}
        visited |= inner
        if reason := _check_block(board, pebbles, root, inner, edges):
            return reason
    for place, plate in enumerate(board.plates):
        if place not in visited and pebbles[place] != plate:
            return f"the hole never reaches {place}, where pebble {pebbles[place]} lies on a plate {plate}"
    return ""


def find_paths(neighbours: _Graph, start: int) -> dict[int, list[int]]:
    """Return a shortest path from `start` to each place that is connected with it."""
    paths, queue = {start: [start]}, [start]
    for place in queue:
        for neighbour in neighbours[place]:
            if neighbour not in paths:
                paths[neighbour] = [*paths[place], neighbour]
                queue.append(neighbour)
    return paths


def _find_blocks(reachable: Sequence[Sequence[int]], root: int) -> list[tuple[int, _Edges]]:
    """Return the blocks, each with its cut vertex towards `root` (Hopcroft and Tarjan, 1973)."""
    blocks: list[tuple[int, _Edges]] = []
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[tuple[int, int]] = []

    def visit(place: int, parent: int) -> None:
        number[place] = low[place] = len(number)
        for neighbour in reachable[place]:
            if neighbour not in number:
                at = len(stack)
                stack.append((place, neighbour))
                visit(neighbour, place)
                low[place] = min(low[place], low[neighbour])
                if low[neighbour] >= number[place]:
                    blocks.append((place, frozenset(stack[at:])))
                    del stack[at:]
            elif neighbour != parent and number[neighbour] < number[place]:
                stack.append((place, neighbour))
                low[place] = min(low[place], number[neighbour])

    visit(root, root)
    return blocks


def _check_block(board: Board, pebbles: Sequence[str], root: int, inner: set[int], edges: _Edges) -> str:
    """Return why the pebbles on `inner` cannot reach their plates, with the hole at `root`."""
    current, goal = ([colours[place] for place in sorted(inner)] for colours in (pebbles, board.plates))
    where = f"the places {', '.join(map(str, sorted(inner | {root})))}"
    if sorted(current) != sorted(goal):
        return f"no pebble can leave {where} permanently, and the colours there do not match"
    if len(inner) + 1 <= MAX_SEARCHED_PLACES:
        solvable = _search_block(pebbles, board.plates, root, inner, edges)
        return "" if solvable else f"on {where} every position was tried"
    is_cycle = len(edges) == len(inner) + 1
    if not is_cycle and len(set(current)) < len(current):
        return ""  # two equal pebbles can be exchanged, so every arrangement is even
    neighbours: dict[int, list[int]] = {place: [] for place in (root, *inner)}
    for one, other in edges:
        neighbours[one].append(other)
        neighbours[other].append(one)
    if is_cycle:
        cycle = [root]
        while unvisited := [place for place in neighbours[cycle[-1]] if place not in cycle]:
            cycle.append(unvisited[0])
        current, goal = ([colours[place] for place in cycle[1:]] for colours in (pebbles, board.plates))
        matches = any(current[at:] + current[:at] == goal for at in range(len(goal)))
        return "" if matches else f"on the cycle of {where} the pebbles keep their order"
    paths = find_paths(neighbours, root)
    is_bipartite = all((len(paths[one]) + len(paths[other])) % 2 for one, other in edges)
    order = [goal.index(pebble) for pebble in current]
    if is_bipartite and sum(one > other for one, other in combinations(order, 2)) % 2:
        return f"on {where} the hole returns only after an even number of moves, and an odd one is needed"
    return ""


def _search_block(pebbles: Sequence[str], plates: str, root: int, inner: set[int], edges: _Edges) -> bool:
    places = sorted(inner | {root})
    start, goal = ("".join(HOLE if at == root else row[at] for at in places) for row in (pebbles, plates))
    pairs = [(places.index(one), places.index(other)) for one, other in edges]
    visited, queue = {start}, [start]
    for position in queue:
        for one, other in pairs:
            if HOLE in (position[one], position[other]):
                moved = list(position)
                moved[one], moved[other] = moved[other], moved[one]
                if (key := "".join(moved)) not in visited:
                    visited.add(key)
                    queue.append(key)
    return goal in visited


RANDOM_MOVES = 1_000  # far more than any board needs


def generate(
    seed: int,
    board: Board | str = "original",
    runtime: SearchRuntime = SERIAL,  # noqa: ARG001 - as in the other puzzles
) -> GeneratedBoard[Board]:
    """Generate a random solvable board with the colours and the moves of `board`.

    >>> from pi_appliance.puzzles import panguru
    >>> panguru.generate(7).board.pebbles
    'RGBPOCP-YORCBYG'
    """
    board = load_board(board, Board)
    return GeneratedBoard(replace(shuffle_board(seed, board), random_boards=board.random_boards))


def shuffle_board(seed: int, board: Board) -> Board:
    """Shuffle the plates and pebbles of `board`, so that every board is equally likely.

    If the result is unsolvable, the pebbles are moved at random from the goal position instead.
    """
    random = Random(seed)  # noqa: S311 - a game that must be the same for the same seed
    colours = sorted(board.plates.replace(HOME, ""))
    plates, pebbles = [HOME, *colours], [HOLE, *colours]
    random.shuffle(plates)
    random.shuffle(pebbles)
    shuffled = Board("".join(plates), "".join(pebbles), board.custom_lines)
    if not explain_unsolvable(shuffled):
        return shuffled
    pebbles = [plate.replace(HOME, HOLE) for plate in plates]
    reachable, hole = reachable_places(shuffled), plates.index(HOME)
    for _ in range(RANDOM_MOVES):
        if reachable[hole]:
            start = random.choice(reachable[hole])
            pebbles[hole], pebbles[start] = pebbles[start], HOLE
            hole = start
    return replace(shuffled, pebbles="".join(pebbles))
