"""A QR code, for a terminal or as a picture: the one file that knows segno."""

import io
from collections.abc import Iterator

import segno

_QUIET = 4  # modules of white around it, as the standard has it
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
_BLACK_ON_WHITE, _AS_BEFORE = "\x1b[38;5;16;48;5;231m", "\x1b[0m"  # of 256 colours, which no colour scheme changes


def lines(text: str) -> Iterator[str]:
    """Yield the lines of the code for TEXT: black on white whatever the terminal's own colours, two rows a line."""
    rows = [[bool(module) for module in row] for row in _code(text).matrix_iter(border=_QUIET)]
    rows += [[False] * len(rows[0])] * (len(rows) % 2)
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        yield _BLACK_ON_WHITE + "".join(_HALVES[pair] for pair in zip(upper, lower, strict=True)) + _AS_BEFORE


def svg(text: str) -> bytes:
    """Return the code for TEXT as a picture that can be printed at any size."""
    picture = io.BytesIO()
    _code(text).save(picture, kind="svg", scale=8, border=_QUIET, light="white")
    return picture.getvalue()


def _code(text: str) -> segno.QRCode:
    return segno.make_qr(text, error="m")  # a fifth of it may be hidden by a finger
