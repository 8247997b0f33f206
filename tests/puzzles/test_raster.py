"""SVG pictures of puzzles as pixels."""

import pytest
from PIL import Image

from pi_appliance.puzzles.raster import Canvas, fit_text, picture_size
from pi_appliance.puzzles.text_format import svg_document

PAPER, RED, BLUE = (255, 255, 255), (255, 0, 0), (0, 0, 255)


def draw(*parts: str, style: str = "") -> Image.Image:
    """Draw parts of 100 by 100 units on 100 by 100 white pixels."""
    canvas = Canvas(100, 100, "#fff")
    canvas.draw_svg(svg_document(100, 100, "a test", style, parts), (0, 0, 100, 100))
    return canvas.finish()


@pytest.mark.parametrize(
    ("part", "inside", "outside"),
    [
        ('<rect x="10" y="20" width="30" height="40" fill="#f00"/>', (38, 58), (42, 58)),
        ('<rect x="10" y="10" width="80" height="80" rx="40" fill="#f00"/>', (50, 12), (14, 14)),
        ('<circle cx="50" cy="50" r="20" fill="#f00"/>', (50, 32), (33, 33)),
        ('<circle cx="50" cy="50" r="20" fill="none" stroke="#f00" stroke-width="6"/>', (50, 28), (50, 50)),
        ('<polygon points="0,0 100,0 0,100" fill="#f00"/>', (30, 30), (70, 70)),
        ('<line x1="10" y1="50" x2="90" y2="50" stroke="#f00" stroke-width="8"/>', (50, 52), (50, 57)),
        ('<path d="M20 20h40v40h-40z" fill="#f00"/>', (40, 40), (70, 40)),
        ('<path d="M10 90c0-80 80-80 80 0z" fill="#f00"/>', (50, 60), (20, 35)),
        ('<path d="M10 50q20 -40 40 0t40 0v-40h-80z" fill="#f00"/>', (70, 60), (30, 48)),
        ('<path d="M20 50a30 30 0 1 1 60 0z" fill="#f00"/>', (50, 25), (50, 60)),
        ('<path d="M20 50a30 30 0 0 0 60 0z" fill="#f00"/>', (50, 75), (50, 40)),
        ('<path d="M50 20A30 30 0 1 1 20 50" fill="none" stroke="#f00" stroke-width="6"/>', (80, 50), (29, 29)),
        ('<path d="M50 20A30 30 0 0 0 20 50" fill="none" stroke="#f00" stroke-width="6"/>', (29, 29), (80, 50)),
        ('<path d="M10 10l20 20M70 70L90 90" stroke="#f00" stroke-width="6"/>', (80, 80), (50, 50)),
        ('<path d="M10 10h10v10h-10zm40 40h20v20h-20z" fill="#f00"/>', (65, 65), (35, 35)),
        ('<g transform="translate(50 60)" fill="#f00"><rect width="20" height="20"/></g>', (60, 70), (10, 10)),
    ],
)  # fmt: skip
def test_a_shape_is_where_it_belongs(part: str, inside: tuple[int, int], outside: tuple[int, int]) -> None:
    image = draw(part)
    assert (image.getpixel(inside), image.getpixel(outside)) == (RED, PAPER)


def test_the_style_of_a_class_is_that_of_the_day() -> None:
    style = ".a,.b{fill:#f00}.b{fill:#00f}@media (prefers-color-scheme:dark){.a{fill:#000}}"
    image = draw(
        '<rect class="a" width="50" height="99"/>', '<rect class="b a" x="50" width="50" height="99"/>', style=style
    )
    assert (image.getpixel((20, 50)), image.getpixel((80, 50))) == (RED, BLUE)


def test_transparent_colours_are_blended() -> None:
    red, green, blue = draw('<rect width="99" height="99" fill="#f00" fill-opacity=".5"/>').getpixel((50, 50))  # type: ignore[misc]
    assert (red, green) == (255, blue)
    assert 120 < green < 135


def test_a_dashed_line_has_gaps() -> None:
    part = '<line x1="0" y1="50" x2="100" y2="50" stroke="#f00" stroke-width="8" stroke-dasharray="20 10"/>'
    image = draw(part)
    assert [image.getpixel((x, 50)) == RED for x in (10, 25, 40, 55, 70)] == [True, False, True, False, True]


def test_text_is_written_around_its_place() -> None:
    style = ".t{font:700 40px sans-serif;text-anchor:middle;dominant-baseline:central;fill:#f00}"
    image = draw('<text class="t" x="50" y="50">H</text>', style=style)
    box = image.convert("L").point(lambda value: 255 if value < 250 else 0).getbbox()
    assert box
    left, top, right, bottom = box
    assert abs(left + right - 100) <= 4
    assert abs(top + bottom - 100) <= 8
    assert right - left > 20


def test_several_places_are_those_of_the_symbols() -> None:
    image = draw('<text x="10 70" y="50 90" font-size="30" fill="#f00">HH</text>')
    assert any(image.getpixel((x, 40)) == RED for x in range(10, 40))
    assert any(image.getpixel((x, 80)) == RED for x in range(70, 99))
    assert all(image.getpixel((x, 80)) == PAPER for x in range(60))


def test_a_picture_fits_into_its_box() -> None:
    canvas = Canvas(200, 100, "#fff")
    canvas.draw_svg(
        svg_document(50, 50, "a test", "", ['<rect width="50" height="50" fill="#f00"/>']), (100, 0, 100, 50)
    )
    image = canvas.finish()
    assert [image.getpixel((x, 25)) for x in (110, 150, 190)] == [PAPER, RED, PAPER]
    assert image.getpixel((150, 60)) == PAPER


def test_a_shape_that_it_cannot_draw_is_reported() -> None:
    with pytest.raises(ValueError, match="<ellipse>"):
        draw('<ellipse cx="5" cy="5" rx="3" ry="2"/>')


def test_the_size_of_a_picture_is_known() -> None:
    assert picture_size(svg_document(30, 20.5, "a test", "", ())) == (30, 20.5)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("R \u21bb\u21bb", "R"),
        ("J\u00f6rg \u2026", "Jorg \u2026"),
        ("10\u00d710 \u00b7 3", "10x10 \u00b7 3"),
        ("\U0001f9e9", ""),
    ],
)
def test_letters_that_the_font_lacks_are_replaced(text: str, shown: str) -> None:
    assert fit_text(text) == shown
