"""Roles: what a person or a device may do.

Each operation has the least role that may call it (`role=` in `<feature>/operations.py`). Some
arguments have a higher one of their own, and so has each page (`RoleRoute`). `web/security.py`
finds the role of the sender of a request, and refuses requests that need a higher one.
"""

from enum import StrEnum


class Role(StrEnum):
    """The role of a person. Each role may do everything that the roles before it may do."""

    LISTEN = "listen"  # see what plays
    GUEST = "guest"  # see the music, add to the queue
    CONTROL = "control"  # music, alarms, announcements, sleep timer
    OWNER = "owner"  # everything

    def includes(self, other: "Role") -> bool:
        """Return whether a person with this role may do what `other` may do."""
        return _RANKS.index(self) >= _RANKS.index(other)


_RANKS = tuple(Role)
ROLE_TEXTS = {
    Role.LISTEN: "see what plays",
    Role.GUEST: "see the music and add to the queue",
    Role.CONTROL: "control music, alarms, announcements and the sleep timer",
}
"""What each role may do, in words; the owner may do everything."""


def describe_refusal(role: Role | None, needed: Role) -> str:
    """Return why a sender with `role` may not do something that needs `needed`.

    `role` is None before the sign-in.
    """
    if role is None:
        return "sign in first"
    remedy = "only the owner may do that" if needed is Role.OWNER else f"ask the owner to invite it as {needed}"
    return f"this device may only {ROLE_TEXTS[role]}; {remedy}"
