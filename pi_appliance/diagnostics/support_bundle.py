"""The support bundle: a tar.gz with facts about one appliance for remote help, without secrets."""

import io
import json
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pi_appliance.config import loader, secret_writer, secrets
from pi_appliance.config.redaction import MARK, Redactor
from pi_appliance.config.secrets import secret_names
from pi_appliance.diagnostics.context import CheckResult, DiagnosticContext
from pi_appliance.errors import ApplianceError
from pi_appliance.operations import to_json
from pi_appliance.scheduling.crontab import OWN_MARK, SystemCrontab, UserCrontab
from pi_appliance.storage import model
from pi_appliance.storage.model import Outcome, Run
from pi_appliance.storage.run_log import read_log
from pi_appliance.system import files, machine, systemd

_RUNS = 50
_LOGS = 5  # of the latest failed runs
_TAIL = 20_000  # characters of a log
_JOURNAL = 300  # lines
_GOOD = (None, Outcome.SUCCEEDED, Outcome.SKIPPED)
_README = f"""\
The output of "pi-appliance doctor --bundle": facts about one appliance, for remote help.

Every value of secrets.env, and every setting that is named like a secret, was replaced by {MARK}. The file secrets.env
is not included. Names of jobs, paths and the output of jobs are included. Read it before you send it.
"""


def write_bundle(path: Path, context: DiagnosticContext, results: Sequence[CheckResult]) -> list[str]:
    """Write the bundle `path`, mode 0600, and return its content. Raises `Unavailable`."""
    known, is_complete = _secret_values(context)
    redactor = Redactor(known)
    settings = redactor.redact_settings(_settings(context))  # first, because its secrets are then known everywhere
    parts = {"configuration.json": _json(settings)}
    for name, make in _PARTS.items():
        if is_complete or name in _WITHOUT_SECRETS:
            parts |= _make_part(name, make, context, redactor)
    parts["doctor.json"] = _json(redactor.redact_settings(to_json(results)))
    left_out = "" if is_complete else "\nThe secrets could not be read, so runs, logs and journal were left out.\n"
    parts["README.txt"] = _README + left_out
    with files.atomic_write(path, mode=0o600) as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, text in sorted(parts.items()):
            _add(archive, redactor.remove_known(name), redactor.remove_known(text) if name != "README.txt" else text)
    return [f"{redactor.remove_known(name)}, {len(text):,} characters" for name, text in sorted(parts.items())]


def _secret_values(context: DiagnosticContext) -> tuple[frozenset[str], bool]:
    known, whole = secrets.values(
        context.path, context.environment, secret_names(context.config) if context.config else ()
    )
    try:
        file = secret_writer.of_service(context.path, context.systemd) if context.path else None
        return (known | set(file.values().values()) if file else known), whole
    except (ApplianceError, OSError):
        return known, False


def _make_part(
    name: str,
    make: Callable[[DiagnosticContext], Iterator[tuple[str, object]]],
    context: DiagnosticContext,
    redactor: Redactor,
) -> dict[str, str]:
    try:
        return {
            each: redactor.redact_text(content)
            if isinstance(content, str)
            else _json(redactor.redact_settings(content))
            for each, content in make(context)
        }
    except Exception as error:  # noqa: BLE001 - one error must not stop the other parts
        return {f"{name}.txt": redactor.redact_text(f"could not be read: {type(error).__name__}: {error}\n")}


def _settings(context: DiagnosticContext) -> object:
    """Return the file as plain data, or only its problems if it is not YAML."""
    if context.path is None:
        return {"trouble": str(context.error)}
    try:
        tree = loader.read_yaml(context.path)
    except ApplianceError as error:
        return {"trouble": str(error)}
    return {"file": str(context.path), "trouble": str(context.error or ""), "content": tree.data}


def _versions(context: DiagnosticContext) -> Iterator[tuple[str, object]]:
    yield "versions.json", {**machine.system_versions(context.root), "packages": machine.package_versions()}


def _history(context: DiagnosticContext) -> Iterator[tuple[str, object]]:
    with context.history() as store:
        runs = store.history(limit=_RUNS) if store else []
    yield "runs.json", [model.run_fields(run) for run in runs]


def _logs(context: DiagnosticContext) -> Iterator[tuple[str, object]]:
    with context.history() as store:
        runs = store.history(limit=10 * _RUNS) if store else []
    for run in [each for each in runs if each.outcome not in _GOOD and each.attempts][:_LOGS]:
        if text := _tail(context, run):
            yield f"logs/{run.job}-{run.id}.log", text


def _tail(context: DiagnosticContext, run: Run) -> str:
    assert context.config is not None
    text = read_log(context.config.state_dir / "logs" / run.job / f"{run.id}.log")
    if len(text) <= _TAIL:
        return text
    # From the start of a line: a part of a secret would not be recognized.
    return f"({len(text) - _TAIL:,} characters before this)\n" + text[-_TAIL:].partition("\n")[2]


def _crontab(context: DiagnosticContext) -> Iterator[tuple[str, object]]:
    path = context.path or Path()
    for table in (SystemCrontab(path, path=context.root / "etc/cron.d/pi-appliance"), UserCrontab(path)):
        try:
            text = (table.read() or b"").decode("utf-8", "replace")
        except ApplianceError as error:
            text = f"{OWN_MARK}{error}"
        ours = [line for line in text.splitlines() if OWN_MARK in line]
        if ours:
            yield f"crontab/{'system' if isinstance(table, SystemCrontab) else 'user'}.txt", "\n".join(ours) + "\n"


def _units(context: DiagnosticContext) -> Iterator[tuple[str, object]]:
    for name in systemd.packaged_units():
        if (text := context.systemd.installed_unit(name)) is not None:
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
_WITHOUT_SECRETS = ("versions", "crontab", "units")


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n"


def _add(archive: tarfile.TarFile, name: str, text: str) -> None:
    content = text.encode("utf-8", "backslashreplace")
    about_it = tarfile.TarInfo(f"pi-appliance-doctor/{name}")
    about_it.size, about_it.mode, about_it.mtime = len(content), 0o600, int(time.time())
    archive.addfile(about_it, io.BytesIO(content))
