"""The sender of the request that is being answered, and the least role of each route."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from pi_appliance.operations import Operation, Role, Values


@dataclass(frozen=True, slots=True)
class Visitor:
    """The sender of a request.

    Attributes:
        role: The role; None before the sign-in.
        device: The id of the signed-in device; "" with the password or the unix socket.
        device_name: The name of that device.
        address: The network address; "" for the unix socket and this process.
        host: The host in the request, with which this machine was reached.
        cookie: The Set-Cookie header that the answer needs, or "".
        ended: Set when the device is signed out.
    """

    role: Role | None = None
    device: str = ""
    device_name: str = ""
    address: str = ""
    host: str = ""
    cookie: str = ""
    ended: asyncio.Event | None = None

    def may(self, role: Role) -> bool:
        """Return whether the sender has at least `role`."""
        return self.role is not None and self.role.includes(role)


HIDDEN = "it is not available now; the owner can see why"
"""What others than the owner read in place of an error that may name files or servers."""
# Operations also run in the command line, without any request: there, the file system decides.
VISITOR: ContextVar[Visitor] = ContextVar("visitor", default=Visitor(Role.OWNER))  # noqa: B039 - it is frozen


class RoleRoute(Route):
    """A route that not only the owner may use.

    `role` is the least role, or that of each method.
    """

    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        role: Role | Mapping[str, Role],
        methods: Iterable[str] = ("GET",),
    ) -> None:
        super().__init__(path, endpoint, methods=list(methods))
        self._role = role

    def role_for(self, method: str) -> Role:
        """Return the least role for `method`."""
        if isinstance(self._role, Role):
            return self._role
        return self._role.get("GET" if method == "HEAD" else method, Role.OWNER)


def least_role(routes: Sequence[BaseRoute], scope: Scope) -> Role | None:
    """Return the least role for the request of `scope`; None if no route answers it.

    A route that says nothing about roles is for the owner.
    """
    for route in routes:
        if route.matches(scope)[0] is Match.FULL:
            return route.role_for(scope["method"]) if isinstance(route, RoleRoute) else Role.OWNER
    return None


ROLE_TEXTS = {
    Role.LISTEN: "see what plays",
    Role.GUEST: "see the music and add to the queue",
    Role.CONTROL: "control music, alarms, announcements and the sleep timer",
}
"""What each role may do, in words; the owner may do everything."""


def refusal(visitor: Visitor, needed: Role) -> str:
    """Return why `visitor` may not do what needs the role `needed`."""
    if visitor.role is None:
        return "sign in first"
    remedy = "only the owner may do that" if needed is Role.OWNER else f"ask the owner to invite it as {needed}"
    return f"this device may only {ROLE_TEXTS[visitor.role]}; {remedy}"


def require_roles(operation: Operation, values: Values) -> None:
    """Raise HTTPException 403 if the sender may not give one of the `values` of `operation`.

    Whether the sender may call the operation at all was checked by its route.
    """
    visitor = VISITOR.get()
    for argument in operation.arguments:
        if values[argument.name] != argument.default and not visitor.may(argument.role):
            raise HTTPException(403, f"{argument.name!r} cannot be chosen: {refusal(visitor, argument.role)}")


def owner_text(text: str, instead: str) -> str:
    """Return `text`, which may name files or servers, to the owner, and `instead` to others."""
    return text if not text or VISITOR.get().may(Role.OWNER) else instead
