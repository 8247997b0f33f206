"""Proofs that positions of peg solitaire are lost: weights of the holes that no jump increases ("pagoda functions").

They are found for a board by linear programming: of all weights that value each target at 1 at the least, those that
value a position least. Under 1, the position cannot become a target. Positions come from games played at random,
where nothing found until then sees that they are lost.
What is found is rounded to whole numbers and kept only if it is exactly right in them.
"""

from collections.abc import Sequence
from random import Random

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.field import Bitboard, Move, Proof, Turn, game_of
from pi_appliance.puzzles.runtime.interface import SearchRuntime

WORDS = 16  # of eight proofs, turned ones too: more cost more than they save
TRIES = 120  # linear programs, each some thousandths of a second
MISSES = 12  # tries in a row that find nothing: there is little left to find
BOUND = 4  # the largest weight
SCALES = (1, 2, 3, 4, 5, 6)
ROOM = 128  # what a field of eight bits can be above or below its threshold
TINY = 1e-9
PIVOTS = 400


def find_proofs(
    field: Bitboard, begin: Sequence[int], targets: Sequence[int], turns: Sequence[Turn], runtime: SearchRuntime
) -> tuple[Proof, ...]:
    """Return proofs that are good at telling positions that come from BEGIN and cannot become any of TARGETS.

    TURNS turn TARGETS into each other.
    """
    random = Random(1)  # noqa: S311 - the same games each time
    found: list[Proof] = []
    game = game_of(field, turns)
    missed = 0
    for _ in range(TRIES):
        runtime.report_progress(None, f"{pluralize(len(found), 'proof')} that positions are lost")
        if game.words >= WORDS or missed == MISSES:
            break
        position = _played(field, random.choice(begin), game, random)
        proof = _separating(field, targets, position, random)
        if proof and is_proof(proof, field.moves, targets) and _has_room(proof, field, begin, turns):
            found.append(proof)
            missed = 0
            game = game_of(field, turns, found)
        else:
            missed += 1
    return tuple(found)


def is_proof(proof: Proof, moves: Sequence[Move], targets: Sequence[int]) -> bool:
    """Say whether no move increases a weight, and no target weighs less than PROOF asks for."""
    weights = proof.weights
    falls = all(weights[start] + weights[over] >= weights[end] for start, over, end in moves)
    return falls and all(proof.weight(target) >= proof.least for target in targets)


def _has_room(proof: Proof, field: Bitboard, begin: Sequence[int], turns: Sequence[Turn]) -> bool:
    """Say whether a field of eight bits holds PROOF at every position that can come from BEGIN."""
    most = max(proof.turned(turn).weight(position) for turn in turns for position in begin)
    least = sum(min(weight, 0) for weight in proof.weights)
    weights = proof.weights
    losses = (weights[start] + weights[over] - weights[end] for start, over, end in field.moves)
    return most - proof.least < ROOM and least - proof.least >= -ROOM and max(losses, default=0) <= ROOM


def _played(field: Bitboard, position: int, game: kernel.Game, random: Random) -> int:
    """Return a position from the middle of a game that begins with POSITION and goes where GAME knows no proof."""
    pegs = position.bit_count()
    for _ in range(random.randint(pegs // 5, max(pegs // 5, 3 * pegs // 4))):
        after = [position ^ move.triple for move in field.moves if position & move.triple == move.pair]
        after = [each for each in after if game.alive(each)]
        if not after:
            break
        position = random.choice(after)
    return position


def _separating(field: Bitboard, targets: Sequence[int], position: int, random: Random) -> Proof | None:
    """Return weights in whole numbers by which POSITION weighs too little for TARGETS; None if there are none."""
    size = len(field.board.holes)
    # Tiny differences keep the simplex method from turning in a circle; whatever comes out is examined anyway.
    wanted = [(position >> hole & 1) + random.random() * 1e-6 for hole in range(size)]
    columns: list[tuple[list[int], float]] = [([0] * size, 0.0) for _ in field.moves]
    for (column, _), (start, over, end) in zip(columns, field.moves, strict=True):
        column[start], column[over], column[end] = 1, 1, -1
    columns += [([target >> hole & 1 for hole in range(size)], 1.0) for target in targets]
    weights = _weights(columns, wanted)
    for scale in SCALES:
        whole = [round(weight * scale) for weight in weights]
        if all(abs(weight * scale - number) < 1e-4 for weight, number in zip(weights, whole, strict=True)):
            proof = Proof(tuple(whole), scale)
            return proof if proof.weight(position) < scale else None
    return None


def _weights(columns: Sequence[tuple[Sequence[int], float]], wanted: Sequence[float]) -> list[float]:
    """Return the weights w that make w·WANTED least, where w·column >= its value for COLUMNS, within BOUND.

    This is the dual of: WANTED as a sum of columns, none of them negative, that is worth most; a unit of a hole, more
    or less, costs BOUND. The simplex method begins with such units alone.
    """
    size, count = len(wanted), len(columns)
    rows = [
        [float(column[hole]) for column, _ in columns]
        + [float(other == hole) for other in range(size)]
        + [-float(other == hole) for other in range(size)]
        + [wanted[hole]]
        for hole in range(size)
    ]
    # What one more of each column would be worth, beyond what it takes the place of.
    gains = [value + BOUND * sum(column) for column, value in columns] + [0.0] * size + [-2.0 * BOUND] * size + [0.0]
    for _ in range(PIVOTS):
        best = max(range(count + 2 * size), key=gains.__getitem__)
        if gains[best] < TINY:
            break
        ratios = [(row[-1] / row[best], number) for number, row in enumerate(rows) if row[best] > TINY]
        if not ratios:
            break
        pivot = min(ratios)[1]
        by = rows[pivot][best]
        row = rows[pivot] = [each / by for each in rows[pivot]]
        for number, other in enumerate(rows):
            if number != pivot and (factor := other[best]):
                rows[number] = [one - factor * two for one, two in zip(other, row, strict=True)]
        factor = gains[best]
        gains = [one - factor * two for one, two in zip(gains, row, strict=True)]
    return [-BOUND - gain for gain in gains[count : count + size]]
