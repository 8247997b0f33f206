"""FileCache: entries are loaded as saved, or not at all."""

import os
import stat
import time
from pathlib import Path

import pytest

from pi_appliance.errors import Unavailable
from pi_appliance.puzzles.runtime import FileCache


@pytest.fixture
def cache(tmp_path: Path) -> FileCache:
    return FileCache(tmp_path / "state" / "puzzles")


def file_of(tmp_path: Path, name: str) -> Path:
    return tmp_path / "state" / "puzzles" / f"{name}.cache"


def test_saved_entries_load_read_only(cache: FileCache, tmp_path: Path) -> None:
    assert cache.load("rubiks-cube/corners-1") is None
    assert cache.names() == []
    words = memoryview(bytearray(range(16))).cast("Q")
    cache.save("rubiks-cube/corners-1", (part for part in (b"abc", bytearray(3), words)))
    cache.save("empty", ())
    again = FileCache(tmp_path / "state" / "puzzles")
    stored = again.load("rubiks-cube/corners-1")
    assert stored is not None
    assert bytes(stored) == b"abc\0\0\0" + bytes(range(16))
    assert stored.readonly
    assert bytes(again.load("empty") or b"none") == b"none", "nothing was kept, wholly"
    assert again.names() == ["empty", "rubiks-cube/corners-1"]
    assert stat.S_IMODE(file_of(tmp_path, "empty").stat().st_mode) == 0o644


def test_mapped_content_survives_a_replacement(cache: FileCache) -> None:
    cache.save("book", [b"old"])
    old = cache.load("book")
    cache.save("book", [b"new book"])
    assert bytes(old or b"") == b"old"
    assert bytes(cache.load("book") or b"") == b"new book"
    cache.remove("book")
    cache.remove("book")
    assert cache.load("book") is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: content[:30] + bytes([content[30] ^ 1]) + content[31:],
        lambda content: b"x" + content[1:],
        lambda _: b"",
        lambda _: b"pi-cache",
    ],
    ids=["cut off", "longer", "one bit", "no magic", "empty", "half a header"],
)
def test_a_damaged_file_is_set_aside(cache: FileCache, tmp_path: Path, damage) -> None:
    cache.save("book", [b"positions and their scores"])
    path = file_of(tmp_path, "book")
    path.write_bytes(damaged := damage(path.read_bytes()))
    assert cache.load("book") is None
    assert cache.names() == []
    assert path.with_suffix(".damaged").read_bytes() == damaged
    cache.save("book", [b"a new one"])
    assert bytes(cache.load("book") or b"") == b"a new one"


def test_an_error_while_saving_keeps_the_old_entry(cache: FileCache, tmp_path: Path) -> None:
    def parts():
        yield b"half"
        raise InterruptedError

    cache.save("book", [b"old"])
    with pytest.raises((InterruptedError, Unavailable)):
        cache.save("book", parts())
    assert bytes(cache.load("book") or b"") == b"old"
    assert [path.name for path in file_of(tmp_path, "book").parent.iterdir()] == ["book.cache"]


@pytest.mark.parametrize("name", ["", "../book", "/book", "a/b/c", "a//b", "Book", ".book", "a/.b", "book\n", "é"])
def test_names_that_could_leave_the_folder_are_rejected(cache: FileCache, name: str) -> None:
    for use in (cache.load, cache.remove, lambda name: cache.save(name, [b""])):
        with pytest.raises(ValueError, match="not a valid name"):
            use(name)


def test_an_unwritable_folder_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="cannot be written"):
        FileCache(tmp_path / "file" / "puzzles").save("book", [b"x"])
    cache = FileCache(tmp_path)
    (tmp_path / "book.cache").mkdir()
    assert cache.load("book") is None, "the search starts again"
    assert FileCache(tmp_path / "file").load("book") is None
    cache.remove("book")
    FileCache(tmp_path / "file").remove("book")


def aged(path: Path, days: float) -> None:
    os.utime(path, (time.time() - days * 86_400,) * 2)


def test_sweep_removes_unused_entries_of_boards_and_keeps_tables(cache: FileCache, tmp_path: Path) -> None:
    given_up, asked, young = (f"peg-solitaire/count-{number:016x}-1" for number in range(3))
    for name in ("rubiks-cube/wide-1", "rubiks-cube/wide-begun-1", "connect-four/book-1", given_up, asked, young):
        cache.save(name, [b"x"])
    folder = file_of(tmp_path, given_up).parent
    half, being_written, damaged = (
        folder / ".a.cache.0a1b2c3d.new",
        folder / ".b.cache.0a1b2c3d.new",
        folder / "c.damaged",
    )
    for path in (half, being_written, damaged):
        path.write_bytes(b"half")
    for path in (tmp_path / "state").rglob("*"):
        if path.is_file() and path not in (being_written, file_of(tmp_path, young)):
            aged(path, 31)
    cache.load(asked)
    cache.remove_stale_files()
    assert cache.names() == ["connect-four/book-1", asked, young, "rubiks-cube/wide-1", "rubiks-cube/wide-begun-1"]
    assert {path for path in (half, being_written, damaged) if path.exists()} == {being_written}


def test_sweep_of_a_missing_folder_does_nothing(cache: FileCache, tmp_path: Path) -> None:
    cache.remove_stale_files()
    (tmp_path / "state").touch()
    cache.remove_stale_files()
    assert cache.names() == []
