"""QR codes of addresses of the page (optional library segno)."""

import io
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

_QUIET = 4  # modules of white border, as the standard requires
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
# from the 256 colours, which colour schemes do not change
_BLACK_ON_WHITE, _RESET = "\x1b[38;5;16;48;5;231m", "\x1b[0m"


def code_as_lines(text: str) -> Iterator[str]:
    """Yield the code for `text` in lines of two rows each, black on white in every terminal."""
    rows = [[bool(module) for module in row] for row in _make_code(text).matrix_iter(border=_QUIET)]
    rows += [[False] * len(rows[0])] * (len(rows) % 2)
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        yield _BLACK_ON_WHITE + "".join(_HALVES[pair] for pair in zip(upper, lower, strict=True)) + _RESET


def code_as_svg(text: str) -> bytes:
    """Return the code for `text` as an SVG picture."""
    picture = io.BytesIO()
    _make_code(text).save(picture, kind="svg", scale=8, border=_QUIET, light="white")
    return picture.getvalue()


def code_in_page(text: str) -> str:
    """Return the code for `text` as an SVG element of a page; "" without segno."""
    if find_spec("segno") is None:
        return ""
    picture = io.BytesIO()
    _make_code(text).save(picture, kind="svg", scale=8, border=_QUIET, light="white", omitsize=True, xmldecl=False)
    return picture.getvalue().decode()


def _make_code(text: str) -> Any:
    import segno  # noqa: PLC0415 - an optional library

    return segno.make_qr(text, error="m")  # readable even if 15 % are covered
