"""Finds plug-ins by file name and imports one when it is first asked for. The only late importer.

A plug-in is a file pi_appliance/<family>/<name>.py, or a folder of that name. Names in YAML use - for _.
"""

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from pi_appliance.errors import UnknownName

WORDS = {
    "jobs": "kind of job",
    "networks": "kind of network",
    "notices": "kind of notice",
    "players": "kind of player",
    "puzzles": "puzzle",
}


@cache
def names(family: str) -> tuple[str, ...]:
    """Return the names of all plug-ins of FAMILY, sorted, without importing any."""
    folder = importlib.import_module(f"pi_appliance.{family}").__path__
    found = (module.name for module in pkgutil.iter_modules(folder))
    return tuple(sorted(name.replace("_", "-") for name in found if not name.startswith("_")))


def load(family: str, name: str) -> ModuleType:
    """Import the plug-in NAME of FAMILY. Raises UnknownName with the nearest that there is."""
    if name not in names(family):
        raise UnknownName(WORDS.get(family, family), name, names(family))
    return importlib.import_module(f"pi_appliance.{family}.{name.replace('-', '_')}")
