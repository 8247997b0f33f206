"""Draw the SVG pictures of the puzzles as pixels, with Pillow.

It knows the part of SVG that the puzzles use: rectangles, circles, lines, polygons, paths (arcs of
circles alone), text, groups that are moved, and styles by class, with the colours of the day. A
`Canvas` takes the pictures of every puzzle, so no puzzle draws pixels itself.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from operator import mul
from xml.etree import ElementTree

from PIL import Image, ImageColor, ImageDraw, ImageFont

SCALE = 2  # factor: pictures are drawn larger and then reduced, for smooth edges
_BOLD_WEIGHT = 600  # fonts with this weight or more are bold
_BOLD_SHARE = 1 / 32  # stroke width that makes a text bold, as a share of the font size
_CURVE_POINTS = 12  # points that approximate a curve
_ARC_POINTS = 24  # points that approximate an arc
_CIRCLE_POINTS = 64  # points of a dashed circle
_DEFAULT_BOX = "0 0 100 100"

_MEDIA = re.compile(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*\s*\}")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_FONT = re.compile(r"(bold|\d{3})\s+([\d.]+)px")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)")
_PATH_PART = re.compile(r"([a-zA-Z])([^a-zA-Z]*)")
# number of coordinates of each command
_PATH_NUMBERS = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Q": 4, "T": 2, "A": 7, "Z": 1}

_REPLACED = str.maketrans({"\u00d7": "x", "\u2013": "-", "\u2014": "-", "ß": "ss", "æ": "ae", "ø": "o"})
_ELLIPSIS = "\0"  # replaces … for a moment, which would become three dots

Point = tuple[float, float]
Rules = Sequence[tuple[str, Mapping[str, str]]]
"""Class names with their properties, in the order of the style sheet."""


class Canvas:
    """A picture of `width` by `height` pixels on which text and SVG pictures are drawn."""

    def __init__(self, width: int, height: int, colour: str) -> None:
        self._image = Image.new("RGB", (width * SCALE, height * SCALE), colour)
        self._pen = ImageDraw.Draw(self._image, "RGBA")  # blends transparent colours
        self._fonts: dict[int, ImageFont.FreeTypeFont | ImageFont.ImageFont] = {}

    def finish(self) -> Image.Image:
        """Return the picture with its final size."""
        return self._image.reduce(SCALE)

    def draw_words(self, at: Point, text: str, size: int, colour: str) -> None:
        """Write a row of text, whose upper left corner is `at`."""
        shown = fit_text(text)
        self._pen.text((at[0] * SCALE, at[1] * SCALE), shown, colour, self._font(size * SCALE))

    def measure_words(self, text: str, size: int) -> float:
        """Return the width of a row of text, in pixels."""
        return float(self._font(size * SCALE).getlength(fit_text(text))) / SCALE

    def draw_svg(self, svg: str, box: tuple[float, float, float, float]) -> None:
        """Draw a picture as large as possible in the middle of `box`: left, top, width, height."""
        root = ElementTree.fromstring(svg)  # noqa: S314 - our own text
        left, top, width, height = _read_numbers(root.get("viewBox", _DEFAULT_BOX))
        scale = min(box[2] / width, box[3] / height) * SCALE
        x = (box[0] + box[2] / 2) * SCALE - (left + width / 2) * scale
        y = (box[1] + box[3] / 2) * SCALE - (top + height / 2) * scale
        rules = [rule for each in root if _tag(each) == "style" for rule in _read_rules(each.text or "")]
        for each in root:
            self._draw_element(each, {}, rules, (x, y, scale))

    def _font(self, size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
        pixels = max(1, round(size))
        if pixels not in self._fonts:
            self._fonts[pixels] = ImageFont.load_default(pixels)
        return self._fonts[pixels]

    def _draw_element(
        self,
        element: ElementTree.Element,
        inherited: Mapping[str, str],
        rules: Rules,
        place: tuple[float, float, float],
    ) -> None:
        style = {**inherited, **{name: value for name, value in element.attrib.items() if name not in _GEOMETRY}}
        classes = element.get("class", "").split()
        for name, properties in rules:
            if name in classes:
                style.update(properties)
        x, y, scale = place
        if moved := element.get("transform"):
            right, down = _read_numbers(moved)
            x, y = x + right * scale, y + down * scale
        kind = _tag(element)
        if kind == "g":
            for each in element:
                self._draw_element(each, style, rules, (x, y, scale))
        elif kind == "text":
            self._draw_text(element, style, (x, y, scale))
        elif kind not in ("style", "title"):
            _Shape(self._pen, style, x, y, scale).draw(element)

    def _draw_text(
        self, element: ElementTree.Element, style: Mapping[str, str], place: tuple[float, float, float]
    ) -> None:
        text, (left, top, scale) = element.text or "", place
        x_list, y_list = (_read_numbers(element.get(axis, "0")) for axis in ("x", "y"))
        size = float(style.get("font-size", "16").removesuffix("px")) * scale
        weight = style.get("font-weight", "400")
        is_bold = weight == "bold" or (weight.isdecimal() and int(weight) >= _BOLD_WEIGHT)
        across = "m" if style.get("text-anchor") == "middle" else "l"
        down = "m" if style.get("dominant-baseline") == "central" else "s"
        # If there are several places, each is for a single symbol.
        parts = list(text) if len(x_list) > 1 else [fit_text(text)]
        for part, x, y in zip(parts, x_list, y_list, strict=True):
            if part:
                self._pen.text(
                    (left + x * scale, top + y * scale),
                    part,
                    _read_colour(style, "fill") or (0, 0, 0, 255),
                    self._font(size),
                    anchor=across + down,
                    stroke_width=round(size * _BOLD_SHARE) if is_bold else 0,
                )


class _Shape:
    """Draws one element in its style."""

    def __init__(self, pen: ImageDraw.ImageDraw, style: Mapping[str, str], x: float, y: float, scale: float) -> None:
        self._pen, self._x, self._y, self._scale = pen, x, y, scale
        self._fill, self._stroke = _read_colour(style, "fill", "#000"), _read_colour(style, "stroke")
        self._width = max(1, round(float(style.get("stroke-width", "1")) * scale))
        self._dashes = _read_numbers(style.get("stroke-dasharray", ""))
        self._round_joins = style.get("stroke-linejoin") == "round"
        self._round_ends = style.get("stroke-linecap") == "round"

    def draw(self, element: ElementTree.Element) -> None:
        kind = _tag(element)
        numbers = [float(element.get(name, 0)) for name in _NUMBERS_OF.get(kind, ())]
        if kind == "rect":
            self._draw_rectangle(*numbers)
        elif kind == "circle":
            self._draw_circle(*numbers)
        elif kind == "line":
            self._draw_lines([_pair(numbers)])
        elif kind == "polygon":
            corners = _pair(_read_numbers(element.get("points", "")))
            self._draw_lines([[*corners, corners[0]]])
        elif kind == "path":
            self._draw_lines(list(_read_path(element.get("d", ""))))
        else:
            raise ValueError(f"a picture of a puzzle has no <{kind}>")

    def _draw_rectangle(self, left: float, top: float, width: float, height: float, radius: float) -> None:
        box, corner = (*self._at(left, top), *self._at(left + width, top + height)), radius * self._scale
        if self._fill:
            self._pen.rounded_rectangle(box, corner, self._fill)
        if self._stroke:  # the middle of the stroke is at the edge
            half = self._width / 2
            outer = (box[0] - half, box[1] - half, box[2] + half, box[3] + half)
            rounding = corner + half if corner or self._round_joins else 0
            self._pen.rounded_rectangle(outer, rounding, outline=self._stroke, width=self._width)

    def _draw_circle(self, x: float, y: float, radius: float) -> None:
        (across, down), length = self._at(x, y), radius * self._scale
        if self._fill:
            self._pen.ellipse((across - length, down - length, across + length, down + length), self._fill)
        if self._stroke and self._dashes:
            self._draw_stroke([(x + radius, y), *_turn((x, y), radius, 0, 2 * math.pi, _CIRCLE_POINTS)])
        elif self._stroke:
            length += self._width / 2
            box = (across - length, down - length, across + length, down + length)
            self._pen.ellipse(box, outline=self._stroke, width=self._width)

    def _draw_lines(self, lines: Sequence[Sequence[Point]]) -> None:
        for line in lines:
            if self._fill and len(line) > 2:
                self._pen.polygon([self._at(*point) for point in line], self._fill)
        for line in lines:
            if self._stroke:
                self._draw_stroke(line)

    def _draw_stroke(self, line: Sequence[Point]) -> None:
        for part in _cut_dashes(line, self._dashes) if self._dashes else [line]:
            points = [self._at(*point) for point in part]
            for one, other in pairwise(points):
                self._pen.line((one, other), self._stroke, self._width)
            joints = points if self._round_ends or points[0] == points[-1] else points[1:-1]
            for x, y in joints if self._width > 2 else ():  # round joints, so that a curve has no gaps
                half = self._width / 2
                self._pen.ellipse((x - half, y - half, x + half, y + half), self._stroke)

    def _at(self, x: float, y: float) -> Point:
        return self._x + x * self._scale, self._y + y * self._scale


_NUMBERS_OF = {
    "rect": ("x", "y", "width", "height", "rx"),
    "circle": ("cx", "cy", "r"),
    "line": ("x1", "y1", "x2", "y2"),
}
"""The attributes of shapes."""

_GEOMETRY = frozenset({"x", "y", "width", "height", "rx", "cx", "cy", "r", "d", "points", "class", "transform"})
"""Attributes that an element does not inherit."""


def picture_size(svg: str) -> tuple[float, float]:
    """Return the width and height of a picture, in its own units."""
    _, _, width, height = _read_numbers(ElementTree.fromstring(svg).get("viewBox", _DEFAULT_BOX))  # noqa: S314
    return width, height


def fit_text(text: str) -> str:
    """Return the text with letters of the built-in font only: without accents, arrows and emoji."""
    plain = unicodedata.normalize("NFKD", text.replace("…", _ELLIPSIS)).translate(_REPLACED)
    return "".join(letter for letter in plain if letter.isascii() or letter in "·°\0").replace(_ELLIPSIS, "…").strip()


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _read_rules(style: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    for selectors, body in _RULE.findall(_MEDIA.sub("", style)):
        pairs = (part.partition(":") for part in body.split(";") if ":" in part)
        properties = {name.strip(): value.strip() for name, _, value in pairs}
        if font := _FONT.match(properties.get("font", "")):
            properties |= {"font-weight": font[1], "font-size": font[2]}
        for selector in selectors.split(","):
            yield selector.strip().removeprefix("."), properties


def _read_numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]


def _read_colour(style: Mapping[str, str], name: str, default: str = "none") -> tuple[int, ...] | None:
    colour = style.get(name, default)
    if colour == "none":
        return None
    opacity = float(style.get(f"{name}-opacity", "1"))
    return (*ImageColor.getrgb(colour)[:3], round(255 * opacity))


def _pair(numbers: Sequence[float]) -> list[Point]:
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _read_path(path: str) -> Iterator[list[Point]]:
    """Yield the lines of a path. A curve becomes many short lines."""
    line: list[Point] = []
    before: Point | None = None  # control point of the quadratic curve before this one
    for command, text in _PATH_PART.findall(path):
        kind, numbers = command.upper(), _read_numbers(text)
        if kind == "M" and line:
            yield line
            line = line[-1:] if command == "m" else []
        if kind == "Z":
            line.append(line[0])
        for at in range(0, len(numbers), _PATH_NUMBERS[kind]):
            here = line[-1] if line else (0.0, 0.0)
            values = _to_absolute(kind, numbers[at : at + _PATH_NUMBERS[kind]], here if command.islower() else (0, 0))
            if kind == "T":  # a smooth curve: its control point mirrors the previous one
                x, y = before or here
                values = [2 * here[0] - x, 2 * here[1] - y, *values]
            points = _path_points(kind, values, here)
            before = (values[0], values[1]) if kind in "QT" else None
            line = points if kind == "M" and not at else [*line, *points]
    if line:
        yield line


def _to_absolute(kind: str, values: list[float], origin: Point) -> list[float]:
    """Return the numbers of a command that counts from `origin`."""
    if kind == "A":  # its radii, rotation and flags come before the end point
        return [*values[:5], values[5] + origin[0], values[6] + origin[1]]
    first_axis = 1 if kind == "V" else 0
    return [value + origin[(number + first_axis) % 2] for number, value in enumerate(values)]


def _path_points(kind: str, values: Sequence[float], here: Point) -> list[Point]:
    """Return the next points of a path that is at `here`."""
    if kind == "H":
        return [(values[0], here[1])]
    if kind == "V":
        return [(here[0], values[0])]
    if kind == "A":
        return list(_arc_points(here, values))
    points = _pair(values)
    return list(_curve_points([here, *points])) if kind in "CQT" else points


def _curve_points(corners: Sequence[Point]) -> Iterator[Point]:
    """Yield points of a Bézier curve."""
    last = len(corners) - 1
    for t in (number / _CURVE_POINTS for number in range(1, _CURVE_POINTS + 1)):
        weights = [math.comb(last, at) * (1 - t) ** (last - at) * t**at for at in range(last + 1)]
        x, y = (sum(map(mul, weights, axis)) for axis in zip(*corners, strict=True))
        yield x, y


def _arc_points(start: Point, values: Sequence[float]) -> Iterator[Point]:
    """Return points of an arc of a circle.

    `values` are the arguments of the command A in the path.
    """
    radius, is_large, is_clockwise, end = values[0], bool(values[3]), bool(values[4]), (values[5], values[6])
    length = math.dist(start, end)
    radius = max(radius, length / 2)
    height = math.sqrt(radius * radius - length * length / 4)  # how far the centre is above the chord
    side = 1 if is_large == is_clockwise else -1
    right, down = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    centre = (start[0] + end[0]) / 2 + side * height * down, (start[1] + end[1]) / 2 - side * height * right
    first, last = (math.atan2(y - centre[1], x - centre[0]) for x, y in (start, end))
    angle = (last - first) % (2 * math.pi) if is_clockwise else -((first - last) % (2 * math.pi))
    return _turn(centre, radius, first, angle, _ARC_POINTS)


def _turn(centre: Point, radius: float, first: float, angle: float, many: int) -> Iterator[Point]:
    """Yield `many` points of an arc that begins in the direction `first` and spans `angle`."""
    for direction in (first + angle * number / many for number in range(1, many + 1)):
        yield centre[0] + radius * math.cos(direction), centre[1] + radius * math.sin(direction)


def _cut_dashes(line: Sequence[Point], dashes: Sequence[float]) -> Iterator[list[Point]]:
    """Yield the drawn parts of a dashed line."""
    number, left, part = 0, dashes[0], [line[0]]
    for end in line[1:]:
        while (length := math.dist(part[-1], end)) > left:
            (x, y), share = part[-1], left / length
            corner = (x + (end[0] - x) * share, y + (end[1] - y) * share)
            if number % 2 == 0:
                yield [*part, corner]
            number += 1
            left, part = dashes[number % len(dashes)], [corner]
        left -= length
        part.append(end)
    if number % 2 == 0 and len(part) > 1:
        yield part
