"""Mounted file systems: lines of real kernels, and this machine."""

from pathlib import Path

import pytest

from pi_appliance.system.machine import Mount, find_mount, is_volatile, read_mounts

PI = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 179:2 / / rw,noatime - ext4 /dev/mmcblk0p2 rw
28 27 179:1 / /boot/firmware rw,relatime shared:30 - vfat /dev/mmcblk0p1 rw,fmask=0022
29 27 0:25 / /tmp rw,nosuid shared:5 master:1 - tmpfs tmpfs rw,size=100k
30 27 8:1 / /mnt/my\\040disk rw - ext4 /dev/sda1 rw
31 30 8:2 /sub /mnt/my\\040disk/inner ro,relatime - ext4 /dev/sda2 rw
nonsense
"""


@pytest.fixture
def pi(tmp_path: Path) -> list[Mount]:
    return read(tmp_path, PI)


def read(folder: Path, text: str) -> list[Mount]:
    path = folder / "mountinfo"
    path.write_text(text)
    return read_mounts(path)


@pytest.mark.parametrize(
    ("folder", "mount", "kind"),
    [
        ("/var/lib/pi-appliance", "/", "ext4"),
        ("/boot/firmware", "/boot/firmware", "vfat"),
        ("/boot/firmwares", "/", "ext4"),
        ("/mnt/my disk/state", "/mnt/my disk", "ext4"),
        ("/mnt/my disk/inner/state", "/mnt/my disk/inner", "ext4"),
    ],
)
def test_the_nearest_parent_mount_is_used(pi: list[Mount], folder: str, mount: str, kind: str) -> None:
    result = find_mount(Path(folder), pi)
    assert result is not None
    assert (str(result.folder), result.kind) == (mount, kind)


def test_a_later_mount_hides_the_earlier_one(tmp_path: Path) -> None:
    mounts = read(tmp_path, PI + "40 27 0:30 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/nowhere/u,workdir=/w\n")
    result = find_mount(Path("/var"), mounts)
    assert result is not None
    assert (result.kind, result.option("upperdir"), result.option("index")) == ("overlay", "/nowhere/u", None)


@pytest.mark.parametrize(("folder", "read_only"), [("/", False), ("/mnt/my disk/inner", True)])
def test_a_read_only_mount_is_reported(pi: list[Mount], folder: str, read_only: bool) -> None:
    result = find_mount(Path(folder), pi)
    assert result is not None
    assert result.read_only is read_only


def test_a_root_remounted_after_errors_is_read_only(tmp_path: Path) -> None:
    (root,) = read(tmp_path, "27 1 179:2 / / rw,noatime - ext4 /dev/mmcblk0p2 rw,emergency_ro\n")
    assert root.read_only


@pytest.mark.parametrize(
    ("line", "gone"),
    [
        ("tmpfs tmpfs rw", True),
        ("ramfs none rw", True),
        ("ext4 /dev/zram0 rw", True),
        ("ext4 /dev/ram0 rw", True),
        ("ext4 /dev/mmcblk0p2 rw", False),
        ("f2fs /dev/mmcblk0p2 rw", False),
        ("nfs4 nas:/share rw", False),
        ("overlay overlayroot rw,lowerdir=/ro,upperdir=/media/root-rw/overlay,workdir=/w", True),
        ("overlay overlay rw,lowerdir=/ro", True),
        ("aufs none rw", True),
    ],
)
def test_volatile_file_systems_are_recognized(tmp_path: Path, line: str, gone: bool) -> None:
    mounts = read(tmp_path, f"27 1 0:1 / / rw - {line}\n")
    assert is_volatile(mounts[0], mounts) is gone


@pytest.mark.parametrize(("below", "gone"), [("ext4 /dev/sda1", False), ("tmpfs tmpfs", True)])
def test_an_overlay_is_as_persistent_as_its_upper_folder(tmp_path: Path, below: str, gone: bool) -> None:
    upper = tmp_path / "disk" / "upper"
    upper.mkdir(parents=True)
    mounts = read(
        tmp_path,
        f"27 1 0:1 / / rw - overlay overlay rw,lowerdir=/l,upperdir={upper},workdir=/w\n"
        f"28 27 8:1 / {tmp_path}/disk rw - {below} rw\n",
    )
    assert is_volatile(mounts[0], mounts) is gone


def test_this_machine_has_a_root_and_a_proc() -> None:
    mounts = read_mounts()
    root, proc = find_mount(Path("/"), mounts), find_mount(Path("/proc/sys"), mounts)
    assert root is not None
    assert proc is not None
    assert str(root.folder) == "/"
    assert str(proc.folder).startswith("/proc")
