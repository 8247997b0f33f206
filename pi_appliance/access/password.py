"""The password of the page, and the one-time code with which it is set on a new appliance."""

import hmac
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import choice
from typing import Any

from pi_appliance.config import secrets
from pi_appliance.config.secret_writer import store_own_secret
from pi_appliance.errors import InvalidOption, Unavailable
from pi_appliance.system import files

NAME = "WEB_PASSWORD"


def store_password(config: Path, password: str, environment: Mapping[str, str]) -> None:
    """Write `password` into the secrets beside the configuration file `config`.

    Raises:
        InvalidOption: It is too short.
        Refused: It would not be used, because the password comes from elsewhere, or the file cannot
            be written.
        Unavailable: The disk is full or read-only.
    """
    if len(password) < secrets.MIN_PASSWORD_LENGTH:
        raise InvalidOption(f"the new password must have at least {secrets.MIN_PASSWORD_LENGTH} characters")
    store_own_secret(config, NAME, password, environment)


log = logging.getLogger("pi_appliance.access")
FILE = "setup.json"
_LETTERS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # no letters that look alike, such as I and 1
_GROUP = 4  # letters; two groups are 39 bits, and each address may try a few codes per hour


@dataclass(frozen=True, slots=True)
class SetupFile:
    """The state of the set-up in the state folder. Without the file, there is nothing to set up."""

    state_dir: Path

    @property
    def path(self) -> Path:
        """The path of the file in the state folder."""
        return self.state_dir / FILE

    def code(self) -> str:
        """Return the code; "" if a password was set, or none is needed. Raises OSError."""
        return str(self._read().get("code", ""))

    def is_interrupted(self) -> bool:
        """Return whether a password is set, but the last page of the set-up was not opened yet."""
        try:
            return self._read().get("code") == ""
        except OSError:
            return False

    def start(self) -> str:
        """Return the code, which is created if there is none."""
        try:
            code = self.code()
        except OSError:
            code = ""
        if not code:
            code = "-".join("".join(choice(_LETTERS) for _ in range(_GROUP)) for _ in range(2))
            try:
                self._write({"code": code})
            except Unavailable as error:  # the code is printed anyway, and is valid until a restart
                log.warning("the code of the set-up cannot be stored: error=%s", error)
        return code

    def drop_code(self) -> None:
        """Delete the code, because there is a password now, or none is needed."""
        try:
            if self.code():
                self.path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("the old code of the set-up cannot be deleted: error=%s", error)

    def note_password(self) -> None:
        """Delete the code, and remember that the other steps of the set-up follow."""
        self._write({"code": ""})

    def next_step(self) -> str:
        """Return the path of the page that follows the finished steps; "" if it is not known."""
        try:
            return str(self._read().get("next", ""))
        except OSError:
            return ""

    def note_step(self, path: str) -> None:
        """Remember the path of the next step, unless the set-up has ended."""
        if not self.is_interrupted():
            return
        try:
            self._write({"code": "", "next": path})
        except Unavailable as error:  # without the file, an owner who comes back starts one step earlier
            log.warning("the step of the set-up cannot be stored: error=%s", error)

    def finish(self) -> None:
        """End the set-up: delete the file."""
        self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self.path.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def _write(self, content: dict[str, str]) -> None:
        files.write_file(self.path, json.dumps(content).encode(), mode=0o600)


def same_code(typed: str, code: str) -> bool:
    """Return whether `typed` is `code`; spaces, hyphens and the case of letters do not matter."""
    plain = [each.upper().replace("-", "").replace(" ", "").encode() for each in (typed, code)]
    return bool(code) and hmac.compare_digest(*plain)
