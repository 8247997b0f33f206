"""Volumio's REST API: requests, JSON answers, and errors as errors of the appliance."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.system import http
from pi_appliance.system.http import HttpResponse, NoResponse

NOT_A_VOLUMIO = "the program there is not a Volumio"
STATE_TIMEOUT = 1.0  # seconds for the state, which is read before each command; detects a Volumio that hangs
REPLY_TIMEOUT = 5.0  # seconds
LIST_TIMEOUT = 20.0  # seconds for a list of a big library on a Pi
_MAX_BYTES = 32_000_000  # of such a list
_MAX_STATE_BYTES = 1_000_000
_THREAD_BYTES = 200_000  # JSON above this size is parsed in a thread, so that it does not block the event loop


class VolumioClient:
    """The REST API of one Volumio.

    Every answer is an object or a list, or an error of the appliance.
    """

    def __init__(self, name: str, address: tuple[str, int], *, state_timeout: float = STATE_TIMEOUT) -> None:
        """Create a client; `name` is the `address` as the owner wrote it, for messages."""
        self.name, self.address = name, address
        self._state_timeout = state_timeout  # seconds

    async def state(self) -> Mapping[str, Any]:
        """Return the reply of getState.

        Raises Unavailable within about a second without a Volumio.
        """
        state = await self._request("GET", "getState", seconds=self._state_timeout, max_bytes=_MAX_STATE_BYTES)
        if not isinstance(state, dict) or state.get("status") not in ("play", "pause", "stop"):
            raise self.unavailable(NOT_A_VOLUMIO)
        return state

    async def queue(self) -> list[Mapping[str, Any]]:
        """Return all items of the queue."""
        reply = await self._request("GET", "getQueue")
        items = reply.get("queue") if isinstance(reply, dict) else None
        if not isinstance(items, list):
            raise self.unavailable(NOT_A_VOLUMIO)
        return only_objects(items)

    async def command(self, name: str, *, non_idempotent: str = "", **values: str | int) -> None:
        """Send a command. Volumio replies "Success" even if the command fails.

        Args:
            non_idempotent: name for users of a command that must not be repeated; if the reply is
                lost, this raises Uncertain.
        """
        query = urlencode({"cmd": name, **values}, quote_via=quote, errors="replace")
        _raise_for_error(await self._request("GET", f"commands/?{query}", non_idempotent=non_idempotent))

    async def post(self, route: str, data: object, *, non_idempotent: str) -> None:
        """Send `data` as JSON. Arguments and errors are those of `command()`."""
        _raise_for_error(await self._request("POST", route, data, non_idempotent=non_idempotent, seconds=LIST_TIMEOUT))

    async def get(self, route: str, **query: str) -> Any:
        """Return the reply of `route`. Raises Refused if it is an error."""
        target = f"{route}?{urlencode(query, quote_via=quote, errors='replace')}" if query else route
        reply = await self._request("GET", target, seconds=LIST_TIMEOUT)
        _raise_for_error(reply)
        return reply

    async def push_urls(self) -> list[Any]:
        """Return the URLs that receive push notifications."""
        reply = await self._request("GET", "pushNotificationUrls")
        return reply if isinstance(reply, list) else []

    async def subscribe(self, url: str) -> None:
        """Send push notifications to `url` until Volumio restarts."""
        reply = await self._request("POST", "pushNotificationUrls", {"url": url})
        if reply != {"error": "URL already present"}:
            _raise_for_error(reply)

    async def unsubscribe(self, url: str) -> None:
        """Stop push notifications to `url`."""
        await self._request("DELETE", "pushNotificationUrls", {"url": url}, seconds=STATE_TIMEOUT)

    async def image(self, target: str) -> HttpResponse:
        """Return the answer for an image path, such as /albumart?path=USB."""
        return await self._exchange("GET", target, None, seconds=REPLY_TIMEOUT, max_bytes=_MAX_BYTES)

    def unavailable(self, reason: str) -> Unavailable:
        """Return the error for a Volumio that is not reached."""
        return Unavailable(
            f"Volumio at {self.name} is not reached: {reason}; start it or correct `address` under `player:`"
        )

    def uncertain(self, command: str) -> Uncertain:
        """Return the error for a command that was sent and may have been executed."""
        return Uncertain(f"Volumio at {self.name} did not answer {command!r}; check whether it was done, then continue")

    async def _request(
        self,
        method: str,
        target: str,
        data: object = None,
        *,
        non_idempotent: str = "",
        seconds: float = REPLY_TIMEOUT,
        max_bytes: int = _MAX_BYTES,
    ) -> Any:
        body = None if data is None else json.dumps(data).encode()
        response = await self._exchange(
            method, f"/api/v1/{target}", body, non_idempotent=non_idempotent, seconds=seconds, max_bytes=max_bytes
        )
        if response.status != 200:
            raise self._status_error(response.status, target.partition("?")[0])
        try:
            if len(response.body) > _THREAD_BYTES:
                return await asyncio.to_thread(json.loads, response.body)
            return json.loads(response.body)
        except (ValueError, RecursionError):
            raise self._lost_reply(NOT_A_VOLUMIO, non_idempotent) from None

    async def _exchange(
        self,
        method: str,
        target: str,
        body: bytes | None,
        *,
        non_idempotent: str = "",
        seconds: float,
        max_bytes: int,
    ) -> HttpResponse:
        host, port = self.address
        url = f"http://{f'[{host}]' if ':' in host else host}:{port}{target}"
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            response = await http.request(
                method, url, seconds=seconds, max_bytes=max_bytes, body=body, headers=headers, use_proxy=False
            )
        except NoResponse as error:
            reason = str(error) if error.is_http else NOT_A_VOLUMIO
            raise self._lost_reply(reason, non_idempotent if error.is_sent else "") from None
        if response.is_truncated:
            raise self._lost_reply("its answer is too long", non_idempotent)
        return response

    def _lost_reply(self, reason: str, non_idempotent: str) -> ApplianceError:
        return self.uncertain(non_idempotent) if non_idempotent else self.unavailable(reason)

    def _status_error(self, status: int, route: str) -> ApplianceError:
        if route == "getState":
            return self.unavailable(NOT_A_VOLUMIO)
        if status == 404:
            return Refused(f"Volumio at {self.name} does not know {route!r}; update it")
        return Refused(f"Volumio at {self.name} answers {route!r} with the error {status}; see its own page")


def _raise_for_error(reply: Any) -> None:
    error = reply.get("error", reply.get("Error")) if isinstance(reply, dict) else None
    if error is not None:
        message = error if isinstance(error, str) and error else "the command failed, without a reason"
        raise Refused(f"Volumio says: {message}")


def only_objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a JSON list; empty for anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
