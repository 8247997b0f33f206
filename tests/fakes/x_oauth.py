"""The keys of a fake X: OAuth 1.0a signatures, verified with oauthlib, and the PIN flow."""

import secrets
import threading
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from oauthlib.common import Request
from oauthlib.oauth1.rfc5849 import signature

HOMES = ("https://api.twitter.com", "https://api.x.com")  # the signed addresses, independent of the address of the fake
_OLDEST = 300  # seconds; X takes no older signature


@dataclass
class PendingLogin:
    """A login in progress: its temporary keys, and the `pin` after the owner's consent."""

    secret: str
    pin: str = ""


@dataclass
class Keys:
    """The key and secret of an app, the token and secret of an account, and logins in progress."""

    key: str
    secret: str
    token: str
    token_secret: str
    pending_logins: dict[str, PendingLogin] = field(default_factory=dict)
    nonces: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def signed(self, method: str, path: str, authorization: str, form: str = "") -> dict[str, str] | None:
        """Return the keys of a request whose signature is valid, recent and new."""
        header = {"Authorization": authorization}
        try:
            given = signature.collect_parameters(headers=header, exclude_oauth_signature=False)
        except ValueError:
            return None
        sent = dict(given)
        kept = [(name, value) for name, value in given if name != "oauth_signature"]
        query = urlsplit(path).query
        parameters = kept + signature.collect_parameters(uri_query=query, body=form or None)
        token_secret = self._token_secret(sent.get("oauth_token", ""))
        if sent.get("oauth_consumer_key") != self.key or token_secret is None:
            return None
        if not any(self._fits(home + path, method, sent, parameters, token_secret) for home in HOMES):
            return None
        return sent if self._fresh(sent) else None

    def consent(self, address: str) -> str:
        """Return the PIN that X shows to an owner who opens `address` and allows the app."""
        asker = self.pending_logins[parse_qs(urlsplit(address).query)["oauth_token"][0]]
        asker.pin = f"{secrets.randbelow(10**7):07}"
        return asker.pin

    def start_login(self) -> str:
        """Start a login; return the answer as a form."""
        name, asker = secrets.token_hex(8), PendingLogin(secrets.token_hex(16))
        self.pending_logins[name] = asker
        return f"oauth_token={name}&oauth_token_secret={asker.secret}&oauth_callback_confirmed=true"

    def finish_login(self, sent: dict[str, str]) -> str | None:
        """Return the token for the right PIN as a form."""
        asker = self.pending_logins.get(sent.get("oauth_token", ""))
        if asker is None or not asker.pin or sent.get("oauth_verifier") != asker.pin:
            return None
        return f"oauth_token={self.token}&oauth_token_secret={self.token_secret}"

    def _token_secret(self, token: str) -> str | None:
        if token in self.pending_logins:
            return self.pending_logins[token].secret
        return {"": "", self.token: self.token_secret}.get(token)

    def _fits(
        self, url: str, method: str, sent: dict[str, str], parameters: list[tuple[str, str]], token_secret: str
    ) -> bool:
        request = Request(url, method)
        request.signature, request.params = sent.get("oauth_signature", ""), parameters
        return bool(signature.verify_hmac_sha1(request, self.secret, token_secret))

    def _fresh(self, sent: dict[str, str]) -> bool:
        nonce = sent.get("oauth_nonce", "")
        with self.lock:
            seen = nonce in self.nonces
            self.nonces.add(nonce)
        return not seen and abs(time.time() - int(sent.get("oauth_timestamp") or 0)) < _OLDEST
