"""The endpoint of cover images."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pi_appliance.music.covers import SIZES, Covers
from pi_appliance.music.operations import URI
from pi_appliance.operations import Argument, Operation, Role
from pi_appliance.web.params import Call

_MAX_AGE = 86_400  # seconds that a phone keeps a cover without asking again


def _parse_size(value: object) -> int:
    if str(value) not in {str(size) for size in SIZES}:
        raise ValueError
    return int(str(value))


_SIZE = Argument(
    name="size",
    help="the maximum width and height in pixels; without it, the original size",
    expected=f"one of {', '.join(map(str, SIZES))}",
    parse=_parse_size,
    schema={"type": "integer", "enum": list(SIZES)},
    example=256,
)


def cover_operation(covers: Covers) -> Operation:
    """Return the operation that sends a cover of `covers`."""

    async def answer(call: Call) -> Response:
        """Return the cover, or 304 if the phone has it."""
        cover = await covers.find(call.arguments["uri"], call.arguments["size"] or 0)
        if cover is None:
            raise HTTPException(404, "there is no picture of that track", {"Cache-Control": "private, max-age=300"})
        headers = {
            "ETag": f'"{cover.tag}"',
            "Cache-Control": f"private, max-age={_MAX_AGE}",
            # Whatever the file holds, the browser must not run it or load anything for it.
            "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
        }
        if _is_cached(call.request, cover.tag):
            return Response(status_code=304, headers=headers)
        return Response(cover.data, headers=headers, media_type=cover.mime)

    return Operation(
        method="GET",
        path="/player/art",
        role=Role.LISTEN,
        summary="Return the cover of a track with an ETag; 404 if there is none.",
        handler=answer,
        arguments=(URI, _SIZE),
        media="image/*",
        result="Picture",
    )


def _is_cached(request: Request, tag: str) -> bool:
    tags = request.headers.get("if-none-match", "")
    return tags.strip() == "*" or f'"{tag}"' in [each.strip().removeprefix("W/") for each in tags.split(",")]
