"""Add, change, copy and remove jobs in the configuration file.

Only values that differ are written, so that the rest of an entry stays byte for byte. Programs are
neither added nor changed here (config/hidden_programs.py).
"""

import contextlib
import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from textwrap import dedent, indent
from typing import Any

from pi_appliance.config import editing, hidden_programs, loader
from pi_appliance.config.config_file import Change, ConfigFile, EarlierText
from pi_appliance.config.options import Config, Job
from pi_appliance.config.yaml_tree import Tree, YamlPath, parse_yaml
from pi_appliance.errors import ConfigError, InvalidOption, Refused, UnknownName, suggest
from pi_appliance.jobs.job_fields import COMMAND, JobField, fields_of, value_at
from pi_appliance.scheduling.appliance import Appliance

Changes = Mapping[YamlPath, object]
"""New values by the paths of their keys; None removes a key."""
MACHINE_ONLY = "programs are added and changed on the machine only"


class InvalidJob(InvalidOption):
    """The values of a job are wrong. `by_key` has the message of each key, such as with.lines."""

    def __init__(self, name: str, problems: Mapping[YamlPath, str]) -> None:
        self.by_key = {".".join(map(str, path)): text for path, text in problems.items()}
        texts = [f"{key}: {text}" if key else text for key, text in self.by_key.items()]
        super().__init__(f"{name} cannot be like this: " + "; also ".join(texts))


def version_of(job: Job) -> str:
    """Return a text that changes whenever the entry of `job` changes."""
    return hashlib.sha256(repr(job).encode()).hexdigest()[:12]


def entry_of(config: Config, name: str) -> dict[str, Any]:
    """Return the entry of the job `name` in the file, as plain data. Raises UnknownName."""
    _job(config, name)
    return dict(value_at(_parse(config.text).data, ("jobs", name)) or {})


@lru_cache(maxsize=1)  # a form needs the file in use several times
def _parse(text: str) -> Tree:
    return parse_yaml(text, "")


def parse_assignments(
    fields: Sequence[JobField], texts: Sequence[str], entry: Mapping[str, Any]
) -> dict[YamlPath, object]:
    """Return the changes of `texts` such as with.network=preview. Raises InvalidOption."""
    by_name = {field.name: field for field in fields}
    changes: dict[YamlPath, object] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        field = by_name.get(key.strip())
        if not equals or field is None:
            hint = suggest(key.strip(), list(by_name)) if equals else "write KEY=VALUE, such as with.network=preview"
            raise InvalidOption(f"{key.strip()!r} is not a key that can be changed here; {hint}")
        changes[field.path] = field.for_value(entry).parse(value, value_at(entry, field.path))
    return changes


def parse_yaml_text(text: str) -> object:
    """Return the value that `text` has in YAML for a schedule or a chance, also without quotes."""
    try:
        value = parse_yaml(text, "value").data
    except ConfigError:  # @daily and */5 need quotes in YAML
        return text
    return value if isinstance(value, (Mapping, list)) else text


def add_job(file: ConfigFile, name: str, kind: str, changes: Changes) -> str:
    """Add a job, and return its name. Raises as `ConfigFile.edit` does."""
    if kind == COMMAND:
        raise Refused(f"a job of kind {COMMAND} would start a program; {MACHINE_ONLY}")
    added = ""

    def add(data: Any, config: Config) -> object:
        nonlocal added
        added = new_name(name, "", config.jobs)
        fields_of(kind, config)  # raises UnknownName for an unknown kind
        entry: object = {"kind": kind}
        for path, value in changes.items():
            if value is not None:
                entry = editing.set_value(entry, path, value)
        return editing.set_value(data, ("jobs", added), _checked(added, entry, file))

    edit_file(file, add)
    return added


def edit_job(file: ConfigFile, name: str, changes: Changes, version: str | None = None) -> None:
    """Change the keys of `changes` that differ.

    Raises:
        UnknownName: There is no such job.
        InvalidJob: The new values are wrong.
        Refused: The job has changed since `version`, or a program would change.
    """

    def change(data: Any, config: Config) -> object:
        job = _job(config, name)
        require_version(job, version)
        entry: Any = data["jobs"][name]
        for path, value in changes.items():
            before = value_at(entry, path)
            if value is None and before is not None:
                entry = _without(entry, path)
            elif value is not None and not editing.same(before, value):
                entry = editing.set_value(entry, path, value)
        return editing.set_value(data, ("jobs", name), _checked(name, entry, file))

    edit_file(file, change)


def _checked(name: str, entry: Any, file: ConfigFile) -> object:
    if problems := loader.find_job_problems(name, entry, file.path.parent):
        raise InvalidJob(name, problems)
    return entry


def _without(entry: object, path: YamlPath) -> object:
    """Return `entry` without the key at `path`, and without the section that is empty then."""
    entry = editing.remove_value(entry, path)
    section = path[:-1]
    return editing.remove_value(entry, section) if section and value_at(entry, section) == {} else entry


def copy_job(file: ConfigFile, name: str, copy_name: str | None, reserved: Collection[str] = ()) -> str:
    """Add a copy of the job `name`, and return its name."""
    copy = ""

    def add(data: Any, config: Config) -> object:
        nonlocal copy
        _job(config, name)
        copy = new_name(copy_name, re.sub(r"-\d$", "", name), config.jobs, reserved)
        return editing.set_value(data, ("jobs", copy), data["jobs"][name])

    edit_file(file, add)
    return copy


def remove_job(file: ConfigFile, name: str) -> None:
    """Remove the job `name` from the file."""

    def remove(data: Any, config: Config) -> object:
        _job(config, name)
        return editing.remove_value(data, ("jobs", name))

    edit_file(file, remove)


@dataclass(frozen=True, slots=True)
class DeletedJob:
    """A job that the last change of the file removed. `before` is the text that still has it."""

    job: str
    before: EarlierText


def find_deleted(file: ConfigFile, name: str) -> DeletedJob | None:
    """Return the job `name` if the last change of the file removed it."""
    before = next(iter(file.earlier_texts()), None) if name else None
    if before is None:
        return None
    with contextlib.suppress(ConfigError):  # one of the texts is wrong
        texts = file.earlier_text(before.name), file.read()[0]
        had, has = (name in (value_at(parse_yaml(text, name).data, ("jobs",)) or {}) for text in texts)
        return DeletedJob(name, before) if had and not has else None
    return None


def require_idle(appliance: Appliance, name: str) -> None:
    """Raise Refused if a run of the job `name` is active."""
    appliance.job(name)
    appliance.sweep()
    if active := appliance.store.active_runs(name):
        raise Refused(f"{name} is running, as run {active[0].id}; cancel it or wait, then remove the job")


def forget(appliance: Appliance, name: str) -> None:
    """Delete the pause, the skipped slot and the requests of the removed job `name`."""
    requests = appliance.store.requests
    appliance.store.slots.delete_pause(name)
    requests.set_skipped_slot(name, None)
    for request in requests.pending(name):
        requests.remove(request.id)


def move_state(appliance: Appliance, old: str, new: str) -> None:
    """Give the job `new` the pause, the skipped slot and the requests of the renamed job `old`."""
    slots, requests = appliance.store.slots, appliance.store.requests
    forget(appliance, new)  # the state of an earlier job of that name, which was removed in an editor
    if pause := slots.pauses().get(old):
        slots.pause(new, since=pause.since, until=pause.until)
    requests.set_skipped_slot(new, requests.skipped_slot(old))
    for request in requests.pending(old):
        requests.add(new, request.run_at, request.arguments, now=request.created_at)
    forget(appliance, old)


def require_version(job: Job, version: str | None) -> None:
    """Raise Refused if `job` has changed since `version`; None accepts any."""
    if version not in (None, version_of(job)):
        raise Refused(f"{job.name} was changed by somebody else in the meantime; look at it again, then change it")


def new_name(text: str | None, base: str, jobs: Collection[str], reserved: Collection[str] = ()) -> str:
    """Return `text` as the name of a job, or `base` with a number if it is taken.

    Raises:
        InvalidOption: `text` cannot be a name, or is taken.
    """
    if text is None:
        names = [base, *(f"{base}-{number}" for number in range(2, len(jobs) + 3))]
        return next(each for each in names if each not in jobs)
    name = re.sub(r"[^a-z0-9]+", "-", text.casefold()).strip("-")[:60].strip("-")
    if not name or name in reserved:
        raise InvalidOption(f"{text!r} cannot be a name; write another one, such as wake-up")
    if name in jobs:
        raise InvalidOption(f"there is already a job called {name}; choose another name")
    return name


def edit_file(file: ConfigFile, change: Callable[[Any, Config], object]) -> None:
    """Change the content of `file` to the result of `change`.

    `change` gets the data of the file and the configuration.

    Raises:
        Refused: A program would be added or changed.
    """

    def checked(data: object) -> object:
        wanted = change(data, loader.load_config(file.path))
        hidden_programs.require_same_programs(wanted, data)
        return wanted

    file.edit(checked)


def _job(config: Config, name: str) -> Job:
    if name not in config.jobs:
        raise UnknownName("job", name, tuple(config.jobs))
    return config.jobs[name]


# The entry as text


def block_text(text: str, name: str) -> str:
    """Return the YAML below the name of the job in the file `text`, without its programs."""
    shown = hidden_programs.hide_programs(_excerpt(text, name))
    start, end = _block_span(shown, name)
    return dedent(shown[start:end]).strip()


def _excerpt(text: str, name: str) -> str:
    """Return a file with only the job `name`, or the whole `text` if the job needs other parts."""
    tree, lines = _parse(text), text.split("\n")
    first, column = tree.keys["jobs", name]
    last = min(
        (line for path, (line, _) in tree.keys.items() if len(path) < 3 and line > first), default=len(lines) + 1
    )
    excerpt = "\n".join(["jobs:", *lines[first - 1 : last - 1]])
    try:
        is_same = parse_yaml(excerpt, "").data == {"jobs": {name: value_at(tree.data, ("jobs", name))}}
    except ConfigError:  # the job may use an alias that another part defines
        is_same = False
    return excerpt if is_same and not lines[first - 1][: column - 1].strip() else text


def _block_span(text: str, name: str) -> tuple[int, int]:
    """Return where the entry of a job begins and ends, without a comment beside the job's name."""
    start, end = editing.value_span(text, ("jobs", name))
    rest = text[start:end].partition("\n")[0]
    return (start + len(rest) + 1 if not rest.strip() or rest.strip().startswith("#") else start), end


def replace_block(file: ConfigFile, name: str, block: str, version: str | None) -> Change:
    """Replace the YAML of a job by `block`; its programs stay.

    Raises:
        ConfigError: The new text is wrong; nothing was changed.
        Refused: A program would be added or changed, or the job has changed since `version`.
    """
    config = loader.load_config(file.path)
    require_version(_job(config, name), version)
    before, file_version = file.read()
    shown = hidden_programs.hide_programs(before)
    start, end = _block_span(shown, name)
    block = dedent(block.replace("\r\n", "\n")).strip("\n")
    is_below = shown[start - 1] == "\n"
    key = shown[: start - 1 if is_below else start].rpartition("\n")[2]
    new = indent(block, " " * (len(key) - len(key.lstrip(" ")) + 2))
    if not is_below:
        new = f" {block}" if "\n" not in block and block.startswith("{") else f"\n{new}"
    text = hidden_programs.restore_programs(shown[:start] + new + shown[end:], before)
    return file.replace(text, expected=file_version)
