"""Which account a token belongs to, kept for later runs: to ask X costs a cent each time."""

import contextlib
import hashlib
import json
import os
from pathlib import Path

_NAME = "account.json"


class Account:
    """The id of the account of TOKEN, in FOLDER. Another token in the same place knows nothing of it."""

    def __init__(self, folder: Path, token: str) -> None:
        self._path = folder / _NAME
        self._mark = hashlib.sha256(token.encode()).hexdigest()
        self._id: str | None = None

    @property
    def id(self) -> str | None:
        """Return it, if it is known."""
        if self._id is None:
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
                kept = json.loads(self._path.read_text("ascii"))
                self._id = _number(kept["id"]) if kept["token"] == self._mark else None
        return self._id

    def remember(self, number: str) -> None:
        """Keep NUMBER as the id; where it cannot be written, until the end of this process."""
        if number == self.id:
            return
        self._id = number
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(json.dumps({"token": self._mark, "id": number}))

    def _write(self, text: str) -> None:
        """Put TEXT in place of the file, whole or not at all, for the owner alone."""
        new = self._path.with_name(f".{_NAME}.{os.getpid()}")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
        finally:
            new.unlink(missing_ok=True)


def _number(text: object) -> str | None:
    return text if isinstance(text, str) and text.isascii() and text.isdigit() else None
