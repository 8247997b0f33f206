"""Checks of configuration, secrets, networks, cron, jobs, triggers, player, posts and kernels."""

import asyncio
import json
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance.config import last_good, loader, secret_writer, secrets, units
from pi_appliance.config.options import Config, Job, StartedBy
from pi_appliance.diagnostics.context import (
    UNKNOWN,
    CheckResult,
    DiagnosticContext,
    Skip,
    error_result,
    fail,
    ok,
    skipped,
    warn,
)
from pi_appliance.errors import ApplianceError, ConfigError, Refused
from pi_appliance.music.model import PlayerState
from pi_appliance.music.mpd.player import has_local_player
from pi_appliance.music.mpd.proxy import password_problem as proxy_problem
from pi_appliance.music.player_hub import opened_player
from pi_appliance.music.radio.stations import load_stations
from pi_appliance.music.sound_cards import chosen_card, command_for, find_owner_setting, list_cards
from pi_appliance.posting.model import PENDING_STATES, PostState
from pi_appliance.posting.store import PostDatabase
from pi_appliance.puzzles.kernels import is_compiling, kernel_states
from pi_appliance.scheduling import crontab, slot_times
from pi_appliance.scheduling.crontab import SystemCrontab, UserCrontab
from pi_appliance.scheduling.schedule import AtBoot
from pi_appliance.storage.history import Store
from pi_appliance.storage.model import Outcome, Run, latest_significant_run
from pi_appliance.system import files, runtime_socket
from pi_appliance.system.files import display_path

_SYSTEM = "etc/cron.d/pi-appliance"
_NO_CRON_JOBS = "no job of the configuration runs by cron"


@dataclass(frozen=True, slots=True)
class _Installation:
    """A crontab with entries of this configuration, and its user if the crontab names one."""

    table: SystemCrontab | UserCrontab
    program: list[str]
    user: str | None

    def command(self, word: str, context: DiagnosticContext) -> str:
        """Return the command `jobs WORD` for this crontab."""
        if isinstance(self.table, SystemCrontab):
            return _system_command(word, self.user or "root", context)
        user_option = f" --user-name {shlex.quote(self.table.user)}" if self.table.user else ""
        return f"pi-appliance jobs {word}{user_option}{context.option}"


def check_cron(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check that cron runs, if a job needs it."""
    if not _cron_jobs(context.config):
        yield skipped(UNKNOWN if context.error else _NO_CRON_JOBS)
    elif shutil.which("crontab", path=context.environment.get("PATH", os.defpath)) is None:
        yield fail("it is not installed, but jobs need it", "sudo apt install cron")
    elif not crontab.is_cron_running():
        yield fail("it is installed but does not run", _start_cron_command(context))
    else:
        yield ok("it runs")


def _start_cron_command(context: DiagnosticContext) -> str:
    return "sudo systemctl enable --now cron" if context.systemd.is_running else "sudo service cron start"


def check_crontab(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Compare the crontabs with the configuration, and check that cron will read them."""
    config = context.config
    if config is None or context.error:
        raise Skip(UNKNOWN)
    faults = [
        *crontab.find_faults(context.root / _SYSTEM),
        *crontab.find_misnamed_files((context.root / _SYSTEM).parent),
    ]
    for fault in faults:
        yield fail(fault.reason, fault.remedy)
    installations = list(_find_entries(context, config))
    if len(installations) > 1:
        both = " and ".join(place.table.name for place in installations)
        yield warn(
            f"there are entries in two places, {both}; one is enough",
            installations[1].command("uninstall", context),
        )
    for place in installations:
        yield from _compare(context, config, place)
    if not installations and _cron_jobs(config):
        reason = f"no entry for {', '.join(_cron_jobs(config))}, so cron will not start them"
        yield fail(reason, _install_command(context))
    elif not installations and not faults:
        yield skipped(_NO_CRON_JOBS)


def _compare(context: DiagnosticContext, config: Config, place: _Installation) -> Iterator[CheckResult]:
    fix = place.command("install", context)
    if shutil.which(place.program[0]) is None:
        yield fail(f"the entries start {place.program[0]}, which does not exist any more", fix)
        return
    zone = ZoneInfo(loader.machine_zone())
    try:
        entries = crontab.build_entries(config, place.program, zone=zone, now=context.clock.now(), user=place.user)
        plan = place.table.plan(entries)
    except ApplianceError as error:
        yield fail(*error_result(error, place.command("plan", context)))
        return
    if plan.has_changes:
        yield fail(f"{plan.name} differs from the configuration", fix)
    else:
        count = "1 entry" if len(entries) == 1 else f"{len(entries)} entries"
        yield ok(f"{plan.name}: {count}, as in the configuration")


def _find_entries(context: DiagnosticContext, config: Config) -> Iterator[_Installation]:
    """Yield the readable crontabs with entries of `config`."""
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
            place = _parse_entry(table, line, path)
            if place is not None:
                yield place
                break


def _parse_entry(table: SystemCrontab | UserCrontab, line: str, path: Path) -> _Installation | None:
    """Return the program and the user of an entry of this configuration; None for other lines."""
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
    return _Installation(table, head, user) if head else None


def _install_command(context: DiagnosticContext) -> str:
    """Return the command that installs the entries: for a service, in the crontab of the system."""
    if context.owner and context.owner != os.getuid():
        return _system_command("install", files.user_name(context.owner), context)
    return f"pi-appliance jobs install{context.option}"


def _system_command(word: str, user: str, context: DiagnosticContext) -> str:
    return f"sudo pi-appliance jobs {word} --system --user-name {shlex.quote(user)}{context.option}"


def _cron_jobs(config: Config | None) -> list[str]:
    jobs = config.jobs.values() if config else ()
    return [job.name for job in jobs if job.started_by is StartedBy.CRON and job.schedule is not None]


_MAX_DELAY = timedelta(minutes=15)  # after the grace of a slot
_START_TIME = timedelta(minutes=15)  # after the start of the machine
_MAX_AGE = timedelta(days=40)


def check_jobs(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report failing jobs, and slots that were not used."""
    config = context.config
    if config is None or context.error:
        raise Skip(UNKNOWN)
    if not config.jobs:
        raise Skip("the configuration has none")
    context.require_history_access()
    try:
        with context.history() as store:
            results = list(_job_results(context, config, store))
    except ApplianceError:
        raise Skip("the history cannot be read; see the check of the history") from None
    yield from results
    if not results:
        yield ok(f"{units.pluralize(len(config.jobs), 'job')}, none fails, no slot was missed")


def _job_results(context: DiagnosticContext, config: Config, store: Store | None) -> Iterator[CheckResult]:
    newest = store.newest() if store else []
    active = {run.job for run in store.active_runs()} if store else set()
    now = context.clock.now()
    pauses = store.slots.pauses() if store else {}
    paused = {name for name, pause in pauses.items() if pause.is_active(now)}
    for job in config.jobs.values():
        runs = [run for run in newest if run.job == job.name]
        yield from _latest_result(context, job, runs, now)
        slot = None if job.name in paused | active else _missed_slot(context, config, job, runs)
        if slot is not None:
            yield _missed_result(context, job, slot.astimezone(config.zone_of(job)))


def _latest_result(context: DiagnosticContext, job: Job, runs: Sequence[Run], now: datetime) -> Iterator[CheckResult]:
    latest, newest = latest_significant_run(runs), max(runs, key=lambda run: run.id, default=None)
    name = f"job {job.name}"
    if latest is not None and latest.outcome is not Outcome.SUCCEEDED:
        reason = f"{latest.outcome} {_ago(latest, now)}: {latest.summary}"
        yield fail(reason, context.command(f"jobs log {latest.id}"), check=name)
    elif newest is not None and newest.outcome is Outcome.MISFIRED:
        reason = f"its latest slot misfired {_ago(newest, now)}: {newest.summary}"
        yield warn(reason, "allow a later start: `grace:` or `catch-up:` of the job", check=name)


def _ago(run: Run, now: datetime) -> str:
    passed = max(timedelta(0), now - run.started)
    return f"{units.format_duration(timedelta(minutes=passed // timedelta(minutes=1)))} ago".replace(
        "0s ago", "just now"
    )


def _missed_result(context: DiagnosticContext, job: Job, slot: datetime) -> CheckResult:
    fix = context.command("jobs plan" if job.started_by is StartedBy.CRON else f"jobs run {job.name}")
    starter = "cron" if job.started_by is StartedBy.CRON else "the daemon"
    reason = f"its slot of {slot:%a %Y-%m-%d %H:%M} was missed: does {starter} run?"
    return fail(reason, fix, check=f"job {job.name}")


def _missed_slot(context: DiagnosticContext, config: Config, job: Job, runs: Sequence[Run]) -> datetime | None:
    """Return the latest slot of `job` that has neither a run nor a record.

    Slots before the start of the machine, or before the last change of the configuration, do not
    count.
    """
    if job.schedule is None or isinstance(job.schedule, AtBoot):
        return None
    now = context.clock.now()
    since = max(
        now - timedelta(seconds=context.clock.monotonic()) + _START_TIME,
        datetime.fromtimestamp(config.path.stat().st_mtime, UTC),
        now - _MAX_AGE,
    )
    until = now - (job.misfire_grace + job.jitter + job.catch_up.stagger + _MAX_DELAY)
    if until <= since:
        return None
    slot = slot_times.last_slot(job.schedule, until, config.zone_of(job), within=until - since)
    if slot is None or any(
        run.started >= slot or (run.scheduled_for or "") >= slot_times.format_slot(slot) for run in runs
    ):
        return None
    return slot


_CHECK = "pi-appliance config check"


def check_configuration(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report problems of the configuration, warnings for the next runs, and unreadable stations."""
    if context.path is None:
        yield fail(str(context.error), "pi-appliance config init ~/appliance")
        return
    if isinstance(context.error, ConfigError):
        first, *more = map(str, context.error.problems)
        count = f" (and {len(more)} more)" if more else ""
        copy = context.config and last_good.last_good_path(context.path, context.config.state_dir)
        usable = "the last good configuration is used meanwhile" if copy and os.access(copy, os.F_OK) else ""
        yield fail(units.join_clauses(first + count, usable), f"{_CHECK}{context.option}")
        return
    assert context.config is not None
    config, fix = context.config, f"{_CHECK}{context.option}"
    warnings = list(_option_warnings(config))
    try:
        stations = f", {units.pluralize(len(load_stations(config.stations)), 'station')}" if config.stations else ""
    except ConfigError as error:
        stations = ""
        yield fail(str(error.problems[0]), fix)
    for each in warnings:
        yield warn(each, fix)
    if not warnings:
        counts = (
            f"{units.pluralize(len(config.jobs), 'job')}, {units.pluralize(len(config.networks), 'network')}{stations}"
        )
        yield ok(f"{display_path(config.path)}: {counts}")


def _option_warnings(config: Config) -> Iterator[str]:
    for job in config.jobs.values():
        for _, wrong, right in job.options.warnings() if hasattr(job.options, "warnings") else ():
            yield f"{job.name}: {wrong}; {right}"


def check_secrets(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check that the owner, and no other user, can read the secrets. No value is shown."""
    fix = f"{_CHECK}{context.option}"
    if context.path is None:
        raise Skip("there is no configuration")
    file = context.path.parent / secrets.NAME
    try:
        known = secret_writer.load(context.path, context.environment, _names(context), context.systemd)
        place = secret_writer.of_service(context.path, context.systemd)
    except ApplianceError as error:
        if context.is_owner:
            yield fail(*error_result(error, fix))
        else:
            yield warn(f"{file} cannot be read by {files.user_name(os.geteuid())}", context.owner_command)
        return
    if context.config is not None:
        password, proxy_password = known.get("WEB_PASSWORD", ""), known.get("MPD_PROXY_PASSWORD", "")
        for problem in (secrets.page_problem(context.config, password), proxy_problem(context.config, proxy_password)):
            if problem:
                yield fail(*problem.split(": ", 1))
        if secrets.needs_setup(context.config, known):
            yield warn(secrets.NOT_SET_UP, f"pi-appliance qr{context.option}")
    about = f"{len(known)} known: {', '.join(sorted(known))}" if known else "there are none"
    owner = file.stat().st_uid if file.exists() and place is None else None
    if owner is not None and context.owner not in (None, owner):
        user, quoted = files.user_name(context.owner or 0), shlex.quote(str(file))
        reason = f"{file} belongs to {files.user_name(owner)}, so the appliance, which runs as {user}, cannot read it"
        yield fail(reason, f"sudo chown {user} {quoted}")
    else:
        yield ok(about)


def check_networks(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report the missing secrets and keys of each network."""
    if context.config is None or not context.config.networks:
        raise Skip(UNKNOWN if context.error else "the configuration has none")
    try:
        known: Mapping[str, str] = secret_writer.load(
            context.config.path, context.environment, _names(context), context.systemd
        )
    except ApplianceError:
        raise Skip("the secrets cannot be read; see the check of the secrets") from None
    used = {name for job in context.config.jobs.values() for name in getattr(job.options, "network", None) or ()}
    for name, part in context.config.networks.items():
        if missing := secrets.missing(part, known):
            yield (fail if name in used else warn)(missing, _login_command(context, name), check=f"network {name}")
        else:
            keys = "all keys are set" if secrets.of_network(part) else "needs no keys"
            yield ok(f"{part.kind}: {keys}", check=f"network {name}")


def _names(context: DiagnosticContext) -> frozenset[str]:
    return secrets.secret_names(context.config) if context.config else frozenset()


def _login_command(context: DiagnosticContext, name: str) -> str:
    """Return the command that gets the keys of the network `name`, with sudo if necessary."""
    assert context.path is not None
    folder, owner = context.path.parent.stat().st_uid, context.owner
    return f"{'sudo ' if folder == 0 and owner else ''}pi-appliance networks login {name}{context.option}"


_PLAYER_TIMEOUT = 3.0  # seconds until the player counts as not reached


def check_sound_card(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check that there is a sound card, if the player of this machine plays."""
    config = context.config
    if config is None or not has_local_player(config):
        raise Skip("no player of this machine is configured")
    cards = list_cards(context.root)
    chosen = chosen_card(context.root)
    if not cards:
        yield warn(
            "this machine has none that can play",
            "plug one in, or name it in /boot/firmware/config.txt; then: aplay -l",
        )
    elif by_hand := find_owner_setting(context.root):
        yield ok(by_hand)
    elif chosen is not None and not any(card.is_default for card in cards):
        yield warn(f"/etc/asound.conf names {chosen}, which is not there", command_for(cards[0]))
    else:
        names = ", ".join(f"{card.id}{' (plays)' if card.is_default else ''}" for card in cards)
        yield ok(names)


def check_player(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Query the state of the player."""
    config = context.config
    if config is None or config.player is None:
        raise Skip("the configuration has none" if config and not context.error else UNKNOWN)
    try:
        known = secrets.load(config.path, context.environment)
    except ApplianceError:
        raise Skip("the secrets cannot be read; see the check of the secrets") from None
    kind, place = config.player.kind, getattr(config.player.options, "address", "its address")
    fix = f"sudo systemctl enable --now mpd, or correct `address` under player: ({place})"
    if shutil.which("mpd", path=context.environment.get("PATH", os.defpath)) is None:
        fix = fix.replace("systemctl enable --now", "apt install")
    not_reached = warn if getattr(config.player.options, "fallback_mpd", False) else fail
    try:
        state, uses_fallback = asyncio.run(asyncio.wait_for(_query_player(config, known), _PLAYER_TIMEOUT))
    except TimeoutError:
        yield fail(f"{kind} at {place} does not answer within {_PLAYER_TIMEOUT:.0f} seconds", fix)
    except Refused as error:
        yield fail(*error_result(error, "write MPD_PASSWORD=… into secrets.env"))
    except ApplianceError as error:
        yield not_reached(error_result(error, "")[0], fix)
    else:
        doing = f"{state.playback}, {state.queue_length} in the queue"
        if uses_fallback:
            yield warn(f"{kind} at {place} is not reached, so the built-in silent player is used ({doing})", fix)
        elif state.error:
            yield warn(f"{kind} at {place}: {doing}; its error: {state.error}", "see its log: journalctl -u mpd -n 30")
        else:
            yield ok(f"{kind} at {place}: {doing}")


async def _query_player(config: Config, known: Mapping[str, str]) -> tuple[PlayerState, bool]:
    messages = list[str]()
    async with opened_player(config, known, notify=messages.append) as player:
        return await player.state(), bool(messages)


def check_posts(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report uncertain and unsent posts, and the costs of this month."""
    if context.config is None or not context.config.networks:
        raise Skip(UNKNOWN if context.error else "the configuration names no network")
    context.require_history_access()
    try:
        with context.history() as store:
            counts = PostDatabase(store).count_by_state() if store else {}
            spent = PostDatabase(store).month_spend(context.clock.now()) if store else {}
    except ApplianceError:
        raise Skip("the history cannot be read; see the check of the history") from None
    if uncertain := counts.get(PostState.UNCERTAIN, 0):
        yield fail(
            f"{_count_posts(uncertain)} uncertain; only the account shows whether they were sent",
            context.command("tweets list"),
        )
    if pending := sum(counts.get(state, 0) for state in PENDING_STATES):
        yield warn(f"{_count_posts(pending)} waiting to be sent or checked", context.command("tweets list"))
    if not uncertain and not pending:
        cost = "".join(f", {network} has cost {units.format_money(amount)}" for network, amount in spent.items())
        yield ok(f"none is waiting, none is uncertain{cost}{' this month' if cost else ''}")


def _count_posts(number: int) -> str:
    return "1 post is" if number == 1 else f"{number} posts are"


def check_kernels(_: DiagnosticContext) -> Iterator[CheckResult]:
    """Report whether the puzzle kernels are compiled, plain Python or out of date."""
    yield kernel_result(dict(kernel_states()), is_compiling=is_compiling())


def kernel_result(states: Mapping[str, str], *, is_compiling: bool = False) -> CheckResult:
    """Return the result for the kernels and their `states`, and whether they are being compiled."""
    plain = ", ".join(kernel for kernel, state in states.items() if state == "plain")
    stale = ", ".join(kernel for kernel, state in states.items() if state == "stale")
    if not states:
        return skipped("no kernels")
    compiled = list(states.values()).count("compiled")
    if is_compiling and compiled < len(states):
        return ok(f"{compiled} of {len(states)} kernels compiled; until all are, slower plain Python runs")
    if stale:
        reason = f"kernels stale: {stale} changed since compilation, so slower plain Python runs"
        return warn(reason, "run deploy/run.sh or deploy/install.sh again; both compile changed kernels")
    if not compiled:
        return ok("kernels plain: slower, with the same results; install a C compiler, then install again")
    return ok("kernels compiled" + (f", but plain, slower: {plain}" if plain else ""))


def check_triggers(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Ask the daemon whether each trigger works."""
    config = context.config
    if config is None or not (config.mqtt or any(job.triggers.any for job in config.jobs.values())):
        raise Skip(UNKNOWN if context.error else "no job has any")
    status, content = 0, b""
    try:
        if (connection := runtime_socket.connect(runtime_socket.socket_name(str(config.path)))) is not None:
            status, content, _ = runtime_socket.exchange(connection, "GET", "/api/v1/triggers")
    except OSError:  # this user may not ask it, or it has just ended
        pass
    if status != 200:
        yield warn("only the daemon uses them, and it does not answer", f"pi-appliance up{context.option}")
        return
    triggers = json.loads(content)
    broken = [each for each in triggers if each["problem"]]
    for each in broken:
        reason, _, fix = each["problem"].partition("; ")
        whose = f" of {each['job']}" if each["job"] else ""
        yield fail(f"{each['trigger']}{whose}: {reason}", fix or "pi-appliance jobs triggers")
    if not broken:
        yield ok(f"{len(triggers)} ready")
