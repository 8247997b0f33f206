"""Signing in at Bluesky, which is limited (30 times in 5 minutes, 300 a day): so the session is kept in a file."""

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pi_appliance.errors import Refused, Unavailable
from pi_appliance.networks._bluesky_line import Answer, Line

NAME = "session.json"
WHERE = "bsky.app, under Settings, Privacy and security, App passwords"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(\.{_LABEL})*(:\d+)?"
_LOOPBACK = r"http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?"
_TOKEN = re.compile(r"[!-~]+")  # what may stand in a header


def is_protected(server: str, *, loopback: bool = True) -> bool:
    """Say whether what is sent to SERVER cannot be read on the way: it is encrypted, or stays on this machine."""
    return bool(re.fullmatch(f"https://{_HOST}" + (f"|{_LOOPBACK}" if loopback else ""), server))


@dataclass(frozen=True, slots=True)
class Session:
    """Leave to act for an account for a while."""

    handle: str  # as it was signed in with
    entry: str  # the server it was signed in at
    did: str  # the account's name for ever, whatever its handle
    home: str  # the server that keeps the account's posts
    access: str = field(repr=False)
    refresh: str = field(repr=False)


class Account:
    """Signs in as HANDLE at the server ENTRY, and keeps the session in FOLDER, if there is one."""

    def __init__(self, line: Line, entry: str, handle: str, password: str, folder: Path | None = None) -> None:
        self._line = line
        self._entry, self._handle, self._password = entry.rstrip("/"), handle, password
        self._folder = folder
        self._session: Session | None = None

    def session(self) -> Session:
        """Return the session that was kept, or a new one. Raises Unavailable, Refused."""
        self._session = self._session or self._kept() or self.sign_in()
        return self._session

    def renewed(self, old: Session) -> Session:
        """Return a session in place of OLD, which is over. Raises Unavailable, Refused."""
        kept = self._kept()
        if kept and kept.access != old.access:  # another run was faster
            self._session = kept
            return kept
        answer = self._line.tell(self._entry, "com.atproto.server.refreshSession", token=old.refresh)
        if answer.good:
            return self._keep(answer, home=old.home)
        return self.sign_in()

    def sign_in(self) -> Session:
        """Return a new session, by the password. Raises Unavailable, Refused."""
        proof = {"identifier": self._handle, "password": self._password}
        answer = self._line.tell(self._entry, "com.atproto.server.createSession", json=proof)
        if answer.good:
            return self._keep(answer, home=self._entry)
        if answer.error == "AuthFactorTokenRequired":
            raise Refused(f"Bluesky wants a code by mail, so this is no app password; make one at {WHERE}")
        if answer.status == 401 and not answer.error.startswith("Account"):
            who = f"{self._handle} with this app password"
            raise Refused(f"Bluesky does not know {who} ({answer.words}); make a new one at {WHERE}")
        raise answer.refusal()

    def _keep(self, answer: Answer, *, home: str) -> Session:
        """Return the session that ANSWER gives, once it is on the disk."""
        said = answer.body
        if said.get("active") is False:
            state = said.get("status") or "not active"
            raise Refused(f"the account {self._handle} is {state}; sign in at bsky.app to see why")
        home = self._home(said.get("didDoc")) or home
        session = _session(
            (self._handle, self._entry, said.get("did"), home, said.get("accessJwt"), said.get("refreshJwt"))
        )
        if session is None:
            raise Unavailable("Bluesky answered something that makes no sense when it was asked to sign in")
        if self._folder:
            # A card that cannot be written makes signing in more frequent, not posting impossible.
            with contextlib.suppress(OSError):
                _write(self._folder / NAME, asdict(session))
        self._session = session
        return session

    def _home(self, document: Any) -> str:
        """Return the home that DOCUMENT, which describes the account, names; '' if it names none, or no safe one."""
        services = document.get("service") if isinstance(document, dict) else None
        for each in services if isinstance(services, list) else ():
            if isinstance(each, dict) and str(each.get("id", "")).endswith("#atproto_pds"):
                home = str(each.get("serviceEndpoint", "")).rstrip("/")
                return home if is_protected(home, loopback=self._entry.startswith("http://")) else ""
        return ""

    def _kept(self) -> Session | None:
        """Return the session that was kept, if it is one of this account."""
        try:
            read = json.loads((self._folder / NAME).read_bytes()) if self._folder else None
        except (OSError, ValueError, RecursionError):
            return None
        names = ("handle", "entry", "did", "home", "access", "refresh")
        kept = _session(tuple(read.get(name) for name in names)) if isinstance(read, dict) else None
        return kept if kept and (kept.handle, kept.entry) == (self._handle, self._entry) else None


def _session(parts: tuple[Any, ...]) -> Session | None:
    """Return the session that PARTS make, or None if one of them is not what it should be."""
    if not all(isinstance(part, str) and _TOKEN.fullmatch(part) for part in parts):
        return None
    session = Session(*parts)
    return session if session.did.startswith("did:") and is_protected(session.home) else None


def _write(path: Path, content: Mapping[str, str]) -> None:
    """Write CONTENT to PATH in one step, so that nobody but the service can ever read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    number, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # of mode 0600
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except OSError:
        Path(draft).unlink(missing_ok=True)
        raise
