"""The last good copy of the configuration, which is used while the file is wrong.

The copy is in the state folder. The error of the file is recorded beside it, and so reported once.
"""

import contextlib
import hashlib
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

from pi_appliance.config.options import Config
from pi_appliance.errors import ConfigError, Problem
from pi_appliance.system import files


def last_good_path(path: Path, state_dir: Path) -> Path:
    """Return the path of the last good copy of the file `path`.

    Its name has a checksum of `path`, so that another file never uses it.
    """
    digest = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()
    return state_dir / f"last-good-{digest[:12]}.yaml"


def save_last_good(config: Config) -> None:
    """Copy the text of `config` into the state folder, unless the copy is the same.

    Raises:
        Unavailable: It cannot be written.
    """
    _write_if_changed(last_good_path(config.path, config.state_dir), config.text)
    with contextlib.suppress(OSError):
        _error_path(config).unlink()


def record_error(config: Config, error: ConfigError) -> bool:
    """Record `error` of the file of `config`, and return whether it is a new one.

    Raises:
        Unavailable: It cannot be written.
    """
    return _write_if_changed(_error_path(config), str(error))


def _error_path(config: Config) -> Path:
    return last_good_path(config.path, config.state_dir).with_suffix(".error")


def _write_if_changed(path: Path, text: str) -> bool:
    content = text.encode()
    with contextlib.suppress(OSError):
        if path.read_bytes() == content:
            return False
    files.write_file(path, content, mode=0o600)  # addresses may contain keys
    return True


class WrongFile(TypedDict):
    """The problems of the file, and since when the configuration in use was the file."""

    problems: Sequence[Problem]
    in_use_since: datetime | None


def describe_error(config: Config, error: ConfigError) -> WrongFile:
    """Return the problems of the file, and since when the copy in use was the file."""
    since = None
    with contextlib.suppress(OSError):
        since = datetime.fromtimestamp(last_good_path(config.path, config.state_dir).stat().st_mtime, UTC)
    return {"problems": error.problems, "in_use_since": since}
