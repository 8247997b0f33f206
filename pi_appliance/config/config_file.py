"""The owner's configuration file, changed by the page and the command line.

A change is checked as a whole before it is written, under a lock and atomically. The text before it
is kept in the state folder, so that the owner can go back. A copy of the last good text is used
while the file is wrong.
"""

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pi_appliance.config import editing
from pi_appliance.config.loader import find_state_dirs, load_config, load_usable, read_yaml
from pi_appliance.config.options import Config
from pi_appliance.config.yaml_tree import YamlPath, decode_text, parse_yaml
from pi_appliance.errors import ConfigError, Refused, Unavailable, UnknownName
from pi_appliance.system import files
from pi_appliance.system.files import display_path

FOLDER = "configurations"
"""The folder of the earlier texts, in the state folder."""
_KEPT = 30
_NAME_FORMAT = "%Y-%m-%dT%H-%M-%S.%fZ"
_LOCK_TIMEOUT = 5.0  # seconds to wait for another writer of the file
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the file: the texts before and after it, and the version of the latter."""

    before: str
    after: str
    version: str


@dataclass(frozen=True, slots=True)
class EarlierText:
    """A text that the file had until `replaced_at`."""

    name: str
    replaced_at: datetime
    size: int


class ConfigFile:
    """The file of a configuration, and its earlier texts."""

    def __init__(self, path: Path, state_dir: Path, now: Callable[[], datetime]) -> None:
        """Address the file `path`. Its earlier texts are kept in a folder of `state_dir`."""
        self.path, self._now = path, now
        self._folder = state_dir / FOLDER

    def read(self) -> tuple[str, str]:
        """Return the text and its version. Raises ConfigError if it cannot be read."""
        try:
            raw = self.path.read_bytes()
        except OSError:
            read_yaml(self.path)  # raises with the reason
            raise
        return decode_text(raw, display_path(self.path)), content_version(raw)

    def edit(
        self, change: Callable[[object], object], *, expected: str | None = None, only_check: bool = False
    ) -> Change:
        """Change values of the file and keep its comments, its order and all other bytes.

        Args:
            change: Returns the wanted data of the plain data in the file.
            expected: The version that the caller has read; None changes any.
            only_check: Return the change without writing it.

        Raises:
            ConfigError: The new text would be wrong; nothing was changed.
            Refused: Another program has changed the file, or a value cannot be changed in place.
            Unavailable: The file cannot be written.
        """

        def rewritten(text: str) -> str:
            return editing.rewrite(text, change(parse_yaml(text, display_path(self.path)).data))

        return self._write(rewritten, expected, only_check)

    def replace(self, text: str, *, expected: str | None = None, only_check: bool = False) -> Change:
        """Replace the whole text. Arguments and errors are those of `edit`."""
        return self._write(lambda _: text, expected, only_check)

    def rescue(self, text: str, *, only_check: bool = False) -> Change:
        """Write `text` in place of a file that is wrong, unreadable or missing.

        What can be read of the file becomes an earlier text. Errors are those of `edit`.
        """
        with self._lock():
            load_config(self.path, text)
            real, content = Path(os.path.realpath(self.path)), text.encode()
            raw = real.read_bytes() if real.exists() else b""
            if content != raw and not only_check:
                if raw:
                    self._keep(raw)
                if real.exists():
                    replace_file(real, content)
                else:
                    files.write_file(real, content)
            return Change(raw.decode("utf-8", "replace"), text, content_version(content))

    def rename_key(self, path: YamlPath, name: str) -> Change:
        """Rename the last key of `path`; all other bytes stay. Errors are those of `edit`."""

        def renamed(text: str) -> str:
            start, _ = editing.value_span(text, path)
            key = re.search(rf"(['\"]?){re.escape(str(path[-1]))}\1(\s*:)$", text[:start])
            if key is None:
                raise Refused(f"the name {path[-1]} is written in a way that only a text editor can change")
            return text[: key.start()] + name + key[2] + text[start:]

        return self._write(renamed, None, only_check=False)

    def earlier_texts(self) -> list[EarlierText]:
        """Return the earlier texts, the newest first."""
        found = []
        for path in self._folder.glob("*.yaml"):
            with contextlib.suppress(ValueError, OSError):
                replaced_at = datetime.strptime(path.stem, _NAME_FORMAT).replace(tzinfo=UTC)
                found.append(EarlierText(path.stem, replaced_at, path.stat().st_size))
        return sorted(found, key=lambda each: each.name, reverse=True)

    def earlier_text(self, name: str) -> str:
        """Return the earlier text `name`. Raises UnknownName."""
        names = [each.name for each in self.earlier_texts()]
        if name not in names:
            raise UnknownName("earlier configuration", name, names)
        return decode_text((self._folder / f"{name}.yaml").read_bytes(), name)

    def _write(self, change: Callable[[str], str], expected: str | None, only_check: bool) -> Change:
        with self._lock():
            before, version = self.read()
            if expected is not None and expected != version:
                raise Refused("the file was changed by somebody else in the meantime; look at it again, then change it")
            after = change(before)
            load_config(self.path, after)
            real = Path(os.path.realpath(self.path))
            raw = real.read_bytes()
            mark = _BYTE_ORDER_MARK if raw.startswith(_BYTE_ORDER_MARK) else b""
            content = mark + after.encode()
            if content != raw and not only_check:
                self._keep(raw)
                replace_file(real, content)
            return Change(before, after, content_version(content))

    def _keep(self, raw: bytes) -> None:
        files.make_directory(self._folder, mode=0o700)
        name = self._now().astimezone(UTC).strftime(_NAME_FORMAT)
        files.write_file(self._folder / f"{name}.yaml", raw, mode=0o600)
        for old in self.earlier_texts()[_KEPT:]:
            (self._folder / f"{old.name}.yaml").unlink(missing_ok=True)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        files.make_directory(self._folder, mode=0o700)
        with files.acquire_lock(self._folder / "lock", patience=_LOCK_TIMEOUT) as lock:
            if lock is None:
                raise Unavailable("another program is changing the configuration; try again")
            yield


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` atomically with the owner and the rights of the file that it replaces.

    Raises:
        Refused: This user may not change the file.
        Unavailable: It cannot be written.
    """
    status = path.stat()
    try:
        with files.atomic_write(path, mode=stat.S_IMODE(status.st_mode)) as file:
            if os.geteuid() == 0:
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            file.write(content)
    except Unavailable as error:
        if not os.access(path.parent, os.W_OK):
            user = files.user_name(os.geteuid())
            raise Refused(
                f"{path} cannot be changed by {user}; allow it with: sudo chown {user} {path} {path.parent}"
            ) from error
        raise


def content_version(raw: bytes) -> str:
    """Return 16 hexadecimal digits that identify the content of a file."""
    return hashlib.sha256(raw).hexdigest()[:16]


def load_for_history(path: Path) -> Config:
    """Read as `load_usable`; without a good copy, return only where the earlier texts are.

    Raises:
        ConfigError: The file is wrong, and no state folder has earlier texts.
    """
    path = path.absolute()
    try:
        return load_usable(path)
    except ConfigError:
        for folder in find_state_dirs(path):
            if (folder / FOLDER).is_dir():
                return Config(path=path, state_dir=folder)
        raise
