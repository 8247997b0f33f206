"""Which secrets a configuration wants: by name, and what each is for. Values are nothing to it."""

from collections.abc import Mapping

from pi_appliance import registry
from pi_appliance.core import addresses
from pi_appliance.model.config import Config, Part


def secret_names(config: Config) -> frozenset[str]:
    """Return the names of the secrets that networks, notices and pings of CONFIG want."""
    named = {name for part in config.notices.values() for name in part.with_.names()}
    named.update(*(of_network(part) for part in config.networks.values()))
    return frozenset(named.union(*(addresses.names(job.ping) for job in config.jobs.values() if job.ping)))


def of_network(part: Part) -> Mapping[str, str]:
    """Return the names of the secrets that the network PART wants, and what each is in words."""
    wanted: Mapping[str, str] = registry.load("networks", part.kind).wants(part.with_)
    return wanted


def missing(part: Part, secrets: Mapping[str, str]) -> str:
    """Say which secrets the network PART lacks among SECRETS; '' if none."""
    lacking = [name for name in of_network(part) if not secrets.get(name)]
    return f"no {', '.join(lacking)} among the secrets" if lacking else ""
