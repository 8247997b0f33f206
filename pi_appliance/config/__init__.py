"""Configuration: data classes, loading, secrets and JSON Schema.

This module finds the file and imports little.
"""

from collections.abc import Mapping
from pathlib import Path

from pi_appliance.errors import ConfigNotFound

CONFIG_NAME = "appliance.yaml"
PLACES = (Path("config", CONFIG_NAME), Path(CONFIG_NAME), Path("/etc/pi-appliance", CONFIG_NAME))


def find_config(path: Path | None, environment: Mapping[str, str]) -> Path:
    """Return `path`, $PI_APPLIANCE_CONFIG or the first of `PLACES`. Raises ConfigNotFound."""
    named = path or (Path(environment["PI_APPLIANCE_CONFIG"]) if environment.get("PI_APPLIANCE_CONFIG") else None)
    config_file = named or nearby_config()
    if config_file is None:
        raise ConfigNotFound(
            f"there is no {PLACES[0]} here, no {PLACES[1]}, and no {PLACES[2]}; name yours with --config, "
            'or create one with "pi-appliance config init FOLDER"'
        )
    return config_file


def nearby_config() -> Path | None:
    """Return the first of `PLACES` that exists."""
    return next((place for place in PLACES if place.is_file()), None)
