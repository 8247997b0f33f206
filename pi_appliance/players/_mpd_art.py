"""The picture of a track, from its file or its folder, as MPD gives it: in parts."""

from pi_appliance.errors import Unavailable
from pi_appliance.model.music import Art
from pi_appliance.players import _mpd_words
from pi_appliance.players._mpd_door import Door
from pi_appliance.players._mpd_line import NOT_ALLOWED, Line, Said

BIGGEST = 16 << 20  # bytes; what is bigger is no cover
_PART = 1 << 18  # bytes at once; MPD gives 8 kB unless it is asked for more, and is asked anew for each part
_BEGINNINGS = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG": "image/png",
    b"GIF8": "image/gif",
    b"BM": "image/bmp",
    b"II*\0": "image/tiff",
}


class Picturing(Door):
    """The part of ports_player.Player that is about album art."""

    async def art(self, uri: str) -> Art | None:
        """Return the picture in the file URI, else that of its folder; None if there is neither."""
        if not _mpd_words.is_inside(uri):
            return None
        async with self._session() as line:
            await _larger_parts(line)
            for command in ("readpicture", "albumart"):
                if art := await _picture(line, command, uri):
                    return art
            return None


async def _larger_parts(line: Line) -> None:
    try:
        await line.ask("binarylimit", _PART)
    except Said as no:  # before 0.22.4
        if no.code in NOT_ALLOWED:
            raise


async def _picture(line: Line, command: str, uri: str) -> Art | None:
    try:
        said, data = await line.picture(command, uri, 0)
        size = int(said.get("size", 0))
        if not data or size > BIGGEST:
            return None
        picture = bytearray(data)
        while len(picture) < size:
            more, data = await line.picture(command, uri, len(picture))
            if not data or int(more["size"]) != size:
                raise Unavailable(f"the picture of {uri} changed while it was read; ask for it again")
            picture += data
    except Said as no:
        if no.code in NOT_ALLOWED:
            raise
        return None  # there is none, or it cannot be read; before 0.22, MPD does not look into the file at all
    return Art(data=bytes(picture), mime=_mime(said.get("type", ""), bytes(picture[:12])))


def _mime(said: str, beginning: bytes) -> str:
    """Return what sort of picture BEGINNING begins; SAID is what its file claims, and not to be relied on."""
    if beginning[:4] == b"RIFF" and beginning[8:] == b"WEBP":
        return "image/webp"
    known = next((mime for start, mime in _BEGINNINGS.items() if beginning.startswith(start)), "")
    return known or (said if said.startswith("image/") else "application/octet-stream")
