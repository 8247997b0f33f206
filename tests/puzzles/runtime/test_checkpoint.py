"""Checkpoints: values and buffers are loaded as saved, or not at all."""

from array import array
from collections.abc import Callable, Iterable
from itertools import count

import pytest

from pi_appliance.errors import Unavailable
from pi_appliance.puzzles.runtime import Buffer, Cache, Checkpoint, Interrupted, SearchRuntime, find_solutions

STATE = {"level": 3, "ways": 2**90}, [array("Q", [1, 2**63]), b"abc", array("d", [0.5]), array("H")]


def test_values_and_buffers_are_loaded_with_their_types() -> None:
    runtime = SearchRuntime()
    checkpoint = Checkpoint(runtime, "puzzle/count", "a board")
    assert checkpoint.load() is None
    assert checkpoint.save(*STATE) == ""
    saved = Checkpoint(runtime, "puzzle/count", "a board").load()
    assert saved is not None
    assert saved.values == STATE[0]
    assert [buffer.tolist() for buffer in saved.buffers] == [[1, 2**63], [*b"abc"], [0.5], []]
    assert Checkpoint(runtime, "puzzle/count", "another board").load() is None
    checkpoint.remove()
    assert checkpoint.load() is None


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data[:9], lambda _: b"", lambda data: bytes([*data[:-1], 1])]
)
def test_damaged_states_and_those_of_other_searches_are_ignored(damage: Callable[[bytes], bytes]) -> None:
    runtime = SearchRuntime()
    checkpoint, other = Checkpoint(runtime, "puzzle/count", 1), Checkpoint(runtime, "puzzle/count", 2)
    checkpoint.save(*STATE)
    data = bytes(runtime.cache.load(checkpoint.name) or b"")
    runtime.cache.save(other.name, [data])
    assert other.load() is None
    runtime.cache.save(checkpoint.name, [damage(data)])
    assert checkpoint.load() is None


def test_an_interruption_saves_the_state_and_reports_the_partial_result() -> None:
    checkpoint = Checkpoint(SearchRuntime(), "puzzle/count")
    with (
        pytest.raises(Interrupted) as caught,
        checkpoint.guard(lambda: STATE, lambda: "3 levels", "; the next run continues"),
    ):
        raise Interrupted("its time is over")
    assert caught.value.partial_result == "3 levels; the next run continues"
    assert checkpoint.load() is not None
    with checkpoint.guard(lambda: STATE, lambda: "3 levels"):
        pass
    assert checkpoint.load() is None, "the search is complete"


def test_a_state_that_cannot_be_saved_is_reported() -> None:
    class FullCache(Cache):
        def save(self, name: str, parts: object) -> None:
            raise Unavailable(f"no space for {name}: {parts}")

    runtime = SearchRuntime()
    runtime.cache = FullCache()
    with pytest.raises(Interrupted) as caught, Checkpoint(runtime, "count").guard(lambda: STATE, lambda: "3 levels"):
        raise Interrupted("its time is over")
    assert caught.value.partial_result.startswith("3 levels; the checkpoint could not be saved: no space for count")


def test_the_state_is_saved_once_per_interval() -> None:
    seconds, saved = count(0, 10), []

    def state() -> tuple[dict[str, object], list[array]]:
        saved.append(1)
        return STATE

    with Checkpoint(SearchRuntime(seconds.__next__), "count", interval=25).guard(state, str) as save_sometimes:
        for _ in range(20):
            save_sometimes()
    assert 4 < len(saved) < 8


def test_checkpoints_write_no_more_than_allowed_and_keep_half_for_the_interruption() -> None:
    seconds, written = count(0, 10), []

    class CountingCache(Cache):
        def save(self, name: str, parts: Iterable[Buffer]) -> None:
            super().save(name, parts)
            written.append(len(self._entries[name]))

    runtime = SearchRuntime(seconds.__next__)
    runtime.cache, runtime.checkpoint_writes = CountingCache(), 10_000
    done = 0

    def search(size: int) -> str:
        checkpoint = Checkpoint(runtime, "count", interval=25)

        def state() -> tuple[dict[str, object], list[Buffer]]:
            return {"done": done}, [bytes(size)]

        def run() -> None:
            nonlocal done
            with checkpoint.guard(state, lambda: "searched") as save_sometimes:
                for done in range(100):  # noqa: B007 - the state has it
                    save_sometimes()
                raise Interrupted("its time is over")

        with pytest.raises(Interrupted) as caught:
            run()
        return caught.value.partial_result

    assert search(1_000) == "searched"
    assert len(written) == 6
    saved = Checkpoint(runtime, "count").load()
    assert saved is not None
    assert saved.values == {"done": 99}
    refused = "searched; its checkpoint of 5kB is not saved: a run writes 10kB (checkpoint-writes)"
    assert search(5_000) == refused
    assert len(written) == 6
    stored = Checkpoint(runtime, "count").load()
    assert stored is not None
    assert len(stored.buffers[0]) == 1_000, "the last state that was saved is still there"


def test_solutions_are_found_until_the_end_with_reports_between() -> None:
    results, reports = iter([2, 1, 2, 2, 1, 0, 1]), []
    assert len(list(find_solutions(lambda: next(results), lambda: reports.append(1)))) == 2
    assert len(reports) == 3
