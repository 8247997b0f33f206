"""Invitations: codes that sign in one device with a name and a role, once and for a short time."""

import hashlib
import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from pi_appliance.operations import Role

_MAX_INVITATIONS = 20


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation. `ends_at` is a time of the monotonic clock: the wall clock may be set."""

    id: str
    name: str
    role: Role
    code: str
    ends_at: float


class Invitations:
    """The open invitations. They are in memory only, so a restart ends them.

    Args:
        monotonic: A clock in seconds that never goes back.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._open: dict[bytes, Invitation] = {}  # by the hash of the code, the oldest first

    def create(self, name: str, role: Role, seconds: float) -> Invitation:
        """Return a new invitation that is good for `seconds`."""
        invitation = Invitation(
            secrets.token_hex(4), name, role, secrets.token_urlsafe(16), self._monotonic() + seconds
        )
        self._open[_hash(invitation.code)] = invitation
        for old in self.all()[:-_MAX_INVITATIONS]:
            self.cancel(old)
        return invitation

    def all(self) -> list[Invitation]:
        """Return the open invitations, the oldest first."""
        now = self._monotonic()
        self._open = {key: each for key, each in self._open.items() if each.ends_at > now}
        return list(self._open.values())

    def find(self, code: str) -> Invitation | None:
        """Return the open invitation with `code`."""
        self.all()
        return self._open.get(_hash(code))

    def cancel(self, invitation: Invitation) -> None:
        """End `invitation`, because it was used or is not wanted any more."""
        self._open.pop(_hash(invitation.code), None)

    def cancel_all(self) -> None:
        """End all invitations."""
        self._open.clear()

    def seconds_left(self, invitation: Invitation) -> int:
        """Return for how long `invitation` is still good."""
        return math.ceil(invitation.ends_at - self._monotonic())


def _hash(code: str) -> bytes:
    return hashlib.sha256(code.encode("utf-8", "surrogateescape")).digest()
