"""Why a battleship board cannot be: what is seen at once, which marks contradict each other, which one may be wrong."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.battleship.board import HIT, MISS, SUNK, UNKNOWN, Board, Ship, Square
from pi_appliance.puzzles.battleship.fit import places, squares, union
from pi_appliance.puzzles.battleship.search import Search, SearchLimitReached, Tick

EACH = 300  # ships tried for one question of up to hundreds: a hundredth of a second
PATIENCE = 10_000  # ships tried for all of them
MOST = 10  # marks; more of them, and not proven to be the fewest, explain nothing
WORDS = {MISS: "miss", HIT: "hit", SUNK: "sunk"}


class Clue(NamedTuple):
    """What is known as a whole, and can only be taken away as a whole: the squares of one mark.

    Sunk squares side by side are one sign, as a ship on them lies on no other; so is a sunk ship that is known.
    """

    squares: tuple[Square, ...]
    mark: str
    ship: Ship | None = None

    def __str__(self) -> str:
        whole = Ship(self.squares[0], self.squares[-1])
        straight = whole.start.x == whole.end.x or whole.start.y == whole.end.y
        name = str(whole) if straight and whole.squares == self.squares else "+".join(map(str, self.squares))
        return f"{name} {WORDS[self.mark]}"


class Reason(NamedTuple):
    """What contradicts what."""

    together: tuple[str, ...]
    """Marks that cannot stand together, whatever the others are."""
    smallest: bool
    """Whether it is proven that none of them can be left out."""
    alone: tuple[str, ...]
    """Marks each of which, if it alone is taken away, leaves a board that is possible."""
    only: bool
    """Whether it is proven that there are no more of them."""


def seen_at_once(board: Board) -> str:
    """Return why BOARD cannot be, where a look at each ship and each square for itself shows it; else nothing."""
    filled, free = board.marked(HIT + SUNK), board.marked(HIT + SUNK + UNKNOWN)
    needs = sum(board.fleet)
    if len(filled) > needs:
        return f"{pluralize(len(filled), 'square')} hold a ship, and the whole fleet has {needs}"
    if len(free) < needs:
        return f"the fleet needs {pluralize(needs, 'square')}, and only {len(free)} are left to it"
    for ship in board.known:
        length = len(ship.squares)
        if sum(len(each.squares) == length for each in board.known) > board.fleet.count(length):
            return f"{ship} is sunk, and the fleet has no more ships of {length}"
    there = places(board)
    bare = squares(board, HIT + SUNK) & ~union(place.body for place in there)
    if bare:
        square = next(square for square in filled if bare >> (square.y * board.width + square.x) & 1)
        return f"{square} is {WORDS[board.rows[square.y][square.x]]}, and no ship of the fleet can lie there"
    for length in sorted(set(board.fleet), reverse=True):
        room, ships = sum(place.length == length for place in there), board.fleet.count(length)
        if room < ships:
            some = f"no room for a ship of {length}" if ships == 1 else f"room for {room} of {ships} ships of {length}"
            return f"there is {some}"
    return ""


class _ConflictFinder:
    """Says which boards are possible as long as its patience lasts."""

    def __init__(self, board: Board, tick: Tick) -> None:
        self.board, self.tick, self.left = board, tick, PATIENCE

    def possible(self, signs: Sequence[Clue]) -> bool | None:
        """Say whether the board with SIGNS alone can be; None if that is not seen soon."""
        self.tick(PATIENCE - self.left)
        board = _with(self.board, signs)
        if seen_at_once(board):
            return False
        search = Search(board, self.tick, patience=min(EACH, self.left))
        try:
            return search.possible()
        except SearchLimitReached:
            return None
        finally:
            self.left -= search.tried

    def shrunk(self, signs: Sequence[Clue]) -> tuple[tuple[Clue, ...], bool]:
        """Return those of SIGNS that are left where each is taken away that can be, and whether that is proven."""
        left, sure = tuple(signs), True
        for sign in signs:
            fewer = tuple(each for each in left if each != sign)
            possible = self.possible(fewer)
            sure = sure and possible is not None
            if possible is False:
                left = fewer
        return left, sure


def reason(board: Board, tick: Tick) -> Reason | None:
    """Return the reason why BOARD, which is impossible, cannot be; None if the fleet does not fit even an empty sea."""
    if not (board.marked(UNKNOWN + HIT) or board.known):
        # A finished grid: no other marks are there to tell sunk ships from, and hits can be taken away one by one.
        board = replace(board, rows=tuple(row.replace(SUNK, HIT) for row in board.rows), sinking="silent")
    signs = tuple(_signs(board))
    judge = _ConflictFinder(board, tick)
    if judge.possible(()) is False:
        return None
    misses = [sign for sign in signs if sign.mark == MISS]
    ships = [sign for sign in signs if sign.mark != MISS]
    # What is left out first, stays out: of two orders, one often leaves less.
    found = [judge.shrunk(order) for order in ([*misses, *ships], [*ships, *misses])]
    together, smallest = min(found, key=lambda each: len(each[0]))
    if not smallest and len(together) > MOST:
        return Reason((), False, (), False)
    # A single mark that is wrong is in every set of marks that cannot stand together.
    without = {sign: judge.possible([each for each in signs if each != sign]) for sign in together}
    alone = tuple(str(sign) for sign, possible in without.items() if possible)
    return Reason(tuple(map(str, together)), smallest, alone, None not in without.values())


def _signs(board: Board) -> Iterator[Clue]:
    """Yield what is known of BOARD, the ships first."""
    for ship in board.known:
        yield Clue(ship.squares, SUNK, ship)
    sunk = {*board.marked(SUNK)} - {square for ship in board.known for square in ship.squares}
    while sunk:
        group, seen = [min(sunk)], 0
        sunk.remove(group[0])
        while seen < len(group):
            x, y = group[seen]
            near = sunk & {Square(x + 1, y), Square(x - 1, y), Square(x, y + 1), Square(x, y - 1)}
            sunk -= near
            group += near
            seen += 1
        yield Clue(tuple(sorted(group)), SUNK)
    for mark in (HIT, MISS):
        for square in board.marked(mark):
            yield Clue((square,), mark)


def _with(board: Board, signs: Sequence[Clue]) -> Board:
    """Return BOARD with SIGNS alone on it."""
    marks = {square: sign.mark for sign in signs for square in sign.squares}
    rows = tuple("".join(marks.get(Square(x, y), UNKNOWN) for x in range(board.width)) for y in range(board.height))
    return replace(board, rows=rows, known=tuple(sign.ship for sign in signs if sign.ship))
