"""Check the secrets of networks: `python -m pi_appliance.posting.account CONFIG NAME...`."""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pi_appliance.config import secret_writer
from pi_appliance.config.loader import load_config
from pi_appliance.config.model import Config
from pi_appliance.config.secrets import Secrets, of_network, secret_names
from pi_appliance.errors import ApplianceError, DeadlineExceeded, Unavailable
from pi_appliance.posting import connect
from pi_appliance.system import files
from pi_appliance.system.systemd import Systemd

_TEST_TIMEOUT = 90.0  # seconds for one network; a single request has a shorter timeout


def load_secrets(config: Config) -> Secrets:
    """Return the secrets as the service has them. Raises Refused."""
    return secret_writer.load(config.path, os.environ, secret_names(config), Systemd())


def check_account(config: Config, name: str, secrets: Mapping[str, str]) -> str:
    """Return the account of the network `name`, ignoring the state that it has saved.

    Raises:
        Refused, Unavailable, Uncertain: The secrets could not be checked.
    """
    with tempfile.TemporaryDirectory(prefix="pi-appliance-") as empty:
        try:
            with files.time_limit(_TEST_TIMEOUT):
                return connect.connect(config, name, secrets, private=Path(empty)).whoami()
        except DeadlineExceeded as error:
            raise Unavailable(str(error)) from None


def _test_network(config: Config, name: str) -> Mapping[str, Any]:
    account, reason, exit_status = None, None, 0
    try:
        account = check_account(config, name, load_secrets(config))
    except ApplianceError as error:
        reason, exit_status = str(error), error.exit_status
    return {
        "network": name,
        "account": account,
        "error": reason,
        "exit_status": exit_status,
        "needs_secrets": bool(of_network(config.networks[name])),
    }


def main(path: str, names: list[str]) -> None:
    """Print the result of each of `names` as JSON."""
    config = load_config(Path(path))
    json.dump([_test_network(config, name) for name in names], sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
