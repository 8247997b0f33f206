"""Mounts USB sticks and lets go of them: the part that only root can do, called by the units of systemd.

A stick is mounted below /run, and an entry of the sticks' folder, in the music of MPD, is a link to it. While it is
away the link leads to that folder itself. MPD looks at such a link, sees that it would go round in circles, and leaves
alone what it knows below: tracks, queue and stickers stay, whoever lets it look for what is new. An empty folder, or a
link into nowhere, it takes for a stick whose music was deleted.
"""

import contextlib
import json
import os
import re
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pi_appliance.errors import Refused, UnknownName
from pi_appliance.music.usb import mounted
from pi_appliance.music.usb.mounted import AWAY
from pi_appliance.system import files, mounts

# Only to be read, and nothing on it is a program, a device or a way out of it.
_SAFE = "ro,nosuid,nodev,noexec"
# How each file system is mounted: (type, options), tried in order. A stick may say of itself that an error of it is to
# stop the machine (`errors=panic`), so that is said otherwise. FAT and NTFS know no owners; MPD is another user.
_NO_LINKS = f"{_SAFE},nosymfollow"
_WAYS: Mapping[str, Sequence[tuple[str, str]]] = {
    "vfat": [("vfat", f"{_NO_LINKS},errors=remount-ro,umask=022,utf8")],
    "exfat": [("exfat", f"{_NO_LINKS},errors=remount-ro,umask=022")],
    "ntfs": [("ntfs3", f"{_NO_LINKS},umask=022"), ("ntfs-3g", f"{_SAFE},umask=022")],
    **{kind: [(kind, f"{_NO_LINKS},errors=remount-ro")] for kind in ("ext2", "ext3", "ext4")},
}
_PATIENCE = 60  # seconds for one program; a stick that was not let go of may be looked through first
_LONGEST = 1024  # bytes of a request
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class Places:
    """Where sticks are mounted, which one had which name, and where somebody asks for one to be let go of."""

    mounts: Path
    known: Path
    request: Path

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Places":
        """Return the places where the units have them, below $PI_APPLIANCE_USB_ROOT if that is in ENVIRONMENT."""
        root = Path(environment.get("PI_APPLIANCE_USB_ROOT", "/"))
        return cls(
            root / "run/pi-appliance-usb",
            root / "var/lib/pi-appliance-usb/sticks.json",
            root / "run/pi-appliance/usb-remove",
        )


class Ignored(Refused):
    """A device that is no stick with music, or is in use otherwise."""


def attach(device: str, folder: Path, places: Places) -> str:
    """Mount DEVICE, a name in /dev, and let it appear in FOLDER; return as what.

    Raises LeftAlone where it is not to be mounted, Refused where it cannot be.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*", device):
        raise Refused(f"{device!r} is no name of a device; write one such as sda1")
    source = Path("/dev", device)
    system = _look(source)
    ways = _WAYS.get(system["TYPE"])
    if ways is None:
        raise Ignored(
            f"{source} is left alone: it holds {system['TYPE'] or 'no file system'}, not FAT, exFAT, NTFS or ext4"
        )
    if not folder.parent.is_dir():
        raise Refused(f"{folder.parent} is not there; correct `folder` under usb:")
    name = _name(system, folder, places)
    _mount(source, places.mounts / name, ways)
    _symlink(folder, name, str(places.mounts / name))
    return name


def detach(device: str, folder: Path | None, places: Places) -> list[str]:
    """Let go of what is mounted from DEVICE, also when it was pulled already, and return its name: none, if none is."""
    return _let_go([each for each in _here(places) if each.source == f"/dev/{device}"], folder)


def remove(name: str, folder: Path, places: Places) -> list[str]:
    """Let go of the stick called NAME, and return its name: none, if it is not here."""
    return _let_go([each for each in _here(places) if each.folder.name == name], folder)


def cleanup(folder: Path, places: Places) -> list[str]:
    """Do what was asked for, and let sticks that are not here read so, as after a power cut. Return what changed."""
    wanted = _asked(places.request)
    changed = remove(wanted, folder, places) if wanted else []
    here = {mount.folder for mount in _here(places)}
    for link in folder.iterdir() if folder.is_dir() else ():
        target = Path(os.readlink(link)) if link.is_symlink() else None  # noqa: PTH115 - "." must stay as it is
        if target is not None and target.parent == places.mounts and target not in here:
            _symlink(folder, link.name, AWAY)
            changed.append(link.name)
    return changed


def unregister(name: str, folder: Path, places: Places) -> None:
    """Let a stick that is away be none: MPD drops its tracks when it looks next. Raises UnknownName, Refused."""
    known = _known(places)
    if name not in known:
        raise UnknownName("stick", name, list(known))
    if any(mount.folder.name == name for mount in _here(places)):
        raise Refused(f"{name} is here; let go of it first: pi-appliance music usb remove {name!r}")
    with _opened(folder) as here, contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=here)
    del known[name]
    _keep(places, known)


def _here(places: Places) -> list[mounts.Mount]:
    return [mount for mount in mounts.read_mounts() if mount.folder.parent == places.mounts]


def _let_go(those: Sequence[mounts.Mount], folder: Path | None) -> list[str]:
    """Let them read as away, then unmount them: nobody shall take a bare folder for a stick without music.

    What is still open is let go of as soon as it is closed. Nothing was to be written, so nothing is lost by that.
    """
    for mount in those:
        if folder is not None:
            with contextlib.suppress(Refused):  # whatever became of the folder, the stick is to go
                _symlink(folder, mount.folder.name, AWAY)
        if _run("umount", str(mount.folder)).returncode:
            _run("umount", "--lazy", str(mount.folder))
        with contextlib.suppress(OSError):
            mount.folder.rmdir()
    return [mount.folder.name for mount in those]


def _look(source: Path) -> dict[str, str]:
    """Return what lies on the device SOURCE. Raises Refused if there is none, LeftAlone if it is used."""
    try:
        number = source.stat()
    except OSError:
        raise Refused(f"{source} is not there") from None
    if not stat.S_ISBLK(number.st_mode):
        raise Refused(f"{source} is no disk")
    device = f"{os.major(number.st_rdev)}:{os.minor(number.st_rdev)}"
    used = next((mount.folder for mount in mounts.read_mounts() if mount.device == device), None)
    if used is not None:
        raise Ignored(f"{source} is left alone: it is mounted at {used}")
    if _run("findmnt", "--fstab", "--noheadings", "--source", str(source)).stdout.strip():
        raise Ignored(f"{source} is left alone: /etc/fstab says what becomes of it")
    told = dict(line.partition("=")[::2] for line in _run("blkid", "-p", "-o", "udev", str(source)).stdout.splitlines())
    return {key: _plain(told.get(f"ID_FS_{key}", "")) for key in ("TYPE", "LABEL_ENC", "UUID")}


def _plain(text: str) -> str:
    """Undo blkid's way to write what is not a plain letter."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def _name(system: Mapping[str, str], folder: Path, places: Places) -> str:
    """Return the name of the stick, which it keeps. What FOLDER has that is no link is somebody else's."""
    known = _known(places)
    folder.mkdir(mode=0o755, exist_ok=True)
    with _opened(folder) as here:
        taken = [entry for entry in os.listdir(here) if entry not in known]  # noqa: PTH208 - by number, as it was opened
    identity = system["UUID"] or f"label {system['LABEL_ENC']}"
    name = mounted.name_for(system["LABEL_ENC"], identity, known, taken)
    if known.get(name) != identity:
        known[name] = identity
        _keep(places, known)
    return name


def _mount(source: Path, point: Path, ways: Sequence[tuple[str, str]]) -> None:
    point.mkdir(mode=0o755, parents=True, exist_ok=True)
    why = ""
    for kind, options in ways:
        done = _run("mount", "--types", kind, "--options", options, "--", str(source), str(point))
        if done.returncode == 0:
            return
        why = why or done.stderr.strip().splitlines()[0] if done.stderr.strip() else "mount does not say why"
    point.rmdir()
    raise Refused(f"{source} cannot be mounted: {why}")


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """Give the number of the open FOLDER of the sticks. Raises Refused where it cannot be, or what is done there fails.

    Who may write into the music, MPD, could put a link in its place, and have root write into /etc: none is followed.
    """
    number = -1
    try:
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        yield number
    except OSError as error:
        if folder.is_symlink():
            raise Refused(f"{folder} is a link; let `folder` under usb: say where it leads to") from None
        raise Refused(f"{folder} cannot be used: {error.strerror}") from None
    finally:
        if number >= 0:
            os.close(number)


def _symlink(folder: Path, name: str, target: str) -> None:
    """Let the entry NAME of FOLDER lead to TARGET, in one step. A folder of somebody else's is never touched."""
    draft = f".{name}.new"
    with _opened(folder) as here:
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
                return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=here)
        os.symlink(target, draft, dir_fd=here)
        os.replace(draft, name, src_dir_fd=here, dst_dir_fd=here)


def _known(places: Places) -> dict[str, str]:
    """Return which stick has which name. A file that cannot be read knows none: they get their names anew."""
    try:
        told = json.loads(places.known.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(identity) for name, identity in told.items()} if isinstance(told, dict) else {}


def _keep(places: Places, known: Mapping[str, str]) -> None:
    places.known.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    files.write_file(places.known, json.dumps(known, ensure_ascii=False, indent=1).encode(), mode=0o644)


def _asked(request: Path) -> str:
    """Return the name that stands in REQUEST, which is then gone.

    Its folder belongs to the service, which may be up to no good: no link is followed, and nothing else is read.
    """
    try:
        folder = os.open(request.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        number = os.open(request.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(number, "rb") as file:
            return file.read(_LONGEST).decode("utf-8", "replace") if stat.S_ISREG(os.fstat(number).st_mode) else ""
    except OSError:
        return ""
    finally:
        with contextlib.suppress(OSError):
            os.unlink(request.name, dir_fd=folder)
        os.close(folder)


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=_PATIENCE, check=False, env=_ENVIRONMENT
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(f"{words[0]} does not do its work: {error}") from None


_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
