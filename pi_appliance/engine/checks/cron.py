"""Checks of the real cron: is it there, and does it know of the jobs that it is to start."""

import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance.config import load
from pi_appliance.engine.checks.patient import UNKNOWN, Patient
from pi_appliance.errors import ApplianceError
from pi_appliance.model.config import Config, RunsBy
from pi_appliance.model.finding import Finding, fail, not_here, ok, told, warn
from pi_appliance.system import cron_file, crontab, trial
from pi_appliance.system.cron_places import SystemCrontab, UserCrontab

_SYSTEM = "etc/cron.d/pi-appliance"
_NONE = "no job of the configuration runs by cron"


@dataclass(frozen=True, slots=True)
class _Place:
    """A table with entries of this configuration: what starts them, and as whom where the table says so."""

    table: SystemCrontab | UserCrontab
    program: list[str]
    user: str | None

    def command(self, word: str, patient: Patient) -> str:
        """Return the command of ours that does WORD to this table."""
        if isinstance(self.table, SystemCrontab):
            return _for_all(word, self.user or "root", patient)
        whose = f" --user-name {shlex.quote(self.table.user)}" if self.table.user else ""
        return f"pi-appliance jobs {word}{whose}{patient.option}"


def cron(patient: Patient) -> Iterator[Finding]:
    """Tell whether there is a cron that runs, where a job needs it."""
    name = "cron"
    if not _wanted(patient.config):
        yield not_here(name, UNKNOWN if patient.trouble else _NONE)
    elif shutil.which("crontab", path=patient.environment.get("PATH", os.defpath)) is None:
        yield fail(name, "it is not installed, and jobs are to run by it", "sudo apt install cron")
    elif not crontab.daemon_runs():
        yield fail(name, "it is installed but does not run", _start(patient))
    else:
        yield ok(name, "it runs")


def _start(patient: Patient) -> str:
    return "sudo systemctl enable --now cron" if patient.systemd.here else "sudo service cron start"


def table(patient: Patient) -> Iterator[Finding]:
    """Tell whether the entries in cron's tables are those of the configuration, and whether cron will read them."""
    name, config = "crontab", patient.config
    if config is None or patient.trouble:
        yield not_here(name, UNKNOWN)
        return
    faults = [
        *cron_file.faults(patient.root / _SYSTEM),
        *cron_file.misnamed((patient.root / _SYSTEM).parent),
    ]
    for fault in faults:
        yield fail(name, fault.why, fault.mend)
    places = list(_places(patient, config))
    if len(places) > 1:
        both = " and ".join(place.table.place for place in places)
        yield warn(name, f"entries stand in two places, {both}; one is enough", places[1].command("uninstall", patient))
    for place in places:
        yield from _compared(name, patient, config, place)
    if not places and _wanted(config):
        why = f"no entry for {', '.join(_wanted(config))}, so cron will not start {_it(config)}"
        yield fail(name, why, _install(patient))
    elif not places and not faults:
        yield not_here(name, _NONE)


def _compared(name: str, patient: Patient, config: Config, place: _Place) -> Iterator[Finding]:
    mend = place.command("install", patient)
    if shutil.which(place.program[0]) is None:
        yield fail(name, f"the entries start {place.program[0]}, which is not there any more", mend)
        return
    zone = ZoneInfo(load.machine_zone())
    try:
        entries = crontab.lines(config, place.program, zone=zone, now=patient.clock.now(), user=place.user)
        plan = place.table.plan(entries)
    except ApplianceError as error:
        yield fail(name, *told(error, place.command("plan", patient)))
        return
    if plan.changes:
        yield fail(name, f"{plan.place} is not in step with the configuration", mend)
    else:
        count = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
        yield ok(name, f"{plan.place}: {count}, in step with the configuration")


def _places(patient: Patient, config: Config) -> Iterator[_Place]:
    """Yield the tables that hold entries of CONFIG, as far as we may look."""
    path = config.path.parent.resolve() / config.path.name
    tables: list[SystemCrontab | UserCrontab] = [SystemCrontab(path, path=patient.root / _SYSTEM), UserCrontab(path)]
    if os.geteuid() == 0 and patient.owner:
        tables.append(UserCrontab(path, user=trial.name_of(patient.owner)))
    for table in tables:
        try:
            text = table.read() or b""
        except ApplianceError:
            continue
        for line in text.decode("utf-8", "surrogateescape").splitlines():
            place = _parse(table, line, path)
            if place is not None:
                yield place
                break


def _parse(table: SystemCrontab | UserCrontab, line: str, path: Path) -> _Place | None:
    """Read an entry of ours: its program, and its user in a table that names one."""
    try:
        words = shlex.split(line.replace("\\%", "%"), comments=True)
        start = words.index("jobs")
        tail = words[start:]
    except ValueError:
        return None
    if tail[1:2] != ["run"] or tail[-2:] != ["--config", str(path)]:
        return None
    head = words[:start][1:] if words[0].startswith("@") else words[:start][5:]
    user = head.pop(0) if isinstance(table, SystemCrontab) and head else None
    return _Place(table, head, user) if head else None


def _install(patient: Patient) -> str:
    """Return the command that puts the entries where they belong: of a service, into the table of the machine."""
    if patient.owner and patient.owner != os.getuid():
        return _for_all("install", trial.name_of(patient.owner), patient)
    return f"pi-appliance jobs install{patient.option}"


def _for_all(word: str, user: str, patient: Patient) -> str:
    return f"sudo pi-appliance jobs {word} --system --user-name {shlex.quote(user)}{patient.option}"


def _wanted(config: Config | None) -> list[str]:
    jobs = config.jobs.values() if config else ()
    return [job.name for job in jobs if job.runs_by is RunsBy.CRON and job.schedule is not None]


def _it(config: Config) -> str:
    return "it" if len(_wanted(config)) == 1 else "them"
