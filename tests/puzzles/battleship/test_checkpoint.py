"""Long battleship counts: interrupted, resumed, reported, and rejected when memory is too small."""

from collections.abc import Iterable
from itertools import count

import pytest

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.puzzles import Answer, SolveMode, battleship
from pi_appliance.puzzles.battleship.count import pack_layer, unpack_layer
from pi_appliance.puzzles.runtime import Cache, Interrupted, SearchRuntime

BOARD = battleship.parse("size: 7x7\nfleet: 4,3,2,2\ntouching: corners\nB2 hit, D5 miss\n", "mine")


class SlowRuntime(SearchRuntime):
    """A runtime whose clock runs fast enough for checkpoints, and that stops after `ends` progress reports."""

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
            raise Interrupted("deadline")


def solve_board(runtime: SearchRuntime, mode: SolveMode = SolveMode.COUNT) -> Answer:
    return battleship.solve(BOARD, mode, runtime)


def test_an_interrupted_count_reports_its_progress_and_resumes() -> None:
    plain = solve_board(SearchRuntime())
    whole = SlowRuntime(SearchRuntime().cache, 10_000)
    assert solve_board(whole).count == plain.count
    cache, partial_results, steps = SearchRuntime().cache, [], 0
    for _ in range(100):
        runtime = SlowRuntime(cache, 16)
        try:
            answer = solve_board(runtime)
        except Interrupted as error:
            partial_results.append(error.partial_result)
            steps += len(runtime.parts)
            continue
        break
    assert answer.count == plain.count
    assert answer.tables == plain.tables
    assert len(partial_results) > 5
    assert len(set(partial_results)) > 5, "each run gets further"
    assert partial_results[0] == "the board is possible; the placements are counted up to row 2 of 7"
    assert (
        partial_results[-1]
        == "the board is possible; the placements are counted up to row 7 of 7, and 6 rows are mapped"
    )
    assert steps < 3 * len(whole.parts), "no work is repeated"
    assert not [name for name in cache.names() if "row" in name], "layers are removed at the end"


def test_a_finished_count_is_loaded_from_the_cache() -> None:
    runtime = SlowRuntime(SearchRuntime().cache, 10_000)
    first = solve_board(runtime)
    again = SlowRuntime(runtime.cache, 0)
    assert solve_board(again).tables == first.tables


def test_another_board_does_not_use_the_checkpoint() -> None:
    cache = SearchRuntime().cache
    with pytest.raises(Interrupted):
        solve_board(SlowRuntime(cache, 30))
    other = battleship.with_rules(BOARD, {"touching": "never"})
    assert (
        battleship.solve(other, SolveMode.COUNT, SlowRuntime(cache, 10_000)).count
        == battleship.solve(other, SolveMode.COUNT, SearchRuntime()).count
    )


def test_progress_rises_from_0_to_1() -> None:
    runtime = SlowRuntime(SearchRuntime().cache, 10_000)
    solve_board(runtime)
    assert runtime.parts == sorted(runtime.parts)
    assert runtime.parts[0] == 0
    assert 0.8 < runtime.parts[-1] <= 1


def test_a_damaged_checkpoint_is_ignored() -> None:
    cache = SearchRuntime().cache
    with pytest.raises(Interrupted):
        solve_board(SlowRuntime(cache, 30))
    for name in [*cache.names()]:
        cache.save(name, [b"nonsense"])
    assert solve_board(SlowRuntime(cache, 10_000)).count == solve_board(SearchRuntime()).count


def test_a_full_cache_does_not_stop_the_count() -> None:
    class FullCache(Cache):
        def save(self, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
            raise Unavailable(f"no room for {name}: {len(list(parts))} parts")

    assert solve_board(SlowRuntime(FullCache(), 10_000)).tables == solve_board(SearchRuntime()).tables


def test_layers_are_packed_and_unpacked() -> None:
    for layer in ({0: 1, 2**61 - 1: 2**500, 7: 0}, {}, {5: 6}):
        assert unpack_layer(pack_layer(layer)) == layer


def test_a_count_too_large_for_memory_is_refused_before_it_starts() -> None:
    class TinyRuntime(SearchRuntime):
        def report_progress(self, part: float | None, note: str) -> None:
            assert part is None, f"no count can start: {note}"

        def require_memory(self, size: int, purpose: str) -> None:
            raise Refused(f"{purpose} needs {size / 1e9:.0f} GB")

    board = battleship.with_rules(battleship.parse("size: 15x15", "mine"), {"fleet": "6,5,5,4,4,4,3,3,3,3"})
    with pytest.raises(Refused, match=r"counting the placements needs \d+ GB"):
        battleship.solve(board, SolveMode.COUNT, TinyRuntime())
    assert next(battleship.solve(board, SolveMode.FIRST, TinyRuntime()).solutions), "one solution needs no memory"


def test_an_interrupted_search_reports_its_partial_result() -> None:
    board = battleship.with_rules(battleship.parse("size: 8x8", "mine"), {"fleet": "2 " * 14, "touching": "never"})
    with pytest.raises(Interrupted) as caught:
        battleship.solve(board, SolveMode.FIRST, SlowRuntime(SearchRuntime().cache, 0))
    assert caught.value.partial_result == "whether the board is possible is not known yet"
    quarrel = battleship.parse(battleship.BOARDS["quarrel"], "quarrel")
    with pytest.raises(Interrupted) as caught:
        battleship.solve(quarrel, SolveMode.FIRST, SlowRuntime(SearchRuntime().cache, 3))
    assert caught.value.partial_result == "the board is impossible: C4 is hit, and no ship of the fleet can lie there"
