"""The last good configuration: a copy in the state folder, used while the file is wrong.

The name of the copy contains a checksum of the path of the file, so another file never uses it.
"""

import contextlib
import hashlib
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from pi_appliance.config import loader
from pi_appliance.config.config_file import FOLDER
from pi_appliance.config.model import Config
from pi_appliance.errors import ConfigError
from pi_appliance.system import files

_PLACES = ("/var/lib/pi-appliance", "~/.local/state/pi-appliance", "state")
"""State folders of the service and of `config init`, for a file that does not name its own."""


def load_usable(path: Path, state_dir: Path | None = None) -> Config:
    """Read the configuration `path`; if it is wrong, its last good copy, with `error` set.

    Args:
        path: The file. Relative paths in its copy are relative to its folder, too.
        state_dir: The folder of the copy, if it is known.

    Raises:
        ConfigError: The file is wrong, and there is no good copy.
    """
    path = path.absolute()
    try:
        return loader.load_config(path)
    except ConfigError as error:
        for folder in [state_dir] if state_dir else _state_dirs(path):
            with contextlib.suppress(OSError, UnicodeError, ConfigError):
                config = loader.load_config(path, copy_path(path, folder).read_text("utf-8"))
                return replace(config, state_dir=folder, error=error)
        raise


def load_for_history(path: Path) -> Config:
    """Read as `load_usable`; without a good copy, return only where the earlier texts are.

    Raises:
        ConfigError: The file is wrong, and no state folder has earlier texts.
    """
    path = path.absolute()
    try:
        return load_usable(path)
    except ConfigError:
        for folder in _state_dirs(path):
            if (folder / FOLDER).is_dir():
                return Config(path=path, state_dir=folder)
        raise


def _state_dirs(path: Path) -> list[Path]:
    """Return the folders in which the copy of the wrong file `path` may be."""
    partial = loader.load_partial(path)
    places = [*os.environ.get("STATE_DIRECTORY", "").split(":"), *_PLACES]
    usual = [path.parent / os.path.expanduser(each) for each in places if each]  # noqa: PTH111 - pathlib raises without a home
    return [*([partial.state_dir] if partial else []), *usual]


def copy_path(path: Path, state_dir: Path) -> Path:
    """Return the path of the copy of the file `path`."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()
    return state_dir / f"last-good-{digest[:12]}.yaml"


def save(config: Config) -> None:
    """Copy the text of `config` into the state folder, unless the copy is the same.

    Raises:
        Unavailable: It cannot be written.
    """
    _write(copy_path(config.path, config.state_dir), config.text)
    with contextlib.suppress(OSError):
        _error_path(config).unlink()


def record_error(config: Config, error: ConfigError) -> bool:
    """Record `error` of the file of `config`, and return whether it is a new one.

    Raises:
        Unavailable: It cannot be written.
    """
    return _write(_error_path(config), str(error))


def _error_path(config: Config) -> Path:
    return copy_path(config.path, config.state_dir).with_suffix(".error")


def _write(path: Path, text: str) -> bool:
    content = text.encode()
    with contextlib.suppress(OSError):
        if path.read_bytes() == content:
            return False
    files.write_file(path, content, mode=0o600)  # addresses may contain keys
    return True


class ConfigProblemJson(TypedDict):
    """A problem of a configuration file."""

    file: str
    line: int
    column: int
    message: str
    hint: str


class WrongFile(TypedDict):
    """The problems of the file, and since when the configuration in use was the file."""

    problems: list[ConfigProblemJson]
    in_use_since: datetime | None


def describe(config: Config, error: ConfigError) -> WrongFile:
    """Return the problems of the file, and since when the copy in use was the file."""
    since = None
    with contextlib.suppress(OSError):
        since = datetime.fromtimestamp(copy_path(config.path, config.state_dir).stat().st_mtime, UTC)
    problems: list[ConfigProblemJson] = [
        {"file": each.file, "line": each.line, "column": each.column, "message": each.message, "hint": each.hint}
        for each in error.problems
    ]
    return {"problems": problems, "in_use_since": since}
