"""Which kind of picture some bytes are, by how they begin. What a server or a tag calls them is not asked."""

_BEGINNINGS = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)


def mime_of(data: bytes) -> str | None:
    """Return the MIME type of the picture DATA; None if it begins like none that browsers show."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for beginning, mime in _BEGINNINGS if data.startswith(beginning)), None)
