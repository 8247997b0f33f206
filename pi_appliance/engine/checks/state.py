"""Checks of the state folder: it can be written, is kept, has room, and holds a whole history."""

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from pi_appliance.core.amounts import render_size
from pi_appliance.engine.checks.patient import HISTORY, UNKNOWN, Patient
from pi_appliance.errors import ApplianceError
from pi_appliance.model.finding import Finding, fail, not_here, ok, warn
from pi_appliance.system import mounts, trial

_LITTLE, _TOO_LITTLE = 300_000_000, 30_000_000  # bytes: apt and logs need the first, the history the second
_FEW = 1000  # inodes
_MUCH = 1_000_000_000  # bytes of history and logs


def folder(patient: Patient) -> Iterator[Finding]:
    """Write a file into the state folder and remove it, as the user whom it belongs to."""
    name = "state folder"
    if patient.config is None:
        yield not_here(name, UNKNOWN)
        return
    state = patient.config.state
    there = trial.nearest(state)
    us = trial.name_of(os.geteuid())
    if patient.kept_out:
        why = f"{state} cannot be reached by {us}: {there} keeps {us} out"
        yield fail(name, why, f"look as the user whom it belongs to, or let `state:` name a folder of {us}")
        return
    if not patient.is_us:
        yield warn(name, f"{state} belongs to {trial.name_of(patient.owner or 0)}, not to {us}", patient.as_owner)
        return
    owner = patient.owner if patient.owner is not None else os.geteuid()
    with trial.acting_as(owner):
        trouble = trial.write(there)
    user, quoted = trial.name_of(owner), shlex.quote(str(state))
    if trouble:
        why = f"{there} cannot be written by {user}: {trouble}"
        known = mounts.mount_of(there, mounts.mounts())
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


def memory(patient: Patient) -> Iterator[Finding]:
    """Tell whether what is written there is still there after the next start."""
    name = "state is kept"
    if patient.config is None:
        yield not_here(name, UNKNOWN)
        return
    known = mounts.mounts(patient.root / "proc/self/mountinfo")
    mount = mounts.mount_of(trial.nearest(patient.config.state), known)
    if mount is None:
        yield not_here(name, "the kernel does not say where the state folder is mounted")
    elif mounts.forgets(mount, known):
        why = f"{patient.config.state} is on {mount.kind} ({mount.folder}): history, and what was posted, is forgotten"
        overlay = "or switch the overlay off: sudo raspi-config (Performance, Overlay File System)"
        mend = "let `state:` name a folder on a drive that is kept" + (
            f", {overlay}" if mount.kind == "overlay" else ""
        )
        yield warn(name, f"{why} at the next start", mend)
    else:
        yield ok(name, f"{mount.kind} on {mount.source}, mounted at {mount.folder}")


def space(patient: Patient) -> Iterator[Finding]:
    """Tell how many bytes and how many files more there is room for."""
    name = "space"
    if patient.config is None:
        yield not_here(name, UNKNOWN)
        return
    there = trial.nearest(patient.config.state)
    found = os.statvfs(there)
    left = found.f_bavail * found.f_frsize
    text = f"{render_size(left)} of {render_size(found.f_blocks * found.f_frsize)} are free where {there} is"
    mend = f"sudo apt clean; to see what is big: sudo du -xh {shlex.quote(str(there))} /var | sort -h | tail"
    if found.f_files and found.f_favail < _FEW:
        yield fail(name, f"only {found.f_favail} more files can be made where {there} is, however small", mend)
    elif left < _LITTLE:
        yield (fail if left < _TOO_LITTLE else warn)(name, text, mend)
    else:
        yield ok(name, text)


def history(patient: Patient) -> Iterator[Finding]:
    """Read the whole database, and tell how much room history and logs take."""
    name = "history"
    if patient.config is None:
        yield not_here(name, UNKNOWN)
        return
    if patient.kept_out or not patient.is_us:
        yield not_here(name, "only the owner of the state folder can read it")
        return
    state = patient.config.state
    file = shlex.quote(str(state / HISTORY))
    try:
        with patient.history() as store:
            if store is None:
                yield not_here(name, "nothing has run yet")
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
    text = f"whole, {runs}; {render_size(size)}, and {render_size(logs)} of logs"
    if size + logs > _MUCH:
        yield warn(name, text, "keep less of it: history: {age: 30d, runs: 200} in the configuration")
    else:
        yield ok(name, text)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
