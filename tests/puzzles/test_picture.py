"""Pictures of results, for networks that take no SVG."""

import io
import json
import sys
from pathlib import Path

import pytest
from PIL import Image

from pi_appliance.errors import Refused
from pi_appliance.puzzles import SolveMode, Step, picture
from pi_appliance.puzzles.puzzle_job import Options, report_animation, report_picture, run
from pi_appliance.storage.model import Picture
from tests.fakes.context import FakeContext

SOLVED = {
    "peg-solitaire": "cross",
    "sudoku": "sample",
    "battleship": "midgame",
    "bimaru": "magazine",
    "solitaire-chess": "seven",
    "connect-four": "squeeze",
    "panguru": "small",
    "rubiks-cube": "pocket-near",
}
RED, JUMP = (179, 38, 30), (31, 95, 191)


def result(folder: Path, *boards: str | Path, puzzle: str = "peg-solitaire", **options: object) -> Path:
    """Let a puzzle job write its report about `boards`."""
    run(Options(puzzle=puzzle, boards=[Path(board) for board in boards], **options), FakeContext(folder))  # type: ignore[arg-type]
    return folder / "result.txt"


def one_jump(folder: Path, **changes: object) -> Path:
    """Write the report of a board with one jump, with other values in its entry."""
    board = folder / "tiny.txt"
    board.write_text("XXO\n", "utf-8")
    written = result(folder, board)
    content = json.loads((folder / "result.json").read_text("utf-8"))
    content["boards"][0] |= changes
    (folder / "result.json").write_text(json.dumps(content), "utf-8")
    return written


def draw_report(file: Path) -> Picture:
    shown = report_picture(file)
    assert shown is not None
    return shown


def to_image(shown: Picture) -> Image.Image:
    with Image.open(io.BytesIO(shown.data), formats=["PNG"]) as image:
        return image.convert("RGB")


def count_pixels(image: Image.Image, colour: tuple[int, int, int]) -> int:
    return sum(number for number, result in image.getcolors(maxcolors=1 << 24) or [] if result == colour)


@pytest.mark.slow_variants
@pytest.mark.parametrize(("puzzle", "board"), SOLVED.items())
def test_it_is_as_large_as_networks_show_and_small_enough_for_all_of_them(
    tmp_path: Path, puzzle: str, board: str
) -> None:
    shown = draw_report(result(tmp_path, board, puzzle=puzzle))
    assert shown.mime == "image/png"
    assert to_image(shown).size == (1200, 675)
    assert len(shown.data) < 200_000
    assert shown.alt.startswith(f"{json.loads((tmp_path / 'result.json').read_text('utf-8'))['title']}: {board}, ")
    assert len(shown.alt) <= 1_000, "the shortest limit of the networks"


def test_the_pegs_and_the_jump_are_drawn(tmp_path: Path) -> None:
    image = to_image(draw_report(one_jump(tmp_path)))
    before, after = image.crop((0, 150, 600, 675)), image.crop((600, 150, 1200, 675))
    assert (
        count_pixels(before, RED) > 1.5 * count_pixels(after, RED) > 0
    )  # two pegs; one peg, and the ring where one was taken
    assert (count_pixels(before, JUMP), count_pixels(after, JUMP) > 0) == (0, True)


def test_a_sudoku_is_drawn_with_its_solution_beside_it(tmp_path: Path) -> None:
    image = to_image(draw_report(result(tmp_path, "sample", puzzle="sudoku")))
    digit_colour = (47, 111, 181)  # the colour of digits that were found
    assert count_pixels(image.crop((0, 150, 600, 675)), digit_colour) == 0
    assert count_pixels(image.crop((600, 150, 1200, 675)), digit_colour) > 100


def test_boards_of_another_height_are_drawn_within_the_picture(tmp_path: Path) -> None:
    board = tmp_path / "tower.txt"
    board.write_text("X\nX\nO\n" + "O\n" * 12, "utf-8")
    edge = to_image(draw_report(result(tmp_path, board))).crop((0, 660, 1200, 675))
    assert len(edge.getcolors() or []) == 1


def test_of_several_boards_the_longest_solution_is_drawn(tmp_path: Path) -> None:
    assert draw_report(result(tmp_path, "cross", "plus", "diamond")).alt.startswith(
        "Peg solitaire: plus, 9 pegs in 33 holes."
    )


def test_of_many_solutions_the_first_is_drawn(tmp_path: Path) -> None:
    first = draw_report(result(tmp_path, "plus", solutions=SolveMode.ALL, max_solutions=1))
    assert first == draw_report(result(tmp_path, "plus", solutions=SolveMode.ALL))


def test_the_picture_has_a_description(tmp_path: Path) -> None:
    assert draw_report(one_jump(tmp_path, count=1)).alt == (
        "Peg solitaire: tiny, 2 pegs in 3 holes. A solution of 1 step, drawn board after board. 0,0-2,0. 1 solution"
    )


def test_a_long_name_is_cut(tmp_path: Path) -> None:
    assert draw_report(one_jump(tmp_path, name="x" * 40)).alt.startswith(f"Peg solitaire: {'x' * 26}…, ")


def test_the_number_of_solutions_is_named_if_it_is_known(tmp_path: Path) -> None:
    assert draw_report(one_jump(tmp_path, count=10_142_448)).alt.endswith(". 10,142,448 solutions")
    assert draw_report(one_jump(tmp_path, count=2, mode="fewest-moves")).alt.endswith(". 2 shortest solutions")
    assert draw_report(one_jump(tmp_path, count=None)).alt.endswith(". 0,0-2,0")


def test_a_board_without_a_solution_is_drawn_with_the_proof(tmp_path: Path) -> None:
    shown = draw_report(result(tmp_path, "diamond"))
    assert shown.alt == "Peg solitaire: diamond, 25 pegs in 33 holes. No solution, proven by parity"
    assert count_pixels(to_image(shown), RED) > 1_000


def test_a_count_is_drawn_with_the_picture_that_the_search_made(tmp_path: Path) -> None:
    shown = draw_report(result(tmp_path, "midgame", puzzle="battleship", solutions=SolveMode.COUNT))
    assert "Beside it the result of the search" in shown.alt
    assert len(to_image(shown).crop((620, 200, 1180, 640)).getcolors(maxcolors=1 << 24) or []) > 20, (
        "the shades of the probabilities"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"answered": False},
        {"board": "???\n"},
        {"solutions": ["2,0-0,0"]},  # does not solve this board
        {"solutions": ["nonsense"]},
        {"solutions": None},
    ],
)
def test_a_damaged_report_gives_no_picture(tmp_path: Path, changes: dict[str, object]) -> None:
    file = one_jump(tmp_path, **changes)
    assert (report_picture(file), report_animation(file)) == (None, None)


def test_a_report_without_data_gives_no_picture(tmp_path: Path) -> None:
    file = one_jump(tmp_path)
    (tmp_path / "result.json").write_text("{", "utf-8")
    assert report_picture(file) is None
    (tmp_path / "result.json").unlink()
    assert report_picture(file) is None


def test_a_missing_pillow_is_reported_with_the_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = one_jump(tmp_path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "pi_appliance.puzzles.raster", raising=False)
    monkeypatch.delattr("pi_appliance.puzzles.raster", raising=False)
    for draw in (report_picture, report_animation):
        with pytest.raises(
            Refused, match=r"needs Pillow, which is not installed; install it: .* -m pip install 'pillow>="
        ):
            draw(file)


@pytest.mark.slow_variants  # test_contract.py draws the steps of every puzzle
@pytest.mark.parametrize("puzzle", ["peg-solitaire", "solitaire-chess", "connect-four", "rubiks-cube"])
def test_an_animation_has_a_frame_for_each_step_and_rests_on_the_last(tmp_path: Path, puzzle: str) -> None:
    shown = report_animation(result(tmp_path, SOLVED[puzzle], puzzle=puzzle))
    assert shown
    assert (shown.mime, shown.alt) == ("image/gif", draw_report(tmp_path / "result.txt").alt)
    assert len(shown.data) < picture.MAX_ANIMATION_BYTES
    solved = picture.read_result(tmp_path / "result.json")
    assert solved
    with Image.open(io.BytesIO(shown.data), formats=["GIF"]) as image:
        assert image.size == (picture.ANIMATION_WIDTH, picture.ANIMATION_HEIGHT)
        frames = []
        for number in range(image.n_frames):
            image.seek(number)
            frames.append((image.info["duration"], image.convert("RGB").tobytes()))
    assert len(frames) == len(solved.steps())
    assert len({pixels for _, pixels in frames}) == len(frames)
    assert frames[-1][0] > max(duration for duration, _ in frames[:-1])


def test_a_board_without_a_solution_is_not_animated(tmp_path: Path) -> None:
    assert report_animation(result(tmp_path, "diamond")) is None


def test_of_too_many_steps_even_distances_are_shown() -> None:
    steps = [Step(str(number), "") for number in range(101)]
    assert [step.caption for step in picture.choose_evenly(steps, 5)] == ["0", "25", "50", "75", "100"]
    assert picture.choose_evenly(steps, 101) == steps
    assert len(picture.choose_evenly(steps, 64)) == 64
