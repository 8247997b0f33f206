"""A disposable Debian with its own kernel and disk, emulated by QEMU without KVM. The disk survives power cuts."""

import os
import platform
import shlex
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from tests.vm.container import do, files_of_the_network, install_missing, new_root
from tests.vm.system import System

PROGRAMS = {"qemu-system-x86_64": "qemu-system-x86", "mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs"}
_PACKAGES = "linux-image-amd64,initramfs-tools,udev,iproute2,kmod"
_DISK_SIZE = "4G"
_KERNEL = ("vmlinuz", "initrd.img")
# Only the modules that this computer starts with, before Debian makes the initrd.
_SMALL_INITRD = """\
mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/share/initramfs-tools/modules.d"
echo MODULES=list >"$1/etc/initramfs-tools/conf.d/small"
printf 'virtio_pci\\nvirtio_blk\\next4\\n' >"$1/usr/share/initramfs-tools/modules.d/emulator"
"""
_NETWORK = """\
[Match]
Name=en* eth*
[Network]
Address=10.0.2.15/24
Gateway=10.0.2.2
"""
# A shell for the test, at a port without a terminal and without an echo.
_SHELL = """\
[Unit]
DefaultDependencies=no
After=systemd-udev-trigger.service
StartLimitIntervalSec=0
[Service]
ExecStart=/bin/sh -c 'exec sh <>/dev/virtio-ports/shell >&0 2>&1'
Environment=HOME=/root LC_ALL=C.UTF-8
Restart=always
RestartSec=1
[Install]
WantedBy=sysinit.target
"""


def why_not() -> str:
    """Return why no system can be emulated here, or ''. Root on Debian installs missing programs."""
    if os.environ.get("PI_APPLIANCE_VM") != "1":
        return "it takes minutes: set PI_APPLIANCE_VM=1 to have it"
    if platform.machine() != "x86_64" or os.geteuid() != 0:
        return "only root on an x86-64 machine can make the virtual machine"
    return install_missing(PROGRAMS)


def new_system(suite: str, folder: Path, more: str = "") -> Path:
    """Return a fresh root file system of a Debian with a kernel, for `write_disk`.

    It has `more` packages, separated by commas.
    """
    return new_root(suite, folder, f"{_PACKAGES},{more}".rstrip(","), f"--essential-hook={_SMALL_INITRD}")


def write_disk(root: Path, folder: Path) -> Path:
    """Write the disk of an emulator with the files of `root`, and its kernel, to the new `folder`. Return `folder`."""
    _furnish(root)
    folder.mkdir()
    for name in _KERNEL:
        shutil.copy(next((root / "boot").glob(f"{name}*")), folder / name)
    do("mke2fs", "-q", "-t", "ext4", "-d", str(root), str(folder / "disk"), _DISK_SIZE)
    return folder


class Emulator(System):
    """One computer with a disk. Its port 8080 is `port` of this machine, on the loopback interface only.

    It reaches package indexes through this machine, with its certificates.
    """

    patience = 900.0  # an emulated processor is slow, and its host may have more to do

    def __init__(self, original: Path, folder: Path) -> None:
        """Copy the disk and the kernel in `original`, which `write_disk` wrote, to the new `folder`."""
        do("cp", "-r", "--sparse=always", str(original), str(folder))
        self._folder = folder
        self._disk, self._kernel, self._initrd = (folder / name for name in ("disk", *_KERNEL))
        self._console, self._socket = folder / "console", folder / "shell"
        self.port = _free_port()
        self._qemu: subprocess.Popen[bytes] | None = None
        self._shell: socket.socket | None = None
        self._mark = 0

    @property
    def console(self) -> str:
        """The messages of the kernel and of systemd."""
        return self._console.read_text("utf-8", "replace")

    def boot(self) -> float:
        """Switch it on, and return after how many seconds systemd had started everything."""
        start = time.monotonic()
        self._socket.unlink(missing_ok=True)
        self._qemu = subprocess.Popen(
            [
                *("qemu-system-x86_64", "-nodefaults", "-display", "none"),
                *("-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "1024", "-rtc", "base=utc"),
                # A power cut ends QEMU, not this machine, so data that QEMU wrote is kept without flushing.
                *("-drive", f"file={self._disk},if=virtio,format=raw,cache=unsafe"),
                *("-nic", f"user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:{self.port}-:8080"),
                *("-chardev", f"socket,id=shell,path={self._socket},server=on,wait=off"),
                *("-device", "virtio-serial", "-device", "virtserialport,chardev=shell,name=shell"),
                *("-chardev", f"file,id=console,path={self._console},append=on", "-serial", "chardev:console"),
                *("-kernel", str(self._kernel), "-initrd", str(self._initrd)),
                *("-append", "root=/dev/vda rw console=ttyS0 panic=-1"),
            ],
            stdin=subprocess.DEVNULL,
        )
        self._shell = socket.socket(socket.AF_UNIX)
        while self._shell.connect_ex(str(self._socket)) != 0:  # it is there before QEMU listens at it
            assert self._qemu.poll() is None, "QEMU does not start"
            time.sleep(0.1)
        self.wait_for_systemd()
        return time.monotonic() - start

    def wait_for_systemd(self) -> None:
        """Wait until systemd has started everything, also after a restart from inside."""
        status, output = self.run("systemctl", "is-system-running", "--wait", check=False, limit=self.patience)
        assert output in {"running", "degraded"}, (status, output, self.console)

    def run(self, *words: str, stdin: str = "", check: bool = True, limit: float = 1800) -> tuple[int, str]:
        """Run a program as root, and return its exit status and its output of both kinds."""
        assert self._shell is not None, "it is switched off"
        self._mark += 1
        mark = f"<end {self._mark}> "
        self._shell.settimeout(limit)
        command = f"printf %s {shlex.quote(stdin)} | {shlex.join(words)}"
        self._shell.sendall(f"({command}) 2>&1; echo '{mark}'$?\n".encode())
        output = b""
        while not (output.endswith(b"\n") and mark.encode() in output):
            more = self._shell.recv(65536)
            assert more, f"{' '.join(words)}: it was switched off: {output!r}"
            output += more
        text, _, status = output.decode("utf-8", "replace").rpartition(mark)
        assert not check or int(status) == 0, f"{' '.join(words)}: {text}"
        return int(status), text.strip()

    def restart(self) -> None:
        """Restart it as a person does, from inside."""
        start, before = time.monotonic(), self._boot_id()
        self.run("systemctl", "reboot")
        while True:  # the former shell answers until systemd ends it
            with suppress(TimeoutError):
                if self._boot_id() != before:
                    break
            assert time.monotonic() - start < self.patience, self.console
        self.wait_for_systemd()

    def _boot_id(self) -> str:
        return self.run("cat", "/proc/sys/kernel/random/boot_id", limit=20)[1].split()[-1]

    def cut_power(self) -> None:
        """End it at once. Data that was not written to the disk is lost."""
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait()
        if self._shell is not None:
            self._shell.close()
        self._qemu = self._shell = None

    def remove(self) -> None:
        """End it, and delete its files: about a gigabyte."""
        self.cut_power()
        shutil.rmtree(self._folder, ignore_errors=True)


def _furnish(root: Path) -> None:
    units = root / "etc/systemd/system"
    (units / "shell.service").write_text(_SHELL)
    (units / "sysinit.target.wants").mkdir(exist_ok=True)
    (units / "sysinit.target.wants/shell.service").symlink_to("/etc/systemd/system/shell.service")
    (root / "etc/systemd/network/wired.network").write_text(_NETWORK)
    do("systemctl", f"--root={root}", "enable", "systemd-networkd")
    for name in files_of_the_network():
        do("cp", "-r", "--dereference", "--remove-destination", "--parents", name, str(root))
    (root / "etc/resolv.conf").write_text("nameserver 10.0.2.3\n")


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
