"""What a POST carries: a form or a JSON object, small unless a list of tracks is in it."""

import asyncio
import json
from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

LARGEST = 16_384  # bytes, of what is no list
_SLOWEST = 30.0  # seconds for all of it; who drips must not keep his place for ever


async def form(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises HTTPException if it is none."""
    body = await _read(request, LARGEST)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=20))
    except ValueError:
        raise HTTPException(400, "this is no form; send fields as name=value&name=value") from None


async def json_object(request: Request, largest: int = LARGEST) -> Mapping[str, object]:
    """Return the JSON object of the body; nothing where there is no body.

    Raises HTTPException if it is none, or longer than LARGEST bytes.
    """
    body = await _read(request, largest)
    if not body:
        return {}
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise HTTPException(400, 'the body is not JSON; send an object such as {"volume": 40}') from None
    if not isinstance(found, dict):
        raise HTTPException(400, 'the body is no JSON object; send one such as {"volume": 40}')
    return found


async def _read(request: Request, largest: int) -> bytes:
    body = bytearray()
    try:
        async with asyncio.timeout(_SLOWEST):
            async for chunk in request.stream():
                body += chunk
                if len(body) > largest:
                    raise HTTPException(413, f"the body is too long; at most {largest} bytes are read")
    except TimeoutError:
        raise HTTPException(408, "the body came too slowly; send it again") from None
    except ClientDisconnect:
        raise HTTPException(400, "the body ended too early; send it again") from None
    return bytes(body)
