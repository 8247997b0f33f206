"""Load appliance.yaml. All problems are reported together."""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pi_appliance import plugins
from pi_appliance.config import secrets as secret_names
from pi_appliance.config import units
from pi_appliance.config.binding import structure, structure_usable
from pi_appliance.config.last_good import last_good_path
from pi_appliance.config.options import Config, Job, Notify, PluginConfig, StartedBy
from pi_appliance.config.yaml_tree import Tree, YamlPath, decode_text, parse_yaml
from pi_appliance.errors import ConfigError, InvalidOption, Problem, UnknownName, suggest
from pi_appliance.scheduling.schedule import Every
from pi_appliance.system import files
from pi_appliance.system.files import display_path

_STATE_DIRS = ("/var/lib/pi-appliance", "~/.local/state/pi-appliance", "state")
"""State folders of the service and of `config init`, for a file that does not name its own."""


def load_config(path: Path, text: str | None = None) -> Config:
    """Read the configuration `path`, or `text` as if it were the file's.

    Raises:
        ConfigError: The configuration has problems. It contains all of them.
    """
    path = path.absolute()
    text = _read_text(path) if text is None else text
    tree = parse_yaml(text, display_path(path))
    if not isinstance(tree.data, Mapping):
        raise ConfigError([*tree.problems, tree.problem((), "the file has no keys", 'see "pi-appliance config init"')])
    data = {"time-zone": local_zone(), **tree.data}
    config, problems = structure_usable(tree, (), data, Config, path.parent)
    assert config is not None
    options, more = _plugin_options(tree, path.parent)
    jobs = {name: replace(job, name=name, options=options.get(("jobs", name))) for name, job in config.jobs.items()}
    problems += [*tree.problems, *more, *_name_problems(tree), *_schedule_problems(tree, jobs)]
    problems += [*_unknown_networks(tree, jobs), *_chain_problems(tree, jobs)]
    problems += [*_notifier_problems(tree, config), *_trigger_problems(tree, config)]
    if problems:
        raise ConfigError(problems)
    jobs = {name: replace(job, timeout=_timeout(_entries(tree, "jobs")[name], job)) for name, job in jobs.items()}
    networks = {name: replace(part, options=options["networks", name]) for name, part in config.networks.items()}
    notifiers = {name: replace(part, options=options["notifiers", name]) for name, part in config.notifiers.items()}
    player = config.player and replace(config.player, options=options[("player",)])
    return replace(config, path=path, text=text, jobs=jobs, networks=networks, notifiers=notifiers, player=player)


def read_yaml(path: Path) -> Tree:
    """Read the YAML file `path`. Raises `ConfigError`."""
    return parse_yaml(_read_text(path), display_path(path))


def _read_text(path: Path) -> str:
    file = display_path(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        missing = isinstance(error, (FileNotFoundError, IsADirectoryError, NotADirectoryError))
        hint = "check its name" if missing else files.access_advice(path)
        raise ConfigError([Problem(file, 1, 1, f"cannot be read: {error.strerror}", hint)]) from None
    return decode_text(raw, file)


def local_zone() -> str:
    """Return the IANA name of the time zone of this process: $TZ, else the machine's."""
    zone = os.environ.get("TZ", "").lstrip(":")
    return (_zone_of(zone) if zone.startswith("/") else zone) or machine_zone()


def machine_zone() -> str:
    """Return the IANA name of the time zone of the machine, by default UTC."""
    name = _zone_of("/etc/localtime")
    try:
        return ZoneInfo(name).key if name else "UTC"
    except (KeyError, ValueError, OSError):
        return "UTC"


def _zone_of(file: str) -> str:
    """Return the name of the time zone whose file `file` is or links to, or ''."""
    return os.path.realpath(file).partition("zoneinfo/")[2]


def _entries(tree: Tree, family: str) -> Mapping[str, Any]:
    """Return the entries of the section `family`, whether they are valid or not."""
    section = tree.data.get(family) if isinstance(tree.data, Mapping) else None
    return section if isinstance(section, Mapping) else {}


def _plugin_options(tree: Tree, base: Path) -> tuple[dict[YamlPath, Any], list[Problem]]:
    """Convert each `with:` to the `Options` of its kind, by the path of its entry.

    They are None if they are invalid. Other parts of the file may be invalid.
    """
    options: dict[YamlPath, Any] = {}
    problems: list[Problem] = []
    entries = [((family, name), family, entry) for family in _NAMED for name, entry in _entries(tree, family).items()]
    for path, family, entry in [*entries, (("player",), "players", _entries(tree, "player"))]:
        kind = entry.get("kind") if isinstance(entry, Mapping) else None
        if not isinstance(kind, str):
            continue  # the wrong entry is reported elsewhere, or no player is configured
        try:
            module = plugins.load(family, kind)
        except UnknownName:
            word = plugins.label(family)
            right = suggest(kind, plugins.names(family))
            problems.append(tree.problem((*path, "kind"), f"no {word} is called {kind!r}", right))
            continue
        options[path], more = structure(tree, (*path, "with"), entry.get("with"), module.Options, base)
        problems += more
    return options, problems


_NAMED = ("networks", "notifiers", "jobs")  # sections whose entries have a name and a kind
_NAME = re.compile("(?!-)[a-z0-9-]{1,60}(?<!-)")


def _name_problems(tree: Tree) -> Iterator[Problem]:
    """Yield the names of networks, notifiers and jobs that cannot be the names of files."""
    for family in _NAMED:
        for name in _entries(tree, family):
            if not _NAME.fullmatch(name):
                right = "use up to 60 small letters, digits and -, such as nightly-puzzles"
                yield tree.problem((family, name), f"{name!r} cannot be a name", right, at_key=True)


def _schedule_problems(tree: Tree, jobs: Mapping[str, Job]) -> Iterator[Problem]:
    """Yield conflicts between the schedule of a job and its other keys."""
    for name, job in jobs.items():
        path, entry = ("jobs", name), _entries(tree, "jobs")[name]
        if entry.get("schedule") is None and (job.chance is not None or "started-by" in entry):
            key = "chance" if job.chance is not None else "started-by"
            yield tree.problem((*path, key), f"{key!r} needs a schedule", "add schedule: …", at_key=True)
        if job.started_by is StartedBy.CRON and isinstance(job.schedule, Every):
            right = "write a cron expression such as */15 * * * *, or started-by: daemon"
            yield tree.problem((*path, "schedule"), "cron does not know `every`", right)
        if job.started_by is StartedBy.CRON and job.catch_up.max_age:
            right = "write started-by: daemon"
            yield tree.problem((*path, "catch-up"), "cron does not catch up missed slots", right, at_key=True)
        if job.depends_on and job.schedule is not None:
            right = "leave one of them out"
            yield tree.problem((*path, "depends-on"), "a job has either a schedule or `depends-on`", right, at_key=True)


def _timeout(written: Mapping[str, Any], job: Job) -> timedelta:
    """Return the timeout of `job`: the one in the file, else the default of its kind."""
    if "timeout" in written:
        return job.timeout
    default: timedelta = getattr(plugins.load("jobs", job.kind), "TIMEOUT", job.timeout)
    return default


def _chain_problems(tree: Tree, jobs: Mapping[str, Job]) -> Iterator[Problem]:
    """Yield unknown jobs under `depends-on`, and jobs that depend on themselves."""
    names = tuple(_entries(tree, "jobs"))
    for name, job in jobs.items():
        for number, before in enumerate(job.depends_on):
            path = ("jobs", name, "depends-on", number)
            if before not in names:
                yield tree.problem(path, f"no job is called {before!r}", suggest(before, names))
            elif name in _all_before(before, jobs):
                yield tree.problem(path, f"{name} depends on itself", "remove one job from the cycle")


def _all_before(name: str, jobs: Mapping[str, Job]) -> set[str]:
    """Return `name` and all jobs that must succeed before it."""
    result, pending = set[str](), [name]
    while pending:
        each = pending.pop()
        if each not in result and each in jobs:
            result.add(each)
            pending += jobs[each].depends_on
    return result


def _unknown_networks(tree: Tree, jobs: Mapping[str, Job]) -> Iterator[Problem]:
    networks, names = tuple(_entries(tree, "networks")), tuple(_entries(tree, "jobs"))
    for name, job in jobs.items():
        named = getattr(job.options, "network", None) or ()
        written: Any = tree.data
        several = bool(named) and isinstance(written["jobs"][name]["with"]["network"], list)
        for number, network in enumerate(named):
            if network not in networks:
                which: YamlPath = (number,) if several else ()
                path = ("jobs", name, "with", "network", *which)
                yield tree.problem(path, f"no network is called {network!r}", suggest(network, networks))
        report_from = getattr(job.options, "report_from", None)
        if report_from is not None and report_from not in names:
            where = ("jobs", name, "with", "report-from")
            yield tree.problem(where, f"no job is called {report_from!r}", suggest(report_from, names))


_SECTION = re.compile(r"^(?=[^\s#])", re.MULTILINE)
_NEED_OPTIONS = ("jobs", "player", "notifiers")  # useless without their options


def load_partial(path: Path) -> Config | None:
    """Return the valid sections of the file `path`; None if it does not name its state folder."""
    path = path.absolute()
    try:
        text = decode_text(path.read_bytes(), path.name)
    except (OSError, ConfigError):
        return None
    good: dict[str, object] = {"time-zone": local_zone()}
    for section in _SECTION.split(text):
        good |= _good_keys(section, path)
    config, _ = structure(Tree(path.name), (), good, Config, path.parent)
    networks: Any = good.get("networks") or {}
    valid = {name: load_plugin("networks", entry, path.parent) for name, entry in networks.items()}
    return config and replace(config, networks={name: part for name, part in valid.items() if part})


def load_usable(path: Path, state_dir: Path | None = None) -> Config:
    """Read the configuration `path`; if it is wrong, its last good copy, with `error` set.

    Args:
        path: The file. Relative paths in its copy are relative to its folder, too.
        state_dir: The folder of the copy, if it is known.

    Raises:
        ConfigError: The file is wrong, and there is no good copy.
    """
    path = path.absolute()
    try:
        return load_config(path)
    except ConfigError as error:
        for folder in [state_dir] if state_dir else find_state_dirs(path):
            with contextlib.suppress(OSError, UnicodeError, ConfigError):
                config = load_config(path, last_good_path(path, folder).read_text("utf-8"))
                return replace(config, state_dir=folder, error=error)
        raise


def find_state_dirs(path: Path) -> list[Path]:
    """Return the folders in which the copy of the wrong file `path` may be."""
    partial = load_partial(path)
    places = [*os.environ.get("STATE_DIRECTORY", "").split(":"), *_STATE_DIRS]
    usual = [path.parent / os.path.expanduser(each) for each in places if each]  # noqa: PTH111 - pathlib raises without a home
    return [*([partial.state_dir] if partial else []), *usual]


def load_plugin(family: str, entry: object, base: Path) -> PluginConfig | None:
    """Return the network or notifier of the plain data `entry`, or None if it is invalid."""
    tree = Tree("")
    part, _ = structure(tree, (), entry, PluginConfig, base)
    if part is None or part.kind not in plugins.names(family):
        return None
    options, _ = structure(tree, (), part.options, plugins.load(family, part.kind).Options, base)
    return None if options is None else replace(part, options=options)


def _good_keys(section: str, path: Path) -> Mapping[str, object]:
    try:
        tree = parse_yaml(section, path.name)
    except ConfigError:
        return {}
    data = tree.data if isinstance(tree.data, dict) else {}
    return {
        key: value
        for key, value in data.items()
        if key not in _NEED_OPTIONS and structure(tree, (), {"state-dir": ".", key: value}, Config, path.parent)[0]
    }


def find_job_problems(name: str, entry: Mapping[str, object], base: Path) -> dict[YamlPath, str]:
    """Return the problems of the job `name` by the paths of the keys in its `entry`.

    Only those of the entry itself are found: other parts of the file are not known here.

    Args:
        name: The name of the job.
        entry: Its plain data.
        base: The folder of relative file names.
    """
    tree, path = _PathTree(name, {"jobs": {name: entry}}), ("jobs", name)
    job, _ = structure_usable(tree, path, entry, Job, base)
    _plugin_options(tree, base)
    list(_name_problems(tree))
    list(_schedule_problems(tree, {name: job} if job else {}))
    return {where[len(path) :]: text for where, text in tree.found.items()}


@dataclass(slots=True)
class _PathTree(Tree):
    """A tree without a file. It keeps the texts of problems, by their paths and with their keys."""

    found: dict[YamlPath, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def problem(self, path: YamlPath, wrong: str, right: str = "", *, at_key: bool = False) -> Problem:
        text = units.join_clauses(wrong, right)
        self.found[path] = f"{self.found[path]}; also {text}" if path in self.found else text
        self.texts.append(text if at_key or not path else f"{'.'.join(map(str, path))}: {text}")
        return Problem(self.file, 0, 0, wrong, right)


def override_options(config: Config, job: Job, overrides: Mapping[str, object]) -> Any:
    """Return the options of `job` with the keys of `overrides`.

    A key with the value None is removed.

    Raises:
        InvalidOption: A key or value is invalid.
    """
    if not overrides:
        return job.options
    merged = {
        key: value for key, value in {**_configured_options(config, job), **overrides}.items() if value is not None
    }
    tree, kind = _PathTree(job.name), plugins.load("jobs", job.kind)
    new_options, _ = structure(tree, (), merged, kind.Options, config.path.parent)
    if tree.texts:
        raise InvalidOption(f"{job.name} cannot run with these options: {'; also '.join(tree.texts)}")
    return new_options


def _configured_options(config: Config, job: Job) -> Mapping[str, object]:
    data: Any = parse_yaml(config.text, display_path(config.path)).data
    try:
        return dict(data["jobs"][job.name]["with"] or {})
    except (KeyError, TypeError):
        return {}


_PING = "https://hc-ping.com/${HC_BACKUP}"


def _notifier_problems(tree: Tree, config: Config) -> Iterator[Problem]:
    """Yield unknown names in `on-failure` and `on-recovery`, and invalid ping addresses."""
    yield from _unknown_notifiers(tree, (), config.notify)
    for name, job in config.jobs.items():
        path = ("jobs", name)
        yield from _unknown_notifiers(tree, path, job.notify)
        if job.healthchecks_url is not None and (problem := _find_ping_problem(job.healthchecks_url)):
            yield tree.problem((*path, "healthchecks-url"), *problem)


def _unknown_notifiers(tree: Tree, path: YamlPath, notify: Notify) -> Iterator[Problem]:
    known = tuple(_entries(tree, "notifiers"))
    for key, names in (("on-failure", notify.on_failure), ("on-recovery", notify.on_recovery)):
        for number, name in enumerate(names or ()):
            if name not in known:
                hint = suggest(name, known)
                yield tree.problem((*path, "notify", key, number), f"no notifier is called {name!r}", hint)


def _find_ping_problem(address: str) -> tuple[str, str] | None:
    problem = secret_names.find_address_problem(address, _PING)
    if problem is None and not address.startswith(("https://", "http://", "${")):
        return "a ping goes to a web address", f"write one such as {_PING}"
    return problem


def _trigger_problems(tree: Tree, config: Config) -> Iterator[Problem]:
    """Yield the triggers that need another section of the file."""
    data: Any = tree.data
    for name, job in config.jobs.items():
        if job.triggers.mqtt.topic and data.get("mqtt") is None:
            path = ("jobs", name, "triggers", "mqtt")
            yield tree.problem(path, "no MQTT broker is named", "add a section such as mqtt: {host: 192.168.1.2}")
    buttons = [(name, job.triggers.button) for name, job in config.jobs.items() if job.triggers.button.pin is not None]
    pulls = {button.pin: button.pull_up for _, button in reversed(buttons)}
    for name, button in buttons:
        if button.pull_up is not pulls[button.pin]:
            where = ("jobs", name, "triggers", "button", "pull-up")
            yield tree.problem(where, f"another job has another value for pin {button.pin}", "write the same one")
