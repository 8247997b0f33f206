"""Covers: pictures of tracks in the sizes that phones ask for, found once and kept in a little memory.

Kept are what was found for an address (its digest, or that there is nothing), and the pictures themselves by digest
and size: the tracks of an album share theirs. All is forgotten when the library changes.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pi_appliance.errors import Refused
from pi_appliance.music import thumbnails
from pi_appliance.music.events import PlayerEvents
from pi_appliance.web.interface import Music

_BEGINNINGS = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)


def detect_image_type(data: bytes) -> str | None:
    """Return the MIME type of the picture DATA; None if it begins like none that browsers show."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for beginning, mime in _BEGINNINGS if data.startswith(beginning)), None)


SIZES = (64, 128, 256, 512, 1024)
_MOST_ADDRESSES = 2000
_MOST_BYTES = 12 * 1024 * 1024  # of pictures: some hundred small ones
_LARGEST = 10 * 1024 * 1024  # bytes of one; a larger one is no cover
_AT_ONCE = 2  # pictures scaled at the same time: each unpacks to megabytes


@dataclass(frozen=True, slots=True)
class Cover:
    """A picture as it goes to a phone. `tag` is the same for the same bytes in the same size."""

    tag: str
    mime: str
    data: bytes


class Covers:
    """What is found of the player of MUSIC. CHANGES tells when the library changes."""

    def __init__(self, music: Callable[[], Music], changes: PlayerEvents) -> None:
        self._music, self._changes = music, changes
        self._version = -1
        self._digests: OrderedDict[str, str] = OrderedDict()  # '' where there is nothing
        self._pictures: OrderedDict[tuple[str, int], Cover | None] = OrderedDict()  # None: no picture to show
        self._bytes = 0
        self._asked: dict[Any, asyncio.Task[Any]] = {}  # what is looked for just now, once however many ask
        self._scaling = asyncio.Semaphore(_AT_ONCE)

    async def find(self, uri: str, size: int) -> Cover | None:
        """Return the cover of the track URI in SIZE, 0 for as it is; None if there is none. Raises as the player."""
        self._changes.begin()
        if self._version != self._changes.library_version:
            self._forget()
        if uri not in self._digests:
            await self._once(uri, self._look, uri)
        digest = self._digests.get(uri, "")
        if not digest:
            return None
        if (digest, size) not in self._pictures:
            await self._once((digest, size), self._make, uri, digest, size)
        found = self._pictures.get((digest, size))
        if found is not None:
            self._pictures.move_to_end((digest, size))
        return found

    async def _once(self, key: Any, act: Callable[..., Any], *arguments: Any) -> None:
        """Do ACT, unless somebody else does it already: then wait for that."""
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(act(*arguments))
            task.add_done_callback(lambda _: self._asked.pop(key, None))
        await asyncio.shield(task)  # who goes away does not end it for the others

    async def _look(self, uri: str) -> None:
        """Ask the player for the picture of URI."""
        version = self._version
        data = await self._fetched(uri)
        if version == self._version:
            self._digests[uri] = hashlib.sha256(data).hexdigest()[:24] if data else ""
            if data:
                self._keep(self._digests[uri], 0, _as_it_is(self._digests[uri], data))
            while len(self._digests) > _MOST_ADDRESSES:
                self._digests.popitem(last=False)

    async def _make(self, uri: str, digest: str, size: int) -> None:
        """Make the picture with DIGEST in SIZE, from the one as it is or, if that was forgotten, from the player."""
        whole = self._pictures.get((digest, 0))
        data = whole.data if whole else await self._fetched(uri)
        if size == 0:
            self._keep(digest, 0, _as_it_is(digest, data))
            return
        async with self._scaling:
            try:
                small = await asyncio.to_thread(thumbnails.make_thumbnail, data, size)
            except Refused:
                self._keep(digest, size, None)
                return
        found = Cover(f"{digest}-{size}", "image/jpeg", small) if small else _as_it_is(digest, data)
        self._keep(digest, size, found)

    async def _fetched(self, uri: str) -> bytes:
        """Return the picture that the player has for URI; nothing where it has none that browsers show."""
        art = await (await self._music().player()).album_art(uri)
        return art.data if art and len(art.data) <= _LARGEST and detect_image_type(art.data) else b""

    def _keep(self, digest: str, size: int, cover: Cover | None) -> None:
        self._drop((digest, size))
        self._pictures[digest, size] = cover
        self._bytes += _weight(cover)
        while self._bytes > _MOST_BYTES and len(self._pictures) > 1:
            self._drop(next(iter(self._pictures)))

    def _drop(self, key: tuple[str, int]) -> None:
        if key in self._pictures:
            self._bytes -= _weight(self._pictures.pop(key))

    def _forget(self) -> None:
        self._version = self._changes.library_version
        self._digests.clear()
        self._pictures.clear()
        self._bytes = 0


def _as_it_is(digest: str, data: bytes) -> Cover | None:
    mime = detect_image_type(data)
    return Cover(digest, mime, data) if mime else None


def _weight(cover: Cover | None) -> int:
    return 200 + (len(cover.data) if cover else 0)
