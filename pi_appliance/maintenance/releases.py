"""The list of available releases, and the installed ones.

Root runs this module (ADR 107), also to return to the previous release. It imports no module of the
configuration: a return must be possible even if the configuration cannot be read.

The list has the form of `GET /repos/OWNER/NAME/releases` of GitHub.
"""

import fcntl
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict
from urllib.parse import urlsplit

from pi_appliance.errors import Refused
from pi_appliance.system import files, http

_MAX_LIST = 5_000_000  # bytes of the list of the releases
LIST_TIMEOUT = 20.0  # seconds to download it
_PACKAGE = Path("/usr/lib/pi-appliance")  # of deploy/deb.sh
_VERSION = re.compile(r"v?(\d{1,6}(?:\.\d{1,6}){0,3})")


@dataclass(frozen=True, slots=True)
class Release:
    """A release in the list, with its release notes."""

    version: str
    notes: str
    archive: str  # address of the archive
    digest: str  # SHA-256 of the archive, or ''
    digest_address: str  # address of the file with the SHA-256, or ''


class ReleaseJson(TypedDict):
    """A release that can be installed."""

    version: str
    notes: Annotated[str, "what is new in it"]


def version_key(version: str) -> tuple[int, ...]:
    """Return a sort key for `version`. Raises Refused if it is not a version."""
    found = _VERSION.fullmatch(version)
    if found is None:
        raise Refused(f"{version!r} is not a version such as 0.2.0")
    numbers = [int(number) for number in found[1].split(".")]
    return tuple(numbers + [0] * (4 - len(numbers)))


def read_address(path: Path) -> str:
    """Return the address in the file `path`, or '' if there is no file.

    Root runs the program at this address, so only root may be able to write the file.

    Raises:
        Refused: Others can write it, or it is not a secure address.
    """
    try:
        text, status = path.read_text("utf-8", "replace"), path.stat()
    except FileNotFoundError:
        return ""
    folder = path.parent.stat()
    if status.st_mode & 0o022 or folder.st_mode & 0o002 or status.st_uid != folder.st_uid:
        raise Refused(f"{path} can be written by others than root; run: sudo chown root: {path}; sudo chmod 644 {path}")
    lines = (line.strip() for line in text.splitlines())
    words = [line for line in lines if line and not line.startswith("#")]
    if not words:
        return ""
    if len(words) > 1 or not words[0].startswith("address="):
        raise Refused(f"{path} must have one line: address=https://…")
    address = words[0].removeprefix("address=")
    _require_secure(address)
    return address


def _require_secure(address: str) -> None:
    """Raise Refused unless `address` is safe from changes on the way: https, or this machine."""
    is_here = http.is_web_address(address) and urlsplit(address).hostname == "127.0.0.1"
    if not http.is_web_address(address) or not (address.startswith("https://") or is_here):
        raise Refused(f"{address!r} is not an address that begins with https://")


def fetch(address: str, *, max_bytes: int, seconds: float) -> http.HttpResponse:
    """Read `address`, which is checked before each redirect. Raises Refused or Unavailable."""
    return http.fetch(
        address, read_body=lambda _: True, max_bytes=max_bytes, seconds=seconds, check_address=_require_secure
    )


def find_newer(address: str, installed: str) -> list[Release]:
    """Return the releases at `address` that are newer than `installed`, the newest first."""
    return [each for each in fetch_releases(address) if version_key(each.version) > version_key(installed)]


def fetch_releases(address: str) -> list[Release]:
    """Return the releases at `address`, the newest first, without drafts and previews."""
    try:
        items = json.loads(fetch(address, max_bytes=_MAX_LIST, seconds=LIST_TIMEOUT).body)
    except ValueError:
        items = None
    if not isinstance(items, list):
        raise Refused(f"{address} is not a list of releases; check the address")
    found = [_parse_release(item) for item in items if isinstance(item, dict)]
    return sorted((each for each in found if each), key=lambda each: version_key(each.version), reverse=True)


def _parse_release(item: dict[str, Any]) -> Release | None:
    tag = _VERSION.fullmatch(str(item.get("tag_name")))
    if tag is None or item.get("draft") or item.get("prerelease"):
        return None
    assets: dict[str, dict[str, Any]] = {
        str(asset.get("name")): asset for asset in item.get("assets") or () if isinstance(asset, dict)
    }
    name = next((name for name in assets if re.fullmatch(r"pi-appliance-[\w.-]+\.tar\.gz", name)), "")
    archive, digest = assets.get(name, {}), assets.get(f"{name}.sha256", {})
    release = Release(
        tag[1],
        str(item.get("body") or "").strip(),
        str(archive.get("browser_download_url") or ""),
        str(archive.get("digest") or "").removeprefix("sha256:"),
        str(digest.get("browser_download_url") or ""),
    )
    # A new release has no files for a moment, so it cannot be installed yet.
    return release if release.archive and (release.digest or release.digest_address) else None


def how_to_update(prefix: Path) -> str:
    """Return how to update a program in the environment `prefix` that install.sh did not make."""
    if prefix == _PACKAGE:
        return "the appliance is a package of Debian; update it with: sudo apt install ./pi-appliance_VERSION.deb"
    return "the appliance runs from a clone; update it there with: git pull && sh deploy/run.sh"


@dataclass(frozen=True, slots=True)
class Installation:
    """The installed releases below `home`, as deploy/install.sh builds them."""

    home: Path

    @property
    def progress_file(self) -> Path:
        """The steps and the result of the last update, for the page. Only root writes it."""
        return self.home / "update.json"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other updates out during the block. Raises Refused if one is running."""
        number = os.open(self.home, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise Refused("another update is running; wait until it has ended") from None
        finally:
            os.close(number)

    def read_progress(self) -> dict[str, Any]:
        """Return the state, version, steps and message of the last update; {} without one."""
        try:
            values = json.loads(self.progress_file.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(values, dict):
            return {}
        if values.get("state") == "running" and not self._is_locked():
            return {**values, "state": "failed", "message": "it was interrupted; start it again"}
        return values

    def _is_locked(self) -> bool:
        try:
            with self.lock():
                return False
        except Refused:
            return True
        except OSError:
            return False

    @property
    def current(self) -> str:
        """Return the name of the active release. Raises Refused if nothing is installed."""
        link = self.home / "current"
        if not link.is_symlink():
            raise Refused(f"nothing is installed in {self.home}; {how_to_update(Path(sys.prefix))}")
        return link.readlink().name

    def version(self) -> str:
        """Return the version of the active release."""
        return self.current.rpartition("-")[0]

    def others(self) -> Sequence[str]:
        """Return the complete releases that are not active, the newest first."""
        marks = [mark for mark in self.home.glob("releases/*/.whole") if mark.parent.name != self.current]
        return [mark.parent.name for mark in sorted(marks, key=lambda mark: mark.stat().st_mtime, reverse=True)]

    def switch_to(self, name: str) -> None:
        """Make `name` the active release in one step, as deploy/install.sh does."""
        draft = self.home / "current.new"
        draft.unlink(missing_ok=True)
        draft.symlink_to(f"releases/{name}")
        draft.replace(self.home / "current")
        files.sync_directory(self.home)
