"""Volumio's REST API: a question and its answer as data, what goes wrong as our errors."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from pi_appliance.errors import ApplianceError, Refused, Unavailable, Uncertain
from pi_appliance.players._volumio_line import NO_VOLUMIO, REACH, Answer, Cut, exchange

ANSWER = 5.0  # seconds for a Volumio that has just said how it is
LONG_ANSWER = 20.0  # seconds for a list of a big library, which a Pi takes its time to make
_LONGEST = 32_000_000  # bytes of such a list
_STATE = 1_000_000  # bytes
_BIG = 200_000  # bytes from which on reading JSON is left to a thread, or the music would stop for the page


class Rest:
    """Volumio at PLACE, which the owner wrote as NAME. Every answer is an object or a list, or one of our errors."""

    def __init__(self, name: str, place: tuple[str, int]) -> None:
        self.name, self.place = name, place

    async def state(self) -> Mapping[str, Any]:
        """Return what getState says. Raises Unavailable within a second if Volumio is not there, or it is none."""
        state = await self._asked("GET", "getState", seconds=REACH, longest=_STATE)
        if not isinstance(state, dict) or state.get("status") not in ("play", "pause", "stop"):
            raise self.lost(NO_VOLUMIO)
        return state

    async def queue(self) -> list[Mapping[str, Any]]:
        """Return the items of the whole queue."""
        answer = await self._asked("GET", "getQueue")
        items = answer.get("queue") if isinstance(answer, dict) else None
        if not isinstance(items, list):
            raise self.lost(NO_VOLUMIO)
        return objects(items)

    async def command(self, name: str, *, once: str = "", **values: str | int) -> None:
        """Give the command NAME. That it was not refused means nothing: Volumio says Success on failure, too.

        ONCE names what, done twice, does two things: where the answer is lost, that is Uncertain.
        """
        query = urlencode({"cmd": name, **values}, quote_via=quote, errors="replace")
        self._agreed(await self._asked("GET", f"commands/?{query}", once=once))

    async def post(self, route: str, data: object, *, once: str) -> None:
        """Send DATA to ROUTE. Raises as command() does."""
        self._agreed(await self._asked("POST", route, data, once=once, seconds=LONG_ANSWER))

    async def get(self, route: str, **query: str) -> Any:
        """Return what ROUTE answers. Raises Refused where that is an error."""
        target = f"{route}?{urlencode(query, quote_via=quote, errors='replace')}" if query else route
        answer = await self._asked("GET", target, seconds=LONG_ANSWER)
        self._agreed(answer)
        return answer

    async def push_urls(self) -> list[Any]:
        """Return the addresses that are told of changes."""
        answer = await self._asked("GET", "pushNotificationUrls")
        return answer if isinstance(answer, list) else []

    async def tell(self, url: str) -> None:
        """Have URL told of changes, until Volumio is started again."""
        answer = await self._asked("POST", "pushNotificationUrls", {"url": url})
        if answer != {"error": "URL already present"}:
            self._agreed(answer)

    async def tell_no_more(self, url: str) -> None:
        """Have URL told no more."""
        await self._asked("DELETE", "pushNotificationUrls", {"url": url}, seconds=REACH)

    async def picture(self, target: str) -> Answer:
        """Return what TARGET, an address such as /albumart?…, brings."""
        return await self._exchanged("GET", target, None, seconds=ANSWER, longest=_LONGEST)

    def lost(self, why: str) -> Unavailable:
        """Return the error that says WHY Volumio is not reached, and what to do."""
        todo = "start it or correct `address` under `player:`"
        return Unavailable(f"Volumio at {self.name} is not reached: {why}; {todo}")

    def uncertain(self, once: str) -> Uncertain:
        """Return the error that says that ONCE was asked and perhaps done."""
        return Uncertain(f"Volumio at {self.name} did not answer {once!r}; see if it was done, then go on")

    async def _asked(
        self,
        method: str,
        target: str,
        data: object = None,
        *,
        once: str = "",
        seconds: float = ANSWER,
        longest: int = _LONGEST,
    ) -> Any:
        body = None if data is None else json.dumps(data).encode()
        answer = await self._exchanged(method, f"/api/v1/{target}", body, once=once, seconds=seconds, longest=longest)
        if answer.status != 200:
            raise self._not_done(answer.status, target.partition("?")[0])
        try:
            if len(answer.body) > _BIG:
                return await asyncio.to_thread(json.loads, answer.body)
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            raise self._broken(NO_VOLUMIO, once) from None

    async def _exchanged(
        self, method: str, target: str, body: bytes | None, *, once: str = "", seconds: float, longest: int
    ) -> Answer:
        try:
            return await exchange(self.place, method, target, body, seconds=seconds, longest=longest)
        except Cut as cut:
            raise self._broken(str(cut), once if cut.sent else "") from None

    def _broken(self, why: str, once: str) -> ApplianceError:
        return self.uncertain(once) if once else self.lost(why)

    def _not_done(self, status: int, route: str) -> ApplianceError:
        if route == "getState":
            return self.lost(NO_VOLUMIO)
        if status == 404:
            return Refused(f"Volumio at {self.name} does not know {route!r}; bring it up to date")
        return Refused(f"Volumio at {self.name} answers {route!r} with the error {status}; look into its own page")

    def _agreed(self, answer: Any) -> None:
        error = answer.get("error", answer.get("Error")) if isinstance(answer, dict) else None
        if error is not None:
            words = error if isinstance(error, str) and error else "that it could not, and not why"
            raise Refused(f"Volumio says: {words}")


def objects(found: Any) -> list[Mapping[str, Any]]:
    """Return those of FOUND that are objects; of what is no list, none."""
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
