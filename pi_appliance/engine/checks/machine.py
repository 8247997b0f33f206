"""Checks of the hardware: the card, the heat, the supply."""

from collections.abc import Iterator
from pathlib import Path

from pi_appliance.engine.checks.patient import Patient
from pi_appliance.model.finding import Finding, fail, not_here, ok, warn
from pi_appliance.system import mounts
from pi_appliance.system.card import errors, wear
from pi_appliance.system.sensors import Sensors

_WARM, _HOT = 75.0, 85.0  # degrees Celsius: a Pi slows down at 80 and more so at 85
_OLD, _WORN = 80, 100  # hundredths of a card's life
_REPLACE = "save what matters, and put in a new card"
_FSCK = (
    "save what matters; add fsck.mode=force to /boot/firmware/cmdline.txt for one start; if it comes back, a new card"
)
_SUPPLY = "use the supply made for this Pi, with its own cable; disks on a hub that has one of its own"


def card(patient: Patient) -> Iterator[Finding]:
    """Tell the errors that the kernel met, a root that it made read-only because of them, and how worn a card is."""
    name, found = "card", errors(patient.root / "sys")
    bad = [each for each in found if each.count]
    for each in bad:
        since = (
            f", the first on {each.first:%Y-%m-%d}, the last on {each.last:%Y-%m-%d}"
            if each.first and each.last
            else ""
        )
        yield fail(name, f"{each.device}: the kernel met {each.count} errors{since}", _FSCK)
    root = mounts.mount_of(Path("/"), mounts.mounts(patient.root / "proc/self/mountinfo"))
    if root is not None and root.read_only:
        if bad or "emergency_ro" in root.options:
            yield fail(name, "the kernel lets nobody write to the root any more, because of errors", _FSCK)
        else:
            yield ok(name, "the root is read-only, and without errors: somebody wanted it so")
    lives = wear(patient.root / "sys")
    for life in lives:
        if life.used >= _OLD or life.spare_low:
            why = f"{life.device}: {life.used} % of its life is used" + (
                ", its spare blocks run out" if life.spare_low else ""
            )
            yield (fail if life.used >= _WORN or life.spare_low else warn)(name, why, _REPLACE)
    if not found and not lives:
        yield not_here(name, "the kernel counts no errors of this file system")
    elif not bad:
        told = [f"{each.device} without an error" for each in found]
        told += [f"{life.device} has used {life.used} % of its life" for life in lives if life.used < _OLD]
        yield ok(name, ", ".join(told))


def temperature(patient: Patient) -> Iterator[Finding]:
    """Tell how hot the processor is."""
    name, degrees = "temperature", Sensors(patient.root / "sys", patient.root / "proc").temperature()
    if degrees is None:
        yield not_here(name, "no sensor")
        return
    text = f"{degrees:.0f} °C"
    mend = "give it air or a heat sink; let heavy jobs wait: only-if: {temperature-below: 70}"
    if degrees >= _WARM:
        yield (fail if degrees >= _HOT else warn)(name, f"{text}: it slows down to save itself", mend)
    else:
        yield ok(name, text)


def power(patient: Patient) -> Iterator[Finding]:
    """Tell whether the supply is good enough."""
    name, power = "power", Sensors(patient.root / "sys", patient.root / "proc").power()
    if power.under_voltage is None and power.throttled is None:
        yield not_here(name, "no sensor")
    elif power.under_voltage:
        yield fail(name, "the voltage is too low just now: cards are damaged that way", _SUPPLY)
    elif power.throttled:
        yield warn(name, "the processor is slowed down just now", "see temperature; then the supply")
    elif power.was_throttled:
        yield warn(name, "the voltage was too low, or the processor too hot, at some time since the start", _SUPPLY)
    else:
        yield ok(name, "good")
