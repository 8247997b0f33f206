"""Checks of the machine: clock, card, temperature, power, state folder and systemd units."""

import contextlib
import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance import __version__
from pi_appliance.config import loader, units
from pi_appliance.config.options import StartedBy
from pi_appliance.config.units import format_size
from pi_appliance.diagnostics import thresholds
from pi_appliance.diagnostics.context import (
    HISTORY,
    UNKNOWN,
    CheckResult,
    DiagnosticContext,
    Skip,
    fail,
    ok,
    skipped,
    warn,
)
from pi_appliance.errors import ApplianceError
from pi_appliance.scheduling import crontab
from pi_appliance.scheduling.schedule import Cron
from pi_appliance.system import files, http, machine
from pi_appliance.system import systemd as systemd_units
from pi_appliance.system.machine import Sensors, filesystem_errors, storage_wear

_DEFAULT_ZONES = ("UTC", "Etc/UTC")  # of a machine whose time zone was never set
_MAX_DELAY = timedelta(minutes=1)
_RTC = "sys/class/rtc/rtc0/since_epoch"
_RELEASE_DATE = datetime(2024, 1, 1, tzinfo=UTC)  # a clock without a battery starts long before this


def check_clock(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check that the clock is synchronized and not earlier than recorded events."""
    now = context.clock.now()
    newest = _newest_instant(context)
    if newest is not None and newest - now > _MAX_DELAY:
        behind = units.format_duration(timedelta(seconds=int((newest - now).total_seconds())))
        yield fail(
            f"it shows {now:%Y-%m-%d %H:%M} UTC, {behind} before the newest run in the history",
            _set_clock_command(context),
        )
    elif context.clock.is_synchronized():
        yield ok("synchronized with a time source")
    elif _has_battery(context, now):
        yield ok("not synchronized over the network, but a clock with a battery shows the same time")
    else:
        reason = f"it was not synchronized since the machine started ({now:%Y-%m-%d %H:%M} UTC)"
        yield warn(units.join_clauses(reason, _effect_on_jobs(context)), _set_clock_command(context))


def _effect_on_jobs(context: DiagnosticContext) -> str:
    if context.config is None:
        return ""
    wait = context.config.clock.max_wait_for_sync
    if context.clock.monotonic() < wait.total_seconds():
        return f"jobs wait for it, up to {units.format_duration(wait)} after the start"
    return "jobs use it nevertheless"


def _newest_instant(context: DiagnosticContext) -> datetime | None:
    with contextlib.suppress(ApplianceError), context.history() as store:
        runs = store.history(limit=1) if store else []
        return runs[0].started if runs else None
    return None


def _has_battery(context: DiagnosticContext, now: datetime) -> bool:
    with contextlib.suppress(OSError, ValueError, OverflowError):
        hardware_time = datetime.fromtimestamp(int((context.root / _RTC).read_text("ascii")), UTC)
        return hardware_time > _RELEASE_DATE and abs(hardware_time - now) < timedelta(minutes=5)
    return False


def _set_clock_command(context: DiagnosticContext) -> str:
    if context.systemd.is_running:
        return "sudo timedatectl set-ntp true"
    return 'sudo apt install chrony, or by hand: sudo date -s "YYYY-MM-DD HH:MM"'


def check_time_zone(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report the time zones, and jobs that cron would start in a different one."""
    machine_zone = loader.machine_zone()
    now = context.clock.now()
    jobs = context.config.jobs.values() if context.config else ()
    by_cron = [job for job in jobs if job.started_by is StartedBy.CRON and isinstance(job.schedule, Cron)]
    wrong = [
        (job, zone)
        for job in by_cron
        if context.config
        and not crontab.have_same_rules(zone := context.config.zone_of(job), ZoneInfo(machine_zone), now)
    ]
    for job, zone in wrong[:1]:
        reason = f"{job.name} uses the zone {zone.key}, but cron starts it in the zone of the machine, {machine_zone}"
        yield fail(reason, f"sudo timedatectl set-timezone {zone.key}")
    if not wrong:
        file = context.config.time_zone.key if context.config else machine_zone
        unset = file == machine_zone and file in _DEFAULT_ZONES
        hint = "; if you live elsewhere: sudo timedatectl set-timezone Europe/London" if unset else ""
        yield ok(
            f"{file}{hint}"
            if file == machine_zone
            else f"{file}; the machine has {machine_zone}, which only cron uses",
        )


_REPLACE = "make a backup, and replace the card"
_FSCK = (
    "make a backup; add fsck.mode=force to /boot/firmware/cmdline.txt for one start; replace the card if it comes back"
)
_SUPPLY = "use the power supply made for this Pi; connect disks to a powered hub"


def check_sd_card(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check for file system errors, a root file system that became read-only, and a worn card."""
    counters = filesystem_errors(context.root / "sys")
    bad = [each for each in counters if each.count]
    for each in bad:
        since = (
            f", the first on {each.first:%Y-%m-%d}, the last on {each.last:%Y-%m-%d}"
            if each.first and each.last
            else ""
        )
        yield fail(f"{each.device}: the kernel counted {each.count} errors{since}", _FSCK)
    root = machine.find_mount(Path("/"), machine.read_mounts(context.root / "proc/self/mountinfo"))
    if root is not None and root.read_only:
        if bad or "emergency_ro" in root.options:
            yield fail("the kernel made the root read-only because of errors", _FSCK)
        else:
            yield ok("the root is read-only on purpose: the kernel counts no errors")
    lives = storage_wear(context.root / "sys")
    for life in lives:
        if life.used >= thresholds.CARD_OLD or life.spare_low:
            reason = f"{life.device}: {life.used} % of its life is used" + (
                ", its spare blocks run out" if life.spare_low else ""
            )
            yield (fail if life.used >= thresholds.CARD_WORN_OUT or life.spare_low else warn)(reason, _REPLACE)
    if not counters and not lives:
        yield skipped("the kernel counts no errors of this file system")
    elif not bad:
        facts = [f"{each.device} without an error" for each in counters]
        facts += [
            f"{life.device} has used {life.used} % of its life" for life in lives if life.used < thresholds.CARD_OLD
        ]
        if facts:
            yield ok(", ".join(facts))


def check_temperature(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check the temperature of the processor."""
    degrees = Sensors(context.root / "sys", context.root / "proc").temperature()
    if degrees is None:
        raise Skip("no sensor")
    text = f"{degrees:.0f} °C"
    fix = "improve the cooling; let heavy jobs wait: conditions: {temperature-below: 70}"
    if degrees >= thresholds.HOT:
        yield (fail if degrees >= thresholds.VERY_HOT else warn)(f"{text}: the processor slows down", fix)
    else:
        yield ok(text)


def check_power(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check the power supply."""
    power = Sensors(context.root / "sys", context.root / "proc").power()
    if power.under_voltage is None and power.throttled is None:
        yield skipped("no sensor")
    elif power.under_voltage:
        yield fail("the voltage is too low now, which can damage the card", _SUPPLY)
    elif power.throttled:
        yield warn("the processor is slowed down now", "see temperature; then the supply")
    elif power.was_throttled:
        yield warn("the voltage was too low, or the processor too hot, since the start of the machine", _SUPPLY)
    else:
        yield ok("good")


_TIMEOUT = 5.0  # seconds until the daemon counts as silent
_MAX_BYTES = 10_000
_LOOPBACK = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - the address to ask


@dataclass(frozen=True, slots=True)
class DaemonHealth:
    """The answer on the port of the page. `is_ours`: from pi-appliance; `reason`: of a problem.

    `is_late`: something listens there, or may, and has not answered in time.
    """

    has_answered: bool
    is_ours: bool = False
    is_late: bool = False
    is_ok: bool = False
    reason: str = ""


def page_address(host: str, port: int) -> str:
    """Return the address of the page of `host` and `port` for a program on this machine."""
    name = _LOOPBACK.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def read_health(host: str, port: int) -> DaemonHealth:
    """Ask the daemon that listens on `host` and `port`; wait a few seconds at most."""
    url = f"{page_address(host, port)}/health"
    try:
        response = http.request_now("GET", url, seconds=_TIMEOUT, max_bytes=_MAX_BYTES, use_proxy=False)
        answer = json.loads(response.body)
    except http.NoResponse as failure:
        return DaemonHealth(has_answered=not failure.is_http, is_late=failure.is_timeout, reason=str(failure))
    except ValueError:
        return DaemonHealth(has_answered=True)
    if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool):
        return DaemonHealth(has_answered=True)
    is_ok = answer["ok"] and response.status == 200
    return DaemonHealth(has_answered=True, is_ours=True, is_ok=is_ok, reason=str(answer.get("why", "")))


def check_state_dir(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Write a file into the state folder and remove it, as its owner."""
    config = context.require_config()
    state = config.state_dir
    folder = files.nearest_existing(state)
    us = files.user_name(os.geteuid())
    if context.is_state_unreachable:
        reason = f"{state} cannot be reached: {us} may not enter {folder}"
        yield fail(reason, f"run this as its owner, or let `state-dir:` name a folder of {us}")
        return
    if not context.is_owner:
        yield warn(f"{state} belongs to {files.user_name(context.owner or 0)}, not to {us}", context.owner_command)
        return
    owner = context.owner if context.owner is not None else os.geteuid()
    with files.as_user(owner):
        trouble = files.probe_write(folder)
    user, quoted = files.user_name(owner), shlex.quote(str(state))
    if trouble:
        reason = f"{folder} cannot be written by {user}: {trouble}"
        known = machine.find_mount(folder, machine.read_mounts())
        frozen = known is not None and known.read_only
        yield fail(
            reason, _remount_command(known) if frozen and known else f"sudo install -d -o {user} -m 750 {quoted}"
        )
    elif folder != state:
        yield ok(f"{state} does not exist yet; the first start creates it")
    else:
        yield ok(f"{state} can be written by {user}")


def _remount_command(mount: machine.Mount) -> str:
    return f"sudo mount -o remount,rw {shlex.quote(str(mount.folder))}; if that fails, see the check of the card"


def check_state_is_kept(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check that the state folder survives a restart."""
    config = context.require_config()
    known = machine.read_mounts(context.root / "proc/self/mountinfo")
    mount = machine.find_mount(files.nearest_existing(config.state_dir), known)
    if mount is None:
        yield skipped("the kernel does not say where the state folder is mounted")
    elif machine.is_volatile(mount, known):
        state_dir = config.state_dir
        reason = f"{state_dir} is on {mount.kind} ({mount.folder}): the history and the record of posts are lost"
        overlay = "or switch the overlay off: sudo raspi-config (Performance, Overlay File System)"
        fix = "let `state-dir:` name a folder on a permanent drive" + (
            f", {overlay}" if mount.kind == "overlay" else ""
        )
        yield warn(f"{reason} at the next start", fix)
    else:
        yield ok(f"{mount.kind} on {mount.source}, mounted at {mount.folder}")


def check_space(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check the free space and the free inodes."""
    config = context.require_config()
    folder = files.nearest_existing(config.state_dir)
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    text = f"{format_size(free)} of {format_size(disk.f_blocks * disk.f_frsize)} are free on the disk of {folder}"
    fix = f"sudo apt clean; to find large folders: sudo du -xh {shlex.quote(str(folder))} /var | sort -h | tail"
    if disk.f_files and disk.f_favail < thresholds.MIN_INODES:
        yield fail(f"only {disk.f_favail} more files can be created on the disk of {folder}", fix)
    elif free < thresholds.LOW_SPACE:
        yield (fail if free < thresholds.MIN_SPACE else warn)(text, fix)
    else:
        yield ok(text)


def check_history(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check the whole database, and report the size of history and logs."""
    config = context.require_config()
    context.require_history_access()
    state = config.state_dir
    file = shlex.quote(str(state / HISTORY))
    try:
        with context.history() as store:
            if store is None:
                raise Skip("nothing has run yet")
            damage, newest = store.check(), store.history(limit=1)
    except ApplianceError as error:
        yield fail(str(error), f"stop the appliance, then: mv {file} {file}.damaged")
        return
    if damage:
        yield fail(f"{state / HISTORY} is damaged: {damage}", f"stop the appliance, then: mv {file} {file}.damaged")
        return
    size = sum(_size(state / f"{HISTORY}{end}") for end in ("", "-wal", "-shm"))
    logs = sum(_size(Path(folder, each)) for folder, _, names in os.walk(state / "logs") for each in names)
    runs = f"newest run {newest[0].id:,}" if newest else "no run yet"  # after a restore, the numbers have a gap
    text = f"intact, {runs}; {format_size(size)}, and {format_size(logs)} of logs"
    if size + logs > thresholds.MAX_HISTORY:
        yield warn(text, "shorten the retention: retention: {max-age: 30d, max-runs: 200} in the configuration")
    else:
        yield ok(text)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


_MAX_NAMES = 3  # failed units of other programs


def check_daemon(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check the daemon through its health endpoint."""
    config = context.config
    if config is None:
        raise Skip(UNKNOWN)
    unit = context.systemd.unit_state(systemd_units.MAIN_UNIT) if context.systemd.is_running else None
    active = unit is not None and unit.active == "active"
    if config.web.port == 0:
        word = "its unit is active" if active else "the port of the page changes at each start, so it is unknown"
        yield (ok if active else skipped)(word)
        return
    where = page_address(config.web.host, config.web.port)
    health = read_health(config.web.host, config.web.port)
    again = "sudo systemctl restart pi-appliance" if unit and unit.loaded else "stop it and start it again"
    if health.is_ours:
        yield (ok(f"running at {where}") if health.is_ok else fail(f"it runs at {where}, but {health.reason}", again))
    elif health.has_answered:
        reason = f"something else answers at {where}"
        yield fail(reason, f"choose another port under web:, or find it: sudo ss -ltnp sport = :{config.web.port}")
    elif health.is_late:
        yield fail(f"it has not answered at {where} in {_TIMEOUT:.0f} s: it hangs, or the machine is busy", again)
    elif active:
        yield fail(f"its unit is active, but nothing answers at {where}: {health.reason}", again)
    else:
        needed = any(job.started_by is StartedBy.DAEMON and job.schedule for job in config.jobs.values())
        start = "sudo systemctl start pi-appliance" if unit and unit.loaded else f"pi-appliance up{context.option}"
        reason = f"it is not running: nothing answers at {where}" + (", so its jobs are not started" if needed else "")
        yield (fail if needed or context.error else warn)(reason, start)


def check_units(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Compare the installed units with those of this release."""
    systemd = context.systemd
    if not systemd.is_running:
        raise Skip("this machine does not use systemd")
    installed = {
        each: (text, there)
        for each, text in systemd_units.packaged_units().items()
        if (there := systemd.installed_unit(each))
    }
    if not installed:
        raise Skip("the appliance is not installed as a service")
    other = [each for each, (text, there) in installed.items() if text != there]
    main = systemd.unit_state(systemd_units.MAIN_UNIT)
    if other:
        reason = f"{', '.join(other)} is not the one of pi-appliance {__version__}"
        yield warn(reason, "sudo deploy/install.sh, in the clone; changes of your own: systemctl edit pi-appliance")
    elif main is not None and main.needs_reload:
        yield warn("its file was changed, and systemd has not reloaded it", "sudo systemctl daemon-reload")
    else:
        yield ok(f"{', '.join(installed)}: unchanged from pi-appliance {__version__}")


def check_failed_units(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report failed units. Those of other programs may explain a failure of ours."""
    systemd = context.systemd
    if not systemd.is_running:
        raise Skip("this machine does not use systemd")
    failed = systemd.failed_units()
    ours = [each for each in failed if each.startswith("pi-appliance")]
    others = [each for each in failed if each not in ours]
    for each in ours:
        state = systemd.unit_state(each)
        yield fail(
            f"{each} has failed ({state.result if state else 'for an unknown reason'})",
            f"journalctl -u {each} -n 30",
        )
    if others:
        more = f" and {len(others) - _MAX_NAMES} more" if len(others) > _MAX_NAMES else ""
        yield warn(f"not of the appliance: {', '.join(others[:_MAX_NAMES])}{more}", f"systemctl status {others[0]}")
    if not failed:
        yield ok("none")
