"""A USB stick out of a file: a loop device with ext4 on it, where this machine and this user can have one."""

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
class Stick:
    """A device, such as loop0, with the label and the files that it was made with."""

    device: str
    image: Path


@contextlib.contextmanager
def inserted(image: Path) -> Iterator[Stick]:
    """Have the stick IMAGE as a device within the block."""
    said = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=True)
    device = said.stdout.strip().removeprefix("/dev/")
    try:
        yield Stick(device, image)
    finally:
        subprocess.run(["losetup", "--detach", f"/dev/{device}"], check=True)


def made(image: Path, files: Path, label: str = LABEL, *options: str) -> Path:
    """Write an image with what lies in the folder FILES."""
    with image.open("wb") as file:
        file.truncate(16 * 1024 * 1024)
    subprocess.run(["mkfs.ext4", "-q", "-L", label, "-d", files, *options, image], check=True)
    return image


@cache
def _can() -> bool:
    if os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "files").mkdir()
        (folder / "at").mkdir()
        try:
            with inserted(made(folder / "image", folder / "files")) as stick:
                subprocess.run(["mount", "-o", "ro", f"/dev/{stick.device}", folder / "at"], check=True)
                subprocess.run(["umount", folder / "at"], check=True)
        except (OSError, subprocess.CalledProcessError):
            return False
    return True


needs_loop = pytest.mark.skipif(not _can(), reason="no loop device can be made and mounted here")
