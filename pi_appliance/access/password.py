"""The password of the page: the rule for it, and where it is stored."""

from collections.abc import Mapping
from pathlib import Path

from pi_appliance.config import secrets
from pi_appliance.config.secret_writer import store_own_secret
from pi_appliance.errors import InvalidOption

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
