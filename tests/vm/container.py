"""A disposable Debian that boots with systemd: built by mmdebstrap, run by systemd-nspawn."""

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from tests.vm.system import System

PROGRAMS = {"systemd-nspawn": "systemd-container", "mmdebstrap": "mmdebstrap"}
_PACKAGES = "systemd,systemd-sysv,dbus,polkitd,cron,procps,python3,ca-certificates,locales"
_BOOT_TIMEOUT = 120.0  # seconds


def why_not() -> str:
    """Return why no container can be booted here, or ''. Root on Debian installs missing programs."""
    if os.environ.get("PI_APPLIANCE_VM") != "1":
        return "it takes minutes: set PI_APPLIANCE_VM=1 to have it"
    return install_missing(PROGRAMS) if os.geteuid() == 0 else "only root can boot a container"


def install_missing(programs: dict[str, str]) -> str:
    """Install the Debian packages of the missing `programs` if possible; return what is still missing, or ''."""
    missing = [package for program, package in programs.items() if not shutil.which(program)]
    if missing and shutil.which("apt-get"):
        do("apt-get", "install", "-y", "--no-install-recommends", *missing)
    missing = [package for program, package in programs.items() if not shutil.which(program)]
    return f"these are not installed: {' '.join(missing)}" if missing else ""


class Container(System):
    """One Debian in a folder, which keeps its files when it is shut down.

    It uses the network of the machine. `$PI_APPLIANCE_VM_BIND` names folders and files, separated by
    colons, that it sees under the same name, such as an own package index.
    """

    patience = 120.0

    def __init__(self, root: Path, source: Path) -> None:
        self.root = root
        self._source = source  # seen as /srv
        self._nspawn: subprocess.Popen[bytes] | None = None
        self._leader = 0

    def boot(self) -> float:
        """Start it, and return after how many seconds systemd had started everything."""
        start = time.monotonic()
        binds = [*files_of_the_network(), *os.environ.get("PI_APPLIANCE_VM_BIND", "").split(":")]
        self._nspawn = subprocess.Popen(
            [
                *("systemd-nspawn", "--quiet", "--boot", f"--directory={self.root}", "--machine=appliance"),
                *("--register=no", "--keep-unit", "--resolv-conf=off", f"--bind-ro={self._source}:/srv"),
                *(f"--bind-ro={each}" for each in binds if each),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        while True:
            children = Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children").read_text("ascii").split()
            self._leader = int(children[0]) if children else 0
            if children and self.run("systemctl", "is-system-running", check=False)[1] in {"running", "degraded"}:
                return time.monotonic() - start
            assert time.monotonic() - start < _BOOT_TIMEOUT, "the container does not boot"
            time.sleep(0.1)

    def run(self, *words: str, stdin: str = "", check: bool = True) -> tuple[int, str]:
        """Run a program as root, and return its exit status and its output of both kinds."""
        done = subprocess.run(
            [
                *("nsenter", "--target", str(self._leader), "--all", "env", "--ignore-environment"),
                *("PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8", *words),
            ],
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, f"{' '.join(words)}: {done.stdout}"
        return done.returncode, done.stdout.strip()

    def shut_down(self) -> None:
        """Power it off as a person does."""
        if self._nspawn is None:
            return
        self.run("systemctl", "poweroff", check=False)
        with suppress(subprocess.TimeoutExpired):
            self._nspawn.wait(_BOOT_TIMEOUT)
        self.cut_power()

    def cut_power(self) -> None:
        """Kill all its processes."""
        if self._nspawn is not None and self._nspawn.poll() is None:
            os.kill(self._leader, signal.SIGKILL)
            self._nspawn.kill()
            self._nspawn.wait()
        self._nspawn = None

    def remove(self) -> None:
        """Kill all its processes, and delete its files: about a gigabyte."""
        self.cut_power()
        shutil.rmtree(self.root, ignore_errors=True)


def new_root(suite: str, folder: Path, more: str = "", *options: str) -> Path:
    """Return a fresh root file system of a Debian, copied from the cache if possible.

    It has `more` packages, separated by commas; `options` are those of mmdebstrap.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pi-appliance-vm"
    cache = caches / f"root-{suite}{more and f'-{more}'}"
    if not cache.exists():
        draft = cache.with_name(f"{cache.name}.{os.getpid()}")
        draft.mkdir(parents=True)
        do("mmdebstrap", "--quiet", "--variant=minbase", f"--include={_PACKAGES},{more}", *options, suite, str(draft))
        (draft / "etc/machine-id").write_text("")  # systemd makes one at the first boot
        draft.rename(cache)
    do("cp", "-a", "--reflink=auto", str(cache), str(folder))
    (folder / "etc/hostname").write_text("appliance\n")
    (folder / "etc/hosts").write_text("127.0.0.1 localhost appliance\n")
    return folder


def files_of_the_network() -> list[str]:
    """Return the files of this machine that programs need there to reach a package index."""
    names = ("/etc/resolv.conf", "/etc/ssl/certs", "/etc/pip.conf")
    return [name for name in names if Path(name).exists()]


def do(*words: str) -> None:
    """Run a program that must succeed."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
