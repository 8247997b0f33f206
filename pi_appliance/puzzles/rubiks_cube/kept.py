"""What is kept on the shelf, with a seal behind it: what is damaged, cut off or of another kind is built again."""

import struct
import zlib
from collections.abc import Iterable

from pi_appliance.puzzles.runtime.interface import Cache

_SEAL = struct.Struct("<8sIQ")
_MAGIC = b"pi-cube1"


def save(cache: Cache, name: str, parts: Iterable[bytes | bytearray | memoryview]) -> None:
    """Keep PARTS as NAME."""
    views = [memoryview(part).cast("B") for part in parts]
    checksum = 0
    for view in views:
        checksum = zlib.crc32(view, checksum)
    cache.save(name, [*views, _SEAL.pack(_MAGIC, checksum, sum(map(len, views)))])


def load(cache: Cache, name: str, size: int | None = None) -> memoryview | None:
    """Return what was kept as NAME, to be read only; None if there is nothing whole, or it has not SIZE bytes."""
    kept = cache.load(name)
    if kept is None or len(kept) < _SEAL.size:
        return None
    content = kept[: -_SEAL.size]
    magic, checksum, length = _SEAL.unpack(kept[-_SEAL.size :])
    whole = magic == _MAGIC and length == len(content) and checksum == zlib.crc32(content)
    return content if whole and size in {None, length} else None
