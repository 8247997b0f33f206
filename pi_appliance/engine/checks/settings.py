"""Checks of what the owner wrote: the configuration, the secrets, the keys that networks need."""

import os
import shlex
from collections.abc import Iterator, Mapping

from pi_appliance.config import load, secret_names
from pi_appliance.engine.checks.patient import UNKNOWN, Patient
from pi_appliance.errors import ApplianceError, ConfigError
from pi_appliance.model.config import Config
from pi_appliance.model.finding import Finding, fail, not_here, ok, told, warn
from pi_appliance.system import credentials, secrets, trial

_CHECK = "pi-appliance config check"


def configuration(patient: Patient) -> Iterator[Finding]:
    """Tell every problem of the file, what the next runs would stumble over, and that the stations can be read."""
    name = "configuration"
    if patient.path is None:
        yield fail(name, str(patient.trouble), "pi-appliance config init ~/appliance")
        return
    if isinstance(patient.trouble, ConfigError):
        first, *more = map(str, patient.trouble.problems)
        count = f" (and {len(more)} more)" if more else ""
        yield fail(name, first + count, f"{_CHECK}{patient.option}")
        return
    assert patient.config is not None
    config, mend = patient.config, f"{_CHECK}{patient.option}"
    stumbles = list(_stumbles(config))
    try:
        stations = f", {_count(load.load_stations(config.stations), 'station')}" if config.stations else ""
    except ConfigError as error:
        stations = ""
        yield fail(name, str(error.problems[0]), mend)
    for each in stumbles:
        yield warn(name, each, mend)
    if not stumbles:
        counts = f"{_count(config.jobs, 'job')}, {_count(config.networks, 'network')}{stations}"
        yield ok(name, f"{load.shown(config.path)}: {counts}")


def _stumbles(config: Config) -> Iterator[str]:
    for job in config.jobs.values():
        for _, wrong, right in job.with_.warnings() if hasattr(job.with_, "warnings") else ():
            yield f"{job.name}: {wrong}; {right}"


def _count(things: object, word: str) -> str:
    number = len(things)  # type: ignore[arg-type]
    return f"{number} {word}{'' if number == 1 else 's'}"


def keys(patient: Patient) -> Iterator[Finding]:
    """Tell whether the secrets can be read by who needs them, and by nobody else. No value is shown."""
    name, mend = "secrets", f"{_CHECK}{patient.option}"
    if patient.path is None:
        yield not_here(name, "without a configuration there are none")
        return
    file = patient.path.parent / secrets.NAME
    try:
        found = credentials.load(patient.path, patient.environment, _names(patient), patient.systemd)
        place = credentials.of_service(patient.path, patient.systemd)
    except ApplianceError as error:
        if patient.is_us:
            yield fail(name, *told(error, mend))
        else:
            yield warn(name, f"{file} is not for {trial.name_of(os.geteuid())} to read", patient.as_owner)
        return
    about = f"{len(found)} known: {', '.join(sorted(found))}" if found else "none are given"
    owner = file.stat().st_uid if file.exists() and place is None else None
    if owner is not None and patient.owner not in (None, owner):
        user, quoted = trial.name_of(patient.owner or 0), shlex.quote(str(file))
        why = f"{file} belongs to {trial.name_of(owner)}, so that the appliance, which is {user}'s, cannot read it"
        yield fail(name, why, f"sudo chown {user} {quoted}")
    else:
        yield ok(name, about)


def networks(patient: Patient) -> Iterator[Finding]:
    """Tell for each network whether what it needs is there."""
    if patient.config is None or not patient.config.networks:
        yield not_here("networks", UNKNOWN if patient.trouble else "the configuration names none")
        return
    try:
        known: Mapping[str, str] = credentials.load(
            patient.config.path, patient.environment, _names(patient), patient.systemd
        )
    except ApplianceError:
        yield not_here("networks", "the secrets cannot be read, see there")
        return
    used = {name for job in patient.config.jobs.values() for name in getattr(job.with_, "network", None) or ()}
    for name, part in patient.config.networks.items():
        check = f"network {name}"
        if lack := secret_names.missing(part, known):
            yield (fail if name in used else warn)(check, lack, _login(patient, name))
        else:
            wants = secret_names.of_network(part)
            yield ok(check, f"{part.kind}: {'every key is there' if wants else 'needs no keys'}")


def _names(patient: Patient) -> frozenset[str]:
    return secret_names.secret_names(patient.config) if patient.config else frozenset()


def _login(patient: Patient, name: str) -> str:
    """Return the command that gets the keys of the network NAME: as root, where the folder of the secrets is root's."""
    assert patient.path is not None
    folder, owner = patient.path.parent.stat().st_uid, patient.owner
    return f"{'sudo ' if folder == 0 and owner else ''}pi-appliance networks login {name}{patient.option}"
