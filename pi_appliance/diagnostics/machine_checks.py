"""Checks of time: the clock, and the zones that jobs and cron go by."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from pi_appliance.config import loader, units
from pi_appliance.config.model import StartedBy
from pi_appliance.diagnostics.context import DiagnosticContext
from pi_appliance.diagnostics.result import CheckResult, fail, ok, skipped, warn
from pi_appliance.errors import ApplianceError
from pi_appliance.scheduling import crontab
from pi_appliance.scheduling.model import Cron
from pi_appliance.system import mounts
from pi_appliance.system.sensors import Sensors, filesystem_errors, storage_wear

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
        if context.config and not crontab.same_clock(zone := context.config.zone_of(job), ZoneInfo(machine), now)
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
