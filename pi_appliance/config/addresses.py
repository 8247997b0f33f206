"""Addresses with secrets in them: ${NAME} stands for the secret NAME. They are filled late and never shown."""

import re
import string
from collections.abc import Mapping

_NAME = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SHAPE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://\S+")
_PASSWORD = re.compile(r"://[^/?#@]*:[^/?#@]+@")
_PLAIN = frozenset(string.ascii_letters + string.digits + "-._~")


def secret_names_in(address: str) -> tuple[str, ...]:
    """Return the names of the secrets in ADDRESS, each once."""
    return tuple(dict.fromkeys(_NAME.findall(address)))


def missing_secrets(address: str, secrets: Mapping[str, str]) -> list[str]:
    """Return which secrets ADDRESS names that SECRETS has not."""
    return [name for name in secret_names_in(address) if not secrets.get(name)]


def substitute(address: str, secrets: Mapping[str, str]) -> str:
    """Return ADDRESS with its secrets, all of which must be there.

    One that is the whole address is taken as it is; within an address its letters are escaped, so that a password may
    have any.
    """
    whole = _NAME.fullmatch(address)
    if whole:
        return secrets[whole[1]]
    return _NAME.sub(lambda match: _escaped(secrets[match[1]]), address)


def redact(address: str) -> str:
    """Return what may be shown of ADDRESS: the way it goes, and the names of its secrets."""
    shape = _SHAPE.fullmatch(_NAME.sub("x", address))
    named = ", ".join(secret_names_in(address))
    scheme = f"{shape[1]}://…" if shape and not _NAME.fullmatch(address) else "…"
    return f"{scheme} ({named})" if named else scheme


def find_problem(address: str, example: str) -> tuple[str, str] | None:
    """Return what is wrong with ADDRESS as it stands in a file, and what would be right; None if nothing is.

    The address itself is not part of it: it may hold what nobody else should read.
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
