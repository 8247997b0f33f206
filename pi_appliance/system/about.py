"""Which machine this is, and what runs on it: versions, for who is to help from afar."""

import contextlib
import importlib.metadata
import os
import platform
from pathlib import Path

from pi_appliance import __version__


def versions(root: Path = Path("/")) -> dict[str, str]:
    """Return the versions of program, Python, kernel and system, and the model of the machine, by name."""
    kernel = os.uname()
    return {
        "pi-appliance": __version__,
        "python": platform.python_version(),
        "kernel": f"{kernel.sysname} {kernel.release} {kernel.machine}",
        "system": _system(root),
        "model": model(root) or "it does not say",
        "memory": _memory(root),
    }


def model(root: Path = Path("/")) -> str:
    """Return which Raspberry Pi this is, '' for a machine that does not say."""
    with contextlib.suppress(OSError):
        return (root / "proc/device-tree/model").read_bytes().rstrip(b"\0").decode("utf-8", "replace")
    return ""


def packages() -> dict[str, str]:
    """Return the version of every Python package that can be imported here."""
    found = ((each.name, each.version) for each in importlib.metadata.distributions())
    return dict(sorted((name, version) for name, version in found if name))


def _system(root: Path) -> str:
    with contextlib.suppress(OSError):
        for line in (root / "etc/os-release").read_text("utf-8", "replace").splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.partition("=")[2].strip('"')
    return "it does not say"


def _memory(root: Path) -> str:
    with contextlib.suppress(OSError):
        lines = (root / "proc/meminfo").read_text("ascii", "replace").splitlines()
        return "; ".join(" ".join(line.split()) for line in lines if line.startswith(("MemTotal", "MemAvailable")))
    return "it does not say"
