"""Backups that the owner downloads, uploads, and restores at the next start of the daemon.

What the page sends and takes has no secrets and no programs: not the key of the installation, the
signed-in devices, the sessions of networks, and the copies of the configuration.
"""

import asyncio
import contextlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from pi_appliance.config import hidden_parts
from pi_appliance.config.model import Config
from pi_appliance.errors import ApplianceError, Refused
from pi_appliance.storage.archive import CONFIGURATION, ArchiveSummary, archive_chunks, check_archive, restore_state
from pi_appliance.system import files

SHARED = frozenset({"memory", "resume", "stations.json", "partition"})
"""Files and folders of the state that the page sends and takes besides the database."""
NOTE = "restore: "
"""The beginning of the message about a restore."""
_UPLOAD, _PENDING = ".upload.tar.gz", ".restore.tar.gz"
_MAX_UPLOAD = 200_000_000  # bytes
_FREE_FACTOR = 4  # of the free space, the part that an upload may take: it is unpacked and copied
_MAX_SILENCE = 30.0  # seconds between two parts of an upload
_MAX_DURATION = 900.0  # seconds
_MAX_HEAD = 8192  # bytes of the header of a form
_MAX_TEXT = 1_000_000  # bytes of a file of the configuration


def download_chunks(config: Config) -> Iterator[bytes]:
    """Return a backup in chunks, without secrets. Raises Unavailable without space for a copy."""
    more = {f"{CONFIGURATION}/{config.path.name}": hidden_parts.hide_programs(config.text).encode()}
    paths = [config.stations, *(getattr(job.options, "lines", None) for job in config.jobs.values())]
    for path in paths:
        if isinstance(path, Path) and path.is_file() and path.stat().st_size < _MAX_TEXT:
            more[f"{CONFIGURATION}/{path.name}"] = path.read_bytes()
    return archive_chunks(config.state_dir, names=SHARED, more=more)


@dataclass(frozen=True, slots=True)
class CheckedUpload:
    """A backup that was uploaded and checked. `token` is its name in the confirmation."""

    token: str
    summary: ArchiveSummary
    other_names: tuple[str, ...]  # in the archive, but not used


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
    """Restore the confirmed upload, if there is one, and return what to say about it.

    The daemon calls this before it opens the state. It deletes the upload also after a failure.
    """
    pending = state_dir / _PENDING
    if not state_dir.is_dir() or files.is_locked(state_dir / files.WAKEUP_FILE):
        return ""  # nothing has run yet, or another daemon runs
    with contextlib.suppress(OSError):  # a read-only card is reported by what needs it
        (state_dir / _UPLOAD).unlink(missing_ok=True)
    if not pending.exists():
        return ""
    try:
        restore_state(pending, state_dir, SHARED)
        note = f"{NOTE}database and state are those of the uploaded backup; no earlier slot is run again"
    except ApplianceError as error:
        reason = str(error).replace(str(pending), "the file")
        note = f"{NOTE}the uploaded backup was not used, and nothing was changed: {reason}"
    pending.unlink(missing_ok=True)
    return note
