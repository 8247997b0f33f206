"""Addresses that contain secrets, written as `${NAME}`.

Secrets are inserted only when a message is sent. The full address is never shown.
"""

import re
import string
from collections.abc import Mapping

_NAME = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SHAPE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://\S+")
_PASSWORD = re.compile(r"://[^/?#@]*:[^/?#@]+@")
_PLAIN = frozenset(string.ascii_letters + string.digits + "-._~")


def secret_names_in(address: str) -> tuple[str, ...]:
    """Return the names of the secrets in `address`, without duplicates."""
    return tuple(dict.fromkeys(_NAME.findall(address)))


def missing_secrets(address: str, secrets: Mapping[str, str]) -> list[str]:
    """Return the names used in `address` that have no value in `secrets`."""
    return [name for name in secret_names_in(address) if not secrets.get(name)]


def substitute(address: str, secrets: Mapping[str, str]) -> str:
    """Return `address` with the values of its secrets, all of which must be in `secrets`.

    A secret that is the whole address is inserted unchanged. Within an address it is
    percent-encoded, so a password may contain any character.
    """
    whole = _NAME.fullmatch(address)
    if whole:
        return secrets[whole[1]]
    return _NAME.sub(lambda match: _escaped(secrets[match[1]]), address)


def redact(address: str) -> str:
    """Return the scheme of `address` and the names of its secrets, which are safe to show."""
    shape = _SHAPE.fullmatch(_NAME.sub("x", address))
    named = ", ".join(secret_names_in(address))
    scheme = f"{shape[1]}://…" if shape and not _NAME.fullmatch(address) else "…"
    return f"{scheme} ({named})" if named else scheme


def find_problem(address: str, example: str) -> tuple[str, str] | None:
    """Return the problem of a configured `address` and its correction, or None.

    The texts do not contain the address, because it may contain a secret.
    """
    plain = _NAME.sub("x", address)
    if "$" in plain:
        return "a $ that begins no ${NAME}", "write ${NAME} for the secret NAME, or %24 for a $"
    if not _NAME.fullmatch(address) and not _SHAPE.fullmatch(plain):
        return "this is no address", f"write one such as {example}"
    password = _PASSWORD.search(address)
    if password and not _NAME.search(password[0].partition("://")[2].partition(":")[2]):
        return "a password does not belong here", "put it among the secrets and write ${NAME} for it"
    return None


def _escaped(text: str) -> str:
    return "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02X}" for byte in text.encode())
