"""Checks of the state folder: it can be written, is kept, has room, and holds a whole history."""

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
from pi_appliance.config.model import StartedBy
from pi_appliance.config.units import format_size
from pi_appliance.diagnostics.context import HISTORY, UNKNOWN, CheckResult, DiagnosticContext, fail, ok, skipped, warn
from pi_appliance.errors import ApplianceError
from pi_appliance.scheduling import crontab
from pi_appliance.scheduling.schedule import Cron
from pi_appliance.system import files, http, machine
from pi_appliance.system import machine as mounts
from pi_appliance.system import systemd as systemd_units
from pi_appliance.system.machine import Sensors, filesystem_errors, storage_wear

_PLAIN = ("UTC", "Etc/UTC")  # what a machine goes by whom nobody has told where it is
_NOT_BEHIND = timedelta(minutes=1)
_RTC = "sys/class/rtc/rtc0/since_epoch"
_LOST = datetime(2024, 1, 1, tzinfo=UTC)  # a clock without its battery begins anew, long before this program


def check_clock(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check that the clock is synchronized and not earlier than recorded events."""
    name, now = "clock", context.clock.now()
    newest = _newest_instant(context)
    if newest is not None and newest - now > _NOT_BEHIND:
        behind = units.format_duration(timedelta(seconds=int((newest - now).total_seconds())))
        yield fail(
            name, f"it shows {now:%Y-%m-%d %H:%M} UTC, {behind} before the newest run in the history", _set(context)
        )
    elif context.clock.is_synchronized():
        yield ok(name, "set by somebody who knows, and kept right")
    elif _has_battery(context, now):
        yield ok(name, "nobody on the network has set it, but a clock with a battery tells the same time")
    else:
        why = f"nobody has set it since the machine started ({now:%Y-%m-%d %H:%M} UTC){_so_far(context)}"
        yield warn(name, why, _set(context))


def _so_far(context: DiagnosticContext) -> str:
    if context.config is None:
        return ""
    wait = context.config.clock.max_wait_for_sync
    if context.clock.monotonic() < wait.total_seconds():
        return f"; jobs wait for that, up to {units.format_duration(wait)} after the start"
    return "; it is believed all the same"


def _newest_instant(context: DiagnosticContext) -> datetime | None:
    with contextlib.suppress(ApplianceError), context.history() as store:
        runs = store.history(limit=1) if store else []
        return runs[0].started if runs else None
    return None


def _has_battery(context: DiagnosticContext, now: datetime) -> bool:
    with contextlib.suppress(OSError, ValueError, OverflowError):
        told = datetime.fromtimestamp(int((context.root / _RTC).read_text("ascii")), UTC)
        return told > _LOST and abs(told - now) < timedelta(minutes=5)
    return False


def _set(context: DiagnosticContext) -> str:
    if context.systemd.is_running:
        return "sudo timedatectl set-ntp true"
    return 'sudo apt install chrony, or by hand: sudo date -s "YYYY-MM-DD HH:MM"'


def check_time_zone(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Tell the zones, and which jobs cron would start by another one than they are to go by."""
    name, machine = "time zone", loader.machine_zone()
    now = context.clock.now()
    jobs = context.config.jobs.values() if context.config else ()
    by_cron = [job for job in jobs if job.started_by is StartedBy.CRON and isinstance(job.schedule, Cron)]
    wrong = [
        (job, zone)
        for job in by_cron
        if context.config and not crontab.have_same_rules(zone := context.config.zone_of(job), ZoneInfo(machine), now)
    ]
    for job, zone in wrong[:1]:
        why = f"{job.name} is to go by {zone.key}, but cron starts it by the machine's zone, {machine}"
        yield fail(name, why, f"sudo timedatectl set-timezone {zone.key}")
    if not wrong:
        file = context.config.time_zone.key if context.config else machine
        unset = file == machine and file in _PLAIN
        hint = "; if you live elsewhere: sudo timedatectl set-timezone Europe/London" if unset else ""
        yield ok(
            name, f"{file}{hint}" if file == machine else f"{file}; the machine has {machine}, which only cron goes by"
        )


_WARM, _HOT = 75.0, 85.0  # degrees Celsius: a Pi slows down at 80 and more so at 85
_OLD, _WORN = 80, 100  # hundredths of a card's life
_REPLACE = "save what matters, and put in a new card"
_FSCK = (
    "save what matters; add fsck.mode=force to /boot/firmware/cmdline.txt for one start; if it comes back, a new card"
)
_SUPPLY = "use the supply made for this Pi, with its own cable; disks on a hub that has one of its own"


def check_sd_card(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check for file system errors, a root that they made read-only, and a worn card."""
    name, found = "card", filesystem_errors(context.root / "sys")
    bad = [each for each in found if each.count]
    for each in bad:
        since = (
            f", the first on {each.first:%Y-%m-%d}, the last on {each.last:%Y-%m-%d}"
            if each.first and each.last
            else ""
        )
        yield fail(name, f"{each.device}: the kernel met {each.count} errors{since}", _FSCK)
    root = mounts.find_mount(Path("/"), mounts.read_mounts(context.root / "proc/self/mountinfo"))
    if root is not None and root.read_only:
        if bad or "emergency_ro" in root.options:
            yield fail(name, "the kernel made the root read-only because of errors", _FSCK)
        else:
            yield ok(name, "the root is read-only on purpose: the kernel counts no errors")
    lives = storage_wear(context.root / "sys")
    for life in lives:
        if life.used >= _OLD or life.spare_low:
            why = f"{life.device}: {life.used} % of its life is used" + (
                ", its spare blocks run out" if life.spare_low else ""
            )
            yield (fail if life.used >= _WORN or life.spare_low else warn)(name, why, _REPLACE)
    if not found and not lives:
        yield skipped(name, "the kernel counts no errors of this file system")
    elif not bad:
        told = [f"{each.device} without an error" for each in found]
        told += [f"{life.device} has used {life.used} % of its life" for life in lives if life.used < _OLD]
        yield ok(name, ", ".join(told))


def check_temperature(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Tell how hot the processor is."""
    name, degrees = "temperature", Sensors(context.root / "sys", context.root / "proc").temperature()
    if degrees is None:
        yield skipped(name, "no sensor")
        return
    text = f"{degrees:.0f} °C"
    fix = "give it air or a heat sink; let heavy jobs wait: conditions: {temperature-below: 70}"
    if degrees >= _WARM:
        yield (fail if degrees >= _HOT else warn)(name, f"{text}: it slows down to save itself", fix)
    else:
        yield ok(name, text)


def check_power(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Tell whether the supply is good enough."""
    name, power = "power", Sensors(context.root / "sys", context.root / "proc").power()
    if power.under_voltage is None and power.throttled is None:
        yield skipped(name, "no sensor")
    elif power.under_voltage:
        yield fail(name, "the voltage is too low just now: cards are damaged that way", _SUPPLY)
    elif power.throttled:
        yield warn(name, "the processor is slowed down just now", "see temperature; then the supply")
    elif power.was_throttled:
        yield warn(name, "the voltage was too low, or the processor too hot, at some time since the start", _SUPPLY)
    else:
        yield ok(name, "good")


_TIMEOUT = 3.0  # seconds
_MAX_BYTES = 10_000
_LISTENS_EVERYWHERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - and where to ask it


@dataclass(frozen=True, slots=True)
class DaemonHealth:
    """The answer. `is_ours` is True if a pi-appliance answered; `reason` says why it is not ok or did not answer."""

    has_answered: bool
    is_ours: bool = False
    is_ok: bool = False
    reason: str = ""


def page_address(host: str, port: int) -> str:
    """Return the address of the page of `host` and `port` for a program on this machine."""
    name = _LISTENS_EVERYWHERE.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def read_health(host: str, port: int) -> DaemonHealth:
    """Ask the daemon that listens on `host` and `port`; wait a few seconds at most."""
    url = f"{page_address(host, port)}/health"
    try:
        response = http.request_now("GET", url, seconds=_TIMEOUT, max_bytes=_MAX_BYTES, use_proxy=False)
        answer = json.loads(response.body)
    except http.NoResponse as failure:
        return DaemonHealth(has_answered=not failure.is_http, reason=str(failure))
    except ValueError:
        return DaemonHealth(has_answered=True)
    if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool):
        return DaemonHealth(has_answered=True)
    is_ok = answer["ok"] and response.status == 200
    return DaemonHealth(has_answered=True, is_ours=True, is_ok=is_ok, reason=str(answer.get("why", "")))


_LITTLE, _TOO_LITTLE = 300_000_000, 30_000_000  # bytes: apt and logs need the first, the history the second
_FEW = 1000  # inodes
_MUCH = 1_000_000_000  # bytes of history and logs


def check_state_dir(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Write a file into the state folder and remove it, as the user whom it belongs to."""
    name = "state folder"
    if context.config is None:
        yield skipped(name, UNKNOWN)
        return
    state = context.config.state_dir
    there = files.nearest_existing(state)
    us = files.user_name(os.geteuid())
    if context.is_state_unreachable:
        why = f"{state} cannot be reached by {us}: {there} keeps {us} out"
        yield fail(name, why, f"look as the user whom it belongs to, or let `state-dir:` name a folder of {us}")
        return
    if not context.is_owner:
        yield warn(
            name, f"{state} belongs to {files.user_name(context.owner or 0)}, not to {us}", context.owner_command
        )
        return
    owner = context.owner if context.owner is not None else os.geteuid()
    with files.as_user(owner):
        trouble = files.probe_write(there)
    user, quoted = files.user_name(owner), shlex.quote(str(state))
    if trouble:
        why = f"{there} cannot be written by {user}: {trouble}"
        known = machine.find_mount(there, machine.read_mounts())
        frozen = known is not None and known.read_only
        yield fail(name, why, _thaw(known) if frozen and known else f"sudo install -d -o {user} -m 750 {quoted}")
    elif there != state:
        yield ok(name, f"{state} is not there yet; the first start makes it")
    else:
        yield ok(name, f"{state} can be written by {user}")


def _thaw(mount: machine.Mount) -> str:
    return (
        f"sudo mount -o remount,rw {shlex.quote(str(mount.folder))}; if that fails, the card needs a check, see there"
    )


def check_state_is_kept(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check that the state folder survives a restart."""
    name = "state is kept"
    if context.config is None:
        yield skipped(name, UNKNOWN)
        return
    known = machine.read_mounts(context.root / "proc/self/mountinfo")
    mount = machine.find_mount(files.nearest_existing(context.config.state_dir), known)
    if mount is None:
        yield skipped(name, "the kernel does not say where the state folder is mounted")
    elif machine.is_volatile(mount, known):
        state_dir = context.config.state_dir
        why = f"{state_dir} is on {mount.kind} ({mount.folder}): history, and what was posted, is forgotten"
        overlay = "or switch the overlay off: sudo raspi-config (Performance, Overlay File System)"
        fix = "let `state-dir:` name a folder on a drive that is kept" + (
            f", {overlay}" if mount.kind == "overlay" else ""
        )
        yield warn(name, f"{why} at the next start", fix)
    else:
        yield ok(name, f"{mount.kind} on {mount.source}, mounted at {mount.folder}")


def check_space(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check the free bytes and the free inodes."""
    name = "space"
    if context.config is None:
        yield skipped(name, UNKNOWN)
        return
    there = files.nearest_existing(context.config.state_dir)
    found = os.statvfs(there)
    left = found.f_bavail * found.f_frsize
    text = f"{format_size(left)} of {format_size(found.f_blocks * found.f_frsize)} are free where {there} is"
    fix = f"sudo apt clean; to see what is big: sudo du -xh {shlex.quote(str(there))} /var | sort -h | tail"
    if found.f_files and found.f_favail < _FEW:
        yield fail(name, f"only {found.f_favail} more files can be made where {there} is, however small", fix)
    elif left < _LITTLE:
        yield (fail if left < _TOO_LITTLE else warn)(name, text, fix)
    else:
        yield ok(name, text)


def check_history(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Read the whole database, and tell how much room history and logs take."""
    name = "history"
    if context.config is None:
        yield skipped(name, UNKNOWN)
        return
    if context.is_state_unreachable or not context.is_owner:
        yield skipped(name, "only the owner of the state folder can read it")
        return
    state = context.config.state_dir
    file = shlex.quote(str(state / HISTORY))
    try:
        with context.history() as store:
            if store is None:
                yield skipped(name, "nothing has run yet")
                return
            damage, newest = store.check(), store.history(limit=1)
    except ApplianceError as error:
        yield fail(name, str(error), f"stop the appliance, then: mv {file} {file}.damaged")
        return
    if damage:
        yield fail(
            name, f"{state / HISTORY} is damaged: {damage}", f"stop the appliance, then: mv {file} {file}.damaged"
        )
        return
    size = sum(_size(state / f"{HISTORY}{end}") for end in ("", "-wal", "-shm"))
    logs = sum(_size(Path(folder, each)) for folder, _, names in os.walk(state / "logs") for each in names)
    count = newest[0].id if newest else 0
    runs = f"{count} run{'' if count == 1 else 's'} so far"
    text = f"intact, {runs}; {format_size(size)}, and {format_size(logs)} of logs"
    if size + logs > _MUCH:
        yield warn(name, text, "keep less of it: retention: {max-age: 30d, max-runs: 200} in the configuration")
    else:
        yield ok(name, text)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


_MOST = 3  # other people's failed units that are named


def check_daemon(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check the daemon through its health endpoint."""
    name, config = "daemon", context.config
    if config is None:
        yield skipped(name, UNKNOWN)
        return
    unit = context.systemd.unit(systemd_units.MAIN_UNIT) if context.systemd.is_running else None
    active = unit is not None and unit.active == "active"
    if config.web.port == 0:
        word = "its unit is active" if active else "the page has another port at each start, so it cannot be asked"
        yield (ok if active else skipped)(name, word)
        return
    where = page_address(config.web.host, config.web.port)
    health = read_health(config.web.host, config.web.port)
    again = "sudo systemctl restart pi-appliance" if unit and unit.loaded else "stop it and start it again"
    if health.is_ours:
        yield (
            ok(name, f"up at {where}")
            if health.is_ok
            else fail(name, f"it is up at {where}, but {health.reason}", again)
        )
    elif health.has_answered:
        why = f"something else answers at {where}"
        yield fail(name, why, f"choose another port under web:, or find it: sudo ss -ltnp sport = :{config.web.port}")
    elif active:
        yield fail(name, f"its unit is active, but nothing answers at {where}: {health.reason}", again)
    else:
        needed = any(job.started_by is StartedBy.DAEMON and job.schedule for job in config.jobs.values())
        start = "sudo systemctl start pi-appliance" if unit and unit.loaded else f"pi-appliance up{context.option}"
        why = f"not up: nothing answers at {where}" + (", so the jobs that it starts do not run" if needed else "")
        yield (fail if needed or context.error else warn)(name, why, start)


def check_units(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Tell whether the installed units are those of this release."""
    name, systemd = "unit", context.systemd
    if not systemd.is_running:
        yield skipped(name, "systemd does not run this machine")
        return
    installed = {
        each: (text, there)
        for each, text in systemd_units.packaged_units().items()
        if (there := systemd.installed(each))
    }
    if not installed:
        yield skipped(name, "the appliance is not installed as a service")
        return
    other = [each for each, (text, there) in installed.items() if text != there]
    main = systemd.unit(systemd_units.MAIN_UNIT)
    if other:
        why = f"{', '.join(other)} is not the one of pi-appliance {__version__}"
        yield warn(name, why, "sudo deploy/install.sh, in the clone; changes of your own: systemctl edit pi-appliance")
    elif main is not None and main.needs_reload:
        yield warn(name, "its file was changed, and systemd has not read it again", "sudo systemctl daemon-reload")
    else:
        yield ok(name, f"{', '.join(installed)}: as pi-appliance {__version__} brought it")


def check_failed_units(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report failed units; those of others may explain a failure of ours."""
    name, systemd = "failed units", context.systemd
    if not systemd.is_running:
        yield skipped(name, "systemd does not run this machine")
        return
    found = systemd.failed()
    ours = [each for each in found if each.startswith("pi-appliance")]
    others = [each for each in found if each not in ours]
    for each in ours:
        state = systemd.unit(each)
        yield fail(
            name, f"{each} has failed ({state.result if state else 'why is not known'})", f"journalctl -u {each} -n 30"
        )
    if others:
        more = f" and {len(others) - _MOST} more" if len(others) > _MOST else ""
        yield warn(name, f"not of the appliance: {', '.join(others[:_MOST])}{more}", f"systemctl status {others[0]}")
    if not found:
        yield ok(name, "none")
