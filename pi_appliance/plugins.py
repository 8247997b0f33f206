"""Find plug-ins by name and import one when it is first needed.

A plug-in of the appliance is a file or folder in the package of its feature, and nothing more:

| family      | where                                                          |
| ----------- | -------------------------------------------------------------- |
| `jobs`      | `<kind>_job.py` in a feature package                           |
| `networks`  | `posting/networks/<kind>.py`                                   |
| `notifiers` | `notify/notifiers/<kind>.py`                                   |
| `players`   | `music/<kind>/player.py`                                       |
| `puzzles`   | `puzzles/<name>/`, a folder with a `board.py`                  |

Another distribution adds one by an entry point of the group `pi_appliance.plugins` called
`<family>.<name>`, such as `networks.threads = "my_package.threads"`. Names in YAML use `-` for `_`.
"""

import importlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from pi_appliance.errors import UnknownName

ENTRY_POINTS = "pi_appliance.plugins"
_PACKAGE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class _PluginFamily:
    """A kind of plug-in.

    `label` is the name of one plug-in in error messages; `patterns` are file patterns below the
    package.
    """

    label: str
    patterns: tuple[str, ...]


_FAMILIES = {
    "jobs": _PluginFamily("kind of job", ("*/*_job.py", "*/*/*_job.py")),
    "networks": _PluginFamily("kind of network", ("posting/networks/[!_]*.py",)),
    "notifiers": _PluginFamily("kind of notifier", ("notify/notifiers/[!_]*.py",)),
    "players": _PluginFamily("kind of player", ("music/*/player.py",)),
    "puzzles": _PluginFamily("puzzle", ("puzzles/*/board.py",)),
}


def names(family: str) -> tuple[str, ...]:
    """Return the names of all plug-ins of `family`, sorted, without importing any."""
    return tuple(sorted(_built_in_plugins(family) | _installed_plugins(family)))


def load(family: str, name: str) -> ModuleType:
    """Import the plug-in `name` of `family`. Raises UnknownName with the closest name."""
    module = _built_in_plugins(family).get(name) or _installed_plugins(family).get(name)
    if module is None:
        raise UnknownName(_FAMILIES[family].label, name, names(family))
    return importlib.import_module(module)


@cache
def _built_in_plugins(family: str) -> dict[str, str]:
    modules = {}
    for pattern in _FAMILIES[family].patterns:
        for path in _PACKAGE.glob(pattern):
            name = path.stem.removesuffix("_job")
            module = path.relative_to(_PACKAGE.parent).with_suffix("")
            if path.stem in {"player", "board"}:
                name = path.parent.name
            if path.stem == "board":  # the plug-in is the folder of the `board.py`
                module = module.parent
            modules[name.replace("_", "-")] = ".".join(module.parts)
    return modules


@cache
def _installed_plugins(family: str) -> dict[str, str]:
    return {name.partition(".")[2]: module for name, module in _entry_points() if name.startswith(f"{family}.")}


@cache
def _entry_points() -> tuple[tuple[str, str], ...]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - 10 ms, for a name that is not built in

    return tuple((point.name, point.value) for point in entry_points(group=ENTRY_POINTS))


def forget_installed() -> None:
    """Look for other distributions' plug-ins again, after `sys.path` changed."""
    _entry_points.cache_clear()
    _installed_plugins.cache_clear()


def label(family: str) -> str:
    """Return the name of one plug-in of `family` for messages, such as "kind of job"."""
    return _FAMILIES[family].label
