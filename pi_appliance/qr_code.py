"""QR codes for a terminal and as SVG, with segno."""

import io
from collections.abc import Iterator

import segno

_QUIET = 4  # modules of white border, as in the standard
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
_BLACK_ON_WHITE, _RESET = "\x1b[38;5;16;48;5;231m", "\x1b[0m"  # of the 256 colours, which colour schemes do not change


def lines(text: str) -> Iterator[str]:
    """Yield the code for `text` in lines of two rows each, black on white in every terminal."""
    rows = [[bool(module) for module in row] for row in _code(text).matrix_iter(border=_QUIET)]
    rows += [[False] * len(rows[0])] * (len(rows) % 2)
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        yield _BLACK_ON_WHITE + "".join(_HALVES[pair] for pair in zip(upper, lower, strict=True)) + _RESET


def svg(text: str) -> bytes:
    """Return the code for `text` as an SVG picture."""
    picture = io.BytesIO()
    _code(text).save(picture, kind="svg", scale=8, border=_QUIET, light="white")
    return picture.getvalue()


def _code(text: str) -> segno.QRCode:
    return segno.make_qr(text, error="m")  # readable if 15 % are covered
