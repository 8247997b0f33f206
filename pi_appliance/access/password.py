"""The password of the page: the rule for it, and where it is stored."""

from collections.abc import Mapping
from pathlib import Path

from pi_appliance.config import secrets
from pi_appliance.config.secret_writer import SecretFile
from pi_appliance.errors import InvalidOption, Refused

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
    file = SecretFile(config.parent / secrets.NAME)
    origin = secrets.load(config, environment).origin(NAME)
    if origin == "the environment":
        raise Refused(f"{NAME} is set in the environment of the service, so it can only be changed there")
    if secrets.credential_file(environment) is not None:
        raise Refused(
            f"the secrets are a credential of systemd: write {NAME}=… into its file and restart the service;"
            " see docs/operating.md"
        )
    file.require_writable()
    file.store({NAME: password}, owner=config)
