"""The API of covers: a picture of a track, in the size that is wanted, kept by the phone until it is another one."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pi_appliance.web.covers import SIZES, Covers
from pi_appliance.web.endpoints import Call, Endpoint
from pi_appliance.web.keys import Key, text

_DAY = 86_400  # seconds for which a phone need not ask again
_URI = text("uri", "the address of a track", 2000, needed=True, example="a.ogg")


def _size(value: object) -> int:
    if str(value) not in {str(size) for size in SIZES}:
        raise ValueError
    return int(str(value))


_SIZE = Key(
    name="size",
    what="pixels of a side at the most; none: as it is",
    must=f"one of {', '.join(map(str, SIZES))}",
    read=_size,
    schema={"type": "integer", "enum": list(SIZES)},
    example=256,
)


class ArtApi:
    """The endpoint /player/art."""

    def __init__(self, covers: Covers) -> None:
        self._covers = covers

    def endpoints(self) -> list[Endpoint]:
        """Return the row."""
        return [
            Endpoint(
                method="GET",
                path="/player/art",
                what="The cover of a track, with an ETag; 404 where there is none.",
                act=self.art,
                query=(_URI, _SIZE),
                media="image/*",
                answer="Picture",
            )
        ]

    async def art(self, call: Call) -> object:
        """Return the cover, or 304 if the phone has it."""
        found = await self._covers.find(call.given["uri"], call.given["size"] or 0)
        if found is None:
            raise HTTPException(404, "there is no picture of that track", {"Cache-Control": "private, max-age=300"})
        headers = {
            "ETag": f'"{found.tag}"',
            "Cache-Control": f"private, max-age={_DAY}",
            # A picture is data: whatever it holds, it runs nothing and loads nothing.
            "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
        }
        if _has(call.request, found.tag):
            return Response(status_code=304, headers=headers)
        return Response(found.data, headers=headers, media_type=found.mime)


def _has(request: Request, tag: str) -> bool:
    told = request.headers.get("if-none-match", "")
    return told.strip() == "*" or f'"{tag}"' in [each.strip().removeprefix("W/") for each in told.split(",")]
