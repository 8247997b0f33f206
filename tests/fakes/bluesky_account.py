"""An account on a fake Bluesky server: its sessions, posts and pictures.

As in the source of the real server: An access token expires after two hours with 400 ExpiredToken.
A refresh token is valid once and for two more hours. putRecord with swapRecord null creates a record
or answers 400 InvalidSwap. An identical record changes nothing.
"""

import hashlib
import json
import threading
import time
from base64 import b32encode
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.bluesky_records import POSTS, Invalid, check

HANDLE = "pi.bsky.social"
PASSWORD = "abcd-efgh-ijkl-mnop"
SECRETS = {"BLUESKY_APP_PASSWORD": PASSWORD}
DID = "did:plc:pi3b7appliance5shelf"
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request and its result."""

    method: str
    status: int  # the status that was decided on, even if it was not sent
    fault: int | str | None
    rkey: str = ""
    text: str = ""
    written: bool = False  # whether a record is different for it


class Rejection(Exception):
    """A refusal: status, protocol error and message."""

    def __init__(self, status: int, error: str, message: str) -> None:
        super().__init__(status, error, message)
        self.status, self.error, self.message = status, error, message


@dataclass
class FakeBluesky:
    """The data of the server, its log, and the pending faults."""

    address: str = ""
    home: str = ""  # the address of the account's server, if it is another one
    passwords: set[str] = field(default_factory=lambda: {PASSWORD})
    handles: dict[str, str] = field(default_factory=lambda: {HANDLE: DID})
    status: str = ""  # takendown, deactivated
    wants_code: bool = False  # the password is the main one, and a code was sent by mail
    knows_null: bool = True  # whether swapRecord null is understood; some servers do not
    records: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)  # by rkey: uri, cid, value
    blobs: dict[str, Any] = field(default_factory=dict)
    requests: list[RecordedRequest] = field(default_factory=list, repr=False)
    faults: dict[str, list[int | str]] = field(default_factory=lambda: defaultdict(list))
    ahead: float = 0  # seconds its clock is put on
    stopped: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    _access: dict[str, float] = field(default_factory=dict)  # token: when it ends
    _refresh: dict[str, tuple[str, float, str]] = field(default_factory=dict)  # token: password, end, the next one
    _sign_ins: list[float] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        """Return the texts of all posts."""
        return [record["value"]["text"] for record in self.records.values()]

    @property
    def written(self) -> list[str]:
        """Return the text of each write that changed something, in order."""
        return [each.text for each in self.requests if each.written]

    def count(self, method: str) -> int:
        """Return the number of requests of `method`."""
        return sum(each.method == method for each in self.requests)

    def now(self) -> float:
        """Return the time of its clock."""
        return time.time() + self.ahead

    def revoke(self, password: str) -> None:
        """Revoke `password`; its sessions cannot be refreshed."""
        self.passwords.discard(password)
        self._refresh = {
            token: session_file for token, session_file in self._refresh.items() if session_file[0] != password
        }

    def answer(self, method: str, token: str, query: dict[str, str], body: bytes, mime: str) -> dict[str, Any]:
        """Execute `method` and return its answer. Raises `Rejection`."""
        given = json.loads(body) if mime == "application/json" else {}
        match method:
            case "com.atproto.server.createSession":
                return self._create(given)
            case "com.atproto.server.refreshSession":
                return self._renew(token)
            case "com.atproto.server.getSession":
                self._check_token(token)
                return {"did": DID, "handle": HANDLE, "active": not self.status}
            case "com.atproto.identity.resolveHandle":
                if query["handle"] not in self.handles:
                    raise Rejection(400, "InvalidRequest", "Unable to resolve handle")
                return {"did": self.handles[query["handle"]]}
            case "com.atproto.repo.uploadBlob":
                self._check_token(token)
                return {"blob": self._blob(body, mime)}
            case "com.atproto.repo.putRecord":
                self._check_token(token)
                return self._put(given)
            case "com.atproto.repo.getRecord":
                record = self.records.get(query["rkey"])
                if record is None or (query["repo"], query["collection"]) != (DID, POSTS):
                    raise Rejection(
                        400, "RecordNotFound", f"Could not locate record: at://{DID}/{POSTS}/{query['rkey']}"
                    )
                return record
        raise Rejection(501, "MethodNotImplemented", "Method Not Implemented")

    def _create(self, credentials: dict[str, str]) -> dict[str, Any]:
        for most, seconds in ((30, 300), (300, 86_400)):
            recent = [each for each in self._sign_ins if each > self.now() - seconds]
            if len(recent) >= most:
                raise Rejection(429, "RateLimitExceeded", f"Rate Limit Exceeded {int(recent[-most] + seconds) + 1}")
        self._sign_ins.append(self.now())
        if credentials["identifier"].lower() != HANDLE or credentials["password"] not in self.passwords:
            raise Rejection(401, "AuthenticationRequired", "Invalid identifier or password")
        if self.wants_code:
            raise Rejection(401, "AuthFactorTokenRequired", "A sign in code has been sent to your email address")
        if self.status == "takendown":
            raise Rejection(401, "AccountTakedown", "Account has been taken down")
        return self._session(credentials["password"], self._token("refresh"))

    def _renew(self, token: str) -> dict[str, Any]:
        if token not in self._refresh:
            raise Rejection(400, "ExpiredToken", "Token has been revoked")
        password, end, following = self._refresh[token]
        if end < self.now():
            raise Rejection(400, "ExpiredToken", "Token has expired")
        if self.status == "takendown":
            raise Rejection(401, "AccountTakedown", "Account has been taken down")
        following = following or self._token("refresh")
        self._refresh[token] = (password, min(end, self.now() + 2 * _HOUR), following)
        return self._session(password, following)

    def _session(self, password: str, refresh: str) -> dict[str, Any]:
        access = self._token("access")
        self._access[access] = self.now() + 2 * _HOUR
        self._refresh.setdefault(refresh, (password, self.now() + 90 * 24 * _HOUR, ""))
        home = {"id": "#atproto_pds", "type": "AtprotoPersonalDataServer", "serviceEndpoint": self.home or self.address}
        state = {"active": False, "status": self.status} if self.status else {"active": True}
        document = {"id": DID, "service": [{"id": "#other", "serviceEndpoint": "https://example.org"}, home]}
        return {"did": DID, "handle": HANDLE, "accessJwt": access, "refreshJwt": refresh, "didDoc": document, **state}

    def _token(self, kind: str) -> str:
        return f"{kind}-token-{len(self._access) + len(self._refresh)}-hush"

    def _check_token(self, token: str) -> None:
        if not token:
            raise Rejection(401, "AuthMissing", "Authentication Required")
        if token not in self._access:
            raise Rejection(400, "InvalidToken", "Token could not be verified")
        if self._access[token] < self.now():
            raise Rejection(400, "ExpiredToken", "Token has expired")
        if self.status:
            state = "AccountTakedown" if self.status == "takendown" else "AccountDeactivated"
            raise Rejection(401, state, "Account has been taken down" if self.status == "takendown" else "deactivated")

    def _blob(self, data: bytes, mime: str) -> dict[str, Any]:
        cid = _cid(data, "bafkrei")
        self.blobs[cid] = {"$type": "blob", "ref": {"$link": cid}, "mimeType": mime, "size": len(data)}
        blob: dict[str, Any] = self.blobs[cid]
        return blob

    def _put(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["repo"] != DID or request["collection"] != POSTS:
            raise Rejection(401, "AuthenticationRequired", "Authentication Required")
        try:
            check(request["rkey"], request["record"], self.blobs, self.records)
        except Invalid as error:
            raise Rejection(400, "InvalidRequest", f"Invalid {POSTS} record: {error}") from None
        cid = _cid(json.dumps(request["record"], sort_keys=True).encode(), "bafyrei")
        current = self.records.get(request["rkey"], {}).get("cid")
        swaps = "swapRecord" in request and (self.knows_null or request["swapRecord"] is not None)
        if cid != current and swaps and request["swapRecord"] != current:
            raise Rejection(400, "InvalidSwap", f"Record was at {current or 'null'}")
        uri = f"at://{DID}/{POSTS}/{request['rkey']}"
        if cid != current:
            self.records[request["rkey"]] = {"uri": uri, "cid": cid, "value": request["record"]}
        return {"uri": uri, "cid": cid, "validationStatus": "valid"}


def _cid(data: bytes, prefix: str) -> str:
    return prefix + b32encode(hashlib.sha256(data).digest()).decode().lower().rstrip("=")
