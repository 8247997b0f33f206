"""A fake Bluesky server and the network connected to it."""

import struct
import zlib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pi_appliance.config.options import NetworkDirs
from pi_appliance.posting.networks import bluesky
from tests.fakes.bluesky_account import HANDLE, SECRETS, FakeBluesky
from tests.fakes.bluesky_server import fake_bluesky

KEY = "tweets 2026-05-01T06:00:00+00:00 sky 0"


@pytest.fixture
def server() -> Iterator[FakeBluesky]:
    with fake_bluesky() as fake:
        yield fake


@pytest.fixture
def place(tmp_path: Path) -> NetworkDirs:
    return NetworkDirs(tmp_path / "state" / "sky", tmp_path / "reports" / "sky")


def options(server: FakeBluesky, **keys: Any) -> bluesky.Options:
    return bluesky.Options(**{"handle": HANDLE, "server": server.address, "timeout": timedelta(seconds=5), **keys})


def connected(
    server: FakeBluesky, place: NetworkDirs, secrets: dict[str, str] = SECRETS, **keys: Any
) -> bluesky.Bluesky:
    return bluesky.connect(options(server, **keys), secrets, place)


def png(width: int, height: int, size: int = 0) -> bytes:
    """Return a grey picture, padded to `size` bytes by a comment."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    end = chunk(b"IDAT", zlib.compress((b"\0" + b"\x80" * width) * height)) + chunk(b"IEND", b"")
    fill = size - len(head) - len(end) - 12
    return head + (chunk(b"tEXt", b"x" * fill) if fill > 0 else b"") + end
