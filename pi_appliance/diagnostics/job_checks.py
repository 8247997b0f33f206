"""Checks of the real cron: is it there, and does it know of the jobs that it is to start."""

import asyncio
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance.config import loader, secret_file, secrets, units
from pi_appliance.config.model import Config, Job, StartedBy
from pi_appliance.diagnostics.context import (
    UNKNOWN,
    CheckResult,
    DiagnosticContext,
    error_result,
    fail,
    ok,
    skipped,
    warn,
)
from pi_appliance.errors import ApplianceError, ConfigError, Refused
from pi_appliance.music.hub import open_player
from pi_appliance.music.model import PlayerState
from pi_appliance.music.stations.service import load_stations
from pi_appliance.posting.model import PENDING_STATES, PostState
from pi_appliance.posting.store import PostDatabase
from pi_appliance.puzzles.kernels import kernel_states
from pi_appliance.scheduling import crontab, instants
from pi_appliance.scheduling.crontab import SystemCrontab, UserCrontab
from pi_appliance.scheduling.schedule import AtBoot
from pi_appliance.storage.history import Store
from pi_appliance.storage.model import Outcome, Run, latest_significant_run
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
    elif not crontab.is_cron_running():
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
        *crontab.find_faults(context.root / _SYSTEM),
        *crontab.find_misnamed_files((context.root / _SYSTEM).parent),
    ]
    for fault in faults:
        yield fail(name, fault.reason, fault.remedy)
    places = list(_places(context, config))
    if len(places) > 1:
        both = " and ".join(place.table.name for place in places)
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
        entries = crontab.build_entries(config, place.program, zone=zone, now=context.clock.now(), user=place.user)
        plan = place.table.plan(entries)
    except ApplianceError as error:
        yield fail(name, *error_result(error, place.command("plan", context)))
        return
    if plan.has_changes:
        yield fail(name, f"{plan.name} is not in step with the configuration", fix)
    else:
        count = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
        yield ok(name, f"{plan.name}: {count}, in step with the configuration")


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
    slot = instants.last_slot(job.schedule, until, config.zone_of(job), within=until - since)
    if slot is None or any(
        run.started >= slot or (run.scheduled_for or "") >= instants.format_slot(slot) for run in runs
    ):
        return None
    return slot


_CHECK = "pi-appliance config check"


def check_configuration(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report problems of the configuration, warnings for the next runs, and unreadable stations."""
    name = "configuration"
    if context.path is None:
        yield fail(name, str(context.error), "pi-appliance config init ~/appliance")
        return
    if isinstance(context.error, ConfigError):
        first, *more = map(str, context.error.problems)
        count = f" (and {len(more)} more)" if more else ""
        yield fail(name, first + count, f"{_CHECK}{context.option}")
        return
    assert context.config is not None
    config, fix = context.config, f"{_CHECK}{context.option}"
    stumbles = list(_stumbles(config))
    try:
        stations = f", {_count(load_stations(config.stations), 'station')}" if config.stations else ""
    except ConfigError as error:
        stations = ""
        yield fail(name, str(error.problems[0]), fix)
    for each in stumbles:
        yield warn(name, each, fix)
    if not stumbles:
        counts = f"{_count(config.jobs, 'job')}, {_count(config.networks, 'network')}{stations}"
        yield ok(name, f"{loader.display_path(config.path)}: {counts}")


def _stumbles(config: Config) -> Iterator[str]:
    for job in config.jobs.values():
        for _, wrong, right in job.options.warnings() if hasattr(job.options, "warnings") else ():
            yield f"{job.name}: {wrong}; {right}"


def _count(things: object, word: str) -> str:
    number = len(things)  # type: ignore[arg-type]
    return f"{number} {word}{'' if number == 1 else 's'}"


def check_secrets(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Tell whether the secrets can be read by who needs them, and by nobody else. No value is shown."""
    name, fix = "secrets", f"{_CHECK}{context.option}"
    if context.path is None:
        yield skipped(name, "without a configuration there are none")
        return
    file = context.path.parent / secrets.NAME
    try:
        found = secret_file.load(context.path, context.environment, _names(context), context.systemd)
        place = secret_file.of_service(context.path, context.systemd)
    except ApplianceError as error:
        if context.is_owner:
            yield fail(name, *error_result(error, fix))
        else:
            yield warn(name, f"{file} is not for {files.user_name(os.geteuid())} to read", context.owner_command)
        return
    about = f"{len(found)} known: {', '.join(sorted(found))}" if found else "none are given"
    owner = file.stat().st_uid if file.exists() and place is None else None
    if owner is not None and context.owner not in (None, owner):
        user, quoted = files.user_name(context.owner or 0), shlex.quote(str(file))
        why = f"{file} belongs to {files.user_name(owner)}, so that the appliance, which is {user}'s, cannot read it"
        yield fail(name, why, f"sudo chown {user} {quoted}")
    else:
        yield ok(name, about)


def check_networks(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report the missing secrets and keys of each network."""
    if context.config is None or not context.config.networks:
        yield skipped("networks", UNKNOWN if context.error else "the configuration names none")
        return
    try:
        known: Mapping[str, str] = secret_file.load(
            context.config.path, context.environment, _names(context), context.systemd
        )
    except ApplianceError:
        yield skipped("networks", "the secrets cannot be read, see there")
        return
    used = {name for job in context.config.jobs.values() for name in getattr(job.options, "network", None) or ()}
    for name, part in context.config.networks.items():
        check = f"network {name}"
        if lack := secrets.missing(part, known):
            yield (fail if name in used else warn)(check, lack, _login(context, name))
        else:
            wants = secrets.of_network(part)
            yield ok(check, f"{part.kind}: {'every key is there' if wants else 'needs no keys'}")


def _names(context: DiagnosticContext) -> frozenset[str]:
    return secrets.secret_names(context.config) if context.config else frozenset()


def _login(context: DiagnosticContext, name: str) -> str:
    """Return the command that gets the keys of the network NAME: as root, where the folder of the secrets is root's."""
    assert context.path is not None
    folder, owner = context.path.parent.stat().st_uid, context.owner
    return f"{'sudo ' if folder == 0 and owner else ''}pi-appliance networks login {name}{context.option}"


_PATIENCE = 3.0  # seconds


def check_player(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Query the state of the player."""
    name, config = "player", context.config
    if config is None or config.player is None:
        yield skipped(name, "the configuration names none" if config and not context.error else UNKNOWN)
        return
    try:
        known = secrets.load(config.path, context.environment)
    except ApplianceError:
        yield skipped(name, "the secrets cannot be read, see there")
        return
    kind, place = config.player.kind, getattr(config.player.options, "address", "its address")
    fix = f"sudo systemctl start mpd, or correct `address` under player: ({place})"
    if shutil.which("mpd", path=context.environment.get("PATH", os.defpath)) is None:
        fix = fix.replace("systemctl start", "apt install")
    absent = (
        warn if getattr(config.player.options, "fallback_mpd", False) else fail
    )  # a silent one is good enough for some
    try:
        state, stand_in = asyncio.run(asyncio.wait_for(_asked(config, known), _PATIENCE))
    except TimeoutError:
        yield fail(name, f"{kind} at {place} does not answer within {_PATIENCE:.0f} seconds", fix)
    except Refused as error:
        yield fail(name, *error_result(error, "write MPD_PASSWORD=… into secrets.env"))
    except ApplianceError as error:
        yield absent(name, error_result(error, "")[0], fix)
    else:
        doing = f"{state.playback}, {state.queue_length} in the queue"
        if stand_in:
            yield warn(name, f"{kind} at {place} is not reached, so the built-in silent player is used ({doing})", fix)
        elif state.error:
            yield warn(
                name, f"{kind} at {place}: {doing}; it says: {state.error}", "look at its log: journalctl -u mpd -n 30"
            )
        else:
            yield ok(name, f"{kind} at {place}: {doing}")


async def _asked(config: Config, known: Mapping[str, str]) -> tuple[PlayerState, bool]:
    heard = list[str]()
    found = await open_player(config, known, notify=heard.append)
    try:
        return await found.state(), bool(heard)
    finally:
        await found.close()


_NAME = "posts"


def check_posts(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report uncertain and unsent posts, and the costs of this month."""
    if context.config is None or not context.config.networks:
        yield skipped(_NAME, UNKNOWN if context.error else "the configuration names no network")
        return
    if context.is_state_unreachable or not context.is_owner:
        yield skipped(_NAME, "only the owner of the state folder can read the history")
        return
    try:
        with context.history() as store:
            counts = PostDatabase(store).count_by_state() if store else {}
            spent = PostDatabase(store).month_spend(context.clock.now()) if store else {}
    except ApplianceError:
        yield skipped(_NAME, "the history cannot be read, see there")
        return
    if uncertain := counts.get(PostState.UNCERTAIN, 0):
        yield fail(
            _NAME, f"{_count_posts(uncertain)} perhaps there; only its account shows it", context.command("tweets list")
        )
    if left := sum(counts.get(state, 0) for state in PENDING_STATES):
        yield warn(_NAME, f"{_count_posts(left)} still to be sent or looked up", context.command("tweets list"))
    if not uncertain and not left:
        cost = "".join(f", {network} has cost {units.format_money(amount)}" for network, amount in spent.items())
        yield ok(_NAME, f"none waits, none is uncertain{cost}{' this month' if cost else ''}")


def _count_posts(number: int) -> str:
    return "1 post is" if number == 1 else f"{number} posts are"


def check_kernels(_: DiagnosticContext) -> Iterator[CheckResult]:
    """Tell whether the kernels run compiled, as plain Python, or so because they are newer than what was compiled."""
    yield of_states(dict(kernel_states()))


def of_states(states: Mapping[str, str]) -> CheckResult:
    """Return the result for the kernels and their `states`."""
    name = "puzzles"
    plain = ", ".join(kernel for kernel, state in states.items() if state == "plain")
    stale = ", ".join(kernel for kernel, state in states.items() if state == "stale")
    if not states:
        return skipped(name, "no kernels")
    if stale:
        why = f"kernels stale: {stale} changed since compiled, and so runs as plain Python, slower"
        return warn(name, why, "start deploy/run.sh or deploy/install.sh again; both compile what has changed")
    if "compiled" not in states.values():
        return ok(name, "kernels plain: slower, with the same answers; a C compiler at install would make them fast")
    return ok(name, "kernels compiled" + (f", but plain, slower: {plain}" if plain else ""))
