"""What the configuration says of notices, checked: names that stand for something, secrets that are there."""

from collections.abc import Iterator, Mapping, Sequence

from pi_appliance import registry
from pi_appliance.config import yaml_tree
from pi_appliance.config.yaml_tree import Tree
from pi_appliance.core import addresses
from pi_appliance.errors import ConfigError, Problem, Refused, nearest
from pi_appliance.model.config import Config

_PING = "https://hc-ping.com/${HC_BACKUP}"


def problems(tree: Tree, config: Config) -> Iterator[Problem]:
    """Yield the names under `on-failure` and `on-recovery` that no notice bears, and pings that are no web address."""
    yield from _unknown(tree, config, (), "on-failure", config.on_failure)
    yield from _unknown(tree, config, (), "on-recovery", config.on_recovery)
    for name, job in config.jobs.items():
        path = ("jobs", name)
        yield from _unknown(tree, config, path, "on-failure", job.on_failure or ())
        yield from _unknown(tree, config, path, "on-recovery", job.on_recovery or ())
        if job.ping is not None and (found := _wrong_ping(job.ping)):
            yield tree.problem((*path, "ping"), *found)


def _unknown(tree: Tree, config: Config, path: yaml_tree.Path, key: str, names: Sequence[str]) -> Iterator[Problem]:
    for number, name in enumerate(names):
        if name not in config.notices:
            right = nearest(name, tuple(config.notices))
            yield tree.problem((*path, key, number), f"no notice is called {name!r}", right)


def _wrong_ping(address: str) -> tuple[str, str] | None:
    found = addresses.problem(address, _PING)
    if found is None and not address.startswith(("https://", "http://", "${")):
        return "a ping goes to a web address", f"write one such as {_PING}"
    return found


def warnings(tree: Tree, config: Config, secrets: Mapping[str, str]) -> Iterator[Problem]:
    """Yield which secrets are missing that notices and pings want."""
    for name, part in config.notices.items():
        if lack := registry.load("notices", part.kind).lacks(part.with_, secrets):
            wrong, _, right = lack.partition("; ")
            yield tree.problem(("notices", name), wrong, right, at_key=True)
    for name, job in config.jobs.items():
        if missing := addresses.missing(job.ping or "", secrets):
            wrong = f"no {', '.join(missing)} among the secrets"
            yield tree.problem(("jobs", name, "ping"), wrong, "put it into secrets.env")


def require_understood(tree: Tree, config: Config, secrets: Mapping[str, str]) -> None:
    """Raise ConfigError with every notice that its kind cannot make use of. Dear: it loads whatever would send."""
    found = []
    for name, part in config.notices.items():
        kind = registry.load("notices", part.kind)
        if kind.lacks(part.with_, secrets):
            continue  # told as a warning
        try:
            kind.connect(part.with_, secrets)
        except Refused as error:
            wrong, _, right = str(error).partition("; ")
            found.append(tree.problem(("notices", name, "with"), wrong, right))
    if found:
        raise ConfigError(found)
