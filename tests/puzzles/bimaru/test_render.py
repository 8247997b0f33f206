"""Drawings and pictures of puzzles."""

from xml.etree import ElementTree

from pi_appliance.puzzles import bimaru

SVG = "{http://www.w3.org/2000/svg}"


def count_classes(svg: str, name: str) -> int:
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own
    return sum(name in (element.get("class") or "").split() for element in root.iter())


def test_a_solution_is_drawn_with_its_pieces_and_totals() -> None:
    board = bimaru.parse("fleet: 3,2,1\n2 1 1 2\n3 ? ? ? ?\n- ? ? ? ?\n- ? ? ? ?\n- ? ? ? ?")
    for solution in bimaru.solve(board).solutions:
        notation, _, drawing = bimaru.render_solution(board, solution).partition("\n\n")
        assert bimaru.parse_solution(board, notation) == solution
        assert bimaru.hint(drawing) == "all squares are known"
        assert list(bimaru.solve(drawing).solutions) == [solution]


def test_the_picture_shows_the_given_squares_and_the_totals() -> None:
    picture = bimaru.render_svg(bimaru.parse(bimaru.BOARDS["hidden-totals"]))
    assert count_classes(picture, "bi-given") == 3
    assert count_classes(picture, "bi-wave") == 1
    texts = [text.text for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]  # noqa: S314 - our own
    assert texts.count("?") == 7
    assert texts[:4] == ["A", "?", "B", "3"]
    assert texts[-1] == "ships: 1x4, 2x3, 3x2, 4x1"


def test_the_steps_fill_the_grid_and_mark_what_is_new() -> None:
    board = bimaru.parse(bimaru.BOARDS["stubborn"])
    (solution,) = bimaru.solve(board).solutions
    first, *steps = bimaru.steps(board, solution)
    assert first.caption == "The given squares"
    assert count_classes(first.svg, "bi-open") == 100
    for step in steps:
        is_guess = step.caption.startswith("a guess")
        assert bool(count_classes(step.svg, "bi-try")) == is_guess
        assert bool(count_classes(step.svg, "bi-got")) != is_guess
        assert len(step.svg) < 25_000
    assert count_classes(steps[-1].svg, "bi-ship") == 19
    assert count_classes(steps[-1].svg, "bi-wave") == 80
