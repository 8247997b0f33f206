"""Checks passwords and session tokens, and delays addresses that guess."""

import base64
import hmac
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from pi_appliance.access.devices import MAX_AGE, Devices, Invitations
from pi_appliance.access.password import same_code
from pi_appliance.roles import Role
from pi_appliance.scheduling.daemon_interface import RunningDaemon
from pi_appliance.web.security import COOKIE, Visitor, address_of

_MAX_ADDRESSES = 1024
_FREE_FAILURES = 3  # wrong passwords without a delay: people mistype
_MAX_DELAY = 300.0  # seconds; longest delay after a wrong password
_FAILURES_MAX_AGE = 3600.0  # seconds after which the failures of an address are forgotten


@dataclass(slots=True)
class _Failures:
    count: int = 0
    last_at: float = -math.inf
    blocked_until: float = -math.inf


class Authenticator:
    """Finds out who sends a request. Without a password, everyone is the owner.

    Args:
        devices: The signed-in devices.
        monotonic: A clock in seconds that never goes back.
    """

    def __init__(self, devices: Devices, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.devices, self._monotonic = devices, monotonic
        self.invitations = Invitations(monotonic)
        self.has_password = False
        self.setup_code = ""
        """While it is set, only this code opens the page, and only to set a password."""
        self._key = secrets.token_bytes(32)
        self._password = b""
        self._failures: dict[str, _Failures] = {}

    def use_password(self, password: str, *, keep: str = "") -> None:
        """Accept `password` from now on. A changed password signs out every device but `keep`."""
        if not self.accepts(password):
            self.invitations.cancel_all()
        self.has_password, self._password = bool(password), self._digest(password)
        self.setup_code = ""
        self.devices.bind_password(password, keep=keep)

    def accepts(self, password: str) -> bool:
        """Return whether `password` is the one in use."""
        return hmac.compare_digest(self._digest(password), self._password)

    def identify(self, request: HTTPConnection, *, basic: bool = False) -> Visitor | None:
        """Return who sent `request`; None if it has neither a session nor the password.

        Args:
            request: The request.
            basic: Whether HTTP Basic is accepted besides Bearer. Browsers send Basic along with
                requests that other sites cause, so it is off where a request changes something.

        Raises:
            HTTPException: 401 for a wrong password, 429 after too many.
        """
        owner = Visitor(Role.OWNER, address=address_of(request), host=request.headers.get("host", ""))
        if self.setup_code:
            return None
        if not self.has_password:
            return owner
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            self.check(credentials.strip(), owner.address)
            return owner
        if basic and scheme.lower() == "basic":
            self.check(_basic_password(credentials), owner.address)
            return owner
        token = request.cookies.get(COOKIE, "")
        device = self.devices.find(token)
        if device is None:
            return None
        # The cookie is renewed once a day, so that a device in use stays signed in.
        renewed = cookie(token) if self.devices.see(device) else ""
        return replace(
            owner, role=device.role, device=device.id, device_name=device.name, cookie=renewed, ended=device.ended
        )

    def check(self, password: str, address: str) -> None:
        """Raise HTTPException if `password` is wrong (401) or after recent failures (429)."""
        self.require_patience(address)
        if self.accepts(password):
            self._failures.pop(address, None)
            return
        self.note_failure(address)
        raise HTTPException(401, "that is not the password; it is WEB_PASSWORD in secrets.env on the machine")

    def check_code(self, code: str, address: str) -> None:
        """Raise HTTPException for a wrong set-up `code` (401) or after recent failures (429)."""
        self.require_patience(address)
        if not same_code(code, self.setup_code):
            self.note_failure(address)
            raise HTTPException(401, "that is not the code; on the machine, `pi-appliance qr` shows it")

    def require_patience(self, address: str) -> None:
        """Raise HTTPException 429 while `address` has to wait after wrong attempts."""
        wait = self._failures.get(address, _Failures()).blocked_until - self._monotonic()
        if wait > 0:
            seconds = math.ceil(wait)
            sentence = (
                f"too many wrong attempts from this address (passwords, codes or links); try again in {seconds} s"
            )
            raise HTTPException(429, sentence, headers={"Retry-After": str(seconds)})

    def note_failure(self, address: str) -> None:
        """Let `address` wait longer after each wrong password, code or link."""
        now, failures = self._monotonic(), self._failures.pop(address, _Failures())
        if now - failures.last_at > _FAILURES_MAX_AGE:
            failures = _Failures()
        failures.count, failures.last_at = failures.count + 1, now
        excess = failures.count - _FREE_FAILURES
        if excess >= 0:
            failures.blocked_until = now + min(2.0 ** (excess + 1), _MAX_DELAY)
        self._failures[address] = failures  # at the end, because the dictionary is in the order of the failures
        if len(self._failures) > _MAX_ADDRESSES:
            del self._failures[next(iter(self._failures))]

    def _digest(self, password: str) -> bytes:
        return hmac.digest(self._key, password.encode("utf-8", "surrogateescape"), "sha256")


class AccessDaemon(RunningDaemon, Protocol):
    """The daemon, with the authenticator that the page needs."""

    @property
    def authenticator(self) -> Authenticator:
        """The object that finds out who sends a request."""


def cookie(token: str) -> str:
    """Return the value of the Set-Cookie header for `token`; an empty token deletes the cookie."""
    age = int(MAX_AGE.total_seconds()) if token else 0
    return f"{COOKIE}={token}; Max-Age={age}; Path=/; HttpOnly; SameSite=Strict"


def _basic_password(credentials: str) -> str:
    """Return the password of HTTP Basic credentials, or "" if they are malformed."""
    try:
        return base64.b64decode(credentials.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return ""
