"""The one-time code by which a machine joins, and the proofs of both sides that they know it.

The code is a secret of 160 bits and is never sent. See ADR 161 for the messages.
"""

import hashlib
import hmac
import json
import secrets
from base64 import b32decode, b32encode
from binascii import Error as Base32Error
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from pi_appliance.cluster.client import MemberFolder
from pi_appliance.errors import InvalidOption

LIFETIME = timedelta(minutes=15)
_SIZE = 20  # bytes of the secret in a code
_GROUP = 4  # characters in a group of the code
_REQUEST, _ANSWER = b"pi-appliance cluster 1 request\0", b"pi-appliance cluster 1 answer\0"


def create_code(folder: MemberFolder, now: datetime) -> tuple[str, datetime]:
    """Replace the code of this cluster; return the new one and when it expires."""
    secret, expires = secrets.token_bytes(_SIZE), now + LIFETIME
    content = {"secret": secret.hex(), "expires": expires.isoformat(), "created": now.isoformat()}
    folder.write(folder.join_code, json.dumps(content).encode())
    text = b32encode(secret).decode().lower()
    return "-".join(text[at : at + _GROUP] for at in range(0, len(text), _GROUP)), expires


def parse_code(text: str) -> bytes:
    """Return the secret in a code as a person typed it.

    Raises InvalidOption if it is not a code.
    """
    letters = "".join(text.split()).replace("-", "").upper()
    try:
        secret = b32decode(letters)
    except (Base32Error, ValueError):
        secret = b""
    if len(secret) != _SIZE:
        raise InvalidOption("that is not a join code: it has 8 groups of 4 letters and digits, such as k5ax")
    return secret


def load_secret(folder: MemberFolder, now: datetime) -> bytes | None:
    """Return the secret of the code that is valid now, or None."""
    try:
        content = json.loads(folder.join_code.read_text("utf-8"))
        # With `created`, a clock that was set back does not make a code valid for longer.
        is_valid = datetime.fromisoformat(content["created"]) <= now < datetime.fromisoformat(content["expires"])
        return bytes.fromhex(content["secret"]) if is_valid else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def use_code(folder: MemberFolder) -> bool:
    """Make the code invalid; return False if another request has used it already."""
    try:
        folder.join_code.unlink()
    except FileNotFoundError:
        return False
    return True


def prove_request(secret: bytes, message: str) -> str:
    """Return the proof that the sender of the request `message` knows the code."""
    return hmac.new(secret, _REQUEST + message.encode(), hashlib.sha256).hexdigest()


def prove_answer(secret: bytes, request_proof: str, message: str) -> str:
    """Return the proof that the sender of `message` knows the code and answers this request."""
    return hmac.new(secret, _ANSWER + request_proof.encode() + b"\0" + message.encode(), hashlib.sha256).hexdigest()


def open_message(envelope: Mapping[str, object], expected_proof: str) -> dict[str, Any] | None:
    """Return the content of a message, or None if its proof does not match."""
    message, proof = envelope.get("message"), envelope.get("proof")
    if not isinstance(message, str) or not isinstance(proof, str):
        return None
    if not hmac.compare_digest(proof.encode("utf-8", "replace"), expected_proof.encode()):
        return None
    content = json.loads(message)  # somebody who knows the code wrote it
    return content if isinstance(content, dict) else None
