"""The support bundle: data for remote help, without secrets."""

import io
import json
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pi_appliance.config import loader, secret_file, secrets
from pi_appliance.config.redaction import MARK, Redactor
from pi_appliance.config.secrets import secret_names
from pi_appliance.diagnostics import checklist
from pi_appliance.diagnostics.context import DiagnosticContext
from pi_appliance.diagnostics.result import CheckResult
from pi_appliance.errors import ApplianceError
from pi_appliance.scheduling.crontab_files import SystemCrontab, UserCrontab
from pi_appliance.storage import serializers
from pi_appliance.storage.model import Outcome, Run
from pi_appliance.system import files, logs, sensors, systemd

_RUNS = 50
_LOGS = 5  # of the newest runs that did not end well
_TAIL = 20_000  # characters of a log
_JOURNAL = 300  # lines
_GOOD = (None, Outcome.SUCCEEDED, Outcome.SKIPPED)
_README = f"""\
What "pi-appliance doctor --bundle" saw of an appliance, for who is to help.

Every value of secrets.env, and whatever else is called or looks like a secret, was replaced by {MARK}; secrets.env
itself is not in here. Names of jobs, paths, and what jobs printed are. Read it before you send it on.
"""


def write_bundle(path: Path, context: DiagnosticContext, findings: Sequence[CheckResult]) -> list[str]:
    """Write the support file PATH, for our own eyes only, and return what went in. Raises Unavailable."""
    known, whole = _secret_values(context)
    redactor = Redactor(known)
    settings = redactor.settings(_settings(context))  # first: what is secret in it is then known everywhere
    parts = {"configuration.json": _json(settings)}
    for name, make in _PARTS.items():
        if whole or name in _HARMLESS:
            parts |= _made(name, make, context, redactor)
    parts["doctor.json"] = _json(redactor.settings([checklist.result_values(each) for each in findings]))
    left_out = "" if whole else "\nThe secrets could not be read, so runs, logs and journal were left out.\n"
    parts["README.txt"] = _README + left_out
    with files.atomic_write(path, mode=0o600) as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, text in sorted(parts.items()):
            _add(archive, redactor.known(name), redactor.known(text) if name != "README.txt" else text)
    return [f"{redactor.known(name)}, {len(text):,} characters" for name, text in sorted(parts.items())]


def _secret_values(context: DiagnosticContext) -> tuple[frozenset[str], bool]:
    """Return the known secret values, and whether they are complete."""
    known, whole = secrets.values(
        context.path, context.environment, secret_names(context.config) if context.config else ()
    )
    try:
        file = secret_file.of_service(context.path, context.systemd) if context.path else None
        return (known | set(file.values().values()) if file else known), whole
    except (ApplianceError, OSError):
        return known, False


def _made(
    name: str,
    make: Callable[[DiagnosticContext], Iterator[tuple[str, object]]],
    context: DiagnosticContext,
    redactor: Redactor,
) -> dict[str, str]:
    """Make a part. One that cannot be made says why: the others are still of use."""
    try:
        return {
            each: redactor.text(content) if isinstance(content, str) else _json(redactor.settings(content))
            for each, content in make(context)
        }
    except Exception as error:  # noqa: BLE001 - the edge: who looks for a fault must not be stopped by one
        return {f"{name}.txt": redactor.text(f"could not be read: {type(error).__name__}: {error}\n")}


def _settings(context: DiagnosticContext) -> object:
    """Return the file as plain data; only its problems where it is no YAML."""
    if context.path is None:
        return {"trouble": str(context.error)}
    try:
        tree = loader.read_yaml(context.path)
    except ApplianceError as error:
        return {"trouble": str(error)}
    return {"file": str(context.path), "trouble": str(context.error or ""), "content": tree.data}


def _versions(context: DiagnosticContext) -> Iterator[tuple[str, object]]:
    yield "versions.json", {**sensors.system_versions(context.root), "packages": sensors.package_versions()}


def _history(context: DiagnosticContext) -> Iterator[tuple[str, object]]:
    with context.history() as store:
        runs = store.history(limit=_RUNS) if store else []
    yield "runs.json", [serializers.run(run) for run in runs]


def _logs(context: DiagnosticContext) -> Iterator[tuple[str, object]]:
    with context.history() as store:
        runs = store.history(limit=10 * _RUNS) if store else []
    for run in [each for each in runs if each.outcome not in _GOOD and each.attempts][:_LOGS]:
        if text := _tail(context, run):
            yield f"logs/{run.job}-{run.id}.log", text


def _tail(context: DiagnosticContext, run: Run) -> str:
    assert context.config is not None
    text = logs.read_log(context.config.state_dir / "logs" / run.job / f"{run.id}.log")
    if len(text) <= _TAIL:
        return text
    # From the start of a line: half a word might be half a secret, which nobody would know again.
    return f"({len(text) - _TAIL:,} characters before this)\n" + text[-_TAIL:].partition("\n")[2]


def _crontab(context: DiagnosticContext) -> Iterator[tuple[str, object]]:
    path = context.path or Path()
    for table in (SystemCrontab(path, path=context.root / "etc/cron.d/pi-appliance"), UserCrontab(path)):
        try:
            text = (table.read() or b"").decode("utf-8", "replace")
        except ApplianceError as error:
            text = f"--trigger cron {error}"
        ours = [line for line in text.splitlines() if "--trigger cron " in line]
        if ours:
            yield f"crontab/{'system' if isinstance(table, SystemCrontab) else 'user'}.txt", "\n".join(ours) + "\n"


def _units(context: DiagnosticContext) -> Iterator[tuple[str, object]]:
    for name in systemd.packaged_units():
        if (text := context.systemd.installed(name)) is not None:
            yield f"units/{name}", text.decode("utf-8", "replace")


def _journal(context: DiagnosticContext) -> Iterator[tuple[str, object]]:
    if text := context.systemd.journal(systemd.MAIN_UNIT, _JOURNAL):
        yield "journal.txt", text


_PARTS: dict[str, Callable[[DiagnosticContext], Iterator[tuple[str, object]]]] = {
    "versions": _versions,
    "crontab": _crontab,
    "units": _units,
    "runs": _history,
    "logs": _logs,
    "journal": _journal,
}
_HARMLESS = ("versions", "crontab", "units")  # may be shown though it is not known which values are secret


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"


def _add(archive: tarfile.TarFile, name: str, text: str) -> None:
    content = text.encode("utf-8", "backslashreplace")
    about_it = tarfile.TarInfo(f"pi-appliance-doctor/{name}")
    about_it.size, about_it.mode, about_it.mtime = len(content), 0o600, int(time.time())
    archive.addfile(about_it, io.BytesIO(content))
