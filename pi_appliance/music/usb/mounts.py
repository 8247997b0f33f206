"""Find, mount and unmount USB drives. Mounting needs root, so systemd units call it.

A drive is mounted below /run, and its entry in the mount folder, inside MPD's music folder, is a
link to it. While the drive is unmounted, the link points to the mount folder itself. MPD detects
such a link as a loop, ignores it, and keeps its tracks, queue entries and stickers. MPD would
delete the tracks of an empty folder or a dangling link.

An entry is a mounted drive if something is mounted at it or at its target. It is an unmounted drive
if it is an empty folder, or a link to the mount folder itself. Other entries are not drives.
"""

import contextlib
import json
import os
import re
import stat
import subprocess
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.config.options import Usb
from pi_appliance.errors import Refused, Unavailable, UnknownName
from pi_appliance.system import files, machine
from pi_appliance.system.systemd import read_request

NOT_CONFIGURED = (
    "no folder of USB drives is configured; add  usb: {mount-dir: /var/lib/mpd/music/USB}  to appliance.yaml"
)
UNMOUNTED_TARGET = "."  # target of the link of an unmounted drive: the mount folder itself
# Formats that Debian's MPD can play. They only serve to estimate the progress of a scan.
_AUDIO_SUFFIXES = frozenset(
    "aac aif aiff ape dff dsf flac m4a m4b mka mp2 mp3 mp4 mpc oga ogg opus ra tta wav wma wv".split()  # noqa: SIM905
)
_NAME_CHARACTERS = " -_."  # characters of a name, besides letters and digits of any script
_MAX_NAME = 60  # bytes; short enough for a phone
_DEFAULT_NAME = "USB drive"
# Mount options: read-only, without programs and devices.
_SAFE = "ro,nosuid,nodev,noexec"
# Types and options of each file system, tried in order. A drive may ask for `errors=panic`, so that
# is overridden. FAT and NTFS have no owners, and MPD runs as another user.
_NO_LINKS = f"{_SAFE},nosymfollow"
_MOUNT_OPTIONS: Mapping[str, Sequence[tuple[str, str]]] = {
    "vfat": [("vfat", f"{_NO_LINKS},errors=remount-ro,umask=022,utf8")],
    "exfat": [("exfat", f"{_NO_LINKS},errors=remount-ro,umask=022")],
    "ntfs": [("ntfs3", f"{_NO_LINKS},umask=022"), ("ntfs-3g", f"{_SAFE},umask=022")],
    **{kind: [(kind, f"{_NO_LINKS},errors=remount-ro")] for kind in ("ext2", "ext3", "ext4")},
}
_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
_PROGRAM_TIMEOUT = 60  # seconds; a dirty file system may be checked first
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


class UsbNotConfigured(Unavailable):
    """The configuration has no folder for USB drives."""


def require_usb(usb: Usb | None) -> Usb:
    """Return `usb`. Raises `UsbNotConfigured` if there is none."""
    if usb is None:
        raise UsbNotConfigured(NOT_CONFIGURED)
    return usb


@dataclass(frozen=True, slots=True)
class Drive:
    """A USB drive; `mount` is None while it is not mounted."""

    name: str
    mount: machine.Mount | None


def find_drives(folder: Path, mount_table: Path = machine.MOUNT_TABLE) -> list[Drive]:
    """Return the drives in `folder`, by name.

    Raises `OSError` if the mount table cannot be read.
    """
    by_folder = {each.folder: each for each in machine.read_mounts(mount_table)}
    drives = []
    for entry in _entries(folder):
        mount = by_folder.get(Path(os.path.realpath(entry)))
        if mount is not None or _is_unmounted(entry):
            drives.append(Drive(entry.name, mount))
    return drives


def all_linked(parent: Path, names: Collection[str], mount_table: Path = machine.MOUNT_TABLE) -> bool:
    """Return whether the name of every mount directly below `parent` is one of `names`."""
    return all(each.folder.name in names for each in machine.read_mounts(mount_table) if each.folder.parent == parent)


def disk_space(mount: machine.Mount) -> tuple[int, int] | None:
    """Return the size and the used space of `mount` in bytes; None if it cannot be read."""
    try:
        stat = os.statvfs(mount.folder)
    except OSError:  # it may have been unplugged a moment ago
        return None
    return stat.f_blocks * stat.f_frsize, (stat.f_blocks - stat.f_bfree) * stat.f_frsize


def count_audio_files(folder: Path) -> int:
    """Count the audio files below `folder`, recognized by their suffix.

    It reads every folder: call it in a thread.
    """
    return sum(
        1 for _, _, names in os.walk(folder) for name in names if name.rpartition(".")[2].lower() in _AUDIO_SUFFIXES
    )


def _entries(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(each for each in folder.iterdir() if not each.name.startswith("."))


def _is_unmounted(entry: Path) -> bool:
    try:
        if entry.is_symlink():
            return str(entry.readlink()) == UNMOUNTED_TARGET
        return entry.is_dir() and next(entry.iterdir(), None) is None
    except OSError:
        return False


def folder_name(label: str) -> str:
    """Convert a volume label to a safe folder name.

    A label is untrusted: slashes, control characters, and leading dots and hyphens are removed.
    """
    letters = (
        each if each.isalnum() or each in _NAME_CHARACTERS else " " for each in unicodedata.normalize("NFC", label)
    )
    name = " ".join("".join(letters).split()).lstrip("-. ")
    return name.encode()[:_MAX_NAME].decode("utf-8", "ignore").strip(" .") or _DEFAULT_NAME


def name_for(label: str, identity: str, known: Mapping[str, str], reserved: Collection[str] = ()) -> str:
    """Return the name of the drive `identity`: its `known` name, else an unused one.

    A number is appended if another drive or a folder in `reserved` has the name, ignoring case.
    """
    for name, other in known.items():
        if other == identity:
            return name
    used = {name.casefold() for name in (*known, *reserved)}
    base = folder_name(label)
    number, name = 1, base
    while name.casefold() in used:
        number += 1
        name = f"{base} {number}"
    return name


@dataclass(frozen=True, slots=True)
class Paths:
    """Folder of the mounts, file of known drives, and file of requests to unmount."""

    mounts: Path
    known: Path
    request: Path

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Paths":
        """Return the paths of the units, below $PI_APPLIANCE_USB_ROOT if it is set."""
        root = Path(environment.get("PI_APPLIANCE_USB_ROOT", "/"))
        return cls(
            root / "run/pi-appliance-usb",
            root / "var/lib/pi-appliance-usb/drives.json",
            root / "run/pi-appliance/usb-remove",
        )


class Ignored(Refused):
    """A device without a supported file system, or in use by the machine."""


def attach(device: str, folder: Path, paths: Paths) -> str:
    """Mount `device`, a name in /dev, link it into `folder`, and return the name of the drive.

    Raises:
        Ignored: It is not for the appliance.
        Refused: It cannot be mounted.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*", device):
        raise Refused(f"{device!r} is not a valid device name; write one such as sda1")
    source = Path("/dev", device)
    system = _probe(source)
    options = _MOUNT_OPTIONS.get(system["TYPE"])
    if options is None:
        raise Ignored(f"{source} is ignored: it has {system['TYPE'] or 'no file system'}, not FAT, exFAT, NTFS or ext4")
    if not folder.parent.is_dir():
        raise Refused(f"{folder.parent} does not exist; correct `mount-dir` under usb:")
    name = _name(system, folder, paths)
    _mount(source, paths.mounts / name, options)
    _symlink(folder, name, str(paths.mounts / name))
    return name


def detach(device: str, folder: Path | None, paths: Paths) -> list[str]:
    """Unmount `device`, even if it was unplugged already, and return the names of its drives."""
    return _unmount([each for each in _drive_mounts(paths) if each.source == f"/dev/{device}"], folder)


def remove(name: str, folder: Path, paths: Paths) -> list[str]:
    """Unmount the drive `name`, and return its name if it was mounted."""
    return _unmount([each for each in _drive_mounts(paths) if each.folder.name == name], folder)


def cleanup(folder: Path, paths: Paths) -> list[str]:
    """Handle the request to unmount, and mark missing drives as unmounted.

    Return the changed drives.
    """
    with read_request(paths.request) as name:
        pass  # the request is deleted before the drive is unmounted: the next one may follow at once
    changed = remove(name, folder, paths) if name else []
    mounted_at = {mount.folder for mount in _drive_mounts(paths)}
    for link in folder.iterdir() if folder.is_dir() else ():
        target = Path(os.readlink(link)) if link.is_symlink() else None  # noqa: PTH115 - "." must stay as it is
        if target is not None and target.parent == paths.mounts and target not in mounted_at:
            _symlink(folder, link.name, UNMOUNTED_TARGET)
            changed.append(link.name)
    return changed


def unregister(name: str, folder: Path, paths: Paths) -> None:
    """Forget a drive that is not mounted: MPD removes its tracks with the next update."""
    identities = _load_known(paths)
    if name not in identities:
        raise UnknownName("USB drive", name, list(identities))
    if any(mount.folder.name == name for mount in _drive_mounts(paths)):
        raise Refused(f"{name} is mounted; eject it first: pi-appliance music usb eject {name!r}")
    with _open_folder(folder) as folder_fd, contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder_fd)
    del identities[name]
    _save_known(paths, identities)


def _drive_mounts(paths: Paths) -> list[machine.Mount]:
    return [mount for mount in machine.read_mounts() if mount.folder.parent == paths.mounts]


def _unmount(drive_mounts: Sequence[machine.Mount], folder: Path | None) -> list[str]:
    """Mark the drives as unmounted, then unmount them, so that MPD never sees an empty folder.

    Files that are still open are released when they are closed. The mounts are read-only, so
    nothing is lost.
    """
    for mount in drive_mounts:
        if folder is not None:
            with contextlib.suppress(Refused):  # a problem of the mount folder must not keep the drive mounted
                _symlink(folder, mount.folder.name, UNMOUNTED_TARGET)
        if _run("umount", str(mount.folder)).returncode:
            _run("umount", "--lazy", str(mount.folder))
        with contextlib.suppress(OSError):
            mount.folder.rmdir()
    return [mount.folder.name for mount in drive_mounts]


def _probe(source: Path) -> dict[str, str]:
    """Return type, label and UUID of the file system on `source`.

    Raises `Refused`, or `Ignored` if it is in use.
    """
    try:
        number = source.stat()
    except OSError:
        raise Refused(f"{source} does not exist") from None
    if not stat.S_ISBLK(number.st_mode):
        raise Refused(f"{source} is not a disk")
    device = f"{os.major(number.st_rdev)}:{os.minor(number.st_rdev)}"
    used = next((mount.folder for mount in machine.read_mounts() if mount.device == device), None)
    if used is not None:
        raise Ignored(f"{source} is ignored: it is mounted at {used}")
    if _run("findmnt", "--fstab", "--noheadings", "--source", str(source)).stdout.strip():
        raise Ignored(f"{source} is ignored: it is listed in /etc/fstab")
    fields = dict(
        line.partition("=")[::2] for line in _run("blkid", "-p", "-o", "udev", str(source)).stdout.splitlines()
    )
    return {key: _unescape(fields.get(f"ID_FS_{key}", "")) for key in ("TYPE", "LABEL_ENC", "UUID")}


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def _name(system: Mapping[str, str], folder: Path, paths: Paths) -> str:
    """Return the permanent name of the drive, and store it."""
    identities = _load_known(paths)
    folder.mkdir(mode=0o755, exist_ok=True)
    with _open_folder(folder) as folder_fd:
        reserved = [entry for entry in os.listdir(folder_fd) if entry not in identities]  # noqa: PTH208 - by number, as it was opened
    identity = system["UUID"] or f"label {system['LABEL_ENC']}"
    name = name_for(system["LABEL_ENC"], identity, identities, reserved)
    if identities.get(name) != identity:
        identities[name] = identity
        _save_known(paths, identities)
    return name


def _mount(source: Path, point: Path, options: Sequence[tuple[str, str]]) -> None:
    point.mkdir(mode=0o755, parents=True, exist_ok=True)
    reason = ""
    for kind, flags in options:
        process = _run("mount", "--types", kind, "--options", flags, "--", str(source), str(point))
        if process.returncode == 0:
            return
        reason = reason or process.stderr.strip().splitlines()[0] if process.stderr.strip() else "mount gave no reason"
    point.rmdir()
    raise Refused(f"{source} cannot be mounted: {reason}")


@contextlib.contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    """Open the mount folder without following links.

    MPD may write to its music folder. It could replace the folder by a link and make root write
    elsewhere.

    Raises:
        Refused: The folder cannot be opened, or an operation in the block fails.
    """
    number = -1
    try:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        yield number
    except OSError as error:
        if folder.is_symlink():
            raise Refused(f"{folder} is a link; set `mount-dir` under usb: to its target") from None
        raise Refused(f"{folder} cannot be used: {error.strerror}") from None
    finally:
        if number >= 0:
            os.close(number)


def _symlink(folder: Path, name: str, target: str) -> None:
    """Point the link `name` in `folder` to `target`, atomically.

    An entry that is not a link stays as it is.
    """
    draft = f".{name}.new"
    with _open_folder(folder) as folder_fd:
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISLNK(os.stat(name, dir_fd=folder_fd, follow_symlinks=False).st_mode):
                return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder_fd)
        os.symlink(target, draft, dir_fd=folder_fd)
        os.replace(draft, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)


def _load_known(paths: Paths) -> dict[str, str]:
    """Return the identity of each known drive by name; an unreadable file counts as empty."""
    try:
        data = json.loads(paths.known.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(identity) for name, identity in data.items()} if isinstance(data, dict) else {}


def _save_known(paths: Paths, known: Mapping[str, str]) -> None:
    paths.known.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    files.write_file(paths.known, json.dumps(known, ensure_ascii=False, indent=1).encode(), mode=0o644)


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROGRAM_TIMEOUT,
            check=False,
            env=_ENVIRONMENT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(f"{words[0]} failed: {error}") from None
