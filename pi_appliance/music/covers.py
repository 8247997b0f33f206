"""Cover images in the sizes that phones request, with a small cache in memory.

The cache maps URIs to image digests, and digests and sizes to images, so that the tracks of an
album share one. It is emptied when the library changes.
"""

import asyncio
import hashlib
import io
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pi_appliance.errors import Refused
from pi_appliance.music.api_events import PlayerEvents
from pi_appliance.music.model import detect_image_type
from pi_appliance.music.player_hub import Music

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

_SHOWN_TYPES = {"image/jpeg", "image/png", "image/gif", "image/webp", "image/bmp"}
SIZES = (64, 128, 256, 512, 1024)
_MAX_URIS = 2000
_MAX_CACHE_BYTES = 12 * 1024 * 1024  # bytes: room for some hundred small images
_MAX_IMAGE_BYTES = 10 * 1024 * 1024
# An image must not have more pixels. Two images are scaled at once, and each needs 4 bytes per
# pixel, twice. A small Pi can just provide that, and covers of 4000 by 4000 pixels exist. The WebP
# decoder needs four times as much.
_MAX_PIXELS = 20_000_000
_MAX_FORMAT_PIXELS = {"WEBP": 8_000_000}
_QUALITY = 85
_MAX_PARALLEL = 2  # images that are scaled at the same time; each unpacks to megabytes


@dataclass(frozen=True, slots=True)
class Cover:
    """An image for a phone. `tag` identifies its content and size."""

    tag: str
    mime: str
    data: bytes


class Covers:
    """Finds, scales and caches the covers of the player.

    `changes` of the library empty the cache.
    """

    def __init__(self, music: Callable[[], Music], changes: PlayerEvents) -> None:
        self._music, self._changes = music, changes
        self._version = -1
        self._digests: OrderedDict[str, str] = OrderedDict()  # key: URI; '' if the track has no image
        self._pictures: OrderedDict[tuple[str, int], Cover | None] = (
            OrderedDict()
        )  # key: digest and size; None if the image is invalid
        self._bytes = 0
        self._tasks: dict[Any, asyncio.Task[Any]] = {}  # running requests, which several callers may await
        self._scaling = asyncio.Semaphore(_MAX_PARALLEL)

    async def find(self, uri: str, size: int) -> Cover | None:
        """Return the cover of a track, scaled to `size` pixels, or unscaled for 0."""
        self._changes.begin()
        if self._version != self._changes.library_version:
            self._clear()
        if uri not in self._digests:
            await self._run_once(uri, self._read_image, uri)
        digest = self._digests.get(uri, "")
        if not digest:
            return None
        if (digest, size) not in self._pictures:
            await self._run_once((digest, size), self._scale, uri, digest, size)
        image = self._pictures.get((digest, size))
        if image is not None:
            self._pictures.move_to_end((digest, size))
        return image

    def is_known(self, uri: str) -> bool:
        """Return whether a cover of the track has been found before, without asking the player."""
        return bool(self._digests.get(uri))

    async def _run_once(self, key: Any, action: Callable[..., Any], *arguments: Any) -> None:
        """Run `action`, or wait for the same action if it is running already."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(action(*arguments))
            task.add_done_callback(lambda _: self._tasks.pop(key, None))
        await asyncio.shield(task)  # shielded, because other callers may await the same task

    async def _read_image(self, uri: str) -> None:
        """Read the image of a track from the player into the cache."""
        version = self._version
        data = await self._fetch(uri)
        if version == self._version:
            self._digests[uri] = hashlib.sha256(data).hexdigest()[:24] if data else ""
            if data:
                self._store(self._digests[uri], 0, _unscaled(self._digests[uri], data))
            while len(self._digests) > _MAX_URIS:
                self._digests.popitem(last=False)

    async def _scale(self, uri: str, digest: str, size: int) -> None:
        """Scale the image with `digest`, read from the cache or else from the player."""
        whole = self._pictures.get((digest, 0))
        data = whole.data if whole else await self._fetch(uri)
        if size == 0:
            self._store(digest, 0, _unscaled(digest, data))
            return
        async with self._scaling:
            try:
                small = await asyncio.to_thread(make_thumbnail, data, size)
            except Refused:
                self._store(digest, size, None)
                return
        image = Cover(f"{digest}-{size}", "image/jpeg", small) if small else _unscaled(digest, data)
        self._store(digest, size, image)

    async def _fetch(self, uri: str) -> bytes:
        """Return the player's image of a track; empty if it has none that browsers can show."""
        art = await (await self._music().player()).album_art(uri)
        return (
            art.data
            if art and len(art.data) <= _MAX_IMAGE_BYTES and detect_image_type(art.data) in _SHOWN_TYPES
            else b""
        )

    def _store(self, digest: str, size: int, cover: Cover | None) -> None:
        self._drop((digest, size))
        self._pictures[digest, size] = cover
        self._bytes += _cost(cover)
        while self._bytes > _MAX_CACHE_BYTES and len(self._pictures) > 1:
            self._drop(next(iter(self._pictures)))

    def _drop(self, key: tuple[str, int]) -> None:
        if key in self._pictures:
            self._bytes -= _cost(self._pictures.pop(key))

    def _clear(self) -> None:
        self._version = self._changes.library_version
        self._digests.clear()
        self._pictures.clear()
        self._bytes = 0


def _unscaled(digest: str, data: bytes) -> Cover | None:
    return Cover(digest, detect_image_type(data), data) if data else None


def _cost(cover: Cover | None) -> int:
    return 200 + (len(cover.data) if cover else 0)


def make_thumbnail(data: bytes, size: int) -> bytes | None:
    """Return a JPEG within `size` by `size` pixels, never enlarged; `None` without Pillow.

    Raises:
        Refused: it is not a valid image, or has too many pixels.
    """
    try:
        from PIL import Image, ImageOps  # noqa: PLC0415 - 50 ms and 6 MB, only for covers
    except ModuleNotFoundError:
        return None
    Image.MAX_IMAGE_PIXELS = None  # Pillow's own limit would only warn; the size is checked below
    try:
        with Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "GIF", "WEBP", "BMP")) as image:
            if image.width * image.height > _MAX_FORMAT_PIXELS.get(str(image.format), _MAX_PIXELS):
                raise Refused(f"a picture of {image.width} by {image.height} pixels is too large to show")
            image.draft("RGB", (size, size))  # a JPEG is decoded near the target size
            image.thumbnail((size, size))  # reduced before the next steps copy the image
            ImageOps.exif_transpose(image, in_place=True)
            file = io.BytesIO()
            _on_white(image).save(file, "JPEG", quality=_QUALITY, optimize=True)
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - damaged files cause many error types in the decoders
        raise Refused(f"the image cannot be read: {type(error).__name__}") from None
    return file.getvalue()


def _on_white(image: "Picture") -> "Picture":
    """Return the image on a white background, because a JPEG cannot be transparent."""
    if not image.has_transparency_data:
        return image.convert("RGB")
    from PIL import Image  # noqa: PLC0415 - as above

    clear = image.convert("RGBA")
    paper = Image.new("RGB", clear.size, "white")
    paper.paste(clear, mask=clear.getchannel("A"))
    return paper
