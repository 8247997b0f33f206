"""Warnings about a valid configuration: problems of future runs, such as missing secrets."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from importlib.util import find_spec
from typing import Any

from pi_appliance import plugins
from pi_appliance.config import secrets as secret_names
from pi_appliance.config.options import Config
from pi_appliance.config.triggers import MQTT_PASSWORD, NO_GPIO, NO_MQTT
from pi_appliance.config.yaml_tree import Tree
from pi_appliance.errors import ConfigError, Problem, Refused
from pi_appliance.scheduling import explanation, schedule
from pi_appliance.system.network import is_loopback_only


def config_warnings(tree: Tree, config: Config, secrets: Mapping[str, str], now: datetime) -> list[Problem]:
    """Return the problems of future runs: misleading schedules, missing files and keys."""
    warnings = list(_schedule_lints(tree, config, now))
    for name, job in config.jobs.items():
        for where, wrong, right in job.options.warnings() if hasattr(job.options, "warnings") else ():
            warnings.append(tree.problem(("jobs", name, "with", *where), wrong, right))
    for name, part in config.networks.items():
        if missing := secret_names.missing(part, secrets):
            right = f"run: pi-appliance networks login {name}"
            warnings.append(tree.problem(("networks", name), missing, right, at_key=True))
    warnings += _hotspot_warnings(tree, config, secrets)
    if (
        config.backup
        and config.backup.whole
        and len(secrets.get("BACKUP_PASSPHRASE", "")) < secret_names.MIN_PASSPHRASE
    ):
        right = f"write BACKUP_PASSPHRASE=… with {secret_names.MIN_PASSPHRASE} or more characters into secrets.env"
        warnings.append(tree.problem(("backup", "whole"), "no backup is made without a passphrase", right, at_key=True))
    return [*warnings, *_notifier_warnings(tree, config, secrets), *_trigger_warnings(tree, config, secrets)]


def _hotspot_warnings(tree: Tree, config: Config, secrets: Mapping[str, str]) -> Iterator[Problem]:
    """Yield why the hot spot would not open, or not help, at the moment when it is needed."""
    if config.hotspot is None:
        return
    if is_loopback_only(config.web.host):
        wrong = f"no phone reaches the page over it: the page listens on {config.web.host}"
        yield tree.problem(("hotspot",), wrong, "write host: 0.0.0.0 under web:", at_key=True)
    if 0 < len(secrets.get("HOTSPOT_PASSWORD", "")) < secret_names.MIN_PASSWORD_LENGTH:
        right = f"write {secret_names.MIN_PASSWORD_LENGTH} or more characters into secrets.env"
        yield tree.problem(("hotspot",), "HOTSPOT_PASSWORD is too short, so it does not open", right, at_key=True)


def _schedule_lints(tree: Tree, config: Config, now: datetime) -> Iterator[Problem]:
    jobs: Any = tree.data["jobs"] if isinstance(tree.data, Mapping) and config.jobs else {}
    for name, job in config.jobs.items():
        for place, entry in schedule.find_expressions(jobs[name]["schedule"]) if job.schedule else ():
            for expression in entry.expressions:
                lints = (
                    *explanation.find_lints(expression),
                    *explanation.find_dst_lints(expression, config.zone_of(job), now),
                )
                yield from (tree.problem(("jobs", name, "schedule", *place), wrong, right) for wrong, right in lints)


def _notifier_warnings(tree: Tree, config: Config, secrets: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a warning for each notifier or ping with a missing secret."""
    for name, part in config.notifiers.items():
        if lack := plugins.load("notifiers", part.kind).missing_secrets(part.options, secrets):
            wrong, _, right = lack.partition("; ")
            yield tree.problem(("notifiers", name), wrong, right, at_key=True)
    for name, job in config.jobs.items():
        if missing := secret_names.missing_secrets(job.healthchecks_url or "", secrets):
            wrong = f"missing secrets: {', '.join(missing)}"
            yield tree.problem(("jobs", name, "healthchecks-url"), wrong, "add them to secrets.env")


def _trigger_warnings(tree: Tree, config: Config, secrets: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the triggers that lack a secret or a library."""
    for name, job in config.jobs.items():
        if (hook := job.triggers.webhook) and not secrets.get(hook):
            right = f"run: pi-appliance jobs webhook {name}"
            yield tree.problem(("jobs", name, "triggers", "webhook"), f"missing secrets: {hook}", right)
        if job.triggers.button.pin is not None and find_spec("gpiozero") is None:
            yield tree.problem(("jobs", name, "triggers", "button"), *NO_GPIO.split("; "))
    if config.mqtt is not None:
        if find_spec("aiomqtt") is None:
            yield tree.problem(("mqtt",), *NO_MQTT.split("; "), at_key=True)
        if config.mqtt.user and not secrets.get(MQTT_PASSWORD):
            wrong = f"missing secrets: {MQTT_PASSWORD}"
            yield tree.problem(("mqtt", "user"), wrong, f"write {MQTT_PASSWORD}=… into secrets.env")


def validate_notifiers(tree: Tree, config: Config, secrets: Mapping[str, str]) -> None:
    """Check the options of all notifiers by connecting each one.

    This is slow, because it imports the libraries that send.

    Raises:
        ConfigError: Every notifier whose options were refused.
    """
    problems = []
    for name, part in config.notifiers.items():
        kind = plugins.load("notifiers", part.kind)
        if kind.missing_secrets(part.options, secrets):
            continue  # _notifier_warnings reports it
        try:
            kind.connect(part.options, secrets)
        except Refused as error:
            wrong, _, right = str(error).partition("; ")
            problems.append(tree.problem(("notifiers", name, "with"), wrong, right))
    if problems:
        raise ConfigError(problems)
