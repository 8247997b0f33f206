"""Facts about the machine: memory, load, uptime, addresses, versions, and some checks."""

import contextlib
import functools
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from datetime import timedelta

from pi_appliance.config import units
from pi_appliance.diagnostics import appliance_checks, machine_checks
from pi_appliance.diagnostics.context import Check, CheckResult, DiagnosticContext, Skip, ok, run_checks, warn
from pi_appliance.system import machine, network

_MIN_MEMORY = 0.1  # of the memory available
_MAX_LOAD = 2.0  # waiting programs per core, over five minutes
_TIMEOUT = 3.0  # seconds for a program to print its version


def check_memory(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report the memory."""
    values = {}
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (context.root / "proc/meminfo").read_text("ascii").splitlines():
            key, _, value = line.partition(":")
            values[key] = int(value.split()[0]) * 1024
    total, available = values.get("MemTotal", 0), values.get("MemAvailable", 0)
    if not total:
        raise Skip("the kernel does not say")
    text = f"{units.format_size(available)} of {units.format_size(total)} available"
    if available < _MIN_MEMORY * total:
        yield warn(text, "limit heavy jobs: memory: 200MB; see which program takes it: ps aux --sort=-rss | head")
    else:
        yield ok(text)


def check_load(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report the load of the processor."""
    cores = os.cpu_count() or 1
    try:
        one, five, _ = map(float, (context.root / "proc/loadavg").read_text("ascii").split()[:3])
    except (OSError, ValueError):
        raise Skip("the kernel does not say") from None
    text = f"{one:.1f} in the last minute, {five:.1f} in the last five, for {units.pluralize(cores, 'core')}"
    if five > _MAX_LOAD * cores:
        yield warn(text, "limit heavy jobs: cpu: 50%; see which program it is: top")
    else:
        yield ok(text)


def check_uptime(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report since when the machine runs."""
    try:
        seconds = float((context.root / "proc/uptime").read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        raise Skip("the kernel does not say") from None
    yield ok(describe_time(timedelta(seconds=seconds)))


def describe_time(length: timedelta) -> str:
    """Return `length` in days if it has several, else in hours and minutes."""
    if length < timedelta(minutes=1):
        return "less than a minute"
    return (
        f"{length.days} days"
        if length.days > 1
        else units.format_duration(timedelta(minutes=length // timedelta(minutes=1)))
    )


def check_addresses(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report the addresses of the machine."""
    addresses = ", ".join(network.local_addresses())
    if not addresses:
        yield warn("no address in a network", "check the cable, or the WiFi: sudo nmtui")
    elif not machine.Sensors(proc=context.root / "proc").online():
        yield warn(f"{addresses}, but no way to the internet", "restart the router")
    else:
        yield ok(addresses)


VERSIONS = ("pi-appliance", "Python", "system", "kernel", "MPD", "model")


def check_versions(context: DiagnosticContext) -> Iterator[CheckResult]:
    """Report the versions of the program, Python, the system and MPD."""
    known = machine.system_versions(context.root)
    values = (
        *(known["pi-appliance"], known["python"], known["system"], known["kernel"].split()[1]),
        _mpd_version(context.environment.get("PATH", os.defpath)) or "not installed",
        known["model"],
    )
    for name, value in zip(VERSIONS, values, strict=True):
        if value != "unknown":
            yield ok(value, check=name)


@functools.cache
def _mpd_version(path: str) -> str:
    """Return the version of the installed MPD, '' without one."""
    program = shutil.which("mpd", path=path)
    if program is None:
        return ""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run([program, "--version"], capture_output=True, timeout=_TIMEOUT, check=False)
        words = done.stdout.decode("utf-8", "replace").partition("\n")[0].split()
        return next((word for word in words if word[0].isdigit()), "")
    return ""


FACTS: Sequence[tuple[str, Check]] = (
    ("temperature", machine_checks.check_temperature),
    ("power", machine_checks.check_power),
    ("card", machine_checks.check_sd_card),
    ("space", machine_checks.check_space),
    ("state is kept", machine_checks.check_state_is_kept),
    ("clock", machine_checks.check_clock),
    ("memory", check_memory),
    ("load", check_load),
    ("network", check_addresses),
    ("uptime", check_uptime),
    ("puzzles", appliance_checks.check_kernels),
    ("versions", check_versions),
)


def read_facts(context: DiagnosticContext) -> list[CheckResult]:
    """Return the facts. This takes some milliseconds, and changes nothing."""
    return list(run_checks(context, FACTS))
