"""Scale cover images to JPEG thumbnails with Pillow, if it is installed."""

import io
from typing import TYPE_CHECKING

from pi_appliance.errors import Refused

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

# Pixels. Two images are scaled at once (see covers.py). Each needs 4 bytes per pixel, twice, which
# a small Pi can just provide, and covers of 4000 by 4000 pixels exist. The WebP decoder needs four
# times as much.
_MAX_PIXELS = 20_000_000
_MAX_FORMAT_PIXELS = {"WEBP": 8_000_000}
_QUALITY = 85


def make_thumbnail(data: bytes, size: int) -> bytes | None:
    """Return a JPEG within `size` by `size` pixels, never enlarged; `None` without Pillow.

    Raises:
        Refused: it is not a valid image, or has too many pixels.

    """
    try:
        from PIL import Image, ImageOps  # noqa: PLC0415 - 50 ms and 6 MB, only for covers
    except ModuleNotFoundError:
        return None
    Image.MAX_IMAGE_PIXELS = None  # Pillow would only warn; the size is checked below
    try:
        with Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "GIF", "WEBP", "BMP")) as image:
            if image.width * image.height > _MAX_FORMAT_PIXELS.get(str(image.format), _MAX_PIXELS):
                raise Refused(f"a picture of {image.width} by {image.height} pixels is too large to show")
            image.draft("RGB", (size, size))  # decodes a JPEG near the target size
            image.thumbnail((size, size))  # before the next steps copy the image
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
