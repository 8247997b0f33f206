"""Endpoints of the JSON API as a table: from one row come the route, the reading of what is sent, and the document."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pi_appliance.web.bodies import LARGEST, json_object
from pi_appliance.web.keys import Key, Keys, whole

BASE = "/api/v1"
START = whole("start", "the first item, counted from 0", 0, 10_000_000, otherwise=0, example=0)
COUNT = whole("count", "how many items at the most", 1, 500, otherwise=100, example=50)


@dataclass(frozen=True, slots=True)
class Call:
    """One request: what stands in its path, and every key of its query and its body."""

    request: Request
    path: Mapping[str, Any]
    given: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One row: METHOD and path, what it does in words, and what does it.

    `act` returns plain values, which are answered as JSON with `status`, or a whole answer of its own. `answer` names
    what these values are, in schemas.ANSWERS; `media` what another kind of answer is.
    """

    method: str
    path: str
    what: str
    act: Callable[[Call], Awaitable[object]]
    query: Sequence[Key] = ()
    body: Sequence[Key] = ()
    answer: str = "Music"
    status: int = 200
    media: str = "application/json"
    largest: int = LARGEST  # bytes of a body
    example: Mapping[str, Any] = field(default_factory=dict)  # of what stands in the path and in the body

    @property
    def name(self) -> str:
        """What to call it in a sentence: the last word of its path."""
        words = [part for part in self.path.split("/") if part and not part.startswith("{")]
        return words[-1]

    def route(self) -> Route:
        """Return the route to it."""
        return Route(f"{BASE}{self.path}", self._answer, methods=[self.method])

    async def _answer(self, request: Request) -> Response:
        found = await self.act(
            Call(request, request.path_params, {**self._asked(request), **await self._sent(request)})
        )
        return found if isinstance(found, Response) else JSONResponse(found, self.status)

    def _asked(self, request: Request) -> dict[str, Any]:
        lists = {key.name for key in self.query if key.many}
        asked = request.query_params
        given = {name: asked.getlist(name) if name in lists else asked[name] for name in asked}
        return Keys(self.query).read(
            given, lambda name, hint: f"nothing is known of {name!r}; {hint or 'there is nothing to choose here'}"
        )

    async def _sent(self, request: Request) -> dict[str, Any]:
        if self.method == "GET":
            return {}
        return read_body(self.name, self.body, await json_object(request, self.largest))


def read_body(name: str, keys: Sequence[Key], given: Mapping[str, object]) -> dict[str, Any]:
    """Return the values of KEYS in what was GIVEN to NAME. Raises HTTPException 400 in a sentence."""
    return Keys(keys).read(
        given, lambda key, hint: f"{name} takes no {key!r}; {hint}" if keys else f"{name} takes no keys"
    )
