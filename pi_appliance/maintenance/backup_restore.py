"""Backups that the owner downloads, uploads, and restores at the next start of the daemon.

What the page sends and takes has no secrets and no programs: not the key of the installation, the
signed-in devices, the sessions of networks, and the copies of the configuration.
"""

import asyncio
import contextlib
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Literal

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from pi_appliance.config.options import Config
from pi_appliance.errors import ApplianceError, Refused, UnknownName
from pi_appliance.storage.backup_archive import (
    CONFIGURATION,
    ArchiveSummary,
    check_archive,
    database_archive,
    restore_state,
)
from pi_appliance.storage.daily_backups import SHARED, WHOLE, list_backups, list_folder
from pi_appliance.system import files

NOTE = "restore: "
"""The beginning of the message about a restore."""
_UPLOAD, _PENDING = ".upload.tar.gz", ".restore.tar.gz"
_MAX_UPLOAD = 200_000_000  # bytes of an uploaded backup
_FREE_FACTOR = 4  # the upload may take a quarter of the free space, because it is unpacked and copied
_MAX_SILENCE = 30.0  # seconds between two parts of an upload
_MAX_DURATION = 900.0  # seconds for the whole upload
_MAX_HEAD = 8192  # bytes of the header of a form


@dataclass(frozen=True, slots=True)
class StoredBackup:
    """A backup that the appliance has made: `place` is "card" or "folder"."""

    path: Path
    made_at: datetime
    size: int  # bytes
    place: Literal["card", "folder"]

    @property
    def is_whole(self) -> bool:
        """Whether the backup holds the whole appliance, with its secrets encrypted."""
        return self.path.name.endswith(f"{WHOLE}.tar.gz")


def list_stored(config: Config) -> list[StoredBackup]:
    """Return the backups on the card, then those in the folder of `backup:`, the newest first."""
    found = []
    places: Mapping[Literal["card", "folder"], Iterable[Path]] = {
        "card": list_backups(config.state_dir),
        "folder": list_folder(config),
    }
    for place, paths in places.items():
        for path in paths:
            with contextlib.suppress(OSError):  # the drive may have been pulled
                about = path.stat()
                found.append(StoredBackup(path, datetime.fromtimestamp(about.st_mtime, UTC), about.st_size, place))
    return found


def find_stored(config: Config, name: str) -> StoredBackup:
    """Return the stored backup `name`. Raises UnknownName."""
    stored = {each.path.name: each for each in list_stored(config)}
    if name not in stored:
        raise UnknownName("backup", name, list(stored))
    return stored[name]


def restore_stored(config: Config, name: str) -> None:
    """Check the stored backup `name`, and let the next start of the daemon restore it.

    Raises:
        Refused: It cannot be used.
        UnknownName: There is no such backup.
        Unavailable: It cannot be copied.
    """
    source, draft = find_stored(config, name).path, config.state_dir / _UPLOAD
    room = shutil.disk_usage(config.state_dir).free // _FREE_FACTOR
    try:
        with draft.open("wb") as file:
            if source.suffix == ".db":
                file.writelines(database_archive(source))
            else:
                with source.open("rb") as copied:
                    shutil.copyfileobj(copied, file)
        check_archive(draft, config.state_dir, max_size=room)
        draft.replace(config.state_dir / _PENDING)
        files.sync_directory(config.state_dir)
    except OSError as error:
        raise files.write_error(draft, error) from None
    finally:
        draft.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class CheckedUpload:
    """An uploaded and checked backup. `token` identifies it in the confirmation of the owner."""

    token: str
    summary: ArchiveSummary
    other_names: tuple[str, ...]  # names in the archive that are not restored


class Uploads:
    """The one uploaded backup that waits for its confirmation."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self.checked: CheckedUpload | None = None

    async def receive(self, request: Request, state_dir: Path) -> None:
        """Store and check the backup in the body of `request`: a form with one file, or the file.

        Raises:
            HTTPException: It is too large or too slow, or ends early.
            Refused: It is not a usable backup, or another one is being uploaded.
        """
        if self._lock.locked():
            raise Refused("another backup is being uploaded; try again later")
        async with self._lock:
            self.checked, path = None, state_dir / _UPLOAD
            limit = min(_MAX_UPLOAD, shutil.disk_usage(state_dir).free // _FREE_FACTOR)
            try:
                await _store_body(request, path, limit)
                room = shutil.disk_usage(state_dir).free // _FREE_FACTOR
                summary = await asyncio.to_thread(check_archive, path, state_dir, max_size=room)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
            others = tuple(name for name in summary.names if name not in {*SHARED, CONFIGURATION})
            self.checked = CheckedUpload(token_hex(8), summary, others)

    def confirm(self, token: str, state_dir: Path) -> None:
        """Let the next start of the daemon restore the upload. Raises Refused if it is gone."""
        if self.checked is None or self.checked.token != token:
            raise Refused("this upload is not here any more; upload it again")
        self.checked = None
        (state_dir / _UPLOAD).replace(state_dir / _PENDING)
        files.sync_directory(state_dir)

    def discard(self, state_dir: Path) -> None:
        """Delete the upload."""
        self.checked = None
        (state_dir / _UPLOAD).unlink(missing_ok=True)


async def _store_body(request: Request, path: Path, limit: int) -> None:
    """Write the file in the body of `request` to `path`, at most `limit` bytes."""
    too_long = HTTPException(413, f"the file is too large: there is space for {limit // 1_000_000} MB")
    if int(request.headers.get("content-length", "0")) > limit:
        raise too_long
    boundary = re.search(r'boundary="?([^";]+)', request.headers.get("content-type", ""))
    head, in_head, size = b"", boundary is not None, 0
    try:
        async with asyncio.timeout(_MAX_DURATION), asyncio.timeout(_MAX_SILENCE) as silence:
            with path.open("wb") as file:
                async for part in request.stream():
                    silence.reschedule(asyncio.get_running_loop().time() + _MAX_SILENCE)
                    chunk, size = part, size + len(part)
                    if size > limit:
                        raise too_long
                    if in_head:
                        head += part
                        start = head.find(b"\r\n\r\n")
                        if start < 0 and len(head) > _MAX_HEAD:
                            raise HTTPException(400, "the body is not a form with a file")
                        in_head, chunk = start < 0, head[start + 4 :] if start >= 0 else b""
                    await asyncio.to_thread(file.write, chunk)
            if boundary is not None:
                await asyncio.to_thread(_cut_end, path, boundary[1])
    except TimeoutError:
        raise HTTPException(408, "the file came too slowly; send it again") from None
    except ClientDisconnect:
        raise HTTPException(400, "the file ended too early; send it again") from None
    except OSError as error:
        raise files.write_error(path, error) from None


def _cut_end(path: Path, boundary: str) -> None:
    """Cut the end of a form from the file `path`. Raises HTTPException if it is missing."""
    mark = f"\r\n--{boundary}".encode()
    with path.open("r+b") as file:
        size = file.seek(0, 2)
        start = max(0, size - len(mark) - 8)
        file.seek(start)
        end = file.read().rfind(mark)
        if end < 0:
            raise HTTPException(400, "the file ended too early; send it again")
        file.truncate(start + end)


def restore_pending(state_dir: Path) -> str:
    """Restore the confirmed backup, if there is one, and return a message for the log.

    The daemon calls this before it opens the state. The confirmed copy is deleted even after a
    failure.
    """
    pending = state_dir / _PENDING
    if not state_dir.is_dir() or files.is_locked(state_dir / files.WAKEUP_FILE):
        return ""  # it is the first start, or another daemon runs
    with contextlib.suppress(OSError):  # whatever needs to write reports a read-only card
        (state_dir / _UPLOAD).unlink(missing_ok=True)
    if not pending.exists():
        return ""
    try:
        restore_state(pending, state_dir, SHARED)
        note = f"{NOTE}database and state are those of the backup; no earlier slot is run again"
    except ApplianceError as error:
        reason = str(error).replace(str(pending), "the file")
        note = f"{NOTE}the backup was not used, and nothing was changed: {reason}"
    pending.unlink(missing_ok=True)
    return note
