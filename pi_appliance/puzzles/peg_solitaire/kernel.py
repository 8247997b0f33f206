"""The counting behind peg solitaire: positions are integers, one bit a hole. Plain Python over `array` buffers.

A move is a triple, the bits of the three holes it touches, and a pair, the two that must hold pegs for it: it is open
when position & triple == pair, and position ^ triple is the position after it. Positions that are images of each
other are one class, and its least member stands for it. A level is three words for each class, one behind the other:
that member, and the high and low 64 bits of the number of ways to all members together. What is 64 bits wide wraps by
itself when compiled, and is masked here so that it does the same as it is.
"""

from array import array
from collections.abc import Sequence

ALL = 0xFFFF_FFFF_FFFF_FFFF
SPREAD = 0x9E37_79B9_7F4A_7C15  # 2^64 divided by the golden ratio: neighbours land far from each other
GUARDS = 0x8080_8080_8080_8080
WAITING = 4096  # chains that wait while one is followed: at most five a jump, and a board has 64 holes


class Game:
    """A board: its moves, its symmetries, and what proves that a position is lost.

    MOVES are (triple, pair, hole of the end), ordered by the hole of the start; STARTS says for each hole, and for one
    beyond, where its moves begin. IMAGES holds, for each symmetry and each part of WIDTH bits of a position, what the
    bits of this part become; the first symmetry changes nothing. A proof is a field of eight bits in a word: ROOMS
    holds, for each word and part, what the bits of this part give to its eight fields, and LOSSES what each move takes
    from them. A position is lost if any field has not its highest bit.
    """

    def __init__(
        self,
        moves: Sequence[tuple[int, int, int]],
        starts: Sequence[int],
        width: int,
        parts: int,
        images: "array[int]",
        rooms: "array[int]",
        losses: "array[int]",
    ) -> None:
        self.moves, self.holes = len(moves), len(starts) - 1
        self.triples = array("Q", [move[0] for move in moves])
        self.pairs = array("Q", [move[1] for move in moves])
        self.lands = array("I", [move[2] for move in moves])
        self.starts = array("I", starts)
        self.width, self.parts, self.low = width, parts, (1 << width) - 1
        self.images, self.count = images, len(images) // (parts << width)
        self.rooms, self.losses, self.words = rooms, losses, len(rooms) // (parts << width)
        self.room = array("Q", bytes(8 * self.words + 8))
        self.waiting = array("Q", bytes(8 * WAITING))
        self.pegs = array("I", bytes(4 * WAITING))
        self.stable = 1
        self.own = self.goals = 0  # for `spread`

    def canonical(self, position: int) -> int:
        """Return the least image of POSITION; by then `stable` says how many symmetries leave it as it is."""
        best, stable = position, 1
        images, width, low, parts = self.images, self.width, self.low, self.parts
        chunk = low + 1
        one = position & low
        two = chunk + (position >> width & low)
        three = 2 * chunk + (position >> 2 * width & low)
        at = 0
        for _ in range(1, self.count):
            at += parts * chunk
            image = images[at + one] | images[at + two] | images[at + three]
            if parts > 3:
                for part in range(3, parts):
                    image |= images[at + part * chunk + (position >> part * width & low)]
            if image < best:
                best, stable = image, 1
            elif image == best:
                stable += 1
        self.stable = stable
        return best

    def alive(self, position: int) -> bool:
        """Say whether nothing proves that POSITION is lost; if so, `room` holds its fields."""
        rooms, width, low, at = self.rooms, self.width, self.low, 0
        for word in range(self.words):
            field = 0
            for part in range(self.parts):
                field = (field + rooms[at + (position >> part * width & low)]) & ALL
                at += low + 1
            if field & GUARDS != GUARDS:
                return False
            self.room[word] = field
        return True

    def fits(self, move: int) -> bool:
        """Say whether nothing proves that MOVE loses the position that was last found alive."""
        at, left = move * self.words, GUARDS
        for word in range(self.words):
            left &= self.room[word] - self.losses[at + word]
            if left != GUARDS:
                break
        return left == GUARDS


class Table:
    """A level that grows: classes by their least member, with the number of ways. It has 2^BITS places."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.cells = array("Q", bytes(24 << bits))
        self.shift, self.mask = 64 - bits, (1 << bits) - 1
        self.size, self.most = 0, (3 << bits) >> 2  # places that are taken; more would make every search long
        self.positions = 0  # members of the classes whose moves were looked at
        self.tried = 0  # moves that were open there
        self.stuck_high = self.stuck_low = 0  # ways to positions that have no move

    def find(self, key: int) -> int:
        """Return where the class KEY stands in `cells`, or where it would."""
        place = (key * SPREAD & ALL) >> self.shift
        at = 3 * place
        while self.cells[at] != key and self.cells[at] != 0:
            place = (place + 1) & self.mask
            at = 3 * place
        return at

    def put(self, key: int, high: int, low: int) -> None:
        """Add ways to the class KEY."""
        at = self.find(key)
        if self.cells[at] == 0:
            self.cells[at] = key
            self.size += 1
        total = (self.cells[at + 2] + low) & ALL
        self.cells[at + 1] = (self.cells[at + 1] + high + (total < low)) & ALL
        self.cells[at + 2] = total

    def stop(self, high: int, low: int) -> None:
        """Add ways to positions that have no move."""
        total = (self.stuck_low + low) & ALL
        self.stuck_high = (self.stuck_high + high + (total < low)) & ALL
        self.stuck_low = total


class Seen:
    """Classes that were met, by their least member. It has 2^BITS places."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.cells = array("Q", bytes(8 << bits))
        self.shift, self.mask = 64 - bits, (1 << bits) - 1
        self.size, self.most = 0, (3 << bits) >> 2

    def find(self, key: int) -> int:
        """Return where the class KEY stands in `cells`, or where it would."""
        place = (key * SPREAD & ALL) >> self.shift
        while self.cells[place] != key and self.cells[place] != 0:
            place = (place + 1) & self.mask
        return place

    def has(self, key: int) -> bool:
        """Say whether the class KEY was met."""
        return self.cells[self.find(key)] != 0

    def add(self, key: int) -> None:
        """Remember that the class KEY was met."""
        place = self.find(key)
        if self.cells[place] == 0:
            self.cells[place] = key
            self.size += 1


def expand(game: Game, cells: Sequence[int], first: int, last: int, table: Table) -> bool:
    """Put what follows the classes FIRST to LAST of a level by one jump into TABLE; False if it is too small."""
    for index in range(first, last):
        if table.size + game.moves > table.most:
            return False
        position, high, low = cells[3 * index], cells[3 * index + 1], cells[3 * index + 2]
        game.canonical(position)
        table.positions += game.count // game.stable
        if not game.alive(position):
            continue
        opened = False
        for move in range(game.moves):
            if position & game.triples[move] == game.pairs[move]:
                opened = True
                table.tried += 1
                if game.fits(move):
                    table.put(game.canonical(position ^ game.triples[move]), high, low)
        if not opened:
            table.stop(high, low)
    return True


def spread(game: Game, cells: Sequence[int], first: int, last: int, table: Table, most: int) -> bool:
    """Put what follows the classes FIRST to LAST by any chain of jumps of one peg into TABLE; False if it is too small.

    Left out is what has more than MOST pegs in the holes `own`, from where each has to move by itself, and what is
    lost; a single peg is not if it stands in `goals`.
    """
    waiting, pegs, triples = game.waiting, game.pegs, game.triples
    for index in range(first, last):
        high, low = cells[3 * index + 1], cells[3 * index + 2]
        for hole in range(game.holes):
            waiting[0], pegs[0], depth = cells[3 * index], hole, 1
            while depth > 0:
                if table.size + game.moves > table.most:
                    return False
                depth -= 1
                position, peg = waiting[depth], pegs[depth]
                for move in range(game.starts[peg], game.starts[peg + 1]):
                    if position & triples[move] == game.pairs[move]:
                        after = position ^ triples[move]
                        table.tried += 1
                        if game.alive(after) or (after & game.goals and few(after, 1)):
                            waiting[depth], pegs[depth] = after, game.lands[move]
                            depth += 1
                            if few(after & game.own, most):
                                table.put(game.canonical(after), high, low)
    return True


def meet(game: Game, cells: Sequence[int], first: int, last: int, table: Table, flip: int, sums: "array[int]") -> None:
    """Write into SUMS, high and low for each class FIRST to LAST, the ways back from what follows it by one jump.

    TABLE holds the ways from the other end, where a hole is what a peg is here: FLIP turns all of them round. Each
    number counts once for each symmetry that leaves its class as it is.
    """
    for index in range(first, last):
        high = low = 0
        position = cells[3 * index]
        if game.alive(position):
            for move in range(game.moves):
                if position & game.triples[move] == game.pairs[move] and game.fits(move):
                    at = table.find(game.canonical(position ^ game.triples[move] ^ flip))
                    if table.cells[at]:
                        for _ in range(game.stable):
                            low = (low + table.cells[at + 2]) & ALL
                            high = (high + table.cells[at + 1] + (low < table.cells[at + 2])) & ALL
        sums[2 * (index - first)], sums[2 * (index - first) + 1] = high, low


def few(bits: int, most: int) -> bool:
    """Say whether at most MOST of BITS are set."""
    while bits and most > 0:
        bits &= bits - 1
        most -= 1
    return bits == 0


def absorb(cells: Sequence[int], first: int, last: int, table: Table) -> None:
    """Put the cells FIRST to LAST of a level, or of another table, into TABLE, which has room for them."""
    for index in range(first, last):
        if cells[3 * index]:
            table.put(cells[3 * index], cells[3 * index + 1], cells[3 * index + 2])


def project(game: Game, cells: Sequence[int], first: int, last: int, table: Table) -> None:
    """Put the classes FIRST to LAST of a level, as GAME with its symmetries sees them, into TABLE, which has room."""
    for index in range(first, last):
        table.put(game.canonical(cells[3 * index]), cells[3 * index + 1], cells[3 * index + 2])


def pack(cells: Sequence[int], first: int, last: int, level: "array[int]", at: int) -> int:
    """Copy those of the cells FIRST to LAST that are taken to LEVEL, from its class AT on; return where it goes on."""
    for index in range(first, last):
        if cells[3 * index]:
            level[3 * at] = cells[3 * index]
            level[3 * at + 1] = cells[3 * index + 1]
            level[3 * at + 2] = cells[3 * index + 2]
            at += 1
    return at


def absorb_new(cells: Sequence[int], first: int, last: int, seen: Seen, table: Table) -> None:
    """Put those of the cells FIRST to LAST into TABLE, which has room, that were not SEEN."""
    for index in range(first, last):
        if not seen.has(cells[3 * index]):
            table.put(cells[3 * index], cells[3 * index + 1], cells[3 * index + 2])


def remember(keys: Sequence[int], first: int, last: int, step: int, seen: Seen) -> None:
    """Add to SEEN, which has room, those of KEYS, every STEP numbers one, that are FIRST to LAST and not 0."""
    for index in range(first, last):
        if keys[step * index]:
            seen.add(keys[step * index])
