"""Solve a battleship board: find fleets ship by ship, the best shot, or the contradiction.

The search branches over the ships on the hit with the fewest candidates. When all hits are covered,
it places the remaining ships. For an impossible board, it returns a minimal unsatisfiable core: see
docs/puzzles/battleship.md.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, permutations
from random import Random
from typing import NamedTuple

from pi_appliance.errors import Refused
from pi_appliance.puzzles import (
    Answer,
    Details,
    Footprint,
    GeneratedBoard,
    Proof,
    SolveMode,
    check_mode,
    kernel_mode,
    load_board,
    pluralize,
    solutions_of,
)
from pi_appliance.puzzles.battleship import fleet as fleets
from pi_appliance.puzzles.battleship import kernel, notation
from pi_appliance.puzzles.battleship.board import HIT, MISS, SUNK, UNKNOWN, Board
from pi_appliance.puzzles.battleship.count import Marginals, ProfileCount, find_placements
from pi_appliance.puzzles.battleship.fleet import Placement, Ship, Solution, Square, draw_rows, mask_places
from pi_appliance.puzzles.deductions import SearchLimitReached
from pi_appliance.puzzles.runtime import SERIAL, Interrupted, SearchRuntime, partial_result

PROGRESS_MASK = 63  # progress is reported every 64 ships
QUERY_NODE_LIMIT = 300  # ships tried in one of up to hundreds of queries: about 0.01 s
CORE_NODE_LIMIT = 10_000  # ships tried in all queries together
MAX_UNPROVEN_CORE = 10  # marks; a larger core that is not proven minimal explains nothing
MARK_NAMES = {MISS: "miss", HIT: "hit", SUNK: "sunk"}

Tick = Callable[[int], None]  # called with the number of ships tried. An exception that it raises ends the search.


class FleetSearch:
    """A search for the fleets that fit a board. Raises SearchLimitReached."""

    def __init__(self, board: Board, tick: Tick, *, node_limit: int | None = None) -> None:
        self.board, self.tick, self.node_limit = board, tick, node_limit
        self.places = find_placements(board)
        self.nodes_searched = 0
        self._remaining = {length: board.fleet.count(length) for length in set(board.fleet)}
        self._placed: list[Placement] = []

    def find_solutions(self) -> Iterator[Solution]:
        """Yield every solution once, in fleet order. Distinct ships appear in all permutations."""
        for placed in self._cover_hits(self.board.mask_marks(HIT + SUNK), self.places):
            groups = [
                sorted(place.ship for place in placed if place.length == length)
                for length in sorted(self._remaining, reverse=True)
            ]
            if self.board.ships == "identical":
                yield tuple(ship for group in groups for ship in group)
            else:
                yield from _permute_groups(groups)

    def _cover_hits(self, hits: int, places: Sequence[Placement]) -> Iterator[list[Placement]]:
        """Yield the ways to place the remaining ships on `places` that cover all `hits`."""
        if not self._can_fit(hits, places):
            return
        if not hits:
            yield from self._place_rest(places)
            return
        candidates: dict[int, list[Placement]] = {}
        for place in places:
            covered = place.mask & hits
            while covered:
                lowest = covered & -covered
                candidates.setdefault(lowest, []).append(place)
                covered ^= lowest
        if len(candidates) < hits.bit_count():
            return
        for place in min(candidates.values(), key=len):
            yield from self._try_place(place, hits & ~place.mask, places)

    def _place_rest(self, places: Sequence[Placement]) -> Iterator[list[Placement]]:
        length = max((length for length, number in self._remaining.items() if number), default=0)
        if not length:
            yield self._placed
            return
        shorter = [place for place in places if place.length < length]
        equal = [place for place in places if place.length == length]
        for number, place in enumerate(equal):
            yield from self._try_place(place, 0, equal[number + 1 :] + shorter)

    def _try_place(self, place: Placement, hits: int, places: Sequence[Placement]) -> Iterator[list[Placement]]:
        self.nodes_searched += 1
        if not self.nodes_searched & PROGRESS_MASK:
            self.tick(self.nodes_searched)
        if self.node_limit is not None and self.nodes_searched > self.node_limit:
            raise SearchLimitReached
        self._remaining[place.length] -= 1
        self._placed.append(place)
        blocked, remaining = place.mask | place.halo, self._remaining
        later = [each for each in places if not each.mask & blocked and remaining[each.length]]
        yield from self._cover_hits(hits, later)
        self._placed.pop()
        self._remaining[place.length] += 1

    def _can_fit(self, hits: int, places: Sequence[Placement]) -> bool:
        if sum(length * number for length, number in self._remaining.items()) < hits.bit_count():
            return False
        lengths = [place.length for place in places]
        return all(lengths.count(length) >= number for length, number in self._remaining.items() if number)


def _permute_groups(groups: Sequence[Sequence[Ship]]) -> Iterator[Solution]:
    """Yield the ships of `groups` in all orders, lazily: twelve equal ships have half a billion."""
    if not groups:
        yield ()
        return
    for ships in permutations(groups[0]):
        for others in _permute_groups(groups[1:]):
            yield ships + others


class Clue(NamedTuple):
    """Squares with one mark that are removed together: adjacent sunk squares, or a sunk ship."""

    squares: tuple[Square, ...]
    mark: str
    ship: Ship | None = None

    def __str__(self) -> str:
        whole = Ship(self.squares[0], self.squares[-1])
        name = str(whole) if whole.squares == self.squares else "+".join(map(str, self.squares))
        return f"{name} {MARK_NAMES[self.mark]}"


def find_obvious_contradiction(board: Board) -> str:
    """Return why `board` is impossible if single ships or squares show it; else ""."""
    occupied, free = board.find_marks(HIT + SUNK), board.find_marks(HIT + SUNK + UNKNOWN)
    needed = sum(board.fleet)
    if len(occupied) > needed:
        return f"{pluralize(len(occupied), 'square')} hold a ship, and the whole fleet has {needed}"
    if len(free) < needed:
        return f"the fleet needs {pluralize(needed, 'square')}, and only {len(free)} can hold a ship"
    for ship in board.sunk_ships:
        length = len(ship.squares)
        if sum(len(each.squares) == length for each in board.sunk_ships) > board.fleet.count(length):
            return f"{ship} is sunk, and the fleet has no more ships of {length}"
    places = find_placements(board)
    uncovered = board.mask_marks(HIT + SUNK) & ~mask_places(places)
    if uncovered:
        square = next(square for square in occupied if uncovered >> (square.y * board.width + square.x) & 1)
        return f"{square} is {MARK_NAMES[board.rows[square.y][square.x]]}, and no ship of the fleet can lie there"
    for length in sorted(set(board.fleet), reverse=True):
        available, ships = sum(place.length == length for place in places), board.fleet.count(length)
        if available < ships:
            kind = f"a ship of {length}" if ships == 1 else f"{available} of {ships} ships of {length}"
            return f"there is {'no ' if ships == 1 else ''}room for {kind}"
    return ""


def explain_contradiction(board: Board, tick: Tick) -> tuple[Details, str]:
    """Return which clues contradict each other, as details and in words."""
    if not (board.find_marks(UNKNOWN + HIT) or board.sunk_ships):
        # A finished grid has only SUNK marks. Treat them as hits, which can be removed one by one.
        board = replace(board, rows=tuple(row.replace(SUNK, HIT) for row in board.rows), sinking="silent")
    clues, is_possible = tuple(_find_clues(board)), _clue_test(board, tick)
    if is_possible(()) is False:
        return {}, "; this fleet does not fit on a sea of this size at all"
    # The clues that are tested first are removed more often, so one of two orders often gives a
    # smaller core.
    orders = [sorted(clues, key=lambda clue: (clue.mark == MISS) == last) for last in (False, True)]
    core, is_minimal = min((_shrink_core(order, is_possible) for order in orders), key=lambda each: len(each[0]))
    if not core or (not is_minimal and len(core) > MAX_UNPROVEN_CORE):
        return {}, ""
    # If one clue is wrong, it is in every set of contradicting clues.
    results = {str(clue): is_possible([each for each in clues if each != clue]) for clue in core}
    details: Details = {"contradiction": ", ".join(results)}
    words = f"; {', '.join(results)} {'is impossible' if len(core) == 1 else 'contradict each other'}"
    words += ", and none of them can be left out" if is_minimal and len(core) > 1 else ""
    is_complete, wrong = None not in results.values(), [name for name, possible in results.items() if possible]
    if wrong:
        details["one_wrong_mark"] = ", ".join(wrong)
        either = " or ".join(wrong)
        words += f"; if one mark is wrong, it is {either}" if is_complete else f"; possible without {either}"
    elif is_complete:
        words += "; at least two marks are wrong"
    return details, words


_ClueTest = Callable[[Sequence[Clue]], bool | None]
"""Returns whether a board with only these clues is possible; None if undecided."""


def _clue_test(board: Board, tick: Tick) -> _ClueTest:
    """Return a function that tests clues of `board`.

    All its calls try at most CORE_NODE_LIMIT ships.
    """
    nodes_left = CORE_NODE_LIMIT

    def is_possible(clues: Sequence[Clue]) -> bool | None:
        nonlocal nodes_left
        tick(CORE_NODE_LIMIT - nodes_left)
        marks = {square: clue.mark for clue in clues for square in clue.squares}
        rows = draw_rows(marks, board.width, board.height, UNKNOWN)
        fewer = replace(board, rows=rows, sunk_ships=tuple(clue.ship for clue in clues if clue.ship))
        if find_obvious_contradiction(fewer):
            return False
        search = FleetSearch(fewer, tick, node_limit=min(QUERY_NODE_LIMIT, nodes_left))
        try:
            return next(search.find_solutions(), None) is not None
        except SearchLimitReached:
            return None
        finally:
            nodes_left -= search.nodes_searched

    return is_possible


def _shrink_core(clues: Sequence[Clue], is_possible: _ClueTest) -> tuple[tuple[Clue, ...], bool]:
    """Remove each clue without which the contradiction remains.

    Return whether all of that is proven.
    """
    core, is_minimal = tuple(clues), True
    for clue in clues:
        fewer = tuple(each for each in core if each != clue)
        possible = is_possible(fewer)
        is_minimal = is_minimal and possible is not None
        if possible is False:
            core = fewer
    return core, is_minimal


def _find_clues(board: Board) -> Iterator[Clue]:
    for ship in board.sunk_ships:
        yield Clue(ship.squares, SUNK, ship)
    sunk = {*board.find_marks(SUNK)} - {square for ship in board.sunk_ships for square in ship.squares}
    while sunk:
        group = [min(sunk)]
        sunk.remove(group[0])
        for x, y in group:
            near = sunk & {Square(x + 1, y), Square(x - 1, y), Square(x, y + 1), Square(x, y - 1)}
            sunk -= near
            group += near
        yield Clue(tuple(sorted(group)), SUNK)
    for mark in (HIT, MISS):
        for square in board.find_marks(mark):
            yield Clue((square,), mark)


SEARCH_MEMORY = 10_000_000  # bytes of one path of the search
FIRST_NODE_LIMIT = 20_000  # ships tried before a count decides: about 1 s; most boards need fewer than 100
MODES = (SolveMode.FIRST, SolveMode.COUNT, SolveMode.ALL)


def solve(board: Board | str, mode: SolveMode = SolveMode.FIRST, runtime: SearchRuntime = SERIAL) -> Answer[Solution]:
    r"""Solve `board`. Raises Interrupted, Refused.

    When this returns, it is known whether the board is possible. Hits are covered by backtracking;
    then a broken profile counts (see docs/puzzles/battleship.md).

    >>> from pi_appliance.puzzles import battleship
    >>> fleet = next(battleship.solve("fleet: 2,1\n??.\nX..\n...").solutions)
    >>> [str(ship) for ship in fleet]
    ['A1-A2', 'B1']
    """
    mode = check_mode("battleship", MODES, mode)
    return _BoardSolver(load_board(board, Board), runtime).solve(mode)


def foretell(board: Board, mode: SolveMode, runtime: SearchRuntime = SERIAL) -> Footprint:
    """Foretell the memory of the map or, if there is none, of the count."""
    if mode is SolveMode.FIRST or find_obvious_contradiction(board):
        return Footprint(memory=SEARCH_MEMORY, is_open=True)
    counter = ProfileCount(board, runtime)
    if not board.find_marks(UNKNOWN):
        return Footprint(memory=counter.total_memory)
    try:
        runtime.require_memory(counter.marginals_memory, "a map of all squares")
    except Refused:  # then the number of solutions is left out
        return Footprint(memory=counter.total_memory)
    return Footprint(memory=counter.marginals_memory)


def hint(board: Board | str, runtime: SearchRuntime = SERIAL) -> str:
    """Describe the best next shot. Raises Interrupted, or Refused if memory is too small.

    >>> from pi_appliance.puzzles import battleship
    >>> battleship.hint("midgame")
    'shoot at C4: a ship is there in 78.83 % of the 17,783 placements'
    """
    result = solve(board, SolveMode.COUNT, runtime)
    details = result.details
    if result.proof:
        return f"there is no shot: this board is impossible, because {result.reason}"
    if "best_shot" in details:
        chance = f"{details['best_shot_per_cent']} % of the {result.count:,} placements"
        return f"shoot at {details['best_shot']}: a ship is there in {chance}"
    return str(details.get("map", "there is no shot: no square is unknown"))


@dataclass(slots=True)
class _BoardSolver:
    board: Board
    runtime: SearchRuntime
    earlier_nodes: int = 0  # ships tried by searches that have ended
    proven: str = "whether the board is possible is not known yet"  # the partial result

    def solve(self, mode: SolveMode) -> Answer[Solution]:
        if reason := find_obvious_contradiction(self.board):
            return self._impossible(Proof.CONTRADICTION, reason)
        search = FleetSearch(self.board, self._tick, node_limit=FIRST_NODE_LIMIT)
        solutions = search.find_solutions()
        try:
            first = next(solutions, None)
        except SearchLimitReached:
            return self._decide_by_count(mode)
        if first is None:
            self.earlier_nodes += search.nodes_searched
            reason = f"every way to place the fleet was tried ({pluralize(self.earlier_nodes, 'ship')} placed)"
            return self._impossible(Proof.EXHAUSTION, f"{reason} and none fits")
        search.node_limit = None
        return self._possible(mode, search, chain([first], solutions))

    def _decide_by_count(self, mode: SolveMode) -> Answer[Solution]:
        """Count the solutions, because the search takes too long to find the first one."""
        self.earlier_nodes += FIRST_NODE_LIMIT
        search = FleetSearch(self.board, self._tick)
        solutions = search.find_solutions()
        try:
            count = ProfileCount(self.board, self.runtime).count_total()
        except Refused:
            first = next(solutions, None)  # the search has no limit here
            count, solutions = int(first is not None), chain([first] if first else [], solutions)
        if not count:
            return self._impossible(Proof.EXHAUSTION, "all ways to place the fleet were counted: there is none")
        return self._possible(mode, search, solutions)

    def _possible(self, mode: SolveMode, search: FleetSearch, solutions: Iterator[Solution]) -> Answer[Solution]:
        self.proven = "the board is possible"
        earlier_nodes, details = self.earlier_nodes, Details(possible="yes")
        answer: Answer[Solution] = Answer(
            solutions=solutions_of(mode, solutions),
            nodes_searched=lambda: earlier_nodes + search.nodes_searched,
            details=details,
        )
        if mode is SolveMode.FIRST:
            return answer
        try:
            marginals, count, map_error = self._count()
        except Interrupted as error:
            error.partial_result = f"{self.proven}; {error.partial_result}"
            raise
        details["placements_distinct_ships"] = count // self.board.label_factor * self.board.relabelings
        if map_error:
            details["map"] = map_error
        shot = notation.find_best_shot(self.board, marginals) if marginals else None
        if marginals and shot:
            details |= {"best_shot": str(shot), "best_shot_per_cent": round(notation.ship_percent(marginals, shot), 2)}
            pictures = {"probability": notation.render_heatmap(self.board, marginals)}
            answer = replace(answer, tables=notation.probability_tables(self.board, marginals), pictures=pictures)
        details["kernel"] = kernel_mode(kernel)
        return replace(answer, count=count)

    def _count(self) -> tuple[Marginals | None, int, str]:
        """Return the marginals (None if not possible or not needed), the count, and the reason."""
        counter = ProfileCount(self.board, self.runtime)
        if not self.board.find_marks(UNKNOWN):
            return None, counter.count_total(), ""
        try:
            marginals = counter.count_marginals()
        except Refused as error:
            return None, counter.count_total(), f"left out: {error}"
        return marginals, marginals.total, ""

    def _impossible(self, proof: Proof, reason: str) -> Answer[Solution]:
        """Return the proof that the board is impossible, with the contradicting marks."""
        nodes, self.proven = self.earlier_nodes, f"the board is impossible: {reason}"
        details, words = explain_contradiction(self.board, self._tick)
        details = {"possible": "no", **details}
        return Answer(nodes_searched=lambda: nodes, count=0, proof=proof, reason=reason + words, details=details)

    def _tick(self, nodes: int) -> None:
        with partial_result(lambda: self.proven):
            self.runtime.report_progress(None, f"{pluralize(self.earlier_nodes + nodes, 'ship')} placed")


SHOT_SHARE = 0.35  # share of all squares at which a generated board has shots


def generate(seed: int, board: Board | str = "midgame", runtime: SearchRuntime = SERIAL) -> GeneratedBoard[Board]:
    """Generate a game under way with the rules of `board`. Raises Refused, Interrupted.

    >>> from pi_appliance.puzzles import battleship
    >>> battleship.generate(7).board.fleet
    (5, 4, 3, 3, 2)
    """
    board = load_board(board, Board)
    random = Random(seed)  # noqa: S311 - a game that must be the same for the same seed
    empty = replace(board, rows=(UNKNOWN * board.width,) * board.height, sunk_ships=())
    fleet = fleets.place_at_random(board.fleet, find_placements(empty), random, partial(runtime.report_progress, None))
    squares = list(empty.find_marks(UNKNOWN))
    random.shuffle(squares)
    shots = dict.fromkeys(squares[: max(1, round(SHOT_SHARE * len(squares)))], MISS)
    sunk_ships = tuple(sorted(place.ship for place in fleet if shots.keys() >= set(place.ship.squares)))
    for place in fleet:
        mark = SUNK if place.ship in sunk_ships else HIT
        shots.update(dict.fromkeys(shots.keys() & set(place.ship.squares), mark))
    rows = draw_rows(shots, board.width, board.height, UNKNOWN)
    hits = sum(mark != MISS for mark in shots.values())
    details = {"shots": len(shots), "hits": hits, "sunk_ships": len(sunk_ships)}
    return GeneratedBoard(replace(empty, rows=rows, sunk_ships=sunk_ships), details)
