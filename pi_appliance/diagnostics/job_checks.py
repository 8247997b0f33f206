"""Checks of the real cron: is it there, and does it know of the jobs that it is to start."""

import os
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance.config import loader, units
from pi_appliance.config.model import Config, Job, StartedBy
from pi_appliance.diagnostics.context import UNKNOWN, DiagnosticContext
from pi_appliance.diagnostics.result import CheckResult, error_result, fail, ok, skipped, warn
from pi_appliance.errors import ApplianceError
from pi_appliance.scheduling import cron, crontab
from pi_appliance.scheduling.crontab_files import SystemCrontab, UserCrontab
from pi_appliance.scheduling.model import AtBoot
from pi_appliance.storage.job_health import latest_significant_run
from pi_appliance.storage.model import Outcome, Run
from pi_appliance.storage.runs import Store
from pi_appliance.system import files

_SYSTEM = "etc/cron.d/pi-appliance"
_NONE = "no job of the configuration runs by cron"


@dataclass(frozen=True, slots=True)
class _Place:
    """A table with entries of this configuration: what starts them, and as whom where the table says so."""

    table: SystemCrontab | UserCrontab
    program: list[str]
    user: str | None

    def command(self, word: str, context: DiagnosticContext) -> str:
        """Return the command of ours that does WORD to this table."""
        if isinstance(self.table, SystemCrontab):
            return _for_all(word, self.user or "root", context)
        whose = f" --user-name {shlex.quote(self.table.user)}" if self.table.user else ""
        return f"pi-appliance jobs {word}{whose}{context.option}"


def check_cron(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Tell whether there is a cron that runs, where a job needs it."""
    name = "cron"
    if not _wanted(context.config):
        yield skipped(name, UNKNOWN if context.error else _NONE)
    elif shutil.which("crontab", path=context.environment.get("PATH", os.defpath)) is None:
        yield fail(name, "it is not installed, and jobs are to run by it", "sudo apt install cron")
    elif not crontab.daemon_runs():
        yield fail(name, "it is installed but does not run", _start(context))
    else:
        yield ok(name, "it runs")


def _start(context: DiagnosticContext) -> str:
    return "sudo systemctl enable --now cron" if context.systemd.is_running else "sudo service cron start"


def check_crontab(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Tell whether the entries in cron's tables are those of the configuration, and whether cron will read them."""
    name, config = "crontab", context.config
    if config is None or context.error:
        yield skipped(name, UNKNOWN)
        return
    faults = [
        *crontab.faults(context.root / _SYSTEM),
        *crontab.misnamed((context.root / _SYSTEM).parent),
    ]
    for fault in faults:
        yield fail(name, fault.why, fault.mend)
    places = list(_places(context, config))
    if len(places) > 1:
        both = " and ".join(place.table.place for place in places)
        yield warn(name, f"entries stand in two places, {both}; one is enough", places[1].command("uninstall", context))
    for place in places:
        yield from _compared(name, context, config, place)
    if not places and _wanted(config):
        why = f"no entry for {', '.join(_wanted(config))}, so cron will not start {_it(config)}"
        yield fail(name, why, _install(context))
    elif not places and not faults:
        yield skipped(name, _NONE)


def _compared(name: str, context: DiagnosticContext, config: Config, place: _Place) -> Iterator[CheckResult]:
    fix = place.command("install", context)
    if shutil.which(place.program[0]) is None:
        yield fail(name, f"the entries start {place.program[0]}, which is not there any more", fix)
        return
    zone = ZoneInfo(loader.machine_zone())
    try:
        entries = crontab.lines(config, place.program, zone=zone, now=context.clock.now(), user=place.user)
        plan = place.table.plan(entries)
    except ApplianceError as error:
        yield fail(name, *error_result(error, place.command("plan", context)))
        return
    if plan.changes:
        yield fail(name, f"{plan.place} is not in step with the configuration", fix)
    else:
        count = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
        yield ok(name, f"{plan.place}: {count}, in step with the configuration")


def _places(context: DiagnosticContext, config: Config) -> Iterator[_Place]:
    """Yield the tables that hold entries of CONFIG, as far as we may look."""
    path = config.path.parent.resolve() / config.path.name
    tables: list[SystemCrontab | UserCrontab] = [SystemCrontab(path, path=context.root / _SYSTEM), UserCrontab(path)]
    if os.geteuid() == 0 and context.owner:
        tables.append(UserCrontab(path, user=files.user_name(context.owner)))
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


def _install(context: DiagnosticContext) -> str:
    """Return the command that puts the entries where they belong: of a service, into the table of the machine."""
    if context.owner and context.owner != os.getuid():
        return _for_all("install", files.user_name(context.owner), context)
    return f"pi-appliance jobs install{context.option}"


def _for_all(word: str, user: str, context: DiagnosticContext) -> str:
    return f"sudo pi-appliance jobs {word} --system --user-name {shlex.quote(user)}{context.option}"


def _wanted(config: Config | None) -> list[str]:
    jobs = config.jobs.values() if config else ()
    return [job.name for job in jobs if job.started_by is StartedBy.CRON and job.schedule is not None]


def _it(config: Config) -> str:
    return "it" if len(_wanted(config)) == 1 else "them"


_LATE = timedelta(minutes=15)  # beyond its grace; by then something would have come of a slot
_SETTLING = timedelta(minutes=15)  # after the start of the machine
_LONGEST = timedelta(days=40)


def check_jobs(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Tell which jobs fail, and which were left out."""
    name, config = "jobs", context.config
    if config is None or context.error:
        yield skipped(name, UNKNOWN)
        return
    if not config.jobs:
        yield skipped(name, "the configuration names none")
        return
    if context.is_state_unreachable or not context.is_owner:
        yield skipped(name, "only the owner of the state folder can read the history")
        return
    try:
        with context.history() as store:
            found = list(_all(context, config, store))
    except ApplianceError:
        yield skipped(name, "the history cannot be read, see there")
        return
    yield from found
    if not found:
        count = "1 job" if len(config.jobs) == 1 else f"{len(config.jobs)} jobs"
        yield ok(name, f"{count}, none fails, no slot was left out")


def _all(context: DiagnosticContext, config: Config, store: Store | None) -> Iterator[CheckResult]:
    newest = store.newest() if store else []
    going_on = {run.job for run in store.active_runs()} if store else set()
    now = context.clock.now()
    pauses = store.slots.pauses() if store else {}
    paused = {name for name, pause in pauses.items() if pause.is_active(now)}
    for job in config.jobs.values():
        runs = [run for run in newest if run.job == job.name]
        yield from _outcome(context, job, runs, now)
        slot = None if job.name in paused | going_on else _left_out(context, config, job, runs)
        if slot is not None:
            yield _passed(context, job, slot.astimezone(config.zone_of(job)))


def _outcome(context: DiagnosticContext, job: Job, runs: Sequence[Run], now: datetime) -> Iterator[CheckResult]:
    word, newest = latest_significant_run(runs), max(runs, key=lambda run: run.id, default=None)
    name = f"job {job.name}"
    if word is not None and word.outcome is not Outcome.SUCCEEDED:
        why = f"{word.outcome} {_ago(word, now)}: {word.summary}"
        yield fail(name, why, context.command(f"jobs log {word.id}"))
    elif newest is not None and newest.outcome is Outcome.MISFIRED:
        why = f"its newest slot came to nothing {_ago(newest, now)}: {newest.summary}"
        yield warn(name, why, "let it run later than that: `grace:` or `catch-up:` of the job")


def _ago(run: Run, now: datetime) -> str:
    passed = max(timedelta(0), now - run.started)
    return f"{units.format_duration(timedelta(minutes=passed // timedelta(minutes=1)))} ago".replace(
        "0s ago", "just now"
    )


def _passed(context: DiagnosticContext, job: Job, slot: datetime) -> CheckResult:
    fix = context.command("jobs plan" if job.started_by is StartedBy.CRON else f"jobs run {job.name}")
    starter = "cron" if job.started_by is StartedBy.CRON else "the daemon"
    why = f"its slot of {slot:%a %Y-%m-%d %H:%M} has passed, and nothing came of it: does {starter} run?"
    return fail(f"job {job.name}", why, fix)


def _left_out(context: DiagnosticContext, config: Config, job: Job, runs: Sequence[Run]) -> datetime | None:
    """Return the newest slot of JOB that should have come to something by now and did not.

    Not one from before the machine started, nor from before the configuration was last changed: those prove nothing.
    """
    if job.schedule is None or isinstance(job.schedule, AtBoot):
        return None
    now = context.clock.now()
    since = max(
        now - timedelta(seconds=context.clock.monotonic()) + _SETTLING,
        datetime.fromtimestamp(config.path.stat().st_mtime, UTC),
        now - _LONGEST,
    )
    until = now - (job.misfire_grace + job.jitter + job.catch_up.stagger + _LATE)
    if until <= since:
        return None
    slot = cron.last_slot(job.schedule, until, config.zone_of(job), within=until - since)
    if slot is None or any(run.started >= slot or (run.scheduled_for or "") >= cron.slot_key(slot) for run in runs):
        return None
    return slot
