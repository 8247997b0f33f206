"""Checks of the state folder: it can be written, is kept, has room, and holds a whole history."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from pi_appliance import __version__
from pi_appliance.config.model import StartedBy
from pi_appliance.config.units import format_size
from pi_appliance.diagnostics.context import HISTORY, UNKNOWN, DiagnosticContext
from pi_appliance.diagnostics.result import CheckResult, fail, ok, skipped, warn
from pi_appliance.errors import ApplianceError
from pi_appliance.system import daemon_health, files, mounts
from pi_appliance.system import systemd as systemd_units

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
        known = mounts.find_mount(there, mounts.read_mounts())
        frozen = known is not None and known.read_only
        yield fail(name, why, _thaw(known) if frozen and known else f"sudo install -d -o {user} -m 750 {quoted}")
    elif there != state:
        yield ok(name, f"{state} is not there yet; the first start makes it")
    else:
        yield ok(name, f"{state} can be written by {user}")


def _thaw(mount: mounts.Mount) -> str:
    return (
        f"sudo mount -o remount,rw {shlex.quote(str(mount.folder))}; if that fails, the card needs a check, see there"
    )


def check_state_is_kept(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Check that the state folder survives a restart."""
    name = "state is kept"
    if context.config is None:
        yield skipped(name, UNKNOWN)
        return
    known = mounts.read_mounts(context.root / "proc/self/mountinfo")
    mount = mounts.find_mount(files.nearest_existing(context.config.state_dir), known)
    if mount is None:
        yield skipped(name, "the kernel does not say where the state folder is mounted")
    elif mounts.is_volatile(mount, known):
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
    where = daemon_health.page_address(config.web.host, config.web.port)
    health = daemon_health.read_health(config.web.host, config.web.port)
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
        each: (text, there) for each, text in systemd_units.packaged_units().items() if (there := systemd.installed(each))
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
