"""A USB drive made of a file: a loop device with ext4, if this machine and this user can create one."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

LABEL = "My Stick"


@dataclass
class UsbDrive:
    """A device, such as loop0, with the label and the files that it was made with."""

    device: str
    image: Path


@contextlib.contextmanager
def attached_drive(image: Path) -> Iterator[UsbDrive]:
    """Attach `image` as a device during the block."""
    result = subprocess.run(
        ["losetup", "--find", "--show", image], capture_output=True, text=True, check=True, timeout=60
    )
    device = result.stdout.strip().removeprefix("/dev/")
    try:
        yield UsbDrive(device, image)
    finally:
        subprocess.run(["losetup", "--detach", f"/dev/{device}"], check=True, timeout=60)


def create_image(image: Path, files: Path, label: str = LABEL, *options: str) -> Path:
    """Write an image with the files of the folder `files`."""
    with image.open("wb") as file:
        file.truncate(16 * 1024 * 1024)
    subprocess.run(["mkfs.ext4", "-q", "-L", label, "-d", files, *options, image], check=True, timeout=60)
    return image


@cache
def _can_mount_loop() -> bool:
    if os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "files").mkdir()
        (folder / "at").mkdir()
        try:
            with attached_drive(create_image(folder / "image", folder / "files")) as drive:
                subprocess.run(["mount", "-o", "ro", f"/dev/{drive.device}", folder / "at"], check=True, timeout=60)
                subprocess.run(["umount", folder / "at"], check=True, timeout=60)
        except (OSError, subprocess.CalledProcessError):
            return False
    return True


needs_loop = pytest.mark.skipif(not _can_mount_loop(), reason="no loop device can be made and mounted here")
