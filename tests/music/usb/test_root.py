"""Drives mounted by root: the real program, loop devices, and the kernel's list."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.usb_drive import LABEL, attached_drive, create_image, needs_loop
from tests.installation import Installation

pytestmark = needs_loop


class Root:
    """An installation with USB drives, and the actions of root."""

    def __init__(self, installation: Installation) -> None:
        self.installation, self.folder = installation, installation.folder / "music" / "USB"
        self.mounts = installation.folder / "run" / "pi-appliance-usb"
        self.request = installation.folder / "run" / "pi-appliance" / "usb-remove"
        self.request.parent.mkdir(parents=True)
        self.folder.parent.mkdir()
        installation.write("", f"usb: {{mount-dir: '{self.folder}'}}")

    def usb(self, *words: str, status: int = 0) -> str:
        """Run `pi-appliance music usb` with `words` as the units do, and return its output."""
        done = self.installation.run(
            "music", "usb", *words, environment={"PI_APPLIANCE_USB_ROOT": str(self.installation.folder)}
        )
        assert done.returncode == status, done.stdout + done.stderr
        return (done.stdout + done.stderr).strip()

    def options(self) -> set[str]:
        """Return the mount options of the only drive."""
        (line,) = (each for each in Path("/proc/self/mountinfo").read_text().splitlines() if self.place in each)
        return set(line.split(" ")[5].split(","))

    @property
    def place(self) -> str:
        """The mount folder as the kernel writes it."""
        return str(self.mounts).replace(" ", "\\040")

    @property
    def mounted(self) -> int:
        """The number of mounted drives."""
        return Path("/proc/self/mountinfo").read_text().count(f" {self.place}/")


@pytest.fixture
def root(installation: Installation) -> Iterator[Root]:
    result = Root(installation)
    yield result
    for point in result.mounts.glob("*"):
        subprocess.run(["umount", "--lazy", point], check=False, capture_output=True)


@pytest.fixture
def image(tmp_path: Path) -> Path:
    files = tmp_path / "files"
    files.mkdir()
    (files / "one.ogg").write_bytes(b"one")
    (files / "passwords").symlink_to("/etc/passwd")
    return create_image(tmp_path / "image", files)


def test_a_drive_appears_by_its_label_and_is_restricted(root: Root, image: Path) -> None:
    with attached_drive(image) as drive:
        assert root.usb("attach", drive.device) == f"{drive.device} is mounted as {LABEL}"
        assert (root.folder / LABEL / "one.ogg").read_bytes() == b"one"
        assert {"ro", "nosuid", "nodev", "noexec", "nosymfollow"} <= root.options()
        with pytest.raises(OSError, match="symbolic links"):
            (root.folder / LABEL / "passwords").read_bytes()
        assert "is ignored: it is mounted at" in root.usb("attach", drive.device)
        assert root.mounted == 1
        assert root.usb("detach", drive.device) == f"{LABEL} is unmounted"
        assert (root.folder / LABEL).readlink() == Path()
        assert (root.mounted, list(root.mounts.iterdir())) == (0, [])
        assert root.usb("detach", drive.device) == ""


def test_a_drive_keeps_its_name_and_others_get_another(root: Root, image: Path, tmp_path: Path) -> None:
    twin = create_image(tmp_path / "twin", tmp_path / "files")
    for each, name in ((image, LABEL), (twin, f"{LABEL} 2"), (twin, f"{LABEL} 2"), (image, LABEL)):
        with attached_drive(each) as drive:
            assert root.usb("attach", drive.device).endswith(f" is mounted as {name}")
            root.usb("detach", drive.device)
    assert {each.name for each in root.folder.iterdir()} == {LABEL, f"{LABEL} 2"}


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("../../etc/cron", "etc cron"),
        ("-o rw,suid", "o rw suid"),
        ("a\nb", "a b"),
        ("%i $(id) `x`", "i id x"),
        ("", "USB drive"),
    ],
)
def test_a_label_can_only_name_a_folder(root: Root, tmp_path: Path, label: str, name: str) -> None:
    (tmp_path / "files").mkdir()
    with attached_drive(create_image(tmp_path / "image", tmp_path / "files", label)) as drive:
        root.usb("attach", drive.device)
        assert [each.name for each in root.folder.iterdir()] == [name]
        assert "ro" in root.options()
        assert "nosuid" in root.options()
        root.usb("detach", drive.device)


def test_a_folder_of_the_owner_is_never_changed(root: Root, image: Path) -> None:
    mine = root.folder / LABEL
    mine.mkdir(parents=True)
    with attached_drive(image) as drive:
        assert root.usb("attach", drive.device).endswith(f"{LABEL} 2")
        root.usb("detach", drive.device)
    assert mine.is_dir()
    assert not mine.is_symlink()


def test_open_files_do_not_prevent_an_eject(root: Root, image: Path) -> None:
    with attached_drive(image) as drive:
        root.usb("attach", drive.device)
        with (root.folder / LABEL / "one.ogg").open("rb") as file:
            assert root.usb("detach", drive.device) == f"{LABEL} is unmounted"
            assert root.mounted == 0
            assert file.read() == b"one"


def test_after_a_power_cut_a_missing_drive_is_removed(root: Root, image: Path) -> None:
    with attached_drive(image) as drive:
        root.usb("attach", drive.device)
        subprocess.run(["umount", root.mounts / LABEL], check=True)  # as the kernel forgets it
        assert root.usb("cleanup") == f"{LABEL} is unmounted"
        assert (root.folder / LABEL).readlink() == Path()
        assert root.usb("cleanup") == ""


def test_a_request_of_the_service_is_done_once(root: Root, image: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text(LABEL)
    with attached_drive(image) as drive:
        root.usb("attach", drive.device)
        for bad in ("..", "", LABEL[:-1], f"../run/{LABEL}", "x" * 5000):
            root.request.write_text(bad)
            assert root.usb("cleanup") == ""
            assert not root.request.exists(), "or the unit would be started again and again"
        root.request.symlink_to(precious)
        assert root.usb("cleanup") == ""
        os.mkfifo(root.request) if not root.request.exists() else None
        assert root.usb("cleanup") == "", "a pipe that nobody writes into must not hold root up"
        assert root.mounted == 1
        root.request.write_text(LABEL)
        assert root.usb("cleanup") == f"{LABEL} is unmounted"
        assert root.mounted == 0
    assert precious.read_text() == LABEL


def test_a_request_folder_that_is_a_symlink_is_not_followed(root: Root, image: Path, tmp_path: Path) -> None:
    (tmp_path / "usb-remove").write_text("root's own")
    root.request.parent.rmdir()
    root.request.parent.symlink_to(tmp_path)
    root.usb("cleanup")
    assert (tmp_path / "usb-remove").read_text() == "root's own"


def test_a_drive_is_forgotten_only_while_disconnected(root: Root, image: Path) -> None:
    with attached_drive(image) as drive:
        root.usb("attach", drive.device)
        assert "is mounted; eject it first" in root.usb("forget", LABEL, status=1)
        root.usb("detach", drive.device)
    assert "is forgotten" in root.usb("forget", LABEL)
    assert list(root.folder.iterdir()) == []
    assert f"no USB drive is called '{LABEL}'" in root.usb("forget", LABEL, status=2)


def test_other_devices_are_ignored(root: Root, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    with empty.open("wb") as file:
        file.truncate(1024 * 1024)
    with attached_drive(empty) as drive:
        assert "is ignored: it has no file system" in root.usb("attach", drive.device)
    assert "does not exist" in root.usb("attach", "sdzz9", status=1)
    assert "is not a valid device name" in root.usb("attach", "../dev/sda1", status=1)
    root.installation.write("")
    assert "no folder of USB drives is configured" in root.usb("attach", "sda1")
    assert root.usb("cleanup") == ""


def test_a_drive_that_does_not_hold_its_content_is_reported(root: Root, image: Path) -> None:
    with image.open("r+b") as file:  # the superblock stays, but the data is gone
        file.seek(4096)
        file.write(b"\xff" * 1_000_000)
    with attached_drive(image) as drive:
        assert f"/dev/{drive.device} cannot be mounted" in root.usb("attach", drive.device, status=1)
    assert root.mounted == 0
    assert list(root.folder.iterdir()) == []
