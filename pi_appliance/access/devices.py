"""The signed-in devices, and the invitations with which others sign in.

The devices are stored in the state folder, so that a restart signs out none of them. The file
contains hashes of the session tokens, never the tokens. It is written when a device signs in or
out, and once a day for a device that is in use.
"""

import asyncio
import contextlib
import hashlib
import hmac
import json
import logging
import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from pi_appliance.errors import Unavailable
from pi_appliance.roles import Role
from pi_appliance.storage.model import iso_time
from pi_appliance.system import files

log = logging.getLogger("pi_appliance.access")
FILE = "devices.json"
MAX_AGE = timedelta(days=400)  # browsers keep no cookie for longer
_MAX_DEVICES = 64  # beyond this, the device that was not used for longest is dropped
_MAX_NAME = 60  # characters in the name of a device
_SCRYPT = {"n": 2**14, "r": 8, "p": 1, "dklen": 32}  # 16 MB and a tenth of a second, only where a password is set


@dataclass(frozen=True, slots=True)
class Device:
    """A signed-in device. `ended` is set when it is signed out, which ends its open streams."""

    id: str
    name: str
    role: Role
    token_hash: str
    signed_in_at: datetime
    last_seen: date
    ended: asyncio.Event = field(default_factory=asyncio.Event, compare=False, repr=False)


class Devices:
    """The signed-in devices.

    Args:
        path: The file.
        now: The wall clock.
        today: Returns the date in the owner's time zone.
    """

    def __init__(self, path: Path, now: Callable[[], datetime], today: Callable[[], date]) -> None:
        self._path, self._now, self.today = path, now, today
        self._devices: dict[str, Device] = {}  # key: hash of the token
        self._password: str | None = None
        self._salt = self._mark = b""  # mark: hash of the password with which the devices signed in
        self._load()

    def all(self) -> list[Device]:
        """Return the devices, the newest first."""
        return sorted(self._devices.values(), key=lambda each: each.signed_in_at, reverse=True)

    def bind_password(self, password: str, *, keep: str = "") -> None:
        """Set the password. If it differs from the one before, sign out all devices but `keep`."""
        before, self._password = self._password, password
        if not self._devices:
            self._mark = b""
            return
        is_same = self._is_marked(password) if before is None else password == before
        if not is_same:
            self._end(each for each in self._devices.values() if each.id != keep)
            self._mark = b""
            with self._reporting_failure():
                self._save()

    def find(self, token: str) -> Device | None:
        """Return the device that has `token`."""
        return self._devices.get(_hash(token)) if token else None

    def add(self, name: str, role: Role) -> str:
        """Sign in a device, even if the file cannot be written, and return its token."""
        token = secrets.token_urlsafe(32)
        plain = "".join(letter for letter in name if letter.isprintable()).strip()[:_MAX_NAME]
        device = Device(secrets.token_hex(4), plain or "a device", role, _hash(token), self._now(), self.today())
        self._devices[device.token_hash] = device
        oldest = sorted(self._devices.values(), key=lambda each: (each.last_seen, each.signed_in_at))
        self._end(oldest[: max(0, len(oldest) - _MAX_DEVICES)])
        with self._reporting_failure():
            self._save()
        return token

    def see(self, device: Device) -> bool:
        """Record that `device` is in use today, and return whether this was not recorded yet."""
        if device.last_seen == self.today():
            return False
        self._devices[device.token_hash] = replace(device, last_seen=self.today())
        with self._reporting_failure():
            self._save()
        return True

    def remove(self, *devices: Device) -> None:
        """Sign out `devices` at once.

        Raises Unavailable if the file cannot be written: a restart would undo it.
        """
        self._end(devices)
        self._save()

    def _is_marked(self, password: str) -> bool:
        return bool(self._mark) and hmac.compare_digest(_mark(password, self._salt), self._mark)

    def _end(self, devices: Iterable[Device]) -> None:
        for device in list(devices):
            self._devices.pop(device.token_hash, None)
            device.ended.set()

    def _load(self) -> None:
        try:
            content: Any = json.loads(self._path.read_bytes())
            self._salt, self._mark = bytes.fromhex(content["salt"]), bytes.fromhex(content["password"])
            devices = [_device(each) for each in content["devices"]]
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, KeyError) as error:
            log.warning("the signed-in devices cannot be read, so all are signed out: error=%r", error)
            self._salt = self._mark = b""
            return
        oldest = self.today() - MAX_AGE
        self._devices = {each.token_hash: each for each in devices if each.last_seen >= oldest}

    def _save(self) -> None:
        if not self._mark:
            self._salt = secrets.token_bytes(16)
            self._mark = _mark(self._password or "", self._salt)
        content = {
            "salt": self._salt.hex(),
            "password": self._mark.hex(),
            "devices": [
                {
                    "id": each.id,
                    "name": each.name,
                    "role": each.role,
                    "token_hash": each.token_hash,
                    "signed_in_at": iso_time(each.signed_in_at),
                    "last_seen": each.last_seen.isoformat(),
                }
                for each in self._devices.values()
            ],
        }
        files.write_file(self._path, json.dumps(content, indent=1).encode(), mode=0o600)

    @contextlib.contextmanager
    def _reporting_failure(self) -> Iterator[None]:
        try:
            yield
        # an unwritable file must not stop the owner, who may have to make room on a full card
        except Unavailable as error:
            log.warning("a restart will sign out devices: error=%s", error)


def _device(stored: Mapping[str, Any]) -> Device:
    return Device(
        id=str(stored["id"]),
        name=str(stored["name"]),
        role=Role(stored["role"]),
        token_hash=str(stored["token_hash"]),
        signed_in_at=datetime.fromisoformat(stored["signed_in_at"]),
        last_seen=date.fromisoformat(stored["last_seen"]),
    )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _mark(password: str, salt: bytes) -> bytes:
    """Return a hash that shows whether the password is the same. It is slow to guess from."""
    return hashlib.scrypt(password.encode("utf-8", "surrogateescape"), salt=salt, **_SCRYPT)


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
        self._open: dict[str, Invitation] = {}  # key: hash of the code; the oldest first

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
        """End `invitation`, because it was used or is not needed any more."""
        self._open.pop(_hash(invitation.code), None)

    def cancel_all(self) -> None:
        """End all invitations."""
        self._open.clear()

    def seconds_left(self, invitation: Invitation) -> int:
        """Return for how long `invitation` is still good."""
        return math.ceil(invitation.ends_at - self._monotonic())
