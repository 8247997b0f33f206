"""The archive of a release: downloaded, checked against its SHA-256, and unpacked.

Root runs this module (ADR 107).
"""

import hashlib
import re
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from pi_appliance.errors import Refused
from pi_appliance.maintenance.releases import LIST_TIMEOUT, Release, fetch
from pi_appliance.system import files

_MAX_ARCHIVE = 60_000_000  # bytes of a download
_MAX_UNPACKED = 300_000_000  # bytes of all its files
_MAX_FILES = 20_000
_ARCHIVE_TIMEOUT = 900.0  # seconds to download a release
_CHUNK = 1 << 16  # bytes copied at a time
_HASH = re.compile(r"[0-9a-f]{64}")


def download(release: Release, path: Path) -> None:
    """Write the archive of `release` to `path`.

    Raises:
        Refused: It has no SHA-256, or another one.
        Unavailable: It was not reached, or the card is full.
    """
    digest = release.digest
    if not digest and release.digest_address:
        digest = fetch(release.digest_address, max_bytes=1000, seconds=LIST_TIMEOUT).text.split(maxsplit=1)[0]
    if not _HASH.fullmatch(digest):
        raise Refused(f"the archive of {release.version} has no SHA-256")
    body = fetch(release.archive, max_bytes=_MAX_ARCHIVE, seconds=_ARCHIVE_TIMEOUT).body
    if hashlib.sha256(body).hexdigest() != digest:
        raise Refused(f"the archive of {release.version} is damaged: its SHA-256 is not {digest}; try again")
    try:
        path.write_bytes(body)
    except OSError as error:
        raise files.write_error(path, error) from None


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack `archive` into the new `folder`, and return the folder of the release in it.

    Only files and folders below `folder` are written. Symbolic links are left out: nothing is
    written through them, and install.sh makes those of a release.

    Raises:
        Refused: It is not the archive of a release, or is damaged.
        Unavailable: The card is full.
    """
    size = 0
    try:
        with tarfile.open(archive, "r:gz") as members:
            for count, member in enumerate(members):
                size += member.size
                path = PurePosixPath(member.name)
                if (
                    path.is_absolute()
                    or ".." in path.parts
                    or not (member.isfile() or member.isdir() or member.issym())
                ):
                    raise Refused(f"{archive.name} is not a release: {member.name!r} is not a file below its folder")
                if size > _MAX_UNPACKED or count > _MAX_FILES:
                    raise Refused(f"{archive.name} is not a release: it is too large")
                _write_member(members, member, folder / path)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise Refused(f"{archive.name} is damaged or not a .tar.gz: {error}") from None
    except OSError as error:
        if type(error).__name__ == "BadGzipFile" or error.errno is None:
            raise Refused(f"{archive.name} is damaged or not a .tar.gz: {error}") from None
        raise files.write_error(folder, error) from None
    scripts = list(folder.glob("*/deploy/install.sh"))
    if len(scripts) != 1:
        raise Refused(f"{archive.name} is not a release: it has no deploy/install.sh")
    return scripts[0].parents[1]


def _write_member(members: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    if member.issym():
        return
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    source = members.extractfile(member)
    assert source is not None  # it is a regular file, which always has content
    with path.open("xb") as target:
        shutil.copyfileobj(source, target, _CHUNK)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)


def version_of(sources: Path) -> str:
    """Return the version of the unpacked release `sources`."""
    try:
        text = (sources / "pi_appliance/__init__.py").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    found = re.search(r'^__version__ = "(.*)"$', text, re.MULTILINE)
    if found is None:
        raise Refused("this is not a release: its version is missing")
    return found[1]
