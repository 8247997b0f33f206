"""Pictures of solved puzzles, for networks that take no SVG."""

import io
import sys
from pathlib import Path

import pytest
from PIL import Image

from pi_appliance.errors import Refused
from pi_appliance.puzzles import SolveMode
from pi_appliance.puzzles import picture as as_png
from pi_appliance.puzzles.puzzle_job import Options, run
from pi_appliance.storage.model import Picture
from tests.fakes.context import FakeContext

ONE_JUMP = """\
Starting Board
XXO

Start Solution

OOX

End Solution

Board: 2 pegs in 3 holes
Solutions: 1
Solutions listed: 1
Jumps tried: 1
"""
RED, AMBER = (179, 38, 30), (255, 197, 61)


def listing(folder: Path, *boards: str | Path, **options: object) -> list[str]:
    """Return the text that a puzzle job writes about `boards`."""
    run(Options(puzzle="peg-solitaire", boards=[Path(board) for board in boards], **options), FakeContext(folder))  # type: ignore[arg-type]
    return (folder / "result.txt").read_text("utf-8").splitlines(keepends=True)


def drawn(lines: list[str]) -> Picture:
    picture = as_png.draw_listing(lines)
    assert picture is not None
    return picture


def opened(picture: Picture) -> Image.Image:
    with Image.open(io.BytesIO(picture.data), formats=["PNG"]) as image:
        return image.convert("RGB")


def count(image: Image.Image, colour: tuple[int, int, int]) -> int:
    return sum(number for number, result in image.getcolors(maxcolors=1 << 24) or [] if result == colour)


def test_it_is_as_large_as_networks_show_and_small_enough_for_all_of_them(tmp_path):
    picture = drawn(listing(tmp_path, "full"))
    assert picture.mime == "image/png"
    assert opened(picture).size == (1200, 675)
    assert len(picture.data) < 200_000


def test_the_largest_board_there_can_be_fits_too():
    # No such game, but as many boards of as many pegs as there can be.
    solved = as_png.SolvedBoard("full house", [as_png.parse("XXXXXXXX\n" * 8, "test")] * 63)
    picture = as_png.draw_solution(solved)
    assert opened(picture).size == (1200, 675)
    assert len(picture.data) < 1_000_000


def test_the_pegs_and_the_one_that_jumped_are_drawn():
    image = opened(drawn(ONE_JUMP.splitlines()))
    before, after = image.crop((0, 150, 600, 675)), image.crop((600, 150, 1200, 675))
    assert count(before, RED) > 5 * count(after, RED) > 0  # two pegs, and the ring where one was taken
    assert (count(before, AMBER), count(after, AMBER) > 0) == (0, True)


def test_boards_of_another_height_are_drawn_within_the_picture(tmp_path):
    board = tmp_path / "tower.txt"
    board.write_text("X\nX\nO\n" + "O\n" * 12, "utf-8")
    image = opened(drawn(listing(tmp_path, board)))
    edge = image.crop((0, 660, 1200, 675))
    assert len(edge.getcolors() or []) == 1


def test_of_several_boards_the_longest_solution_is_drawn(tmp_path):
    assert drawn(listing(tmp_path, "cross", "plus", "diamond")).alt.startswith(
        "Peg solitaire: plus, 9 pegs in 33 holes."
    )


def test_of_many_solutions_the_first_is_drawn(tmp_path):
    first = drawn(listing(tmp_path, "plus", solutions=SolveMode.ALL, max_solutions=1))
    every = drawn(listing(tmp_path, "plus", solutions=SolveMode.ALL))
    assert first == every


def test_the_picture_has_a_description():
    assert drawn(ONE_JUMP.splitlines()).alt == (
        "Peg solitaire, 2 pegs in 3 holes. A solution of 1 jump, drawn board after board. "
        "The last peg ends in column 3 of row 1. 1 solution"
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [("swallow", "Peg solitaire: swallow, "), ("x" * 40, f"Peg solitaire: {'x' * 26}…, ")],
)
def test_a_board_is_called_by_its_name(name, shown):
    text = f"{name}\n{'=' * len(name)}\n{ONE_JUMP}"
    assert drawn(text.splitlines()).alt.startswith(shown)


def test_a_known_board_is_recognized_by_its_drawing(tmp_path):
    assert drawn(listing(tmp_path, "cross")).alt.startswith("Peg solitaire: cross, ")


@pytest.mark.parametrize(
    ("known", "says"),
    [
        ("4", ". 4 solutions"),
        ("10,142,448", ". 10,142,448 solutions"),
        ("at least 1; not counted", "ends in column 3 of row 1"),
    ],
)
def test_the_picture_shows_the_number_of_solutions(known, says):
    assert drawn(ONE_JUMP.replace("Solutions: 1\n", f"Solutions: {known}\n").splitlines()).alt.endswith(says)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "disk 1 is fine\n====\n",
        ONE_JUMP.partition("Start")[0],
        ONE_JUMP.partition("End")[0],  # only the beginning of a long report
        ONE_JUMP.replace("OOX", "OXX"),
        ONE_JUMP.replace("OOX", "OOXO"),
        ONE_JUMP.replace("OOX", "OO7"),
        ONE_JUMP.replace("XXO\n", "???\n"),
        ONE_JUMP.replace("OOX\n\n", ""),
        ONE_JUMP.replace("XXO", "XXOX").replace("OOX", "OOXX"),  # two pegs are left
    ],
)
def test_a_report_without_solutions_gives_no_picture(text):
    assert as_png.draw_listing(text.splitlines()) is None


def test_a_board_without_a_solution_gives_no_picture(tmp_path):
    assert as_png.draw_listing(listing(tmp_path, "diamond")) is None


def test_a_missing_pillow_is_reported_with_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(Refused, match=r"needs Pillow, which is not installed; install it: .* -m pip install 'pillow>="):
        as_png.draw_listing(ONE_JUMP.splitlines())


def test_a_listing_of_another_puzzle_is_not_drawn_as_if_it_were_pegs():
    drawn_alike = "Starting Board\nO.X\nXXO\n\nStart Solution\n\n{}\n\nEnd Solution\n\nBoard: 3 discs\n"
    for line in ("4 4 3", "XXO", "O", "Yellow wins", "XXX\nXXX"):
        assert as_png.draw_listing(drawn_alike.format(line).splitlines()) is None, line
