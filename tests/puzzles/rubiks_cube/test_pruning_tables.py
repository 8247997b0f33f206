"""Tables of the cube: compared with turned pieces, interrupted, damaged, plain and compiled."""

import os
import random
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pi_appliance.puzzles import kernel_mode
from pi_appliance.puzzles import rubiks_cube as cube
from pi_appliance.puzzles.rubiks_cube import coordinates, kernel
from pi_appliance.puzzles.rubiks_cube import coordinates as c
from pi_appliance.puzzles.rubiks_cube import pruning_tables as t
from pi_appliance.puzzles.rubiks_cube.kernel import DONE, FOUND, PhaseSearch
from pi_appliance.puzzles.rubiks_cube.search import MAX_PHASE2, NO_FACE, CubeView, cube_views, search_buffers
from pi_appliance.puzzles.rubiks_cube.solve import random_state
from pi_appliance.puzzles.runtime import Interrupted, SearchRuntime, load_entry, save_entry
from pi_appliance.puzzles.runtime.local import open_runtime
from tests.examples import repetitions
from tests.puzzles.rubiks_cube import reference as cubes

LONG = pytest.mark.skipif(
    kernel_mode(kernel) == "plain" and os.environ.get("PI_APPLIANCE_LONG") != "1",
    reason="takes minutes in plain Python: PI_APPLIANCE_LONG=1",
)
# Entries of the large table by distance; every cube is at most 12 turns from phase 2.
LEVELS = [1, 1, 5, 44, 487, 5841, 68364, 776568, 7950748, 52098876, 76236234, 3771112, 129]


class InterruptedRuntime(SearchRuntime):
    """A runtime that is interrupted after a number of progress reports; shares a cache."""

    def __init__(self, reports: int, other: SearchRuntime) -> None:
        super().__init__()
        self.cache, self.words = other.cache, reports

    def report_progress(self, part: float | None, note: str) -> None:  # noqa: ARG002 - as in the base class
        self.words -= 1
        if not self.words:
            raise Interrupted("enough")


def random_states(number: int) -> list[coordinates.State]:
    rng = random.Random(number)
    return [random_state(rng, 3) for _ in range(number)]


def test_move_tables_agree_with_turned_pieces() -> None:
    moves, _ = t.load_small_tables(cubes.runtime())
    for state in random_states(40):
        before = c.to_coordinates([state])[0]
        for turn, action in enumerate(coordinates.turn_states()):
            after = c.to_coordinates([coordinates.compose(state, action)])[0]
            assert moves["twist"][before.twist * 18 + turn] == after.twist
            assert moves["flip"][before.flip * 18 + turn] == after.flip
            assert moves["slice"][before.slice_sorted // 24 * 18 + turn] == after.slice_sorted // 24
            assert moves["corners"][before.corners * 18 + turn] == after.corners
            for name in ("slice_sorted", "u_edges", "d_edges"):
                assert moves["slice_sorted"][getattr(before, name) * 18 + turn] == getattr(after, name)


def test_symmetry_tables_agree_with_rotated_pieces() -> None:
    moves, _ = t.load_small_tables(cubes.runtime())
    rng = random.Random(3)
    for state in random_states(60):
        before = c.to_coordinates([state])[0]
        code = moves["class_of"][before.flip * 495 + before.slice_sorted // 24]
        faces = coordinates.symmetries()[code & 15]
        transformed = c.to_coordinates([coordinates.conjugate(state, faces)])[0]
        assert transformed.flip * 495 + transformed.slice_sorted // 24 == moves["class_first"][code >> 4]
        assert moves["class_slice"][code >> 4] == transformed.slice_sorted // 24
        assert moves["twist_symmetry"][(code & 15) * 2187 + before.twist] == transformed.twist
        turn = rng.randrange(18)
        seen_turn = moves["turn_symmetry"][(code & 15) * 18 + turn]
        assert moves["inverse_turns"][(code & 15) * 18 + seen_turn] == turn
        after = c.to_coordinates([coordinates.compose(state, coordinates.turn_states()[turn])])[0]
        change = moves["classes"][(code >> 4) * 18 + seen_turn]
        assert change >> 4 == moves["class_of"][after.flip * 495 + after.slice_sorted // 24] >> 4
        faces = coordinates.symmetries()[moves["products"][(code & 15) * 16 + (change & 15)]]
        first = coordinates.conjugate(coordinates.compose(state, coordinates.turn_states()[turn]), faces)
        first_slice = c.to_coordinates([first])[0]
        assert first_slice.flip * 495 + first_slice.slice_sorted // 24 == moves["class_first"][change >> 4]


def test_a_turn_changes_a_distance_by_at_most_one() -> None:
    moves, small = t.load_small_tables(cubes.runtime())
    rng = random.Random(1)
    for _ in range(repetitions(3000)):
        twist, where, group = rng.randrange(2187), rng.randrange(495), rng.randrange(t.CLASS_COUNT)
        for turn in range(18):
            there = moves["slice"][where * 18 + turn]
            assert abs(small[2][twist * 495 + where] - small[2][moves["twist"][twist * 18 + turn] * 495 + there]) <= 1
            assert abs(small[3][group] - small[3][moves["classes"][group * 18 + turn] >> 4]) <= 1
    assert [max(table) for table in small] == [14, 12, 9, 9]


def test_a_damaged_table_is_rebuilt() -> None:
    runtime = SearchRuntime()
    t.load_small_tables(runtime)
    whole = bytes(runtime.cache.load(t.SMALL_NAME) or b"")
    for broken in (whole[:-1], b"x" + whole[1:], b"", whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:]):
        runtime.cache.save(t.SMALL_NAME, [broken])
        assert load_entry(runtime.cache, t.SMALL_NAME) is None
        t.load_small_tables(runtime)
        assert bytes(runtime.cache.load(t.SMALL_NAME) or b"") == whole


def test_a_large_table_of_another_size_is_ignored() -> None:
    runtime = cubes.runtime()
    other = SearchRuntime()
    other.cache.save(t.MOVES_NAME, [runtime.cache.load(t.MOVES_NAME) or b""])
    other.cache.save(t.LARGE_NAME, [bytes(1000)])
    assert not t.load_tables(other).is_large


@pytest.mark.slow
@LONG
def test_an_interrupted_large_table_continues() -> None:
    runtime, built = SearchRuntime(), cubes.runtime()
    t.load_small_tables(built)
    for name in built.cache.names():
        if name != t.LARGE_NAME:
            runtime.cache.save(name, [built.cache.load(name) or b""])
    results = []
    for reports in (3, 70_000, 70_000):
        with pytest.raises(Interrupted) as caught:
            t.build_large_table(InterruptedRuntime(reports, runtime))
        assert load_entry(runtime.cache, t.LARGE_STATE_NAME) is not None
        results.append(caught.value.partial_result.partition(";")[0])
    assert results == [f"the large table is complete to a distance of {level}" for level in (0, 1, 2)]


@pytest.mark.slow
def test_the_checkpoint_of_all_cores_is_whole(tmp_path: Path) -> None:
    def stop_at_first_rows(_part: float | None, note: str) -> None:
        if "lists" in note:
            raise Interrupted("enough")

    with open_runtime(tmp_path, stop_at_first_rows, cores=2) as runtime:
        t.load_small_tables(runtime)
        pattern = bytes(range(13)) * (t.LARGE_SIZE // 13 + 1)  # distances, which the lists of turns replace
        state = {"counts": [0] * 13, "depth": 12, "row": 0}
        save_entry(runtime.cache, t.LARGE_STATE_NAME, state, [memoryview(pattern)[: t.LARGE_SIZE]])
        with pytest.raises(Interrupted):
            t.build_large_table(runtime)
        saved = load_entry(runtime.cache, t.LARGE_STATE_NAME)
    assert saved is not None, "no worker wrote into the table while it was saved"
    assert saved.values["row"] > 0


@pytest.mark.slow
@LONG
def test_an_interrupted_large_table_is_completed() -> None:
    runtime = SearchRuntime()
    t.load_small_tables(runtime)
    for reports in (3, 70_000, 500_000, 30_000):  # the last one during the backward search
        with pytest.raises(Interrupted) as caught:
            t.build_large_table(InterruptedRuntime(reports, runtime))
        assert "the large table is complete to a distance of" in caught.value.partial_result
        assert load_entry(runtime.cache, t.LARGE_STATE_NAME) is not None
    prepared = cube.precompute(runtime)
    assert [row[1] for row in prepared.tables[0].rows] == LEVELS
    assert sum(LEVELS) == 64_430 * 2187
    assert t.LARGE_STATE_NAME not in runtime.cache.names()
    runtime.cache.save(t.LARGE_STATE_NAME, [b"left by a power cut"])
    assert cube.precompute(InterruptedRuntime(50_000, runtime)).tables[0].rows == prepared.tables[0].rows, (
        "it is complete at once"
    )
    assert t.LARGE_STATE_NAME not in runtime.cache.names()
    assert sum(len(runtime.cache.load(name) or b"") for name in runtime.cache.names()) < 162_000_000
    large, small = t.load_tables(runtime), t.load_tables(runtime, use_large=False)
    assert large.is_large
    assert sorted(find_all(large, 8)) == sorted(find_all(small, 8)), "the lists leave out no turn that leads on"
    for state in random_states(50):
        for view in cube_views(state):
            start = view.start.twist, view.start.flip, view.start.slice_sorted // 24
            assert small.bound(*start) <= large.bound(*start) <= 12
    for line in (cubes.random_moves(random.Random(length), length) for length in range(1, 12)):
        for view in cube_views(apply_moves(line)):
            assert large.bound(view.start.twist, view.start.flip, view.start.slice_sorted // 24) <= len(line)


def find_all(tables: t.SearchTables, length: int) -> Iterator[tuple[int, ...]]:
    """Yield all first phases of `length` turns of a cube."""
    view = cube_views(apply_moves(cubes.random_moves(random.Random(5), 7)))[0]
    search = PhaseSearch(tables, search_buffers())
    search.begin(view.start, length, 30, MAX_PHASE2, NO_FACE)
    while (result := search.run(1000)) != DONE:
        if result == FOUND:
            yield tuple(search.path[: search.solution_length - search.phase2_length])


def apply_moves(line: tuple[str, ...]) -> coordinates.State:
    state = coordinates.SOLVED
    for move in line:
        state = coordinates.compose(state, coordinates.turn_states()[cube.board.TURN_NAMES.index(move)])
    return state


def test_plain_and_compiled_kernels_search_the_same_positions(plain_and_compiled) -> None:
    plain, compiled = plain_and_compiled("rubiks_cube/kernel")
    moves, small = t.load_small_tables(cubes.runtime())

    def search_phases(way: ModuleType, view: CubeView) -> Iterator[tuple[object, ...]]:
        tables = t.search_tables(way.SearchTables, moves, small, b"")
        search = way.PhaseSearch(tables, search_buffers())
        for length in (9, 10):
            search.begin(view.start, length, 30, MAX_PHASE2, NO_FACE)
            for _ in range(8):
                yield (
                    search.run(700),
                    search.nodes,
                    search.solution_length,
                    tuple(search.path[: search.solution_length]),
                )

    for state in random_states(2):
        view = cube_views(state)[0]
        assert list(search_phases(plain, view)) == list(search_phases(compiled, view))


@pytest.mark.slow
def test_plain_and_compiled_kernels_fill_the_same_tables(plain_and_compiled) -> None:
    plain, compiled = plain_and_compiled("rubiks_cube/kernel")
    results = [fill_tables(way) for way in (plain, compiled)]
    assert results[0] == results[1]
    assert results[0][0][:3] == count_levels_by_pieces(3)


def fill_tables(way: ModuleType) -> tuple[list[int], bytes, int]:
    moves, _ = t.load_small_tables(cubes.runtime())
    small = bytearray(b"\0" + b"\xff" * (c.TWISTS * c.SLICES - 1))
    counts = [
        way.bfs_fill(small, moves["twist"], moves["slice"], c.SLICES, 18, depth, 0, len(small)) for depth in range(4)
    ]
    large = memoryview(bytearray(b"\xff" * t.LARGE_SIZE))
    large[0] = 0
    tables = [moves[name] for name in ("classes", "twist", "twist_symmetry")]
    same, at, masks = moves["class_symmetries"], array("H", bytes(2 * c.TWISTS)), array("I", bytes(4 * c.TWISTS))
    counts += [way.forward_bfs(large, row, row % 3, *tables, same, at) for row in range(40)]
    counts += [way.backward_bfs(large, row, 1, *tables, at) for row in range(40, 60)]
    for row in range(5):
        way.add_turn_lists(large, row, *tables, t.shortest_lists(), masks)
    return counts, bytes(small), hash(bytes(large))


def count_levels_by_pieces(depth: int) -> list[int]:
    """Return the number of pairs of twist and slice by distance, by turning pieces."""
    level = {(0, 0): coordinates.SOLVED}
    visited, counts = set(level), []
    for _ in range(depth):
        after = [coordinates.compose(state, action) for state in level.values() for action in coordinates.turn_states()]
        pairs = [(each.twist, each.slice_sorted // 24) for each in c.to_coordinates(after)]
        level = {pair: state for pair, state in zip(pairs, after, strict=True) if pair not in visited}
        visited |= set(level)
        counts.append(len(level))
    return counts
