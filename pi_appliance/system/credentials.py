"""Where the service that runs a configuration takes its secrets from: secrets.env beside it, or systemd's credential.

A person's command has no credentials of the service. It reads, as root, the file that they are made of.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from pi_appliance.errors import Refused
from pi_appliance.system import secrets, trial, units
from pi_appliance.system.secret_file import SecretFile
from pi_appliance.system.units import Systemd

_STORES = {"LoadCredential": "/etc/credstore", "LoadCredentialEncrypted": "/etc/credstore.encrypted"}
_IN_THE_UNIT = ("SetCredential", "SetCredentialEncrypted")


def of_service(config: Path, systemd: Systemd) -> SecretFile | None:
    """Return the file that systemd makes the credential of, for the service that runs CONFIG.

    None where there is no such service or credential. Raises Refused if the secrets stand in the unit itself.
    """
    text = systemd.text(units.MAIN) if systemd.here else None
    if text is None or str(config) not in text.split():
        return None
    found: dict[str, SecretFile] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition("=")
        name, _, where = value.partition(":")
        if key in _STORES and not value:  # begins the list anew
            found.pop(key, None)
        elif key in _STORES and name == secrets.NAME:
            path = Path(where) if where else Path(_STORES[key], name)
            found[key] = SecretFile(path, credential=True, encrypted=key.endswith("Encrypted"))
        elif key in _IN_THE_UNIT and name == secrets.NAME:
            raise Refused(f"the secrets stand in {units.MAIN} itself ({key}=); put them into a file: docs/operating.md")
    return next(iter(found.values()), None)


def place(config: Path, systemd: Systemd) -> SecretFile:
    """Return the file of secrets that goes with CONFIG. Raises Refused as `of_service` does."""
    return of_service(config, systemd) or SecretFile(config.parent / secrets.NAME)


def load(config: Path, environment: Mapping[str, str], named: Iterable[str], systemd: Systemd) -> secrets.Secrets:
    """Return the secrets as the service has them, for a person: those of a credential from what it is made of.

    Raises as `secrets.load` does; Refused if the file of the credential is not for us to read.
    """
    file = None if environment.get("CREDENTIALS_DIRECTORY") else of_service(config, systemd)
    if file is None:
        return secrets.load(config, environment, named)
    if os.geteuid() != 0:
        who = trial.name_of(os.geteuid())
        raise Refused(f"the service has its secrets from {file.path}, not for {who} to read; run this with sudo")
    return secrets.with_environment(file.values(), str(file.path), environment, named)
