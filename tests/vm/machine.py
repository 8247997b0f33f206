"""A disposable virtual machine: built by mmdebstrap, run by QEMU without KVM, disk and network."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.installation import ROOT
from tests.vm.container import do, install_missing

PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "mmdebstrap": "mmdebstrap", "cpio": "cpio"}
_SUITE, _PYTHON = "bookworm", "3.11"
_USERLAND = "python3,tzdata,dash,coreutils,mount"
_WHEELS = Path(f"usr/local/lib/python{_PYTHON}/dist-packages")
_PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_28_x86_64")
_OURS = ("pi_appliance", "config", "systemd", "tests/__init__.py", "tests/installation.py", "tests/vm")
_LIMIT = 600  # seconds from the start to the end of a machine


def why_not() -> str:
    """Return why no machine can be built here, or ''. Root on Debian installs missing programs."""
    if os.environ.get("PI_APPLIANCE_VM") != "1":
        return "it takes minutes: set PI_APPLIANCE_VM=1 to have it"
    if platform.machine() != "x86_64" or os.geteuid() != 0:
        return "only root on an x86-64 machine can make the virtual machine"
    return install_missing(PROGRAMS)


class Machine:
    """One machine, in a scratch `folder`."""

    def __init__(self, folder: Path) -> None:
        self._console, self._log, self._initrd = (folder / name for name in ("console", "log", "initrd"))

    @property
    def console(self) -> str:
        """The messages of the kernel, the programs and the daemon."""
        return self._console.read_text("utf-8", "replace")

    def run(self, start: str) -> list[dict[str, Any]]:
        """Boot with the clock at `start`, wait until it is off, and return the scenario's log."""
        kernel, userland = _built()
        with self._initrd.open("wb") as file:
            file.write(userland.read_bytes())  # the kernel unpacks one archive after the other
            file.write(_packed(self._initrd.parent / "ours"))
        with (
            _process(
                *("qemu-system-x86_64", "-nodefaults", "-display", "none", "-no-reboot", "-nic", "none"),
                *("-accel", "tcg", "-smp", "2", "-m", "1024", "-rtc", f"base={start}"),
                *("-serial", f"file:{self._console}", "-serial", f"file:{self._log}"),
                *("-kernel", str(kernel), "-initrd", str(self._initrd)),
                *("-append", "console=ttyS0 quiet panic=-1 pi-appliance-vm"),
            ) as machine,
            suppress(subprocess.TimeoutExpired),
        ):  # the output so far shows where it hung
            machine.wait(_LIMIT)
        return [json.loads(line) for line in self._log.read_text("utf-8").splitlines() if line.startswith("{")]


@contextmanager
def _process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a program and end it after the block."""
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _built() -> tuple[Path, Path]:
    """Return the kernel and the userland archive, from the cache if possible."""
    requirements: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    name = hashlib.sha256(json.dumps([_SUITE, _USERLAND, requirements]).encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pi-appliance-vm"
    kernel, userland = cache / f"{name}.kernel", cache / f"{name}.userland"
    if not (kernel.exists() and userland.exists()):
        work = cache / f"{name}.{os.getpid()}"
        try:
            _bootstrap("linux-image-cloud-amd64", work / "kernel")
            _bootstrap(_USERLAND, work / "root")
            _furnish(work / "root", requirements)
            (work / "archive").write_bytes(_archive(work / "root"))
            next((work / "kernel" / "boot").glob("vmlinuz-*")).rename(kernel)
            (work / "archive").rename(userland)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return kernel, userland


def _bootstrap(packages: str, folder: Path) -> None:
    folder.mkdir(parents=True)
    do("mmdebstrap", "--quiet", "--variant=extract", f"--include={packages}", _SUITE, str(folder))


def _furnish(root: Path, requirements: list[str]) -> None:
    """Install the libraries `requirements` for the Python in `root`, and compile them here for speed."""
    kind = ("--only-binary=:all:", "--implementation=cp", f"--python-version={_PYTHON}")
    platforms = [f"--platform={each}" for each in _PLATFORMS]
    do(sys.executable, "-m", "pip", "install", "-q", *kind, *platforms, "--target", str(root / _WHEELS), *requirements)
    do("chroot", str(root), "python3", "-m", "compileall", "-q", f"/usr/lib/python{_PYTHON}", f"/{_WHEELS}")


def _packed(folder: Path) -> bytes:
    """Return an archive of the program in this clone, with the scenario."""
    installation = folder / "srv" / "app"
    for name in _OURS:
        ours, there = ROOT / name, installation / name
        there.parent.mkdir(parents=True, exist_ok=True)
        if ours.is_dir():
            shutil.copytree(ours, there, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "secrets.env"))
        else:
            shutil.copy(ours, there)
    shutil.copy(installation / "tests/vm/guest/init", folder / "init")
    return _archive(folder)


def _archive(folder: Path) -> bytes:
    """Return `folder` as an initrd archive."""
    names = "\n".join(sorted(str(path.relative_to(folder)) for path in folder.rglob("*")))
    words = ("cpio", "--create", "--format=newc", "--quiet", "--owner=0:0")
    done = subprocess.run(words, cwd=folder, input=names.encode(), capture_output=True, check=True)
    return done.stdout
