"""Checks of time: the clock, and the zones that jobs and cron go by."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from pi_appliance.config import load
from pi_appliance.core import durations
from pi_appliance.engine.checks.patient import Patient
from pi_appliance.errors import ApplianceError
from pi_appliance.model.config import RunsBy
from pi_appliance.model.finding import Finding, fail, ok, warn
from pi_appliance.model.schedule import Cron
from pi_appliance.system import crontab

_PLAIN = ("UTC", "Etc/UTC")  # what a machine goes by whom nobody has told where it is
_NOT_BEHIND = timedelta(minutes=1)
_RTC = "sys/class/rtc/rtc0/since_epoch"
_LOST = datetime(2024, 1, 1, tzinfo=UTC)  # a clock without its battery begins anew, long before this program


def clock(patient: Patient) -> Iterator[Finding]:
    """Tell whether somebody who knows has set the clock, and whether it is behind what has happened already."""
    name, now = "clock", patient.clock.now()
    newest = _newest_instant(patient)
    if newest is not None and newest - now > _NOT_BEHIND:
        behind = durations.render(timedelta(seconds=int((newest - now).total_seconds())))
        yield fail(
            name, f"it shows {now:%Y-%m-%d %H:%M} UTC, {behind} before the newest run in the history", _set(patient)
        )
    elif patient.clock.synchronised():
        yield ok(name, "set by somebody who knows, and kept right")
    elif _has_battery(patient, now):
        yield ok(name, "nobody on the network has set it, but a clock with a battery tells the same time")
    else:
        why = f"nobody has set it since the machine started ({now:%Y-%m-%d %H:%M} UTC){_so_far(patient)}"
        yield warn(name, why, _set(patient))


def _so_far(patient: Patient) -> str:
    if patient.config is None:
        return ""
    wait = patient.config.clock.wait
    if patient.clock.steady() < wait.total_seconds():
        return f"; jobs wait for that, up to {durations.render(wait)} after the start"
    return "; it is believed all the same"


def _newest_instant(patient: Patient) -> datetime | None:
    with contextlib.suppress(ApplianceError), patient.history() as store:
        runs = store.history(limit=1) if store else []
        return runs[0].started if runs else None
    return None


def _has_battery(patient: Patient, now: datetime) -> bool:
    with contextlib.suppress(OSError, ValueError, OverflowError):
        told = datetime.fromtimestamp(int((patient.root / _RTC).read_text("ascii")), UTC)
        return told > _LOST and abs(told - now) < timedelta(minutes=5)
    return False


def _set(patient: Patient) -> str:
    if patient.systemd.here:
        return "sudo timedatectl set-ntp true"
    return 'sudo apt install chrony, or by hand: sudo date -s "YYYY-MM-DD HH:MM"'


def time_zone(patient: Patient) -> Iterator[Finding]:
    """Tell the zones, and which jobs cron would start by another one than they are to go by."""
    name, machine = "time zone", load.machine_zone()
    now = patient.clock.now()
    jobs = patient.config.jobs.values() if patient.config else ()
    by_cron = [job for job in jobs if job.runs_by is RunsBy.CRON and isinstance(job.schedule, Cron)]
    wrong = [
        (job, zone)
        for job in by_cron
        if patient.config and not crontab.same_clock(zone := patient.config.zone_of(job), ZoneInfo(machine), now)
    ]
    for job, zone in wrong[:1]:
        why = f"{job.name} is to go by {zone.key}, but cron starts it by the machine's zone, {machine}"
        yield fail(name, why, f"sudo timedatectl set-timezone {zone.key}")
    if not wrong:
        file = patient.config.time_zone.key if patient.config else machine
        unset = file == machine and file in _PLAIN
        hint = "; if you live elsewhere: sudo timedatectl set-timezone Europe/London" if unset else ""
        yield ok(
            name, f"{file}{hint}" if file == machine else f"{file}; the machine has {machine}, which only cron goes by"
        )
