"""What can still be read of a configuration that is wrong, for who looks for the reason. Nothing runs by this."""

import re
from dataclasses import replace
from pathlib import Path

from pi_appliance import registry
from pi_appliance.config import load, yaml_tree
from pi_appliance.config.structure import structure
from pi_appliance.config.yaml_tree import Tree
from pi_appliance.errors import ConfigError
from pi_appliance.model.config import Config, Part

_SECTION = re.compile(r"^(?=[^\s#])", re.MULTILINE)
_NEED_OPTIONS = ("jobs", "player", "notices")  # of no use without what their kinds make of `with`


def salvage(path: Path) -> Config | None:
    """Return the sections of the file PATH that are good by themselves; None if it does not tell its state folder."""
    path = path.absolute()
    try:
        text = yaml_tree.decode(path.read_bytes(), path.name)
    except (OSError, ConfigError):
        return None
    good: dict[str, object] = {"time-zone": load.local_zone()}
    for section in _SECTION.split(text):
        good |= _good_keys(section, path)
    config, _ = structure(Tree(path.name), (), good, Config, path.parent)
    return config and replace(config, networks=_networks(config, path))


def _networks(config: Config, path: Path) -> dict[str, Part]:
    """Return the networks of CONFIG whose kind there is, and makes something of their options."""
    found: dict[str, Part] = {}
    for name, part in config.networks.items():
        if part.kind in registry.names("networks"):
            kind, tree = registry.load("networks", part.kind), Tree(path.name)
            options, _ = structure(tree, (), part.with_ or {}, kind.Options, path.parent)
            found |= {name: replace(part, with_=options)} if options is not None else {}
    return found


def _good_keys(section: str, path: Path) -> dict[str, object]:
    try:
        tree = yaml_tree.parse(section, path.name)
    except ConfigError:
        return {}
    if not isinstance(tree.data, dict):
        return {}
    good = {}
    for key, value in tree.data.items():
        made, _ = structure(tree, (), {"state": ".", key: value}, Config, path.parent)
        if made is not None and key not in _NEED_OPTIONS:
            good[key] = value
    return good
