#!/usr/bin/env python3
"""Draw the PNG icons of the page without a library: `python3 deploy/draw_icons.py`."""

import struct
import zlib
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "pi_appliance/web/static"
BACKGROUND, BARS = (15, 107, 92), (255, 255, 255)
# The bars of icon.svg: the middle, the top and the bottom, in 64ths of a side. They are drawn at
# 80 % of their size, within the circle that every launcher shows of a maskable icon.
LINES = ((14, 33, 42), (23, 25, 42), (32, 18, 42), (41, 27, 42), (50, 36, 42))
HALF_WIDTH, SCALE, SAMPLES = 2.5, 0.8, 4


def is_on_bar(x: float, y: float) -> bool:
    """Return whether a point, in 64ths, is on one of the bars with round ends."""
    x, y = (x - 32) / SCALE + 32, (y - 31) / SCALE + 30
    return any(
        (x - middle) ** 2 + (y - min(max(y, top), bottom)) ** 2 <= HALF_WIDTH**2 for middle, top, bottom in LINES
    )


def draw(side: int) -> bytes:
    """Return a PNG of `side` pixels."""
    steps = [(step + 0.5) / SAMPLES for step in range(SAMPLES)]
    rows = bytearray()
    for row in range(side):
        rows.append(0)  # no filter
        for column in range(side):
            hits = sum(is_on_bar((column + dx) * 64 / side, (row + dy) * 64 / side) for dx in steps for dy in steps)
            share = hits / SAMPLES**2
            rows += bytes(round(back + (bar - back) * share) for back, bar in zip(BACKGROUND, BARS, strict=True))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)  # 8 bits, RGB
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def chunk(kind: bytes, content: bytes) -> bytes:
    """Return a part of a PNG file."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


if __name__ == "__main__":
    for pixels in (192, 512):
        (FOLDER / f"icon-{pixels}.png").write_bytes(draw(pixels))
