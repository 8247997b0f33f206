"""Loading of the notification settings, also from an invalid configuration.

The owner must be notified especially when the configuration is invalid.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pi_appliance import plugins
from pi_appliance.config.binding import structure
from pi_appliance.config.loader import load_config, local_zone, read_yaml
from pi_appliance.config.model import Config, PluginConfig
from pi_appliance.config.notifications import NotifierConfig
from pi_appliance.config.secrets import secret_names
from pi_appliance.config.yaml_source import Tree
from pi_appliance.errors import ConfigError, UnknownName


def load_notifiers(path: Path) -> NotifierConfig:
    """Load the notification settings of the file `path`.

    Of an invalid file, only the valid parts are returned.
    """
    path = path.absolute()
    try:
        return _from_config(load_config(path))
    except ConfigError:
        pass
    try:
        tree = read_yaml(path)
    except ConfigError:
        tree = Tree(str(path))  # not YAML
    return _valid_settings(tree, path)


def _from_config(config: Config) -> NotifierConfig:
    return NotifierConfig(
        path=config.path,
        time_zone=config.time_zone,
        state_dir=config.state_dir,
        notifiers=config.notifiers,
        on_failure=config.notify.on_failure or (),
        pings={name: job.healthchecks_url for name, job in config.jobs.items() if job.healthchecks_url},
        other_secrets=secret_names(config),
    )


def _valid_settings(tree: Tree, path: Path) -> NotifierConfig:
    state = _at(tree.data, "state-dir", str)
    notify = _at(tree.data, "notify", Mapping)
    notifiers = {
        name: part
        for name, entry in (_at(tree.data, "notifiers", Mapping) or {}).items()
        if (part := _part(tree, name, entry, path.parent)) is not None
    }
    jobs = _at(tree.data, "jobs", Mapping) or {}
    return NotifierConfig(
        path=path,
        time_zone=_zone(_at(tree.data, "time-zone", str)),
        state_dir=path.parent / Path(state).expanduser() if state else None,
        notifiers=notifiers,
        on_failure=[name for name in notifiers if name in (_at(notify, "on-failure", list) or ())],
        pings={name: ping for name, job in jobs.items() if (ping := _at(job, "healthchecks-url", str))},
        is_complete=False,
    )


def _at(data: object, key: str, kind: type[Any]) -> Any:
    """Return the value of `key` in `data` if it has the type `kind`, else None."""
    value = data.get(key) if isinstance(data, Mapping) else None
    return value if isinstance(value, kind) else None


def _part(tree: Tree, name: str, entry: object, base: Path) -> PluginConfig | None:
    place = ("notifiers", name)
    part, _ = structure(tree, place, entry, PluginConfig, base)
    if part is None:
        return None
    try:
        module = plugins.load("notifiers", part.kind)
    except UnknownName:
        return None
    options, _ = structure(tree, (*place, "with"), part.options, module.Options, base)
    return None if options is None or options.check() else replace(part, options=options)


def _zone(name: str | None) -> ZoneInfo:
    for each in (name, local_zone()):
        try:
            return ZoneInfo(each or "")
        except (KeyError, ValueError, OSError):
            continue
    return ZoneInfo("UTC")
