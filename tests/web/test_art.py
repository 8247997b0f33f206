"""Covers: sizes, caching, and files that are not pictures."""

import io
import struct
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image

from pi_appliance.errors import Refused
from pi_appliance.music.covers import make_thumbnail
from pi_appliance.music.model import CoverArt
from tests.web.served_appliance import Response, ServedAppliance

PATH = "/api/v1/player/art"


def draw_picture(
    kind: str = "PNG", size: tuple[int, int] = (600, 400), mode: str = "RGB", colour: object = "red"
) -> bytes:
    file = io.BytesIO()
    Image.new(mode, size, colour).save(file, kind)  # type: ignore[arg-type]
    return file.getvalue()


def cover(appliance: ServedAppliance, data: bytes, uri: str = "a.ogg") -> None:
    appliance.call_in_loop(lambda: appliance.player.pictures.update({uri: CoverArt(data=data, mime="text/html")}))
    appliance.call_in_loop(lambda: appliance.player.changed("database"))


def size_of(answer: Response) -> tuple[str | None, tuple[int, int]]:
    with Image.open(io.BytesIO(answer.body)) as image:
        return image.format, image.size


def test_without_a_size_a_picture_is_unchanged(appliance: ServedAppliance) -> None:
    cover(appliance, draw_picture())
    answer = appliance.request(f"{PATH}?uri=a.ogg")
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, draw_picture(), "image/png")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "private, max-age=86400"


@pytest.mark.parametrize(("size", "shown"), [(64, (64, 43)), (256, (256, 171)), (1024, (600, 400))])
def test_a_picture_is_scaled_down_and_never_up(appliance: ServedAppliance, size: int, shown: tuple[int, int]) -> None:
    cover(appliance, draw_picture())
    answer = appliance.request(f"{PATH}?uri=a.ogg&size={size}")
    assert (answer.headers["content-type"], size_of(answer)) == ("image/jpeg", ("JPEG", shown))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "BMP"])
def test_all_browser_formats_are_supported(appliance: ServedAppliance, kind: str) -> None:
    cover(appliance, draw_picture(kind))
    assert appliance.request(f"{PATH}?uri=a.ogg").headers["content-type"] == f"image/{kind.lower()}"
    assert size_of(appliance.request(f"{PATH}?uri=a.ogg&size=64"))[0] == "JPEG"


def test_transparency_becomes_white(appliance: ServedAppliance) -> None:
    cover(appliance, draw_picture(mode="RGBA", colour=(0, 0, 0, 0)))
    with Image.open(io.BytesIO(appliance.request(f"{PATH}?uri=a.ogg&size=64").body)) as image:
        assert image.getpixel((5, 5)) == (255, 255, 255)


@pytest.mark.parametrize("size", ["", "&size=128"])
def test_a_client_with_a_cached_picture_gets_304(appliance: ServedAppliance, size: str) -> None:
    cover(appliance, draw_picture())
    tag = appliance.request(f"{PATH}?uri=a.ogg{size}").headers["etag"]
    for output in (tag, f'"other", W/{tag}', "*"):
        again = appliance.request(f"{PATH}?uri=a.ogg{size}", If_None_Match=output)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    cover(appliance, draw_picture(colour="blue"))
    other = appliance.request(f"{PATH}?uri=a.ogg{size}", If_None_Match=tag)
    assert (other.status, other.headers["etag"] != tag) == (200, True)


def test_the_player_is_asked_once_until_the_library_changes(appliance: ServedAppliance) -> None:
    cover(appliance, draw_picture())
    for path in ("?uri=a.ogg", "?uri=a.ogg&size=64", "?uri=a.ogg&size=128", "?uri=b.ogg", "?uri=b.ogg&size=64"):
        for _ in range(3):
            assert appliance.request(f"{PATH}{path}").status == (200 if "a.ogg" in path else 404)
    assert appliance.player.art_asked == ["a.ogg", "b.ogg"]
    cover(appliance, draw_picture(), "b.ogg")
    appliance.wait_until(lambda: appliance.request(f"{PATH}?uri=b.ogg").status == 200)


def test_many_clients_at_once_ask_the_player_once(appliance: ServedAppliance) -> None:
    cover(appliance, draw_picture())
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: appliance.request(f"{PATH}?uri=a.ogg&size=256"), range(40)))
    assert {answer.body for answer in answers} == {answers[0].body}
    assert appliance.player.art_asked == ["a.ogg"]


def test_without_pillow_a_picture_is_unchanged(appliance: ServedAppliance, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn_before = draw_picture()
    cover(appliance, drawn_before)
    monkeypatch.setitem(sys.modules, "PIL", None)  # as if it were not installed
    answer = appliance.request(f"{PATH}?uri=a.ogg&size=64")
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, drawn_before, "image/png")


def huge() -> bytes:
    """Return a PNG with a declared size of 30,000 by 30,000 pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(30_000) * 100)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


BAD = [b"<html><script>alert(1)</script>", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"", b"\xff\xd8", b"MZ\x00"]


@pytest.mark.parametrize("data", BAD)
def test_other_files_are_not_sent(appliance: ServedAppliance, data: bytes) -> None:
    cover(appliance, data)
    for size in ("", "&size=64"):
        answer = appliance.request(f"{PATH}?uri=a.ogg{size}")
        assert (answer.status, answer.json) == (404, {"error": "there is no picture of that track"})


@pytest.mark.parametrize("data", [huge(), draw_picture("JPEG")[:300], b"\x89PNG\r\n\x1a\n" + bytes(100)])
def test_a_picture_that_cannot_be_scaled_is_not_sent_scaled(appliance: ServedAppliance, data: bytes) -> None:
    cover(appliance, data)
    assert appliance.request(f"{PATH}?uri=a.ogg&size=64").status == 404
    assert appliance.request("/health").status == 200


def test_invalid_sizes_and_a_missing_address_are_reported(appliance: ServedAppliance) -> None:
    for query, sentence in (
        ("?uri=a.ogg&size=65", "'size' must be one of 64, 128, 256, 512, 1024"),
        ("?size=64", "'uri' must be a line of 1 to 2000 characters, and it is missing"),
    ):
        answer = appliance.request(f"{PATH}{query}")
        assert (answer.status, answer.json) == (400, {"error": sentence})


def test_a_rotated_jpeg_is_turned_upright() -> None:
    image = Image.new("RGB", (100, 50), "red")
    exif = image.getexif()
    exif[0x0112] = 6
    file = io.BytesIO()
    image.save(file, "JPEG", exif=exif)
    result = make_thumbnail(file.getvalue(), 64)
    assert result is not None
    with Image.open(io.BytesIO(result)) as upright:
        assert upright.size == (32, 64)


@pytest.mark.slow_variants
@pytest.mark.parametrize(("kind", "side"), [("PNG", 4500), ("JPEG", 4500), ("WEBP", 3000)])
def test_a_decompression_bomb_is_left_alone(kind: str, side: int) -> None:
    data = draw_picture(kind, (side, side))
    assert len(data) < 400_000
    with pytest.raises(Refused, match="too large to show"):
        make_thumbnail(data, 64)


def test_a_picture_with_too_many_pixels_is_not_decoded() -> None:
    with pytest.raises(Refused, match="30000 by 30000 pixels is too large"):
        make_thumbnail(huge(), 64)
