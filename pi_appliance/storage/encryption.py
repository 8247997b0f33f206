"""Encrypt the secrets of a backup with a passphrase."""

import hashlib
import importlib.util
import os
from base64 import urlsafe_b64encode

from pi_appliance.errors import Refused

_MAGIC = b"pi-appliance private 1\n"
_SALT_SIZE = 16  # bytes
# 32 MB of memory, and about two seconds on a Raspberry Pi Zero 2 W. From the OWASP Password Storage
# Cheat Sheet, https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html
_COST, _BLOCK_SIZE, _PARALLELISM = 2**15, 8, 3
NO_LIBRARY = "secrets can be encrypted only with cryptography; install it with: pip install 'pi-appliance[backup]'"


def require_library() -> None:
    """Raise Refused if the library that encrypts is not installed."""
    if importlib.util.find_spec("cryptography") is None:
        raise Refused(NO_LIBRARY)


def encrypt(content: bytes, passphrase: str) -> bytes:
    """Encrypt `content`, so that a change of the result is noticed.

    The key comes from `passphrase` by scrypt (RFC 7914), the encryption is Fernet: AES-128 in CBC
    mode, authenticated by HMAC-SHA256.

    Raises:
        Refused: The library is not installed.
    """
    require_library()
    from cryptography.fernet import Fernet  # noqa: PLC0415 - 40 ms, and an optional extra

    salt = os.urandom(_SALT_SIZE)
    return _MAGIC + salt + Fernet(_key(passphrase, salt)).encrypt(content)


def decrypt(content: bytes, passphrase: str) -> bytes:
    """Return what `encrypt` was given.

    Raises:
        Refused: The passphrase is wrong, the content was changed, or the library is not installed.
    """
    require_library()
    from cryptography.fernet import Fernet, InvalidToken  # noqa: PLC0415

    if not content.startswith(_MAGIC):
        raise Refused("its secrets were encrypted by another version of pi-appliance")
    salt, token = content[len(_MAGIC) :][:_SALT_SIZE], content[len(_MAGIC) + _SALT_SIZE :]
    try:
        return Fernet(_key(passphrase, salt)).decrypt(token)
    except InvalidToken:
        raise Refused("the passphrase does not fit its secrets") from None


def _key(passphrase: str, salt: bytes) -> bytes:
    size = 128 * _COST * _BLOCK_SIZE + 128 * _BLOCK_SIZE * (_PARALLELISM + 2)  # RFC 7914, section 6
    key = hashlib.scrypt(
        passphrase.encode(), salt=salt, n=_COST, r=_BLOCK_SIZE, p=_PARALLELISM, maxmem=2 * size, dklen=32
    )
    return urlsafe_b64encode(key)
