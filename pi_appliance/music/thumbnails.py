"""Pictures made smaller, as JPEG: the covers of albums, for phones."""

import io
from typing import TYPE_CHECKING

from pi_appliance.errors import Refused

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

# Pixels. Two pictures are made at once (music/covers.py), each unpacked to 4 bytes a pixel and held twice on the way: a
# small Pi just has that, and covers of 4000 by 4000 there are. The decoder of WebP holds four times as much.
_MOST = 20_000_000
_MOST_OF = {"WEBP": 8_000_000}
_QUALITY = 85


def make_thumbnail(data: bytes, size: int) -> bytes | None:
    """Return the picture DATA as a JPEG within SIZE by SIZE pixels; None where the library that scales is not there.

    A smaller one keeps its size. Raises Refused if it is no picture, is damaged, or has far too many pixels.
    """
    try:
        from PIL import Image, ImageOps  # noqa: PLC0415 - 50 ms and 6 MB for who looks at covers
    except ModuleNotFoundError:
        return None
    Image.MAX_IMAGE_PIXELS = None  # it would only warn; here the number is looked at before anything is unpacked
    try:
        with Image.open(io.BytesIO(data), formats=("JPEG", "PNG", "GIF", "WEBP", "BMP")) as image:
            if image.width * image.height > _MOST_OF.get(str(image.format), _MOST):
                raise Refused(f"a picture of {image.width} by {image.height} pixels is too large to show")
            image.draft("RGB", (size, size))  # a JPEG is read in a size near to that at once
            image.thumbnail((size, size))  # before anything makes a copy
            ImageOps.exif_transpose(image, in_place=True)
            file = io.BytesIO()
            _on_white(image).save(file, "JPEG", quality=_QUALITY, optimize=True)
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - the decoders raise whatever a damaged file leads them to
        raise Refused(f"this is no picture that can be read: {type(error).__name__}") from None
    return file.getvalue()


def _on_white(image: "Picture") -> "Picture":
    """Return IMAGE without transparent parts, which a JPEG cannot have."""
    if not image.has_transparency_data:
        return image.convert("RGB")
    from PIL import Image  # noqa: PLC0415 - as above

    clear = image.convert("RGBA")
    paper = Image.new("RGB", clear.size, "white")
    paper.paste(clear, mask=clear.getchannel("A"))
    return paper
