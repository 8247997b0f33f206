"""Find pagoda functions: weights of holes that no jump increases, which prove that positions are lost.

Linear programs find them: of all weights that give each target at least 1, take those that give a position least. If
it gets less than 1, it cannot reach a target. The positions come from random games. Results are rounded to
integers and kept only if they are exactly valid.
"""

from collections.abc import Sequence
from random import Random

from pi_appliance.puzzles import pluralize
from pi_appliance.puzzles.peg_solitaire import kernel
from pi_appliance.puzzles.peg_solitaire.bitboard import Bitboard, Move, PagodaFunction, Symmetry, to_game
from pi_appliance.puzzles.runtime.interface import SearchRuntime

MAX_WORDS = 16  # of eight functions, with their images: more cost more than they save
MAX_TRIES = 120  # linear programs, each a few milliseconds
MAX_MISSES = 12  # consecutive tries without a result
MAX_WEIGHT = 4  # largest absolute weight
SCALES = (1, 2, 3, 4, 5, 6)
FIELD_RANGE = 128  # distance of an 8-bit field from its threshold
EPSILON = 1e-9
MAX_PIVOTS = 400


def find_pagodas(
    field: Bitboard, begin: Sequence[int], targets: Sequence[int], turns: Sequence[Symmetry], runtime: SearchRuntime
) -> tuple[PagodaFunction, ...]:
    """Return functions that recognize many lost positions.

    Args:
        field: the board.
        begin: the positions that games start from.
        targets: the positions to be reached; `turns` map them to each other.
        turns: symmetries.
        runtime: receives progress.

    """
    random = Random(1)  # noqa: S311 - the same games each time
    proofs: list[PagodaFunction] = []
    game = to_game(field, turns)
    missed = 0
    for _ in range(MAX_TRIES):
        runtime.report_progress(None, f"{pluralize(len(proofs), 'proof')} that positions are lost")
        if game.words >= MAX_WORDS or missed == MAX_MISSES:
            break
        position = _play_random_game(field, random.choice(begin), game, random)
        proof = _find_separating(field, targets, position, random)
        if proof and is_valid_pagoda(proof, field.moves, targets) and _fits_field(proof, field, begin, turns):
            proofs.append(proof)
            missed = 0
            game = to_game(field, turns, proofs)
        else:
            missed += 1
    return tuple(proofs)


def is_valid_pagoda(proof: PagodaFunction, moves: Sequence[Move], targets: Sequence[int]) -> bool:
    """Return whether no move increases the weight and every target has at least `least`."""
    weights = proof.weights
    falls = all(weights[start] + weights[over] >= weights[end] for start, over, end in moves)
    return falls and all(proof.weight(target) >= proof.least for target in targets)


def _fits_field(proof: PagodaFunction, field: Bitboard, begin: Sequence[int], turns: Sequence[Symmetry]) -> bool:
    """Return whether an 8-bit field can hold the function for every position reachable from `begin`."""
    most = max(proof.apply_symmetry(turn).weight(position) for turn in turns for position in begin)
    least = sum(min(weight, 0) for weight in proof.weights)
    weights = proof.weights
    losses = (weights[start] + weights[over] - weights[end] for start, over, end in field.moves)
    return (
        most - proof.least < FIELD_RANGE
        and least - proof.least >= -FIELD_RANGE
        and max(losses, default=0) <= FIELD_RANGE
    )


def _play_random_game(field: Bitboard, position: int, game: kernel.Game, random: Random) -> int:
    """Return a position of a random game that no known function proves lost."""
    pegs = position.bit_count()
    for _ in range(random.randint(pegs // 5, max(pegs // 5, 3 * pegs // 4))):
        after = [position ^ move.triple for move in field.moves if position & move.triple == move.pair]
        after = [each for each in after if game.alive(each)]
        if not after:
            break
        position = random.choice(after)
    return position


def _find_separating(field: Bitboard, targets: Sequence[int], position: int, random: Random) -> PagodaFunction | None:
    """Return an integer function under which `position` weighs less than every target, or None."""
    size = len(field.board.holes)
    # Small perturbations prevent cycling; the result is verified anyway.
    wanted = [(position >> hole & 1) + random.random() * 1e-6 for hole in range(size)]
    columns: list[tuple[list[int], float]] = [([0] * size, 0.0) for _ in field.moves]
    for (column, _), (start, over, end) in zip(columns, field.moves, strict=True):
        column[start], column[over], column[end] = 1, 1, -1
    columns += [([target >> hole & 1 for hole in range(size)], 1.0) for target in targets]
    weights = _solve_linear_program(columns, wanted)
    for scale in SCALES:
        whole = [round(weight * scale) for weight in weights]
        if all(abs(weight * scale - number) < 1e-4 for weight, number in zip(weights, whole, strict=True)):
            proof = PagodaFunction(tuple(whole), scale)
            return proof if proof.weight(position) < scale else None
    return None


def _solve_linear_program(columns: Sequence[tuple[Sequence[int], float]], wanted: Sequence[float]) -> list[float]:
    """Return weights w within MAX_WEIGHT that minimize w*wanted, where w*column >= value for each of `columns`.

    Solves the dual by the simplex method: `wanted` as the most valuable non-negative sum of columns. One unit of a
    hole more or less costs MAX_WEIGHT. The first basis has such units only.
    """
    size, count = len(wanted), len(columns)
    rows = [
        [float(column[hole]) for column, _ in columns]
        + [float(other == hole) for other in range(size)]
        + [-float(other == hole) for other in range(size)]
        + [wanted[hole]]
        for hole in range(size)
    ]
    # Reduced profits.
    gains = (
        [value + MAX_WEIGHT * sum(column) for column, value in columns]
        + [0.0] * size
        + [-2.0 * MAX_WEIGHT] * size
        + [0.0]
    )
    for _ in range(MAX_PIVOTS):
        best = max(range(count + 2 * size), key=gains.__getitem__)
        if gains[best] < EPSILON:
            break
        ratios = [(row[-1] / row[best], number) for number, row in enumerate(rows) if row[best] > EPSILON]
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
    return [-MAX_WEIGHT - gain for gain in gains[count : count + size]]
