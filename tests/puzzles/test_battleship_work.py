"""Long counts of battleship: interrupted, gone on with, told how far they are, and refused where they do not fit."""

from collections.abc import Iterable
from itertools import count

import pytest

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.puzzles import SolveMode, SolveResult, battleship
from pi_appliance.puzzles.battleship.kept import pack, unpack
from pi_appliance.puzzles.runtime.interface import Cache, Interrupted
from pi_appliance.puzzles.runtime.serial import MemoryCache, SerialRuntime

BOARD = battleship.parse("size: 7x7\nfleet: 4,3,2,2\ntouching: corners\nB2 hit, D5 miss\n", "mine")


class Slow(SerialRuntime):
    """Work that takes ten times longer than its patience with the shelf, and ends after so many signs of progress."""

    def __init__(self, cache: Cache, ends: int) -> None:
        super().__init__(count(0, 100).__next__)
        self.cache, self.ends = cache, ends
        self.parts: list[float] = []

    def report_progress(self, part: float | None, note: str) -> None:
        assert note
        self.ends -= 1
        if part is not None:
            self.parts.append(part)
        if self.ends < 0:
            raise Interrupted("the night is over")


def asked(runtime: SerialRuntime, mode: SolveMode = SolveMode.COUNT) -> SolveResult:
    return battleship.solve(BOARD, mode, runtime)


def test_a_count_that_is_cut_off_says_how_far_it_is_and_goes_on_from_there() -> None:
    plain = asked(SerialRuntime())
    whole = Slow(SerialRuntime().cache, 10_000)
    assert asked(whole).count == plain.count
    cache, told, steps = SerialRuntime().cache, [], 0
    for _ in range(100):
        runtime = Slow(cache, 16)
        try:
            answer = asked(runtime)
        except Interrupted as error:
            told.append(error.partial_result)
            steps += len(runtime.parts)
            continue
        break
    assert answer.count == plain.count
    assert answer.tables == plain.tables
    assert len(told) > 5
    assert len(set(told)) > 5, "each night goes further"
    assert told[0] == "the board is possible; the placements are counted up to row 2 of 7"
    assert told[-1] == "the board is possible; the placements are counted up to row 7 of 7, and 6 rows are mapped"
    assert steps < 3 * len(whole.parts), "nothing is done all over again"
    assert not [name for name in cache.names() if "row" in name], "what was needed on the way is gone"


def test_what_is_done_is_there_at_once_the_next_time() -> None:
    runtime = Slow(SerialRuntime().cache, 10_000)
    first = asked(runtime)
    again = Slow(runtime.cache, 0)
    assert asked(again).tables == first.tables


def test_another_board_does_not_go_on_from_this_one() -> None:
    cache = SerialRuntime().cache
    with pytest.raises(Interrupted):
        asked(Slow(cache, 30))
    other = battleship.with_rules(BOARD, {"touching": "never"})
    assert (
        battleship.solve(other, SolveMode.COUNT, Slow(cache, 10_000)).count
        == battleship.solve(other, SolveMode.COUNT, SerialRuntime()).count
    )


def test_progress_goes_from_nothing_to_the_end() -> None:
    runtime = Slow(SerialRuntime().cache, 10_000)
    asked(runtime)
    assert runtime.parts == sorted(runtime.parts)
    assert runtime.parts[0] == 0
    assert 0.8 < runtime.parts[-1] <= 1


def test_what_is_damaged_on_the_shelf_counts_as_not_there() -> None:
    cache = SerialRuntime().cache
    with pytest.raises(Interrupted):
        asked(Slow(cache, 30))
    for name in [*cache.names()]:
        cache.save(name, [b"nonsense"])
    assert asked(Slow(cache, 10_000)).count == asked(SerialRuntime()).count


def test_a_shelf_that_takes_nothing_ends_no_count() -> None:
    class Full(MemoryCache):
        def save(self, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
            raise Unavailable(f"no room for {name}: {len(list(parts))} parts")

    assert asked(Slow(Full(), 10_000)).tables == asked(SerialRuntime()).tables


def test_layers_are_packed_and_unpacked_and_nothing_else_is_taken_for_one() -> None:
    layers = [{0: 1, 2**61 - 1: 2**500, 7: 0}, {}, {5: 6}]
    packed = b"".join(pack(layers))
    assert unpack(memoryview(packed), 3) == layers
    assert unpack(memoryview(packed), 2) is None
    for length in range(len(packed)):
        assert unpack(memoryview(packed[:length]), 3) is None


def test_what_does_not_fit_is_refused_before_it_starts() -> None:
    class Tiny(SerialRuntime):
        def report_progress(self, part: float | None, note: str) -> None:
            assert part is None, f"nothing can be counted: {note}"

        def require_memory(self, size: int, purpose: str) -> None:
            raise Refused(f"{purpose} needs {size / 1e9:.0f} GB")

    board = battleship.with_rules(battleship.parse("size: 15x15", "mine"), {"fleet": "6,5,5,4,4,4,3,3,3,3"})
    with pytest.raises(Refused, match=r"counting the placements needs \d+ GB"):
        battleship.solve(board, SolveMode.COUNT, Tiny())
    assert next(battleship.solve(board, SolveMode.FIRST, Tiny()).solutions), "whether it is possible needs no memory"


def test_a_search_that_is_cut_off_is_heard() -> None:
    board = battleship.with_rules(battleship.parse("size: 8x8", "mine"), {"fleet": "2 " * 14, "touching": "never"})
    with pytest.raises(Interrupted) as caught:
        battleship.solve(board, SolveMode.FIRST, Slow(SerialRuntime().cache, 0))
    assert caught.value.partial_result == "whether the board is possible is not known yet"
    quarrel = battleship.parse(battleship.BOARDS["quarrel"], "quarrel")
    with pytest.raises(Interrupted) as caught:
        battleship.solve(quarrel, SolveMode.FIRST, Slow(SerialRuntime().cache, 3))
    assert caught.value.partial_result == "the board is impossible: C4 is hit, and no ship of the fleet can lie there"
